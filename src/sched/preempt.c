/* Preemption. A job that does not fit may stop running work of partitions with a lower PriorityTier. Which work is found by asking the planner's own
 * question with that work taken away: lift all that could go; if the job fits then, put back as much as possible, the dearest first. What is dear
 * is the work that would be lost: CPUs × time run, nothing for work that is only suspended; among equals, the fewest jobs. Two ways of going
 * about it are compared: cheapest jobs first, and cheapest nodes first (a node is as dear as the jobs that must leave it).
 *
 * No victim goes in vain. A job whose turn comes anyway before its victims could be gone waits. Devices and sockets are checked, not only
 * counts. Work that was told to end remembers for whom; until all of it is gone, the job has a promise of what comes free, whatever its place in the
 * queue, and takes no more victims. Suspending frees CPUs at once and is done only when nothing else has to end first.
 *
 * Suspended work goes on as soon as its CPUs are idle and nobody of a higher tier wants them. */
#include "base/alloc.h"
#include "sched/pass.h"
#include "sched/preempt.h"
#include "sched/resv_view.h"

#include <stdlib.h>
#include <string.h>

#define YIELD_PAUSE_US (30 * USEC_PER_SEC) /* between two suspensions of a job: nobody is stopped and woken in circles */
#define TRIES_MAX      128                 /* victims that are tried to be spared one by one */
#define FEW_MAX        8                   /* of so few every set is tried */

struct victim {
    struct run *run;
    enum preempt_mode mode;
    int64_t lost; /* CPU seconds */
    int64_t cpus;
};

typedef VEC(struct victim) victims;

/* ---- who may stop whom --------------------------------------------------------------------------------------------------- */

static const struct partition *run_part(const struct cluster *cl, const struct run *r)
{
    const struct spart *s = r->partition ? cluster_part(cl, r->partition) : NULL;
    return s ? &s->p : NULL;
}

static enum preempt_mode run_mode(const struct cluster *cl, const struct run *r)
{
    const struct partition *p = run_part(cl, r);
    if (!p)
        return PREEMPT_OFF;
    enum preempt_mode mode = p->preempt_mode != PREEMPT_UNSET ? (enum preempt_mode)p->preempt_mode : cl->policy.preempt_mode;
    return mode == PREEMPT_GANG || mode == PREEMPT_UNSET ? PREEMPT_OFF : mode;
}

/* The rank that is compared: the tier of the partition. With preempt/qos it will be the QOS's list of those it may stop. */
static bool outranks(const struct cluster *cl, const struct option *o, const struct run *r)
{
    const struct partition *p = run_part(cl, r);
    return cl->policy.preempt_tier && p && p->priority_tier < o->tier;
}

static int32_t lowest_tier(const struct cluster *cl)
{
    int32_t least = INT32_MAX;
    for (size_t i = 0; i < cl->part.n; i++)
        if (!cl->part.v[i]->gone && cl->part.v[i]->p.priority_tier < least)
            least = cl->part.v[i]->p.priority_tier;
    return least;
}

bool preempt_possible(const struct cluster *cl, const struct option *o)
{
    return cl->policy.preempt_tier && o->tier > lowest_tier(cl);
}

static bool run_in_part(const struct run *r, const struct spart *part)
{
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released && bit_get(r->hold[i].node->group->parts, part->idx))
            return true;
    return false;
}

static bool chosen_before(const struct pass *p, const struct run *r)
{
    for (size_t i = 0; i < p->v->preempt.n; i++)
        if (p->v->preempt.v[i].victim == r->job_id)
            return true;
    return false;
}

