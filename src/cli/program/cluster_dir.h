/* The files of a cluster in its state directory, as `remuda up`, `down` and `status` see them. */
#ifndef REMUDA_CLI_PROGRAM_CLUSTER_DIR_H
#define REMUDA_CLI_PROGRAM_CLUSTER_DIR_H

#include "base/arena.h"
#include "base/err.h"
#include "io/client/client.h"
#include "model/settings/settings.h"

#include <stdbool.h>

/* Paths, in the arena; nobody looks whether a file is there. */
const char *cluster_conf_path(const char *state_dir, struct arena *a);
/* written by the daemon, locked while it lives */
const char *controller_pid_path(const char *state_dir, struct arena *a);
/* of a node of this host */
const char *node_pid_path(const char *state_dir, const char *node, struct arena *a);
/* what `up` points to */
const char *controller_log_path(const char *state_dir, struct arena *a);
/* the same of a node */
const char *node_log_path(const char *state_dir, const char *node, struct arena *a);

/* The controller's connection, with the patience of MessageTimeout (client_reach) unless the
 * cluster was taken down. */
struct client *cluster_reach(const char *state_dir, struct err *ret_err);
/* Asks, and wants that answer (MSG_DONE: that it was done), which lives in the arena. A refusal is
 * ERR_DENIED, in its words and those that come with it. */
bool cluster_ask(struct client *c, enum message_kind kind, const void *body, enum message_kind want,
                 struct arena *a, struct message *ret, struct err *ret_err);

/* Stops the cluster's daemons on this machine, as `remuda down` does, and says what it did unless
 * quiet. Returns an exit status; why it failed was said. cluster/down.c */
int cluster_down(const char *state_dir, bool quiet, struct arena *a);

/* Daemons of the cluster that run and are of another build than this program: how many, and the
 * build of one of them in *ret_build (arena). 0 if the controller cannot be asked. */
size_t cluster_other_builds(const char *state_dir, const char **ret_build, struct arena *a);

/* Reads DIR/remuda.conf with its includes. ERR_NOT_FOUND if there is none. The caller calls
 * config_done. */
bool cluster_conf_read(const char *state_dir, struct config *ret, struct err *ret_err);
/* The same of a file of any name, whose includes and neighbours (cgroup.conf, topology.conf,
 * joined.conf) lie in its directory. */
bool cluster_conf_read_file(const char *path, struct config *ret, struct err *ret_err);
/* The settings that hold in the cluster, the rest of *ret empty: DIR/remuda.conf on the
 * controller's host; on a host that joined, where there is none, as the controller has them, asked
 * over `c` (on which nothing else is awaited), or over a connection of its own if that is NULL. */
bool cluster_settings_read(const char *state_dir, struct client *c, struct config *ret,
                           struct err *ret_err);
/* The cluster's name, in the arena; "" if it cannot be learned. */
const char *cluster_name(const char *state_dir, struct arena *a);
/* Is the node one whose daemon runs on this host: a virtual one, or one with this host's name? */
bool node_is_here(const struct node *n, const char *hostname);

#endif
