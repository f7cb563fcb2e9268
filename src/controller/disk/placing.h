/* The files of a restore, beside their places: NAME.restoring is to be NAME, and NAME.leaving says
 * that NAME is to be set aside. Until the store was chosen (controller/disk/switch.h) they mean
 * nothing and may be dropped; from then on they are the cluster's, and placing_finish puts them
 * there, again from wherever one that was killed ended. Names are below the state directory, and
 * good by placing_name_is_good. */
#ifndef REMUDA_CONTROLLER_DISK_PLACING_H
#define REMUDA_CONTROLLER_DISK_PLACING_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* X.conf, or one of the files in tls/: no other that a backup names is put anywhere. */
bool placing_name_is_good(const char *name);
/* Ends in .conf. */
bool placing_is_conf(const char *name);

/* NAME.restoring, in the arena: for who writes it himself. */
const char *placing_beside(const char *dir, const char *name, struct arena *a);
/* Writes NAME.restoring, durable when it returns true; tls/ is made if it is not there. */
bool placing_put(const char *dir, const char *name, const void *data, size_t len, mode_t mode,
                 struct arena *a, struct err *ret_err);
/* Writes NAME.leaving, likewise. */
bool placing_leave(const char *dir, const char *name, struct arena *a, struct err *ret_err);
/* What an earlier restore left that chose no store, or this one that failed, goes. */
void placing_drop(const char *dir, struct arena *a);
/* The store was chosen: each file gets its place, and what was there is kept as NAME.before.
 * Nothing is done twice. False with ret_err; the rest is done by the next call. */
bool placing_finish(const char *dir, struct arena *a, struct err *ret_err);

#endif
