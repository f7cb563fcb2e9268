/* The environment that a process of anybody's began with, as /proc has it. */
#ifndef REMUDA_NODE_STEP_PROC_ENVIRON_H
#define REMUDA_NODE_STEP_PROC_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* More than the kernel lets a program begin with. */
#define PROC_ENVIRON_BYTES (8u << 20)

/* Calls fn for each "NAME=value" of it, until fn says false. Nothing where it cannot be read. What
 * it says is its owner's word, and a process may say that any part of its memory is its environment
 * (prctl PR_SET_MM_MAP), terabytes of it: what is further behind than `max` bytes is not read. Nor
 * does it have to come back: the kernel waits for a process whose memory is being changed, and what
 * changes it may be a file of a file system of his. */
void proc_environ_each(pid_t pid, size_t max, bool (*fn)(void *ctx, const char *assignment),
                       void *ctx);

#endif
