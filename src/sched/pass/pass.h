/* One pass of the planner, and what it leaves behind for questions. */
#ifndef REMUDA_SCHED_PASS_PASS_H
#define REMUDA_SCHED_PASS_PASS_H

#include "sched/plan.h"
#include "sched/world/exact.h"
#include "sched/world/world.h"

/* A lane's next job in one of its partitions. */
struct entry {
    struct lane *lane; /* that it is the next of */
    struct wjob *job;
    struct compiled *c;  /* its class's */
    struct option *o;    /* one of c->option */
    size_t pos;          /* of the job in its lane (pass.pos) */
    uint64_t priority;   /* higher first, within its tier */
    int64_t key;         /* of a simulator's own order: larger first */
    bool held;           /* a simulator's order says: not now */
    bool owed;           /* work was stopped for it */
    bool leads;          /* its equals are behind it (struct equals) */
    uint32_t lane_idx;   /* of `lane`, which is far away */
    int64_t promised_us; /* in its partition, by the last pass; INT64_MAX = nothing */
    int32_t tier;        /* of its partition: higher first */
    uint32_t number;     /* of the option in its class */
    uint64_t spent;      /* of this array an element started in this pass; 0 = of none */
};

/* Lanes of one class that stand in the order as one (live.c): the one that comes first of them is
 * an entry, the others are behind it, and come in one after another as that goes on. */
struct equals {
    bool as_one, keyed;   /* they stand so; and have keys */
    bool heaped;          /* `behind` is a heap: who comes first of them is at the top */
    uint32_t first;       /* lane; NONE = none yet */
    VEC(uint32_t) behind; /* lanes */
    /* What the order asks of each, but for what is the job's and its user's own; NULL = it is no
     * order of places */
    const struct order_job *like;
    int64_t asked_us; /* the limit they give; 0 = none */
};

/* An entry in the order, with what tells fast that it cannot be placed: nodes with at least so
 * much, in buckets. */
struct quick {
    int64_t run_us;       /* the longest that its limit allows */
    uint64_t wake;        /* it cannot be placed before so much came free (world.freed) */
    uint32_t entry, part; /* numbers in pass.entry and cluster.part */
    int32_t nodes;        /* 0 = not known: try */
    int32_t tier;
    uint16_t cell;       /* of the joint count: the least that any variant takes of any node */
    struct screen least; /* the same in buckets */
    bool plain : 1;      /* counts tell about it */
    /* And if a first look at the nodes finds too few, that is all there is to know */
    bool simple : 1;
    bool tried : 1; /* it was tried in this pass, and blocked */
    /* A cap of which there was too little, plus 1, and how much of it must be free: while that is
     * so, nothing else needs to be asked. 0 = none */
    uint32_t lacks;
    int64_t lacks_count; /* of that cap */
};

/* What the last pass found about a class in one of its partitions. */
struct class_note {
    uint64_t serial;           /* of the class; 0 = nothing */
    enum job_reason reason;    /* as squeue shows it */
    uint32_t capped;           /* the cap it lacks room in where it would start, plus 1; 0 = none */
    int64_t takes;             /* so much of it it would take */
    const char *detail, *away; /* for `remuda why`; NULL = made when asked for */
    bool detailed;             /* it was asked for */
};

struct planned {
    uint64_t job_id;
    int64_t start_us; /* as foreseen */
    uint32_t *node;   /* owned */
    uint32_t nnodes;  /* of `node` */
    uint64_t pass;    /* it was made in */
    bool promise;     /* kept free for it, not only foreseen */
    char *names;      /* owned; folded, made when asked for */
};

/* A start that a pass found or foresaw. */
struct started {
    uint64_t job_id;
    int64_t start_us; /* now, or as foreseen */
};

/* A promise in the world of a pass. */
struct promised {
    uint32_t world_job; /* its number in the agenda */
    struct lane *lane;  /* that it is the head of */
    struct wjob *job;
    uint32_t part;    /* number of the partition */
    int64_t start_us; /* it is kept from then on */
    uint64_t het;     /* 0 = a plain job */
    bool awaited;     /* others end for it, and its lane went on without it */
    bool extra;       /* not the one that its partition is served by */
    bool ahead;       /* its lane went on without it */
    /* Where: the option of its class and the variant of that, and the nodes in pass.promised_on
     * (remembered ones only) */
    uint32_t option, variant, first, n;
    uint64_t moment; /* when it was looked for (freed.h); 0 = not known */
};

/* A promise of the last pass with its place (standing.c). */
struct standing {
    uint64_t job_id, class_serial; /* another means: its request changed */
    uint32_t option, variant;      /* of its class, as they were numbered then */
    int64_t start_us;
    uint32_t first, n; /* its nodes in plan_private.standing_on */
    uint64_t moment;   /* as in struct promised */
    /* Of a component: those of its job come one behind the other. 0 = a plain job */
    uint64_t het;
    bool told;          /* it is in the world of the pass, or its nodes are told to be free */
    uint32_t world_job; /* its number in the agenda while it stands, until its job is tried */
};

