#include "store/file/place.h"

#include "base/alloc.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (256u << 10)

static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
    char *whole = realpath(*dir ? dir : "/", NULL);
    free(dir);
    return whole;
}

/* In a sticky directory others cannot move what is not theirs. */
static bool is_ours(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
           (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX));
}

char *place_ours(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = parent_of(path),
         *ours = dir ? xasprintf("%s/%s", dir, slash ? slash + 1 : path) : NULL;
    bool all = dir && is_ours(dir) && is_ours("/");
    for (char *up; all && (up = strrchr(dir, '/')) && up != dir;) {
        *up = '\0';
        all = is_ours(dir);
    }
    free(dir);
    if (all)
        return ours;
    free(ours);
    return NULL;
}

bool place_has_no_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

/* Where a name cannot be moved but into the place of another, it is taken first. */
static bool name_move(int fd, const char *beside, const char *to)
{
    struct stat is, named;
    if (fstat(fd, &is) != 0 || lstat(beside, &named) != 0)
        return false;
    if (is.st_ino != named.st_ino || is.st_dev != named.st_dev) {
        errno = ESTALE;
        return false;
    }
    if (renameat2(AT_FDCWD, beside, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    int taken = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (taken < 0)
        return false;
    close(taken);
    if (rename(beside, to) == 0)
        return true;
    int saved = errno;
    unlink(to);
    errno = saved;
    return false;
}

static bool name_give(int fd, const char *beside, const char *to)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0)
        return true;
    return beside && place_has_no_links(errno) && name_move(fd, beside, to);
}

/* Of a directory that may be written and not read, or that cannot be synchronised alone, the whole
 * file system is. */
static bool dir_sync_of(int dir, int fd)
{
    int in = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = in >= 0 && fsync(in) == 0;
    if (!ok && (errno == EACCES || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS))
        ok = syncfs(fd) == 0;
    int saved = errno;
    if (in >= 0)
        close(in);
    errno = saved;
    return ok;
}

/* Whoever may change the directory above can have the path lead elsewhere by now. */
static void name_take(int dir, int fd, const char *name)
{
    struct stat is, named;
    int saved = errno;
    if (fstat(fd, &is) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        is.st_ino == named.st_ino && is.st_dev == named.st_dev)
        unlinkat(dir, name, 0);
    errno = saved;
}

bool place_name(int fd, const char *beside, const char *to)
{
    ASSERT(fd >= 0);
    const char *slash = strrchr(to, '/');
    char *parent = parent_of(to);
    int dir = parent ? open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    free(parent);
    bool given = dir >= 0 && name_give(fd, beside, to), ok = given && dir_sync_of(dir, fd);
    if (given && !ok)
        name_take(dir, fd, slash ? slash + 1 : to);
    int saved = errno;
    if (dir >= 0)
        close(dir);
    errno = saved;
    return ok;
}

static bool bytes_copy(int from, int to)
{
    char *piece = xmalloc(PIECE_BYTES);
    ssize_t n = 0, done = 0;
    while (done >= 0 && (n = read(from, piece, PIECE_BYTES)) > 0)
        for (ssize_t at = 0; done >= 0 && at < n; at += done)
            done = write(to, piece + at, (size_t)(n - at));
    int saved = errno;
    free(piece);
    errno = saved;
    return n == 0 && done >= 0 && fsync(to) == 0;
}

/* Without a name until it is whole; where the file system has no such files, by one that nobody
 * foresees, and *ret_beside says which. */
static int file_make(const char *to, char **ret_beside)
{
    char *dir = parent_of(to);
    int fd = dir ? open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    free(dir);
    *ret_beside = NULL;
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    *ret_beside = xasprintf("%s.XXXXXX", to);
    fd = mkostemp(*ret_beside, O_CLOEXEC);
    if (fd < 0) {
        free(*ret_beside);
        *ret_beside = NULL;
    }
    return fd;
}

bool place_copy(const char *from, const char *to, struct err *ret_err)
{
    char *beside = NULL;
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = -1;
    if (in >= 0)
        out = file_make(to, &beside);
    bool ok = out >= 0 && bytes_copy(in, out) && place_name(out, beside, to);
    if (!ok)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot make %s: %s", to, strerrordesc_np(errno));
    if (beside)
        unlink(beside);
    free(beside);
    if (out >= 0)
        close(out);
    if (in >= 0)
        close(in);
    return ok;
}
