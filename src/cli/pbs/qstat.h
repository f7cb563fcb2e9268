/* Inside cli/pbs/: qstat. */
#ifndef REMUDA_CLI_PBS_QSTAT_H
#define REMUDA_CLI_PBS_QSTAT_H

#include "cli/pbs/attributes.h"
#include "cli/pbs/pbs.h"
#include "cli/reports/efficiency.h"

struct qstat_row {
    const struct job *job;
    const char *id, *state; /* as shown; in the arena */
    bool array;             /* the whole of one; job is its first element */
    unsigned ended, all;    /* of its elements */
    bool of_live; /* an element of an array that is not over: shown when it has ended, too */
};

struct qstat {
    struct lsf_filter filter;
    VEC(const char *) operand; /* ids, as they were given */
    bool full, ended, history, elements, arrays, percent, alternate, running, waiting, hosts,
        same_line, comments, queues, queue_limits, servers, unwrapped, gigabytes;
    bool users_given, one_element;
    enum pbs_form form;
    const char *delimiter;
    struct dialect_site site;        /* the flavour's words, and the server's name */
    VEC(struct qstat_row) row;       /* in the order of the listing */
    const struct lsf_job_list *list; /* what the rows are of */
    struct past_jobs past;           /* what steps used, for -f */
    struct arena *a;
    struct str out; /* printed at the end */
};

/* The job's name; of Torque an element's has its index: "name-3". */
const char *qstat_name(const struct qstat *q, const struct qstat_row *r);
/* qstat -f: what there is to say of one job. */
void qstat_attributes(const struct qstat *q, const struct qstat_row *r, struct pbs_attributes *t);
/* qstat -B, -Q and -q; return what to end with. */
int qstat_server_add(struct qstat *q, struct client *c);
/* With q->filter.queue these alone; what there is of them is told although another is not known. */
int qstat_queues_add(struct qstat *q, struct client *c);
/* Says of which of q->filter.queue there is none, and takes these out (NULL: none is left): then
 * PBS_UNKNOWN_QUEUE, else 0; 1 where it cannot be known, which is said. */
int qstat_queues_known(struct qstat *q, struct client *c);
/* All that the job has on a host is one chunk; else each task is. */
bool qstat_chunk_is_node(const struct job_request *r);
/* Where it runs, of PBS Pro each chunk for itself: "n1/0*4+n1/1*4"; of Torque each host:
 * "n1/0-7". NULL = nowhere. list: for the parts of a job that has several (NULL: j alone). */
const char *qstat_exec_host(const struct lsf_job_list *list, const struct job *j,
                            const struct dialect_site *site, struct arena *a);
/* The same with what each chunk has: "(n1:ncpus=4:mem=8388608kb:ngpus=1)+(n1:…)"; NULL = none. */
const char *qstat_exec_vnode(const struct lsf_job_list *list, const struct job *j, struct arena *a);
/* Why it waits, or where it runs; NULL = nothing to say. */
const char *qstat_comment(const struct lsf_job_list *list, const struct job *j, struct arena *a);
/* that it has or, before it starts, asks for; 1 where it asks for no number */
int32_t qstat_nodes(const struct job *j, struct arena *a);
/* That it has on all its nodes or, before it starts, asks for on each; 0 = none, or not a
 * number. */
int64_t qstat_gpus(const struct job *j);

#endif