/* What a pass left on a node (freed.c). */
struct node_seen {
    uint64_t sum;   /* over what runs there, and until when */
    uint64_t freed; /* the moment in which something came free there */
};

/* A job that stands first, or was promised a start, and could have nodes that are not back yet. */
struct returning {
    uint64_t job_id, het; /* het: 0 = a plain job */
    uint32_t part;        /* where it waits for them: number of the partition */
    size_t seen;          /* starts of the pass that were looked at: was it one of these? */
    bool started;
};

struct het {
    uint64_t id;
    struct wjob **job; /* components that wait, by offset */
    struct lane **lane;
    size_t n;  /* of `job` and `lane` */
    bool done; /* it starts, or nothing of it is to be tried again */
    /* What the last pass promised to all of them; INT64_MAX = nothing, or not to all */
    int64_t promised_us;
    bool unplaced;  /* no start was found for all of them */
    uint32_t stamp; /* the step it was looked at in */
};

/* A job for which work was stopped: until then, or until it starts, none that it may stop begins
 * while it is promised nothing (preempt/keep_out.c), and where QOS decide it comes first, whatever
 * the tiers. Or those who were stopped would be back before it. */
struct owed {
    uint64_t job_id;
    int64_t since_us, until_us; /* work was stopped for it then */
    uint64_t served; /* the last pass in which it was found to have its room (keep_out.c) */
};

/* Hours of a partition count a job of that user's there, beside what runs and starts: a component
 * that was put in the world to see whether the others fit, or who begins in the room of work that
 * gives way (`begins`): where it is suspended for him now he starts with the next pass, where it is
 * ending when that is over, and no other of that user's has more of it stopped meanwhile. */
struct seated {
    const struct spart *part;
    uint32_t uid;
    bool begins;
};

/* A job that leaves what it could have to those behind another's job (bars.h). */
struct yielding {
    uint64_t job_id, to;
    int64_t part; /* of the cluster that its user holds, in FACTOR_ONE-ths */
};

struct plan_private {
    struct arena *arena; /* texts of the last pass */
    const struct cluster *cl;
    uint64_t serial;             /* of the cluster when the pass was made */
    uint64_t version;            /* configuration then: node numbers below are of it */
    int64_t now_us;              /* when the pass was made */
    uint64_t pass;               /* passes made */
    VEC(struct class_note) note; /* by class */
    struct map_u64 *planned;     /* by job id */
    struct map_u64 *coming;      /* a forecast that is being taken over (foreseen.c); NULL = none */
    struct map_u64 *former;      /* the one before, freed a part at a time; NULL = it is gone */
    struct map_walk former_at;   /* how far it is freed */
    struct map_u64 *rank;        /* by job id: place in the order; filled when first asked for */
    bool ranked;                 /* `rank` is filled */
    /* When the first job that insists on few switches gives in; 0 = none does */
    int64_t insists_until_us;
    VEC(uint64_t) head; /* jobs that are next in their partition but blocked */
    VEC(uint64_t) late; /* jobs that can not end before their deadline */
    VEC(struct yielding) yields;
    VEC(struct plan_start) start; /* as struct plan shows them */
    VEC(struct plan_preempt) preempt;
    VEC(uint64_t) resume; /* jobs that go on */
    VEC(struct owed) owed;
    VEC(struct standing) standing; /* of the version of the configuration below */
    VEC(struct placed) standing_on;
    uint64_t standing_version;
    VEC(struct node_seen) seen; /* by node, of the version of the configuration below */
    uint64_t seen_version;
    uint64_t freed;           /* the last moment in which something came free */
    int64_t exempt_until_us;  /* some work may be stopped from then on, or begin; 0 = none */
    int64_t forecast_us;      /* when the last forecast was made; INT64_MIN = never */
    uint64_t forecast_cost;   /* its cost in steps */
    uint64_t forecast_serial; /* serial of the cluster then */
    /* After a restart nodes come back one by one (firsts.c), and after a cut: all did that were
     * lost (derived.lost) and will, or had time for it, which ends then */
    uint64_t lost;
    bool returned;
    int64_t returns_since_us; /* since when it is as `returned` says */
    int64_t returns_left_us;  /* how long they may be waited for, at that moment */
    /* Of a question about starts: each is logged, elements of arrays for themselves, and the queue
     * stays as the last real pass left it. */
    bool logs;
    VEC(struct started) log;
    bool log_cut;           /* starts were foreseen that are in no log */
    int64_t exact_until_us; /* what was foreseen to start before is exact; INT64_MAX = all is */
};

