#include "core/inside.h"

#include <string.h>

bool list_has(const char *list, const char *word)
{
    struct span rest = span_of(list), piece;
    while (list && span_next(&rest, ',', &piece))
        if (span_is(span_trim(piece), word ? word : ""))
            return true;
    return false;
}

bool peer_operates(const struct core *c, const struct peer *peer)
{
    return peer && !peer->is_plain &&
           (peer->is_admin || (peer->user && list_has(c->settings.operators, peer->user)));
}

bool may_control(const struct core *c, const struct jobrec *r)
{
    return c->peer && (c->peer->uid == r->j.user_id || peer_operates(c, c->peer));
}

/* An element gets a record of its own because somebody names it; what is asked of it may still be refused, so it is stored and planned with as it is. */
static struct jobrec *element_make(struct core *c, struct jobrec *master, uint32_t task)
{
    struct jobrec *element = array_split(c, master, task);
    eligible_update(c, element);
    job_save(c, element);
    return element;
}

static bool task_resolve(struct core *c, struct jobrec *master, struct arrayrec *array, uint32_t task,
                         bool split, jobrec_vec *out)
{
    struct jobrec *r = array ? map_u64_get(array->element, task) : NULL;
    if (!r && master && job_is_array(master) && idset_has(&master->pending, task))
        /* What was cancelled as a whole stays whole. */
        r = split && (master->j.state == JOB_PENDING || master->j.state == JOB_SPECIAL_EXIT) &&
                    may_control(c, master)
                ? element_make(c, master, task)
                : master;
    if (r && !(out->n && out->v[out->n - 1] == r))
        vec_push(out, r);
    return r != NULL;
}

static bool array_resolve(struct jobrec *master, struct arrayrec *array, jobrec_vec *out)
{
    struct map_walk w = {0};
    size_t before = out->n;
    if (master && job_is_array(master))
        vec_push(out, master);
    while (array && map_u64_next(array->element, &w))
        vec_push(out, (struct jobrec *)w.value);
    return out->n > before;
}

bool ref_resolve(struct core *c, const struct job_ref *ref, bool split, jobrec_vec *out)
{
    struct jobrec *r = job_find(c, ref->job_id);
    struct arrayrec *array = array_of(c, ref->job_id);
    bool any = false;
    uint32_t task;
    if (ref->het_offset >= 0) {
        struct jobrec *component = job_find(c, ref->job_id + (uint64_t)ref->het_offset);
        if (!component || component->j.het_job_id != ref->job_id)
            return false;
        vec_push(out, component);
        return true;
    }
    if (ref->task_id != NO_TASK)
        return task_resolve(c, r, array, ref->task_id, split, out);
    if (ref->tasks.count) {
        for (bool more = idset_first(&ref->tasks, &task); more; more = idset_next(&ref->tasks, task, &task))
            any |= task_resolve(c, r, array, task, split, out);
        return any;
    }
    if (array && !ref->exact)
        return array_resolve(r, array, out);
    if (r && r->j.het_job_id == r->j.id && !ref->exact) {
        struct jobrec *component;
        for (uint64_t id = r->j.id; (component = job_find(c, id)) && component->j.het_job_id == r->j.id; id++)
            vec_push(out, component);
        return true;
    }
    if (r)
        vec_push(out, r);
    return r != NULL;
}

struct outcome {
    VEC(struct result) result;
    uint64_t done;
    enum refusal first;
};

static void outcome_add(struct core *c, struct outcome *o, const char *ref, enum refusal refusal,
                        const char *detail)
{
    if (refusal == REFUSE_NONE) {
        o->done++;
        return;
    }
    struct result result = {
        .ref = ref, .refusal = refusal, .detail = detail ? arena_strdup(c->fx->arena, detail) : NULL};
    if (o->first == REFUSE_NONE)
        o->first = refusal;
    vec_push(&o->result, result);
}

