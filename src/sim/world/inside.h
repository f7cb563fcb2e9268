/* What the files of a simulated world share: its insides. The rest sees sim/world/world.h. */
#ifndef REMUDA_SIM_WORLD_INSIDE_H
#define REMUDA_SIM_WORLD_INSIDE_H

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/core.h"
#include "sim/world/callers.h"
#include "sim/world/gpus.h"
#include "sim/world/world.h"
#include "store/store.h"

#define EPOCH_US (INT64_C(1790000000) * USEC_PER_SEC) /* when worlds begin */
/* Connections of clients are numbered from here */
#define CLIENT (UINT64_C(1) << 40)

/* A step and its shepherd, as the node's disk and process table know it. */
/* One lane of a script that runs srun after srun. */
struct simsrun {
    int32_t left;    /* sruns to come, the one at hand among them */
    uint64_t conn;   /* of the one at hand; 0 = it has none */
    int64_t step_id; /* that it was given; -1 = none yet */
    int64_t after;   /* step that the one at hand waits for; -1 = none */
};
#define SIM_LANES 4 /* of a script, at most */

struct simstep {
    struct note ids;
    struct behaviour b;
    VEC(struct note) said; /* the state file */
    char *cpus;            /* of a step that has them to itself; owned */
    bool alive;
    bool dying;
    uint64_t conn; /* its daemon's when it began */
    struct simsrun lane[SIM_LANES];
    size_t lanes;
    int64_t ends_us; /* when it ends by itself, unless it is stopped */
    int64_t left_us; /* stopped: how long it would run yet */
    bool stopped;
    uint64_t turn; /* number of its current end event; older ones are void */
};

#define WORLD_GPUS        2                            /* of each node that has any */
#define WORLD_GPU_IDLE_US (INT64_C(60) * USEC_PER_SEC) /* before GpuIdle of any world ends a job */

struct simnode {
    struct node n;
    struct agent *agent; /* NULL: its daemon is down */
    uint64_t conn;       /* 0: not connected */
    VEC(struct simstep *) step;
    int64_t wake_us;
    struct simgpus gpus;
    int64_t gpu_busy_us[WORLD_GPUS]; /* when it said so last */
    uint64_t life;                   /* number of its daemon */
    unsigned boots;                  /* of its machine */
    char boot_name[32];              /* n.life: of this boot */
    int64_t heard_us;                /* when the controller heard of it last */
    uint64_t heard_conn;             /* over which connection */
    int64_t known_us, known_wall_us; /* when it heard first over that */
    /* When the last message on its way arrives: a link keeps the order */
    int64_t to_node_us, to_core_us;
};

/* A job as it was committed last. */
struct simjob {
    enum job_state state;
    uint32_t attempt, live_steps;
    uint64_t het_job_id;
    bool of_backup;      /* a store that was restored knew it */
    bool in_reservation; /* its run ends with one */
    int64_t limit_us;
    /* Of its run, by the world's own time: begin, since when it is suspended, for how long it was
     * before */
    int64_t began_us, stopped_us, idle_us;
};

enum happen {
    H_TO_CORE,
    H_TO_NODE,
    H_NOTE,
    H_STEP_END,
    H_STEP_START,
    H_CONNECT,
    H_AGENT_BACK,
    H_CORE_BACK,
    H_AGENT_WAKE,
    H_CORE_WAKE,
    H_STORE_RETRY,
    H_PROGRAM,
    H_SCRIPT,
    H_SCRIPT_REQUEUE,
    H_SRUN_CANCELS,
    H_HANG_UP,
    H_LOOKED,
    H_ASK_AGAIN,
    H_PROGRAM_OVER
};

struct happening {
    int64_t at_us;
    uint64_t order; /* among equal times: first come, first served */
    enum happen what;
    size_t node;
    uint64_t conn, turn;
    struct str bytes; /* H_TO_CORE, H_TO_NODE, H_ASK_AGAIN; H_LOOKED: what to look at */
    uint32_t uid;     /* H_ASK_AGAIN: who asks; 0 = root */
    struct note note;
    bool is_epilog;
};

enum step_life { STEP_LIVES = 1, STEP_ENDED, STEP_ENDED_WELL };

