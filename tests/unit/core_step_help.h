/* Steps of an allocation: how commands make them and nodes, by hand, tell of them. */
#ifndef REMUDA_TESTS_CORE_STEP_HELP_H
#define REMUDA_TESTS_CORE_STEP_HELP_H

#include "core_help.h"

#define SRUN 7000u /* connections of commands are numbered from here */

static inline const void *heard(uint64_t conn, enum message_kind kind)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].conn == conn && w.fx.v[i].msg.kind == kind)
            return w.fx.v[i].msg.body;
    return NULL;
}

/* An allocation of `nodes` nodes with 8 CPUs each. */
static inline uint64_t salloc(int32_t nodes)
{
    struct job_spec s = a_job("alloc");
    s.batch = false;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.ntasks = 8 * nodes;
    s.req.mem_per_node_mib = 1000;
    return submit(s);
}

static inline struct msg_create_step a_step(uint64_t job_id, struct job_spec *spec, int32_t tasks)
{
    *spec = (struct job_spec){.name = "true", .req = {.ntasks = tasks}};
    return (struct msg_create_step){.job_id = job_id, .spec = {spec, 1}, .address = "@x"};
}

/* The step made; NULL if it waits or was refused. */
static inline const struct step *srun(uint64_t conn, const struct msg_create_step *m)
{
    say(conn, MSG_CREATE_STEP, m);
    const struct msg_step_created *made = heard(conn, MSG_STEP_CREATED);
    return made ? made->step.v : NULL;
}

static inline const struct step *srun_tasks(uint64_t conn, uint64_t job_id, int32_t tasks)
{
    struct job_spec spec;
    struct msg_create_step m = a_step(job_id, &spec, tasks);
    return srun(conn, &m);
}

static inline const struct step *srun_exact(uint64_t conn, uint64_t job_id, int32_t tasks)
{
    struct job_spec spec;
    struct msg_create_step m = a_step(job_id, &spec, tasks);
    m.exact = true;
    return srun(conn, &m);
}

static inline void node_says(int n, uint64_t id, int64_t step_id, enum report_kind kind,
                             int32_t status)
{
    report(n, (struct msg_report){.kind = (int32_t)kind,
                                  .job_id = id,
                                  .attempt = job(id)->attempt,
                                  .step_id = step_id,
                                  .exit_status = status});
}

static inline void ends(int n, uint64_t id, int64_t step_id, int32_t status)
{
    node_says(n, id, step_id, REPORT_EXITED, status);
}

static inline size_t running(uint64_t id)
{
    return count((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)});
}

static inline const struct step *row(uint64_t id, int64_t step_id)
{
    const struct step *found = NULL;
    for (size_t i = 0; i < w.store.n; i++) {
        const struct step *s = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_STEP && s->job_id == id && s->step_id == step_id)
            found = s;
    }
    assert_non_null(found);
    return found;
}

static inline void hang_up(uint64_t conn)
{
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = conn});
    settle(0);
}

static inline size_t told(int n, enum message_kind kind)
{
    size_t k = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        k +=
            w.fx.v[i].kind == FX_SEND && w.fx.v[i].conn == CONN_OF(n) && w.fx.v[i].msg.kind == kind;
    return k;
}

#endif
