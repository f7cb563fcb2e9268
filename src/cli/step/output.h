/* What becomes of the tasks' output in srun: to its own streams or files, labelled, in whole lines
 * where several tasks write. Bounded: while more than OUTPUT_HIGH_BYTES wait for a slow reader, the
 * caller reads no more from the tasks. */
#ifndef REMUDA_CLI_STEP_OUTPUT_H
#define REMUDA_CLI_STEP_OUTPUT_H

#include "base/str.h"
#include "model/message.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_HIGH_BYTES (1u << 20)

struct step_output; /* opaque */

struct output_way {
    int fd;            /* -1 = dropped */
    int32_t only_task; /* ≥ 0: of that task; the others' is dropped; -1 = all */
};

struct output_ways {
    struct output_way out, err; /* where each goes */
};

struct output_ask {
    int32_t ntasks;         /* of the step */
    bool label, unbuffered; /* -l: each line begins with its task's number */
    struct output_ways to;
};

/* Lines are kept whole where tasks share a stream, unless it is unbuffered. */
struct step_output *output_new(const struct output_ask *ask);
void output_free(struct step_output *o); /* writes what is left; descriptors stay the caller's */
/* Bytes of a task's stream; with `end` nothing follows. */
void output_put(struct step_output *o, enum stream_name stream, int32_t task, const void *data,
                size_t len, bool end);
/* Bytes that stdout and stderr have not taken. */
size_t output_unsent(const struct step_output *o);
/* Up to 2 entries to wait for; then output_serve. Returns how many. */
size_t output_wait_for(const struct step_output *o, struct pollfd *v);
/* Writes what they take without waiting. */
void output_serve(struct step_output *o);
/* errno of a write that failed: the reader of its standard output is gone (EPIPE), or a file cannot
 * take more; 0 = none. */
int output_broken(const struct step_output *o);

#endif
