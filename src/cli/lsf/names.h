/* What only a cluster can tell of a submission: which jobs are meant by names, which hosts there
 * are. */
#ifndef REMUDA_CLI_LSF_NAMES_H
#define REMUDA_CLI_LSF_NAMES_H

#include "io/client/client.h"
#include "model/record/node.h"
#include "script/lsf/lsf.h"
#include "script/lsf/select.h"

#include <stdbool.h>
#include <stdint.h>

/* -w becomes a dependency; -m, and what of select[] hosts answer, leave out all others; same[model]
 * is a constraint over the models that there are.
 * ERR_NOT_FOUND in LSF's words for a job that there is not. */
bool lsf_names_resolve(const struct lsf_request *r, struct client *c, struct dialect_out *d,
                       struct err *ret_err);
/* What select[] may ask of a host. */
struct lsf_host_facts lsf_facts_of(const struct node *n);
/* The queue that the job is in; "" if it cannot be learned. */
const char *lsf_queue_of_job(struct client *c, uint64_t job_id, struct arena *a);

#endif
