/* A sort that can be left and gone on with: what orders very many things in a loop that others wait
 * for does some at a time. Stable. The order may ask for anything that does not move meanwhile; if
 * its answers change between two calls the result is some order of the same items. */
#ifndef REMUDA_BASE_MERGE_H
#define REMUDA_BASE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

struct merge_sort {
    char *from, *to;         /* of this pass; private, as all the rest */
    void *v;                 /* what is sorted, in place when it is done */
    size_t n, size, width;   /* width: runs so long are in order */
    size_t low, left, right; /* the pair at hand, and what is left of its two runs */
    int (*order)(const void *a, const void *b); /* as of qsort */
};

/* The n items of `size` bytes at v are to be sorted; v stays the caller's and is not to be touched
 * until it is done. Ended by merge_done. */
void merge_begin(struct merge_sort *m, void *v, size_t n, size_t size,
                 int (*order)(const void *, const void *));
/* Puts at most *most items where they belong in their pass, each for one comparison at most, and
 * takes them off *most. True: v is in order. */
bool merge_go(struct merge_sort *m, size_t *most);
void merge_done(struct merge_sort *m); /* Wherever it stands; `v` stays as it is, sorted or not. */

#endif
