/* The tree of accounts as it is shown: what stands in it as used, against what the rows of jobs
 * say. */
#include "sim/world/inside.h"

struct use_showing {
    struct sim_world *w;
    const struct fair_share *of;
    int64_t sum;
};

static void billing_add(void *ctx, const void *record)
{
    struct use_showing *s = ctx;
    const struct assoc *a = record;
    struct simused n;
    if (!a->user || (s->of->user && !text_is(a->user, s->of->user)) ||
        (s->of->user ? !text_is(a->account, s->of->account)
                     : !world_account_is_below(s->w, a->account, s->of->account)))
        return;
    if (world_use_get(s->w, "assoc", a->id, "billing", &n))
        s->sum += n.now;
}

static void share_compare(void *ctx, const void *record)
{
    const struct fair_share *row = record;
    struct use_showing s = {.w = ctx, .of = row};
    world_use_assocs(s.w, billing_add, &s);
    if (s.sum != row->usage)
        world_broke(s.w, "of %s%s%s %lld is shown as used, and the rows of jobs say %lld",
                    row->account, row->user ? "/" : "", row->user ? row->user : "",
                    (long long)row->usage, (long long)s.sum);
}

void world_use_audit(struct sim_world *w)
{
    struct msg_query q = {.what = QUERY_FAIR_SHARES};
    struct view view = {share_compare, w};
    struct str detail = STR_INIT;
    if (!world_use_is_kept(w) || !w->use)
        return;
    core_query(w->core, &q, &world_daemon, world_wall(w), &view, &detail);
    str_done(&detail);
}
