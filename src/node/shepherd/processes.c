#include "node/shepherd/processes.h"

#include "base/alloc.h"
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

/* Those that have not ended. */
static size_t all_signal(struct shepherd *s, int signo)
{
    size_t alive = 0;
    for (size_t i = 0, n = shepherd_tree(s); i < n; i++)
        alive += proc_signal(s->pids[i], s->starts[i], signo, NULL);
    return alive;
}

/* Without groups that hold them: whoever is stopped cannot fork, so all are stopped until no new
 * one is found. */
static void hold_all(struct shepherd *s)
{
    size_t before = SIZE_MAX, n = all_signal(s, SIGSTOP);
    for (int pass = 0; pass < HOLD_PASSES && n != before; pass++) {
        before = n;
        n = all_signal(s, SIGSTOP);
    }
}

void shepherd_kill_all(struct shepherd *s)
{
    s->groups_used_up = true;
    if (!step_cgroup_kill(&s->groups))
        hold_all(s);
    all_signal(s, SIGKILL);
}
