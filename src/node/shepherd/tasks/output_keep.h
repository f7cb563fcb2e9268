/* The last of what the tasks of a step wrote, so that who attaches to it (sattach) sees how it came
 * here, as Slurm shows it. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_OUTPUT_KEEP_H
#define REMUDA_NODE_SHEPHERD_TASKS_OUTPUT_KEEP_H

#include "node/shepherd/tasks/stream.h"

#define OUTPUT_KEPT_BYTES (256u << 10)

struct output_kept; /* opaque */

struct output_kept *output_keep_new(void); /* nothing is kept */
/* Copies it; what is older goes when there is no room. */
void output_keep_add(struct output_kept *k, const struct msg_stream_data *m);
/* All of it, oldest first. */
void output_keep_send(const struct output_kept *k, struct stream *to);

#endif
