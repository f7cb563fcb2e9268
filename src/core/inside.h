/* Inside of the controller's machine; only files of core/ include this. */
#ifndef REMUDA_CORE_INSIDE_H
#define REMUDA_CORE_INSIDE_H

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/core.h"
#include "model/alloc.h"
#include "model/array.h"
#include "model/dependency.h"
#include "model/limits.h"
#include "sched/cluster.h"
#include "sched/plan.h"

/* ---- what the machine holds ---------------------------------------------------------------------------------------------- */

/* A node a job holds. */
struct hold {
    uint32_t node; /* index in core.node */
    bool released; /* its resources are free again */
    bool told;     /* something of the job was launched there: it is free when the node says so */
    bool leaving;  /* the job gave it back (resize.c), and goes on without it */
};

/* What a step has on one node. */
struct steppart {
    uint32_t node; /* index in core.node */
    int32_t tasks;
    bool seen;        /* the node was seen to have it */
    bool over;        /* all its tasks there are gone */
    struct step used; /* what the node measured last; only its usage is set */
};

/* A step of the run at hand. Ended ones stay a while for callers that come back. */
struct steprec {
    struct step s;             /* texts interned; its usage is that of all parts together */
    VEC(struct steppart) part; /* none of the batch step */
    bool part_ordered;         /* by ascending node, as they nearly always are */
    struct step ended_use;     /* usage of the parts that are over */
    int32_t ended_tasks;
    struct arena *arena; /* of the next two; NULL once it is over */
    struct alloc layout;
    struct msg_create_step *asked; /* NULL: the controller was restarted since */
    uint64_t holder_conn;          /* connection of its command; 0 = gone */
    int64_t lonely_us;             /* since when; 0 = it is there, or none is needed */
    int64_t suspended_before_us;   /* of the job, when the step began */
    bool ending;                   /* told to end: as end_as */
    bool with_job;                 /* because its job ends */
    bool gathering;                /* what its nodes said is not summed up yet … */
    bool save_due;                 /* … nor stored (step/gather.c) */
    enum job_state end_as;
    const char *detail; /* why, for its command; interned */
};

/* A step that waits for resources of its job. */
struct stepwish {
    struct arena *arena;
    const struct msg_create_step *m;
    uint64_t conn, seq;
};

/* A job in memory. All texts of `j` are interned in core.pool. There may be a million that wait: small members together, and nothing
 * in it that only few jobs need. */
struct jobrec {
    struct job j;
    struct idset pending;              /* array record: indexes not split off; j.array_pending is its text */
    struct dependency_list deps;       /* v is owned */
    VEC_SMALL(struct steprec *) step;  /* of the run at hand; each owned */
    VEC_SMALL(struct stepwish *) wish; /* in the order they came; each owned */
    VEC_SMALL(struct hold) hold;
    struct step_queue *queue;             /* step/queue.c; NULL = none waits, none left memory */
    int64_t next_step;                    /* number of the next step */
    int64_t gone_user_us, gone_system_us; /* CPU time of steps that left memory */
    int64_t back_us;                      /* came back by a requeue; 0 = not in this life of the controller */
    uint64_t
        holder_conn; /* connection an attached allocation belongs to; 0 = none. Of the leader of a heterogeneous job */
    int64_t lonely_us;  /* since when it has none; 0 = it has one or needs none */
    int64_t charged_us; /* run time that fair share knows of */
    int64_t timer_us;   /* due time in the heap; 0 = none */
    uint32_t mailed;    /* enum mail_type bits of limit mails sent in this run */
    uint32_t order;     /* scontrol top */
    uint32_t
        former_runs; /* that nodes still have, told to end (former_runs.c): it does not start meanwhile */
    enum job_reason
        cause; /* why the planner does not have it, as time is counted (waited.c); NONE: it has it */
    bool cause_known;
    bool waiting;      /* the planner has it */
    bool started;      /* its batch script was seen running in this attempt */
    bool script_ended; /* its batch script is over */
    bool warned;       /* --signal was sent in this run */
    bool steps_due;    /* steps of it are tried again when the event ends */
    bool unsaved;      /* changed in this step; its row is made when the step ends */
};

/* An array: its elements that have records of their own, and counts of them, so that no event walks an array. Elements that left memory stay counted in
 * what is said about ended ones. */
struct arrayrec {
    struct map_u64 *element;       /* task index → struct jobrec */
    uint32_t waiting;              /* elements with records that have not begun */
    uint32_t active;               /* that run or are being cleaned */
    uint32_t live;                 /* that are not over */
    uint32_t well, bad;            /* that ended COMPLETED, otherwise */
    int32_t exit_least, exit_most; /* wait statuses of those that ended */
    int64_t began_us;              /* when the last of those that began did */
    bool begun;                    /* one of them has started */
};

/* A run that a node has and that is not the job's own any more. */
struct former_run {
    uint64_t job_id;
    uint32_t attempt;
};

struct noderec {
    struct node n;    /* texts interned */
    struct node conf; /* as configured, texts interned */
    uint64_t conn;    /* 0 = not connected */
    int64_t pid;
    uint32_t index;                /* in core.node; nodes never leave the list */
    uint64_t devices_seq;          /* age of n.devices_out; 0 = of an earlier life of the controller */
    int64_t lost_us;               /* when the connection went; 0 = it is there, or is known to be silent */
    int64_t alarm_us;              /* when it is looked at whether it is silent; 0 = never */
    VEC(uint64_t) job;             /* jobs that hold something here */
    VEC(struct former_run) former; /* told to end, not yet gone (former_runs.c); empty while not connected */
    bool mentioned;                /* while a configuration is applied */
    bool withdrawn, was_drained;   /* no longer configured; before that */
};

