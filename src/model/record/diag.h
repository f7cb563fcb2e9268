/* What the controller has done, as sdiag shows it (one row of QUERY_DIAG). Counters run since
 * reset_us. */
#ifndef REMUDA_MODEL_DIAG_H
#define REMUDA_MODEL_DIAG_H

#include "base/arena.h"
#include "base/str.h"
#include "model/fields.h"

// clang-format off
#define DIAG_FIELDS(X)                                                                             \
    X(TIME, now_us, 0, "now")                                                                      \
    X(TIME, start_us, 0, "the controller runs since")                                              \
    X(TIME, reset_us, 0, "counters run since")                                                     \
    X(U64, connections, 0, "commands and daemons connected")                                       \
    X(U64, nodes_connected, 0, "node daemons connected")                                           \
    X(U64, jobs_submitted, 0, "jobs submitted (an array is one)")                                  \
    X(U64, jobs_started, 0, "jobs started")                                                        \
    X(U64, jobs_completed, 0, "jobs that ended well")                                              \
    X(U64, jobs_cancelled, 0, "jobs cancelled")                                                    \
    X(U64, jobs_failed, 0, "jobs that ended otherwise")                                            \
    X(U64, jobs_preempted, 0, "runs that gave way to others")                                      \
    X(U64, jobs_pending, 0, "jobs that wait")                                                      \
    X(U64, jobs_running, 0, "jobs that run")                                                       \
    X(U64, plans, 0, "passes of the planner")                                                      \
    X(SPAN, plan_last_us, 0, "time of the last pass")                                              \
    X(SPAN, plan_max_us, 0, "of the longest")                                                      \
    X(SPAN, plan_sum_us, 0, "of all")                                                              \
    X(TIME, plan_at_us, 0, "when the last pass was")                                               \
    X(U64, considered, 0, "jobs considered in the last pass")                                      \
    X(U64, considered_sum, 0, "in all passes")                                                     \
    X(U64, backfilled, 0, "jobs started ahead of others of higher priority")                       \
    X(U64, backfilled_ever, 0, "since the controller started")                                     \
    X(U64, turns, 0, "turns of the controller")                                                    \
    X(U64, commits, 0, "commits of the store")                                                     \
    X(TEXT, rpcs, 0, "messages by kind: name, number, count, microseconds spent; next one …")      \
    X(TEXT, rpc_users, 0, "the same by user: name, uid, …")                                        \
    X(TEXT, trouble, 0, "what is wrong; NULL = nothing")                                           \
    X(SPAN, round_max_us, 0, "longest time in which the controller heard nobody")                  \
    X(U64, rounds, 0, "rounds of the controller's loop")                                           \
    X(SPAN, round_sum_us, 0, "time it was busy in them")                                           \
    X(U64, rounds_100us, 0, "rounds that took at most 100 us of processor time")                   \
    X(U64, rounds_200us, 0, "more than 100 us, at most 200 us")                                    \
    X(U64, rounds_500us, 0, "more than 200 us, at most 500 us")                                    \
    X(U64, rounds_1ms, 0, "more than 500 us, at most 1 ms")                                        \
    X(U64, rounds_2ms, 0, "more than 1 ms, at most 2 ms")                                          \
    X(U64, rounds_5ms, 0, "more than 2 ms, at most 5 ms")                                          \
    X(U64, rounds_10ms, 0, "more than 5 ms, at most 10 ms")                                        \
    X(U64, rounds_20ms, 0, "more than 10 ms, at most 20 ms")                                       \
    X(U64, rounds_50ms, 0, "more than 20 ms, at most 50 ms")                                       \
    X(U64, rounds_100ms, 0, "more than 50 ms, at most 100 ms")                                     \
    X(U64, rounds_200ms, 0, "more than 100 ms, at most 200 ms")                                    \
    X(U64, rounds_500ms, 0, "more than 200 ms, at most 500 ms")                                    \
    X(U64, rounds_1s, 0, "more than 500 ms, at most 1 s")                                          \
    X(U64, rounds_longer, 0, "more than 1 s")
// clang-format on

struct diag {
    DIAG_FIELDS(FIELD_MEMBER)
};
extern const struct fields diag_fields;

/* One of diag.rpcs or diag.rpc_users: a text, as rows of a query have no lists in them. */
struct rpc_count {
    const char *name;           /* without blanks */
    uint64_t number, count, us; /* of the kind or user; messages; µs in all */
};
/* One more at the end of the list. */
void rpc_counts_add(struct str *list, const struct rpc_count *one);
/* The next of the list; its name lives in the arena. False: there is none. */
bool rpc_counts_next(struct span *rest, struct arena *a, struct rpc_count *ret);

#endif
