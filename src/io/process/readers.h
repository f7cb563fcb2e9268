/* Processes that open a file of a user's for others to read. On a file system that hangs such a
 * process stays in the kernel, beyond SIGKILL: so there are few of each user. */
#ifndef REMUDA_IO_PROCESS_READERS_H
#define REMUDA_IO_PROCESS_READERS_H

#include <stdbool.h>

#define READERS_MAX 4 /* of a user */

/* In a process of the user's that does nothing else: it is one of his readers from now on, called
 * so, until it ends. False: READERS_MAX of them are there already; nothing is to be opened. */
bool reader_place_take(void);

#endif
