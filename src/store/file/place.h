/* Where a file is made that others must neither read nor choose: in a directory which they can
 * change, what a name leads to may be something else each time it is asked. */
#ifndef REMUDA_STORE_FILE_PLACE_H
#define REMUDA_STORE_FILE_PLACE_H

#include "base/err.h"

#include <stdbool.h>

/* Nobody but root and the caller can put anything in the place of a file at that path, which is his
 * own: neither in its directory nor by one above. Then the path without links, to be used from now
 * on, owned by the caller; else NULL, also if that cannot be told. */
char *place_ours(const char *path);
/* Makes `to`, which must not be there, a copy of `from`, durable, with the mode 0600 and the
 * caller's own: what is written is what has been made, whatever its names lead to meanwhile. */
bool place_copy(const char *from, const char *to, struct err *ret_err);
/* Gives the open file that name, which must not be there. beside: a name that it has, and loses
 * where the file system knows but one for each (FAT, some over networks); NULL = it has none. The
 * name is durable when it returns true. False: errno, and it has no such name. */
bool place_name(int fd, const char *beside, const char *to);
/* Is this errno of link(2) about a file system that knows one name for each file? */
bool place_has_no_links(int error);

#endif
