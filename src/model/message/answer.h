/* Answers that several requests share, and what is said of the daemon itself. */
#ifndef REMUDA_MODEL_MESSAGE_ANSWER_H
#define REMUDA_MODEL_MESSAGE_ANSWER_H

#include "model/fields.h"
#include "model/job/job.h"
#include "model/refusal.h"

#define RESULT_FIELDS(X)                                                                           \
    X(TEXT, ref, 0, "what the result is about: a job reference, a node")                           \
    X(TEXT, elements, 0, "of an array: indexes of those that it is about; NULL = ref says it")     \
    X(ENUM, refusal, &refusal_names, "NONE = done")                                                \
    X(TEXT, detail, 0, "sentence for people")
struct result {
    RESULT_FIELDS(FIELD_MEMBER)
};
extern const struct fields result_fields;

// clang-format off
#define MSG_DONE_FIELDS(X)                                                                                 \
    X(ENUM, refusal, &refusal_names, "NONE = done; else why not")                                          \
    X(TEXT, detail, 0, "sentence for people; what was asked, what is allowed, what would work")            \
    X(TEXT, warning, 0, "done, but")                                                                       \
    X(U64, count, 0, "jobs, nodes or rows it concerned")                                                   \
    X(LIST, results, &result_fields, "for each reference that did not go as asked")                        \
    X(SPAN, again_us, 0, "refused for now: it may be asked again after so long; 0 = not said")            \
    X(BOOL, shut_out, 0, "the host that asks is none of the cluster's any more")
// clang-format on

#define MSG_ALLOCATED_FIELDS(X)                                                                    \
    X(LIST, jobs, &job_fields, "the job, running; of a heterogeneous job all components in order")

#define MSG_JOB_ENDED_FIELDS(X)                                                                    \
    X(U64, job_id, 0, "job")                                                                       \
    X(ENUM, state, &job_state_names, "how it ended")                                               \
    X(I32, exit_status, &range_any32, "wait status; of an array: the highest")

/* A controller or node daemon as `remuda status` shows it (rows of QUERY_STATUS). */
// clang-format off
#define STATUS_FIELDS(X)                                                                                   \
    X(TEXT, role, 0, "controller or node")                                                                 \
    X(TEXT, name, 0, "host or node name")                                                                  \
    X(I64, pid, 0, "process id")                                                                           \
    X(TIME, start_us, 0, "running since")                                                                  \
    X(TEXT, version, 0, "Remuda version")                                                                  \
    X(TEXT, state_dir, 0, "state directory")                                                               \
    X(TEXT, store, 0, "store: kind and path")                                                              \
    X(TEXT, trouble, 0, "what is wrong, in a sentence; NULL = nothing")                                    \
    X(TEXT, isolation, 0, "node: what jobs are held to there, and what they are not")                      \
    X(U64, jobs_pending, 0, "controller: jobs waiting (array elements counted)")                           \
    X(U64, jobs_running, 0, "jobs running")                                                                \
    X(I64, rss_bytes, 0, "its memory")                                                                     \
    X(U64, turns, 0, "controller: turns since start")                                                      \
    X(U64, plans, 0, "planner passes since start")                                                         \
    X(SPAN, last_plan_us, 0, "time the last pass took")                                                    \
    X(SPAN, mean_plan_us, 0, "mean time of a pass")                                                        \
    X(U64, queue_considered, 0, "jobs considered in the last pass")                                        \
    X(TEXT, device_trouble, 0, "node: why devices that are in its machine cannot be used")                 \
    X(SPAN, round_max_us, 0, "controller: longest time in which it heard nobody")
// clang-format on
struct daemon_status {
    STATUS_FIELDS(FIELD_MEMBER)
};
extern const struct fields status_fields;

#endif
