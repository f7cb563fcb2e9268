/* Which jobs of the history a query means, as sacct(1) defines it. */
#ifndef REMUDA_STORE_JOB_FILTER_H
#define REMUDA_STORE_JOB_FILTER_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/job/array.h"
#include "model/job/job.h"
#include "model/message.h"

#include <stdbool.h>
#include <stdint.h>

/* Each once, in the order given; none = all will do. */
struct filter_words {
    VEC(const char *) word; /* the map's */
    struct map_str *of;     /* NULL = none */
};

struct job_filter {
    VEC(struct job_ref) refs; /* ascending by job id; none = all jobs */
    bool exact;               /* they name records by their own numbers alone */
    VEC(uint32_t) uids;       /* ascending; none = all */
    bool by_state;
    uint32_t states; /* bits of enum job_state */
    struct filter_words partitions, names, accounts, qos, nodes;
    int64_t from_us, to_us; /* 0 and INT64_MAX when not given */
    bool window;            /* any of them was given */
};

/* ERR_INVALID says which filter makes no sense. job_filter_done is due in any case. */
bool job_filter_init(struct job_filter *f, const struct msg_query *q, struct err *ret_err);
void job_filter_done(struct job_filter *f); /* its lists */
/* former: the record is a former run of a requeued job, over whatever its state says. */
bool job_filter_matches(const struct job_filter *f, const struct job *j, bool former);

#endif
