/* The limits of accounts and QOS: which of them hold for a job, how much of each is in use, and
 * what the planner is told. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_LIMITS_H
#define REMUDA_CORE_RECORD_LIMITS_H

#include "core/record/accounts.h"

/* AccountingStorageEnforce: each word brings those it builds upon. */
bool enforces_associations(const struct core *c);
bool enforces_limits(const struct core *c);
bool enforces_qos(const struct core *c);

/* Whose job it is, and where it would run. */
struct limit_subject {
    const char *user, *account, *qos, *partition;
};
struct limit_subject limits_subject(const struct jobrec *r, const char *partition);

/* A limit of a subject, and who carries it: one of the two. */
struct limit_hit {
    const struct limit *l;
    const struct assocrec *assoc;
    const struct qosrec *qos;
    bool above; /* another of higher precedence holds instead: it only counts */
};
typedef VEC(struct limit_hit) limit_hits;
/* All of that kind, in Slurm's order of precedence: the partition's QOS, the job's (the other way
 * round with OverPartQOS), the association and those above it. Where one sets a limit, that of the
 * next does not hold, but group limits hold at every level of the tree. What does not hold is there
 * as well (`above`): the job counts against it. Of limits that are passed down only the nearest
 * is. */
void limits_collect(const struct core *c, const struct limit_subject *who, enum limit_counts counts,
                    limit_hits *out);
/* Does anything follow from it, where limits are insisted on? Minutes, ageing and some resources
 * are kept and shown, and hold nobody yet. */
bool limit_holds(const struct limit *l);
/* "MaxJobsPerUser=1 of QOS test", "GrpTRES=cpu=100 of account physics" */
void limit_say(const struct limit_hit *h, struct str *out);

/* ---- for the planner ------------------------------------------------------------------------ */
/* Caps the waiting job counts against, as struct waiting has them, in the arena of effects; NULL =
 * none. Tells the planner of those that are new. */
const char *limits_waiting(struct core *c, const struct jobrec *r);
/* The running job counts against its caps. */
void limits_running(struct core *c, const struct jobrec *r);

/* Of the priority of the job's QOS and association, as struct waiting has them. */
void limits_factors(const struct core *c, const struct jobrec *r, int64_t *ret_qos,
                    int64_t *ret_assoc);
/* The highest priorities changed. */
void limits_priorities(struct core *c);

/* ---- of one job ----------------------------------------------------------------------------- */
/* Why it cannot run at all, by what it asks for, its account or its QOS; NONE = it can.
 * `detail` may be NULL. */
enum job_reason limits_bar(const struct core *c, const struct jobrec *r, struct str *detail);
/* MinPrioThreshold: no start is kept for the job while its priority is lower; 0 = none. */
uint64_t limits_promise_priority(const struct core *c, const struct jobrec *r);
/* The shortest MaxWall that holds; 0 = none. */
int64_t limits_wall_us(const struct core *c, const struct limit_subject *who);

/* ---- how many there are --------------------------------------------------------------------- */
/* The job begins to be there (+1) or goes; called with its elements that wait as they are. */
void limits_count(struct core *c, const struct jobrec *r, int64_t sign);
/* May there be so many more? Else what is full, in words. */
bool limits_room(const struct core *c, const struct limit_subject *who, uint64_t more,
                 struct str *detail);
/* How much of the limit is in use for whom it is counted for; -1 = it is not counted. */
int64_t limit_used(const struct core *c, const struct limit_subject *who,
                   const struct limit_hit *h);
/* Whose jobs there are: the next of them, in any order that stays. `partition` may be several, with
 * commas between. */
bool limits_next_subject(const struct core *c, struct map_walk *w, struct limit_subject *ret);
void limits_free(struct core *c);

#endif
