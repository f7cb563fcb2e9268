/* qsub -W depend=: "afterok:12.server:13,afterany:14[]", "on:2", "beforeok:15", and Torque's
 * "afterokarray:12[][5]". A count of Torque's before…array is one from above: "before this many
 * have ended well, this job may start". */
#include "script/pbs/pbs.h"

#include "base/alloc.h"
#include "model/job/dependency.h"
#include "model/job/job.h"

#include <string.h>

static const struct {
    const char *name, *ours;
    const char *counts, *compare; /* …array with a count, or before…array */
    const char *why;
} kinds[] = {
    {"after", "after", NULL, NULL, NULL},
    {"afterok", "afterok", NULL, NULL, NULL},
    {"afternotok", "afternotok", NULL, NULL, NULL},
    {"afterany", "afterany", NULL, NULL, NULL},
    {"afterstartarray", "after", "numstart", ">=", NULL},
    {"afterokarray", "afterok", "numdone", ">=", NULL},
    {"afternotokarray", "afternotok", "numexit", ">=", NULL},
    {"afteranyarray", "afterany", "numended", ">=", NULL},
    {"before", "before", NULL, NULL, NULL},
    {"beforeok", "beforeok", NULL, NULL, NULL},
    {"beforenotok", "beforenotok", NULL, NULL, NULL},
    {"beforeany", "beforeany", NULL, NULL, NULL},
    {"beforestartarray", NULL, "numstart", "<", NULL},
    {"beforeokarray", NULL, "numdone", "<", NULL},
    {"beforenotokarray", NULL, "numexit", "<", NULL},
    {"beforeanyarray", NULL, "numended", "<", NULL},
    {"on", "on", NULL, NULL, NULL},
    {"synccount", NULL, NULL, NULL,
     "what starts together is parts of one job: -l select=2:ncpus=8+1:ncpus=2"},
    {"syncwith", NULL, NULL, NULL,
     "what starts together is parts of one job: -l select=2:ncpus=8+1:ncpus=2"},
};

/* "12", "12.server", "12[3]", "12[]", Torque's "12[][5]". */
struct pbs_id {
    struct span number, index, count;
};

static size_t digits_of(struct span text)
{
    size_t n = 0;
    while (n < text.len && text.data[n] >= '0' && text.data[n] <= '9')
        n++;
    return n;
}

/* Takes "[12]" or "[]" off the front. */
static bool bracket_take(struct span *rest, struct span *ret)
{
    const char *close =
        rest->len && rest->data[0] == '[' ? memchr(rest->data, ']', rest->len) : NULL;
    if (!close)
        return false;
    *ret = (struct span){rest->data + 1, (size_t)(close - rest->data) - 1};
    size_t used = ret->len + 2;
    *rest = (struct span){rest->data + used, rest->len - used};
    return digits_of(*ret) == ret->len;
}

static bool id_parse(struct span text, struct pbs_id *ret, struct err *e)
{
    struct span rest = text;
    *ret = (struct pbs_id){.number = {text.data, digits_of(text)}};
    rest.data += ret->number.len;
    rest.len -= ret->number.len;
    bool ok = ret->number.len > 0;
    if (ok && rest.len && rest.data[0] == '[')
        ok = bracket_take(&rest, &ret->index);
    if (ok && rest.len && rest.data[0] == '[')
        ok = bracket_take(&rest, &ret->count) && ret->count.len && !ret->index.len;
    ok = ok && (!rest.len || rest.data[0] == '.' || rest.data[0] == '@');
    return ok || err_set(e, ERR_VALUE, "-W depend: \"%.*s\" is no job id", SPAN_QUOTED(text));
}

