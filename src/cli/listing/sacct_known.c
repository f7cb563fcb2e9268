/* What sacct shows that is not in the jobs' own records of accounting: the numbers that
 * associations and QOS have now, and the priority of who waits. Asked only where it is shown. */
#include "base/map.h"
#include "cli/listing/sacct.h"
#include "cli/program/program.h"
#include "cli/record/columns_acct.h"
#include "model/record/account.h"

#include <stdint.h>

static void assoc_keep(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    const struct assoc *a = record;
    if (!a->deleted && a->user)
        map_str_put(s->acct_env.assoc, acct_assoc_key(a->account, a->user, a->partition, s->l.a),
                    (void *)(uintptr_t)a->id);
}

static void qos_keep(void *ctx, const void *record)
{
    struct sacct_command *s = ctx;
    const struct qos *q = record;
    if (!q->deleted)
        map_str_put(s->acct_env.qos, q->name, (void *)(uintptr_t)q->id);
}

static void priority_keep(void *ctx, const void *record)
{
    const struct job *j = record;
    map_u64_put(ctx, j->id, (void *)(uintptr_t)j->priority);
}

/* Accounting has what a job was given at its start. */
static bool priorities_read(struct sacct_command *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query q = {.what = QUERY_JOBS, .states = "PENDING", .fields = "id,priority"};
    struct map_u64 *now = map_u64_new();
    q.ids = s->query.ids;
    q.uids = s->query.uids;
    bool ok = client_query(c, &q, &job_fields, s->l.a, priority_keep, now, &done, ret_err);
    for (size_t i = 0; ok && i < s->job.n; i++) {
        uint64_t priority = (uint64_t)(uintptr_t)map_u64_get(now, s->job.v[i]->id);
        if (s->job.v[i]->state != JOB_PENDING || !priority)
            continue;
        struct job *j = arena_dup(s->l.a, s->job.v[i], sizeof *j);
        j->priority = priority;
        s->job.v[i] = j;
    }
    map_u64_free(now);
    return ok;
}

bool sacct_known_read(struct sacct_command *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query assocs = {.what = QUERY_ASSOCS, .fields = "id,account,user,partition,deleted"},
                     qos = {.what = QUERY_QOS, .fields = "id,name,deleted"};
    sacct_known_free(s);
    if (!s->l.json && acct_shows(&s->l.format, "AssocID")) {
        s->acct_env.assoc = map_str_new();
        if (!client_query(c, &assocs, &assoc_fields, s->l.a, assoc_keep, s, &done, ret_err))
            return false;
    }
    if (!s->l.json && acct_shows(&s->l.format, "QOSRAW")) {
        s->acct_env.qos = map_str_new();
        if (!client_query(c, &qos, &qos_fields, s->l.a, qos_keep, s, &done, ret_err))
            return false;
    }
    return (!s->l.json && !acct_shows(&s->l.format, "Priority")) || priorities_read(s, c, ret_err);
}

void sacct_known_free(struct sacct_command *s)
{
    map_str_free(s->acct_env.assoc);
    map_str_free(s->acct_env.qos);
    s->acct_env.assoc = s->acct_env.qos = NULL;
}
