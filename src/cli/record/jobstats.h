/* What an ended job used, as jobstats of Princeton writes it into the AdminComment and as its
 * readers (jobstats, reportseff, a helper of Open OnDemand) expect it there: "JS1:" and base64 of
 * gzipped JSON, or "JS1:Short" of one that was not measured. */
#ifndef REMUDA_CLI_RECORD_JOBSTATS_H
#define REMUDA_CLI_RECORD_JOBSTATS_H

#include "base/str.h"
#include "model/job/job.h"
#include "model/record/node.h"

#include <stddef.h>

/* What the summaries of a listing are made of. */
struct jobstats {
    const struct step *const *step; /* in the order of their jobs' ids */
    size_t nsteps;                  /* of `step` */
    const struct node *const *node; /* their names and devices; for how much memory GPUs have */
    size_t nnodes;                  /* of `node` */
};

/* Appended; nothing of a job that is not over, or never began. */
void jobstats_add(const struct jobstats *from, const struct job *j, struct str *out);
/* The same bytes as a gzip file that every reader of such takes, in blocks that are stored. */
void gzip_stored(const char *data, size_t len, struct str *out);
/* with padding, without line breaks */
void base64_add(const char *data, size_t len, struct str *out);

#endif