/* May it be stopped now? If only later, the pass is to be made again then. */
static bool run_may_go(struct pass *p, const struct run *r, enum preempt_mode mode)
{
    int64_t now = p->w->now_us, safe_until;
    if (r->ending || mode == PREEMPT_OFF || chosen_before(p, r))
        return false;
    if (mode == PREEMPT_SUSPEND) {
        if (r->suspended)
            return false;
        safe_until = r->yielded_us ? r->yielded_us + YIELD_PAUSE_US : 0;
    } else {
        safe_until = time_add(r->start_us, p->cl->policy.preempt_exempt_us);
    }
    if (safe_until <= now)
        return true;
    if (!p->v->exempt_until_us || safe_until < p->v->exempt_until_us)
        p->v->exempt_until_us = safe_until;
    return false;
}

static int64_t run_cpus(const struct run *r)
{
    int64_t cpus = 0;
    for (size_t i = 0; i < r->nholds; i++)
        cpus += r->hold[i].released ? 0 : (int64_t)r->hold[i].ncpu;
    return cpus;
}

/* Least work lost first; among equals the largest, so that few go; then who began last. */
static int victim_order(const void *va, const void *vb)
{
    const struct victim *a = va, *b = vb;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->cpus != b->cpus)
        return a->cpus > b->cpus ? -1 : 1;
    if (a->run->start_us != b->run->start_us)
        return a->run->start_us > b->run->start_us ? -1 : 1;
    return (a->run->job_id > b->run->job_id) - (a->run->job_id < b->run->job_id);
}

static void victims_collect(struct pass *p, const struct option *o, victims *v)
{
    struct map_walk walk = {0};
    while (map_u64_next(p->cl->run_of, &walk)) {
        struct run *r = walk.value;
        enum preempt_mode mode = run_mode(p->cl, r);
        if (!outranks(p->cl, o, r) || !run_in_part(r, o->part) || !run_may_go(p, r, mode))
            continue;
        struct victim one = {.run = r, .mode = mode, .cpus = run_cpus(r)};
        int64_t ran = p->w->now_us > r->start_us ? (p->w->now_us - r->start_us) / USEC_PER_SEC : 0;
        one.lost = mode == PREEMPT_SUSPEND ? 0 : one.cpus * ran;
        vec_push(v, one);
    }
    if (v->n > 1)
        qsort(v->v, v->n, sizeof v->v[0], victim_order);
}

/* ---- what would be without them ------------------------------------------------------------------------------------------- */

/* The node is counted anew, and the world gets the difference. */
static void node_shift(struct pass *p, struct snode *n)
{
    struct cluster *cl = (struct cluster *)(uintptr_t)p->cl; /* a scratch use of its counters: pass_preempt leaves them as they were */
    int64_t *row = node_free(cl, n), *diff = xmemdup(row, cl->dim.n * sizeof row[0]);
    node_recount(cl, n);
    for (size_t d = 0; d < cl->dim.n; d++)
        diff[d] = row[d] - diff[d];
    world_free_more(p->w, n->idx, diff, 1);
    free(diff);
}

static void lift_set(struct pass *p, struct victim *v, enum lifted how)
{
    struct run *r = v->run;
    if (r->lifted == how)
        return;
    bool licences = how == LIFTED_ALL || r->lifted == LIFTED_ALL;
    r->lifted = (uint8_t)how;
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released)
            node_shift(p, r->hold[i].node);
    int64_t *row = xcalloc(p->w->dims, sizeof row[0]);
    for (size_t i = 0; licences && i < r->nlic; i++) {
        row[DIM_CPU] = r->lic[i].count;
        world_free_more(p->w, (uint32_t)p->w->nnodes + r->lic[i].lic, row, how == LIFTED_ALL ? 1 : -1);
    }
    free(row);
}

static void lift(struct pass *p, struct victim *v)
{
    lift_set(p, v, v->mode == PREEMPT_SUSPEND ? LIFTED_CPUS : LIFTED_ALL);
}

static void put_back(struct pass *p, struct victim *v)
{
    lift_set(p, v, LIFTED_NOT);
}

static void put_back_all(struct pass *p, victims *v)
{
    for (size_t i = 0; i < v->n; i++)
        put_back(p, &v->v[i]);
}

