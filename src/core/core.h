/* The controller's machine: the only place where a job's life is decided. Pure: the shell feeds
 * events and carries effects out.
 *
 *   turn:  for each input: core_step(EV_…)   — then one EV_WAKE if core_wake_due() ≤ now (it plans)
 *          commit all FX_STORE in one transaction
 *          release FX_REPLY, FX_SEND, FX_RUN  — in the order they were made */
#ifndef REMUDA_CORE_CORE_H
#define REMUDA_CORE_CORE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "model/message.h"
#include "model/past.h"
#include "model/settings/settings.h"
#include "model/stored.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core; /* opaque */
struct foreseen;

/* Who is at the other end, as the shell checked it. */
struct peer {
    uint32_t uid, gid;        /* as this host numbers users */
    const char *user, *group; /* names; NULL if they have none */
    /* All group names of the user, comma-separated; NULL = not looked up. */
    const char *groups;
    const char *host; /* where it is */
    bool host_unsure; /* by a name that the host gave itself, and that proves nothing */
    bool is_admin;    /* root, SlurmUser or the user the controller runs as */
    bool is_daemon;   /* may speak as a node daemon; who is_admin may, too */
    /* Speaks from a host that is not believed to have administrators: no operator either. */
    bool is_plain;
};

#define NAMELESS_UID (UINT32_MAX - 1) /* nobody's */

/* Name services do not know him: one of as many as somebody likes. An administrator never is. */
bool peer_is_nameless(const struct peer *peer);
/* By what is counted and shared what users may have: his number, or NAMELESS_UID of all those
 * without a name, who are one user together. */
uint32_t peer_payer(const struct peer *peer);
bool peers_are_one(const struct peer *one, const struct peer *other); /* do they pay together? */

enum event_kind {
    EV_MESSAGE, /* a message came from connection `conn` */
    EV_CLOSED,  /* connection `conn` is gone */
    EV_WAKE,    /* core_wake_due() has come */
    EV_CONFIG,  /* the configuration was read (again) */
    /* a commit failed; text says why. Effects of that turn were not released; they will be when it
     * is back. */
    EV_STORE_AWAY,
    EV_STORE_BACK,   /* effects that were held back are let out */
    EV_FORESEEN,     /* a part of the forecast that core_foresee made elsewhere */
    EV_PAST,         /* rows of what is over, read from the store, are to be removed */
    EV_OWNERS,       /* names that users of core_owners have now */
    EV_PROGRAM_OVER, /* one that FX_PROGRAM let out has ended, or could not be started */
};

/* What name services say of a number. */
struct owner_name {
    uint32_t uid;
    const char *name; /* NULL = it is nobody's any more */
};

/* Of a wake: for who must know whose time it takes, the slice of a request about many jobs, which
 * is its user's (core_sweeper), is one event, and all else another. */
enum wake_part { WAKE_WHOLE, WAKE_SLICE, WAKE_REST };

struct event {
    enum event_kind kind;
    int64_t now_us; /* wall clock: dates of people; it may be set */
    /* a clock that is never set, from any beginning; 0 = not told, and the wall clock was not
     * set. */
    int64_t mono_us;
    uint64_t conn;               /* number of the connection, never reused */
    const struct peer *peer;     /* EV_MESSAGE */
    const struct message *msg;   /* EV_MESSAGE */
    const struct config *config; /* EV_CONFIG */
    /* EV_CONFIG: name of the machine's boot, or NULL; EV_STORE_AWAY: why. */
    const char *text;
    bool hurry; /* EV_MESSAGE: others wait, what can be cut short is */
    bool aside; /* EV_MESSAGE: in a copy of the machine, where it holds nobody up */
    /* EV_MESSAGE: what such a copy answered to it, which is checked before it is done; NULL = no
     * copy was asked. */
    const struct msg_done *worked;
    /* EV_MESSAGE of amend_jobs: rows of struct job of those that it names, as the store has them;
     * NULL = only what memory knows is there. */
    const struct record_list *rows;
    /* EV_MESSAGE of a submission: what the site's submit filter says to who asked; or NULL. */
    const char *remark;
    enum wake_part part; /* EV_WAKE */
    /* EV_WAKE: the planner had much of the time, it is others' turn; from now on until the next
     * wake says otherwise. */
    bool plan_rests;
    /* EV_WAKE: the shell has a long forecast made elsewhere, when core_foresee_due says so. */
    bool foresees;
    struct foreseen *foreseen; /* EV_FORESEEN: moved on; repeated while it has more */
    /* EV_PAST: what memory still knows stays. A job's other rows come before its own. */
    const struct past_rows *past;
    const struct owner_name *owners; /* EV_OWNERS */
    size_t nowners;
    /* EV_CONFIG: why mail cannot be sent; NULL = as far as is known it can. */
    const char *mail_fault;
};

