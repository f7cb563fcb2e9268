/* Questions about a process that the kernel answers only when the process lets it: what maps its
 * memory (maps, smaps_rollup) waits for whoever changes that memory, and what changes it may wait
 * for a file of a file system of the process's owner. */
#ifndef REMUDA_NODE_SHEPHERD_APART_H
#define REMUDA_NODE_SHEPHERD_APART_H

#include <stddef.h>
#include <stdint.h>

enum apart {
    APART_ANSWERED,
    APART_LATE,   /* it did not come in time: that process is killed */
    APART_NOBODY, /* there is no process or pipe to be had, or it ended: nothing is known */
};

/* Has fn(ctx) called in a process of its own, and waits for what it returns. Of a program with one
 * thread; a child that is not waited for here is reaped by the caller's waitpid(-1, …). */
enum apart ask_apart(int64_t (*fn)(const void *ctx), const void *ctx, int wait_ms, int64_t *ret);

/* The same for fn(ctx, i) of each i from *next to n - 1, all in one process: ret[i] is what it
 * returned, *next the first that did not answer. i is waited for each_ms[i] (NULL: none by itself),
 * all of them *left_ms, of which is taken what it took. */
enum apart ask_apart_each(int64_t (*fn)(const void *ctx, size_t i), const void *ctx, size_t n,
                          const int *each_ms, int *left_ms, size_t *next, int64_t *ret);

#endif
