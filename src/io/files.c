#include "io/files.h"

#include "base/alloc.h"
#include "base/room.h"
#include "io/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define EARLY_TRIES  100
#define EARLY_TRY_NS 10000000

bool room_is_missing(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

/* The file itself may not be there: its folder is on the same disk. */
static bool file_system_of(const char *path, struct statvfs *ret)
{
    char *dir = xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    bool ok = statvfs(path, ret) == 0 || statvfs(slash ? dir : ".", ret) == 0;
    free(dir);
    return ok;
}

void room_say(const char *path, struct str *out)
{
    struct statvfs fs;
    if (file_system_of(path, &fs))
        room_add(out, (uint64_t)fs.f_bavail * fs.f_frsize, (uint64_t)fs.f_blocks * fs.f_frsize,
                 fs.f_favail, fs.f_files);
}

bool file_error(struct err *ret_err, const char *what, const char *path)
{
    int error = errno;
    struct str room = STR_INIT;
    enum err_code code = ERR_UNAVAILABLE;
    if (error == ENOENT)
        code = ERR_NOT_FOUND;
    else if (error == EACCES || error == EPERM)
        code = ERR_DENIED;
    if (room_is_missing(error)) {
        str_add(&room, "; ");
        room_say(path, &room);
    }
    err_set(ret_err, code, "cannot %s %s: %s%s", what, path, strerror(error), str_text(&room));
    str_done(&room);
    errno = error;
    return false;
}

static bool fd_read(int fd, const char *path, size_t max, struct str *out, struct err *ret_err)
{
    ASSERT(fd >= 0 && max > 0);
    char piece[16384];
    size_t had = out->len;
    ssize_t n;
    while ((n = read(fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error(ret_err, "read", path);
        if (out->len - had + (size_t)n > max)
            return err_set(ret_err, ERR_LIMIT, "%s is longer than the %zu bytes allowed", path,
                           max);
        str_addn(out, piece, (size_t)n);
    }
    return true;
}

/* Pipes without a name are "pipe:[NUMBER]". */
static bool is_named_pipe(int fd)
{
    char at[40], where[8] = "";
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode))
        return false;
    snprintf(at, sizeof at, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(at, where, sizeof where);
    return n < 5 || memcmp(where, "pipe:", 5) != 0;
}

/* Opening it waits for nobody; reading does as usual. */
static int named_open(const char *path, struct err *ret_err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        file_error(ret_err, "read", path);
        return -1;
    }
    if (is_named_pipe(fd)) {
        close(fd);
        err_set(ret_err, ERR_INVALID,
                "%s is a named pipe, for whose other end one might wait for ever: copy what comes "
                "from it into a file",
                path);
        return -1;
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    return fd;
}

FILE *file_open_named(const char *path, struct err *ret_err)
{
    int fd = named_open(path, ret_err);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !f) {
        file_error(ret_err, "read", path);
        close(fd);
    }
    return f;
}

bool file_read(const char *path, size_t max, struct str *out, struct err *ret_err)
{
    ASSERT(max > 0);
    int fd = named_open(path, ret_err);
    if (fd < 0)
        return false;
    bool ok = fd_read(fd, path, max, out, ret_err);
    close(fd);
    return ok;
}

const char *file_read_text(const char *path, size_t max, struct arena *a, struct err *ret_err)
{
    struct str text = STR_INIT;
    const char *result = NULL;
    if (file_read(path, max, &text, ret_err))
        result = arena_strndup(a, str_text(&text), text.len);
    str_done(&text);
    return result;
}

bool file_same(const char *path, const char *other)
{
    FILE *f[2] = {fopen(path, "re"), fopen(other, "re")};
    bool same = f[0] && f[1];
    for (size_t n = 1; same && n > 0;) {
        char piece[2][16384];
        n = fread(piece[0], 1, sizeof piece[0], f[0]);
        same = fread(piece[1], 1, sizeof piece[1], f[1]) == n && !ferror(f[0]) && !ferror(f[1]) &&
               memcmp(piece[0], piece[1], n) == 0;
    }
    for (int i = 0; i < 2; i++)
        if (f[i])
            fclose(f[i]);
    return same;
}

/* A name is durable only when its directory is. */
static void parent_sync(const char *path)
{
    char *dir = xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

/* Until it is whole nobody else may open it, who could lock it then. One that others may open was
 * left by a process that died when it was whole, or gets its name this moment. On file systems
 * without such locks nobody is kept from anything. */
static void early_lock(int fd, const char *early)
{
    struct stat st;
    bool others = fstat(fd, &st) == 0 && st.st_mode & 077;
    for (int i = 0; flock(fd, others ? LOCK_EX | LOCK_NB : LOCK_EX) != 0; i++) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            return;
        if (i == EARLY_TRIES && others) {
            unlink(early);
            return;
        }
        if (others)
            nanosleep(&(struct timespec){.tv_nsec = EARLY_TRY_NS}, NULL);
    }
}

/* The name of what will replace a file is always the same, so that what a process left that died
 * there is used by the next; its lock keeps two from writing it at once. */
static int early_open(const char *early)
{
    struct stat ours, there;
    for (;;) {
        int fd = open(early, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return -1;
        early_lock(fd, early);
        bool is_there = fstat(fd, &ours) == 0 && lstat(early, &there) == 0 &&
                        ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
        if (is_there && ftruncate(fd, 0) == 0)
            return fd;
        int why = errno;
        close(fd);
        errno = why;
        if (is_there)
            return -1;
    }
}

bool file_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
                       struct err *ret_err)
{
    ASSERT(data || len == 0);
    char *early = xasprintf("%s.new", path);
    int fd = early_open(early);
    bool ok = fd >= 0 && fchmod(fd, 0600) == 0 && fd_write_all(fd, data, len) && fsync(fd) == 0;
    ok = ok && fchmod(fd, mode) == 0 && rename(early, path) == 0;
    if (!ok)
        file_error(ret_err, "write", path);
    if (!ok && fd >= 0)
        unlink(early); /* before another has the lock */
    if (fd >= 0)
        close(fd);
    if (ok)
        parent_sync(path);
    free(early);
    return ok;
}

bool dir_sync(const char *dir, struct err *ret_err)
{
    ASSERT(dir[0]);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (!ok)
        file_error(ret_err, "write", dir);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool one_dir_make(const char *path, mode_t mode)
{
    struct stat st;
    if (mkdir(path, mode) == 0) {
        parent_sync(path);
        return true;
    }
    if (errno != EEXIST && errno != EROFS)
        return false;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    errno = ENOTDIR;
    return false;
}

bool dir_make(const char *path, mode_t mode, struct err *ret_err)
{
    ASSERT(path[0]);
    char *copy = xstrdup(path);
    bool ok = true;
    for (char *at = copy + (*copy != '\0'); ok && *at; at++) {
        if (*at != '/' || at[-1] == '/')
            continue;
        *at = '\0';
        ok = one_dir_make(copy, 0755);
        *at = '/';
    }
    ok = ok && one_dir_make(copy, mode);
    if (!ok)
        file_error(ret_err, "make the directory", path);
    free(copy);
    return ok;
}

/* Removes what is in the directory `fd`, and closes it. */
static bool entries_remove(int fd)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return false;
    }
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            unlinkat(fd, e->d_name, 0) == 0)
            continue;
        int below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        ok = below >= 0 && entries_remove(below) && unlinkat(fd, e->d_name, AT_REMOVEDIR) == 0;
    }
    int saved = errno;
    closedir(dir);
    errno = saved;
    return ok;
}

bool dir_remove(const char *path, struct err *ret_err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || file_error(ret_err, "remove", path);
    return (entries_remove(fd) && rmdir(path) == 0) || file_error(ret_err, "remove", path);
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool dir_list(const char *path, struct arena *a, const char ***ret_names, size_t *ret_n,
              struct err *ret_err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return file_error(ret_err, "list", path);
    const char **names = NULL;
    size_t n = 0, cap = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (n == cap)
            names = xrealloc(names, (cap = cap * 2 + 16) * sizeof *names);
        names[n++] = arena_strdup(a, e->d_name);
    }
    closedir(dir);
    if (n > 0)
        qsort(names, n, sizeof *names, name_compare);
    *ret_names = arena_dup(a, names, n * sizeof *names);
    *ret_n = n;
    free(names);
    return true;
}