static bool counted_add(struct str *out, size_t kind, const struct pbs_id *id, struct err *e)
{
    if (!kinds[kind].counts)
        return err_set(e, ERR_VALUE,
                       "-W depend=%s: a count of elements is for afterokarray, afteranyarray, "
                       "afternotokarray and afterstartarray",
                       kinds[kind].name);
    str_addf(out, "%s%s:%.*s%s", out->len ? "," : "", kinds[kind].counts, (int)id->number.len,
             id->number.data, kinds[kind].compare);
    if (id->count.len)
        str_addn(out, id->count.data, id->count.len);
    else
        str_add(out, "all");
    return true;
}

/* *begun: the last that was written is of this kind, and takes more ids. */
static bool id_add(struct str *out, size_t kind, struct span text, bool *begun, struct err *e)
{
    struct pbs_id id;
    if (!id_parse(text, &id, e))
        return false;
    if (id.count.len || !kinds[kind].ours) {
        *begun = false;
        return counted_add(out, kind, &id, e);
    }
    if (!*begun)
        str_addf(out, "%s%s", out->len ? "," : "", kinds[kind].ours);
    *begun = true;
    str_addf(out, ":%.*s", (int)id.number.len, id.number.data);
    if (id.index.len)
        str_addf(out, "_%.*s", (int)id.index.len, id.index.data);
    return true;
}

static bool item_add(struct str *out, struct span item, struct arena *a, struct err *e)
{
    struct span name, id;
    span_next(&item, ':', &name);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool any = false, begun = false;
        if (!span_is_nocase(name, kinds[i].name))
            continue;
        if (kinds[i].why)
            return dialect_refuse(e, arena_printf(a, "-W depend=%s", kinds[i].name), "%s",
                                  kinds[i].why);
        for (; span_next(&item, ':', &id); any = true)
            if (!id_add(out, i, id, &begun, e))
                return false;
        return any || err_set(e, ERR_VALUE, "-W depend=%s names no job", kinds[i].name);
    }
    return err_set(e, ERR_VALUE,
                   "-W depend: there is no \"%.*s\"; after, afterok, afternotok, afterany, before, "
                   "beforeok, beforenotok, beforeany, on and Torque's …array are known",
                   SPAN_QUOTED(name));
}

const char *pbs_depend_read(const char *text, struct arena *a, struct err *ret_err)
{
    struct str out = STR_INIT;
    struct dependency_list list;
    struct span rest = span_of(text), item;
    bool ok = true;
    while (ok && span_next(&rest, ',', &item))
        ok = item_add(&out, item, a, ret_err);
    if (ok && !out.len)
        ok = err_set(ret_err, ERR_VALUE, "-W depend= names no job");
    const char *kept = ok ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return kept && dependency_parse(kept, a, &list, ret_err) ? kept : NULL;
}

/* ---- back ---- */

/* Can PBS say it? */
static bool pbs_says(const struct dependency *d)
{
    bool kind = d->kind <= DEP_AFTERNOTOK || d->kind == DEP_ON;
    return kind && !d->negated && !d->each && !d->delay_us;
}

static void pbs_write(const struct dependency *d, const char *server, struct str *out)
{
    str_addf(out, "%s%s:", out->len ? "," : "", dep_kind_words[d->kind]);
    if (d->kind == DEP_ON)
        str_addf(out, "%d", d->number);
    else
        str_addf(out, "%llu", (unsigned long long)d->job_id);
    if (d->job_id && d->task_id != NO_TASK)
        str_addf(out, "[%u]", d->task_id);
    if (d->job_id)
        str_addf(out, ".%s@%s", server, server);
}

const char *pbs_depend_of(const char *dependency, const char *server, struct arena *a)
{
    struct dependency_list list;
    struct str out = STR_INIT;
    if (text_empty(dependency) || !dependency_parse(dependency, a, &list, NULL) || list.form ||
        (list.any && list.n > 1))
        return dependency;
    for (size_t i = 0; i < list.n; i++)
        if (!pbs_says(&list.v[i]))
            return dependency;
    for (size_t i = 0; i < list.n; i++)
        pbs_write(&list.v[i], server, &out);
    const char *text = arena_strdup(a, str_text(&out));
    str_done(&out);
    return text;
}
