/* What of the samples that a node sends is kept: blocks that can be read, of jobs that it had. */
#ifndef REMUDA_CONTROLLER_SERIES_INTAKE_H
#define REMUDA_CONTROLLER_SERIES_INTAKE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_INTAKE_BLOCKS 8192u /* of a frame; nodes' have 256 KiB */

/* May the node have had that run of the job? */
typedef bool (*series_had)(void *ctx, uint64_t job_id, uint32_t attempt);

/* Appends the blocks of the frame that say they are of `node`, have a head that can be read, and of
 * whose jobs had(ctx) says so. False: something was left out. */
bool series_intake(const char *data, size_t len, const char *node, series_had had, void *ctx,
                   struct str *out);

#endif
