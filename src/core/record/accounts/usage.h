/* What users used, for fair share (usage.c). Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_USAGE_H
#define REMUDA_CORE_RECORD_USAGE_H

#include "core/record/state.h"

/* A row of the store; the time it stands for is caught up by usage_restore. */
void usage_load(struct core *c, const struct usage *row);
void usage_restore(struct core *c); /* when all rows are loaded */
/* The clock was set: until when use is charged and decayed is told, and stored, in the new time. */
void usage_move(struct core *c, int64_t by_us);
/* They have a job that says so: they have a share. */
void usage_know(struct core *c, uint32_t uid, const char *account, const char *user);
void usage_charge(struct core *c, struct jobrec *r); /* what it used since it was charged last */
/* The run, charged to its end, ended so: how long it ran is remembered of its user
 * (users/run_times.h). Before the state says that it ended. */
void usage_learn(struct core *c, const struct jobrec *r, enum job_state how);
/* With RefundNodeFail: the run, charged to its end, was lost with a node. */
void usage_refund(struct core *c, const struct jobrec *r);
/* The account whose row has what the user uses in this one: it, or NULL where nobody made it, or he
 * has no name (NULL), and none of his jobs came with it, or only when he had named so many that
 * further ones are not told apart. */
const char *usage_account(const struct core *c, uint32_t uid, const char *account,
                          const char *user);
/* Billing units of a run, in thousandths. */
int64_t usage_billing_milli(const struct core *c, const struct jobrec *r);
/* Writes into j the billing units of what it asks for, and of what it has unless they stand there:
 * what an allocation costs is settled when it is made or becomes smaller. */
void usage_billing_note(const struct core *c, struct job *j);
/* Charges all that runs and lets use decay, where a period is over; nothing before usage_due. */
void usage_tick(struct core *c);
/* When usage_tick has something to do; INT64_MAX = nothing is used, nor was. */
int64_t usage_due(const struct core *c);
/* Works out everybody's factor anew and tells the planner: after use, shares or users changed. */
void usage_factors(struct core *c);
void usage_save(struct core *c); /* rows that changed in this step */
/* At the end of the controller; the texts are the pool's. */
void usage_free(struct core *c);

#endif