struct partrec {
    struct partition p; /* texts interned */
    bool changed;       /* by scontrol: the stored row beats the configuration */
};

/* A call that is answered later. */
enum wait_kind {
    WAIT_END,        /* wait_job */
    WAIT_ALLOCATION, /* submit with attach, attach: ALLOCATED, then JOB_ENDED */
    WAIT_WISH,       /* create_step that is STEP_PENDING */
    WAIT_STEP,       /* create_step, attach_step: STEP_CREATED, then STEP_ENDED */
};
struct resvrec {
    struct reservation r; /* texts interned */
    int64_t look_us;      /* not looked at before */
    bool magnetic;        /* the jobs that wait were told that it draws them */
};

struct waiter {
    enum wait_kind kind;
    uint32_t uid; /* whose call it is */
    uint64_t conn, seq, job_id;
    int64_t step_id;
    bool told; /* ALLOCATED went out */
};

struct alarm {
    int64_t at_us;
    uint64_t job_id; /* 0: a node; then `node` */
    uint32_t node;
};

/* See step/gather.c. */
struct gathered {
    uint64_t job_id;
    int64_t step_id;
};
struct ack_due {
    uint64_t conn, seq;
};

struct core {
    struct rng rng;
    char *host;
    struct intern *pool;
    struct arena *settings_arena;
    const char *mail_fault; /* why mail cannot be sent, in that arena; NULL = it can */
    struct settings settings;
    struct cluster *cluster;
    struct plan *plan;
    struct map_u64 *job;        /* id → struct jobrec */
    struct map_u64 *array;      /* array id → struct arrayrec */
    struct map_u64 *dependents; /* job id → struct id_list of the jobs that depend on it */
    struct map_str *singleton; /* "uid name" that a singleton job watches → struct id_list of its live jobs */
    VEC(struct noderec *) node;
    struct map_str *node_by_name; /* → struct noderec */
    struct map_u64 *node_by_conn;
    struct map_str *token;      /* id → struct token, owned, texts interned */
    struct map_str *host_by_id; /* → struct host, the same */
    struct map_u64 *answered;   /* number of a request → struct answered, the same; in the order of time */
    VEC(struct partrec *) part;
    VEC(struct resvrec *) resv;
    VEC(struct waiter) waiter;
    VEC(struct alarm) heap;
    uint64_t next_job_id;
    bool loaded, store_away, plan_needed, plan_rests;
    int64_t store_back_us; /* when it was back last; 0 = it has not been away */
    bool older;            /* the store is (restored.c) */
    bool resv_refit;       /* nodes changed: reservations may want others */
    int64_t plan_due_us;   /* the planner wants to look again; 0 = no */
    struct map_str *usage; /* "uid/account" → struct usagerec */
    int64_t usage_at_us;   /* running work is charged until then */
    bool usage_any;        /* somebody's use has not decayed to nothing */
    VEC(struct usagerec *) usage_unsaved;
    int64_t gang_due_us; /* the slice of jobs that take turns is over; 0 = none waits for its turn */
    uint64_t plans, considered, pending, running;
    struct diag diag;              /* counters for sdiag */
    VEC(struct gathered) gathered; /* steps that the next wake sums up and stores */
    VEC(struct ack_due) acks;      /* of reports that it stores */
    VEC(uint64_t) unsaved;         /* jobs to be stored when this step ends */
    VEC(struct sweep *) sweep;     /* see request/sweep.c */
    int64_t sweep_due_us;          /* when the next slice is due */
    uint32_t swept_uid;            /* whose the last one was */
    int64_t asked_us;              /* when somebody else asked for something, while there are some */
    int64_t planned_us;            /* when the last plan was made */
    uint64_t stored_job_id;        /* next_job_id as the store has it */
    VEC(uint64_t)
    woken; /* jobs that began or ended in this step: who depends on them is looked at when it ends */
    VEC(uint64_t) never;     /* jobs to be cancelled then: what they depend on can never be */
    VEC(uint64_t) steps_due; /* jobs whose waiting steps are tried then */
    uint32_t top_order;
    const char *boot;        /* of the machine, interned; NULL = not told (clock.c) */
    int64_t clock_us;        /* the wall clock less the one that is never set */
    int64_t clock_missed_us; /* by how much it was set while the controller was down */
    bool clock_known;
    VEC(struct left_out)
    out; /* rows that cannot be lived with, until core_loaded says so */
    struct arena *out_arena;
    size_t outs; /* and how many they were */
    /* the step at hand */
    int64_t now_us;
    struct effects *fx;
    const struct peer *peer;
    uint64_t conn, seq, request;
    bool hurry; /* others wait */
};

struct id_list {
    VEC(uint64_t) id;
};

