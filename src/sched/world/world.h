/* The planner's working copy of the cluster: what is free at a point in time, what runs (really or
 * as planned) until when, and what is kept for promised starts. Time only moves forward. Licences
 * are nodes of their own behind the real ones, with their count as CPUs. */
#ifndef REMUDA_SCHED_WORLD_WORLD_H
#define REMUDA_SCHED_WORLD_WORLD_H

#include "sched/books/resv.h"
#include "sched/request/demand.h"

#define NONE UINT32_MAX

/* What one job takes from one node. */
struct wtake {
    uint32_t node, job; /* number, and place in agenda.job */
    uint32_t first;     /* amounts: world.use[first … first+n) */
    uint32_t next;      /* on the same node, by time: of ends for work, of starts for promises */
    uint16_t n;
    uint16_t cpus; /* of `n`, the first: what a run gives back when it is suspended */
};

/* Work that runs, or a promise of it. */
struct wjobs {
    int64_t start_us, end_us; /* the end as its limit has it */
    uint32_t first, n;        /* takes: world.take[first … first+n) */
    uint64_t name;            /* job id: decides between equal ends */
    uint32_t resv;            /* number of the reservation it is in; 0 = none */
    uint32_t part;            /* place of its partition, plus 1; 0 = not known */
    bool shares;              /* its CPUs, with other work */
    bool lifted;              /* as if it were gone (preemption) */
};

struct end {
    int64_t at_us;
    uint32_t job; /* place in agenda.job */
};

/* From at_us on a node takes `more` units more (or less) of what is being placed. */
struct stair {
    int64_t at_us;
    int32_t more, nodes;
};

/* How many nodes hold so much of three dimensions together (a generic resource, CPUs, memory): now,
 * and from now on for ever (promises considered). Coarse, made when asked for, good until something
 * comes free. A request that needs more nodes than there are cannot be placed, which is found out
 * in a few nanoseconds; the rest is tried. A cell is [resource][CPUs][memory]. */
enum { COUNT_NOW, COUNT_EVER, COUNTS };
#define JOINT_GRES 16
#define JOINT_SIDE 32
struct joint {
    uint64_t freed, changes; /* world.freed and .changes when it was made */
    uint16_t nodes[JOINT_GRES * JOINT_SIDE * JOINT_SIDE];
};

/* What a reservation keeps on a node. */
struct kept_for {
    const struct sresv *s;
    const struct rpart *part; /* what of the node */
    uint32_t next;            /* on the same node */
};
struct windows {
    size_t n; /* of `v` */
    struct window v[WINDOWS_MAX];
};

/* What is free at world.now_us. By node; licences follow the nodes. world.c, agenda.c */
struct present {
    int64_t *free;  /* amounts, world.nall × world.dims; below 0 where a node shrank */
    uint64_t *open; /* bitmap of nodes that take work and have a CPU or a share of one free now */
    uint64_t *up;   /* bitmap of nodes that take work */
    struct group **group; /* of each node; the cluster's */
    /* Grows whenever something on a node comes free or is no longer promised */
    uint64_t freed;
};

/* What runs and what is promised, until when, and where. agenda.c */
struct agenda {
    VEC(struct wjobs) job;  /* all there ever were in this pass; a number stays its job's */
    VEC(struct wtake) take; /* all, in the order they were made */
    VEC(struct use) use;
    uint32_t *work;         /* by node: first take of running work, by end; NONE = none */
    uint32_t *kept;         /* by node: first take of promises, by start */
    uint32_t *kept_last;    /* by node: the one of these that came last, if it is there still */
    VEC(struct end) ends;   /* of running work, ascending; from ends_first on */
    size_t ends_first;      /* those before have come */
    uint32_t *of_run;       /* by run.place: its job */
    VEC(uint32_t) promised; /* promises in force */
    /* Their starts; INT64_MAX and INT64_MIN without any */
    int64_t first_promise_us, last_promise_us;
    uint64_t *changes; /* by node: grows with everything that changes above, or what is free */
};

