/* Where the programs of this release are. */
#ifndef REMUDA_IO_RELEASE_H
#define REMUDA_IO_RELEASE_H

#include "base/arena.h"

/* The directory of this executable. In the arena. */
const char *release_dir(struct arena *a);
/* Path of another program of the release, in the arena: beside this one when installed or staged;
 * in `folder` (of src/) of a build directory. Whether it is there is the caller's question. */
const char *release_program(const char *name, const char *folder, struct arena *a);

#endif
