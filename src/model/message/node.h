/* What the controller and the daemons of nodes say to each other. A node repeats what it was not
 * acknowledged; the controller repeats nothing: it says anew what a node is to have when it says
 * hello. */
#ifndef REMUDA_MODEL_MESSAGE_NODE_H
#define REMUDA_MODEL_MESSAGE_NODE_H

#include "model/fields.h"
#include "model/job/job.h"
#include "model/message/ask.h"

/* What a node holds: rows of NODE_HELLO. */
#define HELD_FIELDS(X)                                                                             \
    X(U64, job_id, 0, "job")                                                                       \
    X(U32, attempt, 0, "which start of it")                                                        \
    X(I64, step_id, &range_step, "step")                                                           \
    X(BOOL, ended, 0, "its processes are gone; the report is on its way")                          \
    X(BOOL, unbegun, 0, "only in the daemon's memory: nothing of it would outlive the daemon yet")
struct held {
    HELD_FIELDS(FIELD_MEMBER)
};
extern const struct fields held_fields;

// clang-format off
#define MSG_NODE_HELLO_FIELDS(X)                                                                           \
    X(LIST, node, &node_fields, "one node: its name and the fields a node reports")                        \
    X(LIST, held, &held_fields, "what runs there or awaits acknowledgement")                               \
    X(I64, pid, 0, "process id of the node daemon")                                                        \
    X(I32, protocol, 0, "PROTOCOL_NOW of who says this (model/protocol.h)")                                \
    X(I32, protocol_oldest, 0, "the oldest it understands")                                                                 \
    X(U64, devices_seq, 0, "age of node.devices_out: what has a smaller number is older")
#define MSG_NODE_WELCOME_FIELDS(X)                                                                         \
    X(SPAN, heartbeat_us, 0, "how often to report")                                                        \
    X(SPAN, accounting_freq_us, 0, "how often to sample")                                                  \
    X(SPAN, kill_wait_us, 0, "between SIGTERM and SIGKILL")                                                \
    X(TEXT, prolog, 0, "program before a job")                                                             \
    X(TEXT, epilog, 0, "program after a job")                                                              \
    X(SPAN, prolog_timeout_us, 0, "how long they may take")                                                \
    X(TEXT, task_prolog, 0, "program before each task")                                                    \
    X(TEXT, task_epilog, 0, "program after each task")                                                     \
    X(BOOL, constrain_cores, 0, "keep jobs on their CPUs")                                                 \
    X(BOOL, constrain_ram, 0, "hold jobs to their memory")                                                 \
    X(BOOL, constrain_devices, 0, "hide other jobs' devices")                                              \
    X(BOOL, constrain_swap, 0, "hold jobs to their swap")                                                  \
    X(BOOL, over_memory_kill, 0, "end jobs over their memory at the samples too")                          \
    X(I32, allowed_ram, 0, "hundredths of a percent of a job's memory; 0 = all of it")                     \
    X(I32, allowed_swap, 0, "the same, of swap beyond it")                                                 \
    X(I32, max_ram, 0, "hundredths of a percent of the node's memory; 0 = all of it")                      \
    X(I32, max_swap, 0, "the same, of swap")                                                               \
    X(MIB, min_ram_mib, 0, "a job is allowed this at least")                                               \
    X(I32, swappiness_plus1, 0, "of jobs' memory, plus 1; 0 = as the kernel likes")                        \
    X(I32, pids_max, 0, "processes and threads of a job; 0 = half of what the machine can have")           \
    X(SPAN, unkillable_us, 0, "processes that outlive SIGKILL so long are reported; 0 = none are")         \
    X(TEXT, topology_addr, 0, "for SLURM_TOPOLOGY_ADDR: s3.s0.n1; NULL = the node's name")                \
    X(TEXT, topology_pattern, 0, "for SLURM_TOPOLOGY_ADDR_PATTERN: switch.switch.node")                   \
    X(TEXT, devices_failed, 0, "devices that are known to be broken: an entry of node.devices_out each")   \
    X(TEXT, cluster_name, 0, "for SLURM_CLUSTER_NAME")                                                     \
    X(TEXT, state_dir, 0, "state directory of the cluster")                                                \
    X(I32, protocol, 0, "PROTOCOL_NOW of who says this (model/protocol.h)")                                \
    X(I32, protocol_oldest, 0, "the oldest it understands")                                                \
    X(TEXT, version, 0, "its Remuda version")                                                              \
    X(BOOL, series, 0, "samples are to be sent (SERIES)")                                                  \
    X(BOOL, no_gpu_use, 0, "what GPUs do is not measured (DisableGPUAcct)")                                \
    X(TEXT, frequencies, 0, "of what is sampled at another gap: energy=10,network=0,filesystem=30, in seconds") \
    X(SPAN, timeout_us, 0, "a node that says nothing so long has lost its jobs, which may run elsewhere; 0 = never")
