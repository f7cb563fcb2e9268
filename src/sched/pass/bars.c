/* What stands in a job's way. Limits come first and cost no look at the nodes; what is left is lack
 * of room, and who it is kept for. */
#include "sched/pass/bars.h"

#include "base/arena.h"
#include "sched/books/limits/caps.h"
#include "sched/books/limits/people.h"
#include "sched/books/tables.h"
#include "sched/pass/found.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/priority.h"
#include "sched/world/cap_nodes.h"
#include "sched/world/part_windows.h"
#include "sched/world/resv_view.h"

static uint64_t running_key(uint32_t part, uint32_t uid)
{
    return (uint64_t)(part + 1) << 32 | uid;
}

/* Of whom so many run as the pass begins, in partitions with hours: one walk for all who ask. */
static void running_count(struct pass *p)
{
    struct map_walk walk = {0};
    p->running = map_u64_new();
    p->cost += map_u64_count(p->cl->run.by_job) / 8;
    while (map_u64_next(p->cl->run.by_job, &walk)) {
        const struct run *r = walk.value;
        const struct spart *part = r->partition ? cluster_part(p->cl, r->partition) : NULL;
        if (!part || part->windows.n == 0)
            continue;
        void **slot = map_u64_slot(p->running, running_key(part->idx, r->uid));
        *slot = (void *)((uintptr_t)*slot + 1);
    }
}

static int32_t running_of(struct pass *p, const struct spart *part, uint32_t uid)
{
    if (!p->running)
        running_count(p);
    int32_t n = (int32_t)(uintptr_t)map_u64_get(p->running, running_key(part->idx, uid));
    for (size_t i = 0; i < p->v->start.n; i++) {
        const struct wjob *j = map_u64_get(p->cl->queue.by_job, p->v->start.v[i].job_id);
        n += j && j->w.uid == uid && text_is(p->v->start.v[i].partition, part->p.name);
    }
    return n;
}

static bool is_of(const struct cluster *cl, uint64_t job_id, uint32_t uid)
{
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    const struct run *r = j ? NULL : map_u64_get(cl->run.by_job, job_id);
    return j ? j->w.uid == uid : r && r->uid == uid;
}

/* The same as the world has it after that time: of what runs, and was foreseen to start, until its
 * end. At most `most`; where there are so many *ret_us is the end after which there are fewer. */
static int32_t running_after(struct pass *p, const struct spart *part, uint32_t uid, int64_t at_us,
                             int32_t most, int64_t *ret_us)
{
    const struct agenda *a = &p->w->agenda;
    int32_t n = 0;
    size_t i = a->ends.n;
    for (; i > a->ends_first && a->ends.v[i - 1].at_us > at_us && n < most; i--) {
        const struct wjobs *j = &a->job.v[a->ends.v[i - 1].job];
        n += j->part == part->idx + 1 && is_of(p->cl, j->name, uid);
        *ret_us = a->ends.v[i - 1].at_us;
    }
    p->cost += (a->ends.n - i) / 8;
    return n;
}

/* Who begins now is among what was foreseen to start, once time goes on. */
static int32_t seated_at(const struct pass *p, const struct spart *part, uint32_t uid, bool now)
{
    int32_t n = 0;
    for (size_t i = 0; i < p->seated.n; i++)
        n += p->seated.v[i].part == part && p->seated.v[i].uid == uid &&
             (!p->seated.v[i].begins || (now && !p->future));
    return n;
}

/* Jobs of one user that may run there then; INT32_MAX = as many as one likes. */
static int32_t hours_most(const struct pass *p, const struct spart *part, int64_t at_us)
{
    struct time_window limits;
    if (part->windows.n == 0)
        return INT32_MAX;
    time_windows_at(&part->windows, at_us, &p->cl->local.zone, &limits);
    return limits.max_jobs_per_user > 0 ? limits.max_jobs_per_user : INT32_MAX;
}

