/* What the commands of LSF have in common: their messages, what differs from site to site, ids. */
#ifndef REMUDA_CLI_LSF_LSF_H
#define REMUDA_CLI_LSF_LSF_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "io/client/client.h"
#include "model/job/job.h"
#include "script/options/option.h"

#include <stdbool.h>

#define LSF_EXIT         255 /* what LSF's commands end with when they did not do it */
#define LSF_VERSION_TEXT "IBM Spectrum LSF Standard 10.1.0.13, as the commands of Remuda have it"

/* The connection to the controller; NULL: said as `name`'s. */
struct client *lsf_connect(const char *name, const char *state_dir);

/* "12", or "12[3]" of an array's element. */
const char *lsf_job_id(const struct job *j, struct arena *a);
/* The number that users of LSF know the job by: of an element its array's. */
uint64_t lsf_job_number(const struct job *j);
/* "12[1-3,9]" or "12" as our commands write it: "12_[1-3,9]"; NULL if it is none. */
const char *lsf_job_ref(const char *text, struct arena *a);

/* Reads the command line into `to`. True: the command is to be done. False: it is over with
 * *ret_status: help or version was printed, or what is wrong. */
bool lsf_line_read(const char *name, const struct option_table *t, void *to, struct arena *a,
                   int argc, char *const argv[], int *ret_status);
/* Prints the error of a command line as LSF's commands do, and returns LSF_EXIT. */
int lsf_line_failed(const char *name, const struct err *e);

#endif
