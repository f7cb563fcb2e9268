#include "sched/pass/to_place.h"

#include "sched/books/topo.h"

/* The first job that stops insisting may start then though nothing else happens. */
static void insisting_note(struct pass *p, int64_t until_us)
{
    int64_t *first = &p->v->insists_until_us;
    if (!p->future && until_us > p->w->now_us && (*first == 0 || until_us < *first))
        *first = until_us;
}

struct to_place pass_to_place(struct pass *p, const struct compiled *c, struct option *o,
                              const struct wjob *j)
{
    ASSERT(o->nvariants > 0 && j->lane);
    struct to_place what = {.c = c,
                            .o = o,
                            .uid_plus1 = p->future ? 0 : j->w.uid + 1,
                            .insists_until_us = topo_insists_until(p->cl, &j->w)};
    insisting_note(p, what.insists_until_us);
    return what;
}