int32_t hours_room(struct pass *p, const struct spart *part, uint32_t uid, int64_t at_us)
{
    ASSERT(at_us >= p->w->now_us);
    bool now = at_us == p->w->now_us;
    int32_t most = hours_most(p, part, at_us), n;
    int64_t unused;
    if (most == INT32_MAX)
        return most;
    n = seated_at(p, part, uid, now);
    n += now && !p->future ? running_of(p, part, uid)
                           : running_after(p, part, uid, at_us, most, &unused);
    return n < most ? most - n : 0;
}

/* There is no room then: the first time after it at which enough of that user's have ended, as long
 * as hours stay the same. Who begins when work has ended that is ending is in no list of what runs:
 * that is asked again at the next end. */
static int64_t room_after(struct pass *p, const struct spart *part, uint32_t uid, int64_t at_us)
{
    int32_t most = hours_most(p, part, at_us) - seated_at(p, part, uid, false);
    int64_t end = INT64_MAX;
    if (most > 0 && running_after(p, part, uid, at_us, most, &end) < most)
        end = world_next_end(p->w);
    ASSERT(end > at_us);
    return end;
}

#define TURNS_AHEAD 32 /* of hours, that are looked ahead */

int64_t hours_room_from(struct pass *p, const struct spart *part, uint32_t uid, int64_t at_us)
{
    for (int i = 0; i < TURNS_AHEAD && at_us != INT64_MAX; i++) {
        if (hours_room(p, part, uid, at_us) > 0)
            return at_us;
        int64_t turn = time_windows_next(&part->windows, at_us, &p->cl->local.zone),
                end = room_after(p, part, uid, at_us);
        at_us = end < turn ? end : turn;
    }
    return INT64_MAX;
}

void hours_seat(struct pass *p, const struct spart *part, uint32_t uid, bool begins)
{
    vec_push(&p->seated, ((struct seated){part, uid, begins}));
}

void hours_unseat(struct pass *p, size_t n)
{
    ASSERT(n <= p->seated.n);
    p->seated.n = n;
}

enum job_reason entry_held_by(struct pass *p, const struct entry *e)
{
    return option_held_by(p, e->o, e->job->w.uid, p->w->now_us);
}

enum job_reason option_held_by(struct pass *p, const struct option *o, uint32_t uid, int64_t at_us)
{
    return hours_room(p, o->part, uid, at_us) > 0 ? REASON_NONE : REASON_QOS_MAX_JOBS_PER_USER;
}

/* ---- who has much ---- */

#define MUCH         (FACTOR_ONE / 4) /* of the cluster */
#define MUCH_AT_ONCE (2 * MUCH)
#define TIMES_LONGER 2 /* than the head asks */

static bool rule_is_on(const struct pass *p)
{
    return p->cl->policy.order == ORDER_AGEING && !p->cl->hook.key;
}

/* On all of its nodes. */
static struct holding takes_sum(const struct world *w, const struct wjobs *j)
{
    const struct agenda *a = &w->agenda;
    struct holding sum = {0};
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        for (uint32_t i = 0; a->take.v[t].node < w->nnodes && i < a->take.v[t].n; i++) {
            const struct use *u = &a->use.v[a->take.v[t].first + i];
            sum.cpus += u->dim == (j->shares ? DIM_SHARE : DIM_CPU) ? u->amount : 0;
            sum.mem_mib += u->dim == DIM_MEM ? u->amount : 0;
            sum.gpus += u->dim >= DIM_GRES && w->cl->dim.v[u->dim].is_gpu ? u->amount : 0;
        }
    return sum;
}

