/* The two ends of a frame that is being written. */
#ifndef REMUDA_WIRE_FRAME_OUT_H
#define REMUDA_WIRE_FRAME_OUT_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Room for the header and {"type":…,"call":…; returns where the frame starts. */
size_t frame_begin(struct str *out, const char *type, uint64_t call);
/* The JSON part is complete: fills in the header. The raw bytes follow. */
void frame_end(struct str *out, size_t at, size_t raw_len);

#endif
