/* What PBS calls enabled (a queue takes jobs) and started (it starts them), and who sets it. */
#ifndef REMUDA_CLI_PBS_QUEUE_STATE_H
#define REMUDA_CLI_PBS_QUEUE_STATE_H

#include "cli/pbs/server.h"

enum pbs_switch { PBS_AS_IT_IS, PBS_ON, PBS_OFF };

/* Sets either or both of queue `name`, which `s` has (else it is said that it is unknown). What
 * failed is said on stderr as `command`'s. Returns 0, or what PBS's commands end with. */
int pbs_queue_set(const char *command, struct client *c, const struct pbs_seen *s, const char *name,
                  enum pbs_switch enabled, enum pbs_switch started);
/* Of an answer to a change of the thing `name`: 0, or the refusal is said and its status returned.
 */
int pbs_change_said(const char *command, const char *name, const struct msg_done *done);

#endif
