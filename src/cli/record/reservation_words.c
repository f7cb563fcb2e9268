#include "cli/record/reservation_words.h"

#include "base/duration.h"
#include "base/list.h"
#include "cli/table/listing.h"
#include "model/limits.h"

#include <string.h>

const char *resv_span(int64_t us, struct arena *a)
{
    struct str s = STR_INIT;
    duration_format(us, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

/* "gpu:a100:4,nic:1" → ",gres/gpu:a100=4,gres/nic=1" */
static void add_counted(struct str *out, const char *list, const char *kind)
{
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        size_t name = piece.len;
        while (name > 0 && piece.data[name - 1] >= '0' && piece.data[name - 1] <= '9')
            name--;
        bool counted = name > 0 && name < piece.len && strchr(":=", piece.data[name - 1]);
        list_addf(out, "%s/%.*s=%.*s", kind, (int)(counted ? name - 1 : piece.len), piece.data,
                  (int)(counted ? piece.len - name : 1), counted ? piece.data + name : "1");
    }
}

const char *resv_tres(const struct reservation *r, struct arena *a)
{
    struct str s = STR_INIT;
    if (r->cpu_count > 0)
        str_addf(&s, "cpu=%d", r->cpu_count);
    add_counted(&s, r->gres, "gres");
    add_counted(&s, r->licenses, "license");
    const char *text = arena_strdup(a, s.len ? str_text(&s) : "(null)");
    str_done(&s);
    return text;
}

static bool tres_word(const char *name, const char *count, struct arena *a, struct resv_asked *ret,
                      struct err *ret_err)
{
    int64_t n;
    if (!count_parse(count, &n, ret_err))
        return false;
    if (text_is_nocase(name, "cpu"))
        ret->cores = listing_join(ret->cores, count, a);
    else if (text_is_nocase(name, "node") && (n > LIMIT_NODES || ret->node_count + n > LIMIT_NODES))
        return err_set(ret_err, ERR_LIMIT, "node=%s: there are at most %u nodes", count,
                       LIMIT_NODES);
    else if (text_is_nocase(name, "node"))
        ret->node_count += (int32_t)n;
    else if (text_starts_nocase(name, "gres/"))
        ret->gres = listing_join(ret->gres, arena_printf(a, "%s:%s", name + 5, count), a);
    else if (text_starts_nocase(name, "license/"))
        ret->licenses = listing_join(ret->licenses, arena_printf(a, "%s:%s", name + 8, count), a);
    else
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "%s cannot be reserved; cpu, node, gres/NAME and license/NAME can", name);
    return true;
}

bool resv_tres_parse(const char *text, struct arena *a, struct resv_asked *ret, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    const char *last = NULL; /* cpu=2,2,1: a bare number goes on with it */
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(a, piece.data, piece.len), *equals = strchr(word, '=');
        if (equals)
            last = arena_strndup(a, word, (size_t)(equals - word));
        if (!last)
            return err_set(ret_err, ERR_INVALID, "NAME=COUNT is expected, not \"%s\"", word);
        if (!tres_word(last, equals ? equals + 1 : word, a, ret, ret_err))
            return false;
    }
    return true;
}
