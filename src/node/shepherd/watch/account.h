/* What each task of a step used here: processes that live are sampled, those that ended are counted
 * when they are waited for, with all that they waited for themselves. A process is of the task it
 * descends from; one whose parents are gone stays with the task it was seen with. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_ACCOUNT_H
#define REMUDA_NODE_SHEPHERD_WATCH_ACCOUNT_H

#include "agent/note.h"
#include "node/step/proc_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Sums that only grow, over a task's processes. */
struct use_sums {
    int64_t cpu_us, pages, read_bytes, write_bytes; /* all grow as long as it lives */
};

struct task_use {
    struct use_sums gone, live,
        most; /* of those that ended; of the sample at hand; both together, the most so far */
    int64_t live_rss, live_vm, max_rss, max_vm; /* bytes, now and at most */
};

struct account_child {
    pid_t pid;
    size_t task; /* that it is of */
};

struct proc_account {
    struct task_use *use;
    size_t n;                    /* tasks */
    struct account_child *child; /* our children of the last sample that are no tasks */
    size_t nchildren;            /* of `child` */
};

void account_open(struct proc_account *a, size_t ntasks); /* of nothing yet */
void account_close(struct proc_account *a);               /* its lists; `a` may be opened again */

/* A sample: begin, each process, end. */
void account_begin(struct proc_account *a);
/* One process of the task, as measured now; after account_begin, before account_end. */
void account_add(struct proc_account *a, size_t task, const struct proc_usage *u);
/* All were added: highest values are taken. */
void account_end(struct proc_account *a);

/* The task that a child of ours, which is none itself, belongs to: as it was last time, else the
 * first. */
size_t account_task_of(const struct proc_account *a, pid_t child);
/* Copied: who was there, to find who is gone at the next measure. */
void account_remember(struct proc_account *a, const struct account_child *child, size_t n);

/* A child that is waited for: r counts its own and its children's, io is what it was seen with as a
 * zombie (NULL = could not be). */
void account_ended(struct proc_account *a, size_t task, const struct rusage *r,
                   const struct proc_usage *io);

/* Most, least and mean of the tasks into the note; id(i) is task i's number in the step. */
void account_note(const struct proc_account *a, int32_t (*id)(const void *ctx, size_t i),
                  const void *ctx, struct note *n);

#endif
