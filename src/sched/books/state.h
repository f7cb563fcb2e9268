/* Inside of the planner's cluster: nodes with every core and device, groups of equal nodes,
 * partitions, running work, waiting work as classes. Only files of sched/ include this. Nodes are
 * numbered in natural order of their names, whatever the order they came in, so that a cluster that
 * is built anew plans the same. */
#ifndef REMUDA_SCHED_BOOKS_STATE_H
#define REMUDA_SCHED_BOOKS_STATE_H

#include "base/calendar/zone.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/grammar/time_windows.h"
#include "model/record/priority.h"
#include "model/settings/topology.h"
#include "sched/books/bits.h"
#include "sched/books/idle.h"
#include "sched/books/lanes.h"
#include "sched/books/limits/cap_set.h"
#include "sched/books/order.h"
#include "sched/cluster.h"

/* ---- resource dimensions: what is counted on a node. One cluster-wide numbering ------------- */

enum { DIM_CPU, DIM_MEM, DIM_JOBS, DIM_SHARE, DIM_GRES };
/* DIM_JOBS: a job takes 1, a job that wants the node for itself takes all. DIM_SHARE: CPUs as jobs
 * that share them see them, each CPU counted as often as jobs may share it; only counted where some
 * partition allows sharing. */
#define JOBS_ALL (INT64_C(1) << 20)

#define NEEDS_MAX 16 /* kinds of resource in one request */

struct dim {
    char *kind, *type; /* type NULL = untyped */
    char *label;       /* "gpu:v100" */
    bool is_gpu;
};

/* An amount of one dimension. */
struct use {
    uint32_t dim;
    int64_t amount; /* CPUs, MiB, devices */
};

typedef VEC(uint32_t) u32_vec;
typedef VEC(uint64_t) bits_vec;
typedef VEC(uint64_t) ids_vec;
typedef VEC(int64_t) i64_vec;

#define BUCKETS 128 /* into which amounts are sorted where only a first look is taken */

/* ---- nodes ---- */

struct sdevice {
    uint32_t dim;     /* its kind and type */
    const char *kind; /* of the dimension */
    int32_t index;    /* as the node numbers it */
    int64_t mem_mib;  /* 0 = not known */
    char *near;       /* one byte a slot: 1 = close; NULL = all are */
    uint32_t place;   /* the first device of the group that lies where it does */
    int32_t reach;    /* sockets that have a slot close to it */
    /* One byte a device of the group: 1 = a fast connection to it (NVLink); NULL = to none */
    char *linked;
};

/* Nodes that are equal in all that placement looks at. */
struct group {
    uint32_t idx;                                              /* place in cluster.group */
    char *key;                                                 /* all that they share, as text */
    int32_t cpus, sockets, cores_per_socket, threads_per_core; /* threads, unless set to cores */
    /* What is given out as one: a core, or a thread under CR_CPU; without the cores set aside */
    int32_t slots;
    int32_t spec_slots;            /* set aside for the system: the last ones */
    int32_t slot_cpus;             /* CPUs of a slot */
    int64_t mem_mib, tmp_disk_mib; /* to schedule */
    int32_t weight, weight_rank;   /* as configured; its place among all weights */
    char *features;
    struct sdevice *dev;
    size_t ndev; /* of `dev`, in the order of their indexes */
    /* Devices by their reach, those of the same in order: ndev entries */
    uint32_t *by_reach;
    int64_t *total; /* by dimension; ntotal entries, the rest 0 */
    size_t ntotal;
    uint64_t *parts;    /* bitmap of partitions */
    uint32_t nodes, up; /* members; members that take work */
};

/* Slots of a socket, those set aside among them. */
static inline int32_t group_socket_slots(const struct group *g)
{
    int32_t all = (g->slots + g->spec_slots) / g->sockets;
    return all > 0 ? all : 1;
}

struct hold;

/* A device that is out and held by nobody, and not broken: it comes back as soon as it is found
 * clean (unproven.h). */
struct unproven {
    uint32_t dim;
    int32_t index; /* as the node numbers it */
    int64_t since_us;
    uint64_t for_job; /* its last job gave way to this one; 0 = to nobody */
};

