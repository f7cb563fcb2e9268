/* The state as it was, at the start: what the store has of it, and whether that is the last. */
#ifndef REMUDA_CONTROLLER_LOADING_H
#define REMUDA_CONTROLLER_LOADING_H

#include "controller/controller.h"
#include "store/store.h"

/* Hands its rows to the core, of what is over those that are kept in memory, and tells it that
 * these are all. `seq`: of the store's last commit. False: it cannot be read, or is put together
 * from what does not belong together. */
bool controller_load(struct controller *c, struct store *s, uint64_t seq, struct err *ret_err);

#endif
