/* The end of what a job wrote: how the node's daemon asks for it, and what is printed. */
#ifndef REMUDA_NODE_STEP_OUTPUT_END_H
#define REMUDA_NODE_STEP_OUTPUT_END_H

#include <stdint.h>

/* `remuda-shepherd WORD UID GID SINCE OUT [ERR]`, which becomes the job's owner where it is run by
 * root (io/process/become.h): files that were not written to since SINCE (seconds) are not the
 * job's. */
#define OUTPUT_END_WORD "--output-end"

/* Printed before the bytes of both files: how many they are, OUTPUT_END_BYTES each at most. */
struct output_end_head {
    uint32_t out, err; /* bytes of each that follow */
};

#endif