void held_change(struct pass *p, uint32_t world_job, int64_t sign)
{
    ASSERT(world_job < p->w->agenda.job.n);
    const struct wjobs *work = &p->w->agenda.job.v[world_job];
    if (!rule_is_on(p) || work->name == 0) /* a device that is found clean is nobody's */
        return;
    const struct wjob *j = map_u64_get(p->cl->queue.by_job, work->name);
    const struct run *r = j ? NULL : map_u64_get(p->cl->run.by_job, work->name);
    if (!j && !r) /* of a question: no job of anybody's yet */
        return;
    struct holding sum = r ? r->holds : takes_sum(p->w, work);
    if (!p->held)
        p->held = map_u64_new();
    void **slot = map_u64_slot(p->held, (uint64_t)(r ? r->uid : j->w.uid) + 1);
    if (!*slot)
        *slot = arena_alloc(p->v->arena, sizeof(struct holding));
    holding_add(*slot, &sum, sign);
}

static int64_t part_held(const struct pass *p, const struct waiting *w)
{
    struct holding all = w->person->holds;
    const struct holding *then = p->held ? map_u64_get(p->held, (uint64_t)w->uid + 1) : NULL;
    if (then)
        holding_add(&all, then, 1);
    return holding_part(p->cl, &all);
}

/* More than MUCH, or with what began in this pass more than MUCH_AT_ONCE: who finds an idle machine
 * may have that, else one user's many short jobs would come one pass after the other. */
static bool has_much(const struct pass *p, const struct waiting *w)
{
    int64_t all = part_held(p, w);
    return all > MUCH_AT_ONCE ||
           (all > MUCH && (p->future || holding_part(p->cl, &w->person->holds) > MUCH));
}

/* Do those who wait for the one wait for the other, too? It has half of the other's nodes. */
static bool is_much_of(const struct pass *p, uint32_t part, uint32_t of)
{
    uint64_t both = 0, all = 0;
    for (size_t i = 0; i < p->cl->group.n; i++) {
        const struct group *g = p->cl->group.v[i];
        all += bit_get(g->parts, of) ? g->nodes : 0;
        both += bit_get(g->parts, of) && bit_get(g->parts, part) ? g->nodes : 0;
    }
    return 2 * both >= all;
}

/* Has another user's job the promise of the first of its partition, or of one that is much of it?
 * Reservations are places of their own. */
static bool is_before(const struct pass *p, const struct entry *e, const struct promised *head)
{
    uint32_t parts = (uint32_t)p->cl->part.n;
    return !head->extra && !head->awaited && head->job->w.uid != e->job->w.uid &&
           (head->part == e->o->serve ||
            (head->part < parts && e->o->serve < parts && is_much_of(p, head->part, e->o->serve)));
}

/* It ends before that one starts, or asks for less than twice its time. */
static int64_t leaves_one(const struct pass *p, const struct promised *head, int64_t limit_us)
{
    const struct wjobs *kept = &p->w->agenda.job.v[head->world_job];
    int64_t length = kept->end_us - kept->start_us, room = head->start_us - p->w->now_us;
    if (limit_us <= room || limit_us / TIMES_LONGER < length)
        return limit_us;
    int64_t twice = length * TIMES_LONGER - 1;
    return (room > twice ? room : twice) / USEC_PER_MIN * USEC_PER_MIN;
}

/* May it go before others, whatever they ask? */
static bool has_precedence(const struct pass *p, const struct entry *e)
{
    return e->owed || e->promised_us != INT64_MAX || (e->job->w.oldest & serve_bit(e->o->serve)) ||
           preempt_possible(p->cl, e->c, e->o);
}

int64_t entry_leaves(const struct pass *p, const struct entry *e, int64_t limit_us,
                     uint64_t *ret_to)
{
    ASSERT(e->job && e->o);
    *ret_to = 0;
    if (p->promise.n == 0 || !rule_is_on(p) || !e->job->w.person || !has_much(p, &e->job->w) ||
        has_precedence(p, e))
        return limit_us;
    for (size_t i = 0; i < p->promise.n && limit_us >= e->o->limit_min_us; i++)
        if (is_before(p, e, &p->promise.v[i])) {
            limit_us = leaves_one(p, &p->promise.v[i], limit_us);
            *ret_to = p->promise.v[i].job->w.job_id;
        }
    return limit_us;
}