enum effect_kind {
    FX_STORE, /* table, op, record */
    FX_REPLY, /* conn, msg: an answer to a client */
    /* Conn, msg: to a node daemon; payload_job ≠ 0: attach that job's script and environment to the
     * LAUNCH. */
    FX_SEND,
    FX_MAIL,  /* mail */
    FX_CLOSE, /* conn */
    FX_LOG,   /* text, level */
    FX_STOP,  /* stop this daemon after this turn */
    /* Read the configuration and feed EV_CONFIG; text: without what a host that joined said of that
     * node. */
    FX_RECONFIGURE,
    FX_ARCHIVE, /* conn, msg: write the past to files and remove it; the shell answers */
    /* program: run it; EV_PROGRAM_OVER when it has ended. Not held back while the store is away. */
    FX_PROGRAM,
};

enum log_level { LEVEL_ERROR, LEVEL_WARNING, LEVEL_INFO, LEVEL_DEBUG };

struct mail {
    uint32_t uid, gid; /* whose job it tells of */
    const char *to;    /* user or address */
    /* "Slurm Job_id=42 Name=train Ended, Run time 00:01:02, COMPLETED, ExitCode 0" */
    const char *subject;
    const char *body; /* NULL = none */
    /* "42", "42_7", "42+1": what it did is to be told as well; a whole array by its number. NULL =
     * nothing of it. */
    const char *about;
    bool samples_come; /* it ran for so long that there are samples, the last still on their way */
    /* NAME=VALUE each, for the program that sends it; texts of users are plain. NULL-terminated. */
    const char *const *env;
};

/* Of a trigger. */
struct program_run {
    uint32_t uid, gid;    /* as whom */
    const char *user;     /* his name then; NULL = he had none */
    uint32_t trigger;     /* its number */
    const char *line;     /* path and arguments, with blanks between */
    const char *argument; /* one more: what happened to */
};

struct effect {
    enum effect_kind kind;
    uint64_t conn; /* of FX_REPLY, FX_SEND, FX_CLOSE, FX_ARCHIVE; who asked for FX_RECONFIGURE */
    struct message msg;     /* body lives in the effects' arena */
    uint64_t payload_job;   /* 0 = none */
    enum store_table table; /* FX_STORE */
    bool remove;            /* FX_STORE: delete the row */
    bool add;               /* FX_STORE: put the row unless there is one of that key */
    const void *record;     /* FX_STORE: copy in the arena */
    struct mail mail;
    struct program_run program;
    enum log_level level;
    const char *text; /* FX_LOG, FX_RECONFIGURE */
};

struct effects {
    struct arena *arena; /* records, messages and texts of all of them */
    struct effect *v;
    size_t n, cap; /* room in `v` */
};
/* Empty; freed by effects_done, with all that its effects point to. */
void effects_init(struct effects *fx);
void effects_reset(struct effects *fx); /* empties, keeps memory */
void effects_done(struct effects *fx);  /* the arena that all of them lie in, too */

/* `seed` feeds the machine's own generator; host names the controller's host. */
struct core *core_new(uint64_t seed, const char *host);
/* With all that it holds; effects made by it stay good. */
void core_free(struct core *c);

/* Start: EV_CONFIG first, then every stored row (order: META, PARTITION, NODE, RESERVATION, JOB
 * (live_only), STEP of live jobs), then core_loaded. */
void core_load(struct core *c, enum store_table table, const void *record);
/* The rows of all tables that are packed (model/packed.h), instead of one by one; after those of
 * the QOS. They are known to be sound. */
struct packed;
void core_load_packed(struct core *c, const struct packed *p);
/* Would core_load take the row? It leaves one out whose numbers, states or parts cannot be; ret_err
 * says why. */
bool core_row_sound(enum store_table table, const void *record, struct err *ret_err);
/* All rows were given: indexes, graces and the planner stand, and what the time away calls for is
 * in fx. Only now core_step may be called for anything but EV_CONFIG. */
void core_loaded(struct core *c, int64_t now_us, struct effects *fx);
/* Before core_loaded: the store is older than what was said last, by the shell's own evidence; and
 * no job id below `next` is given (again). */
void core_store_is_older(struct core *c);
/* The next job's number is this or higher, and the store's own word for it is believed no further
 * than some way beyond. */
void core_ids_from(struct core *c, uint64_t next);
/* Before core_loaded: the controller did not end by itself the last time. */
void core_was_killed(struct core *c);

/* One event, and all that follows from it. What is to be done outside is added to `fx`, in the
 * order in which it is to be done; its texts and bodies live in fx->arena, none in the event, which
 * may go after the call. Never fails: what cannot be done is answered with a refusal. */
void core_step(struct core *c, const struct event *ev, struct effects *fx);
/* When it wants EV_WAKE; INT64_MAX = never, ≤ now = at the end of this turn. */
int64_t core_wake_due(const struct core *c);

