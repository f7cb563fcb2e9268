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
    uint32_t node, job;
    uint32_t first, n; /* amounts: world.use[first … first+n) */
    uint32_t next;     /* on the same node, by time: of ends for work, of starts for promises */
};

/* Work that runs, or a promise of it. */
struct wjobs {
    int64_t start_us, end_us;
    uint32_t first, n; /* takes: world.take[first … first+n) */
    uint32_t slot;     /* place in `ends`, so that it can be found again */
    uint64_t name;     /* job id: decides between equal ends */
    uint32_t resv;     /* number of the reservation it is in; 0 = none */
    uint32_t part;     /* place of its partition, plus 1; 0 = not known */
    bool lifted;       /* as if it were gone (preemption) */
};

struct end {
    int64_t at_us;
    uint32_t job;
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
    const struct rpart *part;
    uint32_t next; /* on the same node */
};
struct windows {
    size_t n;
    struct window v[WINDOWS_MAX];
};

struct world {
    const struct cluster *cl;
    size_t nnodes, nall, dims;
    int64_t now_us;
    int64_t *free;  /* nall × dims, at now_us */
    uint64_t *open; /* bitmap of nodes that take work and have a CPU or a share of one free now */
    uint64_t *up;   /* bitmap of nodes that take work */
    /* Nodes that are passed over for the job being placed: its CPUs or devices were not to be had
     * there; NULL = none */
    uint64_t *barred;
    uint64_t *screened;      /* scratch of placing: nodes worth a second look */
    struct group **group;    /* by node */
    uint32_t *work;          /* by node: first take of running work, by end */
    uint32_t *kept;          /* by node: first take of promises, by start */
    VEC(uint32_t) promised;  /* promises in force */
    uint8_t *most;           /* by dimension: highest bucket of an empty node */
    uint8_t *bucket[COUNTS]; /* by dimension and node: where it is counted */
    size_t padded;           /* nodes in a row of `bucket`, a multiple of 64 */
    /* Times that something on a node came free or was no longer promised */
    uint64_t freed;
    uint64_t changes;            /* of nodes */
    struct joint *joint[COUNTS]; /* by dimension */
    /* Changes after which a joint count is made again although nothing came free */
    uint64_t joint_stale;
    /* Of the last world_place that failed: nodes that must come free at least; 0 = not known */
    uint64_t missing;
    int64_t first_promise_us,
        last_promise_us; /* starts of promises in force; INT64_MAX and INT64_MIN without any */
    VEC(struct wjobs) job;
    VEC(struct wtake) take;
    VEC(struct use) use;
    VEC(struct end) ends; /* of running work, ascending; from ends_first on */
    size_t ends_first;
    uint32_t uid_plus1;      /* whose job is being placed, where that matters; 0 = anybody's */
    int64_t *row;            /* scratch: one row */
    VEC(uint64_t) key;       /* scratch of placing: candidates, best first once sorted */
    int32_t *cap;            /* scratch: units that fit, by node */
    VEC(uint32_t) pick;      /* scratch: nodes chosen */
    VEC(struct stair) stair; /* scratch of world_earliest */

    /* The job being placed wants few switches until then; 0 = it does not */
    int64_t insists_until_us;
    /* resv_view.c */
    /* By node and licence: first of kept_for, or NONE; NULL = there are no reservations */
    uint32_t *kept_head;
    VEC(struct kept_for) kept_for;
    struct windows *win; /* by reservation */
    /* When reservations begin and end, ascending; from turn_first on they are to come */
    i64_vec turn;
    size_t turn_first;
    int64_t *used, *other; /* scratch: rows */
};

/* counts.c */
/* Which open nodes that the option may use hold what a unit of the variant takes at least, as far
 * as buckets tell: fills world.screened, and returns their number. */
size_t counts_screen(struct world *w, int which, const struct compiled *c, const struct option *o,
                     const struct variant *v);
/* Of all open nodes: how many. */
size_t counts_enough(const struct world *w, int which, const struct screen *s);
/* The cell of the joint count that tells about the screen; the same for all of a pass. */
uint16_t counts_cell(const struct world *w, const struct screen *s);
void counts_joint_make(struct world *w, int which, uint32_t dim);
/* Nodes that hold so much of three dimensions together; may tell too many. Only where nodes can be
 * counted so (counts_countable). */
static inline int32_t counts_joint(struct world *w, int which, uint32_t dim, uint16_t cell)
{
    const struct joint *j = &w->joint[which][dim];
    if (j->changes == 0 || j->freed != w->freed || w->changes - j->changes > w->joint_stale)
        counts_joint_make(w, which, dim);
    return j->nodes[cell];
}
static inline bool counts_countable(const struct world *w)
{
    return w->nnodes <= UINT16_MAX;
}
static inline int counts_which(const struct world *w, int64_t end_us)
{
    /* A run that ends before any promise begins does not see them; one that ends after all have
     * begun sees all. */
    return w->promised.n > 0 && end_us > w->last_promise_us ? COUNT_EVER : COUNT_NOW;
}
void counts_init(struct world *w);
void counts_done(struct world *w);
/* After what is free or promised there changed */
void counts_touch(struct world *w, uint32_t node);
/* After promises came or went: when the first and last begin */
void counts_promises(struct world *w);

struct placed {
    uint32_t node;
    int32_t units;
};
struct placement {
    struct option *option;
    struct variant *variant;
    VEC(struct placed) at; /* ascending by node */
};

struct world *world_new(const struct cluster *cl, int64_t now_us);
void world_free(struct world *w);

/* Can the option start at start_us (now or later) and keep its resources until end_us? Fills
 * *ret. */
bool world_place(struct world *w, const struct compiled *c, struct option *o, int64_t start_us,
                 int64_t end_us, struct placement *ret);

/* Makes it so: as work from now on, or as a promise from start_us on. Returns its number. */
uint32_t world_begin(struct world *w, const struct compiled *c, const struct placement *p,
                     uint64_t name, int64_t end_us);
uint32_t world_promise(struct world *w, const struct compiled *c, const struct placement *p,
                       uint64_t name, int64_t start_us, int64_t end_us);
void world_undo(struct world *w, uint32_t job);   /* of work begun in this pass, the last first */
void world_break(struct world *w, uint32_t job);  /* takes a promise back */
void world_fulfil(struct world *w, uint32_t job); /* a promise that is due becomes work */

/* The amounts of `row` are free on the node now, too (sign 1), or no longer (-1). */
void world_free_more(struct world *w, uint32_t node, const int64_t *row, int64_t sign);
/* Is the work as if it were gone? What it holds no longer counts as used by its reservation; what
 * is free is told by world_free_more. */
void world_lift(struct world *w, uint64_t name, bool lifted);
/* Running work ends sooner than was expected. */
void world_end_by(struct world *w, uint64_t name, int64_t end_us);

/* Earliest start at or after from_us at which the option can run for limit_us; fills *ret. False if
 * there is none. */
bool world_earliest(struct world *w, const struct compiled *c, struct option *o, int64_t limit_us,
                    int64_t from_us, struct placement *ret, int64_t *ret_us);

/* Of work, or the next begin or end of a reservation; INT64_MAX = none */
int64_t world_next_end(const struct world *w);
void world_advance(struct world *w, int64_t now_us); /* ends all work that ends by then */

static inline bool world_group_has(const struct variant *v, const struct group *g)
{
    return bit_get(v->groups, g->idx);
}

#endif