struct snode {
    char *name;
    uint32_t idx; /* place in cluster.node */
    struct group *group;
    char *base_key;   /* group key without partitions */
    struct node *cfg; /* what placement needs of it, texts owned by `arena` */
    struct arena *arena;
    bool up;           /* takes work */
    bool returns;      /* not there: nobody took it out of service, and it is not DOWN yet */
    bool planned;      /* kept for a promised start */
    bool has_out;      /* devices are out, when it was counted last */
    uint16_t *load;    /* by slot: 0 idle, LOAD_ALONE, else jobs that share it */
    uint64_t *dev_job; /* by device: job that holds it, 0 = none, DEVICE_OUT */
    VEC(struct unproven) unproven;
    VEC(struct hold *) hold; /* what jobs have of it, each owned by its run */
};
#define LOAD_ALONE UINT16_MAX
/* Nobody holds it, and nobody may be given it (node.devices_out) */
#define DEVICE_OUT (UINT64_MAX - 1)

/* ---- partitions ---- */

struct spart {
    uint32_t idx;                /* place in cluster.part */
    struct partition p;          /* texts in `arena` */
    struct time_windows windows; /* when jobs may start; n = 0: always */
    struct tres_weights billing; /* weights */
    bool is_billed;              /* else a CPU costs 1 */
    struct arena *arena;
    VEC(struct snode *) node; /* by number */
    /* Of its nodes the smallest, by which whole nodes are reckoned that are not chosen yet; NULL =
     * it has none */
    const struct group *least;
    struct part_idle idle; /* as the last pass began */
    bool gone;             /* no longer configured */
};

/* ---- running work ---- */

enum lifted { LIFTED_NOT, LIFTED_CPUS, LIFTED_ALL };

struct held_gres {
    uint32_t dim;
    int64_t count;  /* devices, or units of what is only counted */
    int64_t back;   /* of these, what is free when it ends: not what is out */
    int32_t *index; /* device indexes; NULL = counted only */
    size_t nindex;  /* 0, or count */
};

struct hold {
    struct run *run;
    struct snode *node;
    int32_t *cpu;    /* CPU numbers */
    size_t ncpu;     /* of `cpu` */
    int64_t mem_mib; /* 0 = memory is not counted */
    struct held_gres *gres;
    size_t ngres;  /* of `gres` */
    bool released; /* free again, though the job is not over */
};

struct lic_use {
    uint32_t lic;    /* place in cluster.lic */
    bool above;      /* a cap that it counts against, and may exceed */
    int64_t count;   /* so much of it */
    int64_t slack;   /* of a cap: so much more than its total it may have */
    uint32_t places; /* of a cap: in which of the job's partitions; 0 = in all */
};

/* What somebody's work holds on all nodes. */
struct holding {
    int64_t cpus, gpus, mem_mib;
};

struct run {
    uint64_t job_id;
    uint32_t uid;
    struct person *person;    /* whose it is */
    struct holding holds;     /* what it holds */
    const char *partition;    /* interned */
    const char *qos_name;     /* interned; NULL = none */
    const struct sqos *qos;   /* qos.h; NULL = none of that name was ever told */
    int64_t start_us, end_us; /* the end as its limit has it */
    uint32_t resv;            /* number of the reservation it runs in; 0 = none */
    uint64_t het;             /* heterogeneous job that it is a component of; 0 = none */
    /* whole: nodes to itself; shares: CPUs with others; user_only: nodes with its user's */
    bool suspended, whole, shares, user_only;
    /* Its CPUs may have been given to others meanwhile, and be used twice now */
    bool was_suspended;
    bool ending;        /* it was told to end, or to give way */
    bool yields;        /* suspended for others: it goes on when its CPUs are idle */
    int64_t yielded_us; /* when it was, last; 0 = never */
    uint64_t for_job;   /* who waits for what it frees; 0 = nobody in particular */
    uint8_t lifted;     /* enum lifted, while a pass asks what would be without it (preempt.c) */
    struct hold *hold;  /* owned; of these nheld are not released */
    size_t nholds, nheld;
    struct lic_use *lic, *cap; /* what it takes of licences, and counts against caps */
    size_t nlic, ncap;
    size_t place;          /* in cluster.run */
    struct run_pack *pack; /* run_pack.h; NULL = not made yet */
};