/* ---- effects.c ---- */
struct effect *effect_add(struct effects *fx, enum effect_kind kind);
void fx_store(struct core *c, enum store_table table, const void *record);
void fx_remove(struct core *c, enum store_table table, const void *record);
void fx_reply(struct core *c, uint64_t conn, uint64_t seq, enum message_kind kind, const void *body);
void fx_send(struct core *c, uint64_t conn, enum message_kind kind, const void *body, uint64_t payload_job);
/* The message sent last to one more connection; it is encoded once. */
void fx_send_also(struct core *c, uint64_t conn);
void fx_log(struct core *c, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Answers the request at hand. */
void reply_done(struct core *c, enum refusal refusal, const char *detail);

/* ---- record/marks.c, settle.c: what is done when the deeds of an event are done ---- */
void steps_retry_soon(struct core *c, struct jobrec *r);     /* resources of the job may have become free */
void job_never_soon(struct core *c, const struct jobrec *r); /* it waits for what can never be: cancelled */
void settle(struct core *c);                                 /* does all that is marked */

/* ---- left_out.c: stored rows that cannot be lived with ---- */
void row_leave_out(struct core *c, enum store_table table, const void *record, const char *why);
void rows_left_out(struct core *c);                               /* at the end of loading */
const char *left_out_said(const struct core *c, struct arena *a); /* for `remuda status`; NULL = none */

/* ---- records.c: texts, records, indexes ---- */
void text_set(struct core *c, const char **to, const char *text);
void record_take(struct core *c, const struct fields *t, void *to,
                 const void *from); /* copies, interning texts; `to` is overwritten */
void field_take(const struct field *f, void *to, const void *from);     /* one field, texts not copied */
void record_drop(struct core *c, const struct fields *t, void *record); /* gives its texts back */
struct jobrec *job_find(const struct core *c, uint64_t id);
struct jobrec *job_new(struct core *c, uint64_t id); /* zeroed, in the map */
void job_forget(struct core *c, struct jobrec *r);   /* out of all indexes, freed */
void job_save(struct core *c, struct jobrec *r);     /* its row, once, at the end of the step: saves_write */
uint64_t job_id_take(struct core *c);                /* a new number, never given before */
void job_write(struct core *c, struct jobrec *r);    /* its row, now */
void saves_write(struct core *c);
struct arrayrec *array_of(const struct core *c, uint64_t array_id);
struct arrayrec *array_ensure(struct core *c, uint64_t array_id);
void id_list_add(struct map_u64 *lists, uint64_t key, uint64_t id); /* not there yet, or it is there twice */
bool job_is_array(const struct jobrec *r);                    /* the record of an array with indexes left */
bool job_live(const struct jobrec *r);                        /* not over */
bool job_waits(const struct jobrec *r);                       /* PENDING, or held as SPECIAL_EXIT */
void live_index(struct core *c, struct jobrec *r, bool live); /* keeps the lists of watched names */
struct id_list *singleton_list(const struct core *c,
                               const struct jobrec *r); /* NULL: nobody watches its name */
void singleton_watch(struct core *c, struct jobrec *r);

/* ---- job_state.c: the only place that writes a job's state ---- */
void job_move(struct core *c, struct jobrec *r, enum job_state to);
void job_move_ending(struct core *c, struct jobrec *r, enum job_state to,
                     enum job_state end_state);           /* COMPLETING or REQUEUED */
void job_start_state(struct core *c, struct jobrec *r);   /* a new record: PENDING */
void job_restore_state(struct core *c, struct jobrec *r); /* a loaded record keeps its state */

/* ---- array.c ---- */
void array_pending_text(struct core *c, struct jobrec *master);
/* Keeps the counts of its array right when an element comes (sign +1) or is about to change (-1). */
void array_count(struct core *c, const struct jobrec *r, int sign);
bool array_over(const struct core *c, uint64_t array_id); /* all its elements are */
/* Makes index `task` a record of its own; the last index takes the array's own record. */
struct jobrec *array_split(struct core *c, struct jobrec *master, uint32_t task);
/* The same for many at once: each is taken, then the array's record is put in order. */
struct jobrec *array_take(struct core *c, struct jobrec *master, uint32_t task);
void array_taken(struct core *c, struct jobrec *master);

/* ---- request/sweep.c: requests about many jobs, a slice a wake ---- */
typedef enum refusal (*job_act)(struct core *c, struct jobrec *r, const struct job_ref *ref, void *ctx,
                                const char **detail);
/* A request that does the same to each of the jobs it names, or that fit. */
struct sweep_kind {
    enum message_kind kind;
    job_act act;
    size_t
        ctx_size; /* of what `act` gets, made of the message by `fill`; the message and the arena outlive it */
    bool (*fill)(void *ctx, const void *body, struct arena *a, struct err *ret_err);
    void (*done)(void *ctx);                               /* NULL = nothing to be freed */
    bool (*fits)(const void *ctx, const struct jobrec *r); /* where no jobs are named */
};
/* Resolves each reference of the list (or "name=NAME") and acts; collects results of those that did not go, and replies DONE when all is done. refs NULL: all live jobs that fit
 * and that the peer may control. */
void sweep_begin(struct core *c, const struct sweep_kind *kind, const void *body, const char *refs);
/* The request is asked again while it is worked off: it is answered there. */
bool sweep_again(struct core *c, const struct message *m);
struct sweep;
void sweeps_go(struct core *c);
int64_t sweeps_due(const struct core *c);
void sweeps_heed(struct core *c, const struct peer *asks); /* somebody else is there */
void sweeps_free(struct core *c);

/* ---- refs.c ---- */
typedef VEC(struct jobrec *) jobrec_vec;
/* Records that a reference means. False: there is none. With `split` one pending element becomes a record, and lists of them are left for ref_split. */
bool ref_resolve(struct core *c, const struct job_ref *ref, bool split, jobrec_vec *out);
/* Of the elements that a reference lists and that wait: so many at most, from *from on, become records. 0: there are no more. */
size_t ref_split(struct core *c, const struct job_ref *ref, uint32_t *from, size_t most, jobrec_vec *out);
/* How many there are; above `most` it is not counted further. */
size_t ref_split_count(const struct core *c, const struct job_ref *ref, size_t most);
/* Cuts a list at commas outside brackets; *at: where the next begins. */
const char *refs_next(const char **at, struct arena *a);
/* Records that a list of references means; nothing is split. Refused (with a detail) at the first that means none. */
enum refusal refs_collect(struct core *c, const char *refs, jobrec_vec *out, const char **detail);
bool may_control(const struct core *c, const struct jobrec *r); /* the peer at hand */
bool peer_operates(const struct core *c, const struct peer *peer);
bool list_has(const char *list, const char *word);
/* What resolving it takes, in records looked at, and what one request may take:
 * what there is, twice over. */
size_t ref_work(const struct core *c, const struct job_ref *ref);
size_t refs_work_most(const struct core *c);
#define REFS_WORK_TEXT "the same jobs are named again and again: name each once"

/* ---- job_hold.c: who holds a job, and who may let it go ---- */
/* What the peer at hand holds of that job is an administrator's hold. */
bool hold_of_admin(const struct core *c, const struct jobrec *r);
/* Holds it; as_user: as its owner would. A stronger hold stays. */
void hold_give(struct core *c, struct jobrec *r, bool as_user);
/* The peer at hand may let it go. */
enum refusal hold_release_check(const struct core *c, const struct jobrec *r, const char **detail);
void hold_end(struct jobrec *r);
/* Of a job that is back in the queue: the hold it was to have then; `why` unless an administrator's. */
void hold_comes_back(struct jobrec *r, enum job_reason why);
void hold_load(struct jobrec *r); /* from the store */

/* ---- step_bind.c: what is bound where nobody asks (CpuBind) ---- */
/* Gives the spec of a step of this job the binding that its nodes or its partition want, if it asks for none; new texts are in the arena. */
void step_bind_settle(const struct core *c, const struct jobrec *r, struct job_spec *spec, struct arena *a);

/* ---- eligible.c: holds, begin times, dependencies; what the planner gets ---- */
void eligible_update(struct core *c, struct jobrec *r); /* after anything that may matter for a pending job */
enum job_reason pending_reason(const struct core *c, const struct jobrec *r, int64_t now_us,
                               struct plan_wait *ret_wait); /* ret_wait->detail … may stay NULL */
void plan_soon(struct core *c);

/* ---- waited.c: what jobs waited for ---- */
void waited_begins(struct core *c, struct jobrec *r); /* a requeued job waits anew */
void waited_cause(struct core *c, struct jobrec *r,
                  enum job_reason cause); /* from now on; NONE = the planner knows. Counts the time before */
void waited_count(struct core *c, struct jobrec *r); /* up to now, into r->j.waited_for; of a pending job */
const char *waited_text(const struct core *c, const struct jobrec *r,
                        struct arena *a);             /* the same without changing anything */
void planner_leave(struct core *c, struct jobrec *r); /* the planner no longer has it: counts, too */

/* ---- depend.c ---- */
bool dependencies_set(struct core *c, struct jobrec *r, const char *text,
                      struct err *ret_err);                  /* parses, checks ids, indexes */
void dependencies_restore(struct core *c, struct jobrec *r); /* of a loaded record, from its text */
void dependencies_inherit(struct core *c, struct jobrec *element, const struct jobrec *master);
void dependencies_drop(struct core *c, struct jobrec *r);
int64_t dependencies_due(
    const struct core *c,
    const struct jobrec *r); /* when after:ID+minutes is over; INT64_MAX = none is open */
enum dep_status dependencies_update(struct core *c, struct jobrec *r,
                                    bool *ret_changed); /* looks what became of those it waits for */
void dependents_wake(struct core *c,
                     const struct jobrec *ended_or_started); /* at the end of this step: dependents_run */
void dependents_run(struct core *c);
void dependents_reopen(
    struct core *c,
    const struct jobrec *again); /* an ended job will run again: it has not failed those who wait for it */
void aftercorr_begin(
    struct core *c,
    struct jobrec
        *master); /* a new array: elements whose counterparts are over become records of their own */

/* ---- timers.c ---- */
void timer_arm(struct core *c, struct jobrec *r);
void deadline_shortest(
    struct job_spec *spec); /* the shortest limit of a job with a deadline and none of its own */
void node_timer_arm(struct core *c, struct noderec *n, int64_t at_us); /* unless it is armed already */
void timer_arm_again(struct core *c,
                     struct jobrec *r); /* after it fired: not at once, so that no job can hold the clock */
void timer_arm_later(struct core *c, struct jobrec *r); /* of an ended job that somebody still waits for */
bool timer_next(struct core *c, struct alarm *ret); /* takes out the next that is due now; false: none is */
int64_t timers_due(const struct core *c);
/* When something happens to a job; INT64_MAX = never. */
int64_t due_kill(const struct core *c,
                 const struct jobrec *r); /* its time limit is over, with what it may run beyond */
int64_t due_signal(const struct core *c, const struct jobrec *r); /* --signal */
int64_t due_latest_start(const struct jobrec *r);                 /* later it could not end by its deadline */
struct limit_mail {
    uint32_t type;
    int64_t percent; /* of the time limit */
};
#define LIMIT_MAILS 3
extern const struct limit_mail limit_mails[LIMIT_MAILS];
int64_t due_mail(const struct core *c, const struct jobrec *r, const struct limit_mail *m);
int64_t step_limit_end(const struct core *c, const struct jobrec *r, const struct steprec *st);
int64_t step_grace_end(const struct core *c, const struct steprec *st); /* its command stays away */
void timers_fire(struct core *c);
void timers_anew(struct core *c);                                    /* all times have moved */
int64_t job_over_time(const struct core *c, const struct jobrec *r); /* past its limit; TIME_UNLIMITED */
int64_t job_limit_end(const struct core *c,
                      const struct jobrec *r); /* INT64_MAX = none; the over-time allowance not counted */

/* ---- record/holds.c ---- */
/* What an allocation sums up to: counts, nodes, batch host, GRES. */
void alloc_sums(struct core *c, struct jobrec *r, const struct alloc *al);
void holds_take(struct core *c, struct jobrec *r, const struct alloc *al); /* of all its nodes */
void alloc_shrink(struct core *c, struct jobrec *r); /* it goes on without the nodes that are leaving */
/* After loading: it was given back, a step was still there. */
void hold_leave_again(struct core *c, struct jobrec *r, uint32_t node);

/* ---- record/kept.c: rows of a job that lives on ---- */
/* A former run; `how` is what it is remembered as. */
void run_keep(struct core *c, const struct jobrec *r, enum job_state how);
void job_part_keep(struct core *c, struct jobrec *r); /* what it had before it became smaller */

/* ---- life/launch.c ---- */
void launch_send(struct core *c, struct jobrec *r); /* of a job with a script */
void launch_when_whole(struct core *c,
                       struct jobrec *r); /* r runs: the script starts once all components do */

/* ---- start.c ---- */
void starts_apply(struct core *c); /* plans and starts */
void alloc_gres_text(const struct alloc *al, struct str *out);

/* ---- restored.c: a store that is older than what was said last ---- */
void restored_mark(struct core *c); /* when all rows are loaded */
void restored_requeue(struct core *c,
                      struct jobrec *r); /* it goes back: held, if nobody knows whether it ran */
/* A node has this: a number or a start that the store has not given yet? */
void held_beyond(struct core *c, const struct noderec *n, const struct held *held);

/* ---- clock.c: a wall clock that is set ---- */
void clock_look(struct core *c, const struct event *ev); /* was it? */
/* Now, as the end of what began at start_us: by a clock that was set back a little nothing ends before it began. */
int64_t clock_end(const struct core *c, int64_t start_us);
void clock_boot(struct core *c, const char *boot);
void clock_load(struct core *c, const char *value); /* the meta row "clock" */
void clock_restore(struct core *c);                 /* when all rows are loaded */

/* ---- resize.c ---- */
/* A running job goes on with these of its nodes, or with its first `count`. */
enum refusal job_resize(struct core *c, struct jobrec *r, const char *keep, int32_t count,
                        const char **detail);
struct hold *hold_find(struct jobrec *r, uint32_t node);
bool hold_leaving(struct jobrec *r, uint32_t node); /* given back, and not yet free */
void hold_terminate(struct core *c, struct jobrec *r, const struct hold *h);

/* ---- suspend.c ---- */
void job_suspend(struct core *c, struct jobrec *r, enum suspender by); /* of a running job */
void job_resume(struct core *c, struct jobrec *r);                     /* of a suspended one */
void suspend_tell_planner(struct core *c, struct jobrec *r);
void suspension_count(const struct core *c, struct jobrec *r); /* it is suspended no more: adds the time */

/* ---- usage.c: what users used, for fair share ---- */
void usage_load(struct core *c, const struct usage *row);
void usage_restore(struct core *c); /* when all rows are loaded */
void usage_know(struct core *c, uint32_t uid, const char *account,
                const char *user);                   /* they submit: they have a share */
void usage_charge(struct core *c, struct jobrec *r); /* what it used since it was charged last */
int64_t usage_billing_milli(const struct core *c,
                            const struct jobrec *r); /* billing units of a run, in thousandths */
void usage_tick(struct core *c);
int64_t usage_due(const struct core *c);
void usage_factors(struct core *c);
void usage_save(struct core *c); /* rows that changed in this step */
void usage_free(struct core *c);

/* ---- gang.c ---- */
void gang_turn(struct core *c, bool slice_over); /* who of those that share CPUs runs now */

/* ---- preempt.c ---- */
void preempts_apply(struct core *c);                /* what the plan says about running work */
void preempt_end(struct core *c, struct jobrec *r); /* its grace is over */

/* ---- life/signals.c: to what a job has on its nodes ---- */
void job_signal(struct core *c, const struct jobrec *r,
                struct msg_signal m);            /* job and attempt are set here */
void job_warn(struct core *c, struct jobrec *r); /* --signal, now */
void suspend_repeat(struct core *c, struct jobrec *r,
                    struct noderec *n); /* for a node that may not have heard of it */

/* ---- record/preempted.c ---- */
bool preempt_requeues(const struct core *c, const struct jobrec *r); /* it goes back when it gave way */
bool preempt_ended_by_itself(struct core *c, struct jobrec *r,
                             const struct msg_report *report); /* within its grace, because it was told to */
void preempt_clear(struct jobrec *r);

/* ---- finish.c, requeue.c ---- */
void job_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why, int64_t kill_wait_us,
             const char *line); /* of a job that runs: everything of it is ended */