struct pass {
    struct plan_private *v;
    /* read, but for counters while work is lifted, which go back (preempt/lift.c) */
    struct cluster *cl;
    struct world *w; /* the future as this pass fills it */
    struct exacts *ex;
    bool passing; /* the order is that of jobs that pass a blocked one */
    /* Equals stand in the order as one, as nobody asks what comes after this step; by class, and
     * the key of each lane's first; NULL = each lane is an entry of its own */
    struct equals *equals;
    uint64_t *key;
    size_t behind;    /* lanes that are behind others */
    struct entry was; /* while there are: the entry that is looked at, as it stood before */
    /* Who comes first matters only for who gets resources first: no hook, and backfill */
    bool ordered;
    bool again;                   /* a promise was taken back: the step must be made once more */
    bool future;                  /* past the present: starts are foreseen, not made */
    uint32_t step;                /* counts steps; stamps are of it */
    uint64_t cost;                /* work done, in entries looked at */
    int64_t started_size;         /* CPU seconds begun so far */
    VEC(struct entry) entry;      /* all there ever were in this pass */
    VEC(struct quick) live;       /* those that still wait, in order */
    size_t *pos;                  /* by lane: jobs done with */
    uint32_t *left;               /* by lane: elements left of the next job */
    VEC(struct promised) promise; /* made in this pass */
    size_t beside; /* of these, components behind the first of their job, which count as one */
    VEC(struct placed) promised_on;
    struct standing *had; /* of the job that is tried: what stood; NULL = nothing did */
    bool put_off;         /* and an earlier start for it is looked for in a later pass */
    uint32_t looks;       /* so many of several nodes were looked for again */
    /* Bitmaps of nodes (freed.c), and of those where `had` is; NULL = nobody asks */
    uint64_t *same, *differs, *own;
    /* The same: what runs there is what the last pass left, and nothing has changed since */
    uint64_t *steady;
    int32_t stands_tier; /* what was promised in this tier and above is in the world, or was */
    bool *served;        /* by partition: its first blocked job has a promise */
    VEC(struct het) het;
    struct map_u64 *het_at; /* by id: place in `het`, plus 1; NULL = there are none */
    struct placement at;    /* scratch of the place being tried */
    uint32_t refused_node; /* where pass_emit found that single CPUs or devices are not to be had */
    const struct lic_use *capped;    /* the cap that held the entry tried last; NULL = none did */
    VEC(struct returning) returning; /* of those that were looked at so far */
    VEC(uint64_t) awaited;           /* jobs for which work is ending (preempt.c) */
    bool awaited_known;              /* `awaited` is filled */
    int32_t resumed_tier;            /* suspended work of this tier and above was looked at */
    /* Of a what-if: one job in a lane of its own, beside the cluster's lanes; NULL = none */
    struct lane *instead;
    const struct wjob *left_out; /* the job as it really waits: passed over */
    /* By uid + 1: what users hold at the world's time, struct holding, less what they really hold;
     * in the plan's arena. NULL = the same */
    struct map_u64 *held;
    struct map_u64 *running;   /* of whom so many run in partitions with hours (bars.c); NULL yet */
    VEC(struct seated) seated; /* of whom hours count more than what runs and starts (bars.h) */
};

/* What looking at an entry costs, in units of one in the packed order, about 5 ns. */
#define TRY_COST 64
/* Each variant of the option is looked for. */
static inline uint64_t try_cost(const struct pass *p, const struct option *o)
{
    return o->nvariants * TRY_COST + p->w->nnodes / 8;
}

enum outcome { STARTED, BLOCKED, NEVER, SKIPPED };

/* As if `v` had made the last pass of that plan: what was promised, where, and what is owed. For
 * passes that only ask; nothing of `live` changes. */
void plan_recall(struct plan_private *v, const struct plan_private *live);
/* Everything of a pass but its steps; `v` is overwritten. With `instead` (its idx is
 * cl->queue.lane.n) its one job waits in the place of the job of that id. `now_only`: only the
 * present step will be made, which may cost less then. */
void pass_open(struct pass *p, struct cluster *cl, struct plan_private *v, int64_t now_us,
               struct lane *instead, bool now_only);
/* Frees what the pass kept; what it said is the plan's. */
void pass_close(struct pass *p);
/* One element of the lane's next job is dealt with */
void pass_took_one(struct pass *p, const struct lane *l);
/* Every waiting job in order, at the world's time */
void pass_step(struct pass *p);
/* On from there; false: it was broken off, as it cost more than `most`. */
bool pass_forecast(struct pass *p, uint32_t budget, uint64_t most);
/* All components of its job at once, or none: whichever comes first in a step decides for all. */
enum outcome pass_het(struct pass *p, struct entry *e);
/* waited.c: what a pass has to do with the logs of causes. */
void waited_pass_begins(struct plan_private *v, const struct cluster *cl, int64_t now_us);
/* Remembers of each class and head what the pass found it waits for (waited.c). */
void waited_pass_found(struct plan_private *v, const struct cluster *cl);

/* explain.c: the sentence for a blocked class, of which j is one, and its nodes that are down or
 * drained. */
const char *explain_class(const struct cluster *cl, const struct wjob *j, const struct compiled *c,
                          struct option *o, const struct class_note *note, int64_t now_us,
                          struct arena *a, const char **ret_away);
/* What the last pass found of the class; NULL = nothing. */
struct class_note *plan_note(struct plan_private *v, const struct sclass *k);

#endif
