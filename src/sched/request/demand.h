/* What a class of requests needs, worked out against the nodes, partitions and resources of this
 * cluster. A request becomes one option for each partition it names; an option has variants, tried
 * in order: which GPU type, which arm of the constraint, tasks spread evenly or as they fit. A
 * variant says what one unit (a task, a GPU, a bundle of both, or a whole node's share) takes, and
 * how many units go where. */
#ifndef REMUDA_SCHED_REQUEST_DEMAND_H
#define REMUDA_SCHED_REQUEST_DEMAND_H

#include "base/amount.h"
#include "base/arena.h"
#include "sched/books/feature.h"
#include "sched/books/resv.h"
#include "sched/books/state.h"

/* What some units take from one node. */
struct take {
    struct use use[NEEDS_MAX];
    uint32_t n; /* of `use` */
    int32_t cpus, tasks;
    int64_t mem_mib; /* 0 = memory is not counted */
};

/* Of a generic resource: `base` on each node, and `unit` more for each unit there. */
struct need_gres {
    uint32_t dim; /* which resource */
    int64_t base, unit;
};

static inline int64_t need_gres_for(const struct need_gres *need, int32_t units)
{
    return amount_plus(need->base, amount_times(need->unit, units));
}

/* How tasks and GPUs go on nodes, before it is known which nodes there are. */
struct layout {
    int32_t nmin, nmax;             /* nodes */
    int32_t units;                  /* in all; 0 = one on each node */
    int32_t umin, umax;             /* on each node */
    int32_t base_tasks, unit_tasks; /* on each node, and more for each unit */
    int64_t base_gpus, unit_gpus;
    /* Of the job's GPUs (--gpus), one unit gets 1/gpu_share; 0 = they do not count */
    int64_t gpu_share;
};

/* A feature with a number (name*2): so many nodes of these groups. */
struct count_need {
    uint64_t *groups; /* whose nodes count */
    int32_t nodes;    /* so many of them */
};

/* Buckets of the least that one node gives: a first look at nodes. */
struct screen {
    uint32_t dim;           /* a generic resource that is asked for, or DIM_CPU */
    uint8_t cpu, mem, gres; /* in buckets */
};

/* One way to give it: `base_…` on each node, `unit_…` more for each unit (lay) that goes there. The
 * compiled's. */
struct variant {
    struct screen screen; /* for the first look */
    struct layout lay;
    int32_t base_cpus, unit_cpus; /* on each node, and more for each unit */
    int64_t gpu_mem_mib;          /* MEM_GPU: memory that comes with a GPU of its type */
    struct need_gres gres[NEEDS_MAX];
    size_t ngres;     /* of `gres` */
    uint64_t *groups; /* bitmap: groups whose empty node holds the least that goes on one node */
    struct count_need count[FEATURE_COUNTS_MAX];
    size_t ncount;     /* of `count` */
    struct take **one; /* by group: what umin units take; made when needed */
    uint32_t number;   /* among the variants of all options */
};

/* What memory is counted by: not at all, mem_mib a node, a CPU or a GPU, all of the node, or the
 * share of it that its CPUs are. */
enum mem_rule { MEM_NONE, MEM_NODE, MEM_CPU, MEM_GPU, MEM_WHOLE, MEM_SHARE };

/* The request in one of its partitions, inside a reservation or not. The compiled's. Passes keep
 * the last three of it up to date. */
