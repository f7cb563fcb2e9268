/* What a shepherd says about its step, as one line of text: on the socket to the node daemon, and
 * in the step's state file, so that the next daemon reads the same words when the first one is
 * gone. */
#ifndef REMUDA_AGENT_NOTE_H
#define REMUDA_AGENT_NOTE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOTE_DETAIL_BYTES 512u
#define NOTE_BYTES        2048u /* a line is never longer, so that it goes out whole */

enum note_kind {
    NOTE_STARTED, /* the step runs; pid is the shepherd's */
    NOTE_USAGE,   /* used so far */
    /* The step ended with `status`; usage is final if clean. clean: no process is left. */
    NOTE_EXITED,
    NOTE_CLEARED, /* after an EXITED that was not clean: now none is left */
    NOTE_FAILED,  /* could not be started; detail says why; retry: elsewhere it may work */
    NOTE_GONE,    /* the shepherd is gone (said by the daemon or the shepherds' parent) */
    NOTE_STUCK,   /* processes outlive SIGKILL: `status` is one's id, detail says what they are */
    NOTE_KIND_COUNT
};

/* X(member, doc): all numbers of a note; what a kind does not use is 0. */
// clang-format off
#define NOTE_NUMBERS(X)                                                                                      \
    X(job_id, "job")                                                                                         \
    X(attempt, "which start of it")                                                                          \
    X(step_id, "step")                                                                                       \
    X(pid, "process id of the shepherd")                                                                     \
    X(at_us, "when, wall clock")                                                                             \
    X(status, "wait status of the step")                                                                     \
    X(oom, "a process was killed for memory")                                                                \
    X(clean, "no process is left")                                                                           \
    X(retry, "starting it elsewhere may work")                                                               \
    X(start_us, "when the step started, wall clock")                                                         \
    X(suspended_us, "time spent suspended")                                                                  \
    X(cpu_user_us, "user CPU time")                                                                          \
    X(cpu_system_us, "system CPU time")                                                                      \
    X(max_rss_bytes, "largest resident set seen")                                                            \
    X(max_vm_bytes, "largest virtual size seen")                                                             \
    X(max_pages, "major page faults, most of a task")                                                                        \
    X(read_bytes, "bytes read")                                                                              \
    X(write_bytes, "bytes written")
// clang-format on

/* For whom a step's control groups are as if new, given the same limits. */
enum group_back {
    GROUP_KEPT,       /* nobody */
    GROUP_TO_OWN_JOB, /* other steps of the job (of older shepherds: anybody) */
    GROUP_TO_ANY,
};

/* Numbers that came later: shepherds of older releases do not write them. New ones go to the
 * end. */
// clang-format off
#define NOTE_MORE_NUMBERS(X)                                                                                 \
    X(gpus, "GPUs it has here: bit n for number n, up to 62")                                                \
    X(group, "number of its job's control groups (node/cgroup/pool.h); 0 = they are named after the job")          \
    X(group_part, "its own in them")                                                                         \
    X(group_back, "of EXITED: an enum group_back")                                                           \
    X(tasks, "tasks here; 0 = the figures below are not known, and those above are of one")                  \
    X(rss_task, "number of the task with most")                                                              \
    X(ave_rss_bytes, "mean over the tasks")                                                                  \
    X(vm_task, "task with most")                                                                             \
    X(ave_vm_bytes, "mean")                                                                                  \
    X(pages_task, "task with most")                                                                          \
    X(ave_pages, "mean")                                                                                     \
    X(read_max_bytes, "bytes read, most of a task")                                                          \
    X(read_task, "task with most")                                                                           \
    X(write_max_bytes, "bytes written, most of a task")                                                      \
    X(write_task, "task with most")                                                                          \
    X(min_cpu_us, "CPU time, least of a task")                                                               \
    X(cpu_task, "task with least")                                                                           \
    X(ave_cpu_us, "mean")                                                                                    \
    X(prolog, "FAILED: the site's prolog did")                                                               \
    X(energy_mj, "its part of the energy of the node's CPUs, millijoules; 0 = not told")                     \
    X(cpu_khz, "mean clock of its CPUs while they worked for it; 0 = not told")                              \
    X(unfit, "FAILED: the node would fail any other job, too")                                               \
    X(uid_plus1, "whose step it is; 0 = not known")                                                          \
    X(hidden, "GPUs whose files the kernel keeps it from: bit n for number n, up to 62")
// clang-format on

struct note {
    enum note_kind kind;
#define X(member, doc) int64_t member;
    NOTE_NUMBERS(X)
    NOTE_MORE_NUMBERS(X)
#undef X
    char detail[NOTE_DETAIL_BYTES]; /* one line; cut to fit */
};

/* Appends the line with its newline. */
void note_format(const struct note *n, struct str *out);
/* Reads a line (without its newline). False if it is no note. */
bool note_parse(struct span line, struct note *ret);

#endif
