/* remuda report JOB: what one job did, in a picture and in sentences. */
#ifndef REMUDA_CLI_REPORTS_REPORT_JOB_H
#define REMUDA_CLI_REPORTS_REPORT_JOB_H

#include "io/client.h"

/* Jobs, array elements and components that the reference names; attempt 0: each one's last run.
 * false with ret_err, also where there is none. */
bool report_jobs(struct client *c, const char *job, uint32_t attempt, bool json,
                 struct err *ret_err);

#endif
