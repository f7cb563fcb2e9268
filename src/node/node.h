/* The node daemon: `remudad node --state DIR --name NAME`. It keeps a connection to
 * DIR/controller.sock, has shepherds start steps, and reports what becomes of them. Its files are
 * in DIR/nodes/NAME; its log is DIR/log/node-NAME.log. Stopping it (SIGTERM) or killing it stops no
 * step. */
#ifndef REMUDA_NODE_NODE_H
#define REMUDA_NODE_NODE_H

#include "node/step/descriptors.h"

/* Options: --state DIR, --name NAME, --virtual (one of several nodes on this machine: takes what
 * the configuration says, does not pin jobs to CPUs), --foreground, --verbose; or --print-config:
 * prints this machine as a NodeName= line and ends. Returns the exit status. */
int node_main(int argc, char **argv);

/* The relay of a host that joined the cluster (relay.c): `remudad relay --state DIR`. */
int relay_main(int argc, char **argv);
/* `remudad join --state DIR [--name NODE] HOST[:PORT] TOKEN` and `remudad leave --state DIR`: the
 * network's part of the commands of these names. */
int join_main(int argc, char **argv);
int leave_main(int argc, char **argv); /* as join_main: the exit status */
/* `remudad end-steps STATE_DIR NODE`: ends the steps of that node, whose daemon is not there any
 * more: SIGTERM, SIGKILL half a minute later; waits until their shepherds have gone. The exit
 * status: 1 = some did not, which it has said. */
int end_steps_main(int argc, char **argv);

/* `remudad seal LISTEN_FD @NAME`: TLS between a command's socket and shepherds of other hosts
 * (seal.c); commands start it. */
int seal_main(int argc, char **argv);

#endif