void job_over(struct core *c, struct jobrec *r, enum job_state how,
              enum job_reason why); /* of a job that holds nothing */
void batch_exited(struct core *c, struct jobrec *r, const struct msg_report *report);
void node_released(struct core *c, struct jobrec *r, uint32_t node);
void job_node_lost(struct core *c, struct jobrec *r, uint32_t node);
/* By hand, after a loss or to give way: --requeue, --no-requeue, JobRequeue. */
bool job_may_requeue(const struct core *c, const struct jobrec *r);
enum refusal job_requeue(struct core *c, struct jobrec *r, bool hold, bool special, const char **detail);
/* From the end of a run, or from being over; `how` is what the former run is remembered as. */
void back_to_pending(struct core *c, struct jobrec *r, enum job_state how, bool special);
void requeue_finish(struct core *c, struct jobrec *r);
void launch_failed(struct core *c, struct jobrec *r, const struct msg_report *report);

/* ---- nodes.c, node/link.c, node/capacity.c ---- */
bool node_shown(const struct noderec *n);              /* config.c: it is configured, or has jobs yet */
void node_capacity(struct core *c, struct noderec *n); /* from what is configured and what it reported */
/* Adds to `seen`, the node as the planner is to see it, the GPUs that are configured and not there, as broken ones; texts in the arena. */
void node_missing_plan(const struct noderec *n, struct arena *a, struct node *seen);
struct noderec *node_find(const struct core *c, const char *name);
uint32_t node_index(const struct core *c, const struct noderec *n);
void node_plan_update(struct core *c, struct noderec *n); /* tells the planner */
void node_save(struct core *c, struct noderec *n);
void node_job_add(struct core *c, uint32_t node, uint64_t job_id);
void node_job_remove(struct core *c, uint32_t node, uint64_t job_id);
void node_reason_set(struct core *c, struct noderec *n, const char *reason); /* the controller's own, now */
void node_prolog_failed(struct core *c, struct noderec *n, const char *detail);
void node_closed(struct core *c, uint64_t conn);
void node_watch(struct core *c,
                struct noderec *n); /* it is silent if nothing is heard of it for SlurmdTimeout */
