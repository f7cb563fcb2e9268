/* The shepherd was a subreaper; without it orphans belong to init, and only what they carry tells
 * whose they were: their control group, and their environment. What they say of that is read by a
 * process of its own. It is their owner's memory: he may have much of it, have it on a file system
 * that does not answer, or bear more processes for as long as they are looked for, and the daemon
 * has others to serve. That process goes on for a while when the daemon has turned to them. */
#include "node/daemon/clear.h"
#include "base/alloc.h"

#include "node/cgroup/group.h"
#include "node/step/descriptors.h"
#include "node/step/proc_environ.h"
#include "node/step/proc_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRY_MS     10
#define TRIES      20 /* to begin a search */
#define SEARCH_S   30 /* then what reads is ended, wherever it stands */
#define TREE_MAX   4096u
#define WAIT_MS    1000
#define HURRY_MS   50
#define REST_TIMES 20 /* of the time that was waited: then it is in no hurry again */

/* ---- in the process that looks for them ---- */

struct tag_search {
    const char *tag;
    bool found;
};

static bool is_tag(void *ctx, const char *assignment)
{
    struct tag_search *s = ctx;
    s->found = text_is(assignment, s->tag);
    return !s->found;
}

static bool environment_has(pid_t pid, const char *tag)
{
    struct tag_search s = {.tag = tag};
    proc_environ_each(pid, PROC_ENVIRON_BYTES, is_tag, &s);
    return s.found;
}

/* Whoever began it, though it may be root's now by its file (setuid). That file of the kernel's
 * never waits for the process. */
static bool is_of(pid_t pid, int64_t uid_plus1)
{
    char path[48], text[4096];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *uid = strstr(text, "\nUid:\t");
    return uid && (int64_t)strtoul(uid + strlen("\nUid:\t"), NULL, 10) == uid_plus1 - 1;
}

/* Of that process, which had the tag while it was the one that began then. */
static bool kill_with_descendants(pid_t pid, uint64_t start)
{
    pid_t below[TREE_MAX];
    uint64_t starts[TREE_MAX];
    size_t n = proc_tree(pid, &(struct proc_list){below, NULL, starts, TREE_MAX});
    if (!proc_signal(pid, start, SIGKILL, NULL))
        return false; /* whose they are is not known either */
    for (size_t i = 0; i < n; i++)
        proc_signal(below[i], starts[i], SIGKILL, NULL);
    return true;
}

static int tagged_kill(const char *tag, int64_t uid_plus1)
{
    struct dirent *e;
    int n = 0;
    DIR *proc = opendir("/proc");
    while (proc && (e = readdir(proc))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
        if (pid <= 0 || (uid_plus1 && !is_of(pid, uid_plus1)))
            continue;
        uint64_t start = proc_start(pid);
        n += start && environment_has(pid, tag) && kill_with_descendants(pid, start);
    }
    if (proc)
        closedir(proc);
    return n;
}

/* Writes how many it found, each time. Nothing of the daemon's is left open in it, as a daemon may
 * begin anew before it ends, and the daemon's signals are not its. */
static _Noreturn void search(const char *tag, int64_t uid_plus1, int to)
{
    int found = 1;
    sigset_t all;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    sigdelset(&all, SIGTERM); /* of who ends all that the daemon left */
    signal(SIGALRM, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &all, NULL);
    alarm(SEARCH_S);
    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd); /* whoever reads what the daemon says need not wait for this */
    descriptors_close_but(STDERR_FILENO + 1, &to, 1);
    setpriority(PRIO_PROCESS, 0, 10);
    while (found > 0) {
        found = tagged_kill(tag, uid_plus1);
        if (write(to, &found, sizeof found) < 0 && errno != EPIPE)
            break;
        if (found > 0)
            nanosleep(&(struct timespec){.tv_nsec = TRY_MS * 1000000L}, NULL);
    }
    _exit(0);
}

/* ---- in the daemon ---- */

/* Where it says what it found; -1: it cannot be begun. It is nobody's child, so that nobody has to
 * wait for it. */
static int search_begin(const char *tag, int64_t uid_plus1)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    int why = EAGAIN; /* of what the process in between could not do */
    pid_t pid = fork();
    if (pid == 0) {
        pid = fork();
        if (pid == 0)
            search(tag, uid_plus1, ends[1]);
        _exit(pid < 0);
    }
    int status = 1;
    if (pid < 0)
        why = errno;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(ends[1]);
    if (status == 0)
        return ends[0];
    close(ends[0]);
    errno = why;
    return -1;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Ends those in the groups meanwhile, again and again: some groups let some escape who are born at
 * that moment. Whose groups they are later is not known, so nobody goes on with that. */
static int search_await(int from, const struct step_cgroup *groups, int wait_ms)
{
    int found, last = -1;
    struct pollfd p = {.fd = from, .events = POLLIN};
    for (int64_t end = now_ms() + wait_ms; last != 0 && now_ms() < end;) {
        if (poll(&p, 1, TRY_MS) > 0) {
            if (read(from, &found, sizeof found) != sizeof found)
                break;
            last = found;
        }
        step_cgroup_kill(groups);
    }
    return last;
}

int clear_step(struct clear_pace *pace, struct log *log, const char *step, const char *cgroups,
               const char *name, const char *tag, int64_t uid_plus1)
{
    ASSERT(!strchr(name, '/'));
    struct step_cgroup groups;
    int64_t began = now_ms(), rest;
    int from = -1, left = -1, why = 0;
    step_cgroup_open(&groups, cgroups, name);
    for (int i = 0; i < TRIES && from < 0; i++) { /* the step itself may have all processes */
        step_cgroup_kill(&groups);
        from = search_begin(tag, uid_plus1);
        why = errno;
        if (from < 0)
            nanosleep(&(struct timespec){.tv_nsec = TRY_MS * 1000000L}, NULL);
    }
    if (from >= 0) {
        left = search_await(from, &groups, began < pace->rest_until_ms ? HURRY_MS : WAIT_MS);
        close(from);
    }
    rest = now_ms() + REST_TIMES * (now_ms() - began);
    pace->rest_until_ms = rest > pace->rest_until_ms ? rest : pace->rest_until_ms;
    step_cgroup_remove(&groups);
    if (left > 0)
        log_error(log, "%d processes of step %s outlive SIGKILL, or more begin", left, step);
    else if (left < 0 && from >= 0)
        log_warning(log, "what is left of step %s is still looked for", step);
    else if (left < 0)
        log_error(log, "no process looks for what is left of step %s: %s", step, strerror(why));
    return left;
}