uint64_t entry_yields_to(const struct pass *p, const struct entry *e)
{
    uint64_t to;
    int64_t limit = entry_limit(e, e->o->limit_us, p->w->now_us);
    int64_t least = e->lane->het ? limit : e->o->limit_min_us; /* a component by hours alone */
    return entry_leaves(p, e, limit, &to) < least ? to : 0;
}

void yields_note(struct pass *p, const struct entry *e, uint64_t to)
{
    ASSERT(to);
    pass_note(p, e, REASON_PRIORITY);
    if (!p->future)
        vec_push(&p->v->yields,
                 ((struct yielding){e->job->w.job_id, to, part_held(p, &e->job->w)}));
}

bool entry_yields(struct pass *p, const struct entry *e)
{
    uint64_t to = e->lane->het ? 0 : entry_yields_to(p, e);
    if (!to || !entry_lacks_room_only(p, e))
        return false;
    yields_note(p, e, to);
    return true;
}

static bool is_out(struct pass *p, const struct entry *e, const struct lic_use *use)
{
    const struct licence *l = &p->cl->lic.v[use->lic];
    if (use->above || !use_concerns(use, e->o) || !cap_binds(p->cl, l, p->w->now_us))
        return false;
    return cap_counts_nodes(l)
               ? cap_nodes_out(p->w, e->o, use)
               : world_free_row(p->w, p->w->nnodes + use->lic)[DIM_CPU] + use->slack < use->count;
}

enum job_reason entry_capped_by(struct pass *p, const struct entry *e)
{
    ASSERT(e->c->ncap <= e->c->nlic);
    const struct compiled *c = e->c;
    p->capped = NULL;
    for (size_t i = c->nlic - c->ncap; i < c->nlic; i++)
        if (is_out(p, e, &c->lic[i])) {
            p->capped = &c->lic[i];
            return p->cl->lic.v[c->lic[i].lic].reason;
        }
    return REASON_NONE;
}

bool entry_lacks_room_only(struct pass *p, const struct entry *e)
{
    return e->o->never == REASON_NONE && pass_reachable(p, e->c, e->o) &&
           entry_held_by(p, e) == REASON_NONE && entry_capped_by(p, e) == REASON_NONE;
}

int64_t entry_limit(const struct entry *e, int64_t limit_us, int64_t start_us)
{
    ASSERT(e->job && e->o);
    int64_t room = e->job->w.deadline_us - start_us;
    return e->job->w.deadline_us > 0 && room >= e->o->limit_min_us && room < limit_us ? room
                                                                                      : limit_us;
}

bool entry_too_late(const struct pass *p, const struct entry *e)
{
    return e->job->w.deadline_us > 0 &&
           time_add(p->w->now_us, e->o->limit_min_us) > e->job->w.deadline_us;
}

/* Is its time, and enough of it left? */
static bool reservation_has_room(const struct world *w, const struct option *o)
{
    const struct window *win = view_window(w, o->resv, w->now_us);
    return win && (o->cut || win->end_us - w->now_us >= o->limit_min_us);
}

enum job_reason entry_blocked_by(struct pass *p, const struct entry *e)
{
    ASSERT(e->job && e->o);
    enum job_reason capped = entry_capped_by(p, e);
    if (capped != REASON_NONE)
        return capped;
    for (size_t i = 0; i < e->c->nlic - e->c->ncap; i++)
        if (world_free_row(p->w, p->w->nnodes + e->c->lic[i].lic)[DIM_CPU] < e->c->lic[i].count)
            return REASON_LICENSES;
    enum job_reason bars = part_window_bars(p->w, e->o, p->w->now_us);
    if (bars != REASON_NONE)
        return bars;
    if (e->o->resv && resv_confines(e->o->resv) && !reservation_has_room(p->w, e->o))
        return REASON_RESERVATION;
    return p->served[e->o->serve] ? REASON_PRIORITY : REASON_RESOURCES;
}
