/* What is shown. Only core/ includes this. */
#ifndef REMUDA_CORE_QUERY_QUERY_H
#define REMUDA_CORE_QUERY_QUERY_H

#include "core/record/accounts/private.h"
#include "core/record/asked.h"
#include "core/request/request.h"

typedef VEC(struct job_ref) job_ref_vec;

/* ---- pending.c: waiting jobs as they are shown ---- */
/* The largest nodes of partitions, by name, as they were when the reading asked first: a part of it
 * is short, and would otherwise go through all nodes each time. */
struct part_nodes {
    struct map_str *of; /* → struct part_node, owned; NULL = none was looked up */
};
/* j: the copy shown. */
void pending_complete(const struct core *c, struct part_nodes *known, struct job *j);
void part_nodes_done(struct part_nodes *known); /* a zeroed one is empty */

/* ---- filter.c: which jobs are meant ---- */
struct filter; /* opaque */
/* Kept in `at` until core_query_end. */
enum refusal filter_open(const struct core *c, const struct msg_query *q, struct query_at *at,
                         struct str *detail);
/* The jobs it names, in the order given; empty = it names none, and means all. The filter's. */
const job_ref_vec *filter_refs(const struct filter *f);
/* What the parts of a reading know of partitions; the filter's. */
struct part_nodes *filter_part_nodes(struct filter *f);
/* Partitions that are asked for; the filter's. */
const struct asked_words *filter_partitions(const struct filter *f);
/* Where a reading of named jobs stands between its parts; zeroed at first, the filter's. */
struct refs_at {
    size_t ref; /* the next reference */
    bool begun; /* some of its jobs were told: those of `told` */
    struct map_u64 *shown, *told;
    size_t found, work;
};
/* The filter's own; its maps are NULL until the reading begins. */
struct refs_at *filter_refs_at(struct filter *f);
/* *looks: what it took is added, where it was more than usual. */
bool filter_fits(const struct filter *f, const struct jobrec *r, size_t *looks);

/* ---- nodes.c ---- */
enum refusal query_nodes(const struct core *c, const struct msg_query *q, const struct peer *peer,
                         int64_t now_us, const struct view *v, struct str *detail,
                         struct query_at *at, size_t most);
/* A name that is none is refused where no other of the list is one. */
enum refusal query_partitions(const struct core *c, const struct msg_query *q, const struct view *v,
                              struct str *detail, struct query_at *at, size_t most);
/* Fills the computed fields of `copy`, but its partitions; their texts live in `gres`. */
void node_complete(const struct core *c, const struct noderec *n, int64_t now_us, struct node *copy,
                   struct str *gres);

/* ---- node_sight.c ---- */
struct node_sight {
    const struct core *c;
    struct resv_sight resv;
    bool jobs; /* others' are seen */
};
/* Of who asks (NULL: not known), for all nodes of an answer; ended by node_sight_close. */
struct node_sight node_sight_open(const struct core *c, const struct peer *peer);
void node_sight_close(struct node_sight *s); /* frees what it looked up */
/* Takes from a copy what PrivateData=jobs and =reservations hide; its texts may be in the arena. */
void node_hide(const struct node_sight *s, struct node *n, struct arena *a);

/* ---- status.c ---- */
void query_status(const struct core *c, const struct peer *peer, const struct view *v);

/* ---- limit_use.c ---- */
enum refusal query_limit_use(const struct core *c, const struct peer *peer, const struct view *v,
                             struct query_at *at, size_t most);
/* How much of every limit is in use, by whom; jobs are walked first, then sums of the past. */
enum refusal query_in_use(const struct core *c, const struct peer *peer, int64_t now_us,
                          const struct view *v, struct query_at *at, size_t most);

/* ---- accounts.c ---- */
enum refusal query_accounts(const struct core *c, const struct msg_query *q,
                            const struct peer *peer, const struct view *v, struct query_at *at,
                            size_t most);

/* ---- sched.c ---- */
/* Of a waiting job, in each of its partitions that are asked for. */
void priority_show(const struct core *c, const struct jobrec *r,
                   const struct asked_words *partition, int64_t now_us, const struct view *v);
/* Of one that a limit keeps from the planner (job_is_kept), the highest of its partitions; 0: none
 * of them takes it. */
uint64_t priority_kept(const struct core *c, const struct jobrec *r, int64_t now_us);
/* Who has how much now, by user and account, sorted: gathered and sorted over several parts. */
enum refusal query_shares(const struct core *c, const struct msg_query *q, const struct peer *peer,
                          const struct view *v, struct query_at *at, size_t most);
/* sshare: the tree, as the peer may see it; empty where no accounts are kept. */
enum refusal query_fair_shares(const struct core *c, const struct peer *peer, int64_t now_us,
                               const struct view *v, struct query_at *at, size_t most);
/* The counters of sdiag, one row. */
enum refusal query_diag(const struct core *c, int64_t now_us, const struct view *v);

#endif