/* First looks at nodes. counts.c */
struct world_counts {
    uint8_t *most;               /* by dimension: highest bucket of an empty node */
    uint8_t *bucket[COUNTS];     /* by dimension and node: where it is counted */
    size_t padded;               /* nodes in a row of `bucket`, a multiple of 64 */
    uint64_t changes;            /* of nodes */
    uint64_t *touched;           /* bitmap: nodes that are to be counted anew for ever */
    bool any_touched;            /* there are some */
    struct joint *joint[COUNTS]; /* by dimension */
    /* Changes after which a joint count is made again although nothing came free */
    uint64_t joint_stale;
};

/* What reservations keep, and when. resv_view.c */
struct resv_view {
    /* By node and licence: first of kept_for, or NONE; NULL = there are no reservations */
    uint32_t *kept_head;
    VEC(struct kept_for) kept_for;
    struct windows *win; /* by reservation */
    /* When reservations and windows of partitions begin and end, ascending; from turn_first on they
     * are to come */
    i64_vec turn;
    size_t turn_first;     /* those before have come */
    int64_t *used, *other; /* rows of a look at one node */
};

/* What is free on one node, in stretches of time. outlook.c */
struct outlook {
    uint64_t changes; /* agenda.changes of the node when it was true last; 0 = never */
    int64_t now_us;   /* world.now_us when it was made */
    i64_vec at;       /* when each stretch begins, ascending; the first is now */
    i64_vec row;      /* amounts free in it, world.dims each */
    i64_vec least;    /* the least of them, as far as it is known */
    bool least_known;
    VEC(uint8_t) how; /* what happens where it begins */
    VEC(struct end) ends;
    VEC(uint32_t) queue, head; /* of a walk */
};

/* The lowest bits of a candidate's key (place.c) are its node. */
#define NODE_BITS    24
#define NODE_OF(key) ((uint32_t)((key) & ((UINT64_C(1) << NODE_BITS) - 1)))

/* Paper of the placement at hand: each fills what the next one reads, and nothing of it outlives
 * the call. place.c, pick.c, earliest.c */
struct scratch {
    uint64_t *screened; /* bitmap: nodes worth a second look */
    VEC(uint64_t) key;  /* candidates, best first once sorted */
    int32_t *cap;       /* units that fit, by node; only of candidates */
    VEC(uint32_t) pick; /* nodes chosen */
    VEC(struct stair) stair;
    int64_t *row;             /* what world_row and view_row answer with */
    int64_t *sum;             /* by dimension: cap_takes.h */
    uint64_t *shared, *near;  /* bitmaps of nodes: cap_nodes.c */
    struct outlook **outlook; /* by node and licence; NULL = nobody asked for it */
};

/* Each part is changed by the files it names, and read by all of the room. What else may stand in a
 * job's way beside room (limits of its user, its account) is a part of its own, too: its use now in
 * a table like `now`, what runs out of it in `agenda`, and a question that world_place and
 * world_earliest ask where they ask part_windows.h. */
struct world {
    const struct cluster *cl;  /* read only */
    size_t nnodes, nall, dims; /* nall: and licences */
    int64_t now_us;            /* of the step at hand: the present, or foreseen */
    struct present now;
    struct agenda agenda;
    struct world_counts counts;
    struct resv_view view;
    struct scratch scratch;
};

/* Amounts that are free there now, by dimension. */
static inline int64_t *world_free_row(const struct world *w, size_t node)
{
    return &w->now.free[node * w->dims];
}
/* Whose take it is. */
static inline const struct wjobs *agenda_job(const struct agenda *a, uint32_t take)
{
    return &a->job.v[a->take.v[take].job];
}

struct placed {
    uint32_t node;
    int32_t units; /* that go there */
};
/* What is to be placed, for whom, and what it keeps away from: the arguments of a placement.
 * Whoever plans fills it from the job at hand (pass/to_place.h). */
struct to_place {
    const struct compiled *c;
    struct option *o;         /* in this partition */
    uint32_t uid_plus1;       /* whose job it is, where nodes are a user's own; 0 = anybody's */
    int64_t insists_until_us; /* it wants few switches until then; 0 = it does not */
    /* Of world_earliest: later starts are of no interest; 0 = all are */
    int64_t latest_us;
    /* Bitmap of nodes that are passed over: its CPUs or devices were not to be had there; NULL =
     * none */
    const uint64_t *barred;
    const uint64_t *shunned; /* the same: taken only where others do not do; NULL = none */
};

