/* Dependencies in fault worlds: expressions of every kind over the jobs there are, and what must
 * hold of them. No job is let go before what it waits for held: of each condition it is kept
 * whether it has held after any row that was committed since the job's own text was, and the
 * expression must be true of these. And when all is healed and quiet, no job waits for what holds.
 * All of it is read from committed rows, by a reading that knows nothing of the controller's. */
#include "base/idset.h"
#include "model/job/dependency.h"
#include "model/job/job.h"
#include "model/limits.h"
#include "sim/world/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions ---------------------------------------------------------------------------- */

static uint64_t any_of(struct rng *rng, const uint64_t *ids, size_t n)
{
    size_t last = n < 12 ? n : 12;
    return ids[rng_chance(rng, 700) ? n - 1 - rng_below(rng, last) : rng_below(rng, n)];
}

static void condition_add(struct rng *rng, const uint64_t *ids, size_t n, struct str *out)
{
    static const char *const plain[] = {"after", "afterany", "afterok", "afternotok"};
    static const char *const counts[] = {"numdone", "numended", "numexit", "numstart",
                                         "numrun",  "numpend",  "numhold"};
    unsigned long long id = any_of(rng, ids, n);
    uint64_t dice = rng_below(rng, 10);
    const char *how = dep_compare_words[rng_below(rng, DEP_GE + 1)];
    if (dice < 6)
        str_addf(out, "%s:%llu", plain[rng_below(rng, ARRAY_LEN(plain))], id);
    else if (dice < 7)
        str_addf(out, "exit:%llu%s%d", id, how, (int)rng_below(rng, 3));
    else if (dice < 8)
        str_addf(out, "%s:%llu==all", counts[rng_below(rng, ARRAY_LEN(counts))], id);
    else
        str_addf(out, "%s:%llu%s%d", counts[rng_below(rng, ARRAY_LEN(counts))], id, how,
                 (int)rng_below(rng, 5));
}

static void expression_add(struct rng *rng, const uint64_t *ids, size_t n, int depth,
                           struct str *out)
{
    uint64_t dice = depth ? rng_below(rng, 10) : 0;
    if (dice < 4) {
        condition_add(rng, ids, n, out);
        return;
    }
    str_addf(out, "%s(", dice < 6 ? "!" : "");
    for (uint64_t i = 0, m = dice < 6 ? 1 : 2 + rng_below(rng, 2); i < m; i++) {
        if (i)
            str_addc(out, dice < 8 ? ',' : '?');
        expression_add(rng, ids, n, depth - 1, out);
    }
    str_addc(out, ')');
}

void world_dependency_of(struct rng *rng, const uint64_t *ids, size_t n, bool array,
                         struct str *out)
{
    unsigned long long id = any_of(rng, ids, n);
    uint64_t dice = rng_below(rng, 100);
    if (dice < 10)
        str_addf(out, "on:%d", 1 + (int)rng_below(rng, 2));
    else if (dice < 35) /* most are refused, as they have no on, or not any more */
        str_addf(out, "%s:%llu",
                 dep_kind_words[DEP_BEFORE + rng_below(rng, DEP_BEFORENOTOK - DEP_BEFORE + 1)], id);
    else if (dice < 45)
        str_addf(out, "%s:%llu%s", array ? "afterok" : "afterany", id, array ? "_each" : "");
    else if (dice < 55)
        str_addf(out, "aftercorr:%llu", id);
    else
        expression_add(rng, ids, n, 3, out);
}

/* ---- what is committed ---------------------------------------------------------------------- */

struct simdep {
    uint64_t array_id;
    uint32_t task;
    int32_t state, exit_status;
    bool hold;
    struct idset pending; /* of an array's record */
    struct arena *a;      /* of what it waits for; NULL = nothing */
    const char *text;
    struct dependency_list list;
    bool *ever;
};

/* It was let go by a row that stands before those which may say why: rows of one step are in no
 * order. */
struct simdoubt {
    struct simdoubt *next;
    uint64_t id;
    struct simdep d;
};

static void wait_drop(struct simdep *d)
{
    arena_free(d->a);
    d->a = NULL;
    d->list.n = 0;
}

static struct simdep *simdep_of(struct sim_world *w, uint64_t id)
{
    struct simdep *d = map_u64_get(w->depend, id);
    if (!d) {
        d = xcalloc(1, sizeof *d);
        map_u64_put(w->depend, id, d);
    }
    return d;
}

void world_depend_free(struct sim_world *w)
{
    struct map_walk walk = {0};
    while (w->depend && map_u64_next(w->depend, &walk)) {
        struct simdep *d = walk.value;
        wait_drop(d);
        idset_done(&d->pending);
        free(d);
    }
    map_u64_free(w->depend);
    w->depend = NULL;
    while (w->doubt) {
        struct simdoubt *next = w->doubt->next;
        wait_drop(&w->doubt->d);
        free(w->doubt);
        w->doubt = next;
    }
}

