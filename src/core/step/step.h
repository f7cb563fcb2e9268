/* Job steps: their place in their job, their making, their end, and those that wait. Only core/
 * includes this. */
#ifndef REMUDA_CORE_STEP_STEP_H
#define REMUDA_CORE_STEP_STEP_H

#include "core/record/record.h"

/* ---- bind.c ---- */
/* Gives the spec of a step of this job the binding that its nodes or its partition want, if it asks
 * for none; new texts are in the arena. */
void step_bind_settle(const struct core *c, const struct jobrec *r, struct job_spec *spec,
                      struct arena *a);

/* ---- asked.c ---- */
/* May its user's steps keep what that one is asked with? Else why not, in words. */
bool step_asked_fits(const struct core *c, const struct jobrec *r, const struct msg_create_step *m,
                     struct str *why);
/* The live step, which has none yet, keeps what it was asked with, a copy in its arena; it counts
 * as its user's. */
void step_asked_keep(struct core *c, const struct jobrec *r, struct steprec *st,
                     struct msg_create_step *asked);
/* Frees it alone: whoever does takes it out of r->wish. */
void step_wish_free(struct core *c, const struct jobrec *r, struct stepwish *w);

/* ---- steps.c: their records ---- */
struct steprec *step_new(struct core *c, struct jobrec *r, int64_t step_id); /* RUNNING, from now */
/* The batch script's; made when there is none. */
struct steprec *batch_step(struct core *c, struct jobrec *r);
/* With its texts and parts; whoever frees it takes it out of the job's list. */
void steprec_free(struct core *c, const struct jobrec *r, struct steprec *st);
/* Of a live step: its limit from its start; TIME_UNLIMITED = none of its own. Stored, and its job's
 * timer is armed. */
void step_limit_set(struct core *c, struct jobrec *r, struct steprec *st, int64_t limit_us);
void steps_drop(struct core *c, struct jobrec *r); /* all, with those that wait */
/* That all steps of all jobs keep, those that wait too; stops the program where a step's count is
 * wrong: for tests. */
size_t steps_asked_bytes(const struct core *c);
void steps_trim(struct core *c, struct jobrec *r);          /* the oldest ended ones leave memory */
void step_save(struct core *c, const struct steprec *st);   /* its row as it is now */
void step_layout_parse(struct core *c, struct steprec *st); /* parts and layout from its text */
/* From the store: into the run at hand of its job; of a former run it is passed over. */
void step_load(struct core *c, const struct step *row);
/* After loading: nodes that were told, graces. */
void steps_restore(struct core *c, struct jobrec *r);
/* Of its parts; and the job's. */
void step_usage_sum(struct core *c, struct jobrec *r, struct steprec *st);
/* Adds what an ended part used, `part->used`, to the step's sum: once a part. */
void step_usage_end(struct core *c, struct steprec *st, const struct steppart *part);
/* The fields that say what was used, and no others. */
void step_usage_copy(struct step *to, const struct step *from);
/* More of anything than is believed to be used; a row may have as much, of time, too. */
#define USED_MOST FIELD_SPAN_MAX
/* The sum of two amounts from 0 to USED_MOST, which it is at most. */
static inline int64_t used_plus(int64_t a, int64_t b)
{
    return a < USED_MOST - b ? a + b : USED_MOST;
}
/* The same of what a node says of the step there, over what it said before: of GPUs and energy its
 * daemon knows only what it saw itself, and one that was started anew knows of less. */
void step_usage_said(struct step *to, const struct step *said);

/* ---- book.c: what steps hold ---- */
struct step_room;
enum room_view {
    /* As if no step ran, all nodes answered and all devices were clean; without those that are
     * broken. */
    ROOM_EVER,
    ROOM_NOW,    /* what no step has to itself */
    ROOM_SHARED, /* for a step that overlaps with others: all there is now */
};
/* One a node of `held`. */
struct step_room *step_rooms(struct core *c, struct jobrec *r, const struct alloc *held,
                             enum room_view view, struct arena *a);
