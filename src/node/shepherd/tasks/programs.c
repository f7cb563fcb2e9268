#include "node/shepherd/tasks/programs.h"

#include "base/alloc.h"
#include "node/shepherd/step.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROLOG_TEXT_BYTES (1u << 20)
#define EPILOG_US         INT64_C(5000000) /* as long as Slurm gives it */

/* Reads until it closes its output, or until the time has come. False: the time. */
static bool program_read(int fd, int64_t until_us, struct str *out)
{
    char piece[4096];
    ssize_t n;
    for (;;) {
        int64_t left_us = until_us == SHEPHERD_NEVER ? 0 : until_us - shepherd_now_us();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (until_us != SHEPHERD_NEVER &&
            (left_us <= 0 || poll(&p, 1, (int)(left_us / 1000) + 1) == 0))
            return false;
        n = read(fd, piece, sizeof piece);
        if (n > 0 && out->len < PROLOG_TEXT_BYTES)
            str_addn(out, piece, (size_t)n);
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
    }
}

/* Its wait status; -1 = it could not be started, errno says why. limit_us: it and what it started
 * are killed then; 0 = never. */
static int program_output(const char *program, char **env, int64_t limit_us, struct str *out)
{
    int ends[2], status = -1;
    struct shortage shortage = {0};
    if (access(program, X_OK) != 0 || !shortage_pipe(&shortage, ends))
        return -1;
    pid_t pid = shortage_fork(&shortage);
    if (pid == 0) {
        if (limit_us)
            setsid();
        signals_unblock();
        dup2(ends[1], STDOUT_FILENO);
        char *const argv[] = {(char *)program, NULL};
        program_execute(program, argv, env);
        _exit(127);
    }
    close(ends[1]);
    if (pid > 0 &&
        !program_read(ends[0], limit_us ? shepherd_now_us() + limit_us : SHEPHERD_NEVER, out))
        kill(-pid, SIGKILL);
    close(ends[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Lines of a task prolog: "export NAME=value", "unset NAME", "print text". */
static void prolog_line(struct env *e, struct span line)
{
    struct span word;
    char *rest;
    span_next(&line, ' ', &word);
    rest = xcalloc(line.len + 2, 1);
    memcpy(rest, line.data ? line.data : "", line.data ? line.len : 0);
    if (span_is(word, "export") && strchr(rest, '=')) {
        char *equals = strchr(rest, '='), *value = xstrdup(equals + 1);
        equals[1] = '\0';
        env_drop(e, rest);
        *equals = '\0';
        env_add(e, rest, value);
        free(value);
    } else if (span_is(word, "unset")) {
        rest[line.len] = '=';
        env_drop(e, rest);
    } else if (span_is(word, "print")) {
        dprintf(STDOUT_FILENO, "%s\n", rest);
    }
    free(rest);
}

/* The task does not run without it. */
static _Noreturn void prolog_failed(struct setup *s, const char *name, const char *program,
                                    int status)
{
    if (status < 0)
        remark(s, "%s can not be executed (%s) %s", name, program, strerror(errno));
    int code = status < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    remark(s, "%s failed status=%d", name, code);
    remarks_write(s);
    _exit(code);
}

void task_prolog_run(struct setup *s, struct env *e, const char *name, const char *program)
{
    ASSERT(name);
    struct str text = STR_INIT;
    if (text_empty(program))
        return;
    e->v[e->n] = NULL;
    int status = program_output(program, e->v, 0, &text);
    if (status != 0)
        prolog_failed(s, name, program, status);
    /* "export A=" is the shortest line that adds one */
    char **room = xcalloc(e->n + text.len / 8 + 2, sizeof *room);
    memcpy(room, e->v, e->n * sizeof *room);
    e->v = room;
    struct span rest = {str_text(&text), text.len}, line;
    while (span_next(&rest, '\n', &line))
        prolog_line(e, line);
    e->v[e->n] = NULL;
    str_done(&text);
}

/* Signals for the program reach it by themselves; who waits for it outlives them. */
void task_epilog_follow(struct setup *s, struct env *e, const char *whose, const char *program)
{
    struct str text = STR_INIT;
    sigset_t all, before;
    struct shortage shortage = {0};
    int status = 0;
    if (text_empty(program))
        return;
    remarks_write(s);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = shortage_fork(&shortage);
    if (pid <= 0) {
        if (pid < 0)
            remark(s, "Could not run %s task_epilog [%s]: %s", whose, program, strerror(errno));
        sigprocmask(SIG_SETMASK, &before, NULL);
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int epilog = program_output(program, e->v, EPILOG_US, &text);
    if (epilog < 0)
        remark(s, "Could not run %s task_epilog [%s]: %s", whose, program, strerror(errno));
    if (epilog != 0)
        remark(s, "TaskEpilog failed status=%d", epilog);
    remarks_write(s);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}