static void facts_take(struct simdep *d, const struct job *j)
{
    idset_done(&d->pending);
    d->pending = IDSET_INIT;
    d->array_id = j->array_job_id;
    d->task = j->array_task_id;
    d->state = j->state;
    d->exit_status = j->exit_status;
    d->hold = j->spec.hold;
    if (j->array_pending && j->array_task_id == NO_TASK)
        idset_parse(&d->pending, j->array_pending, LIMIT_ARRAY_INDEX, NULL);
}

/* ---- our reading ---------------------------------------------------------------------------- */

struct depend_sum {
    int64_t n, over, well, waits, held, stops, coded; /* coded: failed, with such a code */
};

static void sum_add(struct depend_sum *s, const struct simdep *one, const struct dependency *d)
{
    int64_t n = one->pending.count ? (int64_t)one->pending.count : 1;
    bool over = job_state_over((enum job_state)one->state), well = one->state == JOB_COMPLETED;
    bool waits = one->state == JOB_PENDING || one->state == JOB_SPECIAL_EXIT;
    int code = one->exit_status & 127 ? 128 + (one->exit_status & 127) : one->exit_status >> 8;
    s->n += n;
    s->over += over ? n : 0;
    s->well += over && well ? n : 0;
    s->waits += waits ? n : 0;
    s->held += waits && one->hold ? n : 0;
    s->stops += one->state == JOB_SUSPENDED;
    s->coded +=
        over && !well && dep_compares((enum dep_compare)d->compare, code, d->number) ? n : 0;
}

/* Of the whole, or of one element, which may be named by a number of its own. */
static struct depend_sum sum_of(struct sim_world *w, const struct dependency *d, uint32_t task)
{
    struct depend_sum s = {0};
    struct map_walk walk = {0};
    const struct simdep *whole = map_u64_get(w->depend, d->job_id);
    if (!whole || whole->array_id != d->job_id) {
        if (whole)
            sum_add(&s, whole, d);
        return s;
    }
    while (map_u64_next(w->depend, &walk)) {
        const struct simdep *one = walk.value;
        if (one->array_id != d->job_id)
            continue;
        if (task == NO_TASK || one->task == task)
            sum_add(&s, one, d);
        else if (idset_has(&one->pending, task))
            sum_add(&s, &(struct simdep){.state = one->state, .hold = one->hold}, d);
    }
    return s;
}

static int64_t counted(const struct depend_sum *s, enum dep_kind kind)
{
    return kind == DEP_NUMDONE    ? s->well
           : kind == DEP_NUMENDED ? s->over
           : kind == DEP_NUMEXIT  ? s->over - s->well
           : kind == DEP_NUMSTART ? s->n - s->waits
           : kind == DEP_NUMRUN   ? s->n - s->waits - s->over - s->stops
           : kind == DEP_NUMPEND  ? s->waits - s->held
                                  : s->held;
}

static bool holds(struct sim_world *w, const struct dependency *d, uint32_t own)
{
    struct depend_sum s = {0};
    if (dep_pairs(d) && own != NO_TASK)
        s = sum_of(w, d, own);
    if (!s.n)
        s = sum_of(w, d, d->task_id);
    bool over = s.n && s.over == s.n, yes = false;
    enum dep_kind kind = (enum dep_kind)d->kind;
    if (kind == DEP_AFTER)
        yes = s.n && !s.waits;
    else if (kind == DEP_AFTERANY)
        yes = over;
    else if (kind == DEP_AFTEROK || kind == DEP_AFTERCORR)
        yes = over && s.well == s.n;
    else if (kind == DEP_AFTERNOTOK)
        yes = over && s.well < s.n;
    else if (kind == DEP_EXIT)
        yes = over && s.coded == s.n;
    else if (dep_counts(kind))
        yes = s.n && dep_compares((enum dep_compare)d->compare, counted(&s, kind),
                                  d->number == DEP_ALL ? s.n : d->number);
    return yes != d->negated;
}

/* Is the whole true, if a condition is where it has ever held? */
static bool is_true(struct sim_world *w, const struct simdep *d, const bool *ever, uint32_t own)
{
    struct dependency_list list = d->list;
    bool whole;
    list.v = xmemdup(list.v, list.n * sizeof list.v[0]);
    for (size_t i = 0; i < list.n; i++) {
        bool told = list.v[i].kind == DEP_SINGLETON; /* not looked at here */
        list.v[i].status = DEP_OPEN;
        list.v[i].now = ever ? told || ever[i] || holds(w, &list.v[i], own)
                             : !told && holds(w, &list.v[i], own);
    }
    whole = dependency_truth(&list).now;
    free(list.v);
    return whole;
}

/* ---- after each commit ---------------------------------------------------------------------- */