struct view {
    /* struct job, node, partition, step or daemon_status as q->what says; valid during the call. */
    void (*row)(void *ctx, const void *record);
    void *ctx;
};
/* Where a reading of many records stands; zeroed before the first call, ended by core_query_end. */
struct query_at {
    /* Who reads may set it: bytes that the rows became so far; parts of jobs end by them, too. */
    const size_t *taken;
    struct map_walk walk;     /* where the next part begins */
    bool second;              /* of what lies in two maps: in the second; private */
    bool more;                /* there is: call again */
    void *kept;               /* from part to part; private */
    void (*drop)(void *kept); /* private */
};
/* Reads live state. Rows a user may not see are left out. ERR by value when a filter makes no sense
 * (refusal + detail). Unknown single job id: REFUSE_INVALID_JOB_ID (clients.md edge 7).
 * QUERY_SETTINGS and QUERY_HISTORY are the shell's. */
enum refusal core_query(const struct core *c, const struct msg_query *q, const struct peer *peer,
                        int64_t now_us, const struct view *v, struct str *detail);
/* The same a part at a time: of queries of all jobs, their steps or priorities, of nodes and
 * partitions, of shares, of what is in use, or of accounts and what belongs to them, at most so
 * many records are looked at; others are answered whole. */
enum refusal core_query_part(const struct core *c, const struct msg_query *q,
                             const struct peer *peer, int64_t now_us, const struct view *v,
                             struct str *detail, struct query_at *at, size_t most);
/* Frees what is kept from part to part; also in the middle, and of a zeroed one. */
void core_query_end(struct query_at *at);

/* What the shell tells of what is stored, or counts itself, is held to PrivateData by this. */
struct core_sight {
    bool operates;        /* reads what else is its owner's alone, too */
    bool jobs, usage;     /* everybody's; else one's own, and of these accounts */
    const char *accounts; /* that one coordinates, with commas between; NULL = none */
    bool transactions, events, past_reservations; /* may he see them, by PrivateData */
    bool users;                                   /* who asked how much */
};
/* Texts in the arena. */
void core_sight_of(const struct core *c, const struct peer *peer, struct arena *a,
                   struct core_sight *ret);

/* Would the answer to it take long? Then it may be worked out in a copy of the machine: core_step
 * there, and its FX_REPLY is the answer; of a request that changes something (message_changes) that
 * answer comes back in the event (`worked`). */
bool core_asks_much(const struct core *c, const struct message *m);

/* May he change accounts, by whatever right, so that his requests may be long? Not whoever changes
 * no more than his own defaults. */
bool core_loads_accounts(const struct core *c, const struct peer *peer);

/* Is a forecast of who starts when due that takes longer than a wake may? Of a copy of the machine
 * core_foresee makes it, for EV_FORESEEN. */
bool core_foresee_due(const struct core *c);
/* Appends the forecast, as the text that EV_FORESEEN takes back. */
void core_foresee(const struct core *c, int64_t now_us, struct str *out);

/* Whose jobs the wake of that moment goes on to end, of those asked for together (`scancel -u`):
 * who asked, until the next step. NULL: nobody's. */
const struct peer *core_sweeper(const struct core *c, int64_t now_us);

/* Of whom memory has jobs with a name: their numbers, *ret_n of them, in the arena. Whoever has
 * name services asks them now and then who has these numbers, and says so (EV_OWNERS). */
const uint32_t *core_owners(const struct core *c, struct arena *a, size_t *ret_n);

/* May the node have had that run of the job? False: it surely never had. What is no more in memory
 * (a job that is forgotten, a former run) it may have had. */
bool core_node_had(const struct core *c, const char *node, uint64_t job_id, uint32_t attempt);

/* The host of that certificate name; NULL = shut out, or never there. Valid until the next step. */
const struct host *core_host(const struct core *c, const char *id);
/* The host that joined with that token and key, and may ask for its answer again; NULL: none. */
const struct host *core_host_joined(const struct core *c, const char *token, const char *key_hash);
void core_hosts(const struct core *c, const struct view *v); /* every one, in any order */
/* Hosts, and tokens with which some may still join. */
size_t core_hosts_count(const struct core *c);
/* How many were shut out since the start; whoever has connections of hosts looks again when it
 * changes. */
uint64_t core_hosts_shut_out(const struct core *c);

void core_check(const struct core *c); /* asserts every invariant */
/* The same, but of every CHECK_TURNS records the fields of one only, and of every CHECK_TURNS jobs
 * that are over one: looking at all fields of all records after each event was half of what a
 * simulated world costs. TURN counts up. */
void core_check_turn(const struct core *c, uint32_t turn);
#define CHECK_TURNS 32
#define CHECK_ALL   UINT32_MAX
uint64_t core_hash(const struct core *c); /* of the whole state; equal states, equal hashes */
/* as they are now; valid until the next event */
const struct settings *core_settings(const struct core *c);
/* The simulator's own order of the waiting jobs (sched/books/order.h); copied. */
struct order_hook;
void core_set_order(struct core *c, const struct order_hook *hook);

#endif
