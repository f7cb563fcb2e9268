/* The kernel's keyrings of a session, which processes inherit: whoever has one in reach may use and
 * read what is in it, whatever his uid. A daemon that root started by hand has that of root's
 * session, with its tickets and keys, and so would every job, and all jobs together. */
#ifndef REMUDA_IO_PROCESS_KEYRING_H
#define REMUDA_IO_PROCESS_KEYRING_H

#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Root's process, and what it starts from now on, has a new, empty one. An ordinary user's keeps
 * what he has: his jobs are his session. Kernels without keyrings have nothing to leave. */
static inline void keyring_leave(void)
{
    if (geteuid() == 0)
        syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

/* Once this is the owner's process: his own keys are found in it, as after a login. */
static inline void keyring_have_own(void)
{
    syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING);
}

#endif