/* Do the devices and CPUs that are free then keep the rules about sockets? */
static bool exact_fits(struct pass *p, const struct entry *e)
{
    struct exacts *x = exacts_fork(p->ex);
    struct alloc_node an;
    bool ok = true;
    for (size_t i = 0; ok && i < p->at.at.n; i++)
        ok = exact_take(x, e->c, p->at.option, p->at.variant, p->at.at.v[i].node, p->at.at.v[i].units, &an);
    exacts_free(x);
    return ok;
}

static bool fits(struct pass *p, const struct entry *e)
{
    p->cost += 64;
    return world_place(p->w, e->c, e->o, p->w->now_us, time_add(p->w->now_us, e->o->limit_us), &p->at) && exact_fits(p, e);
}

/* ---- as few and as cheap as possible ---------------------------------------------------------------------------------------- */

/* Lifts the first k of v and no other. */
static void lift_first(struct pass *p, victims *v, size_t k)
{
    for (size_t i = 0; i < v->n; i++)
        if (i < k)
            lift(p, &v->v[i]);
        else
            put_back(p, &v->v[i]);
}

/* Lifts the shortest beginning of v that makes room. All of v does. */
static void lift_enough(struct pass *p, const struct entry *e, victims *v)
{
    size_t low = 1, high = v->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        lift_first(p, v, middle);
        if (fits(p, e))
            high = middle;
        else
            low = middle + 1;
    }
    lift_first(p, v, high);
}

static bool run_at(const struct pass *p, const struct run *r)
{
    for (size_t i = 0; i < r->nholds; i++)
        for (size_t k = 0; k < p->at.at.n; k++)
            if (!r->hold[i].released && r->hold[i].node->idx == p->at.at.v[k].node)
                return true;
    return r->nlic > 0;
}

/* Those who hold nothing where the job would go are spared, if it still fits without their going. */
static void spare_elsewhere(struct pass *p, const struct entry *e, victims *v)
{
    victims spared = {0};
    if (!fits(p, e))
        return;
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].run->lifted && !run_at(p, v->v[i].run)) {
            vec_push(&spared, v->v[i]);
            put_back(p, &v->v[i]);
        }
    if (!fits(p, e))
        for (size_t i = 0; i < spared.n; i++)
            lift(p, &spared.v[i]);
    vec_done(&spared);
}

/* Then the rest, one by one, the dearest first. */
static void spare_each(struct pass *p, const struct entry *e, victims *v)
{
    int tries = 0;
    spare_elsewhere(p, e, v);
    for (size_t i = v->n; i-- > 0 && tries < TRIES_MAX;) {
        if (!v->v[i].run->lifted)
            continue;
        tries++;
        put_back(p, &v->v[i]);
        if (!fits(p, e))
            lift(p, &v->v[i]);
    }
}

struct price {
    int64_t lost;
    size_t jobs;
};

static struct price price_of(const victims *v)
{
    struct price price = {0};
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].run->lifted) {
            price.lost += v->v[i].lost;
            price.jobs++;
        }
    return price;
}

static bool cheaper(struct price a, struct price b)
{
    return a.lost != b.lost ? a.lost < b.lost : a.jobs < b.jobs;
}

static void chosen_take(const victims *v, victims *chosen)
{
    vec_clear(chosen);
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].run->lifted)
            vec_push(chosen, v->v[i]);
}

/* ---- cheapest nodes first --------------------------------------------------------------------------------------------------- */

struct node_price {
    struct snode *node;
    struct price price;
};

static int node_price_order(const void *va, const void *vb)
{
    const struct node_price *a = va, *b = vb;
    if (a->price.lost != b->price.lost)
        return a->price.lost < b->price.lost ? -1 : 1;
    if (a->price.jobs != b->price.jobs)
        return a->price.jobs < b->price.jobs ? -1 : 1;
    return (a->node->idx > b->node->idx) - (a->node->idx < b->node->idx);
}

