/* Why a job waits (or waited), as `remuda why` tells it: records of the answer to a WHY message. */
#ifndef REMUDA_MODEL_WHY_H
#define REMUDA_MODEL_WHY_H

#include "model/fields.h"
#include "model/state.h"

/* NEEDS: what a partition's nodes are asked for, and how many have it free. The others say where
 * the rest of its nodes stand, or what else is in the way. */
enum blocker_kind {
    BLOCKER_NEEDS,    /* what it asks for */
    BLOCKER_BUSY,     /* others have it */
    BLOCKER_OUT,      /* drained, down */
    BLOCKER_AWAY,     /* silent */
    BLOCKER_KEPT,     /* for a promised start */
    BLOCKER_EXCLUDED, /* by the job's own options */
    BLOCKER_RESERVED, /* by a reservation */
    BLOCKER_NEVER,    /* it could not hold it, were it empty */
    BLOCKER_LICENCE,
    BLOCKER_LIMIT
};
extern const struct enum_names blocker_kind_names;
// clang-format off
#define BLOCKER_FIELDS(X)                                                                                    \
    X(ENUM, kind, &blocker_kind_names, "what kind of thing is in the way")                                   \
    X(TEXT, partition, 0, "in this partition; NULL = everywhere")                                            \
    X(TEXT, what, 0, "needs: the demand; busy: what is short; out: which device, why, and what can be done; away: why; never: what they lack; licence, limit: a sentence") \
    X(I32, nodes, 0, "nodes it is said of; needs: that have it free now")                                    \
    X(I32, nodes_all, 0, "needs: nodes of the partition")                                                    \
    X(TEXT, names, 0, "those nodes, folded, the first of them")                                              \
    X(TIME, first_us, 0,                                                                                     \
      "busy: when the first of them is expected to be free enough; kept: when it is to be used; out: since " \
      "when; limit: when enough of it is expected to be free; 0 = not known")                                                                                               \
    X(TIME, last_us, 0, "busy: the last of them")                                                            \
    X(I32, endless, 0, "busy: nodes whose jobs have no time limit")                                          \
    X(TEXT, jobs, 0, "busy: jobs there; kept: for these; limit: who has of it; the first of them")                                 \
    X(I32, jobs_more, 0, "further jobs")                                                                     \
    X(TEXT, users, 0, "limit: whose jobs those are")
// clang-format on
struct blocker {
    BLOCKER_FIELDS(FIELD_MEMBER)
};
extern const struct fields blocker_fields;

// clang-format off
#define ADVICE_FIELDS(X)                                                                                     \
    X(TEXT, option, 0, "option of sbatch that makes the difference")                                         \
    X(TEXT, command, 0, "command that changes the waiting job so; NULL = it has to be submitted anew")       \
    X(TIME, start_us, 0, "when it would start then")                                                         \
    X(BOOL, now, 0, "that is now; with stops: as soon as those gave way")                                    \
    X(TEXT, stops, 0, "jobs that would have to give way, in words; NULL = none")
// clang-format on
struct why_advice {
    ADVICE_FIELDS(FIELD_MEMBER)
};
extern const struct fields why_advice_fields;

enum sureness { SURE_NONE, SURE_PROMISE, SURE_FORECAST, SURE_ROUGH };
extern const struct enum_names sureness_names;
// clang-format off
#define WHY_FIELDS(X)                                                                                        \
    X(U64, job_id, 0, "job")                                                                                 \
    X(TEXT, label, 0, "as squeue names it")                                                                  \
    X(TEXT, name, 0, "its name")                                                                             \
    X(TEXT, user_name, 0, "owner")                                                                           \
    X(ENUM, state, &job_state_names, "state")                                                                \
    X(ENUM, reason, &job_reason_names, "Slurm's word for it")                                                \
    X(TEXT, because, 0, "the reason in sentences, with what to do")                                          \
    X(TIME, submit_us, 0, "submitted")                                                                       \
    X(TIME, eligible_us, 0, "may run from")                                                                  \
    X(TIME, start_us, 0, "started")                                                                          \
    X(U32, rank, 0, "place in the order, 1 = next; 0 = not in it")                                           \
    X(U64, waiting, 0, "jobs in the order")                                                                  \
    X(TEXT, ahead, 0, "the first of those ahead")                                                            \
    X(SPAN, limit_us, 0, "it asks for so long; 0 = it gives no limit")                                       \
    X(SPAN, expected_us, 0, "such jobs of its owner ran so long; 0 = not known. The order alone looks at it") \
    X(TIME, planned_us, 0, "planned start; 0 = none")                                                        \
    X(TEXT, planned_nodes, 0, "its nodes, folded")                                                           \
    X(ENUM, sureness, &sureness_names, "how sure that is")                                                   \
    X(TEXT, sure_text, 0, "the same in a sentence; without a planned start: why there is none")              \
    X(LIST, blockers, &blocker_fields, "what is in the way")                                                 \
    X(LIST, advice, &why_advice_fields,                                                                      \
      "changes with which it would start sooner, each tried by planning it")                                 \
    X(BOOL, advice_tried, 0, "advice was looked for")                                                        \
    X(BOOL, advice_cut, 0, "not everything could be tried without holding others up")                        \
    X(TEXT, waited_for, 0, "causes and seconds so far: \"Resources=12,Priority=3\"")
// clang-format on
struct why {
    WHY_FIELDS(FIELD_MEMBER)
};
extern const struct fields why_fields;

#endif