struct option {
    struct spart *part;       /* its partition */
    uint32_t place;           /* of its partition in the job's list */
    const struct sresv *resv; /* it runs inside this reservation; NULL = none */
    /* Its run may be cut to the reservation's end: the job gave no limit */
    bool cut;
    /* The place where the first that is blocked gets a promise: partition and reservation */
    uint32_t serve;
    int64_t limit_us, limit_min_us; /* longest run; shortest (--time-min) */
    int32_t tier, job_factor;       /* of the partition; its job factor of priority */
    struct use_mode mode;
    enum mem_rule mem; /* how memory is counted */
    int64_t mem_mib;
    /* The partition's, else the cluster's; 0 = no limit */
    int64_t max_mem_per_cpu_mib, max_mem_per_node_mib;
    struct variant *variant;
    size_t nvariants; /* tried in this order */
    /* The first that was thought of, whether or not any node could hold it; NULL = none */
    struct variant *wish;
    enum job_reason never;  /* why it cannot start whatever is free; REASON_NONE = it can */
    const char *never_text; /* NULL = REASON_NONE */
    int32_t nodes_min;      /* for the size factor of the priority */
    uint64_t up_version;    /* `reachable` holds for this version of which nodes are up */
    bool reachable;         /* could it start if all nodes that are up were empty */
    /* Scratch of a pass: in this step a job was blocked that did not insist on few switches, and
     * one that did */
    uint32_t stamp[2];
};

/* What a class needs. It owns its arena, in which all of it lives, and is made anew when nodes,
 * partitions or settings change (cluster_settle). */
struct compiled {
    struct arena *arena; /* of all of it */
    const struct job_request *req;
    const struct sqos *qos; /* books/limits/qos.h; NULL = nothing is known of it */
    struct option *option;
    size_t n; /* options, in the order of the job's list */
    /* Licences, and behind them caps (caps.h), of which at least so much is taken: those that can
     * bind in the pass at hand (cap_binds.c) */
    struct lic_use *lic;
    size_t nlic, ncap, lic_room; /* both; of them caps; as many may stand in `lic` */
    bool caps_sized, caps_each;  /* some of these count what depends on where; each job by itself */
    bool caps_chosen;            /* `lic` has caps of `caps` */
    struct cap_set *caps;        /* all that its class counts against; NULL = of no class */
    bool caps_known;             /* their cap_need.most is filled */
    bool mixes;                  /* some node could give several types of what it asks untyped */
    uint64_t *allowed;           /* bitmap of nodes (--exclude); NULL = all */
    uint32_t *must;              /* nodes that must be in (--nodelist) */
    size_t nmust;                /* of `must` */
    int64_t *per_socket;         /* by dimension: so many on each socket; NULL = not asked */
    int64_t gpu_mem_mib;         /* that a GPU must have at least; 0 = any */
};

/* Does the licence or cap concern a start there? */
static inline bool use_concerns(const struct lic_use *use, const struct option *o)
{
    return !use->places || o->place >= 32 || (use->places >> o->place & 1);
}

/* Nodes 64 × word … 64 × word + 63 that the option may use as far as --exclude and its reservation
 * go. */
static inline uint64_t option_allows(const struct compiled *c, const struct option *o, size_t word)
{
    uint64_t bits = c->allowed ? c->allowed[word] : UINT64_MAX;
    return o->resv && o->resv->nodes ? bits & o->resv->nodes[word] : bits;
}

/* Why a request can not be worked out or never be satisfied. */
struct verdict {
    enum refusal refusal;
    enum job_reason reason; /* why it never starts */
    struct str *text;       /* may be NULL */
};

/* Works it out; never NULL. A request that makes no sense has no options and fills *v. `v` may be
 * NULL. */
struct compiled *demand_compile(const struct cluster *cl, const struct job_request *req,
                                struct verdict *v);
void demand_free(struct compiled *c); /* with all it was compiled to; NULL is allowed */
/* Of a class, kept until the configuration changes. Where no pass has chosen among its caps yet, it
 * has all. */
struct compiled *demand_of(const struct cluster *cl, struct sclass *k);
/* The same for whoever chooses: its caps may stand in compiled.caps only. */
struct compiled *demand_unchosen(const struct cluster *cl, struct sclass *k);
/* The cap of caps.ref joins those that can bind; `apart` as cap_set_use has it. */
void demand_cap_bind(const struct cluster *cl, struct compiled *c, const struct cap_ref *r,
                     const struct cap_apart *apart);

/* Slots that so many tasks take beside each other on one socket of the group's nodes. */
int64_t demand_slots_together(const struct job_request *r, const struct group *g, int64_t tasks);
/* On as many sockets as --ntasks-per-socket, which is asked, makes them need. */
int64_t demand_slots_on_sockets(const struct job_request *r, const struct group *g, int64_t tasks);
/* What `units` take on a node of the group. False if they can never fit there (*ret says all the
 * same what they would take). */
