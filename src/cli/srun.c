/* srun: tasks in an allocation. Inside a job (or with --jobid) it makes a step of it; outside it first asks for a job of its own. */
#include "base/alloc.h"
#include "base/idset.h"
#include "cli/allocation.h"
#include "cli/bcast.h"
#include "cli/cluster_dir.h"
#include "cli/command_signals.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "cli/srun_streams.h"
#include "cli/step_run.h"
#include "cli/step_terminal.h"
#include "cli/submit_check.h"
#include "cli/submit_command.h"
#include "cli/submit_env.h"
#include "cli/submit_host.h"
#include "cli/submit_script.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME             "srun"
#define IMMEDIATE_US     INT64_C(1000000) /* -I without a number */
#define MULTI_PROG_BYTES (1u << 20)

extern char **environ;

struct launch {
    struct submit_command line;
    struct allocation al;
    struct step_ask *step;
    struct step_run_ask run;
    struct srun_streams *streams; /* of each component */
    const char *prolog, *epilog;
};

/* ---- what each task runs ---- */

static struct blob words_blob(const struct launch *l, int from, int to)
{
    struct str out = STR_INIT;
    for (int i = from; i < to; i++)
        str_addn(&out, l->line.argv[i], strlen(l->line.argv[i]) + 1);
    struct blob b = {out.len ? arena_dup(l->line.a, out.data, out.len) : NULL, out.len};
    str_done(&out);
    return b;
}

/* A component without a program runs the next one's. */
static bool program_words(const struct launch *l, size_t i, int *ret_from, int *ret_to)
{
    for (; i < l->line.nwords; i++) {
        *ret_from = l->line.words[i].to;
        *ret_to = l->line.words[i].end;
        if (*ret_from < *ret_to)
            return true;
    }
    return false;
}

