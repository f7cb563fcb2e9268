/* Inside cli/lsf/: what is done to jobs, one after the other, with a line about each. */
#ifndef REMUDA_CLI_LSF_CONTROL_H
#define REMUDA_CLI_LSF_CONTROL_H

#include "base/idset.h"
#include "cli/lsf/jobs.h"
#include "model/message.h"

struct lsf_control {
    struct lsf_filter filter; /* first: lsf_id_take fills it */
    const char *name;         /* of the command, for its messages */
    struct client *client;    /* connected by lsf_control_line */
    struct arena *a;          /* until the command ends */
    bool every;               /* "0": all that the filters leave */
    int signal;               /* bkill -s: its number */
    const char *queue;        /* bswitch: where to */
};

/* To one job, "12" or "12[3]", of those that are meant; whether it was done. */
typedef bool (*lsf_deed)(const struct lsf_control *k, const char *id);

/* An operand: a job, or 0. For option_table.word of what begins with a struct lsf_control. */
bool lsf_control_id_take(void *to, const char *word, struct arena *a, struct err *ret_err);
/* Reads the line into `to`, which begins with `k`, and does the deed to each job that is meant;
 * what to end with. The caller calls lsf_filter_done. */
int lsf_control_line(struct lsf_control *k, const struct option_table *t, void *to, int argc,
                     char **argv, lsf_deed one);

/* Each says its words, and returns whether it did it. */
bool lsf_control_problem(const char *id, const char *words);
/* Sends a request about one job; what the controller refuses is said in LSF's words. */
bool lsf_control_ask(const struct lsf_control *k, const char *id, enum message_kind kind,
                     const void *body);
/* The job as it is now; NULL: it is none, which is said. */
const struct job *lsf_control_job(const struct lsf_control *k, const char *id);
/* "Job <12> is being stopped"; of "12[1-3]", which names elements, a line for each. */
void lsf_done_print(const char *id, const char *what);

/* top.c: before and behind one's others that wait in the same queue */
bool lsf_top_one(const struct lsf_control *k, const char *id);
/* as lsf_top_one, the other way */
bool lsf_bottom_one(const struct lsf_control *k, const char *id);

/* stop.c: what waits of an array is held and let go, what runs is stopped and continued. */
bool lsf_stop_one(const struct lsf_control *k, const char *id);
/* as lsf_stop_one, the other way */
bool lsf_resume_one(const struct lsf_control *k, const char *id);
/* The next of the elements, up to so many that a request takes them, from *from on (0 at first), as
 * "[1-3,9]"; NULL: there are none left. The arena's. */
const char *lsf_elements_next(const struct idset *elements, uint32_t *from, struct arena *a);

#endif
