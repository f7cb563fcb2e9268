/* The lists of numbers of --cpu-bind, --mem-bind and --gpu-bind, read once for all tasks of a step
 * on a node: there may be 65,533 of these, and a number may have as many digits. */
#ifndef REMUDA_NODE_STEP_BIND_LISTS_H
#define REMUDA_NODE_STEP_BIND_LISTS_H

#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

/* Begins as {0}; bind_list_done frees it. */
struct bind_list {
    VEC(struct idset) element; /* what stands there, without what it may not name */
    VEC(uint32_t) turn;        /* of each task the number of its element; round and round */
};

/* The elements of "0,4,8" (of a map: numbers, hexadecimal ones behind 0x) or "0x3,c" (masks:
 * hexadecimal, of any length); "*4" behind one: it comes four times. What is not in `within` they
 * do not name, which may leave an element empty. Reads no more than `tasks` tasks need; what is no
 * digit ends a number. */
void bind_map_read(struct bind_list *list, struct span text, const struct idset *within,
                   size_t tasks);
void bind_mask_read(struct bind_list *list, struct span text, const struct idset *within,
                    size_t tasks); /* likewise */
/* The element of the index-th task on the node, in the list until it is freed; NULL: the list has
 * none. */
const struct idset *bind_list_of(const struct bind_list *list, size_t index);
void bind_list_done(struct bind_list *list); /* empty again */

/* Plain numbers, one for each index: "1000,1002". Begins as {0}; vec_done frees it. */
typedef VEC(uint32_t) bind_numbers;

void bind_numbers_read(const char *list, bind_numbers *out); /* appends; of NULL nothing */
/* Adds the number of each index to *out; indexes that have none are left out. */
void bind_numbers_of(const bind_numbers *number, const struct idset *index, struct idset *out);

#endif
