/* One shepherd: what it knows of its step. Shared by the files that are its parts: step.c
 * (beginning, loop, end), say.c (what it tells), watch/usage.c (what the step uses), signals.c
 * (signals and the daemon's commands). */
#ifndef REMUDA_NODE_SHEPHERD_STEP_H
#define REMUDA_NODE_SHEPHERD_STEP_H

#include "node/shepherd/tasks/set.h"
#include "node/shepherd/watch/account.h"
#include "node/shepherd/watch/memory_watch.h"
#include "node/shepherd/watch/oom.h"
#include "node/step/command.h"
#include "node/step/dir.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define SHEPHERD_NEVER    INT64_MAX /* a time that does not come */
#define SHEPHERD_TREE_MAX 65536u    /* processes of one step that are seen */

/* What it has open from one step to the next; nothing in it is of a step. */
struct shepherd_kept {
    struct step_cgroup groups; /* that were handed back */
    int signals_fd;            /* the three as below; -1 = not yet */
    int failure_fd[2];
};

struct shepherd {
    const struct herd *herd;
    const struct step_plan *plan;
    struct shepherd_kept *kept; /* what stays for the next step */
    struct step_cgroup groups;  /* of the step and of its job */
    /* Their processes were killed or stopped as a whole: they are not handed back. */
    bool groups_used_up;
    /* What it may still take of a processor before it gives way to others (yields; own_nice: its
     * priority before); when that was looked at, monotonic, and what it had taken then. */
    int64_t saved_us, looked_us, cpu_us;
    bool yields;
    int own_nice;
    int state_fd; /* the file in which it says how far it is */
    int signals_fd;
    /* a pipe: ours, and that of the step's processes until they execute its program. */
    int failure_fd[2];
    struct str setup_words; /* lines that were read from it */
    struct str early;       /* for the error file, which the script's process has yet to open */
    struct task_set *tasks; /* NULL = a batch script */
    struct pollfd *fds;     /* what is waited for: the signals, then the tasks' */
    pid_t main_pid;         /* of the script */
    bool main_ended;        /* then `status` is its wait status */
    bool reap_more;         /* more may have ended than were reaped */
    int status;
    bool over_memory;          /* used more than its limit, as a sample found */
    struct oom_victim largest; /* of the processes of the last sample that used most */
    bool exit_told;            /* EXITED was written, not clean */
    bool terminating;          /* was told to end */
    bool ended_from_outside;   /* terminated while its own process still ran */
    enum command_why why;      /* then: why, as the first command said */
    bool commanded;            /* a command came */
    bool follow_due, tell_due; /* commands that may take a while: after all others */
    int64_t kill_at_us;        /* monotonic: SIGKILL to everything from then on */
    int64_t writers_by_us;     /* monotonic: then who writes files must have moved */
    bool writers_given_up;     /* they are ended like any process */
    int64_t clear_by_us;       /* monotonic: tell EXITED by then, clean or not */
    int64_t sample_at_us;      /* monotonic */
    int64_t sample_gap_us;     /* between looks at what it uses */
    int64_t usage_at_us;       /* monotonic: its use is not told before */
    int64_t stopped_us;        /* monotonic: suspended since; 0 = is not */
    bool frozen;               /* then: by the control groups, too */
    /* Monotonic: what is left then outlives SIGKILL and is reported; 0 = nothing is being
     * killed. */
    int64_t stuck_at_us;
    pid_t stuck_pid;  /* of them, as last written to the state file */
    struct note note; /* ids and usage so far */
    struct proc_account account;
    /* Of all that were waited for: sums, and the largest. */
    int64_t ended_user_us, ended_system_us, ended_rss_bytes;
    int64_t group_rss;                             /* most that the step's control group had */
    int64_t rss_now, live_user_us, live_system_us; /* of the last sample */
    struct shepherd_series *series;                /* watch/series.h; NULL: nothing told yet */
    struct shepherd_energy *energy;                /* watch/energy.h; NULL: no sample yet */
    pid_t *pids, *tops;                            /* room for a walk */
    uint64_t *starts;                              /* and when they began (proc_tree.h) */
    struct memory_shares shares;                   /* where it looks over its memory */
};

static inline int64_t shepherd_clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Monotonic. */
static inline int64_t shepherd_now_us(void)
{
    return shepherd_clock_us(CLOCK_MONOTONIC);
}

#endif
