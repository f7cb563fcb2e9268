/* bsub -C, -S, -D, -F: soft limits of the processes of a job. */
#ifndef REMUDA_CLI_LSF_ULIMITS_H
#define REMUDA_CLI_LSF_ULIMITS_H

#include "script/lsf/lsf.h"

/* No soft limit is above the hard one here, which the job has, too. */
bool lsf_ulimits_check(const struct lsf_request *r, struct err *ret_err);
/* What is asked for takes the place of what this process has, in spec->rlimits. */
void lsf_ulimits_replace(const struct lsf_request *r, struct job_spec *spec, struct arena *a);

#endif
