/* Whose requests made a commit or a plan necessary, so that it is charged to them. */
#ifndef REMUDA_CONTROLLER_CAUSES_H
#define REMUDA_CONTROLLER_CAUSES_H

#include "base/vec.h"
#include "controller/session/session.h"

#include <stdint.h>

struct turn_cause {
    uint64_t by;   /* who asked for it (session_payer) */
    uint64_t from; /* where (session_origin) */
    uint64_t rows; /* stored for that user */
};
struct causes {
    VEC(struct turn_cause) v; /* one for each user, small lists */
    uint64_t rows;            /* of all, also of what nobody asked for */
};

/* So many more rows that this one asked for; `by` NULL: nobody did. */
void causes_add(struct causes *c, const uint64_t *by, uint64_t from, uint64_t rows);
/* Each user is charged with their part of it (session_caused). */
void causes_charge(struct sessions *s, const struct causes *c, int64_t cost_ns, int64_t took_us);
void causes_clear(struct causes *c); /* keeps the memory */
void causes_done(struct causes *c);  /* the list */

#endif
