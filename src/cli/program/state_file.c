#include "cli/program/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int below(int dir, const char *name, bool own)
{
    struct open_how how = {.flags =
                               O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                           .mode = 0644,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return own ? openat(dir, name, (int)how.flags, (mode_t)how.mode)
               : (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

static bool may_be_emptied(int fd, uid_t whose)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           (st.st_uid == geteuid() || st.st_uid == whose);
}

FILE *state_file(const char *state_dir, const char *name)
{
    struct stat st;
    int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1, why;
    if (dir < 0)
        return NULL;
    if (fstat(dir, &st) == 0)
        fd = below(dir, name, st.st_uid == geteuid());
    why = errno;
    close(dir);
    bool good = fd >= 0 && may_be_emptied(fd, st.st_uid);
    FILE *file = good && ftruncate(fd, 0) == 0 ? fdopen(fd, "w") : NULL;
    if (fd >= 0 && !file) {
        why = good ? errno : EEXIST;
        close(fd);
    }
    errno = why;
    return file;
}
