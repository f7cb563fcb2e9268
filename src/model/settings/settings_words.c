#include "model/settings/settings_words.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/vec.h"

#include <string.h>
#include <strings.h>

#define OFFSET_NAMED(member)  0
#define OFFSET_IDLE(member)   0
#define OFFSET_LOST(member)   0
#define OFFSET_FLAG(member)   offsetof(struct setting_words, member)
#define OFFSET_PARTLY(member) offsetof(struct setting_words, member)
#define OFFSET_NUMBER(member) offsetof(struct setting_words, member)
#define OFFSET_CHOICE(member) offsetof(struct setting_words, member)

const struct setting_word setting_word_table[] = {
#define X(key, kind, member, word, choices, doc)                                                   \
    {#key, WORD_##kind, OFFSET_##kind(member), word, choices, doc},
    SETTING_WORDS(X)
#undef X
};
const size_t setting_word_count = ARRAY_LEN(setting_word_table);

/* More words than this are not listed in a complaint. */
#define LISTED_MOST 16

static void forget(const struct setting_word *row, struct setting_words *w)
{
    void *at = (char *)w + row->offset;
    switch (row->kind) {
    case WORD_NAMED:
    case WORD_LOST:
    case WORD_IDLE: break;
    case WORD_PARTLY:
    case WORD_FLAG: *(bool *)at = false; break;
    case WORD_NUMBER: *(int64_t *)at = -1; break;
    case WORD_CHOICE: *(int32_t *)at = -1; break;
    }
}

void setting_words_default(struct setting_words *w)
{
    for (size_t i = 0; i < setting_word_count; i++)
        forget(&setting_word_table[i], w);
}

static const struct setting_word *row_find(const char *key, struct span word)
{
    for (size_t i = 0; i < setting_word_count; i++)
        if (text_is_nocase(setting_word_table[i].key, key) &&
            span_is_nocase(word, setting_word_table[i].word))
            return &setting_word_table[i];
    return NULL;
}

/* "word" or "word=value"; without a '=' the value is empty. */
static struct span name_take(struct span item, struct span *ret_value)
{
    const char *equals = item.len ? memchr(item.data, '=', item.len) : NULL;
    size_t len = equals ? (size_t)(equals - item.data) : item.len;
    *ret_value =
        equals ? (struct span){equals + 1, item.len - len - 1} : (struct span){item.data, 0};
    return span_trim((struct span){item.data, len});
}

/* What is known of the key, and the nearest to what was given. */
static bool unknown(const char *key, struct span word, bool several, struct err *ret_err)
{
    VEC(const char *) names = {0};
    struct str all = STR_INIT, given = STR_INIT;
    for (size_t i = 0; i < setting_word_count; i++)
        if (text_is_nocase(setting_word_table[i].key, key)) {
            vec_push(&names, setting_word_table[i].word);
            if (setting_word_table[i].kind != WORD_IDLE && setting_word_table[i].kind != WORD_LOST)
                list_addf(&all, "%s", setting_word_table[i].word);
        }
    str_addn(&given, word.data, word.len < 60 ? word.len : 60);
    const char *near = text_nearest(str_text(&given), names.v, names.n);
    if (names.n <= LISTED_MOST)
        err_set(ret_err, ERR_INVALID, "%s of %s is expected, not \"%s\"%s%s%s",
                several ? "a list" : "one", str_text(&all), str_text(&given),
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    else
        err_set(ret_err, ERR_INVALID, "\"%s\" is not known%s%s%s", str_text(&given),
                near ? "; did you mean " : "; docs/settings.md lists its words", near ? near : "",
                near ? "?" : "");
    vec_done(&names);
    str_done(&all);
    str_done(&given);
    return false;
}

/* Its place among choices ("a|b"), or -1. */
static int32_t choice_find(const char *choices, struct span value)
{
    struct span rest = span_of(choices), one;
    for (int32_t place = 0; span_next(&rest, '|', &one); place++)
        if (one.len == value.len && strncasecmp(one.data, value.data, one.len) == 0)
            return place;
    return -1;
}

static bool value_take(const struct setting_word *row, struct span value, struct setting_words *w,
                       struct err *ret_err)
{
    void *at = (char *)w + row->offset;
    char text[24] = "";
    memcpy(text, value.data, value.len < sizeof text ? value.len : sizeof text - 1);
    switch (row->kind) {
    case WORD_NAMED:
    case WORD_LOST:
    case WORD_IDLE: return true;
    case WORD_PARTLY:
    case WORD_FLAG:
        if (value.len)
            return err_set(ret_err, ERR_INVALID, "%s takes no value, but has \"%s\"", row->word,
                           text);
        *(bool *)at = true;
        return true;
    case WORD_NUMBER:
        return text_to_i64(text, 0, INT32_MAX, at) ||
               err_set(ret_err, ERR_INVALID, "%s=NUMBER is expected, not \"%s=%s\"", row->word,
                       row->word, text);
    case WORD_CHOICE:
        *(int32_t *)at = choice_find(row->choices, value);
        return *(int32_t *)at >= 0 ||
               err_set(ret_err, ERR_INVALID, "%s=%s is expected, not \"%s=%s\"", row->word,
                       row->choices, row->word, text);
    }
    return false;
}

static bool item_take(const char *key, struct span item, bool several, bool lenient,
                      struct setting_words *w, const char **ret_canonical, struct err *ret_err)
{
    struct span value, word = name_take(item, &value);
    const struct setting_word *row = row_find(key, word);
    if (!row)
        return lenient || unknown(key, word, several, ret_err);
    if (ret_canonical)
        *ret_canonical = row->word;
    if (value_take(row, span_trim(value), w, ret_err))
        return true;
    if (lenient)
        forget(row, w);
    return lenient;
}

bool setting_words_parse(const char *key, const char *text, bool several, bool lenient,
                         struct setting_words *w, const char **ret_canonical, struct err *ret_err)
{
    struct setting_words fresh = *w;
    struct span rest = span_of(text), item;
    size_t n = 0;
    for (size_t i = 0; i < setting_word_count; i++)
        if (text_is_nocase(setting_word_table[i].key, key))
            forget(&setting_word_table[i], &fresh);
    for (; span_next(&rest, ',', &item); n++) {
        item = span_trim(item);
        if (!several && (n || !item.len))
            return unknown(key, span_of(text), several, ret_err);
        if (item.len && !item_take(key, item, several, lenient, &fresh,
                                   several ? NULL : ret_canonical, ret_err))
            return false;
    }
    if (!several && !n)
        return unknown(key, span_of(text), several, ret_err);
    *w = fresh;
    return true;
}

static bool is_told_of(const struct setting_word *row)
{
    return row->kind == WORD_IDLE || row->kind == WORD_LOST || row->kind == WORD_PARTLY;
}

/* The words of `text` that are idle for the reason of `row`, which is the first of them; false: it
 * is not. */
static bool idle_words(const char *key, const char *text, const struct setting_word *row,
                       struct str *out)
{
    struct span rest = span_of(text), item, value;
    while (span_next(&rest, ',', &item)) {
        const struct setting_word *other = row_find(key, name_take(span_trim(item), &value));
        if (!other || other->kind != row->kind || !text_is(other->doc, row->doc))
            continue;
        if (!out->len && other != row)
            return false;
        list_addf(out, "%s", other->word);
    }
    return out->len != 0;
}

void setting_words_idle(const char *key, const char *text,
                        void (*say)(void *ctx, const char *line, bool missed), void *ctx)
{
    struct span rest = span_of(text), item, value;
    const struct setting_word *before = NULL;
    while (span_next(&rest, ',', &item)) {
        const struct setting_word *row = row_find(key, name_take(span_trim(item), &value));
        struct str words = STR_INIT, line = STR_INIT;
        if (row && row != before && is_told_of(row) && idle_words(key, text, row, &words)) {
            if (row->kind == WORD_PARTLY)
                str_addf(&line, "%s=%s: %s", key, str_text(&words), row->doc);
            else if (row->doc[0])
                str_addf(&line, "%s=%s has no effect in Remuda: %s", key, str_text(&words),
                         row->doc);
            else
                str_addf(&line, "%s=%s is known to Slurm but has no effect in Remuda", key,
                         str_text(&words));
            say(ctx, str_text(&line), row->kind != WORD_IDLE);
        }
        before = row;
        str_done(&words);
        str_done(&line);
    }
}
