/* A file line by line, however long it is and whatever is in it. */
#ifndef REMUDA_IO_LINES_H
#define REMUDA_IO_LINES_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>

/* The next line, without its end, replaces what is in `line`; zero bytes are bytes. False: there is
 * none (ret_err->code is ERR_NONE), it cannot be read, or it has more than `most` bytes. */
bool file_line(FILE *f, size_t most, struct str *line, struct err *ret_err);

#endif
