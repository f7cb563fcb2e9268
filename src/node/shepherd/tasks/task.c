/* One task becomes its program. Order as for a batch script: what needs the shepherd's rights first
 * (groups, CPUs, terminal), then the owner's identity, then everything that touches the owner's
 * files.
 *
 * Its environment is the command's; over it what the node says about the step; over that what is
 * the task's own. Rendezvous variables (MASTER_ADDR, RANK …) that the user exported stay; those
 * that an outer step of ours exported do not (REMUDA_RENDEZVOUS tells them apart). */
#include "node/shepherd/tasks/set.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "model/job/job.h"
#include "model/settings/key.h"
#include "node/shepherd/setup.h"
#include "node/shepherd/step.h"
#include "node/shepherd/tasks/files.h"
#include "node/shepherd/tasks/meet.h"
#include "node/shepherd/tasks/pmix_server.h"
#include "node/shepherd/tasks/programs.h"
#include "node/step/login_shell.h"
#include "node/step/multi_prog.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define STANDARD_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#define OWN_VARIABLES (40 + PMIX_VARIABLES_MAX)

struct task_making {
    struct setup setup;
    const struct task_set *t;
    const struct task *task;
    size_t local_id;
    struct env env;
};

/* Among all tasks of the command: of several components the later ones count on. */
static int32_t number_of(const struct task_making *m)
{
    return m->task->id + m->t->what.first_task;
}

/* ---- streams ---- */

static void output_use(struct task_making *m, const char *pattern, int its_pipe, int to)
{
    const struct task_file *f = &m->task->file[to == STDERR_FILENO];
    bool to_file = pattern && (its_pipe < 0 || f->is_labelled);
    const char *path = to_file ? task_path(m->t, m->task, pattern) : NULL;
    file_place_check(&m->setup, "output", path);
    int fd = f->is_labelled ? task_file_opened(f, its_pipe)
             : path         ? task_file_open_own(f, path, m->t->what.append)
                            : its_pipe;
    if (path && fd < 0)
        setup_fail(&m->setup, "cannot open the output file %s: %s", path, strerror(errno));
    if (fd < 0)
        fd = open("/dev/null", O_WRONLY);
    move_to(fd, to);
}

/* Errors first: what goes wrong with the others is said there. */
static void streams_use(struct task_making *m, const struct task_ends *ends)
{
    const struct msg_stream_tasks *w = &m->t->what;
    const struct task_file *file = m->task->file;
    bool same = file[0].turn && file[0].turn == file[1].turn,
         together = same || (!w->std_err && w->std_out && !w->errors_apart);
    if (!together) {
        output_use(m, w->std_err, ends->err, STDERR_FILENO);
        m->setup.has_output = true;
    }
    output_use(m, w->std_out, ends->out, STDOUT_FILENO);
    if (together)
        dup2(STDOUT_FILENO, STDERR_FILENO);
    m->setup.has_output = true;
    const char *path = w->std_in ? task_path(m->t, m->task, w->std_in) : NULL;
    file_place_check(&m->setup, "input", path);
    int in = path            ? open(path, O_RDONLY | O_NOCTTY)
             : ends->in >= 0 ? ends->in
                             : open("/dev/null", O_RDONLY);
    if (in < 0)
        setup_fail(&m->setup, "cannot open the input file %s: %s", path, strerror(errno));
    move_to(in, STDIN_FILENO);
}

static void terminal_use(struct task_making *m, const char *name)
{
    int fd = open(name, O_RDWR | O_NOCTTY);
    if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0)
        setup_fail(&m->setup, "cannot use the terminal %s: %s", name, strerror(errno));
    if (m->t->plan->switch_user && fchown(fd, (uid_t)m->t->plan->uid, (gid_t)-1) == 0)
        fchmod(fd, 0620);
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
    m->setup.has_output = true;
}

/* ---- environment ---- */

static const char *value_of(const struct env *e, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->v[i], name, len) == 0 && e->v[i][len] == '=')
            return e->v[i] + len + 1;
    return NULL;
}

static void set(struct task_making *m, const char *name, const char *value)
{
    char assignment[128];
    snprintf(assignment, sizeof assignment, "%s=", name);
    env_drop(&m->env, assignment);
    env_add(&m->env, name, value);
}

