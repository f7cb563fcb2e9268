/* The life of jobs and reservations: start, end, requeueing, suspension, preemption, resizing. Only
 * core/ includes this. */
#ifndef REMUDA_CORE_LIFE_LIFE_H
#define REMUDA_CORE_LIFE_LIFE_H

#include "core/step/step.h"

/* ---- cron.c ---- */
void crons_again(struct core *c); /* those that are marked wait for their next time */

/* ---- extended.c ---- */
/* The limit of a running job is another (r->j.limit_us). */
void job_limit_changed(struct core *c, struct jobrec *r);
/* It was raised by so much for the peer at hand. */
void job_extended(struct core *c, struct jobrec *r, int64_t add_us);

/* ---- forget.c ---- */
void job_forget(struct core *c, struct jobrec *r); /* out of all indexes, freed */
/* With the components beside it, of which each may go. */
void job_forget_whole(struct core *c, struct jobrec *r);
/* Has it been over for so long, and does nobody wait for it, or for a component beside it? An
 * array's record stays until the last of its elements may go. */
bool job_may_forget(const struct core *c, const struct jobrec *r, int64_t age_us);
/* An element of that user's is to become a record: where MaxJobCount is reached, one that is over
 * goes before MinJobAge. */
void forget_for_room(struct core *c, uint32_t uid);

/* ---- job_hold.c: who holds a job, and who may let it go ------------------------------------- */

/* What the peer at hand holds of that job is an administrator's hold. */
bool hold_of_admin(const struct core *c, const struct jobrec *r);
/* Holds it; as_user: as its owner would. A stronger hold stays. */
void hold_give(struct core *c, struct jobrec *r, bool as_user);
/* The peer at hand may let it go. */
enum refusal hold_release_check(const struct core *c, const struct jobrec *r, const char **detail);
/* Lets it go, whoever held it, without asking who may (hold_release_check). Of a job that does not
 * wait: the hold it was to come back with. */
void hold_end(struct core *c, struct jobrec *r);
/* Of a job that was suspended by somebody and is about to end, for that reason: if it goes back to
 * the queue it is held there as by an administrator, unless it was one who sends it back held. */
void hold_suspended(const struct core *c, struct jobrec *r, enum job_reason why);
/* Of a job that is back in the queue: the hold it was to have then; `why` unless an
 * administrator's. */
void hold_comes_back(struct core *c, struct jobrec *r, enum job_reason why);
void hold_load(struct jobrec *r); /* from the store */

/* ---- depend.c ---- */
/* Those who wait for what has begun or ended look, as many as this step may (work_left). */
void dependents_run(struct core *c);
/* The job, of its user and name, is none of those that live any more: who is a singleton of that
 * name looks. */
void singletons_look(struct core *c, const struct jobrec *done);
/* Goes on with the names that are watched since lately. */
void singletons_run(struct core *c);
/* Are there some who wait for r, or for its array, and are to look still? */
bool dependents_look_still(const struct core *c, const struct jobrec *r);
/* An array's elements whose counterparts are over will become records of their own, some of them in
 * each step, as long as MaxJobCount has room (pairs_run); until then it waits. */
void aftercorr_begin(struct core *c, struct jobrec *master);
void pairs_run(struct core *c); /* as many as this step may, and as there is room for */

/* ---- launch.c ---- */
void launch_send(struct core *c, struct jobrec *r); /* of a job with a script */
/* Of r, which runs: the script starts once all components do. */
void launch_when_whole(struct core *c, struct jobrec *r);

/* ---- start.c ---- */
void starts_apply(struct core *c); /* plans and starts */
/* Who stands first stays first, also in the next life of the controller. */
void firsts_store(struct core *c);
/* A forecast worked out elsewhere: so much of it as a turn may cost; more where f->more. */
void foreseen_adopt(struct core *c, struct foreseen *f);

/* ---- restored.c: a store that is older than what was said last ------------------------------ */
void restored_mark(struct core *c); /* when all rows are loaded */
/* The next job's number is this or higher; never lower than one that was given. */
void ids_raise(struct core *c, uint64_t next);
/* Is it a number that cannot have been given, seeing where ids are? */
bool ids_far_beyond(const struct core *c, uint64_t id);
/* It starts, and was let go since: with a number that no node has had. */
void restored_number(struct jobrec *r);
/* Its node has the very run that the restored store has: nothing has happened since that is not
 * known. Of a heterogeneous job all components. */
void doubt_end(struct core *c, struct jobrec *r);
/* Its node says that it has had that very run: the store is older than anybody said. */
void doubt_begin(struct core *c, struct jobrec *r);
/* It goes back: held, if nobody knows whether it ran. */
void restored_requeue(struct core *c, struct jobrec *r);
/* What a node has: are there numbers or starts that the store has not given yet? Those are believed
 * in its first hello since the controller began, and never after. */