struct backup;   /* restore.c */
struct simdoubt; /* depend.c */
struct simuse;   /* use.c */

struct sim_world {
    struct rng rng;
    int64_t now_us;
    int64_t set_us; /* by how much the wall clock was set forward in all */
    bool gpus_work; /* from now on every GPU is at work */
    struct config config;
    struct core *core; /* NULL: the controller is down */
    struct store *store;
    uint64_t epoch, batch_seq, next_conn, next_order, answer_seq;
    uint64_t batch_gap;  /* as struct turns has it */
    uint32_t check_turn; /* whose fields are looked at */
    struct effects fx;   /* of the open turn */
    struct batch *stuck; /* a batch that could not be committed, with its effects in fx */
    bool away;
    enum crash_point crash;
    bool crash_set;
    int64_t crash_back_us;
    VEC(struct simnode) node;
    /* id → struct simdep, owned; NULL = nothing is known; `off`: nothing will be */
    struct map_u64 *depend;
    struct simdoubt *doubt; /* who was let go in the batch at hand */
    bool depend_off;
    struct map_u64 *cron;        /* jobs of scrontab → struct simcron, owned */
    struct map_u64 *trigger_ran; /* triggers that do not stay and have run */
    bool trigger_doubt;          /* an older store may know them as waiting */
    VEC(struct happening) heap;
    struct map_u64 *acknowledged; /* ids whose submission was answered */
    struct map_u64 *made;         /* number of a submission → id of the job that was made of it */
    struct map_u64 *state;        /* id → committed state and life (world_state_seen) */
    /* Hash of what may start once: a batch script, a step on a node */
    struct map_u64 *starts;
    struct map_u64 *gaining;    /* id → elements that gain priority by age, as committed */
    struct map_str *outs;       /* node → its devices_out, as it was stored */
    struct map_u64 *step_ended; /* hash of job, attempt and step → enum step_life, as stored */
    struct map_u64 *step_after; /* the same of queued steps → what they wait for (queued.c) */
    struct map_u64 *job;        /* id → struct simjob, owned */
    /* Ids that were ever given → number of the submission + 1; no restore takes that back */
    struct map_u64 *numbers;
    /* Ids that a restored store had live, until somebody lets any job go */
    struct map_u64 *doubtful;
    struct backup *backup;          /* the last; NULL = none was made */
    struct simuse *use;             /* what was used; NULL = nothing was counted yet */
    uint64_t given_seq, given_next; /* the file `given` */
    /* Ids of jobs whom someone asked to end: jobs, arrays, heterogeneous jobs */
    struct map_u64 *to_end;
    struct callers callers;
    enum refusal refusal; /* of the answer to the client at hand */
    uint64_t answered_id;
    bool answered;
    uint64_t client_conn;
    uint32_t client_uid; /* who asks; 0 = root */
    struct arena *arena; /* of a message at hand */
    struct str trace;
    char *broken;
    uint64_t hash;
};

extern const struct peer world_daemon; /* who node daemons and clients of the world are: root */

