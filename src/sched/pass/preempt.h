/* Running work that gives way to waiting work of a higher tier. */
#ifndef REMUDA_SCHED_PASS_PREEMPT_H
#define REMUDA_SCHED_PASS_PREEMPT_H

#include "sched/pass/pass.h"

enum preempting {
    PREEMPTS_NONE,    /* nobody is stopped */
    PREEMPTS_ENDING,  /* what makes room is ending: the job is to be promised it */
    PREEMPTS_AT_ONCE, /* victims are suspended now: the pass that follows starts the job */
};

/* Could jobs of the option ever stop others? */
bool preempt_possible(const struct cluster *cl, const struct compiled *c, const struct option *o);

/* For an entry that cannot start now, or the heterogeneous job it belongs to: chooses victims and
 * puts them into the plan. */
enum preempting pass_preempt(struct pass *p, const struct entry *e, const struct het *het);

/* Was work stopped for it, so that it comes first? */
bool preempt_owed(const struct pass *p, uint64_t job_id);
/* Does a job still wait for which work like this was stopped? Not where tiers decide: there it
 * comes first anyway. */
bool preempt_stopped_for_another(const struct pass *p, const struct run *r);
/* Before entries of this tier and lower are looked at: suspended work of the tiers above and of it
 * goes on where its CPUs are idle. */
void pass_resume(struct pass *p, int32_t tier);

#endif