void held_beyond(struct core *c, struct noderec *n, const struct msg_node_hello *m);

/* ---- moved.c: licences and reservation of a running job become others ---- */
/* May the peer give the running job these licences instead of its own? */
enum refusal job_licences_check(struct core *c, const struct jobrec *r, const char *to,
                                const char **detail);
/* The record has them, and what was used before is charged (usage_tick). */
void job_licences_tell(struct core *c, const struct jobrec *r);
/* Could it be in the reservation that the request names, "" = in none? */
enum refusal job_resv_check(struct core *c, const struct jobrec *r, const struct job_request *to,
                            const char *groups, const char **detail);
/* It is in the one that its record asks for now. */
void job_resv_take(struct core *c, struct jobrec *r);
/* Its limit, or the end of its reservation, is another: the planner and its timer know. */
void resv_end_tell(struct core *c, struct jobrec *r);

/* ---- resize.c ---- */
/* A running job, no component, goes on with these of its nodes, or with its first `count`. */
enum refusal job_resize(struct core *c, struct jobrec *r, const char *keep, int32_t count,
                        const char **detail);

/* ---- suspend.c ---- */
void job_suspend(struct core *c, struct jobrec *r, enum suspender by); /* of a running job */
void job_resume(struct core *c, struct jobrec *r);                     /* of a suspended one */
/* Whose resources are free meanwhile: of whom a person stopped, or who yields; of a gang none. */
void suspend_tell_planner(struct core *c, struct jobrec *r);
/* It is suspended no more: adds the time. */
void suspension_count(const struct core *c, struct jobrec *r);

/* ---- gang.c ---- */
void gang_turn(struct core *c, bool slice_over); /* who of those that share CPUs runs now */
/* Of a loaded job: where no partition shares any more, nothing else would have it go on. */
void gang_restore(struct core *c, const struct jobrec *r);

/* ---- preempt.c ---- */
void preempts_apply(struct core *c);                /* what the plan says about running work */
void preempt_end(struct core *c, struct jobrec *r); /* its grace is over */

/* ---- signals.c: to what a job has on its nodes ---- */
/* Job and attempt are set here. */
void job_signal(struct core *c, const struct jobrec *r, struct msg_signal m);
void job_warn(struct core *c, struct jobrec *r); /* --signal, now */
/* For a node that may not have heard of it. */
void suspend_repeat(struct core *c, struct jobrec *r, struct noderec *n);

/* ---- finish.c ---- */
/* Of a job that runs: everything of it is ended. */
void job_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why,
             int64_t kill_wait_us, const char *line);
/* Of a component that is not to run: nor are others that wait, or go back to the queue. */
void het_waits_no_more(struct core *c, const struct jobrec *r, enum job_state how,
                       enum job_reason why);
/* Of a job that holds nothing. */
void job_over(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why);
/* The batch script is over, by a node's report; the first report counts, others only say what is
 * left on the node. */
void batch_exited(struct core *c, struct jobrec *r, const struct msg_report *report);
/* Nothing of the run is left on the node. The last of them ends a job that is ending, which may
 * free it from its holds, and send it back to wait. UINT32_MAX = no node: only looks whether all
 * are free. */
void node_released(struct core *c, struct jobrec *r, uint32_t node);
/* The node is gone, with what the job had there. It goes on without it where it gave the node back
 * anyway or has --no-kill; otherwise it ends as NODE_FAIL, or is sent back. */
void job_node_lost(struct core *c, struct jobrec *r, uint32_t node);
/* Of a job that runs: its machine was started anew and is connected, and has nothing of it but its
 * epilog yet to run; for that it is told to end. */
void job_node_visited(struct core *c, struct jobrec *r, uint32_t node);
/* The node could not begin the run. It is over, or goes back where another node may do better
 * (report->retry): held, if the prolog failed or it went back too often. */
void launch_failed(struct core *c, struct jobrec *r, const struct msg_report *report);
/* To every connected node where the run still has something: end it, with SIGKILL after
 * kill_wait_us. why: the words of the line in its output; NULL = no line. */
void terminate_send(struct core *c, struct jobrec *r, int64_t kill_wait_us, const char *why);
/* Tells the node of that hold to end what the job has there; nothing where it is free already or
 * not connected. */
void hold_terminate(struct core *c, struct jobrec *r, const struct node_hold *h);

/* ---- gpu_idle.c ---- */
void gpu_idle_look(struct core *c, const struct noderec *n); /* it said what its GPUs do */

