#include "controller/session/causes.h"

#include "base/alloc.h"

/* The latest users, looked through for more rows; one of longer ago is written again */
#define SEEN 8

void causes_add(struct causes *c, const uint64_t *by, uint64_t from, uint64_t rows)
{
    size_t seen = c->v.n < SEEN ? c->v.n : SEEN;
    c->rows += rows;
    for (size_t i = c->v.n - seen; by && i < c->v.n; i++)
        if (c->v.v[i].by == *by && c->v.v[i].from == from) {
            c->v.v[i].rows += rows;
            return;
        }
    if (by)
        vec_push(&c->v, ((struct turn_cause){*by, from, rows}));
}

void causes_charge(struct sessions *s, const struct causes *c, int64_t cost_ns, int64_t took_us)
{
    ASSERT(cost_ns >= 0 && took_us >= 0);
    for (size_t i = 0; i < c->v.n; i++) {
        double part = (double)c->v.v[i].rows / (double)c->rows;
        session_caused(s, &c->v.v[i], (int64_t)((double)cost_ns * part),
                       (int64_t)((double)took_us * part));
    }
}

void causes_clear(struct causes *c)
{
    c->v.n = 0;
    c->rows = 0;
}

void causes_done(struct causes *c)
{
    vec_done(&c->v);
}
