/* Control groups of steps: in each of the node's groups (cgroup/base.h) one for the job, in that
 * one for each of its steps. What holds for the job (memory, swap, number of processes) is set on
 * the job's group, so that its steps together never exceed it. What is not there is done without:
 * usage is then sampled from /proc, limits are enforced at the samples, processes are found as
 * descendants.
 *
 * A step that ends clean may hand its groups back instead of removing them; who may have them then,
 * cgroup/pool.h says. */
#ifndef REMUDA_NODE_CGROUP_GROUP_H
#define REMUDA_NODE_CGROUP_GROUP_H

#include "agent/note.h"
#include "base/str.h"
#include "node/cgroup/files.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STEP_CGROUP_MAX CGROUP_FILES_MAX

/* "g17.3": the groups number 3 of those of a job that have the number 17. */
#define CGROUP_NAME_BYTES 48

/* Of one step. */
struct step_cgroup {
    char *dir[STEP_CGROUP_MAX]; /* owned */
    /* Of each, open: what a short step costs is to a part walks along its path. */
    int fd[STEP_CGROUP_MAX];
    struct cgroup_files files; /* kept open */
    size_t n;
    char name[CGROUP_NAME_BYTES]; /* what it was made or taken as; empty = a longer one */
    char *bases;                  /* the same; owned */
    char *memory;                 /* of these, the one that measures memory; NULL = none */
    char *freezer;                /* of these, the version 1 freezer; NULL = none */
    char *pids;                   /* of these, the one that counts processes; NULL = none */
    char *v2;                     /* of these, the version 2 group; NULL = none */
    bool hides;                   /* the devices that were to be hidden are */
    bool limits_memory;           /* the limits asked for are set */
};

/* Bytes; 0 = no limit. Swap: that may be used beyond the memory, plus 1; 0 = no limit of its
 * own. */
struct cgroup_limits {
    int64_t job_mem_bytes, step_mem_bytes;               /* 0 = none */
    int64_t job_swap_bytes_plus1, step_swap_bytes_plus1; /* 0 = none; 1 = no swap */
    int64_t swappiness_plus1;                            /* 0 = the kernel's */
    int64_t pids;     /* processes and threads of the job here; 0 = no limit */
    const char *cpus; /* NULL = all */
    const char *deny; /* device files to hide, "195:1 195:2"; NULL = none; see `hides` */
};

/* "g7.2"; and back: false for folders that are not ours. */
void step_cgroup_name(int64_t group, int64_t part, char name[CGROUP_NAME_BYTES]);
/* "g7.0"; false: of another form */
bool step_cgroup_name_parse(const char *name, int64_t *ret_group, int64_t *ret_part);

/* Makes the groups of the step `name` ("JOB.ATTEMPT.STEP", or of step_cgroup_name) below the bases
 * (text of cgroup/base.h; NULL = none), with its limits. A limit that the kernel refuses for good
 * is done without (`limits_memory`, `hides`). False with errno: a group cannot be made, or there is
 * no room for its limits now (step/shortage.h); then none of them is there. */
bool step_cgroup_make(struct step_cgroup *c, const char *bases, const char *name,
                      const struct cgroup_limits *limits);
/* Those that another step with the same limits handed back, limits set. `kept`: what a hand-back of
 * this process left open; it is empty afterwards. False if one of them is gone; then c is empty. */
bool step_cgroup_take(struct step_cgroup *c, struct step_cgroup *kept, const char *bases,
                      const char *name, const struct cgroup_limits *limits);
/* Of a step none of whose processes was killed for memory. GROUP_TO_ANY: nobody could tell them
 * from new ones with the same limits, and nothing was left out when they were made: no process and
 * no group in them, next to no memory charged, no other step's processes killed for memory; the
 * most that was used is counted anew. GROUP_TO_OWN_JOB: that is so of the step's, but not of the
 * job's, in which other steps run or files that it read are charged; or files that the step itself
 * read. Then c is empty, and they stay. GROUP_KEPT: neither; c is as it was.
 * ret_kept: an empty one, to be given to the next step_cgroup_take or step_cgroup_close. */
enum group_back step_cgroup_hand_back(struct step_cgroup *c, const struct cgroup_limits *limits,
                                      struct step_cgroup *ret_kept);
/* Forgets them; they stay as they are. */
void step_cgroup_close(struct step_cgroup *c);
/* Opens those that another process made. */
void step_cgroup_open(struct step_cgroup *c, const char *bases, const char *name);
/* No errno: the job or the node's jobs have more processes than they may. */
#define STEP_CGROUP_FULL (-1)

/* fork(), with the child in the groups from the start; -1 with errno, EAGAIN also where the job or
 * the node's jobs have as many processes as they may. To the child, which has to have one thread
 * only, *ret_why is 0 or, if the kernel refused, an errno, or STEP_CGROUP_FULL: it is then in some
 * of them or in none, or one too many, so that it had better end. What the kernel refuses for want
 * of room is tried again. */
pid_t step_cgroup_fork(const struct step_cgroup *c, int *ret_why);
/* Would so few more reach what the job or the node's jobs may have? That nobody can be born is then
 * their doing; when it is asked, one or the other may just have ended. */
#define STEP_CGROUP_PIDS_NEAR 64
bool step_cgroup_pids_short(const struct step_cgroup *c);

/* Of dir, which is one of c->dir, open; -1 = it is none of them. */
static inline int step_cgroup_fd(const struct step_cgroup *c, const char *dir)
{
    for (size_t i = 0; dir && i < c->n; i++)
        if (c->dir[i] == dir)
            return c->fd[i];
    return -1;
}

/* Now, page cache not counted, shared memory and tmpfs are; -1 = not measured. */
int64_t step_cgroup_rss(const struct step_cgroup *c);
/* The most that was in use at one time, at most `limit`; -1 = not measured. */
int64_t step_cgroup_peak(const struct step_cgroup *c, int64_t limit);
/* Processes that the kernel killed because memory ran out, of the step or of its job. */
int64_t step_cgroup_oom_kills(struct step_cgroup *c);
/* Whether memory was refused at the limit of the step, and at that of its job. False: this kernel
 * or version does not tell. */
bool step_cgroup_limits_hit(const struct step_cgroup *c, bool *ret_step, bool *ret_job);
/* Is anybody in them, or in a group below? */
bool step_cgroup_has_process(const struct step_cgroup *c);
/* All in them stand still, and who is born there, until they are let go on (false). False: these
 * groups cannot do that. */
bool step_cgroup_freeze(const struct step_cgroup *c, bool frozen);
/* Ends all processes in them, as surely as the groups allow. True when nobody can have escaped;
 * processes still need a moment to go. */
bool step_cgroup_kill(const struct step_cgroup *c);
/* Removes them, but not those of their job; processes must be gone. */
void step_cgroup_remove(struct step_cgroup *c);
/* Removes groups of steps that nobody knows any more (and are empty) below the bases, and those of
 * jobs without steps. */
void step_cgroups_tidy(const char *bases, bool (*is_known)(void *ctx, const char *name), void *ctx);
/* The same, and ends the processes of those steps. Returns how many there were. */
size_t step_cgroups_end(const char *bases, bool (*is_known)(void *ctx, const char *name),
                        void *ctx);

#endif
