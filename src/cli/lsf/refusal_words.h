/* What the controller refuses, in LSF's words. */
#ifndef REMUDA_CLI_LSF_REFUSAL_WORDS_H
#define REMUDA_CLI_LSF_REFUSAL_WORDS_H

#include "base/arena.h"
#include "model/job/job.h"
#include "model/message.h"

/* Why a job of this request was refused, as bsub says it before " Job not submitted."; Slurm's
 * words where LSF has none. */
const char *lsf_refusal_words(const struct job_request *q, const struct msg_done *m,
                              struct arena *a);
/* What went wrong of a request about jobs; NULL: nothing did. That some elements of an array were
 * over, or not as far, is nothing wrong where there were others that it was done to. */
const struct result *lsf_result_failed(const struct msg_done *m);

#endif
