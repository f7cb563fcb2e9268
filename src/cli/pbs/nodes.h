/* Nodes as PBS tells of them: for pbsnodes and qmgr. */
#ifndef REMUDA_CLI_PBS_NODES_H
#define REMUDA_CLI_PBS_NODES_H

#include "cli/pbs/attributes.h"
#include "cli/pbs/pbs.h"
#include "model/record/node.h"

/* Where a job runs. */
struct pbs_run_on {
    const char *host;
    const struct job *job;
    size_t at; /* of the job in the list */
    int32_t cpus;
};

/* What was asked of the controller; all of it lives in `a`, which the caller sets (and `site`, for
 * the flavour) and owns. */
struct pbs_nodes {
    struct arena *a;
    struct dialect_site site;
    VEC(const struct node *) node; /* all */
    VEC(const struct job *) job;   /* that have begun */
    VEC(struct pbs_run_on) place;  /* theirs, by host */
};
/* Two queries; false: *ret_err says why, and what came of the first stays in `p`. */
bool pbs_nodes_read(struct client *c, struct pbs_nodes *p, struct err *ret_err);
void pbs_nodes_clear(struct pbs_nodes *p); /* empties the lists, to read anew */
void pbs_nodes_done(struct pbs_nodes *p);  /* the lists; records are the arena's */
/* NULL: there is none of that name. */
const struct node *pbs_node_named(const struct pbs_nodes *p, const char *name);

/* "free", "job-busy" (of Torque "job-exclusive"), "down", "free,offline"… */
const char *pbs_node_state(const struct pbs_nodes *p, const struct node *n);
int64_t pbs_node_gpus(const struct node *n, struct arena *a);      /* that it has, of all types */
int64_t pbs_node_gpus_held(const struct node *n, struct arena *a); /* that jobs have of them */

/* What runs, or is suspended, on a node. */
struct pbs_on_node {
    unsigned jobs, running, suspended;
    const char *list; /* "12.s/0, 12.s/1"; of Torque "0-3/12.s"; NULL = none */
};
/* With `each_cpu` PBS Pro's list names a job once for each of its CPUs. */
struct pbs_on_node pbs_node_jobs(const struct pbs_nodes *p, const struct node *n, bool each_cpu);

/* All that pbsnodes -a says of it, in the words of the site's flavour. */
void pbs_node_attributes(const struct pbs_nodes *p, const struct node *n, struct pbs_attributes *t);

#endif
