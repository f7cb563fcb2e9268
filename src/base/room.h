/* How much room a disk has, in words. */
#ifndef REMUDA_BASE_ROOM_H
#define REMUDA_BASE_ROOM_H

#include "base/str.h"

#include <stdint.h>

/* Appends "12.0 MiB of 1.0 GiB are free there", and where files have run out though bytes have not,
 * that. Where much is free, it says that a quota or a limit must be in the way. all_files 0: the
 * file system does not count them. */
void room_add(struct str *out, uint64_t free_bytes, uint64_t all_bytes, uint64_t free_files,
              uint64_t all_files);

#endif
