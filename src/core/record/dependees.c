/* What has become of the jobs that a dependency names. A condition is worth what they are now;
 * `final`: whatever comes, short of a requeue, it stays so. Counts of elements lie between those
 * that are counted already and those that still may be. Nothing here walks an array but the look
 * at its exit codes, once, when it is over. */
#include "core/record/record.h"
#include "model/job/owner.h"

struct dependees_verdict {
    bool over, begun; /* all of them */
    int64_t began_us; /* the last of them */
    int64_t total, well, bad, waiting, held, running;
    int32_t code_least, code_most; /* of those that ended otherwise than well */
    bool code_unknown;             /* it left memory */
    const struct arrayrec *array;  /* NULL: a single job */
};

static bool is_waiting(enum job_state s)
{
    return s == JOB_PENDING || s == JOB_SPECIAL_EXIT;
}

static struct dependees_verdict verdict_of_job(const struct jobrec *r)
{
    enum job_state state = (enum job_state)r->j.state;
    bool over = job_state_over(state), well = state == JOB_COMPLETED;
    int32_t code = status_rank(r->j.exit_status);
    return (struct dependees_verdict){
        .over = over,
        .begun = over || (r->j.start_us && state != JOB_PENDING),
        .began_us = r->j.start_us ? r->j.start_us : r->j.end_us,
        .total = 1,
        .well = over && well,
        .bad = over && !well,
        .waiting = is_waiting(state),
        .held = is_waiting(state) && r->j.spec.hold,
        .running = !over && !is_waiting(state) && state != JOB_SUSPENDED,
        .code_least = code,
        .code_most = code,
    };
}

static struct dependees_verdict verdict_of_array(const struct arrayrec *array,
                                                 const struct jobrec *rest)
{
    int64_t waits = rest && job_live(rest) ? (int64_t)rest->pending.count : 0;
    return (struct dependees_verdict){
        .over = !array->live && !waits,
        .begun = !array->waiting && !waits,
        .began_us = array->began_us,
        .total = array->live + array->well + array->bad + waits,
        .well = array->well,
        .bad = array->bad,
        .waiting = array->waiting + waits,
        .held = array->held + (rest && rest->j.spec.hold ? waits : 0),
        .running = (int64_t)array->active - array->suspended,
        .code_least = array->code.least,
        .code_most = array->code.most,
        .array = array,
    };
}

/* An element that left memory while its array lives on. */
static bool verdict_of_gone(const struct arrayrec *array, uint32_t task,
                            struct dependees_verdict *ret)
{
    bool well = idset_has(&array->gone_well, task), bad = idset_has(&array->gone_bad, task);
    *ret = (struct dependees_verdict){
        .over = true, .begun = true, .total = 1, .well = well, .bad = bad, .code_unknown = true};
    return well || bad;
}

/* False: no such job is in memory. */
static bool verdict_of(const struct core *c, uint64_t id, uint32_t task,
                       struct dependees_verdict *ret)
{
    struct arrayrec *array = array_of(c, id);
    const struct jobrec *r = job_find(c, id), *rest = r && job_is_array(r) ? r : NULL;
    if (array && task == NO_TASK) {
        *ret = verdict_of_array(array, rest);
        return true;
    }
    if (task != NO_TASK) {
        r = array ? map_u64_get(array->element, task) : NULL;
        if (!r && rest && idset_has(&rest->pending, task))
            r = rest;
    }
    if (r)
        *ret = verdict_of_job(r);
    return r || (array && task != NO_TASK && verdict_of_gone(array, task, ret));
}

/* It was given, and is over for so long that it left memory. Nobody can wait for that any more: a
 * condition that only waits for its end counts as met, however it ended, as in Slurm. */
static bool is_forgotten(const struct core *c, const struct dependency *d)
{
    bool met = d->kind == DEP_AFTER || d->kind == DEP_AFTERANY || d->kind == DEP_AFTEROK ||
               d->kind == DEP_AFTERNOTOK || d->kind == DEP_AFTERCORR;
    return met && !d->negated && !d->each && d->job_id < c->jobs.next_id &&
           !job_find(c, d->job_id) && !array_of(c, d->job_id);
}

static void elements_say(uint64_t id, const struct dependees_verdict *v, struct str *out)
{
    const struct {
        int64_t n;
        const char *deed;
    } part[] = {{v->waiting, v->waiting == 1 ? "waits" : "wait"},
                {v->total - v->waiting - v->well - v->bad, "under way"},
                {v->well, "ended well"},
                {v->bad, "failed"}};
    str_addf(out, "of the elements of job %llu", (unsigned long long)id);
    const char *comma = " ";
    for (size_t i = 0; i < ARRAY_LEN(part); i++)
        if (part[i].n > 0) {
            str_addf(out, "%s%lld %s", comma, (long long)part[i].n, part[i].deed);
            comma = ", ";
        }
}

