#include "sim/world/inside.h"

#include "model/env/device_out.h"

#include <stdlib.h>

/* What is kept of a job between its rows: its state plus 1, and above it how often it went back. */
#define SEEN_BITS  8
#define SEEN_STATE ((1u << SEEN_BITS) - 1)

void world_state_seen(struct sim_world *w, const struct job *j)
{
    map_u64_put(w->state, j->id,
                (void *)((uintptr_t)j->restarts << SEEN_BITS | (uintptr_t)(j->state + 1)));
}

void world_trace_job(struct sim_world *w, const struct job *j)
{
    uintptr_t seen = (uintptr_t)map_u64_get(w->state, j->id);
    enum job_state before = (enum job_state)(seen & SEEN_STATE) - 1;
    bool known = seen != 0, same_life = seen >> SEEN_BITS == j->restarts;
    world_state_seen(w, j);
    if (known && before == (enum job_state)j->state)
        return;
    /* A component that ended alone may go back and start again with the others in one event. */
    if (known && job_state_over(before) && same_life && j->state != JOB_PENDING &&
        j->state != JOB_SPECIAL_EXIT)
        world_broke(w, "job %llu was %s and became %s", (unsigned long long)j->id,
                    enum_name(&job_state_names, before), enum_name(&job_state_names, j->state));
    if (!known && j->state == JOB_PENDING)
        return;
    str_addc(&w->trace, '[');
    struct str at = STR_INIT;
    duration_format(w->now_us, &at);
    str_add(&w->trace, str_text(&at));
    str_done(&at);
    str_add(&w->trace, "] ");
    job_label(j, &w->trace);
    str_addf(&w->trace, " %s > %s",
             enum_name(&job_state_names, known ? (int32_t)before : JOB_PENDING),
             enum_name(&job_state_names, j->state));
    if (j->state == JOB_RUNNING)
        str_addf(&w->trace, " on %s", j->nodes ? j->nodes : "?");
    if (job_state_over((enum job_state)j->state) && j->exit_status)
        str_addf(&w->trace, " %d:%d", status_code(j->exit_status), status_signal(j->exit_status));
    if (j->reason != REASON_NONE && j->state != JOB_RUNNING)
        str_addf(&w->trace, " (%s)", enum_name(&job_reason_names, j->reason));
    str_addc(&w->trace, '\n');
}

void world_trace_node(struct sim_world *w, const struct node *row)
{
    struct device_outs out = {0};
    struct str at = STR_INIT;
    const char *before = map_str_get(w->outs, row->name);
    if (text_is(before ? before : "", row->devices_out ? row->devices_out : ""))
        return;
    struct arena *a = arena_new();
    free(map_str_del(w->outs, row->name));
    if (row->devices_out)
        map_str_put(w->outs, row->name, xstrdup(row->devices_out));
    device_outs_parse(row->devices_out, a, &out);
    duration_format(w->now_us, &at);
    str_addf(&w->trace, "[%s] %s: ", str_text(&at), row->name);
    if (out.n)
        device_outs_say(&out, false, &w->trace);
    else
        str_add(&w->trace, "all devices may be given");
    str_addc(&w->trace, '\n');
    str_done(&at);
    arena_free(a);
}

uint64_t world_step_key(uint64_t job_id, uint64_t attempt, int64_t step_id, uint64_t node)
{
    const uint64_t parts[] = {job_id, attempt, (uint64_t)step_id, node};
    return hash_bytes(HASH_INIT, parts, sizeof parts);
}

/* A step begins once and ends once. */
void world_trace_step(struct sim_world *w, const struct step *s)
{
    uint64_t key = world_step_key(s->job_id, s->attempt, s->step_id, 0);
    bool known = map_u64_get(w->step_ended, key) != NULL;
    bool was_over = (uintptr_t)map_u64_get(w->step_ended, key) >= STEP_ENDED;
    if (s->step_id == STEP_BATCH)
        return;
    if (was_over)
        world_broke(w, "step %llu.%lld is over and was written again",
                    (unsigned long long)s->job_id, (long long)s->step_id);
    if (s->state != JOB_PENDING)
        map_u64_put(w->step_ended, key, (void *)(uintptr_t)world_step_life(s));
    if (known && !s->end_us)
        return;
    struct str at = STR_INIT;
    duration_format(w->now_us, &at);
    str_addf(&w->trace, "[%s] %llu.%lld %s", str_text(&at), (unsigned long long)s->job_id,
             (long long)s->step_id, enum_name(&job_state_names, s->state));
    str_done(&at);
    if (!s->end_us && s->state != JOB_PENDING)
        str_addf(&w->trace, " on %s: %s", s->nodes, s->layout);
    else if (s->exit_status)
        str_addf(&w->trace, " %d:%d", status_code(s->exit_status), status_signal(s->exit_status));
    str_addc(&w->trace, '\n');
}

void world_trace_reservation(struct sim_world *w, const struct reservation *r, bool removed)
{
    struct str at = STR_INIT, from = STR_INIT, to = STR_INIT;
    duration_format(w->now_us, &at);
    duration_format(r->start_us - EPOCH_US, &from);
    duration_format(r->end_us - EPOCH_US, &to);
    str_addf(&w->trace, "[%s] reservation %s ", str_text(&at), r->name);
    if (removed)
        str_add(&w->trace, "is gone\n");
    else
        str_addf(&w->trace, "keeps %s from %s to %s\n",
                 r->holds   ? r->holds
                 : r->nodes ? r->nodes
                            : r->licenses,
                 str_text(&from), str_text(&to));
    str_done(&at);
    str_done(&from);
    str_done(&to);
}
