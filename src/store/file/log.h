/* What SQLite takes in silence: a log that it would give up, though commits that somebody was told
 * of stand in it, and a file that was cut. */
#ifndef REMUDA_STORE_FILE_LOG_H
#define REMUDA_STORE_FILE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Before the store is opened to be written, which overwrites such a log. `given_seq`: the commit
 * that was acknowledged last, as far as anybody knows; a store that has come so far lacks nothing.
 * False with ret_err, a sentence of model/record/trouble.h. */
bool store_file_check(const char *path, uint64_t given_seq, struct err *ret_err);
/* The store is a link, and its log does not lie where that leads to. */
bool store_log_is_astray(const char *path);
/* With the log beside it the store is at an earlier commit than without: the log is another's. */
bool store_log_goes_back(const char *path);

#endif