static void ref_act(struct core *c, struct outcome *o, const char *text, bool split, job_act act, void *ctx)
{
    struct job_ref ref;
    struct err err = {0};
    jobrec_vec jobs = {0};
    if (!job_ref_parse(text, &ref, &err)) {
        outcome_add(c, o, text, REFUSE_INVALID_JOB_ID, err.text);
        return;
    }
    ref.exact = ref.has_step; /* a step is one record's */
    if (!ref_resolve(c, &ref, split && !ref.has_step, &jobs))
        outcome_add(c, o, text, REFUSE_INVALID_JOB_ID, NULL);
    for (size_t i = 0; i < jobs.n; i++) {
        const char *detail = NULL;
        enum refusal refusal =
            may_control(c, jobs.v[i]) ? act(c, jobs.v[i], &ref, ctx, &detail) : REFUSE_ACCESS_DENIED;
        /* Elements of an array that are over already are no failure of an action on the whole array. */
        if (refusal == REFUSE_ALREADY_DONE && jobs.n > 1)
            refusal = REFUSE_NONE;
        outcome_add(c, o, text, refusal, detail);
    }
    vec_done(&jobs);
    job_ref_done(&ref);
}

static void name_act(struct core *c, struct outcome *o, const char *name, job_act act, void *ctx)
{
    struct map_walk w = {0};
    jobrec_vec jobs = {0};
    while (map_u64_next(c->job, &w)) {
        struct jobrec *r = w.value;
        if (job_live(r) && text_is(r->j.spec.name, name))
            vec_push(&jobs, r);
    }
    for (size_t i = 0; i < jobs.n; i++) {
        const char *detail = NULL;
        if (may_control(c, jobs.v[i]))
            outcome_add(c, o, name, act(c, jobs.v[i], NULL, ctx, &detail), detail);
    }
    if (!jobs.n)
        outcome_add(c, o, name, REFUSE_INVALID_JOB_ID, NULL);
    vec_done(&jobs);
}

/* Cuts a list at commas outside brackets. */
static const char *piece_next(const char **at, struct arena *a)
{
    int depth = 0;
    const char *start = *at, *end = start;
    for (; *end && (*end != ',' || depth); end++)
        depth += (*end == '[') - (*end == ']');
    *at = *end ? end + 1 : end;
    return arena_strndup(a, start, (size_t)(end - start));
}

void refs_each(struct core *c, const char *refs, bool split, job_act act, void *ctx)
{
    struct outcome o = {0};
    if (refs && text_starts_nocase(refs, "name=")) {
        name_act(c, &o, refs + 5, act, ctx);
    } else {
        for (const char *at = refs ? refs : ""; *at;) {
            const char *piece = piece_next(&at, c->fx->arena);
            if (*piece)
                ref_act(c, &o, piece, split, act, ctx);
        }
    }
    struct msg_done done = {
        .refusal = o.done ? REFUSE_NONE : o.first, .count = o.done, .results = {o.result.v, o.result.n}};
    if (!o.done && o.result.n)
        done.detail = o.result.v[0].detail;
    fx_reply(c, c->conn, c->seq, MSG_DONE, &done);
    vec_done(&o.result);
}

enum refusal refs_collect(struct core *c, const char *refs, jobrec_vec *out, const char **detail)
{
    for (const char *at = refs ? refs : ""; *at;) {
        const char *piece = piece_next(&at, c->fx->arena);
        struct job_ref ref;
        struct err err = {0};
        if (!*piece)
            continue;
        if (!job_ref_parse(piece, &ref, &err)) {
            *detail = arena_strdup(c->fx->arena, err.text);
            return REFUSE_INVALID_JOB_ID;
        }
        bool found = ref_resolve(c, &ref, false, out);
        job_ref_done(&ref);
        if (!found) {
            *detail = arena_printf(c->fx->arena, "there is no job %s in memory", piece);
            return REFUSE_INVALID_JOB_ID;
        }
    }
    return REFUSE_NONE;
}
