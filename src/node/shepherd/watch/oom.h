/* What is said when a step used more memory than it has: who was ended, at what, and what to ask
 * for instead. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_OOM_H
#define REMUDA_NODE_SHEPHERD_WATCH_OOM_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* A process that was ended for memory. */
struct oom_victim {
    int64_t pid; /* 0 = not known */
    int64_t rss_bytes;
    char name[64];
};

/* Whose memory ran out. */
enum oom_limit {
    OOM_OF_STEP,
    OOM_OF_JOB,
    /* Nobody's limit but the machine's, or of a group that the node daemon itself is in. */
    OOM_OF_MACHINE,
};

/* Pure. Finds the last process that the kernel killed for memory in the group whose path ends with
 * `group`, in the text of the kernel's log, and whose limit was reached: the job's group is the one
 * above. False: the log does not tell. */
bool oom_log_find(const char *log, const char *group, struct oom_victim *ret,
                  enum oom_limit *ret_limit);
/* The same in the log of this machine, if it may be read. */
bool oom_log_look(const char *group, struct oom_victim *ret, enum oom_limit *ret_limit);

/* A size to ask for that would have sufficed as far as one can know, with head room: pure; in MiB,
 * a round number. `needed`: what was in use, of which `limit` was allowed. */
int64_t oom_suggest_mib(int64_t needed_bytes, int64_t limit_bytes, bool was_held);

/* "exceeded its memory limit: 60 MiB in use of 60 MiB; process 123 (python3, 58 MiB) was ended; ask
 * for more, for example --mem=100M". Pure. was_held: the kernel held the step to the limit, so that
 * nobody knows how much it wanted. */
void oom_sentence(int64_t used_bytes, int64_t limit_bytes, bool of_job, bool was_held,
                  const struct oom_victim *victim, struct str *out);
/* "was within its memory limit, but the machine ran out of memory: 45 MiB in use of 100 MiB;
 * process 123 (python3, 40 MiB) was ended". Pure. limit_bytes 0 = none. */
void oom_machine_sentence(int64_t used_bytes, int64_t limit_bytes, const struct oom_victim *victim,
                          struct str *out);

#endif
