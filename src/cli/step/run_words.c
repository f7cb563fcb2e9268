/* What srun says while a step runs, and the steps and nodes that it is said of. */
#include "cli/step/run_parts.h"

#include <stdarg.h>
#include <stdio.h>

static void line_say(const struct srun_run *r, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static void line_say(const struct srun_run *r, const char *format, va_list args)
{
    fprintf(stderr, "%s: ", r->al->name);
    vfprintf(stderr, format, args);
    fputs(r->ask->pty ? "\r\n" : "\n", stderr);
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
