/* Caps: how much a group of jobs may have together, whatever is free. A cap stands behind the
 * licences in cluster.lic, so that whatever plans with licences plans with it: what it leaves now,
 * what it will leave when work ends, and that a promise keeps its share of it. Only sched/ includes
 * this. */
#ifndef REMUDA_SCHED_BOOKS_LIMITS_CAPS_H
#define REMUDA_SCHED_BOOKS_LIMITS_CAPS_H

#include "base/arena.h"
#include "sched/books/limits/licences.h"
#include "sched/books/state.h"

static inline struct cap_place cap_place(const struct cluster *cl, uint32_t id)
{
    return id < cl->lic.of_cap.n ? cl->lic.of_cap.v[id] : (struct cap_place){0};
}
/* Place in cluster.lic of the cap of that number; -1 = there is none. */
ptrdiff_t cap_find(const struct cluster *cl, uint32_t id);
static inline bool is_cap(const struct licence *l)
{
    return l->cap_id != 0;
}
/* Those count a node once, however many jobs of theirs share it (world/cap_nodes.h). */
static inline bool cap_counts_nodes(const struct licence *l)
{
    return is_cap(l) && l->counts == CAP_NODES;
}
/* So much of it running work has. */
int64_t cap_in_use(const struct cluster *cl, uint32_t lic);
static inline const struct cap_amount *cap_amount_of(const struct cluster *cl,
                                                     const struct licence *l)
{
    return &cl->lic.amount.v[l->amount];
}
/* It can hold nobody in this pass (cap_binds.h). */
static inline bool cap_is_idle(const struct cluster *cl, size_t lic)
{
    return lic / 64 < cl->lic.idle.n && bit_get(cl->lic.idle.v, lic);
}
/* What so much on one node is of it: CPUs, MiB, and `gres` of each dimension (cl->dim.n). */
int64_t cap_of_node(const struct cluster *cl, const struct cap_amount *cap, int64_t cpus,
                    int64_t mem_mib, const int64_t *gres);
/* What so much costs in the partition, in whole units. NULL = one that is not known: 1 a CPU. */
struct cap_sums {
    int64_t nodes, cpus, mem_mib; /* of a start, over all its nodes */
    const int64_t *gres;          /* by dimension */
};
/* Billing units by the partition's weights: their sum, or the greatest (MAX_TRES); CPUs without
 * weights. Never below 0. */
int64_t cap_billing(const struct cluster *cl, const struct spart *part,
                    const struct cap_sums *sums);
/* Finds out when hours of caps begin and end from now on. */
void caps_look_ahead(struct cluster *cl, int64_t now_us);
/* Does it bind starts at that time? */
bool cap_binds(const struct cluster *cl, const struct licence *cap, int64_t at_us);
/* When that changes next after it; INT64_MAX = never. */
int64_t cap_turn(const struct cluster *cl, const struct licence *cap, int64_t at_us);
/* Is so much of it left now, as far as its books go? */
bool use_has_room(const struct cluster *cl, const struct lic_use *use, int64_t now_us);
/* It has less than before. */
void caps_recount(struct cluster *cl, struct run *r);
/* "GrpTRES=cpu=8 of QOS test: 6 of 8 are in use, it needs 4"; "MaxTRESPerJob=cpu=6 of QOS test: as
 * it would be placed it gets 8" */
void cap_say(const struct cluster *cl, const struct lic_use *use, int64_t takes, struct str *out);

#endif
