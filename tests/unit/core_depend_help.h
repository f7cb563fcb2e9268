/* Jobs that wait for others, and what became of them. */
#ifndef REMUDA_TESTS_CORE_DEPEND_HELP_H
#define REMUDA_TESTS_CORE_DEPEND_HELP_H

#include "core_help.h"

static const char *on(const char *kind, uint64_t id)
{
    return arena_printf(w.a, "%s:%llu", kind, (unsigned long long)id);
}

static inline uint64_t submit_after(const char *name, const char *dependency)
{
    struct job_spec spec = a_job(name);
    spec.dependency = dependency;
    return submit(spec);
}

static inline uint64_t submit_array(const char *indexes, const char *dependency)
{
    struct job_spec spec = a_job("many");
    spec.array = indexes;
    spec.dependency = dependency;
    return submit(spec);
}

static const struct job *element(uint64_t array, unsigned task)
{
    return job_named(arena_printf(w.a, "%llu_%u", (unsigned long long)array, task));
}

static inline void element_ends(uint64_t array, unsigned task, int code)
{
    const struct job *e = element(array, task);
    report(e->batch_host[1] - '0', (struct msg_report){.kind = REPORT_EXITED,
                                                       .job_id = e->id,
                                                       .attempt = e->attempt,
                                                       .step_id = STEP_BATCH,
                                                       .exit_status = status_of_code(code),
                                                       .clean = true});
}

#endif