// clang-format on
#define MSG_HEARTBEAT_FIELDS(X)                                                                    \
    X(I32, load_centi, 0, "load average, hundredths")                                              \
    X(MIB, free_mem_mib, 0, "free memory")                                                         \
    X(U64, devices_seq, 0, "age of devices_out; 0 = nothing is said of it")                        \
    X(TEXT, devices_out, 0, "as node.devices_out")                                                 \
    X(TEXT, device_health, 0, "as node.device_health, of the same age; NULL = an older release")   \
    X(LIST, node, &node_fields,                                                                    \
      "the node as a hello describes it, if its devices are others than those told")               \
    X(TEXT, gpu_use, 0, "what its GPUs do (model/record/gpu_use.h); NULL = that is not known")
/* An operator brings broken devices back: the node looks at them again. */
#define MSG_DEVICES_RETRY_FIELDS(X) X(U64, devices_seq, 0, "what the controller knows")

extern const struct fields msg_create_step_fields;
/* Idempotent: a node that already has (job, attempt, step) does nothing. The script and env are
 * attached by the controller's shell from the store. */
// clang-format off
#define MSG_LAUNCH_FIELDS(X)                                                                               \
    X(LIST, job, &job_fields, "the job, as it starts; of a heterogeneous job's script, and of the shell of an interactive one of LSF or PBS, all components, the leader first")                                                     \
    X(I64, step_id, &range_step, "STEP_BATCH or a step's number")                                          \
    X(BLOB, script, 0, "batch script; of an async step what runs: create_step.tasks")                      \
    X(BLOB, env, 0, "exported environment")                                                                \
    X(LIST, step, &step_fields, "one step with its layout; none for the batch script")                     \
    X(LIST, create, &msg_create_step_fields, "what was asked of it (one); its program and environment come through the stream")
/* Let the shepherd of a step connect to another command (sattach). */
#define MSG_STREAM_TO_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(TEXT, address, 0, "as in create_step")                                                               \
    X(TEXT, key, 0, "secret to show")
// clang-format on
/* End everything of (job, attempt) on this node: SIGCONT, SIGTERM, after KillWait SIGKILL; then
 * report RELEASED. With only_step, that step alone: its EXITED follows as always and no RELEASED; a
 * node that does not hold the step answers LOST for it. */
// clang-format off
#define MSG_TERMINATE_FIELDS(X)                                                                            \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(SPAN, kill_wait_us, 0, "grace; 0 = SIGKILL at once")                                                 \
    X(TEXT, why, 0, "line for the job's stderr: \"DUE TO TIME LIMIT\", \"\"")                              \
    X(BOOL, only_step, 0, "that step only; the job goes on")                                               \
    X(I64, step_id, &range_step, "step, when only_step")
#define MSG_SIGNAL_FIELDS(X)                                                                               \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step, when only_step")                                                   \
    X(BOOL, only_step, 0, "to that step only")                                                             \
    X(BOOL, batch, 0, "to the batch shell only")                                                           \
    X(BOOL, full, 0, "to steps, batch shell and what it started; neither = to steps")                        \
    X(I32, signal, &range_signal, "signal number; SIGSTOP and SIGCONT suspend and resume all processes")     \
    X(TEXT, say, 0, "no signal: a line for the error output of the batch script, or of the steps where there is none") \
    X(U32, streams, 0, "say: bits of enum notify_streams; of steps it is their error output")
// clang-format on
/* Samples of what runs on the node (wire/series.h); the shell keeps them, beside the core. Repeated
 * until SERIES_KEPT says so. */
#define MSG_SERIES_FIELDS(X)                                                                       \
    X(U64, number, 0, "of the frame, growing; of this process of the node's daemon alone")         \
    X(BLOB, blocks, 0, "blocks, each with its length")
#define MSG_SERIES_KEPT_FIELDS(X) X(U64, number, 0, "frames up to this one are on the disk")
/* Answered with SERIES_PART, or DONE with a refusal. */
#define MSG_GET_SERIES_FIELDS(X)                                                                   \
    X(U64, job_id, 0, "the job")                                                                   \
    X(U32, attempt, 0, "which run of it; 0 = the last")                                            \
    X(TIME, from_us, 0, "samples after this; 0 = from its beginning")                              \
    X(TIME, to_us, 0, "samples before this; 0 = to its end")                                       \
    X(TEXT, after, 0, "`next` of the part before; NULL = the first")
