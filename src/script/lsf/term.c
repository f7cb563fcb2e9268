#include "script/lsf/term.h"

#include "base/alloc.h"
#include "script/lsf/lsf.h"

#include <string.h>

/* ---- numbers ---- */

bool lsf_size_read(struct span text, int64_t kib, int64_t *ret_kib)
{
    static const char units[] = "kmgtp";
    text = span_trim(text);
    if (text.len && strchr("bB", text.data[text.len - 1]) && text.len > 1)
        text.len--;
    const char *unit = NULL;
    if (text.len) {
        char c = text.data[text.len - 1];
        unit = strchr(units, c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    if (unit && *unit) {
        kib = INT64_C(1) << (10 * (unit - units));
        text.len--;
    }
    char digits[32];
    if (!text.len || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.len);
    digits[text.len] = 0;
    /* "2.5G" is taken, too: LSF prints such sizes itself. */
    char *dot = strchr(digits, '.');
    int64_t whole, tenth = 0;
    if (dot && (dot[1] < '0' || dot[1] > '9' || dot[2]))
        return false;
    if (dot) {
        tenth = dot[1] - '0';
        *dot = 0;
    }
    if (!text_to_i64(digits, 0, (INT64_C(1) << 50) / kib, &whole))
        return false;
    *ret_kib = whole * kib + tenth * kib / 10;
    return true;
}

bool lsf_count_read(struct span text, int64_t max, int32_t *ret)
{
    char digits[16];
    int64_t n;
    text = span_trim(text);
    if (!text.len || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.len);
    digits[text.len] = 0;
    if (!text_to_i64(digits, 1, max, &n))
        return false;
    *ret = (int32_t)n;
    return true;
}

void lsf_note(struct lsf_request *r, struct arena *a, const char *what, const char *why)
{
    if (r->no_effect && strstr(r->no_effect, what))
        return;
    r->no_effect = r->no_effect ? arena_printf(a, "%s; %s: %s", r->no_effect, what, why)
                                : arena_printf(a, "%s: %s", what, why);
}

/* ---- terms ---- */

bool lsf_term_split(struct span text, struct lsf_term *ret)
{
    *ret = (struct lsf_term){.name = span_trim(text)};
    size_t i = 0;
    while (i < text.len && !strchr("=!<>", text.data[i]))
        i++;
    if (i == text.len || i == 0)
        return i > 0;
    size_t n = i + 1 < text.len && text.data[i + 1] == '=' ? 2 : 1;
    memcpy(ret->op, text.data + i, n);
    ret->name = span_trim((struct span){text.data, i});
    ret->value = span_trim((struct span){text.data + i + n, text.len - i - n});
    if (ret->value.len >= 2 && strchr("'\"", ret->value.data[0]) &&
        ret->value.data[ret->value.len - 1] == ret->value.data[0])
        ret->value = (struct span){ret->value.data + 1, ret->value.len - 2};
    return ret->value.len > 0;
}

bool lsf_term_is_least(const struct lsf_term *t)
{
    return t->op[0] == '>' || text_is(t->op, "==") || text_is(t->op, "=");
}

bool lsf_term_is_equal(const struct lsf_term *t)
{
    return text_is(t->op, "==") || text_is(t->op, "=");
}

bool lsf_name_is_one_of(struct span name, const char *words)
{
    struct span rest = span_of(words), word;
    while (span_next(&rest, ' ', &word))
        if (word.len == name.len && strncasecmp(word.data, name.data, name.len) == 0)
            return true;
    return false;
}

bool lsf_is_feature(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-", s.data[i]))
            return false;
    return s.len > 0;
}
