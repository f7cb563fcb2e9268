#include "node/shepherd/processes.h"

#include "base/alloc.h"
#include "base/map.h"
#include "node/step/proc_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define HOLD_PASSES  50
#define STOP_WAIT_US INT64_C(1000000)
#define STOP_NAP_NS  2000000

/* Who writes the tasks' files is spared until it is given up. */
static size_t writers_leave_out(struct shepherd *s, size_t n)
{
    size_t kept = 0;
    if (!s->tasks || s->writers_given_up || !task_set_writes(s->tasks))
        return n;
    for (size_t i = 0; i < n; i++)
        if (!task_set_writer_is(s->tasks, s->pids[i])) {
            s->pids[kept] = s->pids[i];
            s->starts[kept] = s->starts[i];
            s->tops[kept++] = s->tops[i];
        }
    return kept;
}

size_t shepherd_tree(struct shepherd *s)
{
    if (!s->pids) {
        s->pids = xmalloc(SHEPHERD_TREE_MAX * sizeof *s->pids);
        s->tops = xmalloc(SHEPHERD_TREE_MAX * sizeof *s->tops);
        s->starts = xmalloc(SHEPHERD_TREE_MAX * sizeof *s->starts);
    }
    const struct proc_list list = {s->pids, s->tops, s->starts, SHEPHERD_TREE_MAX};
    return writers_leave_out(s, proc_tree(getpid(), &list));
}

/* ---- the shepherd's own time ----
 *
 * What it does for the step (output of the tasks, a terminal, samples) takes as much of a processor
 * as they like, and of one that may be another job's: whoever is bound to the step's CPUs could be
 * kept by thousands of threads there from ending them. So it may have a twentieth of one, saved up
 * for two seconds, and beyond that it gives way to all others until the step is to end. */
#define TIME_PART  20
#define TIME_SAVED INT64_C(2000000)
#define LOOK_US    INT64_C(500000)
#define YIELDING   10 /* a tenth of the weight of others */

static void priority_set(struct shepherd *s, bool yields)
{
    errno = 0;
    int own = s->yields ? s->own_nice : getpriority(PRIO_PROCESS, 0);
    if (errno == 0 && setpriority(PRIO_PROCESS, 0, yields ? own + YIELDING : own) == 0) {
        s->own_nice = own;
        s->yields = yields;
    }
}

void shepherd_time_look(struct shepherd *s)
{
    int64_t now = shepherd_now_us(), gone = now - s->looked_us;
    if (s->looked_us && gone < LOOK_US)
        return;
    int64_t cpu = shepherd_clock_us(CLOCK_PROCESS_CPUTIME_ID);
    int64_t saved = s->saved_us + gone / TIME_PART - (cpu - s->cpu_us);
    s->saved_us = !s->looked_us || saved > TIME_SAVED ? TIME_SAVED : saved;
    s->looked_us = now;
    s->cpu_us = cpu;
    /* What the tasks are begun with is not the shepherd's to change. */
    bool begun = !s->tasks || s->tasks->launched, ends = s->terminating || s->main_ended;
    if (!s->yields && s->saved_us < 0 && begun && !ends)
        priority_set(s, true);
    else if (s->yields && s->saved_us > TIME_SAVED / 2)
        priority_set(s, false);
}

void shepherd_hurry(struct shepherd *s)
{
    if (s->yields)
        priority_set(s, false);
}

/* ---- stopping and ending ---- */

/* A process is not seen as stopped once it is frozen: those who look at it (its parent, ps, top)
 * have a moment for that first. */
static void stops_await(struct shepherd *s)
{
    int64_t until = shepherd_now_us() + STOP_WAIT_US;
    for (size_t i = 0, n = shepherd_tree(s); i < n && shepherd_now_us() < until;)
        if (!s->starts[i] || !proc_goes_on(s->pids[i]))
            i++;
        else
            nanosleep(&(struct timespec){.tv_nsec = STOP_NAP_NS}, NULL);
}

/* Whoever is frozen forks no more, nor does it go on by a SIGCONT of its owner's. */
static void freeze(struct shepherd *s)
{
    if (s->groups.n == 0)
        return;
    stops_await(s);
    s->groups_used_up = true;
    s->frozen = step_cgroup_freeze(&s->groups, true);
}

void shepherd_thaw(struct shepherd *s)
{
    s->frozen = s->frozen && !step_cgroup_freeze(&s->groups, false);
}

/* Those that were not stopped before; each comes into `seen` with when it began. */
static size_t new_ones_stop(struct shepherd *s, struct map_u64 *seen)
{
    size_t fresh = 0;
    for (size_t i = 0, n = shepherd_tree(s); i < n; i++) {
        void *start = (void *)(uintptr_t)s->starts[i];
        if (!start || map_u64_get(seen, (uint64_t)s->pids[i]) == start)
            continue;
        proc_signal(s->pids[i], s->starts[i], SIGSTOP, NULL);
        map_u64_put(seen, (uint64_t)s->pids[i], start);
        fresh++;
    }
    return fresh;
}

/* Until nobody new is found: who is stopped cannot fork. */
static void all_stop(struct shepherd *s, struct map_u64 *seen)
{
    for (int pass = 0; pass < HOLD_PASSES && new_ones_stop(s, seen) > 0; pass++)
        ;
}

void shepherd_suspend(struct shepherd *s)
{
    shepherd_hurry(s);
    struct map_u64 *seen = map_u64_new();
    all_stop(s, seen);
    freeze(s);
    if (s->frozen)
        new_ones_stop(s, seen);
    map_u64_free(seen);
}

/* Without groups that hold them. */
static void hold_all(struct shepherd *s)
{
    struct map_u64 *seen = map_u64_new();
    all_stop(s, seen);
    map_u64_free(seen);
}

void shepherd_kill_all(struct shepherd *s)
{
    s->groups_used_up = true;
    shepherd_hurry(s);
    if (!step_cgroup_kill(&s->groups))
        hold_all(s);
    for (size_t i = 0, n = shepherd_tree(s); i < n; i++)
        proc_signal(s->pids[i], s->starts[i], SIGKILL, NULL);
}
