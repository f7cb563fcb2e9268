#include "node/shepherd/processes.h"

#include "base/alloc.h"
#include "node/step/proc_tree.h"

#include <signal.h>
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
            s->tops[kept++] = s->tops[i];
        }
    return kept;
}

size_t shepherd_tree(struct shepherd *s)
{
    if (!s->pids) {
        s->pids = xmalloc(SHEPHERD_TREE_MAX * sizeof *s->pids);
        s->tops = xmalloc(SHEPHERD_TREE_MAX * sizeof *s->tops);
    }
    return writers_leave_out(s, proc_tree_tops(getpid(), s->pids, s->tops, SHEPHERD_TREE_MAX));
}

/* Without groups that hold them: whoever is stopped cannot fork, so all are stopped until no new
 * one is found. */
static void hold_all(struct shepherd *s)
{
    size_t before = 0, n = shepherd_tree(s);
    for (int pass = 0; pass < HOLD_PASSES && n != before && n < SHEPHERD_TREE_MAX; pass++) {
        for (size_t i = 0; i < n; i++)
            kill(s->pids[i], SIGSTOP);
        before = n;
        n = shepherd_tree(s);
    }
}

void shepherd_kill_all(struct shepherd *s)
{
    s->groups_used_up = true;
    if (!step_cgroup_kill(&s->groups))
        hold_all(s);
    for (size_t i = 0, n = shepherd_tree(s); i < n; i++)
        kill(s->pids[i], SIGKILL);
}