static void wait_take(struct sim_world *w, struct simdep *d, const char *text)
{
    if (text_is(text_empty(text) ? NULL : text, d->a ? d->text : NULL))
        return;
    wait_drop(d);
    if (text_empty(text))
        return;
    d->a = arena_new();
    d->text = arena_strdup(d->a, text);
    if (!dependency_parse(text, d->a, &d->list, NULL))
        world_broke(w, "\"%s\" was stored as a dependency and cannot be read", text);
    d->ever = arena_alloc(d->a, d->list.n * sizeof *d->ever);
    for (size_t i = 0; i < d->list.n; i++)
        d->ever[i] = holds(w, &d->list.v[i], d->task);
}

static void one_look(struct sim_world *w, struct simdep *d, const struct job *j)
{
    for (size_t i = 0; i < d->list.n; i++) {
        uint64_t id = d->list.v[i].job_id;
        if (!d->ever[i] && id && (id == j->id || id == j->array_job_id))
            d->ever[i] = holds(w, &d->list.v[i], d->task);
    }
}

static void all_look(struct sim_world *w, const struct job *j)
{
    struct map_walk walk = {0};
    while (map_u64_next(w->depend, &walk))
        one_look(w, walk.value, j);
    for (struct simdoubt *s = w->doubt; s; s = s->next)
        one_look(w, &s->d, j);
}

static void wait_copy(struct sim_world *w, struct simdep *to, const struct simdep *from)
{
    wait_take(w, to, from->text);
    for (size_t i = 0; i < from->list.n; i++)
        to->ever[i] |= from->ever[i];
}

/* It waited, and now it does not. */
static void release_check(struct sim_world *w, const struct simdep *former, const struct job *j)
{
    bool goes_on = j->state == JOB_PENDING || j->state == JOB_RUNNING;
    if (former && former->a && goes_on && text_empty(j->spec.dependency) &&
        !is_true(w, former, former->ever, j->array_task_id)) {
        struct simdoubt *s = xcalloc(1, sizeof *s);
        s->id = j->id;
        s->d.task = j->array_task_id;
        wait_copy(w, &s->d, former);
        s->next = w->doubt;
        w->doubt = s;
    }
}

void world_depend_check(struct sim_world *w)
{
    while (w->doubt) {
        struct simdoubt *s = w->doubt;
        w->doubt = s->next;
        if (!is_true(w, &s->d, s->d.ever, s->d.task))
            world_broke(w, "job %llu was let go, and \"%s\", for which it waited, never held",
                        (unsigned long long)s->id, s->d.text);
        wait_drop(&s->d);
        free(s);
    }
}

void world_depend_learn(struct sim_world *w, const struct job *j)
{
    if (w->depend_off)
        return;
    if (!w->depend)
        w->depend = map_u64_new();
    const struct simdep *known = map_u64_get(w->depend, j->id);
    const struct simdep *former = known ? known
                                  : j->array_job_id && j->array_task_id != NO_TASK
                                      ? map_u64_get(w->depend, j->array_job_id)
                                      : NULL;
    bool waited = former && former->state == JOB_PENDING;
    struct simdep *d = simdep_of(w, j->id);
    bool first = former && former != d;
    facts_take(d, j);
    all_look(w, j);
    if (waited || first)
        release_check(w, waited ? former : NULL, j);
    wait_take(w, d, job_state_over((enum job_state)j->state) ? NULL : j->spec.dependency);
}

void world_depend_stop(struct sim_world *w)
{
    w->depend_off = true;
    world_depend_free(w);
}

/* ---- when all is quiet ---------------------------------------------------------------------- */

static void row_take(void *ctx, const void *record)
{
    struct sim_world *w = ctx;
    const struct job *j = record;
    facts_take(simdep_of(w, j->id), j);
}

static void waiting_check(struct sim_world *w, uint64_t id, const struct simdep *d)
{
    uint32_t task;
    bool held = is_true(w, d, NULL, d->task);
    for (bool more = !held && idset_first(&d->pending, &task); more && !held;
         more = idset_next(&d->pending, task, &task))
        held = is_true(w, d, NULL, task);
    if (held)
        world_broke(w, "job %llu waits for \"%s\", and that holds", (unsigned long long)id,
                    d->text);
}

static void wait_restore(void *ctx, const void *record)
{
    struct sim_world *w = ctx;
    const struct job *j = record;
    if (j->state == JOB_PENDING)
        wait_take(w, simdep_of(w, j->id), j->spec.dependency);
}

void world_depend_audit(struct sim_world *w)
{
    struct map_walk walk = {0};
    world_depend_free(w);
    w->depend = map_u64_new();
    store_load(w->store, TABLE_JOB, false, 0, row_take, w, NULL);
    store_load(w->store, TABLE_JOB, false, 0, wait_restore, w, NULL);
    while (map_u64_next(w->depend, &walk))
        if (((struct simdep *)walk.value)->a)
            waiting_check(w, walk.key, walk.value);
}