static void set_i64(struct task_making *m, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    set(m, name, text);
}

static void set_default(struct task_making *m, const char *name, const char *value)
{
    if (value && !value_of(&m->env, name))
        env_add(&m->env, name, value);
}

static const char *const rendezvous_names[] = {"MASTER_ADDR", "MASTER_PORT", "RANK",
                                               "WORLD_SIZE",  "LOCAL_RANK",  "LOCAL_WORLD_SIZE"};

static void rendezvous_set(struct task_making *m, const char *addr, const char *port)
{
    if (!m->t->plan->rendezvous)
        return;
    const struct msg_stream_tasks *w = &m->t->what;
    set(m, "REMUDA_RENDEZVOUS", "1");
    set_default(m, "MASTER_ADDR", w->master_addr ? w->master_addr : addr);
    set_default(m, "MASTER_PORT", w->master_port ? w->master_port : port);
    const int64_t numbers[] = {number_of(m), w->world ? w->world : m->t->plan->world,
                               (int64_t)m->local_id, (int64_t)m->t->n};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)numbers[i]);
        set_default(m, rendezvous_names[2 + i], text);
    }
}

/* HIP numbers what ROCR leaves over from 0 on. */
static void gpus_set(struct task_making *m)
{
    struct str relative = STR_INIT;
    int n = 0;
    if (!m->task->gpus)
        return;
    for (const char *c = m->task->gpus; c; c = strchr(c + 1, ','), n++)
        str_addf(&relative, "%s%d", n ? "," : "", n);
    set(m, "CUDA_VISIBLE_DEVICES", m->task->gpus);
    set(m, "ROCR_VISIBLE_DEVICES", m->task->gpus);
    set(m, "GPU_DEVICE_ORDINAL", m->task->gpus);
    set(m, "ZE_AFFINITY_MASK", m->task->gpus);
    set(m, "HIP_VISIBLE_DEVICES", str_text(&relative));
    str_done(&relative);
}

static void path_set(struct task_making *m)
{
    const char *path = value_of(&m->env, "PATH"), *dir = m->t->plan->bin_dir;
    struct span rest = span_of(path), piece;
    bool has = !dir;
    while (!has && span_next(&rest, ':', &piece))
        has = span_is(piece, dir);
    if (has && path)
        return;
    char *copy = xstrdup(path ? path : STANDARD_PATH);
    env_drop(&m->env, "PATH=");
    path_add(&m->env, dir, copy);
    free(copy);
}

#define NUM_NODES "SLURM_JOB_NUM_NODES="

/* --preserve-env: these are as the command has them; of those that it has not the job's number of
 * nodes alone is set. */
