/* A child that is worth waiting for: what the kernel has no room for now (a process, a descriptor,
 * memory) it may have a moment later. Naps of 10 ms to 0.5 s, for 10 s together, as for steps
 * (node/step/shortage.h); the loop goes on meanwhile. */
#ifndef REMUDA_IO_SPAWN_PATIENT_H
#define REMUDA_IO_SPAWN_PATIENT_H

#include "io/process/spawn.h"

struct spawn_patient; /* opaque */

/* As spawn_start, but that it may begin later: then the options are copied, and if there was no
 * room in all that time `done` says so (spawn_result.failed). No descriptors (fds), not detached.
 * NULL with ret_err: it could not be started for another reason. */
struct spawn_patient *spawn_patiently(struct loop *l, const struct spawn_options *o,
                                      void (*done)(void *ctx, const struct spawn_result *r),
                                      void *ctx, struct err *ret_err);
/* As spawn_free; NULL is fine. */
void spawn_patient_free(struct spawn_patient *p);

#endif
