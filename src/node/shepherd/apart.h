/* Questions about a process that the kernel answers only when the process lets it: what maps its
 * memory (maps, smaps_rollup) waits for whoever changes that memory, and what changes it may wait
 * for a file of a file system of the process's owner. */
#ifndef REMUDA_NODE_SHEPHERD_APART_H
#define REMUDA_NODE_SHEPHERD_APART_H

#include <stdbool.h>
#include <stdint.h>

/* Has fn(ctx) called in a process of its own, and waits for what it returns. False: it did not come
 * in time, and that process is killed, or there is none to be had. Of a program with one thread; a
 * child that is not waited for here is reaped by the caller's waitpid(-1, …). */
bool ask_apart(int64_t (*fn)(const void *ctx), const void *ctx, int wait_ms, int64_t *ret);

#endif
