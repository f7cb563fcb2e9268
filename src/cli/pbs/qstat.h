/* Inside cli/pbs/: qstat. */
#ifndef REMUDA_CLI_PBS_QSTAT_H
#define REMUDA_CLI_PBS_QSTAT_H

#include "cli/pbs/pbs.h"

struct qstat_row {
    const struct job *job;
    const char *id, *state;
    bool array; /* the whole of one; job is its first element */
};

struct qstat {
    struct lsf_filter filter;
    VEC(const char *) operand; /* ids, as they were given */
    bool full, json, ended, history, elements, arrays, alternate, running, waiting, hosts, comments,
        queues, servers, unwrapped;
    bool users_given, one_element;
    struct dialect_site site;
    VEC(struct qstat_row) row;
    struct arena *a;
    struct str out;
};

/* qstat -f of one job, appended to q->out. */
void qstat_full_add(struct qstat *q, const struct qstat_row *r);
/* qstat -f -F json of all rows. */
void qstat_json_add(struct qstat *q);
/* qstat -B and -Q; return what to end with. */
int qstat_server_add(struct qstat *q, struct client *c);
int qstat_queues_add(struct qstat *q, struct client *c);
/* "n1/0*4+n2/0*4"; of Torque "n1/0-3+n2/0-3". NULL = none. */
const char *qstat_exec_host(const struct job *j, const struct dialect_site *site, struct arena *a);
int32_t qstat_cpus(const struct job *j);

#endif
