/* Records and what follows from changing them at once: indexes, counts, texts, due times, and which
 * waiting jobs the planner gets. The ground of core/: it calls no other room. Only core/ includes
 * this. */
#ifndef REMUDA_CORE_RECORD_RECORD_H
#define REMUDA_CORE_RECORD_RECORD_H

#include "core/record/state.h"
#include "core/record/users/crontab.h"
#include "core/record/users/owner.h"
#include "core/record/users/user_room.h"

/* ---- effects.c ---- */
/* Zeroed but for its kind, last of the list; the pointer holds until the next one is added. */
struct effect *effect_add(struct effects *fx, enum effect_kind kind);
/* The row of its key becomes `record`, of the struct whose fields the table has (store_table_rows).
 * Here and below, what is given is copied with its texts: it may stand on the stack. */
void fx_store(struct core *c, enum store_table table, const void *record);
/* The row with the key of `record` goes; its other fields are not looked at. */
void fx_remove(struct core *c, enum store_table table, const void *record);
/* The request at hand moves the past to files: the shell does that, and answers it. */
void fx_archive(struct core *c, const struct msg_archive *m);
/* Unless there is one of that key. */
void fx_add(struct core *c, enum store_table table, const void *record);
/* Answers a request of any connection, once; it leaves when what this turn stores is committed.
 * `body` is the struct of that kind. */
void fx_reply(struct core *c, uint64_t conn, uint64_t seq, enum message_kind kind,
              const void *body);
/* Says something to a connection unasked, a node's or that of a job's command, after the commit.
 * payload_job: the shell adds the script and environment of that job; 0 = of none. */
void fx_send(struct core *c, uint64_t conn, enum message_kind kind, const void *body,
             uint64_t payload_job);
