/* Random records of any table, for tests that compare two ways of one thing. */
#ifndef REMUDA_TESTS_WIRE_RANDOM_H
#define REMUDA_TESTS_WIRE_RANDOM_H

#include "base/arena.h"
#include "base/rng.h"
#include "model/fields.h"

/* Fills a zeroed record: each field is given with the probability `permille`, extreme values, empty
 * texts and texts that are no UTF-8 among them. */
void record_random(const struct fields *t, void *record, struct rng *r, uint32_t permille,
                   struct arena *a);

#endif
