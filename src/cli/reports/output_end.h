/* Inside cli/reports/: the end of a file that a job wrote, where this host has it. */
#ifndef REMUDA_CLI_REPORTS_OUTPUT_END_H
#define REMUDA_CLI_REPORTS_OUTPUT_END_H

#include "model/job/job.h"
#include "model/message.h"

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_READ_MS 10000 /* so long a file system has */

struct output_end {
    char *path;                   /* NULL = there is no such file, or it is the same */
    char bytes[OUTPUT_END_BYTES]; /* the last ones, not NUL-terminated */
    size_t len;
    bool known; /* the file could be read */
};

/* Reads both that have a path; `known` says of which the end is in `bytes`. A file system that does
 * not answer costs OUTPUT_READ_MS and a process, which stays in the kernel until it does, and
 * READERS_MAX (io/process/readers.h) such processes at most: then nothing is read here. */
void output_ends_read(const struct job *j, struct output_end *out, struct output_end *err);

#endif