/* Where a job goes; the caller's, freed with vec_done(&at). */
struct placement {
    struct option *option;
    struct variant *variant;
    VEC(struct placed) at; /* ascending by node */
    /* Of the last world_place that failed: nodes that must come free at least; 0 = not known */
    uint64_t missing;
    /* The same: nodes would do, and this cap does not allow what it takes there; NULL = none */
    const struct lic_use *capped;
    int64_t takes; /* so much of `capped` it would take */
};

/* Of a cluster that is settled (cluster_settle) and does not change while the world is there. */
struct world *world_new(const struct cluster *cl, int64_t now_us);
void world_free(struct world *w); /* NULL is allowed; what lies in the pass's arena stays */

/* Can it start at start_us (now or later) and keep its resources until end_us? Fills *ret; if not,
 * only ret->missing, ret->capped and ret->takes. */
bool world_place(struct world *w, const struct to_place *what, int64_t start_us, int64_t end_us,
                 struct placement *ret);

/* Could it start then, and keep its resources until end_us, just where `at` says? */
bool world_holds(struct world *w, const struct to_place *what, int64_t start_us, int64_t end_us,
                 const struct placement *at);

/* Makes it so: as work from now on, or as a promise from start_us on. Returns its number. */
uint32_t world_begin(struct world *w, const struct compiled *c, const struct placement *p,
                     uint64_t name, int64_t end_us);
/* `p` is kept for it then, whoever comes later; its number in the agenda. `name`: the job's id. */
uint32_t world_promise(struct world *w, const struct compiled *c, const struct placement *p,
                       uint64_t name, int64_t start_us, int64_t end_us);
void world_undo(struct world *w, uint32_t job);   /* of work begun in this pass, the last first */
void world_break(struct world *w, uint32_t job);  /* takes a promise back */
void world_fulfil(struct world *w, uint32_t job); /* a promise that is due becomes work */

/* The amounts of `row` are free on the node now, too (sign 1), or no longer (-1). */
void world_free_more(struct world *w, uint32_t node, const int64_t *row, int64_t sign);
/* Is the work as if it were gone? What it holds no longer counts as used by its reservation or its
 * partition; what is free is told by world_free_more. */
void world_lift(struct world *w, const struct run *r, bool lifted);
/* It is suspended from now on: its CPUs, which are free now, do not come free with its end. */
void world_suspend(struct world *w, const struct run *r);
/* Running work ends sooner than was expected. */
void world_end_by(struct world *w, uint64_t name, int64_t end_us);

/* Earliest start at or after from_us at which it can run for limit_us; fills *ret, but for
 * `missing`. False if there is none. */
bool world_earliest(struct world *w, const struct to_place *what, int64_t limit_us, int64_t from_us,
                    struct placement *ret, int64_t *ret_us);
/* Could any of the nodes (a bitmap) hold such a part of it for limit_us that it could do with the
 * most that others can hold, at some time up to what->latest_us? On those in `own` (a bitmap; NULL
 * = none) it is promised its place from then on itself, which stands. A no is sure, where nothing
 * but what is free on nodes is in its way (view_plain). */
bool world_could_hold(struct world *w, const struct to_place *what, int64_t limit_us,
                      const uint64_t *nodes, const uint64_t *own);
/* The same of a start now: could so many nodes hold such a part of it? */
bool world_could_start(struct world *w, const struct to_place *what, int64_t limit_us,
                       const uint64_t *own);

/* Of work, or the next begin or end of a reservation; INT64_MAX = none */
int64_t world_next_end(const struct world *w);
/* By then one of `share` that run (at least one) has ended; INT64_MAX = nothing runs. */
int64_t world_end_of_share(const struct world *w, size_t share);
void world_advance(struct world *w, int64_t now_us); /* ends all work that ends by then */

static inline bool world_group_has(const struct variant *v, const struct group *g)
{
    return bit_get(v->groups, g->idx);
}

#endif
