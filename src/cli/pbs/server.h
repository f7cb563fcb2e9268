/* The server and its queues, as PBS tells of them: for qstat -B and -Q and for qmgr. */
#ifndef REMUDA_CLI_PBS_SERVER_H
#define REMUDA_CLI_PBS_SERVER_H

#include "cli/pbs/attributes.h"
#include "cli/pbs/pbs.h"
#include "model/record/partition.h"

/* What was asked of the controller; all of it lives in `a`, which the caller sets and owns. */
struct pbs_seen {
    struct arena *a;
    VEC(const struct job *) job; /* empty after pbs_queues_read */
    VEC(const struct partition *) queue;
};
/* Queues alone, or jobs, too. False: *ret_err says why. */
bool pbs_queues_read(struct client *c, struct pbs_seen *s, struct err *ret_err);
/* jobs of all users, and queues */
bool pbs_seen_read(struct client *c, struct pbs_seen *s, struct err *ret_err);
void pbs_seen_done(struct pbs_seen *s); /* the lists; records are the arena's */
/* NULL: there is none of that name. */
const struct partition *pbs_queue_named(const struct pbs_seen *s, const char *name);

/* Jobs by state; a heterogeneous job counts once. */
struct pbs_counts {
    /* has run, whatever its state is now */
    unsigned queued, running, held, waiting, exiting, begun;
};
/* Of one queue; NULL = of all. */
struct pbs_counts pbs_counts_of(const struct pbs_seen *s, const char *queue);
/* those that are not over; begun is part of the others */
unsigned pbs_counts_all(const struct pbs_counts *n);

/* PBS's "enabled" and "started". */
bool pbs_queue_takes(const struct partition *p);
bool pbs_queue_starts(const struct partition *p); /* jobs that are there may start */

/* qstat -B, in PBS's order: state, host, counts of jobs by state, default queue. */
void pbs_server_attributes(const struct pbs_seen *s, const struct dialect_site *site,
                           struct pbs_attributes *t);
/* qstat -Q: what the partition limits and presets, who may use it, counts of its jobs. */
void pbs_queue_attributes(const struct pbs_seen *s, const struct partition *p,
                          struct pbs_attributes *t);

#endif
