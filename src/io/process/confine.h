/* What a process that reads bytes of strangers gives up for good before it does: so that whoever
 * takes it over by a mistake of ours in reading them, or of a library's, has little. */
#ifndef REMUDA_IO_CONFINE_H
#define REMUDA_IO_CONFINE_H

#include <stdbool.h>

/* For a process that starts no other: from now on it has no capability, root's least of all, gains
 * none by executing anything, and cannot execute anything, trace, mount, load code into the kernel
 * or leave its namespaces. Files and sockets are as before, as far as their owner and mode allow
 * it. Before there are other threads. False: the kernel knows no filters of system calls (the rest
 * holds); *ret_why says so. */
bool confine_process(const char **ret_why);

#endif
