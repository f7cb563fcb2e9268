/* Promises that are remembered from pass to pass (promises=aged and all; decision 137): whom the
 * last pass promised a start goes first, by that start, each to the earliest start he can have.
 * Where one node decides, nobody then starts later than he was promised because of others: who
 * stood before him has moved earlier only, and holds nothing after that start that he did not hold
 * before. On several nodes, or where one has several types of what a job takes, who finds an
 * earlier start could take those of another, so there all promises stand where they were until
 * their jobs are tried. */
#ifndef REMUDA_SCHED_PASS_STANDING_H
#define REMUDA_SCHED_PASS_STANDING_H

#include "sched/pass/pass.h"

/* Are promises remembered? */
bool standing_wanted(const struct cluster *cl);
/* Notes where the job, which asks for c, was promised its start (pass.at), and when that was looked
 * for (freed.h). */
void standing_note(struct pass *p, const struct compiled *c, struct promised *pr, uint64_t moment);
/* Puts what the last pass promised into the world, as far as it is still to be had: before a job of
 * the tier is tried, what was promised in that tier and above. Higher tiers owe it nothing. */
void standing_enter(struct pass *p, int32_t tier);
/* What stands of the job, in the world; NULL = nothing. */
struct standing *standing_of(struct pass *p, const struct wjob *j);
/* Nothing of use to it came free since its promise was looked for: it could have none that is
 * earlier. Or it could, though not now, and it is looked for in a later pass (pass.put_off). */
bool standing_stays(struct pass *p, const struct entry *e, struct standing *s);
/* One more is to be looked for an earlier start than stands of it: is that for this pass? */
bool standing_may_look(struct pass *p);
/* The job is tried: what was promised it is free for it. */
void standing_lift(struct pass *p, struct wjob *j);
/* The same of all components. False: none of them stood. */
bool standing_lift_all(struct pass *p, const struct het *h);
/* Where all components of the job were promised their start: h->n places, if they ask for what they
 * asked for then; NULL = they were not. Whether they are free still is not looked at. */
const struct standing *standing_of_all(const struct pass *p, const struct het *h);
/* What stood (pass.had), and was lifted, stands again. */
void standing_again(struct pass *p, struct wjob *j, struct option *o);
/* It stands no more; its number in the world, where it goes on as a promise of the pass. NONE = it
 * did not stand. */
uint32_t standing_end(struct pass *p, struct wjob *j);
/* Where it stood becomes the place at hand (pass.at). */
void standing_place(struct pass *p, const struct standing *s, struct option *o);
/* The job was tried: unless it has that place again, it is free for others. */
void standing_was(struct pass *p, struct wjob *j, const struct standing *s);
/* The same of all components, which were lifted. */
void standing_was_all(struct pass *p, const struct het *h);
/* What stands still is of jobs that the pass did not try, and ends. */
void standing_leave(struct pass *p);
/* Of all promises of the pass, for the next one. */
void standing_keep(struct pass *p);

#endif
