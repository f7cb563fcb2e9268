/* Fair shares as they are shown, a part at a time: what running jobs may still use is summed up,
 * the table is worked out, then told. */
#include "core/record/accounts/share/fairshare.h"
#include "core/record/accounts/use.h"
#include "core/record/record.h"

#include <stdlib.h>

#define LOOKS_A_ROW 16 /* what is looked at costs less than a row that is shown */

struct fair_reading {
    const struct core *c;
    struct map_walk jobs;
    bool promises_known;
    struct map_u64 *promised;
    struct fs_work w;
    size_t row; /* the next */
};

struct fair_reading *fair_reading_new(const struct core *c)
{
    struct fair_reading *f = xcalloc(1, sizeof *f);
    f->c = c;
    f->promised = use_promised_new();
    shares_begin(&f->w, c);
    return f;
}

void fair_reading_free(void *reading)
{
    struct fair_reading *f = reading;
    use_promised_free(f->promised);
    shares_done(&f->w);
    free(f);
}

static void row_tell(const struct fair_reading *f, const struct fs_node *n, struct arena *a,
                     const struct view *v)
{
    const struct assoc *of = &n->r->a;
    struct fair_share row = {.assoc_id = of->id,
                             .account = of->account,
                             .user = of->user,
                             .partition = of->partition,
                             .parent = of->parent,
                             .depth = n->depth,
                             .shares = n->shares,
                             .norm_shares = n->norm_shares,
                             .usage = n->use,
                             .norm_usage = n->norm_usage,
                             .effective = n->effective,
                             .level_e6 = n->level_e6,
                             .factor = n->factor};
    row.used = use_minutes(f->c, use_find(f->c, OWNER_ASSOC, of->id), a);
    row.promised = use_minutes(f->c, map_u64_get(f->promised, use_key(OWNER_ASSOC, of->id)), a);
    row.limits = use_limits(&n->r->limit, LIMIT_GRP_TRES_MINS, a);
    v->row(v->ctx, &row);
}

bool fair_reading_go(struct fair_reading *f, int64_t now_us,
                     bool (*wanted)(void *ctx, const struct assoc *a), const struct view *v,
                     size_t most)
{
    size_t looks = most < SIZE_MAX / LOOKS_A_ROW ? most * LOOKS_A_ROW : SIZE_MAX;
    if (!f->promises_known)
        f->promises_known = use_promised_go(f->c, now_us, f->promised, &f->jobs, &looks);
    if (!f->promises_known || !shares_go(&f->w, &looks))
        return true;
    struct arena *a = arena_new();
    for (; f->row < f->w.t.n && looks >= LOOKS_A_ROW; f->row++) {
        const struct fs_node *n = &f->w.t.v[f->row];
        bool shown = n->depth == 0 || wanted(v->ctx, &n->r->a);
        if (shown)
            row_tell(f, n, a, v);
        looks -= shown ? LOOKS_A_ROW : 1;
        arena_reset(a);
    }
    arena_free(a);
    return f->row < f->w.t.n;
}
