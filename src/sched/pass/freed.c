/* Of each node a sum over what runs there and until when is kept from one pass to the next. It is
 * the same if nothing ended, began elsewhere than planned, or was given another end; any difference
 * counts as something that came free, as to look once too often costs only time. Promises that are
 * left or taken back are told by whoever does it. */
#include "sched/pass/freed.h"

#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/pass/standing.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0xd1b54a32d192ed03));
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Whatever the order of those that end at one time. */
static uint64_t node_sum(const struct world *w, uint32_t node)
{
    const struct agenda *a = &w->agenda;
    const int64_t *row = world_free_row(w, node);
    uint64_t sum = bit_get(w->now.up, node);
    for (size_t d = 0; d < w->dims; d++)
        sum += mix((uint64_t)row[d], d);
    for (uint32_t t = a->work[node]; t != NONE; t = a->take.v[t].next)
        for (uint32_t i = 0; i < a->take.v[t].n; i++) {
            const struct use *u = &a->use.v[a->take.v[t].first + i];
            sum += mix(mix((uint64_t)agenda_job(a, t)->end_us, u->dim), (uint64_t)u->amount);
        }
    return sum;
}

static bool wanted(const struct pass *p)
{
    return standing_wanted(p->cl) && p->w->nnodes > 1;
}

void freed_anything(struct pass *p)
{
    p->v->freed++;
    for (size_t i = 0; i < p->v->seen.n; i++)
        p->v->seen.v[i].freed = p->v->freed;
}

void freed_begin(struct pass *p)
{
    struct plan_private *v = p->v;
    if (!wanted(p)) {
        vec_clear(&v->seen);
        return;
    }
    size_t words = BIT_WORDS(p->w->nnodes) + 1;
    p->same = xcalloc(4 * words, sizeof p->same[0]);
    p->differs = p->same + words;
    p->own = p->differs + words;
    p->steady = p->own + words;
    if (v->seen_version != p->cl->derived.version || v->seen.n != p->w->nnodes) {
        vec_clear(&v->seen);
        for (size_t i = 0; i < p->w->nnodes; i++)
            vec_push(&v->seen, (struct node_seen){0});
        v->seen_version = p->cl->derived.version;
        freed_anything(p);
        return;
    }
    uint64_t moment = v->freed + 1;
    for (uint32_t i = 0; i < p->w->nnodes; i++) {
        if (v->seen.v[i].sum == node_sum(p->w, i))
            bit_set(p->steady, i);
        else
            v->seen.v[i].freed = v->freed = moment;
    }
}

void freed_keep(struct pass *p)
{
    for (uint32_t i = 0; i < p->v->seen.n; i++)
        p->v->seen.v[i].sum = node_sum(p->w, i);
}

void freed_places(struct pass *p, const struct placed *at, size_t n)
{
    p->v->freed++;
    for (size_t i = 0; i < n; i++)
        if (at[i].node < p->v->seen.n)
            p->v->seen.v[at[i].node].freed = p->v->freed;
}

bool freed_tells(const struct pass *p, const struct entry *e)
{
    const struct option *o = e->o;
    const struct policy *policy = &p->cl->policy;
    return wanted(p) && !p->future && p->same && e->c->n == 1 && e->c->nlic == 0 &&
           e->c->nmust == 0 && !o->resv && !p->w->view.kept_head && o->part->windows.n == 0 &&
           o->limit_min_us == o->limit_us && !o->mode.share && !o->mode.user_only &&
           !part_caps_cpus(&o->part->p) && e->c->req->switches <= 0 && e->job->w.deadline_us == 0 &&
           !e->lane->het && p->het.n == 0 && p->left[e->lane->idx] == 1 && !policy->preempt_qos &&
           !policy->preempt_tier;
}

uint64_t freed_moment(const struct pass *p, const struct entry *e)
{
    return freed_tells(p, e) ? p->v->freed : 0;
}

bool freed_since(struct pass *p, const struct entry *e, uint64_t moment)
{
    bool any = false;
    if (moment == p->v->freed)
        return false;
    for (size_t word = 0; word < BIT_WORDS(p->w->nnodes); word++) {
        uint64_t allowed = p->w->now.up[word] & option_allows(e->c, e->o, word), differs = 0;
        for (uint64_t bits = allowed; bits; bits &= bits - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(bits);
            if (p->v->seen.v[word * 64 + bit].freed > moment)
                differs |= UINT64_C(1) << bit;
        }
        p->differs[word] = differs;
        p->same[word] = ~differs;
        any |= differs != 0;
    }
    return any;
}
