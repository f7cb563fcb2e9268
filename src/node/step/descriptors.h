/* What a process inherited and has no business with. */
#ifndef REMUDA_NODE_STEP_DESCRIPTORS_H
#define REMUDA_NODE_STEP_DESCRIPTORS_H

#include <stddef.h>

/* Closes every descriptor from `first` on: what the shell of whoever started a daemon had open must
 * not be open in anybody's task. */
void descriptors_close(int first);
/* The same, but for `keep` (n of them, in any order; -1 is none). */
void descriptors_close_but(int first, const int *keep, size_t n);

#endif
