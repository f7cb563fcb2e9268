/* What sprio, sshare and sdiag show: why jobs stand where they stand, who used how much, what the
 * controller has done. */
#include "base/alloc.h"
#include "base/merge.h"
#include "core/query/query.h"
#include "core/record/accounts/private.h"
#include "core/record/accounts/use.h"
#include "core/record/asked.h"

#include <stdlib.h>
#include <string.h>

struct priority_view {
    const struct core *c;
    const struct jobrec *r;
    const struct asked_words *partition;
    const struct view *v;
};

static void priority_row_add(void *ctx, const struct priority_row *row)
{
    struct priority_view *p = ctx;
    struct priority_row one = *row;
    if (!asked_words_have(p->partition, one.partition))
        return;
    one.user_name = p->r->j.user_name;
    one.account = p->r->j.spec.req.account;
    one.qos = p->r->j.spec.req.qos;
    p->v->row(p->v->ctx, &one);
}

void priority_show(const struct core *c, const struct jobrec *r,
                   const struct asked_words *partition, int64_t now_us, const struct view *v)
{
    struct priority_view p = {c, r, partition, v};
    if (r->waiting) {
        sched_priority_rows(c->cluster, r->j.id, now_us, priority_row_add, &p);
    } else if (job_is_kept(c, r, now_us)) {
        struct waiting w = planner_would(c, r, 1);
        sched_priority_of(c->cluster, &w, now_us, priority_row_add, &p);
    }
}

static void most_take(void *ctx, const struct priority_row *row)
{
    uint64_t *most = ctx;
    *most = row->priority > *most ? row->priority : *most;
}

uint64_t priority_kept(const struct core *c, const struct jobrec *r, int64_t now_us)
{
    uint64_t most = 0;
    struct waiting w = planner_would(c, r, 1);
    sched_priority_of(c->cluster, &w, now_us, most_take, &most);
    return most;
}

static int by_who(const void *va, const void *vb)
{
    const struct usage *a = *(const struct usage *const *)va, *b = *(const struct usage *const *)vb;
    int order = strcmp(a->account ? a->account : "", b->account ? b->account : "");
    return order
               ? order
               : strcmp(a->user_name ? a->user_name : a->who, b->user_name ? b->user_name : b->who);
}

struct share_reading {
    struct map_u64 *uid; /* asked for; NULL = anybody's */
    struct asked_words account;
    struct map_walk walk;
    VEC(const struct usage *) rows; /* of which each stays where it is as long as the machine */
    bool gathered, sorted;
    struct merge_sort sort;
    size_t next;
};

static void share_reading_drop(void *kept)
{
    struct share_reading *s = kept;
    merge_done(&s->sort);
    vec_done(&s->rows);
    map_u64_free(s->uid);
    asked_words_done(&s->account);
    free(s);
}

static bool shares_gather(const struct core *c, const struct peer *peer, struct share_reading *s,
                          size_t *looks)
{
    for (; *looks; --*looks) {
        if (!map_str_next(c->usage.row, &s->walk))
            return true;
        const struct usage *u = s->walk.value; /* the first member of its record */
        if ((!s->uid || map_u64_get(s->uid, u->user_id)) &&
            (!s->account.of || (u->account && asked_words_have(&s->account, u->account))) &&
            may_see_usage(c, peer, u->user_name, u->account))
            vec_push(&s->rows, u);
    }
    return false;
}

enum refusal query_shares(const struct core *c, const struct msg_query *q, const struct peer *peer,
                          const struct view *v, struct query_at *at, size_t most)
{
    ASSERT(most > 0);
    size_t looks = most;
    struct share_reading *s = at->kept;
    if (!s) {
        s = at->kept = xcalloc(1, sizeof *s);
        at->drop = share_reading_drop;
        s->uid = asked_uids_read(q->uids);
        s->account = asked_words_read(q->accounts);
    }
    if (!s->gathered && (s->gathered = shares_gather(c, peer, s, &looks)))
        merge_begin(&s->sort, s->rows.v, s->rows.n, sizeof s->rows.v[0], by_who);
    if (s->gathered && !s->sorted)
        s->sorted = merge_go(&s->sort, &looks);
    for (; s->sorted && looks && s->next < s->rows.n; looks--) {
        struct usage row = *s->rows.v[s->next++];
        row.run_times = NULL; /* what jobs are expected to need is their owner's: remuda why */
        v->row(v->ctx, &row);
    }
    at->more = !s->sorted || s->next < s->rows.n;
    return REFUSE_NONE;
}

struct fair_view {
    const struct core *c;
    const struct peer *peer;
    const struct view *v;
};

static bool fair_wanted(void *ctx, const struct assoc *a)
{
    const struct fair_view *f = ctx;
    return may_see_usage(f->c, f->peer, a->user, a->account);
}

/* PrivateData=usage: the root is there for all, without what it used. */
static void fair_row(void *ctx, const void *record)
{
    const struct fair_view *f = ctx;
    struct fair_share row = *(const struct fair_share *)record;
    bool may = may_see_usage(f->c, f->peer, row.user, row.account);
    if (!may && row.depth == 0) {
        row.usage = 0;
        row.used = row.promised = row.limits = NULL;
    }
    if (may || row.depth == 0)
        f->v->row(f->v->ctx, &row);
}

enum refusal query_fair_shares(const struct core *c, const struct peer *peer, int64_t now_us,
                               const struct view *v, struct query_at *at, size_t most)
{
    ASSERT(most > 0);
    struct fair_view f = {c, peer, v};
    struct view through = {fair_row, &f};
    if (!at->kept && accounts_in_use(c)) {
        at->kept = fair_reading_new(c);
        at->drop = fair_reading_free;
    }
    at->more = at->kept && fair_reading_go(at->kept, now_us, fair_wanted, &through, most);
    return REFUSE_NONE;
}

enum refusal query_diag(const struct core *c, int64_t now_us, const struct view *v)
{
    struct diag d = c->diag;
    d.now_us = now_us;
    d.jobs_pending = c->jobs.pending;
    d.jobs_running = c->jobs.running;
    d.considered = c->planning.considered;
    d.nodes_connected = map_u64_count(c->node_index.by_conn);
    v->row(v->ctx, &d);
    return REFUSE_NONE;
}
