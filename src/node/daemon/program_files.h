/* Which of the site's programs run, for the daemon after one that was killed: it has a program run
 * anew that was not over, and the former one must not run beside that. A file NODE_DIR/programs/
 * PID.START each, with the life of the node in it, as a number of a process is another's after the
 * next boot. */
#ifndef REMUDA_NODE_DAEMON_PROGRAM_FILES_H
#define REMUDA_NODE_DAEMON_PROGRAM_FILES_H

#include <stdint.h>
#include <sys/types.h>

/* pid leads a session, and began at `start` (node/step/proc_tree.h). Where it cannot be written
 * the program runs all the same. */
void program_file_put(const char *node_dir, const char *life, pid_t pid, uint64_t start);
/* It is over. */
void program_file_remove(const char *node_dir, pid_t pid, uint64_t start);
/* Kills those that still run, with all of their process groups, as the daemon does when it ends,
 * and waits a moment for their ends. Returns how many there were. */
int programs_left_end(const char *node_dir, const char *life);

#endif
