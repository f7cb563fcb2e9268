/* What of a job is changed by options that describe a whole one. */
#ifndef REMUDA_CLI_LSF_CHANGED_H
#define REMUDA_CLI_LSF_CHANGED_H

#include "base/arena.h"
#include "model/job/job.h"

/* Names of the fields in which the two differ, parted by commas, behind those of `also` (NULL =
 * none); "" = none. For msg_update_job.fields. */
const char *changed_fields(const struct job_spec *before, const struct job_spec *after,
                           const char *also, struct arena *a);

#endif
