/* What is known of a job while its findings are looked for. */
#ifndef REMUDA_READING_LOOK_H
#define REMUDA_READING_LOOK_H

#include "reading/dips.h"
#include "reading/reading.h"

/* What GPUs that take turns are told. */
#define LOOK_TURNS_NEXT                                                                            \
    "a model that is cut in parts, one after another, uses one GPU at a time: cut batches in "     \
    "smaller ones that follow each other (pipeline), share the data instead (DDP, FSDP), or ask "  \
    "for one GPU if it fits"

#define LOOK_TOUCHED 1.0 /* percent: what is not above was not used */

/* One GPU of the job; curves that there are not are NULL. */
struct look_gpu {
    const char *node; /* as the node gave it */
    int32_t number;   /* as the node numbers it */
    /* NULL = it has none such, as of all */
    const struct curve *util, *sm, *mem, *mem_total, *throttle, *clock, *temp, *power, *ecc, *xid;
    const struct curve *enc, *dec;
    const struct curve *work;  /* what says best whether it was at work: util, of an instance sm;
                                  with its video engines, where they are */
    struct curve *made;        /* it, if no curve that came is it */
    struct figures f, sm_f;    /* of work and sm */
    bool unused, hangs, idled; /* told of so: idled for long */
    bool late;                 /* did nothing while others hung: told with them */
    struct dips dips[READING_PHASES]; /* in each phase */
};

/* One node of the job. */
struct look_node {
    const char *name;
    double cpus, mem_mib; /* that it has there; 0 = not known */
    /* NULL = it has none such, as of all */
    const struct curve *cpu, *rss, *swap, *read, *write, *psi_cpu, *psi_mem, *psi_io;
};

struct look {
    const struct curves *curves; /* borrowed, as the job is */
    const struct job *job;
    const struct civil_zone *zone;
    struct reading *to;     /* where findings go */
    int64_t from_ms, to_ms; /* first and last sample */
    VEC(struct look_gpu) gpu;
    VEC(struct look_node) node;
    struct stretch phase[READING_PHASES]; /* at least one */
    double phase_mean[READING_PHASES];    /* percent of use of GPUs, or of CPUs */
    size_t nphases;                       /* 1 = it does the same all the time */
    const struct curve *set_back;         /* its node's clock was set back: no times are told */
    bool phases_of_gpus;                  /* else of CPUs */
    bool needs_cpus; /* a finding says to use more of them: none says to give them back */
};

/* NULL = the job had no node of that name, or nothing was measured there. */
const struct look_node *look_node_of(const struct look *l, const char *name);

/* " of NODE", where the job had several. */
void look_node_add(const struct look *l, const char *node, struct str *out);

/* A flag for each GPU; the caller frees. */
bool *marks_new(const struct look *l);
/* How many are set. */
size_t marks_count(const struct look *l, const bool *mark);

/* The last value up to that time, or the first; *at is where the search begins, 0 at first. -1:
 * there is none. */
double look_near(const struct curve *c, size_t *at, int64_t ms);

/* it works, never more than LOW, and not for being unused or hanging */
bool look_is_low(const struct look_gpu *g);
/* The looks add what they find to l->reading, each of its own kind, in this order. */
void look_dips(struct look *l);
void look_held(struct look *l); /* clocks held back by heat or power; memory errors */
/* first: where the job changes what it does; the others say it of each phase */
void look_phases(struct look *l);
void look_gpus(struct look *l); /* after the phases: unused, hanging, idle, little used */
/* Of look_gpus(), in this order; each marks what it tells of, and the later ones leave that. */
void look_hangs(struct look *l);  /* busy without work, as one that waits for others */
void look_thin(struct look *l);   /* busy with kernels too small for the device */
void look_unused(struct look *l); /* never at work */
void look_idle(struct look *l);   /* at work once, and idle for long */
void look_little(struct look *l); /* short bursts, and nothing between */
void look_hosts(struct look *l);  /* CPUs, memory and disks */
void look_memory(struct look *l); /* of look_hosts() */
void look_ranks(struct look *l);  /* after all others that compare */

#endif
