/* What was used in a time, for reports; and the times in which a node was as it was. */
#ifndef REMUDA_MODEL_USED_H
#define REMUDA_MODEL_USED_H

#include "model/fields.h"
#include "model/record/node.h"

// clang-format off
/* By whom and where, then how much: rows of QUERY_USED, summed over what the query does not name.
 * Resources are counted in units × seconds, between whole seconds. */
#define USED_BY_FIELDS(X)                                                                          \
    X(TEXT, account, 0, "account; NULL = none was named")                                          \
    X(TEXT, user_name, 0, "user, by number where the name is not known")                           \
    X(TEXT, partition, 0, "partition it ran in")                                                   \
    X(TEXT, qos, 0, "QOS")                                                                         \
    X(TEXT, wckey, 0, "workload key")                                                              \
    X(TEXT, reservation, 0, "reservation it ran in")                                               \
    X(I32, job_cpus, 0, "CPUs of each of the jobs")
#define USED_FIELDS(X)                                                                             \
    X(TIME, from_us, 0, "of each hour alone: when it begins")                                      \
    X(U64, jobs, 0, "runs of jobs that ran in the time")                                           \
    X(I64, cpu_s, 0, "CPUs")                                                                       \
    X(I64, mem_mib_s, 0, "memory")                                                                 \
    X(I64, node_s, 0, "nodes")                                                                     \
    X(I64, billing_s, 0, "billing units")                                                          \
    X(I64, planned_cpu_s, 0, "CPUs that jobs which have started since waited for, from when they might start") \
    X(TEXT, gres, 0, "generic resources: gpu=7200,gpu:v100=7200")                                  \
    X(U64, there, 0, "of an hour in an archive: runs that ran already as it began")
/* An hour's sum that an archive had. */
#define USED_HOUR_FIELDS(X)                                                                        \
    X(TEXT, who, 0, "by whom and where, in one word: made of the next seven")                      \
    USED_BY_FIELDS(X)                                                                              \
    USED_FIELDS(X)

/* A node from when it became so until it was otherwise. */
#define NODE_SPELL_FIELDS(X)                                                                       \
    X(TEXT, name, 0, "node")                                                                       \
    X(TIME, start_us, 0, "since")                                                                  \
    X(TIME, end_us, 0, "until; 0 = it still is so")                                                \
    X(ENUM, state, &node_state_names, "UNKNOWN (never reported), UP, DOWN, FUTURE")                \
    X(BOOL, drain, 0, "drained: took no new jobs, and none was left")                              \
    X(TEXT, reason, 0, "why it was down or drained")                                               \
    X(TEXT, reason_user, 0, "who said so")                                                         \
    X(I32, cpus, 0, "CPUs to schedule")                                                            \
    X(MIB, memory_mib, 0, "memory to schedule")                                                    \
    X(TEXT, gres, 0, "gres: gpu:v100:2,nic:1")
// clang-format on

struct used {
    USED_BY_FIELDS(FIELD_MEMBER)
    USED_FIELDS(FIELD_MEMBER)
};
struct used_hour {
    USED_HOUR_FIELDS(FIELD_MEMBER)
};
struct node_spell {
    NODE_SPELL_FIELDS(FIELD_MEMBER)
};
extern const struct fields used_fields, used_hour_fields, node_spell_fields;

struct str;
/* The row of the sum of an hour. Texts stay the sum's; `who` is made in the buffer. */
struct used_hour used_hour_of(const struct used *u, struct str *who);
struct used used_of_hour(const struct used_hour *h); /* Without the hour; texts are those of `h`. */

#endif
