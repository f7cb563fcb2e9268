/* The end of what a job wrote on this node, for its owner (READ_OUTPUT): read by a process that is
 * his, so that nothing is opened which he may not, and no file system holds up the daemon. */
#ifndef REMUDA_NODE_DAEMON_OUTPUT_ASK_H
#define REMUDA_NODE_DAEMON_OUTPUT_ASK_H

#include "io/loop.h"
#include "io/net/link.h"
#include "model/message.h"

struct output_asker; /* opaque; those that are read */

/* program: remuda-shepherd, which outlives it. */
struct output_asker *output_asker_new(struct loop *l, const char *program);
void output_asker_free(struct output_asker *o); /* those that run are ended */
/* Answers with OUTPUT_READ on that link, 20 s later at most; what cannot be read is empty. */
void output_asked(struct output_asker *o, struct link *k, const struct msg_read_output *m);
/* The link is gone: whoever asked was told by the controller. */
void output_asker_link_down(struct output_asker *o);

#endif