/* ---- requeue.c ---- */
/* Its run is about to end by what it ran on, not by itself: it will go back (requeue_pending), and
 * wait held where that was so more often than MaxBatchRequeue in a row. */
void requeue_failed(struct core *c, struct jobrec *r);
/* It was cancelled on its way back, and is not to be held for why it went. */
void requeue_drop(const struct core *c, struct jobrec *r);
/* Somebody sends it back, and has looked: its failures do not count any more, nor hold it. */
void requeue_forgive(const struct core *c, struct jobrec *r);
/* From the end of a run, or from being over; `how` is what the former run is remembered as. */
void back_to_pending(struct core *c, struct jobrec *r, enum job_state how, bool special);
/* The run that is to be requeued (requeue_pending) holds nothing any more: the job waits again,
 * with its components. */
void requeue_finish(struct core *c, struct jobrec *r);

/* ---- closed.c ---- */
void waiters_closed(struct core *c, uint64_t conn);

/* ---- het.c ---- */
/* r ends so while it runs: appends the components that run and have to end with it. */
void het_ending_with(const struct core *c, const struct jobrec *r, enum job_state how,
                     jobrec_vec *out);
/* r is over without having run: appends the components that wait, or were to go back, and are over
 * with it. */
void het_over_with(const struct core *c, const struct jobrec *r, jobrec_vec *out);
/* Other ends as r does. */
void het_fate_share(struct core *c, struct jobrec *other, const struct jobrec *r);

/* ---- allocation.c ---- */
bool allocation_attached(const struct jobrec *r); /* it belongs to a connection */
/* It runs: who waits for it is told once all components do. */
void allocation_announce(struct core *c, const struct jobrec *r);
void allocation_hold(struct core *c, struct jobrec *leader); /* by the connection at hand */
/* The command that held it has hung up: grace begins. Nothing, where another holds it by now. */
void allocation_closed(struct core *c, uint64_t leader, uint64_t conn);
void allocation_lonely(struct core *c, struct jobrec *leader);   /* nobody holds it now */
void allocation_restored(struct core *c, struct jobrec *leader); /* the controller was away */
void allocation_abandon(struct core *c, struct jobrec *leader);  /* its grace is over */
/* Its command ends: it is over, or ended as `how`. */
void component_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why,
                   const char *line);

/* ---- reservation.c ---- */
void resv_save(struct core *c, struct resvrec *v); /* its row */
void resv_tell(struct core *c, struct resvrec *v); /* the planner */
/* It is over: jobs that wait for it are held, or go on without it; those that ended lose its name,
 * too. */
void resv_drop(struct core *c, struct resvrec *v);
/* That run in it, or wait for it. */
size_t resv_jobs(const struct core *c, const char *name, bool running);
/* Into core.resv: by the time they were made, so that a restart does not change their order. */
void resv_insert(struct core *c, struct resvrec *v);
/* A row of the store; the planner hears of it by resvs_restore, when nodes and partitions are
 * there. */
void resv_load(struct core *c, const struct reservation *row);
/* Tells the planner of all, when all rows are loaded. */
void resvs_restore(struct core *c);
void resvs_fire(struct core *c);         /* begins, ends, recurrences, purges that are due */
int64_t resvs_due(const struct core *c); /* INT64_MAX = never */
/* The list without blanks, with each name once: each is looked for several times. Lives as long as
 * the turn. */
const char *resvs_once(const struct core *c, const char *names);
/* May this user run jobs with that request in the reservations it names? Fills why not. */
enum refusal resv_check(const struct core *c, const struct job_request *req, const char *user,
                        const char *groups, struct str *why);
/* May a job that was let in stay with another account? Fills why not. */
enum refusal resv_account_check(const struct core *c, const struct job_request *req,
                                const char *user, struct str *why);
/* Says to the user that a job does not outlive its reservation, where its limit is longer. */
void resv_warn(const struct core *c, const struct job_request *req, struct str *to);
/* The reservations that q->names lists (NULL = all), each to v->row. PrivateData is the view's to
 * heed. *ret_shown: how many. */
void resv_show(const struct core *c, const struct msg_query *q, int64_t now_us,
               const struct view *v, size_t *ret_shown);

/* ---- limits.c ---- */
/* Limits, accounts, QOS or what is insisted on changed: for all jobs anew. */
void limits_anew(struct core *c);
/* All jobs are looked at anew, whatever limits there are. */
void jobs_anew(struct core *c);
/* The next of them: while c->slices.anew.on. */
void limits_look_on(struct core *c);
/* Who may gain priority by age now does (record/accounts/accrue.h). */
void accruing_run(struct core *c);
/* Use, or what runs, changed (record/accounts/minutes.h). */
void minutes_look(struct core *c);

#endif
