/* What the samples of a step say (model/record/series.h), told to the node daemon in a line each:
 *
 *   series JOB ATTEMPT STEP AT_MS GAP_MS GPUS POWER END NUMBER[.INDEX]:VALUE …
 *
 * GPUS: bit n for number n, as in the plan; POWER: 1 = theirs is to be sampled, too; END: 1 = the
 * step's last. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_SERIES_H
#define REMUDA_NODE_SHEPHERD_WATCH_SERIES_H

#include "node/shepherd/step.h"

/* After each sample; `n` processes were seen. Lines that no daemon takes wait here, the last some
 * minutes' worth. */
void shepherd_series_sample(struct shepherd *s, size_t n);
/* Before the end of the step is told. Once. */
void shepherd_series_end(struct shepherd *s);

#endif
