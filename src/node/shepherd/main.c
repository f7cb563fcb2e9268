/* remuda-shepherd: the warm parent of all shepherds of a node.
 *
 * It is small and has everything open, so that a step costs one fork here instead of starting a
 * program. All signals stay blocked (shepherds inherit that and wait for them with sigtimedwait);
 * only while it waits for plans may SIGCHLD come through.
 *
 * It ends when the daemon's end of the socket is closed, after the plans that were sent before are
 * started; its shepherds go on. */
#include "base/alloc.h"
#include "node/shepherd/again.h"
#include "node/shepherd/output_end.h"
#include "node/shepherd/plan_intake.h"
#include "node/shepherd/shepherd.h"
#include "node/shepherd/text_pages.h"
#include "node/step/descriptors.h"
#include "node/step/dir.h"
#include "node/step/notes_socket.h"
#include "node/step/output_end.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
    pid_t pid;
    struct note ids;
};

struct children {
    struct child *v;
    size_t n, cap;
    struct again again;       /* those of them that may have another step */
    struct shortage shortage; /* of processes, since the plans at hand came */
};

static int64_t wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct child *child_of(struct children *c, pid_t pid)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].pid == pid)
            return &c->v[i];
    return NULL;
}

/* The step that it has now. */
static void child_set(struct child *c, pid_t pid, const struct step_plan *p)
{
    *c = (struct child){.pid = pid,
                        .ids = {.kind = NOTE_GONE,
                                .job_id = p->job_id,
                                .attempt = p->attempt,
                                .step_id = p->step_id,
                                .pid = pid}};
}

static void child_add(struct children *c, pid_t pid, const struct step_plan *p)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 16;
        c->v = xrealloc(c->v, c->cap * sizeof c->v[0]);
    }
    child_set(&c->v[c->n++], pid, p);
}

/* A shepherd that ends with 0 has told the daemon all. Of others the daemon must know. */
static void children_reap(const struct herd *h, struct children *c)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct child *one = child_of(c, pid);
        again_forget(&c->again, pid);
        if (!one)
            continue;
        one->ids.at_us = wall_us();
        if (status != 0)
            herd_tell(h, &one->ids, 1000);
        *one = c->v[--c->n];
    }
}

/* A process that has ended and was not waited for is counted, too. When the first plan waited in
 * vain, those that came meanwhile are tried once each. */
static pid_t patient_fork(const struct herd *h, struct children *c)
{
    pid_t pid;
    while ((pid = fork()) < 0 && shortage_passes(&c->shortage)) {
        int why = errno;
        children_reap(h, c);
        errno = why;
    }
    if (pid > 0)
        c->shortage = (struct shortage){0};
    return pid;
}

static pid_t shepherd_fork(struct herd *h, struct children *c, struct plan_intake *in,
                           struct step_plan *plan)
{
    int again = again_prepare(&c->again, plan);
    pid_t pid = patient_fork(h, c);
    if (pid == 0) {
        again_begin(&c->again, h, again);
        shepherd_run(h, in, plan);
    }
    again_forked(&c->again, pid, again);
    return pid;
}

static void step_begin(struct herd *h, struct children *c, struct plan_intake *in)
{
    struct step_plan plan;
    if (!step_plan_decode(in->data, in->len, &plan))
        return;
    pid_t pid = again_give(&c->again, h, in, &plan);
    struct child *again = pid > 0 ? child_of(c, pid) : NULL;
    if (again) {
        child_set(again, pid, &plan);
        return;
    }
    pid = shepherd_fork(h, c, in, &plan);
    if (pid > 0) {
        child_add(c, pid, &plan);
        return;
    }
    struct note failed = {.kind = NOTE_FAILED,
                          .job_id = plan.job_id,
                          .attempt = plan.attempt,
                          .step_id = plan.step_id,
                          .retry = 1,
                          .unfit = 1};
    failed.at_us = wall_us();
    snprintf(failed.detail, sizeof failed.detail, "cannot start a process on %s: %s", plan.node,
             strerror(errno));
    herd_tell(h, &failed, 1000);
}

