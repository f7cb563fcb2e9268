/* Inside cli/lsf/: why jobs wait that were read from the history. */
#ifndef REMUDA_CLI_LSF_REASONS_H
#define REMUDA_CLI_LSF_REASONS_H

#include "cli/lsf/jobs.h"

/* Gives those of the list that wait the reason, its words and the planned start that they have now;
 * texts live in the arena. Asks the controller where there are any. */
bool lsf_reasons_read(struct client *c, struct lsf_job_list *l, struct arena *a,
                      struct err *ret_err);

#endif
