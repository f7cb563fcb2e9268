/* What the series of a job say at first sight, in sentences with numbers: of what was not used.
 * Nothing is said of a job with fewer than REMARKS_SAMPLES samples, or that is well. */
#ifndef REMUDA_CLI_PLOT_REMARKS_H
#define REMUDA_CLI_PLOT_REMARKS_H

#include "cli/plot/curves.h"
#include "model/job.h"

#define REMARKS_SAMPLES 30

/* A line each, appended; steps of the curves are joined (curves_join_steps). */
void remarks_say(const struct curves *c, const struct job *j, struct str *out);

#endif
