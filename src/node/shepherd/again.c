#include "node/shepherd/again.h"

#include "base/alloc.h"
#include "node/step/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_CHILDREN 64u /* that may ask, those that have a step among them */
#define AGAIN_IDLE_MAX 16u
#define AGAIN_IDLE_US  INT64_C(4000000)

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- the parent ---- */

/* Without pidfds (before Linux 5.3) commands carry no mark. */
static bool commands_are_marked(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

void again_open(struct again *a)
{
    memset(a, 0, sizeof *a);
    if (!commands_are_marked() || pipe2(a->asks, O_CLOEXEC | O_NONBLOCK) != 0)
        a->asks[0] = a->asks[1] = -1;
    else
        a->v = xcalloc(AGAIN_CHILDREN, sizeof *a->v);
}

int again_fd(const struct again *a)
{
    return a->asks[0];
}

static void child_drop(struct again *a, size_t i)
{
    close(a->v[i].fd);
    a->nidle -= a->v[i].idle_since_us != 0;
    a->v[i] = a->v[--a->n];
}

void again_close(struct again *a)
{
    while (a->n > 0)
        child_drop(a, a->n - 1);
    free(a->v);
    if (a->asks[0] >= 0) {
        close(a->asks[0]);
        close(a->asks[1]);
    }
}

void again_forget(struct again *a, pid_t pid)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].pid == pid) {
            child_drop(a, i);
            return;
        }
}

static void child_asks(struct again *a, pid_t pid)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].pid == pid && a->v[i].idle_since_us == 0) {
            a->v[i].idle_since_us = now_us();
            a->nidle++;
            if (a->nidle > AGAIN_IDLE_MAX)
                child_drop(a, i);
            return;
        }
}

void again_take(struct again *a, bool some_ask)
{
    pid_t pids[32];
    ssize_t n = some_ask ? read(a->asks[0], pids, sizeof pids) : 0;
    for (ssize_t i = 0; i < n / (ssize_t)sizeof *pids; i++)
        child_asks(a, pids[i]);
    int64_t oldest = a->nidle ? now_us() - AGAIN_IDLE_US : 0;
    for (size_t i = a->n; a->nidle && i-- > 0;)
        if (a->v[i].idle_since_us && a->v[i].idle_since_us < oldest)
            child_drop(a, i);
}

/* The lock goes along, so that nobody believes that no step begins any more. */
static bool plan_send(int fd, const struct herd *h, const struct plan_intake *in)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec piece = {in->data, in->len};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &h->lock_fd, sizeof(int));
    return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)in->len;
}

static bool is_for(const struct again_child *c, const struct step_plan *p)
{
    return c->switch_user == p->switch_user && c->uid == p->uid;
}

/* The last that asked, best one whose last step had the same groups: it has them open. */
static struct again_child *child_find(const struct again *a, const struct step_plan *p)
{
    struct again_child *found = NULL;
    for (size_t i = a->n; i-- > 0;) {
        struct again_child *c = &a->v[i];
        if (!c->idle_since_us || !is_for(c, p))
            continue;
        if (c->group == p->group && c->group_part == p->group_part)
            return c;
        if (!found)
            found = c;
    }
    return found;
}

pid_t again_give(struct again *a, const struct herd *h, const struct plan_intake *in,
                 const struct step_plan *p)
{
    if (p->address || in->len > AGAIN_PLAN_MAX)
        return 0;
    struct again_child *c;
    while (a->nidle && (c = child_find(a, p))) {
        if (plan_send(c->fd, h, in)) {
            c->idle_since_us = 0;
            c->group = p->group;
            c->group_part = p->group_part;
            a->nidle--;
            return c->pid;
        }
        child_drop(a, (size_t)(c - a->v));
    }
    return 0;
}

int again_prepare(struct again *a, const struct step_plan *p)
{
    ASSERT(a->n <= AGAIN_CHILDREN);
    int pair[2];
    if (p->address || a->asks[0] < 0 || a->n == AGAIN_CHILDREN ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    a->next = (struct again_child){.fd = pair[0],
                                   .switch_user = p->switch_user,
                                   .uid = p->uid,
                                   .group = p->group,
                                   .group_part = p->group_part};
    return pair[1];
}

void again_forked(struct again *a, pid_t pid, int child_fd)
{
    ASSERT(child_fd < 0 || a->n < AGAIN_CHILDREN);
    if (child_fd < 0)
        return;
    close(child_fd);
    a->next.pid = pid;
    if (pid > 0)
        a->v[a->n++] = a->next;
    else
        close(a->next.fd);
}

/* ---- the shepherd ---- */

void again_begin(const struct again *a, struct herd *h, int child_fd)
{
    const int keep[] = {h->steps_fd, h->lock_fd, h->notes_fd, child_fd,
                        child_fd < 0 ? -1 : a->asks[1]};
    h->again_fd = child_fd;
    h->asks_fd = keep[4];
    descriptors_close_but(STDERR_FILENO + 1, keep, ARRAY_LEN(keep));
}

/* False: none comes. A plan that does not arrive whole is one that its daemon waits for: the
 * process ends so that the parent tells it. */
static bool plan_receive(struct herd *h, struct plan_intake *in)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec piece = {in->data, in->mapped};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(h->again_fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_type != SCM_RIGHTS || (m.msg_flags & MSG_TRUNC))
        _exit(1);
    memcpy(&h->lock_fd, CMSG_DATA(c), sizeof(int));
    in->len = (size_t)n;
    return true;
}

bool again_wait(struct herd *h, struct plan_intake *in, struct step_plan *ret)
{
    pid_t me = getpid();
    plan_intake_forget(in);
    if (in->mapped < AGAIN_PLAN_MAX || write(h->asks_fd, &me, sizeof me) != sizeof me ||
        !plan_receive(h, in))
        return false;
    if (!step_plan_decode(in->data, in->len, ret))
        _exit(1);
    return true;
}