/* The sets of ids in the rooms; the rooms themselves are the arena's. */
void step_rooms_done(struct step_room *room, const struct alloc *held);
/* Stops the program where live steps of the job have more than the job, or one CPU or device twice:
 * for tests. */
void step_book_check(const struct core *c, const struct jobrec *r);
/* Free on that node; 0 = none. */
int32_t step_port(const struct core *c, uint32_t node, uint64_t salt);

/* ---- tell.c: what nodes and callers are told of a step -------------------------------------- */
void step_launch_all(struct core *c, struct jobrec *r, struct steprec *st);
/* Answers create_step or attach_step. warning: a sentence for the user; NULL = none. */
void step_created_say(struct core *c, const struct step *s, uint64_t conn, uint64_t seq,
                      const char *warning);
/* Answers the call that waits for the end of a step that has ended. */
void step_ended_say(struct core *c, struct steprec *st, uint64_t conn, uint64_t seq);
/* Answers a call that gets no step. */
void step_refused_say(struct core *c, uint64_t conn, uint64_t seq, enum refusal refusal,
                      const char *detail);
/* Tells one node to begin its part; nothing where it is not connected, as it is told again when it
 * comes back (steps_reconcile). */
void step_launch(struct core *c, struct jobrec *r, struct steprec *st, uint32_t node);

/* ---- wishes.c: calls whose step waits for room in its job ----------------------------------- */
void step_wish_add(struct core *c, struct jobrec *r, const struct msg_create_step *m);
/* Takes out and frees the i-th of r->wish, with its waiter; it answers nothing. */
void step_wish_drop(struct core *c, struct jobrec *r, size_t i);
void step_pending_say(struct core *c, const struct jobrec *r); /* to the call at hand */
/* Every call that waits for CPUs gets this answer, queued ones are dropped. */
void step_wishes_refuse(struct core *c, struct jobrec *r, enum refusal refusal, const char *detail);
/* The connection is gone: what it waits for in that job is wished no more. The job may be gone,
 * too. */
void step_wish_closed(struct core *c, uint64_t job_id, uint64_t conn);

/* ---- number.c ---- */
/* That of a job's next step, or of its part of a step of which another component has a part already
 * (together_hash; 0 = it has one part). */
int64_t step_number_next(const struct core *c, const struct jobrec *r, uint64_t together_hash);
void step_number_taken(struct jobrec *r, int64_t step_id); /* no other step gets it */
/* Steps of it may have run that the store does not know: a node takes each number once. */
void step_numbers_skip(struct jobrec *r);

/* ---- make.c ---- */
struct msg_create_step *step_asked_copy(const struct msg_create_step *m, struct arena *a);
uint64_t step_key_hash(const char *key); /* 0 = no key */
/* What the nodes are told of a request; a copy in the arena. */
struct msg_create_step *step_asked_settle(const struct core *c, const struct jobrec *r,
                                          const struct msg_create_step *m, struct arena *a);
/* Makes and begins a step for that call. REFUSE_BUSY: not now; else why it can never be. */
enum refusal step_try(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                      uint64_t conn, uint64_t seq, struct str *detail);
/* Makes and launches a step of that number with no command behind it, if its job has room;
 * REFUSE_BUSY: not now (with look_only: it could be). */
enum refusal step_try_detached(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                               int64_t step_id, uint64_t key_hash, bool look_only,
                               struct str *detail);

/* ---- retry.c ---- */
/* Those that wait are tried, while the job runs: some now, the others in wakes to come. */
void steps_retry(struct core *c, struct jobrec *r);
void steps_go_on(struct core *c);           /* with them, in a wake, if it is due */
bool steps_go_on_due(const struct core *c); /* some are left, and the store is there */

/* ---- queue.c: steps of srun --async, and what steps wait for -------------------------------- */
/* May a step begin that waits for these (NULL: for none)? REFUSE_NONE, REFUSE_BUSY, or never, with
 * a sentence. */
enum refusal step_dependencies_look(const struct core *c, const struct jobrec *r, const char *text,
                                    struct str *detail);