/* ---- time.c: clocks, and the heap of what will happen --------------------------------- */
/* What must hold does not: keeps the first sentence. */
void world_broke(struct sim_world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Happens so long from now; the bytes of `h` become the heap's. */
void world_plan(struct sim_world *w, int64_t after_us, struct happening h);
/* What happens next, taken off the heap, which is not empty; its bytes become the caller's. */
struct happening world_next(struct sim_world *w);
int64_t world_monotonic(const struct sim_world *w); /* the clock that nobody sets */
int64_t world_delay(struct sim_world *w);           /* of a message on its way */
/* The same on a link, where nothing overtakes: *last_us is when the last one arrives. */
int64_t world_delay_in_order(struct sim_world *w, int64_t *last_us);
/* The frame that arrives, read back into the world's arena; false: broken. */
bool world_message_read(struct sim_world *w, struct happening *h, struct message *ret);

/* ---- depend.c: what jobs wait for; also world_dependency_of (world.h) ---- */
void world_depend_learn(struct sim_world *w, const struct job *j); /* a row that was committed */
void world_depend_check(struct sim_world *w); /* of a batch all rows were learnt */
void world_depend_stop(struct sim_world *w);  /* the store is another */
void world_depend_audit(struct sim_world *w); /* all is healed and quiet */
void world_depend_free(struct sim_world *w);  /* what the oracle expects of dependencies */

/* ---- trigger.c ---- */
#define SIM_ONCE "/bin/once" /* program of triggers that do not stay */
void world_trigger_runs(struct sim_world *w, const struct program_run *run); /* it was let out */

/* ---- cron.c ---- */
void world_cron_check(struct sim_world *w, const struct job *j); /* a row that was committed */
void world_cron_clock(struct sim_world *w);                      /* it was set */
void world_cron_free(struct sim_world *w);                       /* likewise of crontabs */

/* ---- trace.c: what was committed, as text ---- */
/* As the next row of the job is compared with */
void world_state_seen(struct sim_world *w, const struct job *j);
/* A line where its state, or its run, is another than at the last row. */
void world_trace_job(struct sim_world *w, const struct job *j);
/* A row of a step was written: a line, and the oracle's look: over stays over. */
void world_trace_step(struct sim_world *w, const struct step *s);
/* Its devices that nobody may be given, if they changed */
void world_trace_node(struct sim_world *w, const struct node *row);
/* likewise of a reservation */
void world_trace_reservation(struct sim_world *w, const struct reservation *r, bool removed);
/* Hash of a step on a node; node 0 = of all of it. */
uint64_t world_step_key(uint64_t job_id, uint64_t attempt, int64_t step_id, uint64_t node);

/* ---- steps.c: what must hold of steps after each commit ------------------------------- */
void world_cancel_note(struct sim_world *w, const struct msg_cancel *m); /* a client asks */
/* Before world_trace_step. */
void world_rows_learn(struct sim_world *w, enum store_table table, const void *record);
/* When all are learnt */
void world_rows_check(struct sim_world *w, enum store_table table, const void *record);

/* ---- queued.c: steps that wait for steps ---- */
void world_queued_learn(struct sim_world *w, const struct queued_step *q);
void world_queued_check(struct sim_world *w, const struct step *s); /* all rows were learnt */
enum step_life world_step_life(const struct step *s);               /* of its row */

/* ---- limits.c ---- */
/* No job of the batch started beyond a limit. */
void world_limits_check(struct sim_world *w, const struct batch *batch);
/* Is the account this one, or below it, as the books have it? */
bool world_account_is_below(struct sim_world *w, const char *account, const char *above);

/* ---- use.c: what was used, counted from the rows of jobs; only where nothing decays ---- */
/* In thousandths × seconds, of memory in MiB × seconds, as the rows of use. */
struct simused {
    int64_t now, before; /* after and before the last batch */
};
/* Before world_limits_check. */
void world_use_learn(struct sim_world *w, const struct batch *batch);
/* Of "assoc" or "qos" and its number; tres NULL: wall clock time. False: nothing is counted. */
bool world_use_get(const struct sim_world *w, const char *owner, uint32_t id, const char *tres,
                   struct simused *ret);
int64_t world_use_rate(const struct job *j, const char *tres);         /* of a second */
int64_t world_use_charged(const struct sim_world *w, uint64_t job_id); /* seconds of its last run */
bool world_use_began(const struct sim_world *w, uint64_t job_id);      /* in the last batch */
/* RawUsage=0 is asked for; it was answered. */
void world_use_forgets(struct sim_world *w, bool of_qos, const char *name);
void world_use_forgot(struct sim_world *w); /* the request to forget usage is done */
void world_use_lose(struct sim_world *w);   /* the controller died */
/* as it is now: for a restart of the oracle with the controller; NULL is empty */
struct simuse *world_use_copy(const struct simuse *from);
void world_use_free(struct simuse *u); /* NULL is allowed */
/* Is use counted here at all: limits are in force, and nothing fades? */
bool world_use_is_kept(const struct sim_world *w);
/* Each association of the store, those that always are among them. */
void world_use_assocs(struct sim_world *w, void (*row)(void *ctx, const void *record), void *ctx);

/* ---- controller.c: the controller's shell ---- */
void controller_start(struct sim_world *w);
/* At once, with all that was not committed; who waits for an answer loses it. */
void controller_die(struct sim_world *w);
/* Steps the event at the world's time, and checks every invariant of the core. */
void controller_event(struct sim_world *w, struct event ev);
void controller_turn_end(struct sim_world *w); /* plans if that is due, commits, lets effects out */
/* The store answers again: what waited for it goes on. */
void controller_store_retry(struct sim_world *w);
/* The agent hears of it, the controller by its caller; nothing where there is none. */
void node_link_drop(struct sim_world *w, size_t i);

/* ---- restore.c ---- */
void world_backup_free(struct backup *b);

/* ---- doubt.c ---- */
/* Breaks the world if the job, whose former row is `known`, starts though nobody said that it
 * may. */
void world_doubt_check(struct sim_world *w, const struct job *j, const struct simjob *known);
void world_doubt_end(struct sim_world *w); /* somebody lets jobs go, or changes some */

/* ---- clients.c ---- */
/* The connection of the next call. */
uint64_t callers_next(const struct sim_world *w);
/* A submission whose answer was lost, once more. */
void world_ask_again(struct sim_world *w, const struct happening *h);
/* A call whose command stays to hear what becomes of it, or leaves with the answer. */
void world_call(struct sim_world *w, enum message_kind kind, const void *body);
/* it leaves; a submission whose answer is lost is asked again */
void world_call_once(struct sim_world *w, enum message_kind kind, const void *body);

/* ---- scripts.c: scripts that run srun ---- */
/* False: it has no srun. */
bool simscript_begins(struct sim_world *w, size_t i, struct simstep *s, const struct job *j);
/* A script's next srun, if it still runs. */
void simscript_goes(struct sim_world *w, const struct happening *h);
/* a script that asks for itself to be run again */
void simscript_requeues(struct sim_world *w, const struct happening *h);
/* An answer to an srun of a script, if it is one's. */
void simscripts_hear(struct sim_world *w, uint64_t conn, const struct message *m);
void simscripts_lose(struct sim_world *w); /* the controller died */
/* it gets TERM, and its steps' commands may pass it on */
void simscript_terminated(struct sim_world *w, size_t i, struct simstep *s);
/* such a command cancels its step */
void simsrun_cancels(struct sim_world *w, const struct happening *h);
/* its commands' connections break, each in its own time */
void simscript_dies(struct sim_world *w, struct simstep *s);
/* It is gone, however it was: the controller sees its connection close. */
void simsrun_hangs_up(struct sim_world *w, uint64_t conn);

/* ---- nodes.c: the nodes' shells ---- */
/* Its machine boots: another life than before. */
void simnode_boot(struct simnode *n);
/* Its daemon starts, and connects. */
void simnode_start(struct sim_world *w, size_t i);
/* If its daemon and the controller are up; otherwise it tries again. */
void simnode_connect(struct sim_world *w, size_t i);
/* Steps its agent, and does what that says; nothing where its daemon is down. */
void simnode_event(struct sim_world *w, size_t i, struct agent_event ev);
/* the answer to a look at devices; of a daemon that died meanwhile nothing */
void simnode_looked(struct sim_world *w, const struct happening *h);
/* By itself, if it still runs as it did when that was planned. */
void simstep_ends(struct sim_world *w, const struct happening *h);
/* a heartbeat's figures of GPUs: busy, idle or not told, by time and place alone */
void simnode_gpus_say(struct sim_world *w, size_t i);
/* Whatever ended it: its processes are gone, its GPUs free in time. */
void simstep_dies(struct sim_world *w, struct simnode *n, struct simstep *s);

/* ---- simstep.c: steps on a node ---- */
/* NULL = it has none of those ids. */
struct simstep *simstep_of(struct simnode *n, const struct note *ids);
/* It will end so long from now, with a status as wait() tells it; what it would have done otherwise
 * is void. */
void simstep_end_at(struct sim_world *w, size_t i, struct simstep *s, int64_t after_us,
                    int32_t status);
/* Frees it, and takes it out of the node. */
void simstep_forget(struct simnode *n, const struct note *ids);

#endif
