/* salloc: an allocation, and in it a shell or a command on this machine; when that ends the
 * allocation is given back. */
#include "cli/submit/salloc.h"
#include "base/alloc.h"
#include "base/plain.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/command_signals.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/submit/allocation.h"
#include "cli/submit/check.h"
#include "cli/submit/command.h"
#include "cli/submit/env.h"
#include "cli/submit/host.h"
#include "cli/table/listing.h"
#include "io/users.h"
#include "model/env/job_env.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "salloc"

struct salloc_session {
    struct submit_command line;
    struct allocation al;
    pid_t child;
    int wait_status;
    bool ended, said_over;
};

static void say(const struct salloc_session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct salloc_session *s, const char *format, ...)
{
    va_list args;
    if (s->al.quiet)
        return;
    va_start(args, format);
    allocation_line_say(s->al.name, "\n", format, args);
    va_end(args);
}

/* ---- the environment of the command ---- */

static void env_apply(const struct str *assignments)
{
    struct str name = STR_INIT;
    struct span rest = {assignments->data, assignments->len};
    for (const char *at; text_next(&rest, &at);) {
        size_t len = strcspn(at, "=");
        str_clear(&name);
        str_addn(&name, at, len);
        setenv(str_text(&name), at + len + 1, 1);
    }
    str_done(&name);
}

/* `site` is NULL where the cluster's configuration cannot be read. */
static void env_set(const struct salloc_session *s, const struct settings *site)
{
    struct alloc alloc = {0};
    struct str out = STR_INIT;
    const char *own[SUBMIT_ENV_OPTIONS + 1];
    if (s->al.job[0].alloc)
        alloc_parse(s->al.job[0].alloc, s->line.a, &alloc, NULL);
    struct job_env leader = {.job = &s->al.job[0],
                             .alloc = &alloc,
                             .node = alloc.n ? alloc.node[0].node : "",
                             .cluster_name = site ? site->cluster_name : NULL,
                             .state_dir = s->al.state_dir};
    if (s->al.njobs > 1)
        job_env_leader(&leader, &out);
    else
        job_env_allocation(&leader, &out);
    job_env_components(&leader, s->al.job, s->al.njobs, s->line.a, &out);
    size_t n = submit_env_options(&s->line.comp[0], CMD_SALLOC, s->line.a, own);
    for (size_t i = 0; i < n; i++)
        str_addn(&out, own[i], strlen(own[i]) + 1);
    env_apply(&out);
    str_done(&out);
    if (s->line.comp[0].acctg_freq)
        setenv("SLURM_ACCTG_FREQ", s->line.comp[0].acctg_freq, 1);
    if (s->line.comp[0].cpu_freq)
        setenv("SLURM_CPU_FREQ_REQ", s->line.comp[0].cpu_freq, 1);
    setenv("SLURM_SUBMIT_DIR", s->line.cwd, 1);
    setenv("SLURM_SUBMIT_HOST", submit_hostname(s->line.a), 1);
}

/* ---- the command ---- */

static const char *shell_of_user(void)
{
    const struct passwd *p = user_by_uid(getuid());
    const char *shell = getenv("SHELL");
    return shell && *shell ? shell : p && p->pw_shell && *p->pw_shell ? p->pw_shell : "/bin/sh";
}

/* LaunchParameters=use_interactive_step: the shell is a step on the first node, which takes nothing
 * of the allocation. The words are the site's, parted by blanks; $SHELL is the user's. */
static char *const *interactive_words(const struct salloc_session *s, const char *options)
{
    struct span rest = span_of(options), word;
    char **argv = arena_alloc(s->line.a, (strlen(options) + 4) * sizeof *argv);
    size_t n = 0;
    argv[n++] = "srun";
    while (span_next(&rest, ' ', &word))
        if (word.len)
            argv[n++] = span_is(word, "$SHELL") ? (char *)shell_of_user()
                                                : arena_strndup(s->line.a, word.data, word.len);
    argv[n] = NULL;
    return argv;
}

static char *const *command_words(const struct salloc_session *s, const struct settings *site)
{
    if (s->line.rest_at < s->line.argc)
        return s->line.argv + s->line.rest_at;
    char **own = arena_alloc(s->line.a, 2 * sizeof *own);
    own[0] = (char *)shell_of_user();
    own[1] = NULL;
    return site && site->word.use_interactive_step
               ? interactive_words(s, site->interactive_step_options)
               : own;
}