/* What a run takes of DIM_JOBS on each node. */
static inline int64_t run_places(const struct run *r)
{
    return r->whole || r->user_only ? JOBS_ALL : 1;
}

/* Hours in which caps bind, and when they begin and end next, looked up once a pass: at turn[i] it
 * becomes open[i + 1]. */
#define CAP_TURNS 16
struct cap_hours {
    struct time_window window;
    int64_t from_us, turn[CAP_TURNS]; /* these were looked up then */
    bool open[CAP_TURNS + 1];
    size_t n; /* of `turn` */
};

/* A licence, or a cap (caps.h). */
struct licence {
    char *name;              /* of a cap: what is said of it */
    int64_t total, used;     /* of a cap: in its unit */
    uint32_t cap_id;         /* 0 = a licence */
    enum cap_counts counts;  /* of a cap: what it counts */
    enum job_reason reason;  /* of a cap: what a job waits for */
    char *gres;              /* of a cap of devices: which; NULL = none */
    struct cap_hours *hours; /* a cap that binds starts in these only; NULL = always */
    enum cap_each each;
    uint32_t amount; /* what it counts: caps of the same have the same number */
};

struct cap_amount {
    enum cap_counts counts;
    enum cap_each each;
    uint32_t like;    /* the first of which one job takes as much: itself, or one before */
    const char *gres; /* of the first such cap; NULL = it counts none */
};

/* ---- waiting work ---- */

/* Of a user's jobs that ask for so much time: how long they are expected to run. */
struct expected {
    int64_t limit_us, run_us; /* asked for; ran, in the mean */
};

/* Of a user in an account, or of an association. */
struct share {
    int64_t factor; /* in PRIORITY_ONE-ths */
    VEC(struct expected) expected;
};

/* A user, in whatever account (people.h). */
struct person {
    int64_t used;         /* of all recent use, in FACTOR_ONE-ths */
    struct holding holds; /* all that runs */
};

/* From when on it gains by waiting. */
static inline int64_t ages_from(const struct waiting *w)
{
    int64_t at = w->ages_us ? w->ages_us : w->eligible_us;
    return at > w->submit_us ? at : w->submit_us;
}

struct wjob {
    struct waiting w; /* req and magnets point into the class */
    /* It was next in its partition but blocked: for so long, and since then (waited.c) */
    int64_t head_us, head_from_us;
    bool head_first;   /* it was so when a cause of its class was found first */
    struct lane *lane; /* in which it waits */
    uint64_t serial;   /* of its coming (cluster.queue.serial then) */
    /* While a pass is made: place of what stands of its promise (pass/standing.c), plus 1; 0 =
     * nothing does */
    uint32_t stands;
    uint32_t promised_pass; /* the last that promised it something (plan_private.pass) */
};

/* Why the jobs of a class wait, from a time on. */
struct cause {
    int64_t since_us;
    enum job_reason reason;
};

/* Equal requests. What each pass asks of each comes first. */
struct sclass {
    struct compiled *made;    /* demand.h; NULL = not yet for this configuration */
    uint64_t made_version;    /* derived.version when it was made */
    struct cap_set cap_set;   /* what `caps` says */
    struct arena *made_arena; /* in which all of `made` lies; NULL = none */
    uint64_t serial;          /* never used twice, unlike idx */
    uint32_t idx;             /* place in cluster.klass; stays */
    uint32_t lanes;           /* of its jobs */
    /* Of a class that is one user's own (--exclusive=user); 0 = anybody's */
    uint32_t uid_plus1;
    VEC(struct cause) cause; /* ascending by time */
    uint64_t hash;           /* of all that makes it equal */
    struct sclass *next;     /* same hash bucket */
    /* As in struct waiting, interned: its jobs are drawn by the same reservations */
    const char *magnets;
    const char *caps;       /* the same of those; its jobs count against them */
    struct job_request req; /* texts interned */
};