/* Starts what has come. False when no more comes. */
static bool plans_take(struct herd *h, struct children *c, struct plan_intake *in)
{
    enum plan_intake_result r;
    c->shortage = (struct shortage){0};
    while ((r = plan_intake_read(in, SHEPHERD_PLAN_FD)) == PLAN_WHOLE) {
        step_begin(h, c, in);
        plan_intake_forget(in);
    }
    return r == PLAN_NOT_YET;
}

static void child_ended(int signo)
{
    (void)signo; /* only to end the wait */
}

static void serve(struct herd *h)
{
    struct plan_intake in = {0};
    struct children children = {0};
    sigset_t all, waiting;
    again_open(&children.again);
    struct pollfd fds[] = {{.fd = SHEPHERD_PLAN_FD, .events = POLLIN},
                           {.fd = again_fd(&children.again), .events = POLLIN}};
    const struct timespec look_again = {.tv_sec = 1};
    for (int signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    sigfillset(&all);
    sigfillset(&waiting);
    sigdelset(&waiting, SIGCHLD);
    sigdelset(&waiting, SIGTERM);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = child_ended}, NULL);
    for (;;) {
        int ready = ppoll(fds, 2, children.again.nidle ? &look_again : NULL, &waiting);
        children_reap(h, &children);
        if (ready < 0)
            continue;
        again_take(&children.again, fds[1].revents);
        if (fds[0].revents && !plans_take(h, &children, &in))
            break;
    }
    again_close(&children.again);
    free(children.v);
}

static int open_in(const char *dir, const char *name, int flags)
{
    struct str path = STR_INIT;
    str_addf(&path, "%s/%s", dir, name);
    int fd = open(str_text(&path), flags | O_CLOEXEC, 0600);
    if (fd < 0)
        fprintf(stderr, "remuda-shepherd: cannot open %s: %s\n", str_text(&path), strerror(errno));
    str_done(&path);
    return fd;
}

int herd_serve(const char *node_dir)
{
    struct herd h = {.node_dir = node_dir, .again_fd = -1, .asks_fd = -1};
    h.steps_fd = open_in(node_dir, "steps", O_RDONLY | O_DIRECTORY);
    h.lock_fd = open_in(node_dir, "shepherds.lock", O_RDWR | O_CREAT);
    if (h.steps_fd < 0 || h.lock_fd < 0)
        return 1;
    h.notes_fd = notes_connect(h.steps_fd);
    if (h.notes_fd < 0) {
        fprintf(stderr, "remuda-shepherd: the node daemon of %s is not there: %s\n", node_dir,
                strerror(errno));
        return 1;
    }
    if (flock(h.lock_fd, LOCK_EX | LOCK_NB) != 0) {
        fprintf(stderr, "remuda-shepherd: another one serves %s\n", node_dir);
        return 1;
    }
    serve(&h);
    return 0;
}

/* The daemon's environment is whose shell started it. Each step's process would have it in its
 * memory: it keeps where local time is, and where tests have their /sys. */
static void environment_wipe(void)
{
    static const char *const names[] = {"TZ", "REMUDA_SYS"};
    char *kept[ARRAY_LEN(names)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = getenv(names[i]);
        kept[i] = value ? xstrdup(value) : NULL;
    }
    for (char **e = environ; *e; e++)
        explicit_bzero(*e, strlen(*e));
    clearenv();
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (kept[i])
            setenv(names[i], kept[i], 1);
        free(kept[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], OUTPUT_END_WORD))
        return output_end_print(argc, argv);
    if (argc != 2) {
        fputs("Usage: remuda-shepherd NODE_DIR\n  Started by the node daemon, with a socket as "
              "descriptor 3.\n",
              stderr);
        return 2;
    }
    umask(022);
    environment_wipe();
    descriptors_close(SHEPHERD_PLAN_FD + 1);
    text_pages_huge();
    return herd_serve(argv[1]);
}
