#include "node/shepherd/processes.h"

#include "base/alloc.h"
#include "base/map.h"
#include "node/step/proc_tree.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#define HOLD_PASSES 50

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

/* Whoever is frozen forks no more, nor does it go on by a SIGCONT of its owner's. */
void shepherd_freeze(struct shepherd *s)
{
    s->groups_used_up = true;
    s->frozen = step_cgroup_freeze(&s->groups, true);
}

void shepherd_thaw(struct shepherd *s)
{
    if (s->frozen)
        step_cgroup_freeze(&s->groups, false);
    s->frozen = false;
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

void shepherd_stop_all(struct shepherd *s)
{
    struct map_u64 *seen = map_u64_new();
    for (int pass = 0; pass < HOLD_PASSES && new_ones_stop(s, seen) > 0; pass++)
        ;
    map_u64_free(seen);
}

void shepherd_kill_all(struct shepherd *s)
{
    s->groups_used_up = true;
    if (!step_cgroup_kill(&s->groups))
        shepherd_stop_all(s); /* without groups that hold them: who is stopped cannot fork */
    for (size_t i = 0, n = shepherd_tree(s); i < n; i++)
        proc_signal(s->pids[i], s->starts[i], SIGKILL, NULL);
}
