/* qsub -W depend=: "afterok:12.server:13,afterany:14[]", and Torque's "afterokarray:12[]". */
#include "script/pbs.h"

#include "base/alloc.h"

#include <string.h>

static const struct {
    const char *name, *ours, *why;
} kinds[] = {
    {"after", "after", NULL},
    {"afterok", "afterok", NULL},
    {"afternotok", "afternotok", NULL},
    {"afterany", "afterany", NULL},
    {"afterstartarray", "after", NULL},
    {"afterokarray", "afterok", NULL},
    {"afternotokarray", "afternotok", NULL},
    {"afteranyarray", "afterany", NULL},
    {"before", NULL, "say in the other job that it comes after"},
    {"beforeok", NULL, "say in the other job afterok"},
    {"beforenotok", NULL, "say in the other job afternotok"},
    {"beforeany", NULL, "say in the other job afterany"},
    {"on", NULL, "say afterok of the jobs that are waited for"},
    {"synccount", NULL, "one job with all the nodes starts at once"},
    {"syncwith", NULL, "one job with all the nodes starts at once"},
};

/* "12.server", "12[].server", "12[3]" as "12", "12", "12_3". */
static bool id_add(struct str *out, struct span id, struct err *e)
{
    size_t digits = 0, close;
    while (digits < id.len && id.data[digits] >= '0' && id.data[digits] <= '9')
        digits++;
    struct span rest = {id.data + digits, id.len - digits};
    const char *bracket = rest.len && rest.data[0] == '[' ? memchr(rest.data, ']', rest.len) : NULL;
    close = bracket ? (size_t)(bracket - rest.data) : 0;
    struct span index = {rest.data + 1, close ? close - 1 : 0};
    for (size_t i = 0; i < index.len; i++)
        if (index.data[i] < '0' || index.data[i] > '9')
            digits = 0;
    size_t used = close ? close + 1 : 0;
    if (!digits || (rest.len && rest.data[0] == '[' && !close) ||
        (used < rest.len && rest.data[used] != '.' && rest.data[used] != '@'))
        return err_set(e, ERR_VALUE, "-W depend: \"%.*s\" is no job id",
                       (int)(id.len < 80 ? id.len : 80), id.data);
    str_addc(out, ':');
    str_addn(out, id.data, digits);
    if (index.len)
        str_addf(out, "_%.*s", (int)index.len, index.data);
    return true;
}

static bool item_add(struct str *out, struct span item, struct arena *a, struct err *e)
{
    struct span name, id;
    span_next(&item, ':', &name);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (!span_is_nocase(name, kinds[i].name))
            continue;
        if (!kinds[i].ours)
            return dialect_refuse(e, arena_printf(a, "-W depend=%s", kinds[i].name), "%s",
                                  kinds[i].why);
        str_addf(out, "%s%s", out->len ? "," : "", kinds[i].ours);
        bool any = false;
        for (; span_next(&item, ':', &id); any = true)
            if (!id_add(out, id, e))
                return false;
        return any || err_set(e, ERR_VALUE, "-W depend=%s names no job", kinds[i].name);
    }
    return err_set(e, ERR_VALUE,
                   "-W depend: there is no \"%.*s\"; after, afterok, afternotok and afterany are "
                   "known",
                   (int)(name.len < 80 ? name.len : 80), name.data);
}

const char *pbs_depend_read(const char *text, struct arena *a, struct err *ret_err)
{
    struct str out = STR_INIT;
    struct span rest = span_of(text), item;
    bool ok = true;
    while (ok && span_next(&rest, ',', &item))
        ok = item_add(&out, item, a, ret_err);
    if (ok && !out.len)
        ok = err_set(ret_err, ERR_VALUE, "-W depend= names no job");
    const char *kept = ok ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return kept;
}
