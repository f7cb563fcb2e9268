/* The copy has one thread: ours. Another one may have held a lock of a library at the moment of the
 * copy (the C library takes its own over); what would wait for such a lock for ever is ended by the
 * time limit, and the question has no answer. */
#include "io/process/aside.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/fd.h"
#include "io/process/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_US (120 * USEC_PER_SEC) /* on a machine that is busy with other things */
#define LONGEST_S  30                   /* of a processor */
/* a third of the weight of ours: much less would be none at all where others are busy */
#define URGENCY    5
#define MORE_BYTES (INT64_C(2) << 30) /* of memory, than we have */
#define READ_BYTES (64u << 10)

struct aside {
    struct loop *loop;
    void (*done)(void *ctx, const struct str *answer, int64_t cpu_us);
    void *ctx;
    size_t most;
    int fd; /* the answer comes from there */
    pid_t pid;
    struct fd_watch *readable;
    struct pid_watch *exited;
    struct timer *limit;
    struct str answer;
    bool whole, gone; /* all of it was read; the process has ended */
    int status;
    int64_t cpu_us;
};

/* ---- in the copy ---- */

static void signals_default(void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The way out becomes 3; all that comes after it, sockets of users and the store among it, is
 * closed. */
static void descriptors_close(int out)
{
    if (out != 3 && dup2(out, 3) != 3)
        _exit(1);
    if (syscall(SYS_close_range, 4, ~0u, 0) == 0)
        return;
    for (int fd = 4, most = (int)sysconf(_SC_OPEN_MAX); fd < most; fd++)
        close(fd);
}

/* Whoever has something to do at once goes before it. What is less urgent still stays so. */
static void less_urgent(void)
{
    const struct sched_param none = {0};
    if (sched_getscheduler(0) == SCHED_OTHER)
        sched_setscheduler(0, SCHED_BATCH, &none);
    errno = 0;
    int now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0 && now < URGENCY)
        setpriority(PRIO_PROCESS, 0, URGENCY);
}

/* Pages of data, as RLIMIT_DATA counts them; 0 = not known. */
static int64_t data_pages(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%*d %*d %*d %*d %*d %lld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages;
}

/* A question that takes more memory than anybody foresaw ends the copy, and nothing else: by the
 * limit, or where the machine has less, before all others. */
static void memory_bound(void)
{
    int64_t pages = data_pages();
    FILE *f = fopen("/proc/self/oom_score_adj", "we");
    if (f) {
        fputs("1000", f);
        fclose(f);
    }
    rlim_t most = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + MORE_BYTES);
    struct rlimit now;
    if (pages > 0 && getrlimit(RLIMIT_DATA, &now) == 0 && most < now.rlim_max)
        setrlimit(RLIMIT_DATA, &(struct rlimit){most, most});
}

static void become_copy(int out, pid_t parent)
{
    const char *why;
    struct rlimit none = {0}, time = {LONGEST_S, LONGEST_S};
    signals_default();
    memory_bound();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &time);
    descriptors_close(out);
    less_urgent();
    confine_process(&why); /* where the kernel knows no filters the rest holds */
}

_Noreturn static void copy_run(int out, pid_t parent, void (*work)(void *ctx, struct str *out),
                               void *ctx)
{
    struct str answer = STR_INIT;
    become_copy(out, parent);
    work(ctx, &answer);
    _exit(fd_write_all(3, answer.data, answer.len) ? 0 : 1);
}

/* ---- in the process ---- */

void aside_free(struct aside *a)
{
    if (!a)
        return;
    if (!a->gone)
        kill(a->pid, SIGKILL);
    fd_watch_free(a->readable);
    if (!a->gone) {
        pid_watch_free(a->exited);
        waitpid(a->pid, NULL, 0);
    }
    timer_free(a->limit);
    close(a->fd);
    str_done(&a->answer);
    free(a);
}

static void finished(struct aside *a)
{
    if (!a->whole || !a->gone)
        return;
    bool ok = WIFEXITED(a->status) && WEXITSTATUS(a->status) == 0 && a->answer.len <= a->most;
    a->done(a->ctx, ok ? &a->answer : NULL, a->cpu_us);
    aside_free(a);
}

static void out_of_time(void *ctx)
{
    const struct aside *a = ctx;
    if (!a->gone)
        kill(a->pid, SIGKILL);
}

static void readable(void *ctx)
{
    struct aside *a = ctx;
    str_reserve(&a->answer, READ_BYTES);
    ssize_t n = read(a->fd, a->answer.data + a->answer.len, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        a->answer.len += (size_t)n;
    if (n > 0 && a->answer.len <= a->most)
        return;
    if (n > 0) /* it says too much */
        out_of_time(a);
    a->whole = true;
    fd_watch_free(a->readable);
    a->readable = NULL;
    finished(a);
}

static void exited(void *ctx, int status, int64_t cpu_us)
{
    struct aside *a = ctx;
    a->gone = true;
    a->exited = NULL;
    a->status = status;
    a->cpu_us = cpu_us;
    finished(a);
}

/* All signals wait until the copy has given up what ours do with them. */
static pid_t copy_make(int out, void (*work)(void *ctx, struct str *out), void *ctx)
{
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        copy_run(out, parent, work, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static bool watched(struct aside *a, struct err *ret_err)
{
    a->readable = fd_watch_new(a->loop, a->fd, readable, a, ret_err);
    a->exited = a->readable ? pid_watch_new(a->loop, a->pid, exited, a, ret_err) : NULL;
    if (a->exited)
        return true;
    fd_watch_free(a->readable);
    kill(a->pid, SIGKILL);
    waitpid(a->pid, NULL, 0);
    return false;
}

struct aside *aside_start(struct loop *l, void (*work)(void *ctx, struct str *out),
                          void (*done)(void *ctx, const struct str *answer, int64_t cpu_us),
                          void *ctx, size_t most_bytes, struct err *ret_err)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) {
        err_set(ret_err, ERR_UNAVAILABLE, "no pipe for a copy of the process: %s", strerror(errno));
        return NULL;
    }
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    struct aside *a = xcalloc(1, sizeof *a);
    *a = (struct aside){.loop = l, .done = done, .ctx = ctx, .most = most_bytes, .fd = fd[0]};
    a->pid = copy_make(fd[1], work, ctx);
    if (a->pid < 0)
        err_set(ret_err, ERR_UNAVAILABLE, "no copy of the process: %s", strerror(errno));
    close(fd[1]);
    if (a->pid < 0 || !watched(a, ret_err)) {
        close(fd[0]);
        free(a);
        return NULL;
    }
    a->limit = timer_new(l, out_of_time, a);
    timer_set(a->limit, LONGEST_US);
    return a;
}