static bool multi_prog_read(struct launch *l, const char *path, struct blob *ret, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *text = fd >= 0 ? submit_read_fd(fd, MULTI_PROG_BYTES, l->line.a, &ret->len, e) : NULL;
    int why = errno;
    if (fd >= 0)
        close(fd);
    ret->data = text;
    return text ||
           err_set(e, ERR_NOT_FOUND, "Unable to read the file of --multi-prog %s: %s", path, strerror(why));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool program_take(struct launch *l, size_t i, struct step_ask *s, struct err *e)
{
    struct submit_options *o = &l->line.comp[i];
    int from, to;
    if (!program_words(l, i, &from, &to))
        return err_set(e, ERR_INVALID, "No command given to execute.");
    /* In a job, SLURM_JOB_NAME is the job's name, not the step's. */
    bool of_job = o->launch.job_id && option_source_of(o, "job-name", CMD_SRUN) == FROM_ENVIRONMENT;
    if (!o->spec.name || of_job)
        o->spec.name = base_name(l->line.argv[from]);
    o->spec.command = arena_strdup(l->line.a, l->line.argv[from]);
    if (o->launch.multi_prog)
        return multi_prog_read(l, l->line.argv[from], &s->tasks.multi_prog, e);
    s->tasks.args = words_blob(l, from, to);
    return true;
}

/* ---- streams ---- */

/* Input goes to all components, from where the first one says; output of a component that says nothing goes where the first one's does. */
static bool streams_take(struct launch *l, struct err *e)
{
    l->streams = arena_alloc(l->line.a, l->run.nsteps * sizeof *l->streams);
    for (size_t i = 0; i < l->run.nsteps; i++) {
        const struct submit_options *o = &l->line.comp[i];
        bool own = i == 0 || streams_have_output(o);
        if (own && !streams_choose(o, l->line.a, &l->streams[i], e))
            return false;
        if (!own)
            l->streams[i] = l->streams[0];
        if (i > 0 && !text_empty(o->spec.std_in))
            fprintf(stderr, NAME
                    ": --input of a later component has no effect: all read what the first one's says\n");
        l->streams[i].in = l->streams[0].in;
        if (o->launch.label && l->streams[i].out.node_file)
            fprintf(stderr, NAME ": --label has no effect on files that the nodes write (%s)\n",
                    l->streams[i].out.node_file);
        streams_tell(&l->streams[i], &l->step[i].tasks);
        l->step[i].output = i > 0 && own ? &l->streams[i].files : NULL;
    }
    l->run.in_fd = l->streams[0].in.fd;
    l->run.in_task = l->streams[0].in.task;
    l->run.output = l->streams[0].files;
    return true;
}

/* ---- the steps ---- */

static bool env_take(struct launch *l, size_t i, struct err *e)
{
    const struct submit_options *o = &l->line.comp[i];
    struct str env = STR_INIT;
    const char *extra[] = {
        arena_printf(l->line.a, "SLURM_SUBMIT_DIR=%s", l->line.cwd),
        arena_printf(l->line.a, "SLURM_SUBMIT_HOST=%s", o->spec.alloc_host),
        arena_printf(l->line.a, "SLURM_UMASK=%04o", (unsigned)o->spec.umask_plus1 - 1),
        "SLURM_PRIO_PROCESS=0",
        NULL,
    };
    struct env_ask ask = {.environ = environ,
                          .export_env = o->spec.export_env,
                          .keep_job = o->launch.job_id != 0,
                          .extra = extra};
    bool ok = submit_env_capture(&ask, &env, e);
    if (ok)
        l->step[i].tasks.env = (struct blob){arena_dup(l->line.a, str_text(&env), env.len), env.len};
    str_done(&env);
    return ok;
}

static void step_take(struct launch *l, size_t i)
{
    struct submit_options *o = &l->line.comp[i];
    struct step_ask *s = &l->step[i];
    struct msg_stream_tasks *t = &s->tasks;
    s->create.exact = o->launch.exact;
    s->create.overlap = o->launch.overlap;
    s->create.pty = o->launch.pty;
    s->create.interactive = o->launch.interactive;
    s->create.no_rendezvous = o->launch.no_rendezvous;
    s->create.no_kill = o->spec.no_kill;
    s->create.relative_plus1 = o->launch.relative_plus1;
    t->work_dir = o->spec.work_dir;
    t->preserve_env = o->launch.preserve_env;
    t->task_prolog = o->launch.task_prolog;
    t->task_epilog = o->launch.task_epilog;
    t->umask_plus1 = o->spec.umask_plus1;
    t->rlimits = o->spec.rlimits;
    if (o->launch.pty) {
        terminal_size(&t->rows, &t->columns);
        t->term = getenv("TERM");
    }
}

static bool arbitrary_take(struct launch *l, size_t i, struct err *e)
{
    const struct job_request *r = &l->line.comp[i].spec.req;
    const char *file = getenv("SLURM_HOSTFILE");
    size_t len;
    if (!r->distribution || !text_starts(r->distribution, "arbitrary"))
        return true;
    if (text_empty(file)) {
        l->step[i].create.task_nodes = r->nodelist;
        return r->nodelist ||
               err_set(
                   e, ERR_INVALID,
                   "--distribution=arbitrary needs --nodelist or SLURM_HOSTFILE with a node for each task");
    }
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    const char *text = fd >= 0 ? submit_read_fd(fd, LIMIT_TEXT_BYTES, l->line.a, &len, e) : NULL;
    if (fd >= 0)
        close(fd);
    if (!text)
        return err_set(e, ERR_NOT_FOUND, "Unable to read SLURM_HOSTFILE %s", file);
    struct str list = STR_INIT;
    for (const char *at = text; *at;) {
        at += strspn(at, " \t\r\n,");
        size_t word = strcspn(at, " \t\r\n,");
        if (word)
            str_addf(&list, "%s%.*s", list.len ? "," : "", (int)word, at);
        at += word;
    }
    l->step[i].create.task_nodes = arena_strdup(l->line.a, str_text(&list));
    str_done(&list);
    return true;
}

static bool steps_take(struct launch *l, struct err *e)
{
    struct job_spec *specs = arena_alloc(l->line.a, l->run.nsteps * sizeof *specs);
    for (size_t i = 0; i < l->run.nsteps; i++) {
        if (!program_take(l, i, &l->step[i], e) || !arbitrary_take(l, i, e) || !env_take(l, i, e))
            return false;
        step_take(l, i);
        specs[i] = l->line.comp[i].spec;
        /* In a job of its own --exclusive was about the job's nodes; only in an allocation does it mean --exact. */
        if (!l->line.comp[i].launch.job_id)
            specs[i].req.exclusive = EXCLUSIVE_UNSET;
        l->step[i].create.spec.v = &specs[i];
        l->step[i].create.spec.n = 1;
        if (!submit_spec_check(&specs[i], e))
            return false;
    }
    return true;
}

/* What the site says where the command line does not. */
static void settings_take(struct launch *l)
{
    const struct submit_options *o = &l->line.comp[0];
    struct config conf;
    struct err e = {0};
    if (!cluster_conf_read(l->al.state_dir, &conf, &e))
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
    config_done(&conf);
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
    r->disable_status = o->launch.disable_status;
    r->quit_on_interrupt = o->launch.quit_on_interrupt;
    r->kill_on_bad_exit = o->launch.kill_on_bad_exit == YES;
    r->no_kill = o->spec.no_kill;
    r->wait_us = o->launch.wait_us;
    l->prolog = o->launch.prolog;
    l->epilog = o->launch.epilog;
    settings_take(l);
}

/* ---- programs here, before and after ---- */

static void program_run(const struct launch *l, const char *program)
{
    int status;
    if (text_empty(program) || text_is(program, "none"))
        return;
    pid_t pid = fork();
    if (pid == 0) {
        command_signals_restore();
        execlp(program, program, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && status != 0)
        program_error(NAME, "%s ended with status %d", program,
                      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    (void)l;
}

static void step_created(void *ctx, size_t i, const struct step *step)
{
    struct launch *l = ctx;
    struct srun_streams *streams = &l->streams[l->step[i].output ? i : 0];
    if (i == 0 || l->step[i].output)
        streams_open_late(streams, step);
    if (i > 0)
        return;
    l->run.in_fd = streams->in.fd;
    l->run.output = streams->files;
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)step->step_id);
    setenv("SLURM_STEP_ID", id, 1);
    setenv("SLURM_STEPID", id, 1);
    program_run(l, l->prolog);
    if (l->run.pty)
        terminal_raw();
}

/* ---- the job ---- */

static void jobs_bind(struct launch *l)
{
    for (size_t i = 0; i < l->run.nsteps; i++)
        l->step[i].create.job_id = l->al.job[i < l->al.njobs ? i : l->al.njobs - 1].id;
}

/* What the environment says of the tasks is about the first component; the others have their own, as the job was laid out. */
static void group_spec(struct launch *l, struct step_ask *s, size_t component)
{
    const struct submit_options *o = &l->line.comp[component < l->line.ncomp ? component : 0];
    struct job_spec *spec = arena_dup(l->line.a, s->create.spec.v, sizeof *spec);
    const struct {
        const char *option;
        int32_t *number;
    } of_env[] = {{"ntasks", &spec->req.ntasks},
                  {"nodes", &spec->req.min_nodes},
                  {"nodes", &spec->req.max_nodes},
                  {"ntasks-per-node", &spec->req.ntasks_per_node},
                  {"cpus-per-task", &spec->req.cpus_per_task}};
    for (size_t i = 0; i < sizeof of_env / sizeof of_env[0]; i++)
        if (option_source_of(o, of_env[i].option, CMD_SRUN) == FROM_ENVIRONMENT)
            *of_env[i].number = 0;
    s->create.spec.v = spec;
}

/* --het-group=0,2-3: these components, each with the program; without it the first (":" components: one after another). */
static bool groups_bind(struct launch *l, struct err *e)
{
    const char *asked = l->line.comp[0].launch.het_group;
    struct idset set = IDSET_INIT;
    uint32_t id;
    size_t k = 0;
    if (text_empty(asked)) {
        if (l->run.nsteps > l->al.njobs)
            return err_set(e, ERR_INVALID, "the job has %zu component%s; %zu were given", l->al.njobs,
                           l->al.njobs == 1 ? "" : "s", l->run.nsteps);
        jobs_bind(l);
        return true;
    }
    if (!idset_parse(&set, asked, COMPONENTS_MAX - 1, e))
        return err_prefix(e, "--het-group");
    struct step_ask *first = l->step;
    l->step = arena_alloc(l->line.a, set.count * sizeof *l->step);
    for (bool more = idset_first(&set, &id); more; more = idset_next(&set, id, &id), k++) {
        if (id >= l->al.njobs) {
            idset_done(&set);
            return err_set(e, ERR_INVALID, "--het-group=%s: the job's components are 0 to %zu", asked,
                           l->al.njobs - 1);
        }
        l->step[k] = first[k < l->run.nsteps ? k : 0];
        l->step[k].create.job_id = l->al.job[id].id;
        group_spec(l, &l->step[k], k);
    }
    l->run.nsteps = k;
    l->run.step = l->step;
    idset_done(&set);
    return true;
}

/* ---- --bcast ---- */

/* Where the program goes: as asked, in the directory asked, or into the work directory under a name of the job's. */
static const char *bcast_path(const struct launch *l)
{
    const char *asked = l->line.comp[0].launch.bcast;
    const char *name = arena_printf(l->line.a, "slurm_bcast_%llu_%ld",
                                    (unsigned long long)l->step[0].create.job_id, (long)getpid());
    size_t len = strlen(asked);
    if (len && asked[len - 1] != '/')
        return asked;
    return len ? arena_printf(l->line.a, "%s%s", asked, name)
               : arena_printf(l->line.a, "%s/%s", l->line.comp[0].spec.work_dir, name);
}

static const char *program_path(const struct launch *l, const char *word)
{
    struct span rest = span_of(getenv("PATH")), dir;
    while (!strchr(word, '/') && span_next(&rest, ':', &dir)) {
        const char *path = arena_printf(l->line.a, "%.*s/%s", (int)dir.len, dir.len ? dir.data : ".", word);
        if (dir.len && access(path, X_OK) == 0)
            return path;
    }
    return word;
}

/* Copies the program to each node of the step and runs that copy. */
static bool bcast(struct launch *l)
{
    const struct step_ask *s = &l->step[0];
    const struct job *j = &l->al.job[0];
    int from, to;
    if (!l->line.comp[0].launch.bcast || !program_words(l, 0, &from, &to))
        return true;
    const char *path = bcast_path(l);
    struct bcast_ask ask = {
        .from = program_path(l, l->line.argv[from]), .to = path, .force = true, .quiet = true};
    struct job_spec spec = {.name = "sbcast", .req = {.ntasks_per_node = 1}};
    spec.req.min_nodes = spec.req.max_nodes = spec.req.ntasks = j->alloc_nodes > 0 ? j->alloc_nodes : 1;
    struct step_ask copy = {
        .create = {.job_id = s->create.job_id, .overlap = true, .spec = {&spec, 1}},
        .tasks = {.env = s->tasks.env, .work_dir = s->tasks.work_dir, .umask_plus1 = s->tasks.umask_plus1}};
    if (bcast_run(&l->al, &copy, &ask) != 0)
        return false;
    for (size_t i = 0; i < l->run.nsteps; i++) {
        struct step_ask *own = &l->step[i];
        size_t first = own->tasks.args.len ? strlen(own->tasks.args.data) + 1 : 0;
        struct str words = STR_INIT;
        str_addn(&words, path, strlen(path) + 1);
        str_addn(&words, (const char *)own->tasks.args.data + first, own->tasks.args.len - first);
        own->tasks.args = (struct blob){arena_dup(l->line.a, words.data, words.len), words.len};
        str_done(&words);
    }
    return true;
}

static int test_only(struct launch *l, const struct msg_submit *m)
{
    struct message answer;
    struct err e = {0};
    struct client *c = program_connect(NAME, l->al.state_dir);
    int status = 0;
    if (!c)
        return submit_exit_error();
    if (!client_call(c, MSG_SUBMIT, m, 0, l->line.a, &answer, &e)) {
        status = submit_fail(&l->line, &e);
    } else if (answer.kind == MSG_SUBMITTED) {
        submit_test_print(&l->line, answer.body);
    } else if (answer.kind == MSG_DONE) {
        const struct msg_done *done = answer.body;
        program_error(NAME, "allocation failure: %s", refusal_text((enum refusal)done->refusal));
        if (!text_empty(done->detail))
            program_error(NAME, "%s", done->detail);
        status = submit_exit_error();
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
    jobs_bind(l);
    status = bcast(l) ? step_run(&l->al, &l->run) : submit_exit_error();
    allocation_finish(&l->al, status > 128 ? status - 128 : status_of_code(status));
    return status;
}

static int in_job(struct launch *l)
{
    const struct submit_options *o = &l->line.comp[0];
    struct err e = {0};
    if (o->test_only) /* Slurm checks the line and starts nothing */
        return 0;
    l->al.client = program_connect(NAME, l->al.state_dir);
    if (!l->al.client)
        return submit_exit_error();
    if (!allocation_find(&l->al, o->launch.job_id, &e) || !groups_bind(l, &e)) {
        program_error(NAME, "Unable to confirm allocation for job %llu: %s",
                      (unsigned long long)o->launch.job_id, e.text);
        return submit_exit_error();
    }
    for (size_t i = 0; i < l->run.nsteps; i++)
        l->step[i].create.immediate = o->immediate;
    l->al.job_id = 0; /* not held by us */
    int status = bcast(l) ? step_run(&l->al, &l->run) : submit_exit_error();
    allocation_finish(&l->al, 0);
    return status;
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
    run_take(l);
    if (!submit_cluster_check(&l->line, &e) || !steps_take(l, &e) || !streams_take(l, &e) ||
        !submit_become(o->uid, o->gid, &e))
        return submit_fail(&l->line, &e);
    l->al.signal_fd = command_signals_open();
    int status = o->launch.job_id ? in_job(l) : in_new_job(l);
    program_run(l, l->epilog);
    return status;
}

static bool mpi_list(const struct submit_options *o)
{
    if (!text_is(o->launch.mpi, "list"))
        return false;
    puts("MPI plugin types are...\n\tnone");
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
    if (!submit_split(&l.line, first, &e)) {
        status = submit_fail(&l.line, &e);
        fprintf(stderr, "Try \"" NAME " --help\" for more information\n");
    } else if (!submit_information(&l.line, first) && !mpi_list(first)) {
        status = launch_run(&l);
    }
    submit_command_done(&l.line);
    arena_free(a);
    return status;
}
