/* Every invariant of the machine, asserted: run after each step of simulated worlds and of stories.
 * Sums are counted again, and each index is compared with what it indexes in both directions. */
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/limits.h"
#include "core/record/triggers/triggers.h"
#include "core/turn.h"

#include <string.h>

static bool is_due(uint64_t number, uint32_t turn)
{
    return turn == CHECK_ALL || number % CHECK_TURNS == turn % CHECK_TURNS;
}

static bool holds_nodes(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED ||
           r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED;
}

static bool in_list(const struct id_list *list, uint64_t id)
{
    for (size_t i = 0; list && i < list->id.n; i++)
        if (list->id.v[i] == id)
            return true;
    return false;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static size_t times_listed(const struct noderec *n, uint64_t job_id)
{
    size_t times = 0;
    for (size_t i = 0; i < n->job.n; i++)
        times += n->job.v[i] == job_id;
    return times;
}

static void holds_check(const struct core *c, const struct jobrec *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->hold.n; i++) {
        const struct node_hold *h = &r->hold.v[i];
        CHECK(h->node < c->node.n);
        CHECK(times_listed(c->node.v[h->node], r->j.id) == (h->released ? 0 : 1));
        kept += !h->released;
    }
    CHECK(!kept || (holds_nodes(r) && cluster_is_running(c->cluster, r->j.id)));
    if (holds_nodes(r))
        CHECK(r->j.start_us && r->j.alloc && r->j.run_partition && r->j.attempt > 0);
    else
        CHECK(r->hold.n == 0 && !cluster_is_running(c->cluster, r->j.id));
}

/* A clock that is set back by less than a second is not noticed (clock.c). */
static bool begins_later(const struct core *c, const struct job *j)
{
    return j->spec.begin_us > c->turn.now_us + USEC_PER_SEC;
}

static void state_check(const struct core *c, const struct jobrec *r)
{
    const struct job *j = &r->j;
    bool ending = j->state == JOB_COMPLETING || j->state == JOB_REQUEUED, over = !job_live(r);
    CHECK(j->state >= 0 && j->state < JOB_STATE_COUNT);
    CHECK(ending || j->end_state == JOB_PENDING);
    CHECK(!over || j->end_us);
    CHECK((!over && !ending) || !j->start_us || j->end_us >= j->start_us);
    CHECK((j->state == JOB_REQUEUED) <= j->requeue_pending);
    CHECK(!j->requeue_pending || ending);
    CHECK(!j->admin_hold || j->spec.hold || j->hold_after_requeue);
    CHECK(!r->waiting || (j->state == JOB_PENDING && !j->spec.hold && !begins_later(c, j)));
    CHECK(j->state != JOB_PENDING || (!j->start_us && !j->nodes && r->step.n == 0));
}

/* A node where something of a job runs is held, and waited for. */
static bool part_told(const struct jobrec *r, uint32_t node)
{
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].node == node)
            return r->hold.v[i].told && !r->hold.v[i].released;
    return false;
}

