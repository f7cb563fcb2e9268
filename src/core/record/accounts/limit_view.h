/* What listings say of a limit. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_LIMIT_VIEW_H
#define REMUDA_CORE_RECORD_LIMIT_VIEW_H

#include "core/record/accounts/limits.h"

/* How much of it is in use, for whom it is counted, in its own unit: jobs, CPUs, MiB, minutes;
 * −1 = it is not counted. */
int64_t limit_used(const struct core *c, const struct live_sums *sums,
                   const struct limit_subject *who, const struct limit_hit *h);
/* May the peer know how much of it is in use? With PrivateData=usage not of what others use. */
bool limit_use_seen(const struct core *c, const struct peer *peer, const struct limit_subject *who,
                    const struct limit_hit *h);
/* Does anything follow from it, where limits are insisted on? */
bool limit_does(const struct limit *l);

#endif
