/* What the commands of PBS have in common: ids, the server's name, what they end with. */
#ifndef REMUDA_CLI_PBS_PBS_H
#define REMUDA_CLI_PBS_PBS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/lsf/jobs.h"
#include "io/client/client.h"
#include "model/job/job.h"
#include "script/dialect.h"

#include <stdbool.h>

/* PBS numbers its errors; commands end with the number modulo 256. */
enum pbs_exit {
    PBS_USAGE = 2,
    PBS_NO_CONTROLLER = 255,
    PBS_UNKNOWN_JOB = 153,
    PBS_FINISHED = 35,
    PBS_BAD_VALUE = 166,
    PBS_UNKNOWN_QUEUE = 170,
    PBS_QUEUE_CLOSED = 173,
    PBS_UNKNOWN_RESOURCE = 187,
    PBS_BAD_STATE = 168,
    PBS_DENIED = 159,
    PBS_REFUSED = 188,
};

/* NULL after "Connection refused" and the reason were printed; the caller ends with
 * PBS_NO_CONTROLLER. */
struct client *pbs_connect(const char *name, const char *state_dir);
/* The settings, with the server's name in them. */
struct dialect_site pbs_site(const char *state_dir, struct arena *a);
const char *pbs_server(const struct dialect_site *site); /* the name behind the dot of ids */
/* "12.server", "12[3].server"; with `array` of the whole: "12[].server". */
const char *pbs_job_id(const struct job *j, bool array, const struct dialect_site *site,
                       struct arena *a);
/* An operand, "12", "12.server", "12.server@host", "12[3]", "12[]", as LSF's commands write it:
 * "12", "12[3]"; NULL: it is none. */
const char *pbs_operand(const char *text, struct arena *a);
/* "Q", "H", "W", "R", "E", "S", "F". */
const char *pbs_job_state(const struct job *j);
/* Exit_status: of a script that a signal ended 256 and the signal; below 0 where a limit did. */
int pbs_exit_status(const struct job *j, const struct dialect_site *site);

/* Reads the command line into `to`, as lsf_line_read does; what is wrong ends with 2. */
bool pbs_line_read(const char *name, const struct option_table *t, void *to, struct arena *a,
                   int argc, char *const argv[], int *ret_status);

#endif
