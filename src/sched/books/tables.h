/* What the cluster's tables hold under a name, and what can be told of a record alone. */
#ifndef REMUDA_SCHED_BOOKS_TABLES_H
#define REMUDA_SCHED_BOOKS_TABLES_H

#include "sched/books/state.h"

struct sresv;

/* The cluster's own; NULL = there is none of that name. They stay where they are until they are
 * taken out or replaced. */
struct snode *cluster_node(const struct cluster *cl, const char *name);
/* NULL = none of that name; one that is gone is not found. */
struct spart *cluster_part(const struct cluster *cl, const char *name);
/* NULL = none of that name. */
struct sresv *cluster_resv(const struct cluster *cl, const char *name);
/* Its place in cluster.lic; -1 = there is none of that name. */
ptrdiff_t cluster_licence(const struct cluster *cl, const char *name);

/* The number of the dimension that counts a gres of the kind and type (NULL or "" = untyped). One
 * that is new is added, and the cluster is unsettled then. */
uint32_t cluster_dim(struct cluster *cl, const char *kind, const char *type);
/* Of a user in an account (NULL or "" = none given). One that is new is that of a user who used
 * nothing. The cluster's own, and stays. */
struct share *cluster_share(struct cluster *cl, uint32_t uid, const char *account);
/* Of an association, by its number. */
struct share *cluster_assoc_share(struct cluster *cl, uint32_t assoc);

/* All that placement looks at of a node, as text: nodes with equal texts are of one group if they
 * are in the same partitions, too. The caller frees. */
char *node_key(const struct cluster *cl, const struct node *n);
/* How the request would use the nodes of that partition. */
struct use_mode request_mode(const struct job_request *req, const struct partition *p);

#endif
