/* The command line of the programs that work on a state directory: backup, restore, repair. */
#ifndef REMUDA_CONTROLLER_DISK_STATE_LINE_H
#define REMUDA_CONTROLLER_DISK_STATE_LINE_H

#include "base/arena.h"
#include "base/err.h"
#include "io/process/daemon.h"

#include <stdbool.h>

/* "--state DIR", else the directory that is found as by commands, and one FILE; ret_file NULL: none
 * is taken. */
bool state_line_read(int argc, char **argv, struct arena *a, const char **ret_dir,
                     const char **ret_file, struct err *ret_err);

/* Nobody else has the cluster in the directory until the lock is dropped; `deed`, what is done to
 * it meanwhile ("restore"). The error says what to do first. */
bool state_dir_take(struct pid_file *lock, const char *dir, const char *deed, struct err *ret_err);

#endif
