/* What is free on one node over time, as far as work and promises go, in one sweep: asked for where
 * a node has so many promises that adding them up for each question anew would cost their
 * square. */
#ifndef REMUDA_SCHED_WORLD_OUTLOOK_H
#define REMUDA_SCHED_WORLD_OUTLOOK_H

#include "sched/world/world.h"

/* Has the node more promises than are added up faster one by one? */
static inline bool outlook_pays(const struct world *w, uint32_t node)
{
    const struct agenda *a = &w->agenda;
    uint32_t t = a->kept[node];
    for (int i = 0; t != NONE && i < 2; i++)
        t = a->take.v[t].next;
    return t != NONE;
}
/* The least that is free from start_us until before end_us. The world's own: good until the next
 * call, or until the node changes. */
const int64_t *outlook_least(struct world *w, uint32_t node, int64_t start_us, int64_t end_us);
/* The first time from from_us until before_us from which for limit_us, or until until_us, each
 * stretch holds the take; INT64_MAX = none. */
int64_t outlook_first(struct world *w, uint32_t node, int64_t limit_us, int64_t from_us,
                      int64_t before_us, int64_t until_us, const struct take *take);

/* The next time, behind the *at stretches looked at so far (0 at first), during which each stretch
 * holds the take: from *ret_from_us until before *ret_to_us. False after the last. */
bool outlook_run(struct world *w, uint32_t node, size_t *at, const struct take *take,
                 int64_t *ret_from_us, int64_t *ret_to_us);

/* The node's outlook if it is true as things are; NULL = it has none. Asked before something is
 * taken there, so that it can be told what is, instead of being made anew. */
struct outlook *outlook_known(const struct world *w, uint32_t node);
/* From from_us until its end the take is no longer free there, which is all that changed. Of
 * nothing known nothing is told. */
void outlook_taken(const struct world *w, struct outlook *known, uint32_t take, int64_t from_us);

/* The same of a promise that is taken back: the take is free again. */
void outlook_given(const struct world *w, struct outlook *known, uint32_t take, int64_t from_us);

/* Is there enough of everything from start_us until before end_us for all that is there then, or
 * promised? */
bool outlook_holds(struct world *w, uint32_t node, int64_t start_us, int64_t end_us);

/* Each time from now on at which the least over the time limit_us that begins then may be another,
 * ascending. */
struct outlook_walk {
    struct world *w;
    struct outlook *p; /* the node's */
    int64_t limit_us;
    size_t rise, drop, first, end; /* stretches; the window holds those from `first` before `end` */
};
/* From now on, stretches of at least limit_us; one walk of a node at a time. */
struct outlook_walk outlook_walk(struct world *w, uint32_t node, int64_t limit_us);
/* False after the last. *ret_row is the world's own, good until the next call. */
bool outlook_next(struct outlook_walk *walk, int64_t *ret_at_us, const int64_t **ret_row);
void outlook_free(struct outlook *p); /* NULL is allowed */

#endif