bool demand_take(const struct cluster *cl, const struct compiled *c, const struct option *o,
                 const struct variant *v, const struct group *g, int32_t units, struct take *ret);
/* What the least number of units takes on a node of one of v->groups; kept. */
const struct take *take_least(const struct cluster *cl, const struct compiled *c,
                              const struct option *o, struct variant *v, const struct group *g);
static inline bool take_fits(const struct take *t, const int64_t *row)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (row[t->use[i].dim] < t->use[i].amount)
            return false;
    return true;
}
/* How many units fit into the amounts of `row`; 0 if fewer than umin. */
int32_t demand_cap(const struct cluster *cl, const struct compiled *c, const struct option *o,
                   struct variant *v, const struct group *g, const int64_t *row);

/* What --gpus-per-socket asks for, by dimension, in the arena; NULL = nothing. */
int64_t *demand_per_socket(const struct cluster *cl, const struct job_request *req,
                           struct arena *a);
/* So many of a dimension lie on each socket, where a node gives `count` of it: fewer than were
 * asked where alternatives ("a|b:1") are all of another type. 0 = they lie anywhere. */
int64_t demand_each_socket(const struct compiled *c, uint32_t dim, int64_t count);
/* Chooses, of the group's devices of a dimension that are not taken (by device; NULL = none is),
 * `per` on each of as many sockets as `count` takes, and on the last what is left of it; `chosen`,
 * by device, gets 1. False: sockets have not so many. */
bool demand_devices_by_socket(const struct group *g, uint32_t dim, int64_t count, int64_t per,
                              const uint64_t *taken, char *chosen);
/* So many GPUs an empty node of the group gives on each of the sockets that count, for the least
 * that goes on one node: as many as are asked, or fewer because of where they lie. */
int64_t demand_on_sockets(const struct compiled *c, const struct variant *v, const struct group *g,
                          int64_t *ret_asked);

/* Could the option start if all nodes of the cluster (or all that are up) were empty? */
bool demand_possible(const struct cluster *cl, const struct compiled *c, const struct option *o,
                     bool up_only);

/* Must the node be in (--nodelist)? */
bool demand_names(const struct compiled *c, uint32_t node);
/* May it be in, as far as the job's own options go: it is not excluded, and it is named or there is
 * room beside those that are. */
bool demand_admits(const struct compiled *c, const struct option *o, uint32_t node);

/* How many units of a variant there is room for on as many nodes as it may have, if those the
 * option allows were empty; node lists and neighbours are not looked at. */
struct demand_room {
    int64_t units; /* in all */
    int64_t nodes; /* that hold at least one */
    bool types;    /* another type of resource has room, too, which does not add to it */
};
/* The variant in pieces of which there is room for most; NULL = none is placed in pieces. */
struct variant *demand_roomiest(const struct cluster *cl, const struct compiled *c,
                                const struct option *o, struct demand_room *ret);

#define LAYOUTS_MAX 2
/* The layouts of a request in order of preference, LAYOUTS_MAX at most; 0 = contradictory, and *v
 * says why. gpus: of the whole job. */
size_t demand_layouts(const struct job_request *req, int64_t gpus, int64_t gpus_per_node,
                      int64_t gpus_per_task, struct layout *ret, struct verdict *v);
/* Leaves out those that have more tasks in all than a job may have, LIMIT_TASKS, on as few nodes as
 * they may be on, and cuts the others to as many nodes; returns how many are left. 0: *v says why;
 * `v` may be NULL. */
size_t demand_tasks_bounded(struct layout *list, size_t n, struct verdict *v);
/* Writes into a request that says nothing of nodes and GPUs how many nodes the counts of its
 * constraint mean (-C 'a*2'), so that listings tell; each of them has a task. What cannot be read
 * is left alone. */
void demand_hold_counts(struct job_request *req);

#endif
