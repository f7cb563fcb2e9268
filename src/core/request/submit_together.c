/* What the components of one submission ask for together, which each alone may. */
#include "core/request/request.h"

#include "base/alloc.h"

#include <stdlib.h>

enum refusal submit_together_check(const struct core *c, const struct job_spec *spec, size_t n,
                                   struct str *why)
{
    const char **licences = xcalloc(n, sizeof *licences);
    for (size_t i = 0; i < n; i++)
        licences[i] = spec[i].req.licenses;
    enum refusal refusal = n > 1 ? sched_check_together(c->cluster, licences, n, why) : REFUSE_NONE;
    free(licences);
    return refusal;
}
