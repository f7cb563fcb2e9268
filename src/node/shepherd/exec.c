/* From a fork to the job's script: in the step's own process.
 *
 * As root first what needs it (control groups, CPUs, limits), then the owner's identity, and only
 * then anything that touches the owner's files: a job must not be able to use the shepherd to open
 * what its owner cannot. Output files are always opened for appending (after truncating, unless
 * asked not to), so that lines from the shepherd and from several processes never overwrite each
 * other. */
#include "base/alloc.h"
#include "model/settings/key.h"
#include "node/shepherd/setup.h"
#include "node/shepherd/tasks/programs.h"
#include "node/step/dir.h"
#include "node/step/login_shell.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOGIN_ENV_WAIT_MS   20000
#define LOGIN_ENV_MAX_BYTES (4u << 20)
#define LOGIN_ENV_MARK      "remuda-environment-begins"
#define LOGIN_ENV_END       "remuda-environment-ends"
#define LOGIN_ENV_SHOW                                                                             \
    ("printf '\\0%s\\0' " LOGIN_ENV_MARK "; env -0; printf '%s\\0' " LOGIN_ENV_END)

/* Output first, so that what is wrong with the input can be said there. */
static void files_open(struct setup *s)
{
    const struct step_plan *p = s->plan;
    bool out_goes_on = p->append == APPEND_BOTH || p->append == APPEND_OUTPUT;
    bool err_goes_on = p->append == APPEND_BOTH || p->append == APPEND_ERROR;
    file_place_check(s, "output", p->std_out);
    file_place_check(s, "error", p->std_err);
    file_place_check(s, "input", p->std_in);
    int out = output_open(p->std_out, out_goes_on ? 0 : O_TRUNC);
    if (out < 0)
        setup_fail(s, "cannot open the output file %s: %s", p->std_out, strerror(errno));
    move_to(out, STDOUT_FILENO);
    if (p->std_err && strcmp(p->std_err, p->std_out) != 0) {
        int err = output_open(p->std_err, err_goes_on ? 0 : O_TRUNC);
        if (err < 0)
            setup_fail(s, "cannot open the error file %s: %s", p->std_err, strerror(errno));
        move_to(err, STDERR_FILENO);
    } else {
        dup2(STDOUT_FILENO, STDERR_FILENO);
    }
    s->has_output = true;
    output_opened(s);
    int in = open(p->std_in ? p->std_in : "/dev/null", O_RDONLY | O_NOCTTY);
    if (in < 0)
        setup_fail(s, "cannot open the input file %s: %s", p->std_in, strerror(errno));
    move_to(in, STDIN_FILENO);
}

/* ---- environment ---- */

/* Runs the login shell and reads the environment it ends up with; what its start-up files print
 * before the mark is dropped, and what they leave running may keep the pipe open. */
static pid_t login_shell_start(const struct step_plan *p, char *const env[], int *ret_fd)
{
    int pipes[2];
    struct shortage shortage = {0};
    if (!shortage_pipe(&shortage, pipes))
        return -1;
    pid_t pid = shortage_fork(&shortage);
    if (pid == 0) {
        const char *shell = p->shell ? p->shell : "/bin/sh";
        char *const argv[] = {(char *)shell, "-l", "-c", LOGIN_ENV_SHOW, NULL};
        dup2(pipes[1], STDOUT_FILENO);
        move_to(open("/dev/null", O_RDWR), STDERR_FILENO);
        program_execute(shell, argv, env);
        _exit(127);
    }
    close(pipes[1]);
    *ret_fd = pipes[0];
    if (pid < 0)
        close(pipes[0]);
    return pid;
}

/* The variables between the marks, once the second has come; `from`: bytes that were looked at. */
static struct span login_env_between(const struct str *all, size_t from)
{
    static const char begin[] = "\0" LOGIN_ENV_MARK, end[] = "\0" LOGIN_ENV_END;
    from = from > sizeof end ? from - sizeof end : 0;
    const char *to = memmem(all->data + from, all->len - from, end, sizeof end);
    const char *at =
        to ? memmem(all->data, (size_t)(to - all->data) + 1, begin, sizeof begin) : NULL;
    return at ? (struct span){at + sizeof begin, (size_t)(to + 1 - at) - sizeof begin}
              : (struct span){NULL, 0};
}

static bool login_env_read(int fd, struct str *all, struct span *ret)
{
    char piece[8192];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t n;
    while (all->len < LOGIN_ENV_MAX_BYTES && poll(&ready, 1, LOGIN_ENV_WAIT_MS) == 1 &&
           (n = read(fd, piece, sizeof piece)) > 0) {
        size_t from = all->len;
        str_addn(all, piece, (size_t)n);
        *ret = login_env_between(all, from);
        if (ret->data)
            return true;
    }
    return false;
}

static bool login_env(const struct step_plan *p, char *const env[], struct str *ret)
{
    struct str all = STR_INIT;
    struct span found;
    int fd, status;
    pid_t pid = login_shell_start(p, env, &fd);
    if (pid < 0)
        return false;
    bool ok = login_env_read(fd, &all, &found);
    close(fd);
    if (!ok)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    if (ok)
        str_addn(ret, found.data, found.len);
    str_done(&all);
    return ok;
}

