/* How processes come into a step's groups.
 *
 * A write to cgroup.procs waits until no process of the machine is in the middle of fork or exit:
 * 20 to 30 ms after a pause, which would be most of the time that a small step takes. Two ways do
 * not wait: version 2 lets a process be born in a group, and a single thread that moves itself by
 * version 1's `tasks` needs nobody else to stand still.
 *
 * Who moves himself is not kept out by pids.max: then it is looked at here, before he is born and
 * once he is in. Where the kernel keeps one from being born in a group, for there are too many,
 * nobody is born outside instead. */
#include "base/alloc.h"
#include "node/cgroup/fs.h"
#include "node/cgroup/group.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As fork(), but in that version 2 group. ENOSYS, EINVAL and the like: this kernel cannot (before
 * 5.7). */
static pid_t fork_into(int dir_fd)
{
    struct clone_args how = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)dir_fd};
    return (pid_t)syscall(SYS_clone3, &how, sizeof how);
}

static bool group_enter(const struct step_cgroup *c, size_t i)
{
    return (c->dir[i] != c->v2 && cgroup_files_enter(&c->files, i, c->fd[i])) ||
           cgroup_put_at(c->fd[i], "cgroup.procs", "0");
}

/* `born_in`: the group that the calling process was born in; NULL = none. */
static int groups_enter(const struct step_cgroup *c, const char *born_in)
{
    struct shortage shortage = {0};
    for (size_t i = 0; i < c->n; i++)
        while (c->dir[i] != born_in && !group_enter(c, i))
            if (!shortage_passes(&shortage))
                return errno;
    return 0;
}

static int64_t pids_number(int fd, const char *name)
{
    char text[64];
    return cgroup_get_at(fd, name, text, sizeof text) && text[0] >= '0' && text[0] <= '9'
               ? strtoll(text, NULL, 10)
               : -1; /* "max", or the top of all */
}

/* The kernel counts who enters a group, and looks at the limit only when somebody is born in it:
 * how many more may there be in the job's and in the node's? Below 0: there are too many. */
static int64_t pids_left(const struct step_cgroup *c)
{
    static const char *const most[] = {"../pids.max", "../../pids.max"};
    static const char *const now[] = {"../pids.current", "../../pids.current"};
    int64_t left = INT64_MAX;
    for (size_t i = 0; c->pids && i < ARRAY_LEN(most); i++) {
        int fd = step_cgroup_fd(c, c->pids);
        int64_t max = pids_number(fd, most[i]), current = max < 0 ? -1 : pids_number(fd, now[i]);
        if (current >= 0 && max - current < left)
            left = max - current;
    }
    return left;
}

bool step_cgroup_pids_short(const struct step_cgroup *c)
{
    return pids_left(c) < STEP_CGROUP_PIDS_NEAR;
}

/* False with errno: there are as many as may be. The kernel itself looks where somebody is born in
 * the group that counts. */
static bool one_may_come(const struct step_cgroup *c, const char *born_in)
{
    bool may = c->pids == born_in || pids_left(c) > 0;
    errno = EAGAIN;
    return may;
}

/* Many that are born outside, one after the other, only to end as they may not come in, would be as
 * many processes beyond what may be. */
pid_t step_cgroup_fork(const struct step_cgroup *c, int *ret_why)
{
    const char *born_in = c->v2;
    pid_t pid = born_in && one_may_come(c, born_in) ? fork_into(step_cgroup_fd(c, born_in)) : -1;
    if (pid < 0 && (!born_in || !shortage_is(errno))) {
        born_in = NULL;
        pid = one_may_come(c, NULL) ? fork() : -1;
    }
    if (pid == 0)
        *ret_why = groups_enter(c, born_in);
    if (pid == 0 && !*ret_why && c->pids != born_in && pids_left(c) < 0)
        *ret_why = STEP_CGROUP_FULL;
    return pid;
}
