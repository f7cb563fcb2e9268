/* A workload through the controller's own machine in virtual time. */
#ifndef REMUDA_SIM_REPLAY_H
#define REMUDA_SIM_REPLAY_H

#include "base/str.h"
#include "sim/replay/refs.h"
#include "sim/replay/trace.h"

/* Every arrival and every end is a pass of its own, arrivals first; or: all ends of a second, then
 * all arrivals, then one pass. */
enum replay_rule { RULE_EVENT, RULE_BATCH };
/* PREDICT: the mean of the user's last two runs (Tsafrir, Etsion, Feitelson 2007), at most what the
 * user asked; a job that outlives it is believed to need what its user asked, and nothing is killed
 * by a prediction. */
enum estimates { ESTIMATES_USER, ESTIMATES_PERFECT, ESTIMATES_FACTOR, ESTIMATES_PREDICT };
/* Which of several nodes that would do: the daemon's own choice (best fit), or others to compare it
 * with. */
enum node_choice { NODES_BEST_FIT, NODES_LEAST_LOST, NODES_FIRST_FIT, NODES_WORST_FIT };
extern const char *const node_choice_names[];

struct replay_machine {
    int64_t nodes, node_procs; /* nodes 0: one flat pool */
    int64_t procs;             /* in all */
    int64_t gpus;              /* in all; 0 = none, or not known */
    const char *lines;         /* NodeName lines of its own; NULL = as the numbers say */
    const char *config;        /* a whole remuda.conf with nodes and partitions; NULL = none */
    const char *path;          /* where that was read */
};

struct replay_setup {
    const char *name; /* for people; NULL = the policy's */
    struct replay_machine machine;
    struct ref_policy policy;
    enum replay_rule rule;
    enum estimates estimates;
    enum node_choice node_choice;
    int64_t factor; /* of the run, in thousandths */
    /* So many of the waiting are considered in a pass; 0 = all. Policies of refs.h only */
    size_t depth;
    const char *settings; /* more lines of remuda.conf; NULL = none */
    bool untimed;         /* passes are not timed */
    bool foresee;         /* ask for the planned start of each job when it has come */
};

struct replayed {
    int64_t start, end;    /* seconds; end 0: it never started */
    int64_t first_planned; /* the first planned start it was told; 0 = none */
    int32_t nodes;
    int32_t stopped; /* times it had to give way and began anew */
    enum start_why why;
    /* NULL, or why the configuration does not take it; start and end are 0 then */
    const char *refused;
};

struct replay_result {
    struct replayed *job; /* by index in the trace */
    uint64_t passes, max_queue;
    uint64_t refused;   /* jobs the configuration does not take */
    uint64_t elsewhere; /* jobs whose partition the configuration lacks: they went to its default */
    uint64_t unplaced;  /* running jobs of a live queue for which there is no room */
    uint64_t promises,
        moved_later; /* promised starts; those that were later than the promise one pass before */
    int64_t lost_s;  /* processor seconds that jobs had run when they had to begin anew */
    /* Nodes only: of what was idle while jobs waited, the share on nodes that were partly busy */
    double fragmented;
    VEC(uint32_t) pass_ns; /* of each pass, unless untimed */
    struct arena *text;
};

/* From the first submission to the last end; *ret is overwritten. False: a combination that is
 * none, or the core refused a job. */
bool replay_run(const struct trace *t, const struct replay_setup *setup, struct replay_result *ret,
                struct err *ret_err);
void replay_done(struct replay_result *r); /* empty again */

#endif