void node_alarm(struct core *c, struct noderec *n); /* timer: is it? */
void nodes_welcome(struct core *c);                 /* the settings, to all that are connected */
void req_node_hello(struct core *c, const struct msg_node_hello *m);
void req_heartbeat(struct core *c, const struct msg_heartbeat *m);
void req_report(struct core *c, const struct msg_report *m);

/* ---- former_runs.c: runs that a node has of jobs that went on without it ---- */
void former_run_keep(struct core *c, struct noderec *n, uint64_t job_id,
                     uint32_t attempt); /* its job waits */
void former_run_over(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt);
void former_runs_forget(struct core *c, struct noderec *n); /* the connection is gone */

/* ---- node/devices.c: devices that nobody may be given ---- */
void node_devices_take(struct core *c, struct noderec *n, uint64_t seq, const char *out,
                       const char *health); /* what the node says, if it is news */
void node_devices_hello(struct core *c, struct noderec *n, uint64_t seq,
                        const char *out); /* the same; a new daemon may not know of broken ones */
const char *node_devices_failed(const struct core *c,
                                const struct noderec *n); /* of n.devices_out; NULL = none */
const char *node_devices_said(const struct noderec *n,
                              struct arena *a); /* n.devices_out as sentences; NULL = nothing */
/* Which of its processes cannot be killed, where, in words; NULL = none is known. */
const char *job_stuck_said(const struct core *c, const struct jobrec *r, struct arena *a);
/* Appends what is out of use of the devices that an allocation has: "gpu 0 of n1 is not clean: …". */
void alloc_outs_say(const struct core *c, const struct alloc *held, struct arena *a, struct str *out);
void node_devices_retry(struct core *c, struct noderec *n); /* an operator wants the broken ones back */
void terminate_send(struct core *c, struct jobrec *r, int64_t kill_wait_us, const char *why);

