/* How much of what a job had it used. */
#ifndef REMUDA_CLI_REPORTS_EFFICIENCY_H
#define REMUDA_CLI_REPORTS_EFFICIENCY_H

#include "base/vec.h"
#include "cli/record/efficiency.h"
#include "io/client/client.h"
#include "model/job/job.h"
#include "model/message.h"

#include <stdbool.h>

/* Jobs and their steps, by id. */
struct past_jobs {
    VEC(const struct job *) job;   /* former runs, too */
    VEC(const struct step *) step; /* sorted by job and step */
    /* past_runs_read: beside each job, what is known of it now; and is there any, with runs or
     * without? */
    VEC(const struct job *) now;
    bool known;
};
/* What the query (HISTORY's filters) finds; false with ret_err. Records live in `a`. */
bool past_read(struct client *c, const struct msg_query *q, struct arena *a, struct past_jobs *ret,
               struct err *ret_err);
/* The same of the jobs that the reference names, as they were in their run of that number; 0: in
 * their last one, those that wait for the next one, too. One that had no such run is left out. */
bool past_runs_read(struct client *c, const char *job, uint32_t attempt, struct arena *a,
                    struct past_jobs *ret, struct err *ret_err);
void past_done(struct past_jobs *p); /* the lists; records are the arena's */

/* Of the run that the record tells of. */
void efficiency_of(const struct past_jobs *p, const struct job *j, int64_t now_us,
                   struct efficiency *ret);

#endif
