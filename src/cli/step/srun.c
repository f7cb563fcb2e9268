/* srun: tasks in an allocation. Inside a job (or with --jobid) it makes a step of it; outside it
 * first asks for a job of its own. */
#include "base/alloc.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/command_signals.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/step/srun_parts.h"
#include "cli/step/terminal.h"
#include "cli/submit/check.h"
#include "cli/submit/host.h"
#include "model/env/step_env.h"
#include "model/job/step_dependency.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME         "srun"
#define IMMEDIATE_US INT64_C(1000000) /* -I without a number */

/* ---- streams ---- */

/* Input goes to all components, from where the first one says; output of a component that says
 * nothing goes where the first one's does. */
static bool streams_take(struct launch *l, struct err *e)
{
    l->streams = arena_alloc(l->line.a, l->run.nsteps * sizeof *l->streams);
    if (l->line.comp[0].launch.async) {
        srun_async_streams(&l->line.comp[0], &l->step[0].tasks);
        return true;
    }
    for (size_t i = 0; i < l->run.nsteps; i++) {
        const struct submit_options *o = &l->line.comp[i];
        bool own = i == 0 || streams_have_output(o);
        if (own && !streams_choose(o, l->line.a, &l->streams[i], e))
            return false;
        if (!own)
            l->streams[i] = l->streams[0];
        if (i > 0 && !text_empty(o->spec.std_in))
            fprintf(stderr, NAME ": --input of a later component has no effect: all read what the "
                                 "first one's says\n");
        l->streams[i].in = l->streams[0].in;
        streams_tell(&l->streams[i], &l->step[i].tasks);
        l->step[i].output = i > 0 && own ? &l->streams[i].files : NULL;
    }
    l->run.in_fd = l->streams[0].in.fd;
    l->run.in_task = l->streams[0].in.task;
    l->run.output = l->streams[0].files;
    return true;
}

/* Only what is served; other words of a site's are of Slurm's plugins. */
static void mpi_default_take(struct launch *l, const char *type)
{
    const char *served = text_is(type, "pmi2") ? "pmi2" : text_starts(type, "pmix") ? "pmix" : NULL;
    for (size_t i = 0; served && i < l->run.nsteps; i++) {
        if (l->line.comp[i].launch.mpi)
            continue;
        l->step[i].tasks.mpi = served;
        l->step[i].tasks.mpi_default = true;
    }
}

/* What the site says where the command line does not. `c` as for cluster_settings_read. */
static void settings_take(struct launch *l, struct client *c)
{
    const struct submit_options *o = &l->line.comp[0];
    struct config conf;
    struct err e = {0};
    if (!cluster_settings_read(l->al.state_dir, c, &conf, &e))
        return;
    const struct settings *s = &conf.settings;
    if (o->launch.kill_on_bad_exit == UNSET)
        l->run.kill_on_bad_exit = s->kill_on_bad_exit;
    if (!o->launch.wait_given)
        l->run.wait_us = s->wait_time_us;
    if (!text_empty(s->srun_port_range))
        l->run.ports = arena_strdup(l->line.a, s->srun_port_range);
    l->run.plain = !s->stream_tls;
    if (!l->prolog && !text_empty(s->srun_prolog))
        l->prolog = arena_strdup(l->line.a, s->srun_prolog);
    if (!l->epilog && !text_empty(s->srun_epilog))
        l->epilog = arena_strdup(l->line.a, s->srun_epilog);
    mpi_default_take(l, s->mpi_default);
    l->run.kill_wait_s = (int32_t)(s->kill_wait_us / INT64_C(1000000)) + 2;
    config_done(&conf);
}

/* As Slurm: without a terminal here all tasks run, and none has one. */
static void pty_judge(struct launch *l)
{
    bool any = false;
    for (size_t i = 0; !isatty(STDOUT_FILENO) && i < l->line.ncomp; i++) {
        any |= l->line.comp[i].launch.pty;
        l->line.comp[i].launch.pty = false;
    }
    if (any)
        program_error(NAME, "Not using a pseudo-terminal, disregarding --pty option");
}

