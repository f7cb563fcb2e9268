/* What the controller's machine holds; only files of core/ include this. */
#ifndef REMUDA_CORE_RECORD_STATE_H
#define REMUDA_CORE_RECORD_STATE_H

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/intern.h"
#include "base/line_share.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/core.h"
#include "core/record/marks.h"
#include "model/job/alloc.h"
#include "model/job/array.h"
#include "model/job/dependency.h"
#include "model/limits.h"
#include "sched/cluster.h"
#include "sched/plan.h"

/* ---- what the machine holds ----------------------------------------------------------------- */

/* A node a job holds. */
struct node_hold {
    uint32_t node; /* index in core.node */
    bool released; /* its resources are free again */
    bool told;     /* something of the job was launched there: it is free when the node says so */
    bool leaving;  /* the job gave it back (resize.c), and goes on without it */
};

/* What a step has on one node. */
struct steppart {
    uint32_t node;    /* index in core.node */
    int32_t tasks;    /* of the step, there */
    bool seen;        /* the node was seen to have it … */
    bool unbegun;     /* … in its daemon's memory alone, when it last said hello */
    bool over;        /* all its tasks there are gone */
    struct step used; /* what the node measured last; only its usage is set */
};

/* A step of the run at hand. Ended ones stay a while for callers that come back. */
struct steprec {
    struct step s;                 /* texts interned; its usage is that of all parts together */
    VEC(struct steppart) part;     /* none of the batch step */
    bool part_ordered;             /* by ascending node, as they nearly always are */
    struct step ended_use;         /* usage of the parts that are over */
    int32_t ended_tasks;           /* in the parts that are over */
    struct arena *arena;           /* of the next two; NULL once it is over */
    struct alloc layout;           /* which tasks run where */
    struct msg_create_step *asked; /* NULL: the controller was restarted since */
    size_t asked_bytes;            /* of it, as its user's were counted (users/user_room.c) */
    uint64_t holder_conn;          /* of the command it is of; 0 = it is away */
    bool ending;                   /* told to end: as end_as */
    bool own_end;                  /* with its job, or as srun -K asks: its status says how */
    bool gathering;                /* what its nodes said is not summed up yet … */
    bool save_due;                 /* … nor stored (step/gather.c) */
    enum job_state end_as;         /* while ending: what it will have ended as */
    const char *detail;            /* why, for its command; interned */
};

/* A step that waits for resources of its job. */
struct stepwish {
    struct arena *arena;
    const struct msg_create_step *m; /* as asked, in the arena */
    size_t bytes;                    /* of it, as its user's were counted */
    bool tried;                      /* since something of its job became free */
    uint64_t conn, seq;              /* who is answered */
};

/* A job in memory. All texts of `j` are interned in core.pool. There may be a million that wait:
 * small members together, and nothing in it that only few jobs need. */
struct jobrec {
    struct job j;
    /* Array record: indexes not split off; j.array_pending is its text. */
    struct idset pending;
    struct {
        struct accruer *of;      /* NULL = it neither gains by age under a limit nor wishes to */
        int32_t n;               /* elements that do */
        bool wishes;             /* it stands in the queue of those that wish to */
    } accrue;                    /* accrue.c */
    struct dependency_list deps; /* v is owned */
    VEC_SMALL(struct steprec *) step;  /* of the run at hand; each owned */
    VEC_SMALL(struct stepwish *) wish; /* in the order they came; each owned */
    VEC_SMALL(struct node_hold) hold;
    struct step_queue *queue; /* step/queue.c; NULL = none waits, none left memory */
    /* Came back by a requeue; 0 = not in this life of the controller. */
    int64_t back_us;
    /* Connection an attached allocation belongs to; 0 = none. Of a heterogeneous job's leader. */
    uint64_t holder_conn;
    int64_t charged_us; /* run time that fair share knows of */
    int64_t timer_us;   /* due time in the heap; 0 = none */
    int32_t next_step;  /* number of the next step */
    /* That nodes still have, told to end (former_runs.c): it does not start meanwhile. */
    uint32_t former_runs;
    /* Bits, as there are very many of these records. */
    uint32_t mailed : 16; /* enum mail_type bits of limit mails sent in this run */
    /* Why the planner does not have it, as time is counted (waited.c); NONE: it has it. */
    enum job_reason cause : 9;
    bool cause_known : 1;
    bool waiting : 1;      /* the planner has it */
    bool started : 1;      /* its batch script was seen running in this attempt */
    bool script_ended : 1; /* its batch script is over */
    bool warned : 1;       /* --signal was sent in this run */
    bool steps_due : 1;    /* steps of it are tried again when the event ends … */
    bool steps_left : 1; /* … or with the next wake, those not tried yet (marks.steps_left) … */
    bool steps_again : 1; /* … and then all, as something became free meanwhile */
    bool unsaved : 1;     /* changed in this step; its row is made when the step ends */
    bool in_room : 1;     /* counted as its user's (users/user_room.c) */
    bool pairing : 1;     /* in marks.pairs */
    bool watched : 1;     /* in the list of its namesakes */
    uint32_t long_texts;  /* bytes of them, as its user's were counted (users/user_room.c) */
};

