/* What srun says while a step runs, and the steps and nodes that it is said of. */
#include "cli/step/run_parts.h"

#include "base/hostlist.h"
#include "model/job/alloc.h"

#include <stdarg.h>
#include <stdio.h>

static void line_say(const struct srun_run *r, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void line_say(const struct srun_run *r, const char *format, va_list args)
{
    allocation_line_say(r->al->name, r->ask->pty ? "\r\n" : "\n", format, args);
}

void run_say(const struct srun_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!r->ask->quiet)
        line_say(r, format, args);
    va_end(args);
}

void run_warn(const struct srun_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    line_say(r, format, args);
    va_end(args);
}

void run_tell(const struct srun_run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (r->ask->verbose)
        line_say(r, format, args);
    va_end(args);
}

static void cpu_counts(const struct alloc *al, struct str *out)
{
    for (size_t i = 0, same; i < al->n; i += same) {
        for (same = 1; i + same < al->n; same++)
            if (al->node[i + same].cpu_count != al->node[i].cpu_count)
                break;
        str_addf(out, "%s%d(x%zu)", i ? "," : "", al->node[i].cpu_count, same);
    }
}

void run_jobs_tell(const struct srun_run *r)
{
    for (size_t i = 0; r->ask->verbose && i < r->al->njobs; i++) {
        const struct job *j = &r->al->job[i];
        struct alloc held;
        struct hostlist names = HOSTLIST_INIT;
        struct str nodes = STR_INIT, cpus = STR_INIT;
        if (!alloc_parse(j->alloc ? j->alloc : "", r->a, &held, NULL))
            continue;
        for (size_t n = 0; n < held.n; n++)
            hostlist_add(&names, held.node[n].node);
        hostlist_fold(&names, &nodes);
        cpu_counts(&held, &cpus);
        run_tell(r, "jobid %llu: nodes(%zu):`%s', cpu counts: %s", (unsigned long long)j->id,
                 held.n, str_text(&nodes), str_text(&cpus));
        str_done(&nodes);
        str_done(&cpus);
        hostlist_done(&names);
    }
}

const char *run_step_name(const struct srun_run *r, const struct one_step *s)
{
    return arena_printf(r->a, "%llu.%lld", (unsigned long long)s->step.job_id,
                        (long long)s->step.step_id);
}

void run_each_node(struct srun_run *r, node_fn fn, void *arg)
{
    for (size_t i = 0; i < r->nsteps; i++)
        for (size_t k = 0; k < r->step[i].nnodes; k++)
            fn(r, &r->step[i].node[k], arg);
}
