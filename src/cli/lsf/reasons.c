/* Why a job waits is worked out when it is asked of jobs that are there (decisions/0004). The
 * history has those that wait, too, and does not say it: bjobs -a, qstat -x and qstat -t ask for it
 * beside. */
#include "cli/lsf/reasons.h"

#include "base/map.h"
#include "base/str.h"
#include "io/client/client.h"

#define NAMED_MOST 100 /* more than so many are not asked for by their numbers */

struct reasons {
    struct arena *a;
    struct map_u64 *of; /* job → struct job */
};

static void reason_keep(void *ctx, const void *record)
{
    struct reasons *r = ctx;
    const struct job *j = record;
    map_u64_put(r->of, j->id, arena_dup(r->a, j, sizeof *j));
}

/* "12,17" of those that wait, *ret_n: how many they are; NULL = too many for a list. */
static const char *waiting_ids(const struct lsf_job_list *l, struct arena *a, size_t *ret_n)
{
    struct str ids = STR_INIT;
    *ret_n = 0;
    for (size_t i = 0; i < l->job.n; i++)
        if (l->job.v[i]->state == JOB_PENDING && ++*ret_n <= NAMED_MOST)
            str_addf(&ids, "%s%llu", ids.len ? "," : "", (unsigned long long)l->job.v[i]->id);
    const char *list = *ret_n <= NAMED_MOST ? arena_strdup(a, str_text(&ids)) : NULL;
    str_done(&ids);
    return list;
}

bool lsf_reasons_read(struct client *c, struct lsf_job_list *l, struct arena *a,
                      struct err *ret_err)
{
    struct reasons r = {.a = a};
    struct msg_done done = {0};
    size_t n;
    struct msg_query q = {.what = QUERY_JOBS,
                          .states = "PENDING",
                          .ids = waiting_ids(l, a, &n),
                          .fields = "id,reason,reason_detail,planned_us"};
    if (!n)
        return true;
    r.of = map_u64_new();
    bool ok = client_query(c, &q, &job_fields, a, reason_keep, &r, &done, ret_err);
    for (size_t i = 0; i < l->job.n && ok; i++) {
        const struct job *j = l->job.v[i];
        const struct job *now = j->state == JOB_PENDING ? map_u64_get(r.of, j->id) : NULL;
        if (!now)
            continue;
        struct job *told = arena_dup(a, j, sizeof *j);
        told->reason = now->reason;
        told->reason_detail = now->reason_detail;
        told->planned_us = now->planned_us;
        l->job.v[i] = told;
    }
    map_u64_free(r.of);
    return ok;
}
