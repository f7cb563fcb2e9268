/* The state directory of a host that joined a cluster (`remuda join`), and the daemons it has. */
#ifndef REMUDA_CLI_PROGRAM_HOST_DIR_H
#define REMUDA_CLI_PROGRAM_HOST_DIR_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

/* What DIR/host.conf says; texts in the arena. */
struct host_dir {
    const char *controller, *cluster, *id; /* host:port; the cluster's name; this host's number */
    const char *node;                      /* NULL: a login host */
};

/* False: no host.conf. */
bool host_dir_read(const char *state_dir, struct arena *a, struct host_dir *ret);
/* of the process that carries streams between hosts */
const char *relay_pid_path(const char *state_dir, struct arena *a);
/* Starts the relay and the node daemon, or what of them does not run, and waits until the
 * controller answers through the relay. */
bool host_start(const char *state_dir, const struct host_dir *h, struct arena *a,
                struct err *ret_err);
/* Stops both; false if they do not end. *ret_count daemons ran. */
bool host_stop(const char *state_dir, const struct host_dir *h, struct arena *a, int *ret_count);

#endif
