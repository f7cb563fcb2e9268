/* What a daemon of root's does in a user's name beside his jobs: the process that does it is begun
 * as root and becomes the user's by itself. If it executed a program after that, any process of his
 * might trace it and go on in its place, outside of his jobs' control groups: with all devices, no
 * limits, and after his jobs have ended. So it is closed to him until its end. */
#ifndef REMUDA_IO_PROCESS_BECOME_H
#define REMUDA_IO_PROCESS_BECOME_H

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Root's process becomes the user's, with no other groups. Not root's: it stays as it is. False
 * with errno; so for -1, which the kernel takes for "as it is". */
static inline bool process_become(uid_t uid, gid_t gid)
{
    if (geteuid() != 0 || uid == 0)
        return true;
    errno = EINVAL;
    return uid != (uid_t)-1 && gid != (gid_t)-1 && setgroups(0, NULL) == 0 &&
           setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0 &&
           prctl(PR_SET_DUMPABLE, 0) == 0;
}

#endif