/* ---- config.c ---- */
void config_apply(struct core *c, const struct config *config);
struct partrec *part_find(const struct core *c, const char *name);
void part_save(struct core *c, struct partrec *p);
void part_load(struct core *c,
               const struct partition *row); /* what scontrol had changed; the rest is the configuration's */
void set_fields_add(struct core *c, const char **to, const char *fields); /* each name once */

/* ---- requests ---- */
void req_submit(struct core *c, const struct msg_submit *m);
/* --exclude= names nodes that are there; fills why not. */
enum refusal exclude_check(const struct core *c, const struct job_request *r, struct str *detail);
void req_cancel(struct core *c, const struct msg_cancel *m);
void req_job_control(struct core *c, const struct msg_job_control *m);
void req_update_job(struct core *c, const struct msg_update_job *m);
void req_update_node(struct core *c, const struct msg_update_node *m);
void req_update_partition(struct core *c, const struct msg_update_partition *m);
void req_update_reservation(struct core *c, const struct msg_update_reservation *m);
void req_wait_job(struct core *c, const struct msg_wait_job *m);
void req_get_script(struct core *c, const struct msg_get_script *m);
void req_why(struct core *c, const struct msg_why *m);
void req_daemon(struct core *c, const struct msg_daemon *m);

/* The job's command, if it stays, is told of it from now on. */
void submission_attach(struct core *c, const struct msg_submit *m, uint64_t id);

/* ---- answered.c: what is asked again is not done again ---- */
bool answered_again(struct core *c, const struct message *m); /* it was answered before: so it is now */
/* Keeps the answer to the request at hand, if it changed something; its effects begin at `from`. */
void answered_keep(struct core *c, size_t from);
void answered_keep_reply(struct core *c,
                         const struct effect *reply); /* to the request at hand, which changed something */
void answered_load(struct core *c, const struct answered *row);
void answered_move(struct core *c, int64_t by_us);
void answered_free(struct core *c);

/* ---- request/host.c ---- */
void req_make_token(struct core *c, const struct msg_make_token *m);
void req_join(struct core *c, const struct msg_join *m);
void req_expel(struct core *c, const struct msg_expel *m);
void token_load(struct core *c, const struct token *row);
void host_load(struct core *c, const struct host *row);
void tokens_show(const struct core *c, const struct view *v);
void hosts_show(const struct core *c, const struct view *v);
void host_records_free(struct core *c);

/* ---- waiters.c, closed.c ---- */
bool waiters_full(const struct core *c, const struct message *m); /* the peer at hand may have no more */
void waiter_add(struct core *c, enum wait_kind kind, uint64_t job_id,
                int64_t step_id); /* the request at hand is answered later */
void waiters_answer(struct core *c,
                    uint64_t job_id); /* if the job, with all its array or components, is over */
void waiters_closed(struct core *c, uint64_t conn);
int32_t status_rank(int32_t status);         /* exit code as Slurm counts: 128 and the signal */
int32_t status_higher(int32_t a, int32_t b); /* the wait status of the higher rank */

/* ---- steps.c: their records ---- */
struct steprec *step_find(const struct jobrec *r, int64_t step_id);
struct steprec *step_new(struct core *c, struct jobrec *r, int64_t step_id); /* RUNNING, from now */
struct steprec *batch_step(struct core *c,
                           struct jobrec *r); /* the batch script's; made when there is none */
