/* What a process inherited and has no business with. */
#ifndef REMUDA_NODE_DESCRIPTORS_H
#define REMUDA_NODE_DESCRIPTORS_H

/* Closes every descriptor from `first` on: what the shell of whoever started a daemon had open must not be open in anybody's task. */
void descriptors_close(int first);

#endif
