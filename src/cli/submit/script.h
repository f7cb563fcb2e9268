/* The batch script that sbatch submits: a file, standard input or --wrap. */
#ifndef REMUDA_CLI_SUBMIT_SCRIPT_H
#define REMUDA_CLI_SUBMIT_SCRIPT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct submit_script {
    const char *text;     /* text[len] is NUL */
    size_t len;           /* bytes */
    const char *path;     /* absolute; NULL = not from a file */
    const char *name;     /* what messages call it */
    const char *job_name; /* name of the job unless one is given */
};

/* `word` is the script as typed: absolute, relative to `dir` (--chdir; NULL = none) or the current
 * directory `cwd`, or found through PATH. */
bool submit_script_file(const char *word, const char *dir, const char *cwd, struct arena *a,
                        struct submit_script *ret, struct err *ret_err);
/* Reads to the end, LIMIT_SCRIPT_BYTES at most; the text is in the arena. */
bool submit_script_stdin(struct arena *a, struct submit_script *ret, struct err *ret_err);
/* A script for /bin/sh with that command in it, as it stands. */
void submit_script_wrap(const char *command, struct arena *a, struct submit_script *ret);
/* The whole of a file or descriptor, ended by a NUL that is not counted; at most `max` bytes and
 * one more are read. NULL: ret_err is set. */
const char *submit_read_fd(int fd, size_t max, struct arena *a, size_t *ret_len,
                           struct err *ret_err);

#endif
