/* A store that was made beside the cluster's takes its place, and with one that was restored its
 * files do (controller/disk/placing.h): all of it or nothing, whatever ends the process on the way.
 * A restore makes its store as DIR/remuda.db.restoring. */
#ifndef REMUDA_CONTROLLER_DISK_SWITCH_H
#define REMUDA_CONTROLLER_DISK_SWITCH_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

enum store_switch { SWITCH_RESTORED, SWITCH_REPAIRED };

/* `fresh`, a whole store in `dir` without a log, takes the place of DIR/remuda.db; that one, if
 * there is one, stays beside it with its log: *ret_aside (the arena's) is where. With the
 * controller's lock held. False with ret_err; what is not done yet then is done by
 * store_switch_finish. */
bool store_switch(const char *dir, const char *fresh, enum store_switch how, struct arena *a,
                  const char **ret_aside, struct err *ret_err);

/* Whatever of that was cut off in `dir` is done now; nothing if nothing was. With the controller's
 * lock held, before the store is looked at. *ret_done, if not NULL: something was. */
bool store_switch_finish(const char *dir, struct arena *a, bool *ret_done, struct err *ret_err);

/* Has one begun and not ended, by who works at it or was cut off? */
bool store_switch_is_open(const char *dir, struct arena *a);

/* What a restore made that has not begun its switch goes. With the controller's lock held. */
void store_switch_drop(const char *dir, struct arena *a);

#endif
