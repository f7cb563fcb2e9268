/* Working a request out, in parts: generic resources (asked.c), arms of its constraint (arms.c),
 * variants (variants.c), those of mixed types (mixes.c), options and all the rest (demand.c). Only
 * those five include this. */
#ifndef REMUDA_SCHED_REQUEST_DEMAND_WORK_H
#define REMUDA_SCHED_REQUEST_DEMAND_WORK_H

#include "model/grammar/gres.h"
#include "model/settings/node_sizes.h"
#include "sched/request/demand.h"

#define CHOICES_MAX 16

/* Alternatives of one request that are tried, each against all groups: partitions, arms, numbers of
 * nodes, types of resources multiply. Who asks for more is refused. */
#define ALTERNATIVES_MAX 8192

/* Of those the ones that some node could hold: each is looked for whenever the job is tried. Those
 * inside reservations that draw the job do not count, which it did not ask for. Who asks for more
 * is refused; of a request that was taken before (nodes were configured anew) the first are
 * tried. */
#define VARIANTS_ALL_MAX 512

enum gres_per { PER_NODE, PER_TASK, PER_JOB };

struct asked {
    struct gres_item item; /* as the request names it */
    enum gres_per per;
    uint32_t choice[CHOICES_MAX]; /* dimensions that can serve it, the lesser devices first */
    size_t nchoices;              /* 0 = the cluster has none */
};

/* What serves a resource that is asked for: one dimension all of it (n = 1; the count is not looked
 * at), or several so much of each on every node. */
struct serving {
    struct use part[CHOICES_MAX];
    size_t n;
};

/* One way to satisfy the constraint: feature_arm as groups of this cluster. */
struct demand_arm {
    uint64_t *groups; /* bitmap: whose nodes each satisfy it */
    struct count_need count[FEATURE_COUNTS_MAX];
    size_t ncount; /* of `count` */
};
struct demand_arms {
    struct demand_arm *v;
    size_t n;
    int32_t nodes; /* feature_nodes */
};

/* Of what is asked untyped: of which types nodes may give it. */
enum demand_types { TYPES_ONE, TYPES_MIXED, TYPES_BOTH };

struct demand_work {
    const struct cluster *cl;
    const struct job_request *req;
    const char *magnets;       /* as in struct waiting */
    uint32_t place;            /* of the partition at hand in the request's list */
    struct compiled *c;        /* what is made */
    size_t room;               /* for options in it */
    struct arena *a, *scratch; /* what stays; what is needed while working only */
    struct verdict *v;
    struct asked asked[NEEDS_MAX];
    size_t nasked;                          /* of `asked` */
    int64_t job_gpus, node_gpus, task_gpus; /* 0 = not asked so */
    struct node_sizes sizes;                /* n = 0: no list of numbers was asked */
    struct layout layout[LAYOUTS_MAX * NODE_SIZES_MAX];
    size_t nlayouts;                /* of `layout` */
    struct demand_arms arms, liked; /* liked: arms of --prefer */
    uint64_t *both;                 /* groups of the arms that are joined at the moment */
    uint32_t tried;                 /* alternatives so far; beyond ALTERNATIVES_MAX no more */
    uint32_t mixed;                 /* steps so far in looking for mixes (mixes.c) */
    uint32_t numbered;              /* variants so far */
    uint32_t asked_for;             /* of these, those that VARIANTS_ALL_MAX bounds */
    bool drawn;                     /* the option at hand is in a reservation that draws the job */
    bool crowded;                   /* there would be more than VARIANTS_ALL_MAX */
    enum demand_types types;        /* of what is asked untyped */
};

/* The first complaint goes into the verdict, if there is one. Always false. */
static inline bool demand_complain(struct demand_work *w, enum refusal r, enum job_reason reason,
                                   const char *text)
{
    if (w->v && w->v->refusal == REFUSE_NONE) {
        w->v->refusal = r;
        w->v->reason = reason;
        if (w->v->text)
            str_add(w->v->text, text);
    }
    return false;
}
/* May one more alternative be tried? Once it is false, it stays so for all that was asked for, and
 * the request is refused. */
static inline bool demand_try(struct demand_work *w)
{
    w->tried += w->tried <= ALTERNATIVES_MAX;
    return w->tried <= ALTERNATIVES_MAX && (!w->crowded || w->drawn);
}
/* The arms of --constraint and --prefer: w->arms and w->liked. */
bool demand_arms(struct demand_work *w);
/* What satisfies both, until the next are joined; false: it counts more than can be considered. */
bool demand_arm_join(const struct demand_work *w, const struct demand_arm *one,
                     const struct demand_arm *more, struct demand_arm *ret);
/* The generic resources of the request: w->asked, and GPUs in all. */
bool demand_asked(struct demand_work *w);
/* Adds to the option a variant for each layout and each choice of types from the i-th resource
 * asked for on. */
void demand_variants(struct demand_work *w, struct option *o, const struct demand_arm *arm,
                     struct serving *chosen, size_t i);
/* Has the option as many variants as are looked at? */
bool demand_variants_full(const struct demand_work *w, const struct option *o);
/* Does what was chosen for the i-th resource go with what was for those before it? Resources of one
 * kind that are asked untyped take the same type; two with different types keep theirs. */
bool demand_choice_allowed(const struct demand_work *w, const struct serving *chosen, size_t i);
/* Adds to the option a variant with what was chosen for each resource, if any node could hold it.
 */
void demand_variant_add(struct demand_work *w, struct option *o, const struct layout *lay,
                        const struct demand_arm *arm, const struct serving *chosen);
/* Is there a node with several types of what is asked untyped, so that mixing may help? */
bool demand_may_mix(const struct demand_work *w);
/* Instead of demand_variants: the variants in which nodes give several types of what is asked
 * untyped. */
void demand_mixes(struct demand_work *w, struct option *o, const struct demand_arm *arm);

#endif