/* The message sent last to one more connection; it is encoded once. */
void fx_send_also(struct core *c, uint64_t conn);
/* A line of the controller's log, without a newline. */
void fx_log(struct core *c, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* node_log.c: the same of what a node has said: a line of 2 KiB at most, 64 at once and one in ten
 * seconds of a node; how many are missing is logged with the next. */
void node_log(struct core *c, struct noderec *n, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The text, or so many bytes of it and dots, in the arena; NULL stays NULL. */
const char *text_head(struct arena *a, const char *text, size_t most);
/* Answers the request at hand. */
void reply_done(struct core *c, enum refusal refusal, const char *detail);
/* Something changed that may let a job start, or start otherwise: the next EV_WAKE plans. */
void plan_soon(struct core *c);

/* ---- marks.c ---- */
/* Resources of the job may have become free. */
void steps_retry_soon(struct core *c, struct jobrec *r);
/* It waits for what can never be: cancelled. */
void job_never_soon(struct core *c, const struct jobrec *r);
/* So much may be done in one step of what may concern very many jobs: one that is dealt with counts
 * as WORK_JOB, one that is only passed by in a list as 1. */
#define WORK_JOB 1024u
void work_add(struct core *c, size_t n);
bool work_left(const struct core *c); /* may this step do more of it? */

/* ---- texts.c ---- */
/* A field of a record becomes `text`, which is copied and may be what stands there; "" is kept as
 * NULL. What stood there must be of the pool, too, or NULL. */
void text_set(struct core *c, const char **to, const char *text);
/* Copies, interning texts; `to` is overwritten. */
void record_intern(struct core *c, const struct fields *t, void *to, const void *from);
/* One field, texts not copied. */
void field_copy(const struct field *f, void *to, const void *from);
void record_drop(struct core *c, const struct fields *t, void *record); /* gives its texts back */

/* ---- facts.c ---- */
/* NULL = not in memory: never there, forgotten after MinJobAge, or an element that has no record of
 * its own yet. */
struct jobrec *job_find(const struct core *c, uint64_t id);
/* NULL = no array, or none of its elements has become a record yet. */
struct arrayrec *array_of(const struct core *c, uint64_t array_id);
/* The record of an array with indexes left. */
bool job_is_array(const struct jobrec *r);
bool job_live(const struct jobrec *r); /* not over */
/* PENDING, or held as SPECIAL_EXIT. */
bool job_waits(const struct jobrec *r);
bool array_over(const struct core *c, uint64_t array_id); /* all its elements are */
/* May the peer at hand do what its owner could do himself: run programs in it, have the streams of
 * those that run? Its owner and root. */
bool may_act_as(const struct core *c, const struct jobrec *r);
/* May the peer at hand keep and end what its owner began? Its owner and operators. */
bool may_control(const struct core *c, const struct jobrec *r);
/* May the peer at hand cancel, hold and change it? Coordinators of its account, too. */
bool may_manage(const struct core *c, const struct jobrec *r);
/* The place in the order that it took of another (job.place); job_id 0 = it has its own. And
 * back. */
struct order_place place_taken(const struct jobrec *r);
/* Kept as a text of the record; its own place is kept as none. */
void place_give(struct core *c, struct jobrec *r, const struct order_place *place);
void place_nice(struct core *c, struct jobrec *r, int32_t nice); /* of one that it took */
/* Does the peer at hand do so as an operator, or as a coordinator of its account? */
bool peer_directs(const struct core *c, const struct jobrec *r);
/* Is the peer a coordinator of the account, or of one above it? Not from a host that is not
 * believed to have administrators. */
bool peer_coordinates(const struct core *c, const struct peer *peer, const char *account);
/* May it do what operators may; administrate? NULL, a peer from a host that is not believed in this
 * (peer.is_plain) and one without a known name may not. */
bool peer_operates(const struct core *c, const struct peer *peer);
uint32_t job_payer(const struct job *j); /* its owner, as peer_payer */
/* reconfigure, shut down, accounts of all */
bool peer_administers(const struct core *c, const struct peer *peer);
/* Past its limit; TIME_UNLIMITED. */
int64_t job_over_time(const struct core *c, const struct jobrec *r);
/* INT64_MAX = none; the over-time allowance not counted. */
int64_t job_limit_end(const struct core *c, const struct jobrec *r);
int64_t job_run_end(const struct jobrec *r); /* the same; of a suspended one what it was then */
int64_t job_ran_until(const struct core *c, const struct jobrec *r); /* now, or its suspension */
/* Appends what the nodes of an allocation have together: "gpu:v100=4,nic=2"; nothing where it has
 * none. */
void alloc_gres_text(const struct alloc *al, struct str *out);
/* Now, as the end of what began at start_us: by a clock that was set back a little nothing ends
 * before it began. */
int64_t clock_end(const struct core *c, int64_t start_us);
/* What the job has, or is leaving, of the node; NULL = nothing. Valid until a hold comes or
 * goes. */
struct node_hold *hold_find(struct jobrec *r, uint32_t node);
bool hold_leaving(struct jobrec *r, uint32_t node); /* given back, and not yet free */
/* By hand, after a loss or to give way: --requeue, --no-requeue, JobRequeue. */
bool job_may_requeue(const struct core *c, const struct jobrec *r);
/* NULL = no such node, or no name. Withdrawn nodes are found, too. */
struct noderec *node_find(const struct core *c, const char *name);
/* Its number in core.node, which it keeps as long as the controller lives. */
uint32_t node_index(const struct core *c, const struct noderec *n);
/* One partition, not a list of them; NULL = none of that name. */
struct partrec *part_find(const struct core *c, const char *name);
/* The first of a list that is there; NULL = none is. */
const struct partrec *part_first(const struct core *c, const char *names);
/* A step of the run at hand, alive or ended; NULL = not in memory. */
struct steprec *step_find(const struct jobrec *r, int64_t step_id);
/* It has not ended; it may be ending. */
bool step_live(const struct steprec *st);
/* The step's part on a node, which may be over; NULL = it never had one there. */
struct steppart *step_part(struct steprec *st, uint32_t node);
/* How rare the samples of a job may be that asks for memory, which is watched by them, in µs; 0 =
 * any gap will do. */
int64_t sampled_gap_most(const struct core *c);
/* Does --acctg-freq ask for rarer ones than JobAcctGatherFrequency, though `memory` asks for
 * memory? */
bool sampled_too_seldom(const struct core *c, const struct job_spec *asked,
                        const struct job_request *memory);
/* Of a partition or reservation: 1 to 256 bytes, none that a list or a line would part. */
bool record_name_fits(const char *name);
/* A named field whose text no line of the configuration could hold; NULL: there is none. */
const char *text_unfit(const struct fields *t, const char *named, const void *values);
/* Are its names, those it was given and those it names, no longer than they may be? Submission and
 * `scontrol update` ask. */
bool spec_names_fit(const struct job_spec *s);
#define SPEC_NAMES_LONG "names of jobs, accounts, QOS and workload keys are at most 1024 bytes long"
/* Which of its files or directories has a name that no node could open, as it was given? NULL =
 * none. Submission and `scontrol update` ask; what a name grows to is bounded where it grows
 * (pattern.h). */
const char *spec_path_long(const struct job_spec *s);
#define SPEC_PATH_LONG "%s is too long: the longest that any node can open has 4095 bytes"
bool steps_on_node(const struct jobrec *r, uint32_t node); /* one has a live part there */
uint64_t leader_of(const struct jobrec *r);                /* of a heterogeneous job, else itself */
/* The leader and its components, in order; a plain job alone. */
void components_find(const struct core *c, uint64_t leader, jobrec_vec *out);
/* a batch job, and of a heterogeneous one the leader. */
bool job_has_script(const struct jobrec *r);
/* Since when a command is away, in a controller that has just started: as stored, but a quarter of
 * AttachGrace is left to come back in; 0 = it was there to the end. */
int64_t lonely_since(const struct core *c, int64_t stored_us);
/* When the grace of a command that is away since then is over: not while the store is away, for
 * who comes back is not heard then; INT64_MAX = it is there. */
int64_t grace_end(const struct core *c, int64_t lonely_us);
/* When its grace is over; INT64_MAX = none runs. */
int64_t allocation_due(const struct core *c, const struct jobrec *r);
/* NULL = none of that name. */
struct resvrec *resv_find(const struct core *c, const char *name);
/* When the reservation ends the running job; INT64_MAX = it does not. */
int64_t resv_job_end(const struct core *c, const struct jobrec *r);
/* The partition of the first of a list of reservations that is there and has one; NULL = none
 * has. */
const char *resv_partition(const struct core *c, const char *names);
bool resv_there(const struct core *c, const char *names); /* one of them is */
/* The first of a list of reservations that is there and is not for this user with this account;
 * NULL = none is. Groups are not asked: of jobs those of their owners are not known. */
const struct resvrec *resv_closed(const struct core *c, const char *names, const char *user,
                                  const char *account);

/* ---- records.c: texts, records, indexes ---- */
struct jobrec *job_new(struct core *c, uint64_t id); /* zeroed, in the map */
/* Its row, once, at the end of the step: saves_write. */
void job_save(struct core *c, struct jobrec *r);
uint64_t job_id_take(struct core *c);             /* a new number, never given before */
void job_write(struct core *c, struct jobrec *r); /* its row, now */
/* Rows of all jobs that are marked, once each, and the number that the next job gets. */
void saves_write(struct core *c);
/* Made, and kept in core.jobs.array, where there is none. */
struct arrayrec *array_ensure(struct core *c, uint64_t array_id);
/* Not the records of its elements; whoever frees it takes it out of the map. */
void array_free(struct arrayrec *array);
/* Keeps the lists of watched names. */
void live_index(struct core *c, struct jobrec *r, bool live);
/* NULL: nobody watches its name. */
struct namesakes *namesakes_of(const struct core *c, const struct jobrec *r);
/* From now on a list of live jobs of its user and name is kept. All jobs are looked at once. */
void singleton_watch(struct core *c, struct jobrec *r);
/* Looks at some more; true when its list is known. */
bool namesakes_go_on(struct core *c, struct namesakes *same);
void singleton_forget(struct core *c, struct namesakes *same); /* nobody is left of the name */
void namesakes_free(struct namesakes *same); /* it is in no map any more; NULL does nothing */

/* ---- job_state.c: the only place that writes a job's state ---------------------------------- */
/* The move must be one that model/state.h allows, or the controller stops. Counts, indexes, due
 * times and those who depend on the job follow; the row is saved by the caller. */
void job_move(struct core *c, struct jobrec *r, enum job_state to);
/* COMPLETING or REQUEUED. */
void job_move_ending(struct core *c, struct jobrec *r, enum job_state to, enum job_state end_state);
void job_start_state(struct core *c, struct jobrec *r);   /* a new record: PENDING */
void job_restore_state(struct core *c, struct jobrec *r); /* a loaded record keeps its state */

/* ---- array.c ---- */
/* After master->pending changed: the text of it that is stored and shown. */
void array_pending_text(struct core *c, struct jobrec *master);
/* Keeps the counts of its array right when an element comes (sign +1) or is about to change
 * (-1). */
void array_count(struct core *c, const struct jobrec *r, int sign);
/* Holds it, or lets it go; the only place that does, for arrays count it. */
void hold_write(struct core *c, struct jobrec *r, bool hold);

/* ---- split.c ---- */
/* Makes index `task` a record of its own; the last index takes the array's own record. */
struct jobrec *array_split(struct core *c, struct jobrec *master, uint32_t task);
/* The same for many at once: each is taken, then the array's record is put in order. */
struct jobrec *array_split_one(struct core *c, struct jobrec *master, uint32_t task);
/* An index of it became a record: what of it waits is written anew. Nothing for the last. */
void array_taken(struct core *c, struct jobrec *master);

/* ---- refs.c ---- */
/* Records that a reference means. False: there is none. With `split` one pending element becomes a
 * record, and lists of them are left for ref_split. */
bool ref_resolve(struct core *c, const struct job_ref *ref, bool split, jobrec_vec *out);
/* Of the elements that a reference lists and that wait: so many at most, from *from on, become
 * records. 0: there are no more. */
size_t ref_split(struct core *c, const struct job_ref *ref, uint32_t *from, size_t most,
                 jobrec_vec *out);
/* How many a reference would make jobs of their own; above `most` it is not counted further. */
size_t ref_split_count(const struct core *c, const struct job_ref *ref, size_t most);
/* Cuts a list at commas outside brackets; *at: where the next begins. */
const char *refs_next(const char **at, struct arena *a);
/* Records that a list of references means; nothing is split. Refused (with a detail) at the first
 * that means none. */
enum refusal refs_collect(struct core *c, const char *refs, jobrec_vec *out, const char **detail);
/* What resolving it takes, in records looked at, and what one request may take:
 * what there is, twice over. */
size_t ref_work(const struct core *c, const struct job_ref *ref);
/* What one turn may spend on references; more is cut into turns (sweeps). */
size_t refs_work_most(const struct core *c);
#define REFS_WORK_TEXT "the same jobs are named again and again: name each once"

/* ---- eligible.c: holds, begin times, dependencies; what the planner gets -------------------- */
/* After anything that may matter for a pending job. */
void eligible_update(struct core *c, struct jobrec *r);
/* The job as the planner is told of it while it waits; texts are the record's, or of the event. */
struct waiting planner_told(struct core *c, const struct jobrec *r, uint32_t elements);
/* The same of one that the planner does not have: without the reservations and limits that it would
 * be told of. */
struct waiting planner_would(const struct core *c, const struct jobrec *r, uint32_t elements);
/* Eligible, and kept from the planner by a limit in minutes, on a job, or of its array. */
bool job_is_kept(const struct core *c, const struct jobrec *r, int64_t now_us);
/* Ret_wait->detail … may stay NULL. */
enum job_reason pending_reason(const struct core *c, const struct jobrec *r, int64_t now_us,
                               struct plan_wait *ret_wait);

/* ---- waited.c: what jobs waited for ---- */
void waited_begins(struct core *c, struct jobrec *r); /* a requeued job waits anew */
/* From now on; NONE = the planner knows. Counts the time before. */
void waited_cause(struct core *c, struct jobrec *r, enum job_reason cause);
/* Up to now, into r->j.waited_for; of a pending job. */
void waited_count(struct core *c, struct jobrec *r);
/* The same without changing anything. */
const char *waited_text(const struct core *c, const struct jobrec *r, struct arena *a);
/* The planner no longer has it: counts, too. */
void planner_leave(struct core *c, struct jobrec *r);

/* ---- dependees.c ---- */
/* It is in memory, or it is over and forgotten and that is all that is waited for. */
bool dependee_known(const struct core *c, const struct dependency *d);
/* What has become of it, for r, which waits for it: "job 7_3 is FAILED"; of a whole array how many
 * of its elements wait, ended well and so on. Nothing where it is not in memory. */
void dependee_say(const struct core *c, const struct jobrec *r, const struct dependency *d,
                  struct str *out);
/* Writes status and `now` of a condition of r that is open. *ret_due_us: when time alone will
 * change it; INT64_MAX = it will not. */
void dependee_look(const struct core *c, const struct jobrec *r, struct dependency *d,
                   int64_t *ret_due_us);

/* ---- dependencies.c ---- */
/* Parses, checks ids, indexes. What is said of others (before…) is left to request/before.c. */
bool dependencies_set(struct core *c, struct jobrec *r, const char *text, struct err *ret_err);
/* It has another name: what it waits for as a singleton are jobs of that one. */
void dependencies_renamed(struct core *c, struct jobrec *r);
void dependencies_restore(struct core *c, struct jobrec *r); /* of a loaded record, from its text */
/* An element that becomes a record of its own waits for all that its array waits for. */
void dependencies_inherit(struct core *c, struct jobrec *element, const struct jobrec *master);
/* It waits for nothing any more; its text, spec.dependency, stays. */
void dependencies_drop(struct core *c, struct jobrec *r);
/* When after:ID+minutes is over; INT64_MAX = none is open. */
int64_t dependencies_due(const struct core *c, const struct jobrec *r);
/* Looks what became of those it waits for. */
enum dep_status dependencies_update(struct core *c, struct jobrec *r, bool *ret_changed);
/* May so many waiting elements of the array become jobs of their own, each with all that the array
 * waits for? Also where the queue has no room for them not; *detail says why. */
bool dependencies_split_fit(const struct core *c, const struct jobrec *master, size_t more,
                            const char **detail);
/* Does a job of the list wait for r, by whatever way? *looks: conditions that were looked at are
 * added; with more than CIRCLE_LOOKS_MOST it counts as one, as nobody has the time to see. */
#define CIRCLE_LOOKS_MOST (1u << 18)
#define CIRCLE_UNSEEN_TEXT                                                                         \
    "the jobs it would wait for wait for so many others (more than 262,144 conditions together) "  \
    "that it cannot be seen in time whether one of them waits for it: let one job wait for many, " \
    "and the others for that one"
/* Would `r` wait for itself? Counts what it looks at off *looks; true, too, with none left. */
bool dependency_circle(const struct core *c, const struct jobrec *r,
                       const struct dependency_list *list, size_t *looks);
/* One of those that its open on:COUNT waits for has come: r waits for it by d. */
void dependency_counted(struct core *c, struct jobrec *r, struct dependency *on,
                        const struct dependency *d);
/* Those that went leave the list of who waits for that job; an empty one goes. */
void dependents_pack(struct core *c, uint64_t key, struct id_list *list);
/* At the end of this step: dependents_run. */
void dependents_wake(struct core *c, const struct jobrec *ended_or_started);
/* An ended job will run again: it has not failed those who wait for it. */
void dependents_reopen(struct core *c, const struct jobrec *again);

/* ---- due.c ---- */
/* After whatever this file reads of the job changed; costs little where nothing did. A time that is
 * later than before leaves an entry that is out of date. */
void timer_arm(struct core *c, struct jobrec *r);
/* The shortest limit of a job with a deadline and none of its own. */
void deadline_shortest(struct job_spec *spec);
/* Unless it is armed already. */
void node_timer_arm(struct core *c, struct noderec *n, int64_t at_us);
/* After it fired: not at once, so that no job can hold the clock. */
void timer_arm_again(struct core *c, struct jobrec *r);
/* Of an ended job that somebody still waits for. */
void timer_arm_later(struct core *c, struct jobrec *r);
/* Takes out the next that is due now; false: none is. */
bool timer_next(struct core *c, struct alarm *ret);
/* When timer_next may have one, INT64_MAX = never; it may be early, as entries can be out of
 * date. */
int64_t timers_due(const struct core *c);
/* When something happens to a job; INT64_MAX = never. */
/* Its time limit is over, with what it may run beyond. */
int64_t due_kill(const struct core *c, const struct jobrec *r);
/* --signal: when it is sent, of one that is suspended by the end it had as it was stopped. */
int64_t job_warning_at(const struct jobrec *r);
/* when --signal is due; INT64_MAX = never, or done */
int64_t due_signal(const struct jobrec *r);
/* Later it could not end by its deadline. */
int64_t due_latest_start(const struct jobrec *r);
struct limit_mail {
    uint32_t type;   /* a bit of enum mail_type */
    int64_t percent; /* of the time limit */
};
#define LIMIT_MAILS 3
extern const struct limit_mail limit_mails[LIMIT_MAILS];
/* When that part of the limit is over (likewise), unless it was sent or nobody asked for it. */
int64_t due_mail(const struct jobrec *r, const struct limit_mail *m);
/* Of its own time limit (srun --time), over-time and stopped time added. */
int64_t step_limit_end(const struct core *c, const struct jobrec *r, const struct steprec *st);
int64_t step_grace_end(const struct core *c, const struct steprec *st); /* its command stays away */
void timers_anew(struct core *c);                                       /* all times have moved */
/* The first of its steps that is to end, by its limit or because its command stays away. */
int64_t steps_due(const struct core *c, const struct jobrec *r);

/* ---- holds.c ---- */
void alloc_sums(struct core *c, struct jobrec *r, const struct alloc *al); /* counts, nodes, GRES */
void holds_add(struct core *c, struct jobrec *r, const struct alloc *al);  /* of all its nodes */
/* Into the row what nodes that leave still have, of `more` (or NULL), too. The caller saves. */
void leaving_note(struct core *c, struct jobrec *r, const struct alloc *more);
void alloc_shrink(struct core *c, struct jobrec *r); /* it goes on without those that leave */
/* After loading: given back, something was still there. The caller tells the planner. */
void hold_leave_again(struct core *c, struct jobrec *r, uint32_t node);

/* ---- kept.c: rows of a job that lives on ---- */
/* A former run; `how` is what it is remembered as. */
void run_keep(struct core *c, const struct jobrec *r, enum job_state how);
void job_part_keep(struct core *c, struct jobrec *r); /* what it had before it became smaller */

/* ---- preempted.c ---- */
/* It goes back when it gave way. */
bool preempt_requeues(const struct core *c, const struct jobrec *r);
/* Within its grace, because it was told to. */
bool preempt_ended_by_itself(struct core *c, struct jobrec *r, const struct msg_report *report);
/* Whatever it was told is past: it ended, went back, or goes on. */
void preempt_clear(struct jobrec *r);

/* ---- capacity.c ---- */
/* From what is configured and what it reported. */
void node_capacity(struct core *c, struct noderec *n);
/* Adds to `seen`, the node as the planner is to see it, the GPUs that are configured and not there,
 * as broken ones; texts in the arena. */
void node_missing_plan(const struct noderec *n, struct arena *a, struct node *seen);

/* Tells the planner how the node is now, and looks whether triggers wait for that. A node that is
 * not connected counts as not there. */
void node_plan_update(struct core *c, struct noderec *n);
/* Its row, and its spell if it is otherwise now; nothing of a node that was withdrawn. */
void node_save(struct core *c, struct noderec *n);
/* The same, where it is otherwise than stored: of a node that comes and goes nothing is. */
void node_save_changed(struct core *c, struct noderec *n);
/* Spells: how a node was from when to when, for reports. Begins a new one if it is otherwise than
 * the last one says. */
void node_spell_note(struct core *c, struct noderec *n);
void node_spell_end(struct core *c, struct noderec *n); /* it is no more */
/* The last open one counts; rows may come in any order. */
void node_spell_load(struct core *c, const struct node_spell *row);
/* The job holds something of the node; each pair is added once, and removed once. */
void node_job_add(struct core *c, uint32_t node, uint64_t job_id);
/* It has nothing there any more; the node is idle since now, if that was the last. */
void node_job_remove(struct core *c, uint32_t node, uint64_t job_id);
/* The controller's own, now. */
void node_reason_set(struct core *c, struct noderec *n, const char *reason);
#define REASON_SILENT "Not responding" /* Slurm's words, of a node that is DOWN as it is silent */
/* It is DOWN because nothing was heard of it, and nobody has said otherwise. */
bool node_is_silent(const struct noderec *n);
enum site_program { SITE_PROLOG, SITE_EPILOG };
/* Drains the node in Slurm's words, unless it is drained. detail: what it said; NULL = nothing. */
void node_program_failed(struct core *c, struct noderec *n, enum site_program which,
                         const char *detail);
/* A launch failed there as any would have, because of `detail` (may be NULL): drains the node, in
 * Slurm's words and these, at the third since one worked. */
void node_launch_failed(struct core *c, struct noderec *n, const char *detail);

/* ---- former_runs.c: runs that a node has of jobs that went on without it -------------------- */
/* May the node have had that run? False: it surely never had (core_node_had). */
bool former_run_may_be(const struct core *c, const struct noderec *n, uint64_t job_id,
                       uint32_t attempt);
/* Its job waits, where the node may have had it. Runs of one job are named one after the other. */
void former_run_keep(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt);
/* Nothing is left of it: its job, if it still is, may start. Of a run that is not kept: nothing. */
void former_run_over(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt);
void former_runs_forget(struct core *c, struct noderec *n); /* the connection is gone */
void had_nodes_note(struct core *c, struct jobrec *r);      /* its nodes are about to be others */

/* ---- device_words.c ---- */
/* A node's devices_out (NULL: none) as sentences; NULL = nothing. */
const char *node_devices_said(const char *devices_out, struct arena *a);
/* Which of its processes cannot be killed, where, in words; NULL = none is known. */
const char *job_stuck_said(const struct core *c, const struct jobrec *r, struct arena *a);
/* Appends what is out of use of an allocation's devices: "gpu 0 of n1 is not clean: …". */
void alloc_outs_say(const struct core *c, const struct alloc *held, struct arena *a,
                    struct str *out);

/* ---- gpu_idle.c ---- */
struct gpu_use;
struct gpu_idle;
void node_gpus_set(struct core *c, struct noderec *n, const char *text); /* NULL: not known */
void node_gpus_forget(struct noderec *n); /* until it says anew: its daemon is away */
const struct gpu_use *node_gpu_use(const struct noderec *n, uint32_t index); /* NULL: not known */
/* Of any type, in the allocation that it has or had last. */
bool job_has_gpus(const struct jobrec *r);
/* So long all GPUs of a job (of all its components) have been idle, not counting the grace after
 * its start; 0 = they are not; -1 = that is not known. */
int64_t job_gpus_idle(const struct core *c, const struct jobrec *r, int64_t grace_us,
                      int64_t *ret_gpus);
/* What is done about it, with the times for this job; no stages = nothing. Appends whose policy it
 * is ("GpuIdle of partition gpu"), unless NULL. */
void gpu_idle_policy(const struct core *c, const struct jobrec *r, struct gpu_idle *ret,
                     struct str *ret_whose);
/* "its GPU has done nothing for 00:45:00; after 02:00:00 it is cancelled (GpuIdle of …)"; false =
 * it is not idle, or that is not known. */
bool gpu_idle_say(const struct core *c, const struct jobrec *r, struct str *out);
/* Sent back so often, it waits held (MaxBatchRequeue); one of scrontab does not. */
bool gpu_idle_holds(const struct core *c, const struct jobrec *r, uint32_t requeues);

/* ---- waiters.c ---- */
/* Answers when the job with all its elements or components is over: at once, where it is. */
void req_wait_job(struct core *c, const struct msg_wait_job *m);
/* The peer at hand may have no more. */
bool waiters_full(const struct core *c, const struct message *m);
/* The request at hand is answered later. */
void waiter_add(struct core *c, enum wait_kind kind, uint64_t job_id, int64_t step_id);
/* Answers whoever waits for its end, if the job, with all its array or components, is over. */
void waiters_answer(struct core *c, uint64_t job_id);
int32_t status_rank(int32_t status);         /* exit code as Slurm counts: 128 and the signal */
int32_t status_higher(int32_t a, int32_t b); /* the wait status of the higher rank */
/* What a script or step is that ended by itself with this wait status: one that a signal ended is
 * CANCELLED, as in Slurm's accounting, whoever sent it. */
enum job_state status_state(int32_t status);

/* ---- diag.c ---- */
/* All counters from zero, as sdiag --reset; its start and what was backfilled ever stay. */
void diag_reset(struct core *c);
void diag_count_end(struct core *c, const struct jobrec *r); /* of a job that is over */

/* ---- mail.c ---- */
/* Mails what happened (one bit of enum mail_type), if --mail-type asked for it; elements of an
 * array say it together unless that says ARRAY_TASKS. */
void mail_job(struct core *c, struct jobrec *r, uint32_t type);
/* That its GPUs are idle, in that sentence, whatever its --mail-type; for an array likewise. */
void mail_gpu_idle(struct core *c, struct jobrec *r, const char *sentence);

#endif