void steprec_free(struct core *c, struct steprec *st);
void step_limit_set(struct core *c, struct jobrec *r, struct steprec *st, int64_t limit_us);
void steps_drop(struct core *c, struct jobrec *r); /* all, with those that wait */
void steps_trim(struct core *c, struct jobrec *r); /* the oldest ended ones leave memory */
bool step_live(const struct steprec *st);
void step_save(struct core *c, const struct steprec *st);
void step_layout_take(struct core *c, struct steprec *st); /* parts and layout from its text */
void step_load(struct core *c, const struct step *row);
void steps_restore(struct core *c, struct jobrec *r); /* after loading: nodes that were told, graces */
struct steppart *step_part(struct steprec *st, uint32_t node);
/* Does --acctg-freq ask for rarer samples than JobAcctGatherFrequency, though `memory` asks for memory, which is watched by them? */
bool sampled_too_seldom(const struct core *c, const struct job_spec *asked, const struct job_request *memory);
void step_usage_sum(struct core *c, struct jobrec *r, struct steprec *st); /* of its parts; and the job's */
void step_usage_end(struct core *c, struct steprec *st, const struct steppart *part);
void step_usage_copy(struct step *to, const struct step *from);

/* ---- step/book.c: what steps hold ---- */
struct step_room;
enum room_view {
    ROOM_EVER, /* as if no step ran, all nodes answered and all devices were clean; without those that are broken */
    ROOM_NOW,    /* what no step has to itself */
    ROOM_SHARED, /* for a step that overlaps with others: all there is now */
};
struct step_room *step_rooms(struct core *c, struct jobrec *r, const struct alloc *held, enum room_view view,
                             struct arena *a); /* one a node of `held` */
void step_rooms_done(struct step_room *room, const struct alloc *held);
void step_book_check(const struct core *c, const struct jobrec *r);
int32_t step_port(const struct core *c, uint32_t node, uint64_t salt); /* free on that node; 0 = none */

/* ---- step/tell.c: what nodes and callers are told of a step ---- */
void step_launch_all(struct core *c, struct jobrec *r, struct steprec *st);
void step_created_say(struct core *c, const struct step *s, uint64_t conn, uint64_t seq, const char *warning);
void step_ended_say(struct core *c, struct steprec *st, uint64_t conn, uint64_t seq);
void step_refused_say(struct core *c, uint64_t conn, uint64_t seq, enum refusal refusal, const char *detail);

/* ---- step/wishes.c: calls whose step waits for room in its job ---- */
void step_wish_add(struct core *c, struct jobrec *r, const struct msg_create_step *m);
void step_wish_drop(struct core *c, struct jobrec *r, size_t i);
void step_pending_say(struct core *c, const struct jobrec *r); /* to the call at hand */
struct msg_create_step *step_asked_copy(const struct msg_create_step *m, struct arena *a);

/* ---- step/make.c ---- */
uint64_t step_key_hash(const char *key); /* 0 = no key */
/* What the nodes are told of a request; a copy in the arena. */
struct msg_create_step *step_asked_settle(const struct core *c, const struct jobrec *r,
                                          const struct msg_create_step *m, struct arena *a);
/* Makes and begins a step for that call. REFUSE_BUSY: not now; else why it can never be. */
enum refusal step_try(struct core *c, struct jobrec *r, const struct msg_create_step *m, uint64_t conn,
                      uint64_t seq, struct str *detail);

/* ---- step/retry.c ---- */
void steps_retry(struct core *c, struct jobrec *r); /* those that wait, while the job runs */

/* ---- request/step.c: making steps ---- */
void req_create_step(struct core *c, const struct msg_create_step *m);
void req_attach_step(struct core *c, const struct msg_attach_step *m);
void step_wishes_refuse(struct core *c, struct jobrec *r, enum refusal refusal, const char *detail);
void step_wish_closed(struct core *c, uint64_t job_id, uint64_t conn);
/* Makes and launches a step of that number with no command behind it, if its job has room; REFUSE_BUSY: not now (with look_only: it could be). */
enum refusal step_try_detached(struct core *c, struct jobrec *r, const struct msg_create_step *m,
                               int64_t step_id, uint64_t key_hash, bool look_only, struct str *detail);

/* ---- step/queue.c: steps of srun --async, and what steps wait for ---- */
void req_queue_step(struct core *c, struct jobrec *r, const struct msg_create_step *m, uint64_t key_hash);
/* May a step begin that waits for these (NULL: for none)? REFUSE_NONE, REFUSE_BUSY, or never, with a sentence. */
enum refusal step_dependencies_look(const struct jobrec *r, const char *text, struct str *detail);
void step_queue_drop(struct core *c, struct jobrec *r);         /* its job ends: they never run */
void step_queue_over(struct core *c, const struct steprec *st); /* it ran */
/* Ends a waiting step; false if none of that number waits. */
bool step_queue_cancel(struct core *c, struct jobrec *r, int64_t step_id);
/* Those that wait, as they are shown. */
size_t step_queue_count(const struct jobrec *r);
const struct step *step_queue_at(const struct jobrec *r, size_t i);
const struct step *step_queue_find(const struct jobrec *r, int64_t step_id); /* NULL = it does not wait */
/* An ended step leaves memory: how it ended stays known. */
void step_queue_gone(struct jobrec *r, const struct step *s);
void step_queue_free(struct jobrec *r);
void step_queue_load(struct core *c, const struct queued_step *row);
void step_queue_check(const struct jobrec *r);
/* A node said something of one of several parts; save: that must be stored. */
void step_gather(struct core *c, const struct jobrec *r, struct steprec *st, bool save);
void steps_gathered(struct core *c);
void steps_gathered_done(struct core *c);
/* Acknowledges a report, once what it says is stored. r: its job, or NULL. */
void report_ack(struct core *c, const struct jobrec *r, const struct msg_report *m);
void step_launch(struct core *c, struct jobrec *r, struct steprec *st, uint32_t node);