/* The least and the most of what is counted, and how many have each of them. */
struct extremes {
    int32_t least, most;
    uint32_t of_least, of_most;
};

/* An array: its elements that have records of their own, and counts of them, so that no event walks
 * an array. Elements that left memory stay counted in what is said about ended ones. */
struct arrayrec {
    struct map_u64 *element;          /* task index → struct jobrec */
    uint32_t waiting;                 /* elements with records that have not begun */
    uint32_t active;                  /* that run or are being cleaned */
    uint32_t suspended;               /* of these */
    uint32_t held;                    /* of those that wait */
    uint32_t live;                    /* that are not over */
    uint32_t well, bad;               /* that ended COMPLETED, otherwise */
    struct extremes code;             /* exit codes of the latter, as status_rank tells them */
    struct extremes exit;             /* wait statuses of those that ended */
    int64_t began_us;                 /* when the last of those that began did */
    bool begun;                       /* one of them has started */
    bool idle_mailed;                 /* that GPUs of one of them are idle */
    struct idset gone_well, gone_bad; /* of those that ended so which left memory */
    struct idset apart;               /* that wait as records of their own, PENDING */
};

/* How many more elements may begin under a % limit (0 = none is set). */
static inline uint64_t array_room(const struct arrayrec *array, uint32_t limit)
{
    if (!limit)
        return UINT64_MAX;
    uint32_t active = array ? array->active : 0;
    return limit > active ? limit - active : 0;
}

/* A run that a node has and that is not the job's own any more. */
struct former_run {
    uint64_t job_id;
    uint32_t attempt; /* which of the job's runs */
};