static bool holds(const struct run *r, const struct snode *n)
{
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released && r->hold[i].node == n)
            return true;
    return false;
}

static bool node_takes_one(struct pass *p, const struct entry *e, const struct snode *n)
{
    const int64_t *row = view_row(p->w, e->o, n->idx, p->w->now_us, time_add(p->w->now_us, e->o->limit_us));
    for (size_t i = 0; i < e->o->nvariants; i++)
        if (world_group_has(&e->o->variant[i], n->group) && demand_cap(p->cl, e->c, e->o, &e->o->variant[i], n->group, row) > 0)
            return true;
    return false;
}

/* Who must leave the node so that one piece of the job fits there; they stay lifted. False: even with all gone it does not. */
static bool node_clear(struct pass *p, const struct entry *e, const struct snode *n, victims *v)
{
    bool room = node_takes_one(p, e, n);
    size_t i = 0;
    for (; i < v->n && !room; i++)
        if (holds(v->v[i].run, n)) {
            lift(p, &v->v[i]);
            room = node_takes_one(p, e, n);
        }
    for (; room && i-- > 0;) {
        if (!v->v[i].run->lifted || !holds(v->v[i].run, n))
            continue;
        put_back(p, &v->v[i]);
        if (!node_takes_one(p, e, n))
            lift(p, &v->v[i]);
    }
    return room;
}

/* Lifts node by node until the job fits. */
static bool lift_nodes(struct pass *p, const struct entry *e, victims *v)
{
    VEC(struct node_price) nodes = {0};
    for (size_t i = 0; i < e->o->part->node.n; i++) {
        struct snode *n = e->o->part->node.v[i];
        if (!n->up || n->hold.n == 0)
            continue;
        if (node_clear(p, e, n, v)) {
            struct node_price one = {n, price_of(v)};
            vec_push(&nodes, one);
        }
        put_back_all(p, v);
    }
    if (nodes.n > 1)
        qsort(nodes.v, nodes.n, sizeof nodes.v[0], node_price_order);
    bool ok = false;
    for (size_t i = 0; i < nodes.n && !ok; i++) {
        node_clear(p, e, nodes.v[i].node, v);
        /* Trying is dear where many nodes are needed: it makes sense only with at least as many. */
        ok = (int32_t)i + 1 >= e->o->variant[0].lay.nmin / 2 && fits(p, e);
    }
    vec_done(&nodes);
    return ok;
}

/* ---- every set ------------------------------------------------------------------------------------------------------------------ */

/* Tries every set of the few that hold something where the job would go after the best choice so far (all, where there are only few): on one
 * node a dear victim may be cheaper than several cheap ones. Leaves the best set in `chosen`. */
static void refine(struct pass *p, const struct entry *e, victims *v, victims *chosen)
{
    victims few = {0};
    for (size_t i = 0; i < chosen->n; i++)
        lift(p, &chosen->v[i]);
    bool placed = fits(p, e);
    put_back_all(p, chosen);
    for (size_t i = 0; placed && i < v->n && few.n < FEW_MAX; i++)
        if (v->n <= FEW_MAX || run_at(p, v->v[i].run))
            vec_push(&few, v->v[i]);
    struct price best = {0};
    for (size_t i = 0; i < chosen->n; i++)
        best = (struct price){best.lost + chosen->v[i].lost, best.jobs + 1};
    for (uint32_t set = 1; few.n > 1 && set < UINT32_C(1) << few.n; set++) {
        struct price price = {0};
        for (size_t i = 0; i < few.n; i++)
            if (set >> i & 1)
                price = (struct price){price.lost + few.v[i].lost, price.jobs + 1};
        if (!cheaper(price, best))
            continue;
        for (size_t i = 0; i < few.n; i++)
            if (set >> i & 1)
                lift(p, &few.v[i]);
            else
                put_back(p, &few.v[i]);
        if (fits(p, e)) {
            best = price;
            chosen_take(&few, chosen);
        }
    }
    put_back_all(p, &few);
    vec_done(&few);
}

