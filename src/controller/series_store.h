/* The series of jobs, as nodes send them: kept in files of their own beside the store, thinned with
 * age (JobSeriesKeep=), read for who sees the job. Nothing of it goes through the core. */
#ifndef REMUDA_CONTROLLER_SERIES_STORE_H
#define REMUDA_CONTROLLER_SERIES_STORE_H

#include "controller/controller.h"

struct series_store; /* opaque */

struct series_store *series_store_new(struct controller *c); /* Below c->state_dir, in series/. */
/* Waits for what is being written. */
void series_store_free(struct series_store *s); /* NULL is fine */
/* Looks from now on, each hour, what is to be thinned. */
void series_store_begin(struct series_store *s);

/* A frame of node `node`, which session says it is: SERIES_KEPT is sent when its blocks are on the
 * disk. Nothing is sent where that fails: the node sends them again. Blocks that name another node,
 * or a time that cannot be, are dropped. */
void series_store_add(struct series_store *s, uint64_t session, const char *node,
                      const struct msg_series *m);
/* Why nothing was kept the last time; NULL = it was. */
const char *series_store_trouble(const struct series_store *s);

/* Answers get_series on that connection, which is held until then. */
void series_store_ask(struct series_store *s, uint64_t session, uint64_t seq,
                      const struct msg_get_series *m, const struct peer *peer);

#endif
