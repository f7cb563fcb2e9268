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
/* Was work stopped for a job that has neither started nor a promise, and that might stop this one
 * in its turn? Then this one does not begin in this pass. Asked of the present only, after those
 * that come before the entry were tried. */
bool preempt_keeps_out(struct pass *p, const struct entry *e);
/* Did work begin in this pass that others of the queue, by their QOS, may stop? The order of the
 * queue says nothing about that, so it may have begun before one of them was looked at. */
bool preempt_just_begun(const struct pass *p);
/* Before entries of this tier and lower are looked at: suspended work of the tiers above and of it
 * goes on where its CPUs are idle. */
void pass_resume(struct pass *p, int32_t tier);

#endif
