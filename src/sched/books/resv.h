/* Reservations inside the planner: what each keeps on which node, and when. Where it keeps a node
 * whole, all amounts of the node are its; elsewhere some of them. Nobody else may count on what it
 * keeps; its own jobs may not count on more. What its jobs use is taken from what it keeps, not
 * kept twice. */
#ifndef REMUDA_SCHED_BOOKS_RESV_H
#define REMUDA_SCHED_BOOKS_RESV_H

#include "model/record/reservation.h"
#include "sched/books/state.h"

/* What it keeps on one node (node ≥ number of nodes: a licence). */
struct rpart {
    uint32_t node;             /* number */
    bool whole;                /* all of it is kept */
    uint32_t n;                /* of `cpu` */
    struct use use[NEEDS_MAX]; /* where not whole */
};

struct sresv {
    uint32_t number;        /* place in cluster.resv, plus 1 */
    struct reservation r;   /* texts in arena */
    struct arena *arena;    /* texts and lists of it */
    VEC(struct rpart) part; /* ascending by node; made when the cluster is settled */
    uint64_t *nodes;        /* bitmap; NULL = its jobs may use any (FLEX, ANY_NODES) */
    bool made;              /* part and nodes are those of r */
};

struct window {
    int64_t start_us, end_us; /* the end is not of it */
};
#define WINDOWS_MAX 64 /* times of a recurring reservation that are looked ahead */

/* What they keep: of all of them, after nodes, partitions or times changed, or of those that are
 * new or changed themselves. */
void resv_settle(struct cluster *cl, bool all);
void resvs_free(struct cluster *cl); /* at the end of the cluster */
/* The windows that end after now_us, ascending; returns how many. */
size_t resv_windows(const struct cluster *cl, const struct reservation *r, int64_t now_us,
                    struct window ret[WINDOWS_MAX]);
/* Is the node, or a part of it, kept by a reservation whose time is now? */
bool resv_keeps_now(const struct cluster *cl, uint32_t node, int64_t now_us,
                    const struct sresv *but);

static inline bool resv_confines(const struct sresv *s)
{
    return !(s->r.flags & RESV_FLEX);
}
/* May its jobs use what other reservations keep, too? */
static inline bool resv_overlays(const struct sresv *s)
{
    return (s->r.flags & (RESV_MAINT | RESV_OVERLAP)) != 0;
}

#endif