static bool is_preserved(const char *assignment)
{
    static const char *const names[] = {
        NUM_NODES, "SLURM_NNODES=", "SLURM_NTASKS=", "SLURM_NPROCS=", "SLURM_TASKS_PER_NODE="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (text_starts(assignment, names[i]))
            return true;
    return false;
}

/* Whose word stands of a variable that the node would set. */
static bool is_of_command(const struct msg_stream_tasks *w, const char *assignment)
{
    return text_starts(assignment, "SLURM_JOB_NAME=") ||
           (w->preserve_env && is_preserved(assignment));
}

/* The command's variables, without those the node sets. */
static void env_begin(struct task_making *m)
{
    const struct msg_stream_tasks *w = &m->t->what;
    size_t n, nplan;
    char **own = plan_texts((struct plan_bytes){w->env.data, w->env.len}, 0, &n);
    char **plan = plan_texts(m->t->plan->env, 0, &nplan);
    size_t whole = w->whole_env.len / 2; /* an assignment has two bytes at least */
    m->env.v = xcalloc(n + nplan + whole + OWN_VARIABLES, sizeof *m->env.v);
    for (size_t i = 0; i < n; i++)
        if (strchr(own[i], '=') && (!env_has(plan, nplan, own[i]) || is_of_command(w, own[i])))
            m->env.v[m->env.n++] = own[i];
    size_t mine;
    if (value_of(&m->env, "REMUDA_RENDEZVOUS"))
        for (size_t i = 0; i < ARRAY_LEN(rendezvous_names); i++) {
            char assignment[32];
            snprintf(assignment, sizeof assignment, "%s=", rendezvous_names[i]);
            env_drop(&m->env, assignment);
        }
    mine = m->env.n;
    for (size_t i = 0; i < nplan; i++)
        if (!is_of_command(w, plan[i]) ||
            (!is_preserved(plan[i]) && !env_has(m->env.v, mine, plan[i])) ||
            (text_starts(plan[i], NUM_NODES) && !env_has(m->env.v, mine, plan[i])))
            m->env.v[m->env.n++] = plan[i];
    free(own);
    free(plan);
}

/* "2,3" with the tasks of the components before added to each. */
static void gtids_shift(struct task_making *m)
{
    struct span rest = span_of(value_of(&m->env, "SLURM_GTIDS")), word;
    struct str text = STR_INIT;
    while (span_next(&rest, ',', &word))
        list_addf(&text, "%lld", (long long)strtol(word.data, NULL, 10) + m->t->what.first_task);
    set(m, "SLURM_GTIDS", str_text(&text));
    str_done(&text);
}

/* Several components that one srun started are one program to their tasks. */
static void whole_set(struct task_making *m)
{
    const struct msg_stream_tasks *w = &m->t->what;
    const char *node_id = value_of(&m->env, "SLURM_NODEID");
    size_t n;
    if (!w->world)
        return;
    set_i64(m, "SLURM_NODEID", (node_id ? strtol(node_id, NULL, 10) : 0) + w->first_node);
    gtids_shift(m);
    char **whole = plan_texts((struct plan_bytes){w->whole_env.data, w->whole_env.len}, 0, &n);
    for (size_t i = 0; i < n; i++) {
        char *equals = strchr(whole[i], '=');
        if (!equals)
            continue;
        char *name = xstrdup(whole[i]);
        name[equals - whole[i]] = '\0';
        set(m, name, equals + 1);
        free(name);
    }
    free(whole);
}

static void env_finish(struct task_making *m)
{
    const struct step_plan *p = m->t->plan;
    whole_set(m);
    set_i64(m, "SLURM_PROCID", number_of(m));
    set_i64(m, "SLURM_LOCALID", (int64_t)m->local_id);
    set_i64(m, "SLURM_TASK_PID", getpid());
    gpus_set(m);
    rendezvous_set(m, p->master_addr, p->master_port);
    set_default(m, "HOME", p->home);
    set_default(m, "USER", p->user);
    set_default(m, "LOGNAME", p->user);
    set_default(m, "SHELL", p->shell);
    set_default(m, "TMPDIR", "/tmp");
    if (m->t->is_pty || p->pty)
        set(m, "TERM", m->t->what.term ? m->t->what.term : "dumb");
    path_set(m);
    tmpdir_ensure(&m->setup, &m->env);
    m->env.v[m->env.n] = NULL;
}

/* ---- the program ---- */

static char *found_in_path(const struct task_making *m, const char *name)
{
    struct span rest = span_of(value_of(&m->env, "PATH")), dir;
    struct stat st;
    while (!strchr(name, '/') && span_next(&rest, ':', &dir)) {
        struct str path = STR_INIT;
        str_addf(&path, "%.*s/%s", (int)dir.len, dir.len ? dir.data : ".", name);
        if (dir.len && access(path.data, X_OK) == 0 && stat(path.data, &st) == 0 &&
            S_ISREG(st.st_mode))
            return path.data;
        str_done(&path);
    }
    return xstrdup(name);
}

static struct plan_bytes program_of(struct task_making *m)
{
    const struct msg_stream_tasks *w = &m->t->what;
    struct str words = STR_INIT;
    if (!w->multi_prog.len)
        return (struct plan_bytes){w->args.data, w->args.len};
    if (multi_prog_words((struct span){w->multi_prog.data, w->multi_prog.len}, number_of(m),
                         &words)) {
        str_addn(&words, w->args.data, w->args.len); /* what srun's own line added */
        return (struct plan_bytes){words.data, words.len};
    }
    remark(&m->setup, "the file of --multi-prog has no program for task %d", number_of(m));
    remarks_write(&m->setup);
    _exit(1);
}

static bool is_login_shell(const char *path, char *const *argv)
{
    char line[1024];
    if (login_shell_words((const char *const *)argv))
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line);
    if (fd >= 0)
        close(fd);
    return n > 0 && login_shell_script(line, (size_t)n);
}