/* An array's own record is its last element's, too: its state would say nothing of the others. */
void dependee_say(const struct core *c, const struct jobrec *r, const struct dependency *d,
                  struct str *out)
{
    struct dependees_verdict v;
    uint32_t task = dep_pairs(d) ? r->j.array_task_id : d->task_id;
    const struct arrayrec *array = array_of(c, d->job_id);
    if (!verdict_of(c, d->job_id, task, &v))
        return;
    if (task == NO_TASK && array) {
        elements_say(d->job_id, &v, out);
        return;
    }
    const struct jobrec *one = array ? map_u64_get(array->element, task) : job_find(c, d->job_id);
    int32_t state = one       ? one->j.state
                    : !v.over ? JOB_PENDING
                    : v.well  ? JOB_COMPLETED
                              : JOB_FAILED;
    str_addf(out, "job %llu", (unsigned long long)d->job_id);
    if (task != NO_TASK)
        str_addf(out, "_%u", task);
    str_addf(out, " is %s", enum_name(&job_state_names, state));
}

bool dependee_known(const struct core *c, const struct dependency *d)
{
    struct dependees_verdict v;
    if (is_forgotten(c, d))
        return true;
    return verdict_of(c, d->job_id, d->task_id, &v) && !(v.code_unknown && d->kind == DEP_EXIT);
}

static bool of_one_job(const struct jobrec *r, const struct jobrec *other)
{
    return leader_of(r) == leader_of(other) ||
           (r->j.array_job_id && r->j.array_job_id == other->j.array_job_id);
}

/* Components of one heterogeneous job start together: none of them waits for another, nor do
 * elements of one array. No job of that user and name that came earlier is live, and none runs;
 * what a former owner of the user's number left is not his. One that is held is looked at when it
 * is let go: until then others of the name may start. */
static bool singleton_free(const struct core *c, const struct jobrec *r)
{
    const struct namesakes *same = namesakes_of(c, r);
    if (r->j.spec.hold)
        return false;
    for (size_t i = 0; same && i < same->list.id.n; i++) {
        const struct jobrec *other = same->list.id.v[i] ? job_find(c, same->list.id.v[i]) : NULL;
        bool first = other && other->j.id < leader_of(r);
        bool runs = other && !job_waits(other) && !of_one_job(r, other);
        if ((first || runs) && jobs_are_of_one(&r->j, &other->j))
            return false;
    }
    return !same || same->known;
}

/* ---- exit codes ---- */

static bool has_code(const struct arrayrec *array, int32_t code)
{
    struct map_walk w = {0};
    while (map_u64_next(array->element, &w)) {
        const struct jobrec *r = w.value;
        if (!job_live(r) && status_rank(r->j.exit_status) == code)
            return true;
    }
    return false;
}

/* All have failed, so. */
static struct dep_truth exit_truth(const struct dependees_verdict *v, const struct dependency *d)
{
    enum dep_compare how = (enum dep_compare)d->compare;
    if (v->well)
        return (struct dep_truth){.final = true};
    if (!v->over || v->code_unknown)
        return (struct dep_truth){0};
    bool ends =
        dep_compares(how, v->code_least, d->number) && dep_compares(how, v->code_most, d->number);
    bool between = ends && how == DEP_NE && v->array && v->code_least < d->number &&
                   d->number < v->code_most && has_code(v->array, d->number);
    return (struct dep_truth){.now = ends && !between, .final = true};
}

/* ---- counts ---- */

struct dependees_range {
    int64_t now, least, most; /* what it is, what it may still be */
};

static struct dependees_range count_of(const struct dependees_verdict *v, enum dep_kind kind)
{
    int64_t live = v->total - v->well - v->bad;
    switch (kind) {
    case DEP_NUMDONE: return (struct dependees_range){v->well, v->well, v->well + live};
    case DEP_NUMEXIT: return (struct dependees_range){v->bad, v->bad, v->bad + live};
    case DEP_NUMENDED: return (struct dependees_range){v->total - live, v->total - live, v->total};
    case DEP_NUMSTART:
        return (struct dependees_range){v->total - v->waiting, v->total - v->waiting, v->total};
    case DEP_NUMRUN: return (struct dependees_range){v->running, 0, live};
    case DEP_NUMPEND: return (struct dependees_range){v->waiting - v->held, 0, live};
    case DEP_NUMHOLD: return (struct dependees_range){v->held, 0, live};
    case DEP_AFTER:
    case DEP_AFTERANY:
    case DEP_AFTEROK:
    case DEP_AFTERNOTOK:
    case DEP_AFTERCORR:
    case DEP_SINGLETON:
    case DEP_EXIT:
    case DEP_ON:
    case DEP_BEFORE:
    case DEP_BEFOREANY:
    case DEP_BEFOREOK:
    case DEP_BEFORENOTOK: break;
    }
    return (struct dependees_range){0};
}

/* Does the comparison come out the same for all of [least, most]? */
static bool one_answer(const struct dependees_range *r, enum dep_compare how, int64_t number)
{
    bool at_least = dep_compares(how, r->least, number),
         at_most = dep_compares(how, r->most, number);
    bool inside = r->least < number && number < r->most;
    return at_least == at_most && !(inside && (how == DEP_EQ || how == DEP_NE));
}

