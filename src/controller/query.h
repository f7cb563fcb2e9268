/* Reads: live state from the core, settings, and history from the store on threads of its own. */
#ifndef REMUDA_CONTROLLER_QUERY_H
#define REMUDA_CONTROLLER_QUERY_H

#include "controller/controller.h"

/* Answers the query of session `id`, at once, in parts (long_read.h), or when the past was read. */
void query_run(struct controller *c, uint64_t id, uint64_t seq, const struct msg_query *q,
               const struct peer *peer);

/* The records that each kind of query is answered with. */
const struct fields *query_record_fields(enum query_what what);

struct diag;
/* Adds what the shell counts to what the core knows: connections, turns, rounds of the loop, times
 * of passes (µs); no texts. */
void diag_complete(struct controller *c, struct diag *d);

/* Jobs or (QUERY_STEPS) their steps out of the store, on a thread (reads.h); the answer goes to the
 * session when it is complete. */
void history_run(struct controller *c, uint64_t id, uint64_t seq, const struct msg_query *q,
                 const struct peer *peer);

#endif