static _Noreturn void program_exec(struct task_making *m)
{
    size_t n;
    char **argv = plan_texts(program_of(m), 0, &n);
    if (n == 0)
        setup_fail(&m->setup, "no program was given");
    char *path = found_in_path(m, argv[0]);
    if (m->t->plan->bin_dir && is_login_shell(path, argv)) {
        login_path_set(&m->env, m->t->herd->node_dir);
        m->env.v[m->env.n] = NULL;
    }
    remarks_write(&m->setup);
    program_execute(path, argv, m->env.v);
    int why = errno;
    if (why == ENOEXEC) { /* a script without a first line */
        char **shell = xcalloc(n + 2, sizeof *shell);
        shell[0] = (char *)"/bin/sh";
        shell[1] = path;
        memcpy(shell + 2, argv + 1, (n - 1) * sizeof *shell);
        program_execute(shell[0], shell, m->env.v);
    }
    remark(&m->setup, "execve(): %s: %s", argv[0], strerror(why));
    remarks_write(&m->setup);
    _exit(why == ENOENT ? 2 : why == EACCES ? 13 : 1);
}

/* MPOL_BIND to the nodes "0-1"; what the kernel refuses is said. */
static void memory_bind(struct task_making *m)
{
    struct idset set = IDSET_INIT;
    unsigned long mask[16] = {0};
    uint32_t id;
    if (!m->task->mem_nodes || !idset_parse(&set, m->task->mem_nodes, 16 * 64 - 1, NULL))
        return;
    for (bool more = idset_first(&set, &id); more; more = idset_next(&set, id, &id))
        mask[id / 64] |= 1ul << (id % 64);
    idset_done(&set);
    if (syscall(SYS_set_mempolicy, 2, mask, 16 * 64) != 0)
        remark(&m->setup, "--mem-bind has no effect here: %s", strerror(errno));
}

static void bind_report(const struct task_making *m)
{
    const char *cpus = m->task->cpus ? m->task->cpus : m->t->plan->cpus;
    if (m->t->plan->bind_report)
        dprintf(STDERR_FILENO, "cpu-bind=%s - %s, task %2d %2zu [%ld]: CPUs %s set\n",
                m->t->plan->bind_report, m->t->plan->node, m->task->id, m->local_id, (long)getpid(),
                cpus ? cpus : "all");
}

_Noreturn void task_exec(const struct task_set *t, const struct task *task, size_t local_id,
                         const struct task_ends *ends, int groups_why)
{
    const struct step_plan *p = t->plan;
    struct task_making m = {.setup = {.herd = t->herd, .plan = p, .failure_fd = t->failure_fd},
                            .t = t,
                            .task = task,
                            .local_id = local_id};
    setsid();
    groups_check(&m.setup, groups_why);
    if (task->cpus || p->cpus)
        affinity_set(task->cpus ? task->cpus : p->cpus);
    memory_bind(&m);
    if (p->nice && nice((int)p->nice) == -1)
        remark(&m.setup, "cannot set the nice value %lld", (long long)p->nice);
    env_begin(&m);
    if (ends->terminal)
        terminal_use(&m, ends->terminal);
    owner_become(&m.setup, t->what.rlimits,
                 (const int[]){ends->in, ends->out, ends->err, ends->meet,
                               task_file_turn_fd(&task->file[0]),
                               task_file_turn_fd(&task->file[1])},
                 6);
    if (t->what.umask_plus1)
        umask((mode_t)(t->what.umask_plus1 - 1));
    work_dir_enter(&m.setup, t->what.work_dir);
    if (!ends->terminal)
        streams_use(&m, ends);
    env_finish(&m);
    meet_env(t, task, ends->meet, &m.env);
    m.env.v[m.env.n] = NULL;
    signals_unblock();
    bind_report(&m);
    task_prolog_run(&m.setup, &m.env, SETTING_KEY(TaskProlog), p->task_prolog);
    task_prolog_run(&m.setup, &m.env, "--task-prolog", t->what.task_prolog);
    task_epilog_follow(&m.setup, &m.env, "user", t->what.task_epilog);
    task_epilog_follow(&m.setup, &m.env, "slurm", p->task_epilog);
    program_exec(&m);
}