static bool victims_choose(struct pass *p, const struct entry *e, victims *chosen)
{
    victims v = {0};
    victims_collect(p, e->o, &v);
    lift_first(p, &v, v.n);
    bool ok = v.n > 0 && fits(p, e);
    if (ok) {
        lift_enough(p, e, &v);
        spare_each(p, e, &v);
        struct price first = price_of(&v);
        chosen_take(&v, chosen);
        put_back_all(p, &v);
        if (lift_nodes(p, e, &v)) {
            spare_each(p, e, &v);
            if (cheaper(price_of(&v), first))
                chosen_take(&v, chosen);
        }
        put_back_all(p, &v);
        refine(p, e, &v, chosen);
    }
    put_back_all(p, &v);
    vec_done(&v);
    return ok && chosen->n > 0;
}

/* ---- in the order ------------------------------------------------------------------------------------------------------------- */

static bool suspends_only(const victims *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].mode != PREEMPT_SUSPEND)
            return false;
    return true;
}

/* Would it start as soon without stopping anybody? */
static bool turn_is_near(struct pass *p, const struct entry *e)
{
    int64_t at;
    return world_earliest(p->w, e->c, e->o, e->o->limit_us, p->w->now_us, &p->at, &at) &&
           at <= time_add(p->w->now_us, p->cl->policy.grace_us);
}

static int64_t grace_of(const struct cluster *cl, const struct run *r)
{
    const struct partition *p = run_part(cl, r);
    return (p ? p->grace_time_us : 0) + cl->policy.grace_us;
}

static void victims_emit(struct pass *p, const struct entry *e, const victims *chosen, bool suspend)
{
    for (size_t i = 0; i < chosen->n; i++) {
        const struct victim *v = &chosen->v[i];
        if ((v->mode == PREEMPT_SUSPEND) != suspend)
            continue;
        struct plan_preempt one = {.victim = v->run->job_id, .for_job = e->job->w.job_id, .mode = v->mode};
        vec_push(&p->v->preempt, one);
        if (!suspend)
            world_end_by(p->w, v->run->job_id, time_add(p->w->now_us, grace_of(p->cl, v->run)));
    }
}

/* Is work ending already so that the job can start? */
static bool is_awaited(struct pass *p, uint64_t job_id)
{
    struct map_walk walk = {0};
    while (!p->awaited_known && map_u64_next(p->cl->run_of, &walk)) {
        const struct run *r = walk.value;
        if (r->for_job)
            vec_push(&p->awaited, r->for_job);
    }
    p->awaited_known = true;
    for (size_t i = 0; i < p->awaited.n; i++)
        if (p->awaited.v[i] == job_id)
            return true;
    return false;
}

/* What is suspended for the job in the turn of this pass is taken from the others that come after it. The cluster's own counters go back: the
 * core suspends the victims. */
static void begin_on_suspended(struct pass *p, const struct entry *e, victims *chosen)
{
    for (size_t i = 0; i < chosen->n; i++)
        lift(p, &chosen->v[i]);
    if (fits(p, e))
        world_begin(p->w, e->c, &p->at, e->job->w.job_id, time_add(p->w->now_us, e->o->limit_us));
    for (size_t i = 0; i < chosen->n; i++) {
        struct run *r = chosen->v[i].run;
        r->lifted = LIFTED_NOT;
        for (size_t k = 0; k < r->nholds; k++)
            if (!r->hold[k].released)
                node_recount((struct cluster *)(uintptr_t)p->cl, r->hold[k].node);
    }
}

