/* --nodes with a list of numbers: "1,4-6,8-16:4" asks for any of 1, 4, 5, 6, 8, 12, 16. */
#ifndef REMUDA_MODEL_NODE_SIZES_H
#define REMUDA_MODEL_NODE_SIZES_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define NODE_SIZES_MAX 64
/* An honest list adds each number of its steps, or has many at once in a range that it has. */
#define NODE_SIZES_STEPS_MAX (16 * NODE_SIZES_MAX)

/* Numbers that follow each other are one range; ascending, none touches the next. */
struct node_sizes {
    struct node_size {
        int32_t low, high;
    } range[NODE_SIZES_MAX];
    size_t n; /* of `range`; 0 = one number, or none */
};

/* Numbers from 1 to LIMIT_NODES, with k for 1024, in any order. ERR_INVALID with a sentence: what
 * it is not, or that it comes to more than NODE_SIZES_MAX ranges, or its steps to more than
 * NODE_SIZES_STEPS_MAX. */
bool node_sizes_parse(const char *text, struct node_sizes *ret, struct err *ret_err);
/* The largest number of the list that is at most `most`; 0 = none. */
int32_t node_sizes_largest(const struct node_sizes *s, int32_t most);

#endif
