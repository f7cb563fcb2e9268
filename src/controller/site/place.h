/* What others find the controller by: its pid file and its socket. They are put back where somebody
 * removed them, as what cleans up /tmp does. */
#ifndef CONTROLLER_SITE_PLACE_H
#define CONTROLLER_SITE_PLACE_H

#include "base/err.h"
#include "controller/controller.h"
#include "io/process/daemon.h"

#include <stdbool.h>

struct place_watch; /* opaque */

/* Looks every few seconds, from now on. `lock` is borrowed; listen(c) makes the socket anew. */
struct place_watch *place_watch_new(struct controller *c, struct pid_file *lock,
                                    bool (*listen)(struct controller *c, struct err *ret_err));
void place_watch_free(struct place_watch *p); /* NULL is fine */

#endif
