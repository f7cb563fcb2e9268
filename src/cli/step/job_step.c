#include "cli/step/job_step.h"

#include "cli/program/command_signals.h"
#include "cli/program/program.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "model/job/array.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* What a process of another's has in its environment he may read: of root's he gets little; of a
 * copy's, which needs no more, so does everybody. */
static struct blob env_of_command(const struct job_step *s, struct err *e)
{
    bool few = text_is(s->al.name, "sbcast") || submit_root_for_other(s->al.job[0].user_id);
    struct env_ask ask = {.environ = environ, .keep_job = true, .few = few};
    unsetenv("SLURM_JOB_NAME"); /* of the job that it is run in, which may be another one */
    struct str out = STR_INIT;
    struct blob b = {0};
    if (submit_env_capture(&ask, &out, e))
        b = (struct blob){arena_dup(s->a, out.data, out.len), out.len};
    str_done(&out);
    return b;
}

bool job_step_names_job(const char *text)
{
    struct job_ref ref;
    if (!job_ref_parse(text, &ref, NULL))
        return false;
    bool one = !ref.has_step && !ref.tasks.count;
    job_ref_done(&ref);
    return one;
}

bool job_step_open(struct job_step *s, const char *command, const char *job, const char *name,
                   struct arena *a)
{
    struct err e = {0};
    memset(s, 0, sizeof *s);
    s->a = a;
    s->al = (struct allocation){
        .name = command, .a = a, .state_dir = state_dir_find(NULL, a), .signal_fd = -1};
    const char *lookup = text_is(command, "sbcast")
                             ? arena_printf(a, "Slurm job %s lookup error", job)
                             : arena_printf(a, "job %s", job);
    s->al.client = program_connect_for(command, s->al.state_dir,
                                       arena_printf(a, "%s: error: %s", command, lookup));
    if (!s->al.client)
        return false;
    if (!allocation_find(&s->al, job, &e)) {
        program_error(command, "%s: %s", lookup, e.text);
        return false;
    }
    s->al.job_id = 0; /* it is not ours to hold */
    s->spec.name = name;
    s->spec.work_dir = submit_cwd(a, &e);
    s->step.create.job_id = s->al.job[0].id;
    s->step.create.overlap = true;
    s->step.create.spec.v = &s->spec;
    s->step.create.spec.n = 1;
    s->step.tasks.env = env_of_command(s, &e);
    s->step.tasks.work_dir = s->spec.work_dir;
    s->step.tasks.umask_plus1 = submit_umask() + 1;
    s->step.tasks.rlimits = submit_rlimits(NULL, a);
    s->run = (struct step_run_ask){.step = &s->step,
                                   .nsteps = 1,
                                   .in_fd = STDIN_FILENO,
                                   .in_task = -1,
                                   .output = {{STDOUT_FILENO, -1}, {STDERR_FILENO, -1}}};
    return true;
}

void job_step_program(struct job_step *s, const char *const *argv)
{
    struct str out = STR_INIT;
    for (; *argv; argv++)
        str_addn(&out, *argv, strlen(*argv) + 1);
    s->step.tasks.args = (struct blob){arena_dup(s->a, out.data, out.len), out.len};
    str_done(&out);
}

int job_step_run(struct job_step *s)
{
    s->al.signal_fd = command_signals_open();
    int status = step_run(&s->al, &s->run);
    allocation_finish(&s->al, 0);
    return status;
}
