/* Small files of one directory that are replaced together: after a kill at any moment all are new
 * or all are as they were. */
#ifndef REMUDA_IO_TOGETHER_H
#define REMUDA_IO_TOGETHER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct together_file {
    const char *name; /* in the directory */
    const void *data;
    size_t len;  /* bytes */
    mode_t mode; /* permissions */
};

/* Durable when it returns true. */
bool together_write(const char *dir, const struct together_file *file, size_t n,
                    struct err *ret_err);
/* What was begun and is whole is brought to its end. Whoever reads such files calls it first. */
bool together_finish(const char *dir, struct err *ret_err);

#endif
