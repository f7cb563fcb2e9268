/* When may others have what a step leaves? Decision 20. */
#include "node/cgroup/charged.h"
#include "node/cgroup/fs.h"
#include "node/cgroup/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the kernel still has of processes that ended, or a file that the job wrote: so little is
 * nobody's limit. */
#define LEFT_BYTES    INT64_C(1048576)
#define LEFT_OF_LIMIT 16 /* of a small limit, at most this part of it */

static int64_t left_at_most(const struct cgroup_limits *l)
{
    int64_t limit = l->step_mem_bytes > 0 ? l->step_mem_bytes : l->job_mem_bytes;
    return limit > 0 && limit / LEFT_OF_LIMIT < LEFT_BYTES ? limit / LEFT_OF_LIMIT : LEFT_BYTES;
}

static bool nobody_was_out_of_memory(struct step_cgroup *c, enum cgroup_file which)
{
    char text[1024];
    return cgroup_file_get(&c->files, which, step_cgroup_fd(c, c->memory), true, text,
                           sizeof text) &&
           cgroup_number(text, "oom") <= 0 && cgroup_number(text, "oom_kill") <= 0;
}

/* -1 = unknown, with errno. */
static int64_t bytes_in(struct step_cgroup *c, enum cgroup_file which)
{
    char text[64];
    return cgroup_file_get(&c->files, which, step_cgroup_fd(c, c->memory), c->memory == c->v2, text,
                           sizeof text)
               ? strtoll(text, NULL, 10)
               : -1;
}

/* Up to `most`, or so much that it matters what it is. -1 = unknown. */
static int64_t charged(struct step_cgroup *c, bool of_job, int64_t most)
{
    int64_t all = bytes_in(c, of_job ? CGROUP_CHARGED_JOB : CGROUP_CHARGED);
    return all <= most
               ? all
               : cgroup_charged(step_cgroup_fd(c, c->memory), c->memory == c->v2, of_job, all);
}

/* Is next to nothing of what they left swapped out? A file in memory that was can be had back into
 * it by whoever may read it, long after, and is charged to the group that it left: then to somebody
 * else's. */
static bool swap_is_clean(struct step_cgroup *c, bool of_job, int64_t most)
{
    int64_t swapped = bytes_in(c, of_job ? CGROUP_SWAP_JOB : CGROUP_SWAP);
    if (swapped < 0)
        return errno == ENOENT; /* this kernel charges none */
    if (c->memory == c->v2)
        return swapped <= most;
    int64_t here = bytes_in(c, of_job ? CGROUP_CHARGED_JOB : CGROUP_CHARGED);
    return here >= 0 && swapped - here <= most;
}

/* Is next to nothing of the step's charged? What the job read and wrote is the job's, and stays
 * with it. */
static bool part_is_clean(struct step_cgroup *c, int64_t most)
{
    bool v2 = c->memory == c->v2;
    int fd = step_cgroup_fd(c, c->memory);
    int64_t left = charged(c, false, most);
    if (left > most)
        left = cgroup_kept(fd, v2);
    if (left < 0 || left > most || !swap_is_clean(c, false, most))
        return false;
    return v2 ? nobody_was_out_of_memory(c, CGROUP_KILLS)
              : cgroup_file_put(&c->files, CGROUP_PEAK, fd, v2, "0");
}

static bool job_is_clean(struct step_cgroup *c, int64_t most)
{
    bool v2 = c->memory == c->v2;
    int64_t left = charged(c, true, most);
    if (left < 0 || left > most || !swap_is_clean(c, true, most))
        return false;
    return v2 ? nobody_was_out_of_memory(c, CGROUP_KILLS_JOB)
              : cgroup_file_put(&c->files, CGROUP_PEAK_JOB, step_cgroup_fd(c, c->memory), v2, "0");
}

static bool has_no_group(int dir_fd)
{
    struct stat st;
    return fstat(dir_fd, &st) == 0 && st.st_nlink == 2;
}

/* A step's processes are in all of its groups, as they cannot leave one: who is in none of one of
 * them is in none. */
static bool groups_are_empty(struct step_cgroup *c)
{
    bool ok = true;
    for (size_t i = 0; ok && i < c->n; i++)
        ok = has_no_group(c->fd[i]);
    return ok &&
           cgroup_files_no_process(&c->files, c->v2 ? step_cgroup_fd(c, c->v2) : c->fd[0], c->v2);
}

enum group_back step_cgroup_hand_back(struct step_cgroup *c, const struct cgroup_limits *limits,
                                      struct step_cgroup *ret_kept)
{
    int64_t most = left_at_most(limits);
    bool ok = c->n > 0 && (!limits->deny || c->hides) &&
              (c->memory ? c->limits_memory && part_is_clean(c, most)
                         : limits->job_mem_bytes <= 0 && limits->step_mem_bytes <= 0);
    if (!ok || !groups_are_empty(c))
        return GROUP_KEPT;
    enum group_back back = !c->memory || job_is_clean(c, most) ? GROUP_TO_ANY : GROUP_TO_OWN_JOB;
    *ret_kept = *c;
    memset(c, 0, sizeof *c);
    return back;
}