static _Noreturn void command_exec(char *const *argv)
{
    command_signals_restore();
    execvp(argv[0], argv);
    if (errno == ENOENT)
        program_error(NAME, "_fork_command: Unable to find command \"%s\"", argv[0]);
    else
        program_error(NAME, "_fork_command: Unable to exec command \"%s\", %s", argv[0],
                      strerror(errno));
    _exit(submit_exit_error());
}

static void child_look(struct salloc_session *s)
{
    int status;
    if (waitpid(s->child, &status, WNOHANG | WUNTRACED) != s->child)
        return;
    if (WIFSTOPPED(status)) {
        raise(SIGSTOP);
        kill(s->child, SIGCONT);
        return;
    }
    s->ended = true;
    s->wait_status = status;
}

static void signal_take(struct salloc_session *s, int signo)
{
    switch (signo) {
    case SIGCHLD: child_look(s); break;
    case SIGTERM:
    case SIGHUP: kill(s->child, signo); break;
    case SIGUSR1:
    case SIGUSR2: kill(s->child, signo); break;
    default: break; /* keys of the terminal reach the command itself */
    }
}

static void over_check(struct salloc_session *s)
{
    int signo = s->line.comp[0].launch.kill_command;
    if (!s->al.over || s->said_over)
        return;
    s->said_over = true;
    say(s, "Job allocation %llu has been revoked.", (unsigned long long)s->al.job_id);
    if (signo && s->child > 0 && !s->ended)
        kill(s->child, signo);
}

/* Also where it is to be quiet: it is about what happens to the job. */
static void notice_print(const struct salloc_session *s, const struct msg_stream_notice *m)
{
    struct str text = STR_INIT;
    str_add_plain(&text, m->text);
    fprintf(stderr, "%s: %s\n", s->al.name, str_text(&text));
    str_done(&text);
}

static void controller_read(struct salloc_session *s)
{
    struct message m;
    struct err e = {0};
    enum client_got got = CLIENT_NOTHING;
    while (s->al.client && (got = client_take(s->al.client, s->line.a, &m, &e)) == CLIENT_MESSAGE)
        if (!allocation_hear(&s->al, &m) && m.kind == MSG_STREAM_NOTICE)
            notice_print(s, m.body);
    if (got == CLIENT_LOST)
        allocation_lost(&s->al);
}

static void command_wait(struct salloc_session *s)
{
    bool again;
    while (!s->ended) {
        allocation_connected(&s->al, &again);
        struct pollfd v[2] = {
            {.fd = s->al.signal_fd, .events = POLLIN},
            {.fd = s->al.client ? client_fd(s->al.client) : -1, .events = POLLIN}};
        poll(v, 2, s->al.client ? -1 : 500);
        for (int signo; (signo = command_signal_next(s->al.signal_fd).signo) != 0;)
            signal_take(s, signo);
        if (v[1].revents)
            controller_read(s);
        over_check(s);
    }
}

static int command_run(struct salloc_session *s)
{
    struct config conf;
    struct err e = {0};
    bool known = cluster_settings_read(s->al.state_dir, NULL, &conf, &e);
    env_set(s, known ? &conf.settings : NULL);
    char *const *argv = command_words(s, known ? &conf.settings : NULL);
    if (known)
        config_done(&conf);
    fflush(NULL);
    s->child = fork();
    if (s->child == 0)
        command_exec(argv);
    if (s->child < 0) {
        program_error(NAME, "cannot start the command: %s", strerror(errno));
        return submit_exit_error();
    }
    command_wait(s);
    return WIFSIGNALED(s->wait_status) ? 128 + WTERMSIG(s->wait_status)
                                       : WEXITSTATUS(s->wait_status);
}

/* ---- the whole ---- */

static void granted(const struct salloc_session *s)
{
    const struct submit_options *o = &s->line.comp[0];
    say(s, "Granted job allocation %llu", (unsigned long long)s->al.job_id);
    if (o->launch.bell && isatty(STDOUT_FILENO))
        fputc('\a', stdout);
    fflush(stdout);
}