static void steps_check(const struct core *c, const struct jobrec *r)
{
    for (size_t i = 0; i < r->step.n; i++) {
        const struct steprec *st = r->step.v[i];
        const struct step *s = &st->s;
        bool all_over = st->part.n > 0;
        CHECK(s->job_id == r->j.id && s->attempt == r->j.attempt);
        CHECK(step_find(r, s->step_id) == st && s->step_id < r->next_step);
        CHECK(job_live(r) || s->end_us);
        CHECK(!s->end_us || s->end_us >= s->start_us);
        CHECK((s->state == JOB_RUNNING) == step_live(st));
        for (size_t k = 0; k < st->part.n; k++) {
            all_over &= st->part.v[k].over;
            CHECK(!step_live(st) || st->part.v[k].over || part_told(r, st->part.v[k].node));
        }
        CHECK(!step_live(st) || !all_over);
        CHECK(!st->s.lonely_us || (step_live(st) && !st->holder_conn));
    }
    CHECK(!r->wish.n || r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    step_queue_check(r);
    step_book_check(c, r);
}

/* Of a list longer than LONG_LIST only those who are due are looked for: each of a thousand that
 * wait for one job would be compared with each in every turn. */
#define LONG_LIST 64

static bool is_listed(const struct id_list *list, uint64_t id, uint32_t turn)
{
    bool looks = !list || list->id.n <= LONG_LIST || is_due(id, turn);
    return !looks || in_list(list, id);
}

static void indexes_check(const struct core *c, const struct jobrec *r, uint32_t turn)
{
    const struct namesakes *same = namesakes_of(c, r);
    for (size_t i = 0; i < r->deps.n; i++) {
        const struct dependency *d = &r->deps.v[i];
        CHECK(r->j.state != JOB_PENDING || !d->job_id ||
              is_listed(map_u64_get(c->jobs.dependents, d->job_id), r->j.id, turn));
        CHECK(r->j.state != JOB_PENDING || d->kind != DEP_SINGLETON || same);
    }
    CHECK(!r->watched || (same && job_live(r)));
    CHECK(!same ||
          (r->watched ? is_listed(&same->list, r->j.id, turn) : !in_list(&same->list, r->j.id)));
    CHECK(!same || !same->known || r->watched == job_live(r));
    if (r->j.het_job_id)
        CHECK(r->j.id == r->j.het_job_id + r->j.het_offset && r->j.het_set);
}

static void array_check(const struct core *c, const struct jobrec *r)
{
    const struct arrayrec *array = array_of(c, r->j.array_job_id);
    CHECK(array);
    if (job_is_array(r)) {
        struct map_walk w = {0};
        struct str text = STR_INIT;
        idset_format(&r->pending, &text);
        CHECK(r->pending.count > 0 && text_is(str_text(&text), r->j.array_pending));
        str_done(&text);
        while (map_u64_next(array->element, &w))
            CHECK(!idset_has(&r->pending, (uint32_t)w.key));
    } else {
        CHECK(map_u64_get(array->element, r->j.array_task_id) == r);
        CHECK(!r->j.array_pending && r->pending.count == 0);
    }
}

static void crontabs_check(const struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->users.crontab, &w)) {
        const struct crontabrec *table = w.value;
        CHECK(w.key == (uint64_t)table->t.user_id + 1 && (table->t.text || table->job.n));
        for (size_t i = 0; i < table->job.n; i++) {
            const struct jobrec *r = job_find(c, table->job.v[i]);
            CHECK(r && r->j.cron && job_live(r) && r->j.user_id == table->t.user_id);
        }
    }
}

static void cron_check(const struct core *c, const struct jobrec *r)
{
    const struct crontabrec *table = crontab_find(c, r->j.user_id);
    size_t times = 0;
    for (size_t i = 0; table && i < table->job.n; i++)
        times += table->job.v[i] == r->j.id;
    CHECK(times == 1 && job_live(r) && !r->j.array_job_id && !r->j.het_job_id);
}

static void job_check(const struct core *c, const struct jobrec *r, uint32_t turn)
{
    CHECK(r->j.id && r->j.id < c->jobs.next_id);
    state_check(c, r);
    holds_check(c, r);
    steps_check(c, r);
    indexes_check(c, r, turn);
    if (r->j.cron)
        cron_check(c, r);
    if (r->j.array_job_id)
        array_check(c, r);
    else
        CHECK(r->j.array_task_id == NO_TASK && r->pending.count == 0);
}

static void jobs_check(const struct core *c, uint32_t turn)
{
    struct map_walk w = {0};
    uint64_t pending = 0, running = 0;
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        CHECK(r->j.id == w.key);
        if (job_live(r) || is_due(r->j.id, turn)) /* what is over hardly changes */
            job_check(c, r, turn);
        if (r->j.state == JOB_PENDING)
            pending += job_is_array(r) ? r->pending.count : 1;
        running += r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
    }
    CHECK(pending == c->jobs.pending);
    CHECK(running == c->jobs.running);
}

/* ---- arrays --------------------------------------------------------------------------------- */

