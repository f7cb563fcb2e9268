/* What of a job can be refused before the controller is asked. */
#ifndef REMUDA_CLI_SUBMIT_CHECK_H
#define REMUDA_CLI_SUBMIT_CHECK_H

#include "base/err.h"
#include "model/job/job.h"

#include <stdbool.h>

/* Are all texts of the job UTF-8 and within LIMIT_TEXT_BYTES? They travel as JSON, where other
 * bytes would be lost. The line that submitted it may be of any length. */
bool submit_spec_check(const struct job_spec *spec, struct err *ret_err);

#endif
