/* bsub -R "2*{…}+4*{…}": parts of a job whose hosts hold different things. Each is a component of a
 * heterogeneous job; what stands in other -R holds for all of them. */
#include "script/lsf/lsf.h"

#include "base/alloc.h"

#include <string.h>

#define COMPOUND "2*{…}+4*{…}"

static bool blame(const char *whole, struct span piece, const char *allowed, struct err *e)
{
    return dialect_blame(e, "-R", whole, "\"%.*s\": %s", SPAN_QUOTED(piece), allowed);
}

/* Takes "N*{…}" or "{…}" off *rest. */
static bool term_take(struct span *rest, const char *whole, struct arena *a, struct lsf_part *ret,
                      struct err *e)
{
    const char *open = memchr(rest->data, '{', rest->len);
    const char *close = open ? memchr(open, '}', rest->len - (size_t)(open - rest->data)) : NULL;
    if (!close)
        return blame(whole, *rest, COMPOUND " is needed", e);
    struct span before = span_trim((struct span){rest->data, (size_t)(open - rest->data)});
    struct span behind = {close + 1, rest->len - (size_t)(close + 1 - rest->data)};
    *ret = (struct lsf_part){.text = arena_strndup(a, open + 1, (size_t)(close - open) - 1)};
    if (before.len) {
        struct span n = {before.data, before.len - 1};
        if (before.data[n.len] != '*' || !lsf_count_read(span_trim(n), INT32_MAX, &ret->slots))
            return blame(whole, before, "a number of slots is needed: 2*{…}", e);
    }
    *rest = span_trim(behind);
    return true;
}

bool lsf_compound_read(struct lsf_request *r, const char *text, struct arena *a,
                       struct err *ret_err)
{
    struct span rest = span_trim(span_of(text));
    r->nparts = 0;
    for (bool more = true; more;) {
        struct lsf_part part = {0};
        if (r->nparts == LSF_PARTS_MAX)
            return dialect_refuse(ret_err, "-R " COMPOUND, "at most %d parts are taken",
                                  LSF_PARTS_MAX);
        if (!term_take(&rest, text, a, &part, ret_err))
            return false;
        struct lsf_request *look = arena_dup(a, r, sizeof *r);
        if (!lsf_resources_read(look, part.text, a, ret_err))
            return false;
        r->no_effect = look->no_effect;
        r->part[r->nparts++] = part;
        more = rest.len > 0;
        if (more && rest.data[0] == '|')
            return dialect_refuse(
                ret_err, "-R {…} || {…}",
                "hosts of either kind are select[a || b]; else ask for one of them");
        if (more && rest.data[0] != '+')
            return blame(text, rest, "parts are joined by +, as " COMPOUND, ret_err);
        if (more && !part.slots)
            return blame(text, span_of(part.text), "only the last part may be without a number",
                         ret_err);
        rest = more ? (struct span){rest.data + 1, rest.len - 1} : rest;
    }
    return true;
}

size_t lsf_parts(const struct lsf_request *r)
{
    return r->nparts ? r->nparts : 1;
}

/* Slots of a part; that of the last may be what -n leaves. */
static bool slots_of(const struct lsf_request *r, size_t at, int32_t *ret, struct err *e)
{
    int64_t named = 0;
    bool open = false;
    for (size_t i = 0; i < r->nparts; i++) {
        named += r->part[i].slots;
        open |= !r->part[i].slots;
    }
    *ret = r->part[at].slots ? r->part[at].slots : (int32_t)(r->slots - named);
    if (open && !r->slots)
        return err_set(e, ERR_VALUE,
                       "-R " COMPOUND ": the last part has no number, which needs -n");
    if (r->slots && (open ? r->slots <= named : r->slots != named))
        return err_set(e, ERR_VALUE, "-R " COMPOUND " has parts of %lld slots%s, and -n is %d",
                       (long long)named, open ? " and more" : "", r->slots);
    return true;
}

const struct lsf_request *lsf_part(const struct lsf_request *r, size_t part, struct arena *a,
                                   struct err *ret_err)
{
    struct lsf_request *one = arena_dup(a, r, sizeof *r);
    if (!r->nparts)
        return one;
    if (r->array) {
        dialect_refuse(ret_err, "an array of jobs whose parts differ",
                       "submit each of them in a loop, or ask for equal slots");
        return NULL;
    }
    one->nparts = 0;
    one->slots_max = 0;
    one->goes_along = part > 0;
    if (!slots_of(r, part, &one->slots, ret_err) ||
        !lsf_resources_read(one, r->part[part].text, a, ret_err))
        return NULL;
    one->no_effect = part ? NULL : r->no_effect;
    if (part > 0)
        one->depend = (struct lsf_depend){0};
    return one;
}
