/* Where the tasks of a step go and what it takes of its job's resources. Knows nothing of jobs and
 * nodes but what struct step_room says. */
#ifndef REMUDA_CORE_STEP_LAYOUT_H
#define REMUDA_CORE_STEP_LAYOUT_H

#include "base/idset.h"
#include "model/job/alloc.h"
#include "model/message.h"

/* One node of the job: what the job holds there, and what no step has to itself. */
struct step_room {
    const struct alloc_node *held; /* what the job has of it */
    struct idset free;             /* CPUs */
    int64_t mem_mib;               /* memory */
    struct idset *device;          /* free devices of each of held->gres that has devices */
    int64_t *count;                /* free count of each of held->gres */
    int32_t threads_per_core;      /* 0 = 1 */
    int32_t cpus_per_socket;       /* 0 = one socket */
    bool unusable;                 /* its daemon is away */
};

/* What was asked, read once. Everything is in the arena. */
struct gres_need {
    const char *kind, *type;
    int64_t per_node, per_task, total; /* 0 = not asked so, as of the next two */
};
enum step_spread { SPREAD_BLOCK, SPREAD_PACK, SPREAD_CYCLIC, SPREAD_PLANE, SPREAD_ARBITRARY };
struct step_want {
    uint64_t job_id; /* for sentences */
    int32_t ntasks, min_nodes, max_nodes, cpus_per_task;
    int32_t per_node, per_socket, per_core, per_gpu; /* tasks, at most; 0 = no limit */
    int32_t cpus_per_gpu;                            /* 0 = not asked */
    int64_t mem_node_mib, mem_cpu_mib, mem_gpu_mib;
    struct gres_need *need;
    size_t nneed;           /* of `need` */
    bool exact, overcommit; /* --exact: no more CPUs than its tasks need */
    bool no_gres;           /* --gres=none: nothing of the job's, not even with others */
    uint32_t shares;        /* bits of enum step_shares */
    enum step_spread spread;
    int32_t plane;        /* tasks a block, where they are dealt in planes */
    bool *allowed, *must; /* each node of the job */
    int32_t *task_node;   /* SPREAD_ARBITRARY: node of each task */
    const char *warning;  /* what was understood otherwise than written; NULL = nothing */
};

/* Reads a request against the job's own (what the step leaves open the job decides) and its `n`
 * nodes. False: refused; `detail` gets a sentence. */
bool step_want_read(const struct msg_create_step *m, const struct job *job,
                    const struct alloc *held, struct arena *a, struct step_want *ret,
                    enum refusal *ret_refusal, struct str *detail);
struct core;
/* Forbids the nodes that lack what --constraint asks for. Refused, with a sentence: it is none, it
 * counts nodes, or no node of the job has that. */
enum refusal step_features_forbid(const struct core *c, const struct job_request *r,
                                  const struct alloc *held, struct arena *a, struct step_want *want,
                                  struct str *detail);
/* Lays the tasks out in these rooms (in the order of the job's nodes). REFUSE_NONE, and *ret is the
 * layout, its texts in the arena; else why not, and a sentence. */
enum refusal step_layout(const struct step_want *want, const struct step_room *room, size_t n,
                         struct arena *a, struct alloc *ret, struct str *detail);

#endif
