/* scrontab's editor: a file of the user's own with the table in it, and the program that changes
 * it. */
#ifndef REMUDA_CLI_SUBMIT_SCRONTAB_H
#define REMUDA_CLI_SUBMIT_SCRONTAB_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

/* A new file in TMPDIR (else /tmp) that nobody else may read, with that text. Its path, in the
 * arena. */
const char *scrontab_file_make(const char *text, struct arena *a, struct err *ret_err);
/* Runs VISUAL, else EDITOR, else vi on it, and waits; the text that is in the file then. NULL: it
 * did not end well, ret_err says how. */
const char *scrontab_file_edit(const char *path, struct arena *a, struct err *ret_err);
/* What a table file holds, as a text of at most LIMIT_TEXT_BYTES. */
const char *scrontab_read_fd(int fd, const char *name, struct arena *a, struct err *ret_err);

#endif
