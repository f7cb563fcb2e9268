/* A workload through the controller's own machine in virtual time. */
#ifndef REMUDA_SIM_REPLAY_H
#define REMUDA_SIM_REPLAY_H

#include "base/str.h"
#include "sim/refs.h"
#include "sim/trace.h"

/* Every arrival and every end is a pass of its own, arrivals first; or: all ends of a second, then all arrivals, then one pass. */
enum replay_rule { RULE_EVENT, RULE_BATCH };
enum estimates { ESTIMATES_USER, ESTIMATES_PERFECT, ESTIMATES_FACTOR };

struct replay_machine {
    int64_t nodes, node_procs; /* nodes 0: one flat pool */
    int64_t procs;             /* in all */
};

struct replay_setup {
    struct replay_machine machine;
    struct ref_policy policy;
    enum replay_rule rule;
    enum estimates estimates;
    int64_t factor;       /* of the run, in thousandths */
    const char *settings; /* more lines of remuda.conf; NULL = none */
    bool untimed;         /* passes are not timed */
};

struct replayed {
    int64_t start, end; /* seconds */
    int32_t nodes;
    enum start_why why;
};

struct replay_result {
    struct replayed *job; /* by index in the trace */
    uint64_t passes, max_queue;
    VEC(uint32_t) pass_ns;   /* of each pass, unless untimed */
};

bool replay_run(const struct trace *t, const struct replay_setup *setup, struct replay_result *ret,
                struct err *ret_err);
void replay_done(struct replay_result *r);

#endif