static void run_take(struct launch *l)
{
    const struct submit_options *o = &l->line.comp[0];
    struct step_run_ask *r = &l->run;
    r->step = l->step;
    r->label = o->launch.label;
    r->unbuffered = o->launch.unbuffered;
    r->pty = o->launch.pty;
    r->quiet = o->quiet;
    r->tasks_tell = o->launch.interactive && o->quiet; /* bsub -I, qsub -I: as the command exits */
    r->verbose = o->verbose;
    r->disable_status = o->launch.disable_status;
    r->quit_on_interrupt = o->launch.quit_on_interrupt;
    r->kill_on_bad_exit = o->launch.kill_on_bad_exit == YES;
    r->no_kill = o->spec.no_kill;
    r->wait_us = o->launch.wait_us;
    l->prolog = o->launch.prolog;
    l->epilog = o->launch.epilog;
}

/* ---- programs here, before and after ---- */

/* Its exit code, or 128 and the signal; 0 of one that is not there, as Slurm goes on without it.
 * `context` is what it finds in SLURM_SCRIPT_CONTEXT; `quiet`: nothing is said of that. */
static int program_run(const char *program, const char *context, bool quiet)
{
    int status = 0;
    if (text_empty(program) || text_is(program, "none"))
        return 0;
    if (strchr(program, '/') && access(program, X_OK) != 0) {
        if (!quiet)
            fprintf(stderr, NAME ": Access denied for %s: %s\n", program, strerror(errno));
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0) {
        command_signals_restore();
        setenv("SLURM_SCRIPT_CONTEXT", context, 1);
        execlp(program, program, (char *)NULL);
        fprintf(stderr, NAME ": Access denied for %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void number_export(const char *name, int64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)n);
    setenv(name, text, 1);
}

static void text_export(const char *name, const char *text)
{
    if (text)
        setenv(name, text, 1);
}

/* What --prolog and --epilog know of the step. */
static void step_export(const struct launch *l, const struct step *step)
{
    const struct job *j = &l->al.job[0];
    number_export("SLURM_JOB_ID", (int64_t)step->job_id);
    number_export("SLURM_JOBID", (int64_t)step->job_id);
    number_export("SLURM_STEP_ID", step_env_number(step->step_id));
    number_export("SLURM_STEPID", step_env_number(step->step_id));
    number_export("SLURM_NTASKS", step->ntasks);
    number_export("SLURM_NPROCS", step->ntasks);
    number_export("SLURM_STEP_NUM_TASKS", step->ntasks);
    number_export("SLURM_NNODES", step->node_count);
    number_export("SLURM_STEP_NUM_NODES", step->node_count);
    text_export("SLURM_STEP_NODELIST", step->nodes);
    text_export("SLURM_JOB_NODELIST", j->nodes);
    text_export("SLURM_NODELIST", j->nodes);
    text_export("SLURM_JOB_NAME", j->spec.name);
    text_export("SLURM_JOB_PARTITION", j->run_partition);
}

static bool prolog_run(const struct launch *l)
{
    int code = program_run(l->prolog, "prolog_srun", l->line.comp[0].quiet);
    if (code)
        program_error(NAME, "srun prolog failed rc = %d. Aborting step.", code);
    return code == 0;
}

static void epilog_run(const struct launch *l)
{
    int code = program_run(l->epilog, "epilog_srun", l->line.comp[0].quiet);
    if (code)
        program_error(NAME, "srun epilog failed status=%d", code);
}

/* Whose --output and --error a step's tasks have: a component that says nothing has the first
 * one's. */
static size_t streams_of(const struct launch *l, size_t i)
{
    ASSERT(l->step && i < l->run.nsteps);
    size_t comp = l->comp_of ? l->comp_of[i] : i;
    return comp > 0 && !l->step[i].output ? 0 : comp;
}

/* A further step with the same streams: files named by the job or the step are its own. */
static struct srun_streams *streams_again(struct launch *l, size_t i)
{
    struct srun_streams *s = &l->streams[streams_of(l, i)];
    if (!s->out.late_file && !s->err.late_file)
        return NULL;
    s = arena_dup(l->line.a, s, sizeof *s);
    s->in.late_file = NULL;
    l->step[i].output = &s->files;
    return s;
}

/* Numbers of tasks mean something only now. Streams that are files after all change what the nodes
 * are told. */
static bool streams_settle(struct launch *l, size_t i, const struct step *step)
{
    ASSERT(i < l->run.nsteps);
    struct srun_streams *s = &l->streams[streams_of(l, i)];
    for (size_t k = 0; k < i; k++)
        if (streams_of(l, k) == streams_of(l, i)) {
            s = streams_again(l, i);
            break;
        }
    if (!s)
        return true;
    int32_t ntasks = l->run.nsteps == 1 ? step->ntasks : INT32_MAX;
    if (!streams_open_late(s, srun_job_of(l, step->job_id), step, ntasks))
        return false;
    streams_tell(s, &l->step[i].tasks);
    return true;
}

static void all_created(struct launch *l)
{
    srun_groups_join(l);
    l->run.in_fd = l->streams[0].in.fd;
    l->run.in_task = l->streams[0].in.task;
    l->run.output = l->streams[0].files;
}

static bool step_created(void *ctx, size_t i, const struct step *step)
{
    struct launch *l = ctx;
    struct err e = {0};
    if (!srun_multi_prog_check(l, i, l->run.nsteps == 1 ? step->ntasks : 0, &e)) {
        program_error(NAME, "%s", e.text);
        return false;
    }
    if (!streams_settle(l, i, step))
        return false;
    if (!l->made)
        l->made = arena_alloc(l->line.a, l->run.nsteps * sizeof *l->made);
    l->made[i] = *step;
    if (i + 1 == l->run.nsteps)
        all_created(l);
    if (i > 0)
        return true;
    step_export(l, step);
    if (!prolog_run(l))
        return false;
    if (l->run.pty)
        terminal_raw();
    return true;
}

/* ---- the job ---- */

static int test_only(struct launch *l, const struct msg_submit *m)
{
    struct message answer;
    struct err e = {0};
    struct client *c = program_connect_for(NAME, l->al.state_dir, "allocation failure");
    int status = 0;
    if (!c)
        return submit_exit_error();
    if (!client_call(c, MSG_SUBMIT, m, 0, l->line.a, &answer, &e)) {
        status = submit_fail(&l->line, &e);
    } else if (answer.kind == MSG_SUBMITTED) {
        if (!l->line.comp[0].quiet) /* sbatch says it with -Q, too */
            submit_test_print(&l->line, answer.body);
    } else if (answer.kind == MSG_DONE) {
        status = submit_refused(&l->line, answer.body);
    }
    client_close(c);
    return status;
}

static int in_new_job(struct launch *l)
{
    const struct submit_options *o = &l->line.comp[0];
    struct job_spec *specs = arena_alloc(l->line.a, l->line.ncomp * sizeof *specs);
    int status;
    for (size_t i = 0; i < l->line.ncomp; i++) {
        specs[i] = l->line.comp[i].spec;
        specs[i].attached = true;
        specs[i].std_in = specs[i].std_out = specs[i].std_err = NULL;
    }
    struct msg_submit m = {
        .specs = {specs, l->line.ncomp}, .test_only = o->test_only, .attach = !o->test_only};
    if (o->test_only)
        return test_only(l, &m);
    int64_t timeout = o->immediate ? (o->immediate_us ? o->immediate_us : IMMEDIATE_US) : 0;
    if (!allocation_make(&l->al, &l->line, &m, timeout, &status)) {
        allocation_finish(&l->al, status_of_code(status));
        return status;
    }
    settings_take(l, NULL);
    srun_jobs_bind(l);
    status = srun_bcast(l) ? step_run(&l->al, &l->run) : submit_exit_error();
    allocation_finish(&l->al, status > 128 ? status - 128 : status_of_code(status));
    return status;
}

/* In Slurm's words first. */
static void unconfirmed_say(const char *lookup, const char *id, const struct err *e)
{
    if (text_is(e->text, refusal_text(REFUSE_ALREADY_DONE))) {
        program_error(NAME, "Slurm job %s has expired", id);
        return;
    }
    program_error(NAME, "%s: %s", lookup, e->text);
}

static int in_job(struct launch *l)
{
    const struct submit_options *o = &l->line.comp[0];
    struct err e = {0};
    const char *lookup = arena_printf(l->line.a, "Unable to confirm allocation for job %llu",
                                      (unsigned long long)o->launch.job_id);
    l->al.client = program_connect_for(NAME, l->al.state_dir,
                                       arena_printf(l->line.a, NAME ": error: %s", lookup));
    if (!l->al.client)
        return submit_exit_error();
    settings_take(l, l->al.client);
    const char *id = arena_printf(l->line.a, "%llu", (unsigned long long)o->launch.job_id);
    if (!allocation_find(&l->al, id, &e) || !srun_env_settle(l, &e) || !srun_groups_bind(l, &e)) {
        if (e.lead[0])
            return submit_fail(&l->line, &e);
        unconfirmed_say(lookup, id, &e);
        if ((e.code == ERR_NOT_FOUND || e.code == ERR_UNAVAILABLE) && !o->quiet)
            fprintf(stderr,
                    NAME ": Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n",
                    id);
        return submit_exit_error();
    }
    for (size_t i = 0; i < l->run.nsteps; i++)
        l->step[i].create.immediate = o->immediate;
    l->al.job_id = 0; /* not held by us */
    int status = !srun_bcast(l)    ? submit_exit_error()
                 : o->launch.async ? srun_async(l)
                                   : step_run(&l->al, &l->run);
    allocation_finish(&l->al, 0);
    return status;
}

/* A job of its own has no nodes yet to count from. */
static bool relative_check(const struct submit_options *o, struct err *e)
{
    if (!o->launch.relative_plus1 || (o->launch.job_id && !o->test_only))
        return true;
    err_set(e, ERR_INVALID,
            "--relative=%d: a step in an allocation counts from its first node; --nodelist says "
            "which nodes a job is to have",
            o->launch.relative_plus1 - 1);
    return err_lead(e, "fatal: --relative option invalid for job allocation request");
}

/* Steps wait for steps of their job, jobs for jobs. What the environment says is the job's. */
static bool dependency_check(struct submit_options *o, struct err *e)
{
    bool asked = option_source_of(o, "dependency", CMD_SRUN) == FROM_COMMAND_LINE;
    bool steps = step_dependency_is(o->spec.dependency);
    if (o->launch.job_id && !asked)
        o->spec.dependency = NULL;
    if (asked && !o->launch.job_id && steps)
        return err_set(
            e, ERR_INVALID,
            "--dependency=%s: a job waits for jobs; steps wait for steps in an allocation",
            o->spec.dependency);
    if (asked && o->launch.job_id && !steps && !o->test_only)
        return err_set(e, ERR_INVALID,
                       "--dependency=%s: in an allocation a step waits for steps: afterok:%llu.0",
                       o->spec.dependency, (unsigned long long)o->launch.job_id);
    return true;
}

static int launch_run(struct launch *l)
{
    struct err e = {0};
    l->line.cwd = submit_cwd(l->line.a, &e);
    if (!l->line.cwd || !submit_components(&l->line, &e))
        return submit_fail(&l->line, &e);
    struct submit_options *o = &l->line.comp[0];
    l->line.state_dir = l->al.state_dir = state_dir_find(NULL, l->line.a);
    l->al.quiet = o->quiet;
    if (o->verbose)
        submit_verbose_print(&l->line);
    for (size_t i = 0; i < l->line.ncomp; i++)
        submit_spec_complete(&l->line, &l->line.comp[i]);
    l->run.nsteps = l->line.ncomp;
    l->step = arena_alloc(l->line.a, l->run.nsteps * sizeof *l->step);
    l->run.created = step_created;
    l->run.ctx = l;
    pty_judge(l);
    run_take(l);
    /* Files are opened as who the step is of: their names may be in directories of his. */
    if ((o->launch.async && !srun_async_check(l, &e)) || !dependency_check(o, &e) ||
        !relative_check(o, &e) || !submit_cluster_check(&l->line, &e) ||
        !submit_become(o->uid, o->gid, &e) || !srun_steps_fill(l, &e) || !streams_take(l, &e))
        return submit_fail(&l->line, &e);
    l->al.signal_fd = command_signals_open();
    /* --test-only asks about a job of its own in a job too, as Slurm does. */
    int status = o->launch.job_id && !o->test_only ? in_job(l) : in_new_job(l);
    epilog_run(l);
    return status;
}

static bool mpi_list(const struct submit_options *o)
{
    if (!text_is(o->launch.mpi, "list"))
        return false;
    puts("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix");
    return true;
}

int cmd_srun(int argc, char **argv)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct launch l = {.al = {.name = NAME, .a = a, .signal_fd = -1}};
    struct submit_options *first = arena_alloc(a, sizeof *first);
    int status = 0;
    submit_command_init(&l.line, NAME, CMD_SRUN, argc, argv, a);
    if (!submit_split(&l.line, first, &e))
        status = submit_fail(&l.line, &e);
    else if (!submit_information(&l.line, first) && !mpi_list(first))
        status = launch_run(&l);
    submit_command_done(&l.line);
    arena_free(a);
    return status;
}
