/* Who would be stopped again waits. A job for which work was stopped mostly has a promise of what
 * comes free, and that keeps others away. But promises are made of counts of what is free later,
 * and these are careful: CPUs that several jobs share come free with the last of them, which counts
 * do not foresee. Such a job is promised nothing, or something else that is free much later, and
 * whoever gave way would begin at once in the room that it made, be stopped anew, and so on without
 * end. So while work was stopped for a job that has neither started nor a promise within the time
 * that it is owed its room, nothing begins that this job could stop. Who may stop whom is no
 * circle: of all such jobs at least one is kept out by nobody, and what it can stop only gets
 * less. */
#include "sched/books/classes.h"
#include "sched/books/limits/qos.h"
#include "sched/books/tables.h"
#include "sched/pass/components.h"
#include "sched/pass/preempt/inside.h"
#include "sched/pass/preempt/preempt.h"

/* Where a job might start. */
struct place_for {
    const struct compiled *c;
    const struct option *o;
};
typedef VEC(struct place_for) places;

static void places_of_job(const struct pass *p, const struct wjob *j, places *v)
{
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    for (size_t i = 0; i < c->n; i++)
        if (c->option[i].never == REASON_NONE)
            vec_push(v, ((struct place_for){c, &c->option[i]}));
}

static void places_of_het(const struct pass *p, const struct het *h, places *v)
{
    for (size_t i = 0; i < h->n; i++)
        places_of_job(p, h->job[i], v);
}

static bool is_above(const struct cluster *cl, const struct place_for *a, const struct place_for *b)
{
    if (cl->policy.preempt_qos)
        return qos_beats(a->c->qos, b->c->qos);
    return cl->policy.preempt_tier && b->o->tier < a->o->tier;
}

static bool have_nodes_in_common(const struct option *a, const struct option *b)
{
    for (size_t i = 0; i < a->part->node.n; i++)
        if (bit_get(a->part->node.v[i]->group->parts, b->part->idx))
            return true;
    return false;
}

/* As with work that runs (victims.c): components give way together, and one that is above the asker
 * protects the others. */
static bool could_stop(const struct cluster *cl, const places *asker, const places *other)
{
    bool could = false, is_stopped = false;
    for (size_t i = 0; i < asker->n; i++)
        for (size_t k = 0; k < other->n; k++) {
            const struct place_for *a = &asker->v[i], *b = &other->v[k];
            could = could || (is_above(cl, a, b) && have_nodes_in_common(a->o, b->o));
            is_stopped |= is_above(cl, b, a);
        }
    return could && !is_stopped;
}

/* Did it start in this pass, were its victims suspended in it, or is it promised a start soon? */
static bool room_found(const struct pass *p, const struct owed *o)
{
    for (size_t i = 0; i < p->v->start.n; i++)
        if (p->v->start.v[i].job_id == o->job_id)
            return true;
    for (size_t i = 0; i < p->v->preempt.n; i++)
        if (p->v->preempt.v[i].for_job == o->job_id && p->v->preempt.v[i].mode == PREEMPT_SUSPEND)
            return true;
    for (size_t i = 0; i < p->promise.n; i++) {
        const struct promised *one = &p->promise.v[i];
        if ((one->het == o->job_id || one->job->w.job_id == o->job_id) &&
            one->start_us <= o->until_us)
            return true;
    }
    return false;
}

/* A yes is kept: where very many are owed their room, each entry asks about all of them. */
static bool has_its_room(const struct pass *p, struct owed *o)
{
    if (o->served != p->v->pass && room_found(p, o))
        o->served = p->v->pass;
    return o->served == p->v->pass;
}

/* Nothing else need happen by then. */
static void may_begin_from(struct pass *p, int64_t at_us)
{
    int64_t *again = &p->v->exempt_until_us;
    if (!*again || at_us < *again)
        *again = at_us;
}

static bool asker_could_stop(struct pass *p, const struct wjob *asks, const struct entry *e)
{
    places asker = {0}, other = {0};
    const struct het *h = asks->w.het_job_id ? pass_het_of(p, asks->w.het_job_id) : NULL;
    if (h)
        places_of_het(p, h, &asker);
    else
        places_of_job(p, asks, &asker);
    if (e->lane->het)
        places_of_het(p, pass_het_of(p, e->lane->het), &other);
    else
        vec_push(&other, ((struct place_for){e->c, e->o}));
    bool could = could_stop(p->cl, &asker, &other);
    vec_done(&asker);
    vec_done(&other);
    return could;
}

bool preempt_keeps_out(struct pass *p, const struct entry *e)
{
    ASSERT(e->job && !p->future && e->o->never == REASON_NONE);
    uint64_t own = e->lane->het ? e->lane->het : e->job->w.job_id;
    for (size_t i = 0; i < p->v->owed.n; i++) {
        struct owed *o = &p->v->owed.v[i];
        const struct wjob *asks;
        if (o->job_id == own || has_its_room(p, o))
            continue;
        asks = map_u64_get(p->cl->queue.by_job, o->job_id);
        if (asks && asker_could_stop(p, asks, e)) {
            may_begin_from(p, o->until_us);
            return true;
        }
    }
    return false;
}