struct policy {
    /* PriorityWeight*; and PriorityMaxAge */
    int64_t weight_age, weight_size, weight_part, weight_fair, weight_qos, weight_assoc, max_age_us;
    struct tres_weights tres;
    bool favor_small, size_by_time, part_as_is, tres_as_is, increase_only; /* PriorityFlags */
    bool max_tres; /* PriorityFlags: the dearest resource counts */
    /* PriorityType=priority/basic */
    bool fifo;
    bool by_thread;    /* CR_CPU */
    bool count_memory; /* CR_*_Memory */
    /* MiB; 0 = none, as of the next */
    int64_t def_mem_per_cpu, def_mem_per_node, max_mem_per_cpu, max_mem_per_node;
    int64_t grace_us;               /* how long past its end a job is expected to hold on */
    enum limit_policy limits;       /* EnforcePartLimits */
    int64_t max_switch_wait_us;     /* --switches is insisted on so long at most */
    bool topo_optional;             /* only for jobs with --switches */
    uint32_t promises;              /* bf_max_job_test: planned starts a pass; 0 = all */
    bool preempt_tier;              /* PreemptType=preempt/partition_prio */
    bool preempt_qos;               /* PreemptType=preempt/qos */
    enum preempt_mode preempt_mode; /* of partitions that say nothing */
    bool preempt_youngest;          /* who has run least goes first, whatever its size */
    int64_t preempt_exempt_us;      /* a job runs at least so long before it must go */
    enum sched_order order;         /* of the waiting work */
    int64_t age_bound_us;           /* from there on waiting counts more (order=ageing) */
    enum sched_backfill backfill;   /* what may pass a blocked job */
    enum sched_promises promise_to; /* who is promised a start */
    uint32_t promise_most;          /* promises at once, but for the first of each partition */
    int32_t share_max;              /* most jobs any partition lets share a CPU; 1 = none */
};

/* Each book below is a list by number with what finds an entry in it; the list is the struct itself
 * (book.v, book.n). It is changed by the file it names. */

/* Kinds of resource; numbers stay. tables.c */
struct dim_book {
    VEC(struct dim);
    struct map_str *by_label; /* number + 1 */
    uint8_t *shift;           /* by number: bits of an amount below the resolution of the buckets */
};

/* In natural order of their names once settled. cluster.c, node_state.c */
struct node_book {
    VEC(struct snode *);
    struct map_str *by_name; /* struct snode */
    int64_t *free; /* n × dim.n: what is free, exact; may be negative after a node shrank */
};

struct group_book { /* settle.c */
    VEC(struct group *);
    struct map_str *by_key; /* struct group */
};

struct part_book {           /* cluster.c */
    VEC(struct spart *);     /* by idx; entries that are gone stay */
    struct map_str *by_name; /* struct spart */
    bool by_user; /* some partition tells users apart (ExclusiveUser, limits of one user) */
};

/* What follows from nodes, partitions and dimensions (settle.c). */
struct derived {
    bool stale;          /* they changed: settle before use */
    bool resv_stale;     /* only a reservation did */
    uint64_t version;    /* grows each time; classes made for an older one are made again */
    uint64_t up_version; /* grows when a node becomes available or not */
    uint64_t lost;       /* grows when one goes that may return */
    struct holding all;  /* that nodes have */
};

/* How nodes are connected. topo.c */
struct wiring {
    struct topology given; /* in `arena` */
    struct arena *arena;
    struct topo *topo; /* topo.h; NULL = none */
};

struct local_time {   /* resv.c */
    struct zone zone; /* in `arena` */
    struct arena *arena;
};

/* Licences and caps: what is one number for the whole cluster. policy.c, caps.c */
struct licence_book {
    VEC(struct licence);           /* places stay */
    VEC(struct cap_place) of_cap;  /* by number of a cap */
    u32_vec named;                 /* places of licences */
    VEC(struct cap_hours *) hours; /* that there are or once were */
    VEC(struct cap_amount) amount; /* by lic_use.amount */
    /* Bitmap by place: caps that can hold nobody in this pass (cap_binds.c). A pass asks about
     * hundreds of thousands: beside one another they stay in the cache */
    bits_vec idle;
};

