/* The caps that one class of waiting work counts against, packed: a pass goes through those of all
 * classes to find the few that can hold anybody (world/cap_binds.c), and only these become entries
 * like those of licences. */
#ifndef REMUDA_SCHED_BOOKS_LIMITS_CAP_SET_H
#define REMUDA_SCHED_BOOKS_LIMITS_CAP_SET_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct job_request;
struct lic_use;

/* What is asked of a cap by its number, beside one another: the table of all is large. */
struct cap_place {
    uint32_t plus1;  /* its place in cluster.lic, plus 1; 0 = there is none */
    uint32_t amount; /* licence.amount */
};

#define CAP_APART ((uint32_t)1 << 31) /* of cap_ref.need: more is said of it (cap_set.apart) */

struct cap_ref {
    uint32_t lic;  /* place in cluster.lic */
    uint32_t need; /* place in cap_set.need, and CAP_APART */
};

/* What one job takes of all caps of one amount. */
struct cap_need {
    uint32_t amount; /* place in cluster.lic.amount */
    uint32_t like;   /* first of the set of which one job takes as much: itself, or one before */
    int64_t count;   /* at least, wherever it is placed */
    int64_t most;    /* no more than so much, wherever (cap_binds.c) */
};

/* Of a cap that the class need not keep to as others do. */
struct cap_apart {
    int64_t slack; /* as in lic_use, as of the next */
    uint32_t places;
    bool above;
};

struct cap_set {
    VEC(struct cap_ref) ref; /* as the text has them */
    VEC(struct cap_need) need;
    VEC(struct cap_apart) apart; /* of each `ref` with CAP_APART, in their order */
};

static inline struct cap_need *cap_need_of(const struct cap_set *s, const struct cap_ref *r)
{
    return &s->need.v[r->need & ~CAP_APART];
}
/* Fills `s` with the caps of the text (cluster.h, struct waiting.caps) that there are, for a job of
 * that request (NULL = no counts are wanted: they are 0). To be freed by cap_set_done. */
void cap_set_read(const struct cluster *cl, const char *caps, const struct job_request *req,
                  struct cap_set *s);
/* Frees what it holds. */
void cap_set_done(struct cap_set *s);
/* What an entry of the set is beside licences; `apart` NULL = nothing more is said of it. */
struct lic_use cap_set_use(const struct cap_set *s, const struct cap_ref *r,
                           const struct cap_apart *apart);
/* All of them: `to` has room for s->ref.n. */
void cap_set_all(const struct cap_set *s, struct lic_use *to);

#endif