static struct dep_truth count_truth(const struct dependees_verdict *v, const struct dependency *d)
{
    struct dependees_range range = count_of(v, (enum dep_kind)d->kind);
    int64_t number = d->number == DEP_ALL ? v->total : d->number;
    enum dep_compare how = (enum dep_compare)d->compare;
    return (struct dep_truth){.now = dep_compares(how, range.now, number),
                              .final = one_answer(&range, how, number)};
}

/* ---- each kind ---- */

static struct dep_truth known(bool over, bool holds)
{
    return (struct dep_truth){.now = over && holds, .final = over};
}

static struct dep_truth after_truth(const struct core *c, const struct dependees_verdict *v,
                                    const struct dependency *d, int64_t *ret_due_us)
{
    int64_t at = time_add(v->began_us, d->delay_us);
    /* The clock may have been set back since. */
    bool holds = v->begun && (!d->delay_us || at <= c->turn.now_us);
    if (v->begun && !holds)
        *ret_due_us = at;
    return (struct dep_truth){holds, holds};
}

/* Of the condition without its '!'. */
static struct dep_truth plain_truth(const struct core *c, const struct dependees_verdict *v,
                                    const struct dependency *d, bool whole, int64_t *ret_due_us)
{
    bool for_each = dep_pairs(d) && whole; /* what decides is left to the elements until the end */
    switch ((enum dep_kind)d->kind) {
    case DEP_AFTER: return after_truth(c, v, d, ret_due_us);
    case DEP_AFTERANY: return known(v->over, true);
    case DEP_AFTEROK: return known(v->over || (v->bad && !for_each), !v->bad);
    case DEP_AFTERCORR: return known(v->over, !v->bad);
    case DEP_AFTERNOTOK: return known(v->over, for_each ? !v->well : v->bad > 0);
    case DEP_EXIT: return for_each && !v->over ? (struct dep_truth){0} : exit_truth(v, d);
    case DEP_NUMDONE:
    case DEP_NUMENDED:
    case DEP_NUMEXIT:
    case DEP_NUMSTART:
    case DEP_NUMRUN:
    case DEP_NUMPEND:
    case DEP_NUMHOLD: return count_truth(v, d);
    case DEP_SINGLETON:
    case DEP_ON:
    case DEP_BEFORE:
    case DEP_BEFOREANY:
    case DEP_BEFOREOK:
    case DEP_BEFORENOTOK: break;
    }
    return (struct dep_truth){0};
}

/* Has an element of the array's record, which are about to be asked one by one (life/depend.c), a
 * counterpart with a record of its own, or that had one? */
static bool counterparts_left(const struct core *c, const struct jobrec *r,
                              const struct dependency *d)
{
    const struct arrayrec *other = array_of(c, d->job_id);
    uint32_t task;
    if (!dep_pairs(d) || !job_is_array(r) || !other)
        return false;
    for (bool more = idset_first(&r->pending, &task); more;
         more = idset_next(&r->pending, task, &task))
        if (map_u64_get(other->element, task) || idset_has(&other->gone_well, task) ||
            idset_has(&other->gone_bad, task))
            return true;
    return false;
}

/* Elements that were cancelled as they waited never had records of their own: what became of them
 * all decides for all elements of `r` that are not asked one by one. */
static bool rest_ended(const struct core *c, const struct jobrec *r, const struct dependency *d,
                       struct dependees_verdict *ret)
{
    const struct jobrec *other = job_find(c, d->job_id);
    uint32_t task;
    if (!job_is_array(r) || !other || !job_is_array(other) || job_live(other) ||
        counterparts_left(c, r, d))
        return false;
    for (bool more = idset_first(&r->pending, &task); more;
         more = idset_next(&r->pending, task, &task))
        if (idset_has(&other->pending, task)) {
            *ret = verdict_of_job(other);
            return true;
        }
    return false;
}

void dependee_look(const struct core *c, const struct jobrec *r, struct dependency *d,
                   int64_t *ret_due_us)
{
    struct dependees_verdict v;
    struct dep_truth t = {0};
    uint32_t task = d->task_id;
    *ret_due_us = INT64_MAX;
    if (d->status != DEP_OPEN)
        return;
    bool paired = dep_pairs(d) &&
                  (r->j.array_task_id != NO_TASK ? verdict_of(c, d->job_id, r->j.array_task_id, &v)
                                                 : rest_ended(c, r, d, &v));
    if (d->kind == DEP_SINGLETON) {
        t.now = t.final = singleton_free(c, r);
    } else if (is_forgotten(c, d)) {
        t.now = t.final = true;
    } else if (d->kind != DEP_ON) { /* which the others count down */
        if (!paired && !verdict_of(c, d->job_id, task, &v))
            return; /* it left memory long after its end; what was known then stands */
        t = plain_truth(c, &v, d, !paired, ret_due_us);
        if (t.final && !t.now && !paired && counterparts_left(c, r, d))
            t.final = false;
    }
    d->now = t.now != d->negated;
    d->status = !t.final ? DEP_OPEN : d->now ? DEP_SATISFIED : DEP_FAILED;
}