static int allocated(struct salloc_session *s)
{
    const struct submit_options *o = &s->line.comp[0];
    granted(s);
    if (o->launch.no_shell) {
        s->al.ours = false;
        allocation_finish(&s->al, 0);
        return ferror(stderr) ? submit_exit_error() : 0; /* nobody knows the number */
    }
    int status = command_run(s);
    if (!s->al.over)
        say(s, "Relinquishing job allocation %llu", (unsigned long long)s->al.job_id);
    allocation_finish(&s->al, status > 128 ? status - 128 : status_of_code(status));
    return status;
}

static bool specs_make(struct salloc_session *s, struct job_spec *specs, struct err *e)
{
    char *const *command =
        s->line.argv + (s->line.rest_at < s->line.argc ? s->line.rest_at : s->line.argc);
    for (size_t i = 0; i < s->line.ncomp; i++) {
        struct submit_options *o = &s->line.comp[i];
        bool chdir_asked = o->spec.work_dir != NULL;
        submit_spec_complete(&s->line, o);
        if (!o->spec.name)
            o->spec.name = *command
                               ? (strrchr(*command, '/') ? strrchr(*command, '/') + 1 : *command)
                               : "interactive";
        if (*command)
            o->spec.command = submit_joined(s->line.a, *command, command + 1);
        specs[i] = o->spec;
        specs[i].attached = !s->line.comp[0].launch.no_shell;
        if (!chdir_asked)
            o->spec.work_dir = NULL;
        if (!submit_spec_check(&specs[i], e))
            return false;
    }
    return true;
}

/* --chdir is where the command runs: here. */
static bool work_dir_enter(const struct salloc_session *s, struct err *e)
{
    const char *dir = s->line.comp[0].spec.work_dir;
    return !dir || chdir(dir) == 0 ||
           err_set(e, ERR_NOT_FOUND, "chdir(%s): %s", dir, strerror(errno));
}

/* Of a job of LSF or PBS, what no option of salloc says. */
static void specs_mark(const struct salloc_session *s, struct job_spec *specs)
{
    const struct allocation_told *told = s->al.told;
    for (size_t i = 0; told && i < s->line.ncomp; i++) {
        specs[i].dialect = (int32_t)told->dialect;
        specs[i].dialect_site = told->dialect_site;
        specs[i].project = told->project;
        specs[i].job_group = told->job_group;
    }
}

static int session_run(struct salloc_session *s)
{
    struct err e = {0};
    int status;
    s->line.cwd = submit_cwd(s->line.a, &e);
    if (!s->line.cwd || !submit_components(&s->line, &e))
        return submit_fail(&s->line, &e);
    const struct submit_options *o = &s->line.comp[0];
    if (o->launch.no_shell && !o->spec.name && s->line.rest_at >= s->line.argc)
        s->line.comp[0].spec.name = "no-shell";
    s->line.state_dir = s->al.state_dir = state_dir_find(NULL, s->line.a);
    s->al.quiet = o->quiet;
    if (o->verbose)
        submit_verbose_print(&s->line);
    struct job_spec *specs = arena_alloc(s->line.a, s->line.ncomp * sizeof *specs);
    if (!specs_make(s, specs, &e) || !submit_cluster_check(&s->line, &e) ||
        !submit_become(o->uid, o->gid, &e) || !work_dir_enter(s, &e))
        return submit_fail(&s->line, &e);
    specs_mark(s, specs);
    s->al.signal_fd = command_signals_open();
    struct msg_submit m = {.specs = {specs, s->line.ncomp}, .attach = true};
    int64_t timeout = o->immediate ? (o->immediate_us ? o->immediate_us : USEC_PER_SEC) : 0;
    if (!allocation_make(&s->al, &s->line, &m, timeout, &status)) {
        allocation_finish(&s->al, 0);
        return status;
    }
    return allocated(s);
}

int salloc_run(int argc, char **argv, const struct allocation_told *told)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct salloc_session s = {
        .al = {.name = told ? told->name : NAME, .a = a, .signal_fd = -1, .told = told}};
    struct submit_options *first = arena_alloc(a, sizeof *first);
    int status = 0;
    submit_command_init(&s.line, NAME, CMD_SALLOC, argc, argv, a);
    if (!submit_split(&s.line, first, &e))
        status = submit_fail(&s.line, &e);
    else if (!submit_information(&s.line, first))
        status = session_run(&s);
    submit_command_done(&s.line);
    arena_free(a);
    return status;
}

int cmd_salloc(int argc, char **argv)
{
    return salloc_run(argc, argv, NULL);
}
