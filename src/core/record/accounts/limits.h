/* The limits of accounts and QOS: which of them hold for a job, how much of each is in use, and
 * what the planner is told. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_LIMITS_H
#define REMUDA_CORE_RECORD_LIMITS_H

#include "core/record/accounts/accounts.h"

/* AccountingStorageEnforce: each word brings those it builds upon. */
bool enforces_associations(const struct core *c);
bool enforces_limits(const struct core *c); /* limits, safe or all */
bool enforces_qos(const struct core *c);    /* qos or all */
bool enforces_wckeys(const struct core *c); /* wckeys or all */

/* Whose job it is, and where it would run. */
struct limit_subject {
    const char *user, *account, *qos, *partition; /* names; NULL = none */
};
/* `partition` is where it would run, one of its own; NULL = that does not matter. The texts are the
 * record's. */
struct limit_subject limits_subject(const struct jobrec *r, const char *partition);

/* A limit of a subject, and who carries it: one of the two. */
struct limit_hit {
    const struct limit *l; /* the book's */
    const struct assocrec *assoc;
    const struct qosrec *qos;
    int64_t value; /* the limit's, or what its percent makes */
    bool above;    /* another of higher precedence holds instead: it only counts */
};
typedef VEC(struct limit_hit) limit_hits;
/* All of that kind, in Slurm's order of precedence: the partition's QOS, the job's (the other way
 * round with OverPartQOS), the association and those above it. Where one sets a limit, that of the
 * next does not hold, but group limits hold at every level of the tree. What does not hold is there
 * as well (`above`): the job counts against it. Of limits that are passed down only the nearest
 * is. */
void limits_collect(const struct core *c, const struct limit_subject *who, enum limit_counts counts,
                    limit_hits *out);
/* For whom it is counted, in a text: its id, and the association, user or account. */
void limit_key(const struct core *c, const struct limit_subject *who, const struct limit_hit *h,
               struct str *out);
/* Does anything follow from it, where limits are insisted on? Energy and a few more resources are
 * kept and shown, and hold nobody. Minutes: minutes.h. */
bool limit_holds(const struct limit *l);
/* How much of it the jobs of that QOS may have: LimitFactor makes GrpTRES and MaxTRES of
 * associations worth more to them. */
int64_t limit_worth(const struct core *c, const struct limit_subject *who,
                    const struct limit_hit *h);
/* QOS flag Relative: what their percents make of what partitions and nodes have now. */
void relative_know(struct core *c);
/* Is there such a QOS? */
bool relative_any(const struct core *c);
/* "MaxJobsPerUser=1 of QOS test", "GrpTRES=cpu=100 of account physics" */
void limit_say(const struct limit_hit *h, struct str *out);

/* ---- for the planner ------------------------------------------------------------------------ */
/* Caps the waiting job counts against in these of its partitions, of which alone the planner is
 * told, as struct waiting has them, in the arena of effects; NULL = none. Tells the planner of
 * those that are new. */
const char *limits_waiting(struct core *c, const struct jobrec *r, const char *partitions);
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
/* Those of its partitions, comma-separated in their order, in which nothing that limits_bar asks
 * keeps it: where it may start. The record's text, of which it was not asked, or in the arena. */
const char *limits_open(const struct core *c, const struct jobrec *r, struct arena *a);
/* As limits_bar, to whom limits_open said this. */
enum job_reason limits_bar_beside(const struct core *c, const struct jobrec *r, const char *open,
                                  struct str *detail);
/* A limit on what runs that it exceeds by itself, whoever else runs there; NONE = none does. */
enum job_reason limits_alone(const struct core *c, const struct jobrec *r, const char *partition,
                             struct str *detail);
/* What the job asks for of a resource; −1 = it cannot be told. */
int64_t limits_asked_of(const struct jobrec *r, const char *tres);
/* A limit on what runs that these exceed together, whoever else runs there. */
enum job_reason limits_together(const struct core *c, const struct jobrec *const *r, size_t n,
                                struct str *detail);
/* The same of the heterogeneous job that this is a component of; NONE, too, where it is of none.
 * Worked out once for all components that are asked about one after the other: it is the same for
 * each, and dear where there are many of them and of their partitions. */
enum job_reason limits_components_bar(const struct core *c, const struct jobrec *r,
                                      struct str *detail);
/* A job, or what is allowed, changed: the next is worked out anew. */
void limits_components_forget(struct core *c);
struct together_known *together_known_new(void);        /* of nobody yet */
void together_known_free(struct together_known *known); /* NULL is free already */
/* MinPrioThreshold: no start is kept for the job while its priority is lower; 0 = none. */
uint64_t limits_promise_priority(const struct core *c, const struct jobrec *r);
/* Of a job that gives no time: how long it may run in whichever of these partitions, where a
 * MaxWall is shorter than what one of them gives by itself; 0 = none is, or it gives a time. */
int64_t limits_wall_given_us(const struct core *c, const struct jobrec *r, const char *partitions);

/* ---- how many there are --------------------------------------------------------------------- */
/* The job begins to be there (+1) or goes; called with its elements that wait as they are. */
void limits_count(struct core *c, const struct jobrec *r, int64_t sign);
/* Of several partitions (comma-separated in `who`) the one as a job of which it counts: the first
 * in which its user is in its account, else the first there is; NULL = none. */
const struct partrec *limits_counted_in(const struct core *c, const struct limit_subject *who);
/* May there be so many more? Else what is full, in words. */
bool limits_room(struct core *c, const struct limit_subject *who, uint64_t more,
                 struct str *detail);
/* "GrpSubmitJobs=9 of account sub: 9 jobs are there, 1 more would be too many" */
void limit_full_say(const struct limit_hit *h, uint64_t there, uint64_t more, struct str *out);
/* Jobs that are there, elements of arrays each. Texts interned. */
struct live_count {
    const char *account, *user, *qos, *partition; /* interned */
    uint64_t jobs;                                /* elements of arrays each */
};

/* Jobs that are there, counted once for all that may be asked: who asks of many limits. */
struct live_sums;                      /* opaque */
struct live_sums *live_sums_new(void); /* empty */
/* Adds at most *most kinds of jobs from `w` on, which is zeroed before the first call, and takes
 * them off it; true: all are in. */
bool live_sums_go(struct live_sums *s, const struct core *c, struct map_walk *w, size_t *most);
/* Not NULL. */
void live_sums_free(struct live_sums *s);
/* Those that the limit counts for `who`. */
uint64_t live_sums_of(const struct live_sums *s, const struct limit_subject *who,
                      const struct limit_hit *h);
/* Of all that are there now; it is kept, and the next to ask has it at once. */
const struct live_sums *live_sums_known(struct core *c);
/* So many more of that kind are there, or fewer. */
void live_sums_count(struct core *c, const struct limit_subject *who, int64_t n);
/* What an account is below, what a partition's QOS is, or which there are, is about to change, or
 * has: what was kept is worked out anew when it is asked for. No job comes or goes in between. */
void live_sums_forget(struct core *c);
void live_sums_check(const struct core *c); /* its invariants, for core_check */
/* How much is in use of a limit on jobs that run, for whom it is counted; -1 = it is none
 * (limit_view.h has all). */
int64_t limit_capped(const struct core *c, const struct limit_subject *who,
                     const struct limit_hit *h);
/* Whose jobs there are: the next of them, in any order that stays. `partition` may be several, with
 * commas between. */
bool limits_next_subject(const struct core *c, struct map_walk *w, struct limit_subject *ret);
/* At the end of the controller: counts and caps; limits go with who carries them. */
void limits_free(struct core *c);

#endif
