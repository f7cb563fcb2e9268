/* The arms of a request's constraint as groups of nodes. What a group's features satisfy is looked
 * at once for each arm: a constraint may name hundreds of features, and an arm is tried with many
 * layouts, types of GPUs and partitions. */
#include "base/alloc.h"
#include "sched/request/demand_work.h"

#include <string.h>

static uint64_t *groups_bits(const struct demand_work *w)
{
    return arena_alloc(w->a, BIT_WORDS(w->cl->group.n + 1) * sizeof(uint64_t));
}

static uint64_t *groups_with(const struct demand_work *w, const struct feature_expr *e)
{
    uint64_t *bits = groups_bits(w);
    for (size_t g = 0; g < w->cl->group.n; g++)
        if (feature_holds(e, w->cl->group.v[g]->features))
            bit_set(bits, g);
    return bits;
}

static void arm_find(const struct demand_work *w, const struct feature_arm *arm,
                     struct demand_arm *ret)
{
    *ret = (struct demand_arm){.groups = groups_bits(w), .ncount = arm->ncount};
    for (size_t g = 0; g < w->cl->group.n; g++)
        if (feature_arm_holds(arm, w->cl->group.v[g]->features))
            bit_set(ret->groups, g);
    for (size_t i = 0; i < arm->ncount; i++)
        ret->count[i] =
            (struct count_need){groups_with(w, arm->count[i].expr), arm->count[i].nodes};
}

static bool arms_equal(const struct demand_work *w, const struct demand_arm *a,
                       const struct demand_arm *b)
{
    size_t bytes = BIT_WORDS(w->cl->group.n + 1) * sizeof a->groups[0];
    bool equal = a->ncount == b->ncount && memcmp(a->groups, b->groups, bytes) == 0;
    for (size_t i = 0; equal && i < a->ncount; i++)
        equal = a->count[i].nodes == b->count[i].nodes &&
                memcmp(a->count[i].groups, b->count[i].groups, bytes) == 0;
    return equal;
}

/* Behind one that is the same it would be tried in vain. */
static void arm_keep(const struct demand_work *w, struct demand_arms *arms)
{
    bool again = false;
    for (size_t i = 0; i < arms->n && !again; i++)
        again = arms_equal(w, &arms->v[i], &arms->v[arms->n]);
    arms->n += !again;
}

static bool arms_find(struct demand_work *w, const char *constraint, struct demand_arms *ret,
                      struct err *ret_err)
{
    struct feature_arms arms;
    if (!feature_parse(constraint, w->scratch, &arms, ret_err))
        return false;
    ret->v = arena_alloc(w->scratch, (arms.n + 1) * sizeof ret->v[0]);
    ret->n = 0;
    ret->nodes = feature_nodes(&arms);
    for (size_t i = 0; i < arms.n; i++) {
        arm_find(w, &arms.arm[i], &ret->v[ret->n]);
        arm_keep(w, ret);
    }
    return true;
}

bool demand_arms(struct demand_work *w)
{
    struct err e = {0};
    if (!arms_find(w, w->req->constraint, &w->arms, &e))
        return demand_complain(w, REFUSE_FEATURE, REASON_BAD_CONSTRAINTS, e.text);
    if (!text_empty(w->req->prefer) && !arms_find(w, w->req->prefer, &w->liked, &e))
        return demand_complain(w, REFUSE_PREFER, REASON_BAD_CONSTRAINTS, e.text);
    w->both = groups_bits(w);
    return true;
}

bool demand_arm_join(const struct demand_work *w, const struct demand_arm *one,
                     const struct demand_arm *more, struct demand_arm *ret)
{
    *ret = *one;
    ret->groups = w->both;
    if (one->ncount + more->ncount > FEATURE_COUNTS_MAX)
        return false;
    for (size_t i = 0; i < BIT_WORDS(w->cl->group.n + 1); i++)
        w->both[i] = one->groups[i] & more->groups[i];
    for (size_t i = 0; i < more->ncount; i++)
        ret->count[ret->ncount++] = more->count[i];
    return true;
}