static void arrays_check(const struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.array, &w)) {
        const struct arrayrec *array = w.value;
        struct map_walk e = {0};
        uint32_t active = 0, held = 0, suspended = 0;
        CHECK(map_u64_count(array->element) > 0 || job_find(c, w.key));
        while (map_u64_next(array->element, &e)) {
            const struct jobrec *r = e.value;
            CHECK(r->j.array_job_id == w.key && r->j.array_task_id == e.key &&
                  job_find(c, r->j.id) == r);
            active += holds_nodes(r);
            held += job_waits(r) && r->j.spec.hold;
            suspended += r->j.state == JOB_SUSPENDED;
        }
        CHECK(active == array->active && held == array->held && suspended == array->suspended);
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool holds_node(const struct jobrec *r, uint32_t node)
{
    for (size_t i = 0; i < r->hold.n; i++)
        if (r->hold.v[i].node == node)
            return !r->hold.v[i].released;
    return false;
}

static void nodes_check(const struct core *c)
{
    size_t connected = 0, rivals = 0;
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        CHECK(n->index == i && node_find(c, n->n.name) == n);
        CHECK(!n->conn || map_u64_get(c->node_index.by_conn, n->conn) == n);
        CHECK(!n->rival || (n->conn && map_u64_get(c->node_index.by_rival, n->rival) == n));
        CHECK((n->conn != 0) == n->n.responding);
        connected += n->conn != 0;
        rivals += n->rival != 0;
        for (size_t k = 0; k < n->job.n; k++) {
            const struct jobrec *r = job_find(c, n->job.v[k]);
            CHECK(r && holds_node(r, (uint32_t)i));
        }
    }
    CHECK(connected == map_u64_count(c->node_index.by_conn));
    CHECK(rivals == map_u64_count(c->node_index.by_rival));
    CHECK(c->node.n == map_str_count(c->node_index.by_name));
}

static void parts_check(const struct core *c)
{
    for (size_t i = 0; i < c->part.n; i++) {
        CHECK(part_find(c, c->part.v[i]->p.name) == c->part.v[i]);
    }
}

/* ---- reservations --------------------------------------------------------------------------- */

/* Does it keep whole nodes from everybody else, chosen where nothing ran? */
static bool keeps_whole(const struct reservation *r)
{
    return r->nodes && !r->holds &&
           !(r->flags & (RESV_ANY_NODES | RESV_PART_NODES | RESV_IGNORE_JOBS));
}

static bool may_lie_over(const struct core *c, const struct jobrec *r, const struct resvrec *v)
{
    const struct resvrec *own = r->j.run_reservation ? resv_find(c, r->j.run_reservation) : NULL;
    return own && (own == v || (own->r.flags & (RESV_MAINT | RESV_OVERLAP)));
}

/* Who has just begun on a node that a reservation keeps now belongs there. Limits of running jobs
 * may be raised into a reservation: later is too late to ask. */
static void kept_check(const struct core *c, const struct resvrec *v)
{
    struct hostlist names = HOSTLIST_INIT;
    if (!keeps_whole(&v->r) || !resv_is_on(&v->r, c->turn.now_us) || v->r.made_us == c->turn.now_us)
        return;
    CHECK(hostlist_parse(&names, v->r.nodes, NULL));
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        for (size_t k = 0; n && k < n->job.n; k++) {
            const struct jobrec *r = job_find(c, n->job.v[k]);
            CHECK(r->j.state != JOB_RUNNING || r->j.start_us != c->turn.now_us ||
                  may_lie_over(c, r, v));
        }
    }
    hostlist_done(&names);
}

static void resvs_check(const struct core *c)
{
    struct map_walk w = {0};
    for (size_t i = 0; i < c->resv.n; i++) {
        const struct resvrec *v = c->resv.v[i];
        CHECK(v->r.name && resv_find(c, v->r.name) == v);
        CHECK(v->r.start_us < v->r.end_us && resv_recurs_one_way(v->r.flags));
        CHECK(c->store.loaded ? cluster_knows_reservation(c->cluster, &v->r) : true);
        kept_check(c, v);
    }
    while (c->store.loaded && map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        bool runs = r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
        CHECK(!runs || !r->j.run_reservation || resv_find(c, r->j.run_reservation));
    }
}

/* ---- timers --------------------------------------------------------------------------------- */

/* A job that something will happen to must be in the heap at that time: a forgotten alarm is a job
 * that never ends. */
static void timers_check(const struct core *c)
{
    struct map_u64 *armed = map_u64_new();
    struct map_walk w = {0};
    for (size_t i = 0; i < c->timers.heap.n; i++) {
        const struct alarm *a = &c->timers.heap.v[i];
        struct jobrec *r = a->job_id ? job_find(c, a->job_id) : NULL;
        CHECK(i == 0 || c->timers.heap.v[(i - 1) / 2].at_us <= a->at_us);
        if (r && r->timer_us == a->at_us)
            map_u64_put(armed, a->job_id, r);
    }
    while (c->store.loaded && map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        bool limited = r->j.state == JOB_RUNNING && job_limit_end(c, r) != INT64_MAX &&
                       job_over_time(c, r) != TIME_UNLIMITED;
        bool begins = r->j.state == JOB_PENDING && begins_later(c, &r->j);
        CHECK((!limited && !begins && job_live(r)) || map_u64_get(armed, r->j.id));
        CHECK(!r->timer_us || map_u64_get(armed, r->j.id));
    }
    map_u64_free(armed);
}

