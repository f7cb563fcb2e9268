#include "cli/container/container.h"

#include "base/alloc.h"
#include "base/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define STANDARD_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#define LOG_SHOWN     2048 /* bytes of the end of what a program said that failed */

/* ---- words ---- */

static const char *found_in(const char *path, const char *name, struct arena *a)
{
    struct span rest = span_of(path), dir;
    struct stat st;
    while (span_next(&rest, ':', &dir)) {
        const char *file = arena_printf(a, "%.*s/%s", (int)dir.len, dir.data, name);
        if (file[0] == '/' && access(file, X_OK) == 0 && stat(file, &st) == 0 &&
            S_ISREG(st.st_mode))
            return file;
    }
    return NULL;
}

const char *tool_find(const char *name, struct arena *a)
{
    const char *path = getenv("PATH"), *found = path ? found_in(path, name, a) : NULL;
    return found ? found : found_in(STANDARD_PATH, name, a);
}

void words_add(words_of_program *w, ...)
{
    va_list more;
    va_start(more, w);
    for (const char *word = va_arg(more, const char *); word; word = va_arg(more, const char *))
        vec_push(w, (char *)word);
    va_end(more);
}

void word_addf(words_of_program *w, struct arena *a, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    vec_push(w, arena_strdup(a, str_text(&text)));
    str_done(&text);
}

void words_program(words_of_program *w, const struct container *c)
{
    for (size_t i = 0; c->program[i]; i++)
        vec_push(w, c->program[i]);
    vec_push(w, NULL);
}

/* ---- what prepares ---- */

/* The end of the log, as text that does nothing to a terminal. */
static void log_show(const char *path)
{
    char text[LOG_SHOWN];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    off_t from = size > LOG_SHOWN ? size - LOG_SHOWN : 0;
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text, from) : 0;
    struct span rest = {text, n > 0 ? (size_t)n : 0}, line;
    if (fd >= 0)
        close(fd);
    while (span_next(&rest, '\n', &line)) {
        char *plain = xstrndup(line.data, line.len);
        text_blank(plain);
        if (plain[0])
            fprintf(stderr, CONTAINER_COMMAND ":   %s\n", plain);
        free(plain);
    }
}

static _Noreturn void prepare_exec(const words_of_program *w, int in, int out)
{
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execve(w->v[0], w->v, environ);
    _exit(127);
}

bool tool_run(const struct container *c, words_of_program *w, const char *output,
              struct err *ret_err)
{
    const char *log = container_file(c, "log"), *path = output ? container_file(c, output) : log;
    const char *name = strrchr(w->v[0], '/') ? strrchr(w->v[0], '/') + 1 : w->v[0];
    const char *what = w->n > 1 && *w->v[1] != '-' ? w->v[1] : w->n > 2 ? w->v[2] : "";
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int err = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int out =
        output ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : err;
    int status = -1;
    vec_push(w, NULL);
    pid_t pid = in < 0 || out < 0 || err < 0 ? -1 : fork();
    if (pid == 0) {
        dup2(err, STDERR_FILENO);
        prepare_exec(w, in, out);
    }
    int why = errno;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(in);
    close(err);
    if (output)
        close(out);
    if (pid > 0 && status == 0)
        return true;
    if (pid < 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot start %s: %s", w->v[0], strerror(why));
    if (ret_err)
        log_show(log);
    return err_set(ret_err, ERR_UNAVAILABLE, "%s %s failed on node %s (%s %d)", name, what, c->host,
                   WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* ---- what is the task ---- */

bool task_program_run(words_of_program *w, int fd, int *ret_status, struct err *ret_err)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (fd >= 0 && fd != 3)
            dup2(fd, 3);
        execve(w->v[0], w->v, environ);
        fprintf(stderr, CONTAINER_COMMAND ": error: %s: %s\n", w->v[0], strerror(errno));
        _exit(127);
    }
    if (pid < 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot start %s: %s", w->v[0], strerror(errno));
    }
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    return true;
}

void task_end_as(int status)
{
    sigset_t one;
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    /* The core is the program's, if there is one. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    sigemptyset(&one);
    sigaddset(&one, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* others that wait for us are not how it ended */
    _exit(128 + WTERMSIG(status));
}
