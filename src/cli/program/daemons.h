/* The daemons of this machine's cluster, and other programs of the release, as commands start and
 * find them. */
#ifndef REMUDA_CLI_PROGRAM_DAEMONS_H
#define REMUDA_CLI_PROGRAM_DAEMONS_H

#include "base/err.h"

#include <stdbool.h>

/* Runs another program of the release and waits for it: its exit status; 127 and ret_err: it cannot
 * be started. */
int program_run(char *const argv[], struct err *ret_err);
/* Lock on "DIR/controller.pid" and "DIR/nodes/NAME/node.pid": the pid written there if that process
 * lives and holds the lock, and is a daemon; else 0. */
long program_daemon_pid(const char *pid_file);
/* True: no daemon can run, as a program has the directory that ends by itself; ret_err says which
 * one. */
bool program_deed(const char *pid_file, struct err *ret_err);
/* Is the process the daemon of that node on this machine, as its command line has it? A lock may be
 * held on another machine, where the number is another process's. */
bool program_is_node(long pid, const char *node);
/* Runs the daemon argv, whose pid file that is, if none runs. One that somebody else started at the
 * same moment is as good, and what ours said of it is left out. *ret_started is set if it was
 * ours; ret_err: none runs, with where its log is. */
bool daemon_ensure(char *const argv[], const char *pid_file, const char *log, bool *ret_started,
                   struct err *ret_err);

#endif