#define MSG_SERIES_PART_FIELDS(X)                                                                  \
    X(BLOB, blocks, 0, "blocks, each with its length")                                             \
    X(TEXT, next, 0, "there is more: ask again with this; NULL = that was all")                    \
    X(TEXT, warning, 0, "what could not be read; NULL = nothing")
#define OUTPUT_END_BYTES (32u << 10) /* of each file */
/* The last bytes of what a job wrote, of its batch node, where the file may be on a disk of that
 * node alone. The node opens it as the job's owner. Answered with OUTPUT, or DONE with a
 * refusal. */
#define MSG_GET_OUTPUT_FIELDS(X)                                                                   \
    X(U64, job_id, 0, "the job")                                                                   \
    X(U32, attempt, 0, "which run of it")                                                          \
    X(TEXT, out, 0, "path of its output")                                                          \
    X(TEXT, err, 0, "path of its error output; NULL = the same file")
#define MSG_READ_OUTPUT_FIELDS(X)                                                                  \
    X(U64, number, 0, "of the question")                                                           \
    X(U32, uid, 0, "whose files they are, and who opens them")                                     \
    X(U32, gid, 0, "his group")                                                                    \
    X(TIME, since_us, 0, "files that nobody wrote to since then are not the job's")                \
    X(TEXT, out, 0, "path")                                                                        \
    X(TEXT, err, 0, "path; NULL = none")
#define MSG_OUTPUT_READ_FIELDS(X)                                                                  \
    X(U64, number, 0, "of the question")                                                           \
    X(BLOB, out, 0, "the last bytes; empty = no such file")                                        \
    X(BLOB, err, 0, "the last bytes; empty = no such file")
#define MSG_OUTPUT_FIELDS(X)                                                                       \
    X(BLOB, out, 0, "the last bytes, as they are; empty = no such file")                           \
    X(BLOB, err, 0, "the last bytes, as they are; empty = no such file")
#define MSG_REPORT_ACK_FIELDS(X)                                                                   \
    X(U64, seq, 0, "the node's number of the report that is now durable")

enum report_kind {
    REPORT_STARTED, /* the batch script (step) runs */
    REPORT_USAGE,   /* so much used so far */
    /* The step ended; usage is final. clean = nothing of the job is left on this node. */
    REPORT_EXITED,
    /* All processes of the job are gone and its epilog ran: its resources on this node are free. */
    REPORT_RELEASED,
    REPORT_FAILED, /* could not be launched: detail says why */
    REPORT_LOST,   /* the shepherd vanished: the end is unknown; processes were killed */
};
extern const struct enum_names report_kind_names;
/* Repeated until REPORT_ACK(seq), in order of seq. USAGE and STARTED are not repeated (seq 0). */
// clang-format off
#define MSG_REPORT_FIELDS(X)                                                                               \
    X(U64, seq, 0, "number of the report on this node; 0 = needs no acknowledgement")                      \
    X(ENUM, kind, &report_kind_names, "what happened")                                                     \
    X(U64, job_id, 0, "job")                                                                               \
    X(U32, attempt, 0, "which start of it")                                                                \
    X(I64, step_id, &range_step, "step")                                                                   \
    X(TIME, at_us, 0, "when, by the node's clock")                                                         \
    X(I32, exit_status, &range_any32, "EXITED: wait status")                                               \
    X(BOOL, clean, 0, "EXITED of a batch script: nothing of the job is left here (RELEASED is implied)")                     \
    X(BOOL, oom, 0, "a process was killed for memory")                                                     \
    X(BOOL, retry, 0, "FAILED: trying again elsewhere may work")                                           \
    X(BOOL, prolog, 0, "FAILED: the site's prolog did; the node takes no more jobs")                       \
    X(BOOL, gone, 0, "FAILED: its shepherd ended before it began, as with a node that fails")              \
    X(TEXT, detail, 0, "sentence for people")                                                              \
    X(U64, devices_seq, 0, "age of devices_out; 0 = nothing is said of it")                                \
    X(TEXT, devices_out, 0, "as node.devices_out: what the job gave back may be there")                    \
    X(LIST, usage, &step_fields, "one step: usage so far or in all")                                       \
    X(TEXT, device_health, 0, "as node.device_health, of the same age; NULL = an older release")           \
    X(BOOL, unfit, 0, "FAILED: the node would fail any other job, too")                                    \
    X(BOOL, had, 0, "FAILED: the node has had this start before, and it is over")
// clang-format on

#endif