enum preempting pass_preempt(struct pass *p, const struct entry *e)
{
    victims chosen = {0};
    if (p->future || !preempt_possible(p->cl, e->o))
        return PREEMPTS_NONE;
    if (is_awaited(p, e->job->w.job_id))
        return PREEMPTS_ENDING;
    enum preempting how = PREEMPTS_NONE;
    if (victims_choose(p, e, &chosen)) {
        bool suspend = suspends_only(&chosen);
        if (suspend || !turn_is_near(p, e)) {
            if (suspend)
                begin_on_suspended(p, e, &chosen);
            victims_emit(p, e, &chosen, suspend);
            how = suspend ? PREEMPTS_AT_ONCE : PREEMPTS_ENDING;
        }
    }
    vec_done(&chosen);
    return how;
}

/* ---- going on ------------------------------------------------------------------------------------------------------------------ */

static int run_order(const void *va, const void *vb)
{
    const struct run *a = *(const struct run *const *)va, *b = *(const struct run *const *)vb;
    if (a->yielded_us != b->yielded_us)
        return a->yielded_us < b->yielded_us ? -1 : 1;
    return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

static void cpus_take(struct pass *p, const struct run *r)
{
    int64_t *row = xcalloc(p->w->dims, sizeof row[0]);
    for (size_t i = 0; i < r->nholds; i++) {
        if (r->hold[i].released)
            continue;
        int64_t cpus = (int64_t)r->hold[i].ncpu, idle = p->w->free[r->hold[i].node->idx * p->w->dims + DIM_CPU];
        row[DIM_CPU] = cpus < idle ? cpus : idle > 0 ? idle : 0;
        row[DIM_SHARE] = cpus * (r->shares ? 1 : p->cl->policy.share_max);
        row[DIM_JOBS] = run_places(r);
        world_free_more(p->w, r->hold[i].node->idx, row, -1);
    }
    free(row);
}

/* By count, which also knows what is meant for a job that starts in the next pass. */
static bool node_free_now(const struct pass *p, const struct hold *h)
{
    const int64_t *row = &p->w->free[h->node->idx * p->w->dims];
    return h->node->up && row[h->run->shares ? DIM_SHARE : DIM_CPU] >= (int64_t)h->ncpu;
}

static bool run_goes_on(struct pass *p, const struct run *r)
{
    struct exacts *x = exacts_fork(p->ex);
    bool ok = true;
    for (size_t i = 0; ok && i < r->nholds; i++)
        ok = r->hold[i].released || node_free_now(p, &r->hold[i]);
    for (size_t i = 0; ok && i < r->nholds; i++)
        ok = r->hold[i].released || exact_take_back(x, r->hold[i].node->idx, r->hold[i].cpu, r->hold[i].ncpu, r->shares);
    exacts_free(x);
    for (size_t i = 0; ok && i < r->nholds; i++)
        if (!r->hold[i].released)
            exact_take_back(p->ex, r->hold[i].node->idx, r->hold[i].cpu, r->hold[i].ncpu, r->shares);
    return ok;
}

void pass_resume(struct pass *p, int32_t tier)
{
    VEC(struct run *) waiting = {0};
    if (p->future || tier >= p->resumed_tier)
        return;
    for (size_t i = 0; i < p->cl->run.n; i++) {
        struct run *r = p->cl->run.v[i];
        if (!r->yields)
            continue;
        const struct partition *part = run_part(p->cl, r);
        int32_t its = part ? part->priority_tier : 0;
        if (its >= tier && its < p->resumed_tier)
            vec_push(&waiting, r);
    }
    p->resumed_tier = tier;
    if (waiting.n > 1)
        qsort(waiting.v, waiting.n, sizeof waiting.v[0], run_order);
    for (size_t i = 0; i < waiting.n; i++)
        if (run_goes_on(p, waiting.v[i])) {
            cpus_take(p, waiting.v[i]);
            vec_push(&p->v->resume, waiting.v[i]->job_id);
        }
    vec_done(&waiting);
}