/* The login environment fills in what the job does not set itself. PATH is the login shell's, with
 * the commands of this cluster before it. */
static void env_fill(struct env *e, const struct step_plan *p, const struct str *login)
{
    size_t nlogin, mine = e->n;
    char **more = plan_texts((struct plan_bytes){login->data, login->len}, 0, &nlogin);
    for (size_t i = 0; i < nlogin; i++) {
        if (strncmp(more[i], "PATH=", 5) == 0)
            path_add(e, p->bin_dir, more[i] + 5);
        else if (strchr(more[i], '=') && !env_has(e->v, mine, more[i]))
            e->v[e->n++] = more[i];
    }
    free(more);
}

static struct env env_make(struct setup *s)
{
    const struct step_plan *p = s->plan;
    struct str login = STR_INIT; /* lives on in the environment */
    struct env e;
    char pid[24];
    e.v = plan_texts(p->env, 4, &e.n);
    if (p->login_env && login_env(p, e.v, &login)) {
        /* An assignment has two bytes at least. */
        e.v = xrealloc(e.v, (e.n + login.len / 2 + 5) * sizeof *e.v);
        env_drop(&e, "PATH=");
        env_fill(&e, p, &login);
    } else if (p->login_env) {
        remark(s, "the login environment of %s could not be read; going on without it",
               p->user ? p->user : "the owner");
    }
    tmpdir_ensure(s, &e);
    if (p->bin_dir && login_shell_script(p->script.data, p->script.len))
        login_path_set(&e, s->herd->node_dir);
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    env_add(&e, "SLURM_TASK_PID", pid);
    e.v[e.n] = NULL;
    return e;
}

/* ---- the script ---- */

/* The program of its first line, which is not there; the job ends with errno, as in Slurm. */
static void interpreter_remark(struct setup *s)
{
    const char *text = s->plan->script.data;
    size_t len = s->plan->script.len, from = 2;
    while (from < len && (text[from] == ' ' || text[from] == '\t'))
        from++;
    size_t to = from;
    while (to < len && text[to] != '\n')
        to++;
    remark(s, "execve(): bad interpreter(%.*s): %s", (int)(to - from), text + from,
           strerror(ENOENT));
}

static _Noreturn void script_exec(struct setup *s, char **env)
{
    const struct step_plan *p = s->plan;
    struct str path = STR_INIT;
    size_t n;
    str_addf(&path, "%s/steps/%s/slurm_script", s->herd->node_dir, p->dir_name);
    char **args = plan_texts(p->args, 1, &n);
    memmove(args + 1, args, (n + 1) * sizeof *args);
    args[0] = path.data;
    remarks_write(s);
    program_execute(path.data, args, env);
    int why = errno;
    if (why == ENOENT && s->plan->script.len > 2)
        interpreter_remark(s);
    else
        remark(s, "execve(): %s: %s", path.data, strerror(why));
    remarks_write(s);
    _exit(why);
}

_Noreturn void step_exec(const struct herd *h, const struct step_plan *p, int groups_why,
                         int failure_fd)
{
    struct setup s = {.herd = h, .plan = p, .failure_fd = failure_fd};
    setsid();
    groups_check(&s, groups_why);
    if (p->cpus)
        affinity_set(p->cpus);
    if (p->nice && nice((int)p->nice) == -1)
        remark(&s, "cannot set the nice value %lld", (long long)p->nice);
    owner_become(&s, p->rlimits, NULL, 0);
    if (p->umask_plus1)
        umask((mode_t)(p->umask_plus1 - 1));
    work_dir_enter(&s, p->work_dir);
    files_open(&s);
    struct env env = env_make(&s);
    signals_unblock();
    task_prolog_run(&s, &env, SETTING_KEY(TaskProlog), p->task_prolog);
    task_epilog_follow(&s, &env, "slurm", p->task_epilog);
    script_exec(&s, env.v);
}

static _Noreturn void text_write(const struct step_plan *p, const char *path, const char *line)
{
    if (!identity_become(p, NULL, 0) ||
        (chdir(p->work_dir ? p->work_dir : "/") != 0 && path[0] != '/'))
        _exit(1);
    int fd = output_open(path, O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : write(fd, line, strlen(line));
    _exit(n < 0);
}

static void file_append(const struct step_plan *p, const char *path, const char *text)
{
    pid_t pid = fork();
    if (pid == 0)
        text_write(p, path, text);
    for (int waited_ms = 0; pid > 0 && waitpid(pid, NULL, WNOHANG) == 0 && waited_ms < 2000;
         waited_ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

void step_error_line(const struct step_plan *p, const char *line)
{
    file_append(p, p->std_err ? p->std_err : p->std_out, line);
}

void step_output_text(const struct step_plan *p, const char *text)
{
    file_append(p, p->std_out, text);
}
