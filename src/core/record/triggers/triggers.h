/* Triggers (strigger): programs that run when something has happened. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_TRIGGERS_TRIGGERS_H
#define REMUDA_CORE_RECORD_TRIGGERS_TRIGGERS_H

#include "core/record/record.h"

/* A stored row, as the controller starts; copied. */
void triggers_load(struct core *c, const struct trigger *row);
/* When all rows are in memory: jobs that were forgotten meanwhile end their triggers. */
void triggers_restore(struct core *c);
void triggers_free(struct core *c); /* at the end of the controller */

/* Takes over the texts' copies; returns its number. */
uint32_t trigger_add(struct core *c, const struct trigger *t);
/* From memory and store; `t` is freed. */
void trigger_remove(struct core *c, struct triggerrec *t);
/* Is it about this job, or about all of an array or heterogeneous job that this is of? */
bool trigger_of_job(const struct trigger *t, const struct jobrec *r);

/* The node may have changed: asked wherever its state or its jobs are written. */
void triggers_node(struct core *c, struct noderec *n);
/* The job is over; looked at when the event ends. */
void triggers_job_over(struct core *c, const struct jobrec *r);
void triggers_forget(struct core *c, const struct jobrec *r); /* and leaves memory */
/* When a running job's limit sets off one; INT64_MAX = never. */
int64_t due_trigger(const struct core *c, const struct jobrec *r);
void triggers_time(struct core *c, const struct jobrec *r); /* that has come */
/* Something happened to the cluster: bits of enum trigger_event. */
void triggers_site(struct core *c, uint32_t events);
/* The store is away: what tells of it runs now, not when it is back. */
void triggers_store_away(struct core *c);

void triggers_settle(struct core *c);              /* at the end of each event */
void triggers_run(struct core *c);                 /* those that are due */
int64_t triggers_due(const struct core *c);        /* when the next is; INT64_MAX = none waits */
void triggers_over(struct core *c);                /* a program has ended */
void triggers_move(struct core *c, int64_t by_us); /* the clock was set */
void triggers_check(const struct core *c);         /* its invariants, for core_check */
/* Each once, by number; a row's texts are valid during the call. */
void triggers_show(const struct core *c, const struct view *v);

#endif
