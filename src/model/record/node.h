/* A node: what the settings say it has, what it reports, how it is, and what of it is in use. */
#ifndef REMUDA_MODEL_NODE_H
#define REMUDA_MODEL_NODE_H

#include "model/fields.h"

/* Availability, apart from what runs there. IDLE, MIXED and ALLOCATED are computed from alloc_cpus
 * when shown. */
enum node_state { NODE_UNKNOWN, NODE_UP, NODE_DOWN, NODE_FUTURE };
extern const struct enum_names node_state_names; /* "UNKNOWN" … as stored */

// clang-format off
#define NODE_FIELDS(X)                                                                          \
    X(TEXT, name, 0, "node name")                                                               \
    X(TEXT, addr, 0, "address to reach it (NodeAddr)")                                          \
    X(TEXT, hostname, 0, "host name (NodeHostName)")                                            \
    X(ENUM, state, &node_state_names, "UNKNOWN (never reported), UP, DOWN, FUTURE")             \
    X(BOOL, drain, 0, "takes no new jobs")                                                      \
    X(BOOL, fail, 0, "expected to fail; takes no new jobs")                                     \
    X(BOOL, responding, 0, "its daemon is connected")                                           \
    X(BOOL, is_virtual, 0, "one of several nodes that share one machine (remuda up --nodes)")   \
    X(TEXT, reason, 0, "why it is down or drained")                                             \
    X(U32, reason_uid, 0, "who said so")                                                        \
    X(TEXT, reason_user, 0, "name of who said so")                                              \
    X(TIME, reason_us, 0, "when")                                                               \
    X(I32, cpus, &range_cpus, "CPUs to schedule (threads, unless set to cores)")                \
    X(I32, boards, &range_cpus, "boards")                                                       \
    X(I32, sockets, &range_cpus, "sockets")                                                     \
    X(I32, cores_per_socket, &range_cpus, "cores on each socket")                               \
    X(I32, threads_per_core, &range_cpus, "threads of each core")                               \
    X(MIB, memory_mib, 0, "memory to schedule (RealMemory); 0 = not configured")                \
    X(MIB, memory_spec_mib, 0, "memory set aside for the system (MemSpecLimit)")                \
    X(I32, core_spec, &range_cpus, "cores set aside for the system (CoreSpecCount)")            \
    X(MIB, tmp_disk_mib, 0, "temporary disk (TmpDisk)")                                         \
    X(I32, weight, 0, "nodes of lower weight are used first")                                   \
    X(TEXT, features, 0, "features, comma-separated")                                           \
    X(TEXT, gres, 0, "gres: gpu:v100:2,nic:1")                                                  \
    X(TEXT, devices, 0, "each device: kind:type:index:memory_mib:cores:uuid;…")                 \
    X(TEXT, devices_out, 0, "devices that nobody may be given: kind:index:unproven|failed:since:why;…") \
    X(BOOL, devices_retry, 0, "an operator asked to try broken devices again, the node does not say so yet")\
    X(TEXT, partitions, 0, "partitions it is in, comma-separated (computed)")                   \
    X(TEXT, arch, 0, "architecture it reported")                                                \
    X(TEXT, os, 0, "operating system it reported")                                              \
    X(TEXT, version, 0, "Remuda version it runs")                                               \
    X(TEXT, isolation, 0, "what jobs are held to there, and what they are not, as it reported") \
    X(I32, real_cpus, &range_cpus, "CPUs it reported")                                          \
    X(MIB, real_memory_mib, 0, "memory it reported")                                            \
    X(TEXT, real_gres, 0, "gres it reported")                                                   \
    X(TEXT, complaint, 0, "what it has less of than configured, a second daemon, in sentences") \
    X(TIME, boot_us, 0, "its machine booted")                                                   \
    X(TIME, daemon_start_us, 0, "its daemon started")                                           \
    X(TIME, last_seen_us, 0, "last heartbeat")                                                  \
    X(TIME, last_busy_us, 0, "last time a job ran there")                                       \
    X(I32, load_centi, 0, "load average, hundredths")                                           \
    X(MIB, free_mem_mib, 0, "free memory it reported")                                          \
    X(I32, alloc_cpus, 0, "CPUs allocated (computed)")                                          \
    X(MIB, alloc_mem_mib, 0, "memory allocated (computed)")                                     \
    X(TEXT, alloc_gres, 0, "gres allocated: gpu:v100:2(IDX:0-1) (computed)")                    \
    X(I32, jobs, 0, "jobs on it, cleaning ones too (computed)")                                 \
    X(I32, jobs_cleaning, 0, "of these, being cleaned (computed)")                              \
    X(BOOL, planned, 0, "kept for a promised start (computed)")                                 \
    X(BOOL, reserved, 0, "inside an active reservation (computed)")                             \
    X(BOOL, maint, 0, "inside an active maintenance reservation (computed)")                    \
    X(TEXT, reservation, 0, "active reservation that it is in (computed)")                      \
    X(TEXT, set_fields, 0, "fields that scontrol set and the configuration file does not know") \
    X(TEXT, set_gres, 0, "generic resources, if scontrol set them")                             \
    X(TEXT, comment, 0, "administrator's comment")                                             \
    X(TEXT, device_trouble, 0, "why devices that are in its machine cannot be used, in sentences, as it reported") \
    X(TEXT, extra, 0, "administrator's extra text")                                            \
    X(TEXT, cpu_bind, 0, "how tasks are bound that nobody asks to be bound (CpuBind)") \
    X(TEXT, device_search, 0, "of a node without GPUs: what was looked for, and not found, as it reported")       \
    X(TEXT, device_health, 0, "how each device is, as it said last: kind:index:health:since:evidence;…") \
    X(TEXT, life, 0, "names the boot of its machine and the directory of its daemon: what it held in another is lost")
// clang-format on

struct node {
    NODE_FIELDS(FIELD_MEMBER)
};
extern const struct fields node_fields;

/* Slurm's state words: base word and flags as "IDLE+DRAIN" (scontrol), "drained" (sinfo %T),
 * "drain" (sinfo %t); a '*' is added when it does not respond. `out` gets the word appended. */
struct str;
enum node_word { NODE_WORD_CONTROL, NODE_WORD_LONG, NODE_WORD_COMPACT };
void node_state_word(const struct node *n, enum node_word form, struct str *out);

#endif