struct noderec {
    struct node n;    /* texts interned */
    struct node conf; /* as configured, texts interned */
    /* How it is, since when, as stored (node_spells.c); texts interned; start_us 0 = not said. */
    struct node_spell spell;
    uint64_t conn; /* 0 = not connected */
    int64_t pid;   /* of its daemon; 0 = not told */
    /* Another daemon by that name, which waits (node/rival.c): its connection, or 0; its pid. */
    uint64_t rival;
    int64_t rival_pid;
    struct line_share lines; /* that its words made (node_log.c) */
    uint32_t index;          /* in core.node; nodes never leave the list */
    /* Age of n.devices_out; 0 = of an earlier life of the controller. */
    uint64_t devices_seq;
    /* When the connection went; 0 = it is there, or is known to be silent. */
    int64_t lost_us;
    int64_t alarm_us; /* when it is looked at whether it is silent; 0 = never */
    /* When it was looked at late last, and so once more (silence.c); 0 = never. */
    int64_t looked_late_us;
    VEC(uint64_t) job; /* jobs that hold something here */
    /* What its GPUs do, as it said last (record/accounts/gpu_idle.c); said_us 0 = not known. */
    struct {
        struct gpu_use *v;
        uint32_t n;
        int64_t said_us;
    } gpus;
    /* Told to end, not yet gone (former_runs.c); empty while not connected. */
    VEC(struct former_run) former;
    int64_t idle_us;             /* since when it has been idle, for triggers */
    uint32_t unfit;              /* launches that it failed, as it would any, since one worked */
    uint64_t unfit_seq;          /* report of the last of them, which may come again */
    uint8_t is;                  /* how triggers saw it last */
    uint64_t stored;             /* row_of its row, as it was stored last; 0 = not yet */
    bool heard;                  /* it said what it holds, or is newer than this life is */
    bool mentioned;              /* while a configuration is applied */
    bool withdrawn, was_drained; /* no longer configured; before that */
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

/* A user's table for scrontab. */
struct crontabrec {
    struct crontab t;  /* texts interned; no text: there is none, but jobs of one */
    VEC(uint64_t) job; /* that it has: live ones with j.cron */
};

/* See record/triggers/triggers.h. */
struct triggerrec {
    struct trigger t; /* texts interned; `what` without the nodes */
    struct idset hit; /* nodes that it was pulled by, by index */
    uint32_t saved;   /* how many of them the store knows */
};
struct trigger_book {
    VEC(struct triggerrec *) of;       /* by number */
    uint32_t last;                     /* number given last */
    uint32_t of_jobs, of_nodes, timed; /* how many are about a job, of nodes' events, of limits */
    uint32_t running;                  /* programs that were let out and have not ended */
    bool changed;                      /* when the next is due is worked out when the event ends */
    int64_t due_us;                    /* INT64_MAX = none is */
    VEC(uint64_t) ended;               /* jobs that ended in this event */
};

struct waiter {
    enum wait_kind kind;
    uint32_t payer;             /* whose call it is */
    uint64_t conn, seq, job_id; /* who is answered, and for which call */
    int64_t step_id;            /* WAIT_WISH, WAIT_STEP */
    bool told;                  /* ALLOCATED went out */
};

/* A question about the end of an output, which a node answers (request/output.c). */
struct output_question {
    uint64_t number, conn, seq; /* of the question; who asked, and in which call */
    uint64_t node_conn;         /* who answers */
    uint32_t payer;             /* who asks */
    int64_t at_us;              /* asked then; old ones are given up */
};
struct output_asks {
    VEC(struct output_question) v; /* in the order they came */
    uint64_t last;                 /* number given last */
};

struct alarm {
    int64_t at_us;   /* due then */
    uint64_t job_id; /* 0: a node; then `node` */
    uint32_t node;   /* index in core.node */
};

/* See step/gather.c. */
struct gathered {
    uint64_t job_id;
    int64_t step_id; /* of that job */
};
struct ack_due {
    uint64_t conn, seq; /* of the node, and number of its report */
};

/* Jobs in memory, and what is found by them. */
struct job_index {
    struct map_u64 *by_id;      /* struct jobrec */
    struct map_u64 *array;      /* array id → struct arrayrec */
    struct map_u64 *dependents; /* job id → struct id_list of the jobs that depend on it */
    /* "uid name" that a singleton job watches → struct namesakes */
    struct map_str *singleton;
    uint64_t next_id;          /* that the next job gets */
    uint64_t stored_id;        /* next_id as the store has it */
    uint64_t said_id;          /* the same as it was loaded, believed or not; 0 = unknown */
    uint64_t given_id;         /* next_id as the shell knows it from beside the store; likewise */
    uint64_t pending, running; /* elements of arrays each */
    char *firsts; /* who stands first in its partition (cluster_firsts_tell), as the store has it;
                     owned, NULL = nobody */
};

struct node_index {
    struct map_str *by_name;  /* struct noderec */
    struct map_u64 *by_conn;  /* struct noderec of who is connected */
    struct map_u64 *by_rival; /* struct noderec for whose place it waits */
};

/* What lets hosts join, and who has. Owned, texts interned. */
struct joined {
    struct map_str *token; /* id → struct token */
    struct map_str *host;  /* id → struct host */
    uint64_t shut_out;     /* hosts so far */
};

struct store_state {
    bool loaded;     /* all its rows are in memory */
    bool away;       /* a commit failed */
    bool killed;     /* the controller was, before */
    bool older;      /* it is one that was restored (life/restored.c) */
    int64_t back_us; /* when it was back last; 0 = it has not been away */
};

struct planning {
    bool needed;     /* something changed */
    bool rests;      /* the planner had much of the time: it is others' turn */
    bool refit;      /* nodes changed: reservations may want others */
    bool foresees;   /* long forecasts are made elsewhere, where the shell says that it can */
    int64_t due_us;  /* the planner wants to look again; 0 = no */
    int64_t made_us; /* when the last plan was made */
    uint64_t passes, considered; /* for sdiag: made, and jobs looked at in them */
};

/* What users used, for fair share (record/accounts/usage.c). */
struct usage_book {
    struct map_str *row; /* "uid/account" → struct usagerec */
    /* uid + 1, or 0 of all without a name → how many rows are of accounts that nobody made */
    struct map_u64 *strange;
    int64_t at_us;                  /* running work is charged until then */
    bool any;                       /* somebody's use has not decayed to nothing */
    VEC(struct usagerec *) unsaved; /* rows that are made when the event ends */
    /* By association and QOS (record/accounts/use.c). */
    struct map_u64 *of;     /* kind and number → struct userec */
    VEC(const char *) tres; /* names of resources by number, interned */
    VEC(struct userec *) use_unsaved;
    struct minutes *minutes; /* record/accounts/minutes.c; NULL = not asked yet */
};

enum account_block_of {
    BLOCK_ACCOUNT,
    BLOCK_USER,
    BLOCK_ASSOC,
    BLOCK_LIMIT,
    BLOCK_WCKEY,
    ACCOUNT_BLOCKS
};

/* Memory of records that came at once (record/accounts/memory.c). */
struct account_block {
    void *at; /* owned; NULL = nothing came at once */
    size_t bytes;
};

/* Numbers of associations, where each is found by what it is of (record/accounts/assoc_index.c). */
struct assoc_table {
    uint32_t *slot; /* 0 = nothing here */
    size_t nslots;  /* a power of two, at least twice n; 0 = none yet */
    size_t n;       /* slots in use */
};

/* See record/accounts/accounts.h. Records owned, texts interned; removed ones among them. */
struct account_book {
    struct map_str *account;     /* name → struct account */
    struct map_str *user;        /* name → struct account_user */
    struct map_u64 *assoc;       /* id → struct assocrec */
    struct assoc_table assoc_of; /* account, user, partition → id */
    struct map_u64 *qos;         /* id → struct qosrec */
    struct map_str *qos_of;      /* name → struct qosrec */
    struct map_u64 *wckey;       /* id → struct wckey */
    struct map_str *wckey_of;    /* "key user" → struct wckey */
    struct map_u64 *tres;        /* id → struct tres */
    /* numbers given last, never given again */
    uint32_t last_assoc, last_qos, last_wckey, last_tres, last_cap; /* a cap's the planner knows */
    uint64_t last_transaction;
    bool implied;                    /* root and normal are not stored yet */
    size_t accounts;                 /* that were made, and are there */
    struct account_journal *journal; /* of the change at hand; NULL = none */
    struct map_str *cap_of;    /* limit and whom it is counted for → struct caprec (limits.c) */
    struct map_str *live;      /* account, user, QOS, partition → struct live_count */
    struct live_sums *sums;    /* live_sums.c: of those in `live` */
    struct accruing *accruing; /* accrue.c */
    struct together_known *together;       /* limits_together.c */
    uint32_t most_qos, most_assoc;         /* the highest priorities */
    bool capacity_changed;                 /* of nodes: what is relative to it is to be looked at */
    uint32_t prioritized;                  /* associations with a priority of their own */
    uint32_t limits[RESOURCE_LIMIT_COUNT]; /* that are set, of each kind */
    bool rehang;         /* associations came one by one: children perhaps before their parents */
    bool shares_stale;   /* factors of fair share are not worked out, as nobody is watched */
    bool shares_watched; /* factors of all are worked out, whoever is shown */
    struct account_block block[ACCOUNT_BLOCKS]; /* by enum account_block_of */
};

/* What the next wake does (step/gather.c). */
struct gather {
    VEC(struct gathered) step; /* to be summed up and stored */
    VEC(struct ack_due) ack;   /* of reports that this stores */
};

/* See request/sweep.c. */
struct sweeps {
    VEC(struct sweep *) list; /* each owned */
    int64_t due_us;           /* when the next slice is due */
    uint32_t last_payer;      /* whose the last one was */
    int64_t asked_us;         /* when somebody else asked for something, while there are some */
};

/* See life/limits.c. */
struct limits_look {
    bool on;              /* jobs are looked at anew, some in each turn */
    struct map_walk walk; /* of the jobs */
};

/* See clock.c. */
struct wall_clock {
    const char *boot;  /* of the machine, interned; NULL = not told */
    int64_t ahead_us;  /* the wall clock less the one that is never set */
    int64_t missed_us; /* by how much it was set while the controller was down */
    bool known;        /* the shell has told the clock that is never set */
};

/* Rows that cannot be lived with, until core_loaded says so (load/left_out.c). */
struct left_out_rows {
    VEC(struct left_out) row;
    struct arena *arena; /* their texts */
    size_t count;        /* how many they were */
};

/* The event at hand: arguments of whatever is done in it, not state. */
struct core_turn {
    int64_t now_us;              /* wall clock, all through the event */
    struct effects *fx;          /* what this event brings about */
    const struct peer *peer;     /* NULL = nobody asks */
    uint64_t conn, seq, request; /* who asks: connection, number of the call, and of the request */
    size_t work;                 /* what was done so far of what may be many (WORK_MOST) */
    bool hurry;                  /* others wait */
    bool aside;                  /* this is a copy of the machine, which holds nobody up */
    const struct msg_done *worked;  /* what such a copy answered */
    const struct record_list *rows; /* of jobs, read with the request; NULL = none were */
    const char *remark;             /* of the site's submit filter, for who submits */
};

/* What comes with the settings, and goes when others are read. */
struct settings_made {
    struct arena *arena;    /* their texts */
    const char *mail_fault; /* why mail cannot be sent, in that arena; NULL = it can */
};

/* Requests that are answered later than they came, and those that may come again. */
struct core_calls {
    VEC(struct waiter) waiter;
    struct output_asks output;
    struct answers *answers; /* core/request/answered.c */
};

/* What is due by the clock alone (record/due.c). */
struct timers {
    VEC(struct alarm) heap; /* of jobs and nodes, the next first; some are out of date */
    /* The slice of jobs that take turns is over; 0 = none waits for its turn. */
    int64_t gang_due_us;
};

/* What users have beside their jobs; uid, plus 1 → … */
struct core_users {
    struct map_u64 *room;    /* struct user_room (record/users/user_room.c), owned */
    struct map_u64 *crontab; /* struct crontabrec, owned */
    struct map_u64 *named;   /* struct named (record/users/owner.c), owned */
};

/* Work on very many jobs, some of it in each turn, so that nobody waits long meanwhile. */
struct slices {
    struct sweeps sweeps;
    struct limits_look anew;
};

/* Parts of one concern each; what is here by itself is everybody's: texts, settings, and the lists
 * of what a cluster has. Whoever adds a member looks first whether it is of a part. */
struct core {
    struct rng rng;           /* the only chance there is; seeded */
    char *host;               /* the controller's machine; owned */
    struct intern *pool;      /* every text of a record that stays */
    struct settings settings; /* texts in settings_made.arena */
    struct settings_made settings_made;
    struct cluster *cluster; /* the planner's books */
    struct plan *plan;       /* what its last pass said */
    struct job_index jobs;
    VEC(struct noderec *) node; /* by index, never removed */
    struct node_index node_index;
    VEC(struct partrec *) part;
    VEC(struct resvrec *) resv; /* in no order */
    struct core_calls calls;
    struct timers timers;
    struct core_users users;
    struct trigger_book triggers;
    struct joined joined;
    struct store_state store;
    struct planning planning;
    struct usage_book usage;
    struct account_book accounts;
    struct diag diag; /* counters for sdiag */
    struct gather gather;
    struct marks marks;
    struct slices slices;
    struct wall_clock clock;
    struct left_out_rows left_out;
    struct core_turn turn;
};

typedef VEC(struct jobrec *) jobrec_vec;

#endif
