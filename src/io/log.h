/* The daemons' log: lines "2026-11-21T05:06:01.123 warning: …" to a file or stderr. Safe from any
 * thread. A message is one line: newlines and control characters in it are escaped. */
#ifndef REMUDA_IO_LOG_H
#define REMUDA_IO_LOG_H

#include "base/err.h"

#include <stdbool.h>

struct log; /* opaque */

enum log_severity {
    LOG_IS_ERROR,
    LOG_IS_WARNING,
    LOG_IS_INFO,
    LOG_IS_DEBUG
}; /* same values as core's enum log_level */

/* path NULL = stderr. Lines less severe than `most` are dropped. The file is appended to, mode
 * 0640. Where the disk is full, lines are dropped, also from the beginning; the first that finds
 * room again follows one that says how many are missing. */
struct log *log_open(const char *path, enum log_severity most, struct err *ret_err);
void log_close(struct log *l);                             /* NULL is fine */
bool log_reopen(struct log *l, struct err *ret_err);       /* after logrotate moved the file */
void log_set_level(struct log *l, enum log_severity most); /* what is less severe is not written */

/* One line, without a newline, if the severity is wanted; a line that cannot be written is not
 * waited for: the next that can says how many are missing. */
void log_write(struct log *l, enum log_severity s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define log_error(l, ...)   log_write((l), LOG_IS_ERROR, __VA_ARGS__)
#define log_warning(l, ...) log_write((l), LOG_IS_WARNING, __VA_ARGS__)
#define log_info(l, ...)    log_write((l), LOG_IS_INFO, __VA_ARGS__)
#define log_debug(l, ...)   log_write((l), LOG_IS_DEBUG, __VA_ARGS__)

#endif