void step_queue_drop(struct core *c, struct jobrec *r);         /* its job ends: they never run */
void step_queue_over(struct core *c, const struct steprec *st); /* it ran */
/* A node has begun it. When all have, what it came with is needed no more. */
void step_queue_begun(struct core *c, struct steprec *st);
/* May a node that does not have it be told to begin it, by what it came with? */
bool step_queue_may_begin(const struct steprec *st);
/* Ends a waiting step; false if none of that number waits. */
bool step_queue_cancel(struct core *c, struct jobrec *r, int64_t step_id);
/* Those that wait, as they are shown. */
size_t step_queue_count(const struct jobrec *r);
/* The i-th of those that wait, i below the count; valid until the queue changes. */
const struct step *step_queue_at(const struct jobrec *r, size_t i);
/* NULL = it does not wait. */
const struct step *step_queue_find(const struct jobrec *r, int64_t step_id);
/* Has the job a step of that number, which runs, ends or waits? */
bool step_is_of(const struct jobrec *r, int64_t step_id);
/* An ended step leaves memory: how it ended stays known, and what it used. */
void step_queue_gone(struct jobrec *r, const struct step *s);
struct gone_use {
    int64_t user_us, system_us, energy_mj; /* CPU time; energy in mJ */
};
const struct gone_use *step_queue_gone_use(const struct jobrec *r); /* NULL: none left */
void step_queue_free(struct core *c, struct jobrec *r);             /* with its records */
size_t step_queue_asked_bytes(const struct jobrec *r);              /* as steps_asked_bytes */
/* A row of the store, after those of its job and steps: it waits, or is what a live step was asked
 * with. Rows of former runs are left out. */
void step_queue_load(struct core *c, const struct queued_step *row);
/* Stops the program where its queue contradicts the job: for tests. */
void step_queue_check(const struct jobrec *r);

/* ---- gather.c ---- */
/* A node said something of one of several parts; save: that must be stored. */
void step_gather(struct core *c, const struct jobrec *r, struct steprec *st, bool save);
/* In the wake: stores what was gathered, and acknowledges the reports that said it. */
void steps_gathered(struct core *c);
/* At the end of the controller. */
void steps_gathered_done(struct core *c);
/* Acknowledges a report, once what it says is stored. r: its job, or NULL. */
void report_ack(struct core *c, const struct jobrec *r, const struct msg_report *m);

/* ---- end.c: what becomes of them ---- */
/* Of any step but the batch script's. */
void step_report(struct core *c, struct noderec *n, struct jobrec *r, const struct msg_report *m);
/* Ends a live step as `how`: its nodes get SIGTERM, and SIGKILL after kill_wait_us. line: what they
 * write into its output, NULL = nothing. A second call cannot change as what it ends. */
void step_terminate(struct core *c, struct jobrec *r, struct steprec *st, enum job_state how,
                    int64_t kill_wait_us, const char *line, const char *detail);
void steps_end_with_job(struct core *c, struct jobrec *r); /* the job ends: they are told with it */
/* The run is over: so are all its steps. */
void steps_close(struct core *c, struct jobrec *r, enum job_state how);
/* Their parts there are over. */
void steps_node_gone(struct core *c, struct jobrec *r, uint32_t node, bool failed);
/* The connection is gone: if the step is its, the grace for its command begins. The step may be
 * over. */
void step_closed(struct core *c, uint64_t job_id, int64_t step_id, uint64_t conn);
/* The time of a step of the job is over (steps_due): those for which it is are ended. */
void steps_fire(struct core *c, struct jobrec *r);
/* A node that is back says what it has: parts that it lacks are launched again or lost, and what it
 * has of no live step is ended. */
void steps_reconcile(struct core *c, struct noderec *n, struct jobrec *r,
                     const struct msg_node_hello *m);

/* ---- held.c: what a node says that it holds -------------------------------------------------- */

/* The same hello with what is held in order, each once; in the arena. */
struct msg_node_hello held_sorted(const struct msg_node_hello *m, struct arena *a);
/* Of a hello in order: what is of the job's run at hand, *ret_n of them. */
const struct held *held_of(const struct msg_node_hello *m, const struct jobrec *r, size_t *ret_n);

#endif
