/* Becoming a daemon, and being the only one in a state directory. */
#ifndef REMUDA_IO_DAEMON_H
#define REMUDA_IO_DAEMON_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Puts the process into the background: a new session, standard input and output from and to
 * /dev/null, work directory "/". Returns in the child only. The first process waits: it exits with
 * 0 when the child calls daemon_ready, or with the child's status if that ends first; until then
 * the child's stderr is the caller's, so that start-up errors are seen. Call before any thread,
 * loop or lock. */
bool daemon_detach(int *ret_ready, struct err *ret_err);
/* Tells the waiting first process that all is well, and lets go of stderr. `ready` is what
 * daemon_detach gave; -1 does nothing. */
void daemon_ready(int ready);

/* As many open files as the hard limit allows. */
void daemon_descriptors_raise(void);

/* A pid file that is also the lock: the process that holds the write lock (fcntl) on it runs; the
 * kernel lets go of it when the process dies. Nobody may open and close the file in the same
 * process meanwhile. */
struct pid_file {
    int fd;     /* locked as long as it is open */
    int dir_fd; /* its directory, locked (flock), too; < 0 where it is not */
    char *path; /* owned */
};
/* Takes the lock and writes our pid. ERR_EXISTS "… runs already as process N". After daemon_detach,
 * before anything else is touched. */
bool pid_file_lock(struct pid_file *f, const char *path, struct err *ret_err);
/* The same, and nobody else who asks this way has the file's directory meanwhile, also where the
 * file was removed under its holder: ERR_EXISTS, as above. Processes that are forked and execute
 * nothing must close f->dir_fd, or they keep the directory after us. */
bool pid_file_lock_dir(struct pid_file *f, const char *path, struct err *ret_err);
/* The same of what is no daemon and ends by itself: `deed`, a word, stands behind the number. Who
 * stops daemons leaves it alone. NULL = a daemon. */
bool pid_file_lock_for(struct pid_file *f, const char *path, const char *deed, struct err *ret_err);
/* Of one that has its directory: puts the file back, locked, where it was removed. True where it
 * was put back; else false, without an error where it was there. */
bool pid_file_keep(struct pid_file *f, struct err *ret_err);
/* Of one that has its directory: whether that was removed. */
bool pid_file_dir_gone(const struct pid_file *f);
void pid_file_drop(struct pid_file *f); /* removes it; nothing if not taken */

#endif