/* ---- fields of all records ------------------------------------------------------------------ */

/* A text of the pool is the pool's own copy; an empty one is NULL. */
static void texts_check(const struct core *c, const struct fields *t, const void *record)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->field[i].type != FIELD_TEXT)
            continue;
        const char *text = *(const char *const *)field_ptr(&t->field[i], record);
        CHECK(!text || *text);
        CHECK(intern_take(c->pool, text) == text);
        intern_drop(c->pool, text);
    }
}

/* What the wire would not take, nothing here may hold. */
static void ranges_check(const struct fields *t, const void *record)
{
    struct err err = {0};
    if (!record_check(t, record, &err)) {
        err_prefix(&err, "%s", t->name);
        die(err.text);
    }
}

static void record_fields_check(const struct core *c, const struct fields *t, const void *record)
{
    ranges_check(t, record);
    texts_check(c, t, record);
}

static void fields_check(const struct core *c, uint32_t turn)
{
    struct map_walk w = {0};
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        if (is_due(w.key, turn))
            record_fields_check(c, &job_fields, &r->j);
        for (size_t i = 0; i < r->step.n; i++)
            if (is_due(w.key + i, turn))
                record_fields_check(c, &step_fields, &r->step.v[i]->s);
    }
    for (size_t i = 0; i < c->node.n; i++)
        if (is_due(i, turn)) {
            record_fields_check(c, &node_fields, &c->node.v[i]->n);
            texts_check(c, &node_fields, &c->node.v[i]->conf);
        }
    for (size_t i = 0; i < c->part.n; i++)
        if (is_due(i, turn))
            record_fields_check(c, &partition_fields, &c->part.v[i]->p);
    for (size_t i = 0; i < c->resv.n; i++)
        if (is_due(i, turn))
            record_fields_check(c, &reservation_fields, &c->resv.v[i]->r);
}

void core_check_turn(const struct core *c, uint32_t turn)
{
    jobs_check(c, turn);
    crontabs_check(c);
    triggers_check(c);
    arrays_check(c);
    nodes_check(c);
    parts_check(c);
    resvs_check(c);
    timers_check(c);
    user_rooms_check(c, steps_asked_bytes(c));
    answered_check(c);
    accrue_check(c);
    live_sums_check(c);
    cluster_check(c->cluster);
    fields_check(c, turn);
}

void core_check(const struct core *c)
{
    core_check_turn(c, CHECK_ALL);
}

uint64_t core_hash(const struct core *c)
{
    struct map_walk w = {0};
    uint64_t hash = hash_bytes(HASH_INIT, &c->jobs.next_id, sizeof c->jobs.next_id), jobs = 0;
    /* The order of the map is that of insertion, which a restart changes: a sum does not see it. */
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *r = w.value;
        jobs += record_hash(&job_fields, &r->j, HASH_INIT);
    }
    hash = hash_bytes(hash, &jobs, sizeof jobs);
    for (size_t i = 0; i < c->node.n; i++)
        hash = record_hash(&node_fields, &c->node.v[i]->n, hash);
    for (size_t i = 0; i < c->part.n; i++)
        hash = record_hash(&partition_fields, &c->part.v[i]->p, hash);
    uint64_t resvs = 0;
    for (size_t i = 0; i < c->resv.n; i++)
        resvs += record_hash(&reservation_fields, &c->resv.v[i]->r, HASH_INIT);
    hash = hash_bytes(hash, &resvs, sizeof resvs);
    uint64_t tables = 0;
    w = (struct map_walk){0};
    while (map_u64_next(c->users.crontab, &w))
        tables += record_hash(&crontab_fields, &((const struct crontabrec *)w.value)->t, HASH_INIT);
    hash = hash_bytes(hash, &tables, sizeof tables);
    for (size_t i = 0; i < c->triggers.of.n; i++)
        hash = record_hash(&trigger_fields, &c->triggers.of.v[i]->t, hash);
    return c->accounts.implied ? hash : accounts_hash(c, hash);
}
