/* What the files of a replay share. The rest sees sim/replay/replay.h. */
#ifndef REMUDA_SIM_REPLAY_INSIDE_H
#define REMUDA_SIM_REPLAY_INSIDE_H

#include "base/map.h"
#include "core/core.h"
#include "sim/replay/profile.h"
#include "sim/replay/replay.h"

#define NODE_CONN 100 /* of node 0 */
#define NEVER     INT64_MAX

struct ending {
    int64_t at;
    uint64_t turn; /* among those of one second */
    uint32_t job;
    uint32_t attempt;
    bool reported;
};

struct endings {
    VEC(struct ending) v; /* heap by (time, turn, job) */
};
void endings_push(struct endings *h, struct ending e); /* a heap, the earliest first */
struct ending endings_pop(struct endings *h);          /* of one that is not empty */

/* What is known of a job besides the trace and the result. */
struct live_job {
    uint64_t id;     /* that the machine gave it */
    uint64_t conn;   /* of its batch host */
    char *alloc;     /* what it holds, where that is counted; owned */
    int64_t limit;   /* what the planner is told, seconds */
    int64_t place;   /* conservative: start kept for it */
    int64_t promise; /* promised last, seconds; 0 = none */
    uint64_t promise_pass;
    int64_t left; /* suspended: seconds it has to run yet */
    uint32_t attempt;
    bool over, suspended, held_back; /* held back: not among the first of --depth */
};

struct user_runs {
    int64_t last, before; /* run times, -1 = none */
};

struct replay {
    const struct trace *t;
    const struct replay_setup *s;
    struct replay_result *r;
    struct config config;
    struct core *core;
    struct effects fx;
    struct order_hook hook;
    struct peer user, root;
    int64_t epoch; /* seconds since 1970 at the trace's second 0 */
    int64_t now;   /* the trace's seconds */
    int64_t begun; /* the first of them */
    uint64_t seq, pass_mark, next_id;
    uint64_t started;      /* jobs so far */
    struct live_job *job;  /* by index in the trace */
    struct map_u64 *by_id; /* job id → index + 1 */
    size_t arrived, waiting;
    uint64_t submitted_id; /* of the submission at hand; 0 = refused */
    const char *refusal;
    struct endings ends, corrections;
    VEC(struct ending) now_ending;
    VEC(uint64_t) released; /* job and connection of nodes that were told to end one */
    struct profile plan;
    VEC(uint32_t) queue; /* conservative or --depth: waiting jobs by arrival */
    /* Came since the last pass and wants to know its planned start */
    VEC(uint32_t) unplanned;
    struct map_u64 *users;          /* runs of each user */
    int64_t *node_free, *node_cpus; /* by node, where fragmentation is counted */
    struct map_str *node_index;
    int64_t free, broken_free; /* idle processors; those of them on nodes partly busy */
    double waited_free, waited_broken;
    double *node_lost; /* by free processors: what is lost to the kinds of job */
    struct err *err;
    bool failed;
};

/* ---- replay_machine.c: what the controller's machine is told and says ----------------------- */
bool machine_start(struct replay *p);
/* with the figures of its nodes; nothing, where it never started */
void machine_stop(struct replay *p);
/* the first reason stands; the replay ends */
void replay_failed(struct replay *p, const char *what, int64_t job, const char *why);
void replay_submit(struct replay *p, uint32_t i); /* job `i` of the trace, now */
/* What was planned has come: unless the job is suspended, over, or in another run. */
void replay_end(struct replay *p, struct ending *e);
void replay_correct(struct replay *p, uint32_t job); /* the planner hears what the user asked */
/* A pass, if the core wants one; its time is taken unless `untimed`. Nodes answer at once. */
void replay_pass(struct replay *p);
int64_t replay_wake_due(const struct replay *p); /* seconds; NEVER */
int64_t wall_us(const struct replay *p);         /* now, as the core's clock shows it */

/* ---- order.c: orders, places, predictions ---- */
int64_t estimate_of(struct replay *p, uint32_t i);
/* it has ended: the next of its user is guessed by it */
void prediction_learn(struct replay *p, uint32_t i);
void hook_fill(struct replay *p);  /* what the policy asks of the planner beyond its settings */
void depth_mark(struct replay *p); /* who is considered in the pass that comes */
/* Conservative backfill: the earliest that its limit fits, and it is kept. */
void place_take(struct replay *p, uint32_t i);
/* One ended before its limit: whoever waits moves up, in order. */
void places_compress(struct replay *p, uint32_t ended);
/* The next of the places of those that wait; NEVER = none is to come. */
int64_t place_next(const struct replay *p);

/* ---- nodes.c: which nodes are how busy ---- */
void nodes_count_start(struct replay *p);
/* NULL: gives back what it took */
void nodes_count_take(struct replay *p, uint32_t job, const char *alloc);
void nodes_count_time(struct replay *p, int64_t seconds); /* that pass now */
void nodes_count_end(struct replay *p);                   /* what of free nodes was too broken up */

#endif
