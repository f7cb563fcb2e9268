/* remuda report --idle. */
#ifndef REMUDA_CLI_REPORTS_IDLE_H
#define REMUDA_CLI_REPORTS_IDLE_H

#include "cli/table/json_form.h"
#include "io/client/client.h"

/* Prints the running jobs of whom and of which accounts `who` names whose GPUs are idle. */
bool idle_report(struct client *c, const struct msg_query *who, enum json_form form,
                 struct arena *a, struct err *ret_err);

#endif
