/* What a user may use, as `remuda may` tells it: records of the answer to a MAY message. The fields
 * are a promise to programs: some may be added, none changes its meaning (docs/may.md). */
#ifndef REMUDA_MODEL_MAY_H
#define REMUDA_MODEL_MAY_H

#include "model/fields.h"
#include "model/record/partition.h"
#include "model/record/resource_limit.h"
#include "model/refusal.h"

// clang-format off
#define MAY_LIMIT_FIELDS(X)                                                                                  \
    X(ENUM, what, &resource_limit_names, "the limit")                                                        \
    X(TEXT, tres, 0, "of which resource: cpu, gres/gpu:v100 (mem in MiB); NULL = it counts none")            \
    X(ENUM, owner, &limit_owner_names, "what carries it: an association or a QOS")                           \
    X(TEXT, of, 0, "the same by name: \"QOS test\", \"account physics\", \"alice in account physics\"")      \
    X(TEXT, hours, 0, "when it holds; NULL = always")                                                        \
    X(I64, value, &range_any64, "how much: jobs, CPUs, MiB, devices, minutes")                               \
    X(BOOL, counted, 0, "`used` and `left` are known; what is asked of single jobs is not counted")          \
    X(I64, used, &range_any64, "in use now, by all that it counts together")                                 \
    X(I64, left, &range_any64, "what is left; 0 also where more is in use")                                  \
    X(BOOL, holds, 0, "it is insisted on (AccountingStorageEnforce)")

#define MAY_GPU_FIELDS(X)                                                                                    \
    X(TEXT, type, 0, "type; NULL = they have none")                                                          \
    X(I64, total, &range_any64, "on nodes of the partition that are up")                                     \
    X(I64, free, &range_any64, "of these, that nobody has")

#define MAY_CHOICE_FIELDS(X)                                                                                 \
    X(TEXT, account, 0, "account")                                                                           \
    X(BOOL, account_default, 0, "jobs that name no account have it")                                         \
    X(TEXT, qos, 0, "QOS")                                                                                   \
    X(BOOL, qos_default, 0, "jobs that name no QOS have it with this account")                               \
    X(BOOL, usable, 0, "the partition takes them")                                                           \
    X(ENUM, refusal, &refusal_names, "else what a job would be refused with")                                \
    X(TEXT, because, 0, "the same in a sentence")                                                            \
    X(SPAN, time_limit_us, 0, "longest time limit of a job")                                                 \
    X(TEXT, time_limit_of, 0, "whose limit that is")                                                         \
    X(LIST, limits, &may_limit_fields, "those that hold by Slurm's order of precedence")

#define MAY_PARTITION_FIELDS(X)                                                                              \
    X(TEXT, name, 0, "partition")                                                                            \
    X(BOOL, is_default, 0, "jobs that name no partition go there")                                           \
    X(BOOL, usable, 0, "this user's jobs may run there, with one of the choices at least")                   \
    X(ENUM, refusal, &refusal_names, "else what every job would be refused with; NONE: it would be taken, and wait") \
    X(TEXT, because, 0, "the same in a sentence")                                                            \
    X(ENUM, state, &part_state_names, "UP, DOWN, DRAIN, INACTIVE")                                           \
    X(SPAN, max_time_us, 0, "longest time limit; 0 = unlimited")                                             \
    X(SPAN, default_time_us, 0, "of jobs that give none; 0 = max_time_us")                                   \
    X(I32, max_nodes, &range_any32, "nodes a job, at most; 0 = unlimited")                                   \
    X(I32, nodes, &range_any32, "nodes in it that are up")                                                   \
    X(LIST, gpus, &may_gpu_fields, "its GPUs by type")                                                       \
    X(BOOL, nodes_private, 0, "PrivateData=nodes: nodes and gpus are not told")                              \
    X(LIST, choices, &may_choice_fields, "accounts and QOS; none where accounts are not insisted on, and this user is in none")
// clang-format on

struct may_limit {
    MAY_LIMIT_FIELDS(FIELD_MEMBER)
};
struct may_gpu {
    MAY_GPU_FIELDS(FIELD_MEMBER)
};
struct may_choice {
    MAY_CHOICE_FIELDS(FIELD_MEMBER)
};
struct may_partition {
    MAY_PARTITION_FIELDS(FIELD_MEMBER)
};
extern const struct fields may_limit_fields, may_gpu_fields, may_choice_fields,
    may_partition_fields;

#endif