/* Running work. use.c */
struct run_book {
    VEC(struct run *);      /* in no order: what a pass goes through */
    struct map_u64 *by_job; /* struct run */
};

/* Equal requests of waiting work. classes.c */
struct class_book {
    VEC(struct sclass *);   /* holes are NULL */
    VEC(uint32_t) holes;    /* places that are free */
    struct sclass **bucket; /* by hash */
    size_t nbuckets, count; /* a power of two; classes that there are */
};

/* Waiting work. classes.c, waiting.c */
struct queue {
    VEC(struct lane *) lane; /* only with jobs in them */
    VEC(struct front) front; /* by lane */
    struct map_u64 *lane_of; /* lanes by hash of what tells them apart; lane.alike */
    struct map_u64 *by_job;  /* struct wjob */
    uint64_t n;              /* jobs, arrays counted once */
    /* Jobs with a bit in struct waiting of that name (firsts.c) */
    ids_vec head, oldest, promised_in;
    uint64_t serial; /* grows with every job and class that comes */
};

/* What is there, who has it, and who wants it. What groups of jobs may have of it stands as caps in
 * the book of licences. */
struct cluster {
    struct policy policy;
    struct order_hook hook; /* key NULL = none */
    struct intern *text;    /* names of whatever runs, waits or limits */
    struct local_time local;
    struct dim_book dim;
    struct licence_book lic;
    struct node_book node;
    struct group_book group;
    struct part_book part;
    struct derived derived;
    struct wiring wiring;
    VEC(struct sresv *) resv; /* resv.h; holes are NULL */
    struct map_str *share_of; /* "uid/account" → struct share */
    struct map_u64 *people;   /* uid + 1 → struct person (people.c) */
    struct map_str *qos_of;   /* name → struct sqos (qos.h); places stay */
    struct run_book run;
    struct class_book klass;
    struct queue queue;
};

static inline uint8_t bucket_of(const struct cluster *cl, uint32_t dim, int64_t amount)
{
    int64_t b = amount <= 0 ? 0 : amount >> cl->dim.shift[dim];
    return b < BUCKETS ? (uint8_t)b : BUCKETS - 1;
}

static inline int64_t *node_free(const struct cluster *cl, const struct snode *n)
{
    return &cl->node.free[n->idx * cl->dim.n];
}

/* node_state.c */
struct group *group_make(struct cluster *cl, const struct node *n, const char *key);
void group_free(struct group *g); /* of no nodes any more */
/* Load and devices from its holds, and its row of cluster.node.free */
void node_recount(struct cluster *cl, struct snode *n);
/* What the i-th of some devices that are held on the node counts as there: its type may have had
 * another name when they were given. Also of what is only counted. */
uint32_t held_dim(const struct cluster *cl, const struct snode *n, const struct held_gres *hg,
                  size_t i);
/* Aborts if a device of a new hold is taken. */
void hold_expect_free(const struct snode *n, const struct hold *h);

/* How a request uses nodes of a partition. */
struct use_mode {
    bool whole;     /* nodes to itself */
    bool user_only; /* nodes to its user */
    int32_t share;  /* jobs that may share its CPUs; 0 = none */
};
/* Does the partition bound the CPUs that its jobs have together on a node; by how much. */
static inline bool part_caps_cpus(const struct partition *p)
{
    return p->max_cpus_per_node > 0 || p->max_cpus_per_socket > 0;
}
static inline int64_t part_cpus_most(const struct partition *p, const struct group *g)
{
    int64_t node = p->max_cpus_per_node > 0 ? p->max_cpus_per_node : g->cpus;
    int64_t sockets =
        p->max_cpus_per_socket > 0 ? (int64_t)p->max_cpus_per_socket * g->sockets : g->cpus;
    return node < sockets ? node : sockets;
}

#endif
