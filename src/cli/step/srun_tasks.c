#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"
#include "cli/step/srun_parts.h"
#include "cli/step/terminal.h"
#include "cli/submit/check.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "cli/submit/script.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

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
bool srun_program_words(const struct launch *l, size_t i, int *ret_from, int *ret_to)
{
    for (; i < l->line.nwords; i++) {
        *ret_from = l->line.words[i].to;
        *ret_to = l->line.words[i].end;
        if (*ret_from < *ret_to)
            return true;
    }
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool program_take(struct launch *l, size_t i, struct step_ask *s, struct err *e)
{
    ASSERT(i < l->line.ncomp);
    struct submit_options *o = &l->line.comp[i];
    int from, to;
    if (!srun_program_words(l, i, &from, &to)) {
        err_set(e, ERR_INVALID, "give the program and its arguments behind the options");
        return err_lead(e, "fatal: No command given to execute.");
    }
    /* In a job, SLURM_JOB_NAME is the job's name, not the step's. */
    bool of_job = o->launch.job_id && option_source_of(o, "job-name", CMD_SRUN) == FROM_ENVIRONMENT;
    if (!o->spec.name || of_job)
        o->spec.name = base_name(l->line.argv[from]);
    o->spec.command = arena_strdup(l->line.a, l->line.argv[from]);
    if (o->launch.multi_prog && !srun_multi_prog_read(l, i, l->line.argv[from], e))
        return false;
    /* In addition to what the file says. */
    s->tasks.args = words_blob(l, from + o->launch.multi_prog, to);
    return srun_container_take(l, i, s, e);
}

/* "NAME=value"; inside a job the value that the job has already. */
static const char *of_submission(const struct launch *l, const struct submit_options *o,
                                 const char *name, const char *value)
{
    const char *has = o->launch.job_id ? getenv(name) : NULL;
    return arena_printf(l->line.a, "%s=%s", name, has ? has : value);
}

/* Of tasks in a job it is what -J says, else what srun has itself; else the node has the job's. */
static const char *job_name_of(const struct launch *l, const struct submit_options *o)
{
    bool said = option_source_of(o, "job-name", CMD_SRUN) > FROM_ENVIRONMENT;
    const char *name = !o->launch.job_id || said ? o->spec.name : getenv("SLURM_JOB_NAME");
    return name ? arena_printf(l->line.a, "SLURM_JOB_NAME=%s", name) : NULL;
}

/* Root's command for somebody else, who may read what his tasks have in their environment: it
 * became the user, or the job that was found is his. */
static bool is_for_other(const struct launch *l)
{
    return l->line.by_root &&
           (geteuid() != 0 || (l->al.njobs && submit_root_for_other(l->al.job[0].user_id)));
}

static bool env_take(struct launch *l, size_t i, struct err *e)
{
    ASSERT(i < l->line.ncomp);
    const struct submit_options *o = &l->line.comp[i];
    struct str env = STR_INIT;
    const char *extra[5 + SUBMIT_ENV_OPTIONS + 1] = {
        of_submission(l, o, "SLURM_SUBMIT_DIR", l->line.cwd),
        of_submission(l, o, "SLURM_SUBMIT_HOST", o->spec.alloc_host),
        arena_printf(l->line.a, "SLURM_UMASK=%04o", (unsigned)o->spec.umask_plus1 - 1),
        arena_printf(l->line.a, "SLURM_PRIO_PROCESS=%d", submit_nice()),
    };
    size_t n = 4;
    if (job_name_of(l, o))
        extra[n++] = job_name_of(l, o);
    submit_env_options(o, CMD_SRUN, l->line.a, extra + n);
    /* Like any variable of srun's own: --export decides of it. */
    setenv("SRUN_DEBUG", arena_printf(l->line.a, "%d", 3 + o->verbose - o->quiet), 1);
    struct env_ask ask = {.environ = environ,
                          .export_env = o->spec.export_env,
                          .keep_job = o->launch.job_id != 0,
                          .few = is_for_other(l),
                          .extra = extra};
    bool ok = submit_env_capture(&ask, &env, e);
    if (ok)
        l->step[i].tasks.env =
            (struct blob){arena_dup(l->line.a, str_text(&env), env.len), env.len};
    str_done(&env);
    return ok;
}

bool srun_env_settle(struct launch *l, struct err *e)
{
    bool ok = true;
    for (size_t i = 0; ok && is_for_other(l) && i < l->line.ncomp; i++)
        ok = env_take(l, i, e);
    return ok;
}

static void step_take(struct launch *l, size_t i)
{
    ASSERT(i < l->line.ncomp && i < l->run.nsteps);
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
    t->mpi = text_is(o->launch.mpi, "none") ? NULL : o->launch.mpi;
    t->wait_children = o->launch.wait_children;
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

/* The file's words, joined by commas. */
static char *hostfile_read(struct launch *l, const char *file, struct err *e)
{
    size_t len;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    const char *text = fd >= 0 ? submit_read_fd(fd, LIMIT_TEXT_BYTES, l->line.a, &len, e) : NULL;
    if (fd >= 0)
        close(fd);
    if (!text) {
        err_set(e, ERR_NOT_FOUND, "Unable to read SLURM_HOSTFILE %s", file);
        return NULL;
    }
    if (len > LIMIT_TEXT_BYTES) {
        err_set(e, ERR_LIMIT, "SLURM_HOSTFILE %s: a list of nodes has at most 64 KiB", file);
        return NULL;
    }
    struct str list = STR_INIT;
    for (const char *at = text; *at;) {
        at += strspn(at, " \t\r\n,");
        size_t word = strcspn(at, " \t\r\n,");
        if (word)
            list_addf(&list, "%.*s", (int)word, at);
        at += word;
    }
    char *names = arena_strdup(l->line.a, str_text(&list));
    str_done(&list);
    return names;
}

/* A job for tasks whose nodes are named: room on each for as many as the fullest has. */
static bool arbitrary_job(struct job_request *r, const struct hostlist *names, struct arena *a)
{
    struct hostlist nodes = HOSTLIST_INIT;
    struct str list = STR_INIT;
    int32_t most = 0;
    for (size_t i = 0; i < names->n; i++)
        hostlist_add(&nodes, names->name[i]);
    hostlist_uniq(&nodes);
    hostlist_sort(&nodes);
    for (size_t i = 0; i < nodes.n; i++) {
        int32_t here = 0;
        for (size_t k = 0; k < names->n; k++)
            here += text_is(names->name[k], nodes.name[i]);
        most = here > most ? here : most;
    }
    hostlist_fold(&nodes, &list);
    r->nodelist = arena_strdup(a, str_text(&list));
    r->min_nodes = r->max_nodes = (int32_t)nodes.n;
    r->ntasks_per_node = most;
    r->ntasks = most * (int32_t)nodes.n;
    r->distribution = NULL;
    str_done(&list);
    hostlist_done(&nodes);
    return true;
}

/* -m arbitrary, or SLURM_HOSTFILE where nothing else says how: a node for each task. */
static bool arbitrary_take(struct launch *l, size_t i, struct job_spec *step, struct err *e)
{
    ASSERT(i < l->line.ncomp);
    struct submit_options *o = &l->line.comp[i];
    struct job_request *r = &step->req;
    const char *file = getenv("SLURM_HOSTFILE"), *names = r->nodelist;
    bool asked = r->distribution && text_starts_nocase(r->distribution, "arbitrary");
    struct hostlist list = HOSTLIST_INIT;
    if (!asked && (text_empty(file) || r->nodelist || r->distribution))
        return true;
    if (!text_empty(file) && !(names = hostfile_read(l, file, e)))
        return false;
    if (text_empty(names))
        return err_set(e, ERR_INVALID,
                       "--distribution=arbitrary needs --nodelist or SLURM_HOSTFILE with a node "
                       "for each task");
    if (!hostlist_parse(&list, names, e))
        return false;
    l->step[i].create.task_nodes = names;
    r->distribution = "arbitrary";
    r->nodelist = NULL;
    r->min_nodes = r->max_nodes = r->ntasks_per_node = 0;
    if (option_source_of(o, "ntasks", CMD_SRUN) == FROM_DEFAULT)
        r->ntasks = (int32_t)list.n;
    bool ok = o->launch.job_id || arbitrary_job(&o->spec.req, &list, l->line.a);
    hostlist_done(&list);
    return ok;
}

/* --gres=none: a step without any of its job's GPUs, whatever the environment says the job has. */
static void gres_judge(const struct submit_options *o, struct job_request *r)
{
    enum option_source given = option_source_of(o, "gres", CMD_SRUN);
    if (!o->launch.job_id || given < FROM_ENVIRONMENT || !text_empty(r->gres))
        return;
    const struct {
        const char *option;
        const char **text;
    } others[] = {{"gpus", &r->gpus},
                  {"gpus-per-node", &r->gpus_per_node},
                  {"gpus-per-socket", &r->gpus_per_socket},
                  {"gpus-per-task", &r->gpus_per_task}};
    bool asks = false;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (option_source_of(o, others[i].option, CMD_SRUN) <= given &&
            option_source_of(o, others[i].option, CMD_SRUN) == FROM_ENVIRONMENT)
            *others[i].text = NULL;
        asks |= !text_empty(*others[i].text);
    }
    if (!asks)
        r->gres = "none";
}

/* In an allocation --exclusive means --exact. In a job of its own it is about the job's nodes, and
 * about the step where it was said how many tasks there are: without that all of a node is for the
 * task on it. */
static void exclusive_judge(const struct submit_options *o, struct msg_create_step *create)
{
    bool counted = option_source_of(o, "ntasks", CMD_SRUN) != FROM_DEFAULT ||
                   option_source_of(o, "ntasks-per-node", CMD_SRUN) != FROM_DEFAULT;
    if (o->spec.req.exclusive == EXCLUSIVE_NODE)
        create->exact = counted;
}

bool srun_steps_fill(struct launch *l, struct err *e)
{
    struct job_spec *specs = arena_alloc(l->line.a, l->run.nsteps * sizeof *specs);
    for (size_t i = 0; i < l->run.nsteps; i++) {
        if (!program_take(l, i, &l->step[i], e) || !env_take(l, i, e))
            return false;
        step_take(l, i);
        specs[i] = l->line.comp[i].spec;
        if (!arbitrary_take(l, i, &specs[i], e))
            return false;
        gres_judge(&l->line.comp[i], &specs[i].req);
        if (!l->line.comp[i].launch.job_id) {
            exclusive_judge(&l->line.comp[i], &l->step[i].create);
            specs[i].req.exclusive = EXCLUSIVE_UNSET;
            /* Nor was this about anything but which nodes the job gets. */
            specs[i].req.constraint = NULL;
        }
        l->step[i].create.spec.v = &specs[i];
        l->step[i].create.spec.n = 1;
        l->step[i].create.command_pid = (uint32_t)getpid();
        l->step[i].create.cpu_freq = l->line.comp[i].cpu_freq;
        if (!submit_spec_check(&specs[i], e))
            return false;
    }
    return true;
}
