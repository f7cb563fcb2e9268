/* Whose a job is. A number may be given to somebody else when its user is gone: what he left is not
 * the next one's. So a job is of who has its number and a name that it has. */
#ifndef REMUDA_MODEL_OWNER_H
#define REMUDA_MODEL_OWNER_H

#include "model/job/job.h"

#include <stdbool.h>

/* Are both names of one user, whose number is the same? Directories write one name in several ways:
 * in other cases, and with a domain ("ada@lab.org", "LAB\ada") or without. NULL = not known, which
 * speaks against nothing. */
bool owner_same(const char *then, const char *now);
/* Is that a name of the job's owner: as it was submitted, or as an operator said since? */
bool job_owner_named(const struct job *j, const char *now);
/* Is it his? `user` as name services have it; NULL = they have none. */
bool job_is_of(const struct job *j, uint32_t uid, const char *user);
/* Takes from a copy what only its owner and operators are to read: values of variables, which may
 * be secrets, whether they came with it (--export, qsub -v) or later (qalter -v). */
void job_hide_values(struct job *copy);
/* Are both jobs of one user? */
bool jobs_are_of_one(const struct job *a, const struct job *b);

#endif