/* ---- step/end.c: what becomes of them ---- */
void step_report(struct core *c, struct noderec *n, struct jobrec *r,
                 const struct msg_report *m); /* of any step but the batch script's */
void step_terminate(struct core *c, struct jobrec *r, struct steprec *st, enum job_state how,
                    int64_t kill_wait_us, const char *line, const char *detail);
void steps_end_with_job(struct core *c, struct jobrec *r); /* the job ends: they are told with it */
void steps_close(struct core *c, struct jobrec *r,
                 enum job_state how); /* the run is over: so are all its steps */
void steps_node_gone(struct core *c, struct jobrec *r, uint32_t node,
                     bool failed);                         /* their parts there are over */
bool steps_on_node(const struct jobrec *r, uint32_t node); /* one has a live part there */
void step_closed(struct core *c, uint64_t job_id, int64_t step_id, uint64_t conn);
int64_t steps_due(const struct core *c, const struct jobrec *r);
void steps_fire(struct core *c, struct jobrec *r);
void steps_reconcile(struct core *c, struct noderec *n, struct jobrec *r, const struct msg_node_hello *m);

/* ---- het.c ---- */
uint64_t leader_of(const struct jobrec *r); /* of a heterogeneous job, else itself */
void components_find(const struct core *c, uint64_t leader,
                     jobrec_vec *out);       /* the leader and its components, in order; a plain job alone */
bool job_has_script(const struct jobrec *r); /* a batch job, and of a heterogeneous one the leader */
/* r ends so while it runs: appends the components that run and have to end with it. */
void het_ending_with(const struct core *c, const struct jobrec *r, enum job_state how, jobrec_vec *out);
/* r is over without having run: appends the components that wait, or were to go back, and are over with it. */
void het_over_with(const struct core *c, const struct jobrec *r, jobrec_vec *out);
void het_fate_share(struct core *c, struct jobrec *other, const struct jobrec *r); /* other ends as r does */

/* ---- request/alloc.c ---- */
void req_attach(struct core *c, const struct msg_attach *m);
void req_finish_job(struct core *c, const struct msg_finish_job *m);
bool allocation_attached(const struct jobrec *r); /* it belongs to a connection */
void allocation_announce(
    struct core *c, const struct jobrec *r); /* it runs: who waits for it is told once all components do */
void allocation_hold(struct core *c, struct jobrec *leader); /* by the connection at hand */
void allocation_closed(struct core *c, uint64_t leader, uint64_t conn);
void allocation_lonely(struct core *c, struct jobrec *leader); /* nobody holds it now */
int64_t allocation_due(const struct core *c,
                       const struct jobrec *r); /* when its grace is over; INT64_MAX = none runs */
void allocation_abandon(struct core *c, struct jobrec *leader); /* its grace is over */
/* Its command ends: it is over, or ended as `how`. */
void component_end(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why,
                   const char *line);

/* ---- reservation.c ---- */
struct resvrec *resv_find(const struct core *c, const char *name);
void resv_save(struct core *c, struct resvrec *v); /* its row */
void resv_tell(struct core *c, struct resvrec *v); /* the planner */
void resv_drop(struct core *c,
               struct resvrec *v); /* it is over: jobs that wait for it are held, or go on without it */
size_t resv_jobs(const struct core *c, const char *name, bool running); /* that run in it, or wait for it */
void resv_insert(
    struct core *c,
    struct resvrec
        *v); /* into core.resv: by the time they were made, so that a restart does not change their order */
void resv_load(struct core *c, const struct reservation *row);
void resvs_restore(struct core *c);
void resvs_refit(struct core *c);        /* nodes changed: replacements, PART_NODES */
void resvs_fire(struct core *c);         /* begins, ends, recurrences, purges that are due */
int64_t resvs_due(const struct core *c); /* INT64_MAX = never */
int64_t resv_job_end(
    const struct core *c,
    const struct jobrec *r); /* when the reservation ends the running job; INT64_MAX = it does not */
/* May this user run jobs with that request in the reservations it names? Fills why not; *ret_partition: the reservation's, for jobs that name none. */
enum refusal resv_check(const struct core *c, const struct job_request *req, const char *user,
                        const char *groups, struct str *why);
const char *resv_partition(const struct core *c, const char *names);
bool resv_there(const struct core *c, const char *names); /* one of them is */
void resv_show(const struct core *c, const struct msg_query *q, int64_t now_us, const struct view *v,
               size_t *ret_shown);
void resv_mark_node(const struct core *c, struct node *n,
                    int64_t now_us); /* node.reserved, .maint, .reservation */

/* ---- cli/submit/host.c ---- */
enum refusal submit_host_check(const struct core *c, const char *partitions,
                               struct str *why); /* AllocNodes= */

/* ---- query/pending.c: waiting jobs as they are shown ---- */
struct part_cpu {
    const struct partrec *part;
    int32_t cpus;
};
struct part_cpus {
    VEC(struct part_cpu) seen; /* partitions looked up in this query */
};
void pending_complete(const struct core *c, struct part_cpus *known, struct job *j); /* j: the copy shown */
void part_cpus_done(struct part_cpus *known);

/* ---- query/sched.c ---- */
enum refusal query_priorities(const struct core *c, const struct msg_query *q, int64_t now_us,
                              const struct view *v);
enum refusal query_shares(const struct core *c, const struct msg_query *q, const struct view *v);
enum refusal query_diag(const struct core *c, int64_t now_us, const struct view *v);
void diag_reset(struct core *c);
void diag_count_end(struct core *c, const struct jobrec *r); /* of a job that is over */

/* ---- mail.c ---- */
void mail_job(struct core *c, struct jobrec *r, uint32_t type);

#endif
