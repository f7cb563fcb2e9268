/* A library to be loaded before libc: the Nth call of a daemon that changes a file of its state directory goes wrong. tests/heavy/writes.py says how:
 *
 *   WRITES_ROLE   word of the daemon's command line ("controller", "node"), or its program's name; other processes are left alone
 *   WRITES_UNDER  the state directory
 *   WRITES_LOG    each call counted leaves a line there: its number, its name, the file
 *   WRITES_AT     N; 0 = none goes wrong
 *   WRITES_FOR    how many calls from there on (1)
 *   WRITES_MODE   eio, enospc, short (half is written), kill (before it), torn (half is written, then kill), power (kill, and what was not synced is gone)
 *   WRITES_ANY    the process need lead no session
 *   WRITES_SAVED  an empty directory, for power: files as they were when they were synced last
 *
 * The process that counts is the first leader of a session that changes something there: neither a daemon's first process nor copies of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES_MAX 256

enum mode { NONE, EIO_MODE, ENOSPC_MODE, SHORT, KILL, TORN, POWER };
enum fate { GOES_ON, FAILS, HALF };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool ready, ours, any;
static long at, times = 1, count;
static pid_t counts;
static enum mode mode;
static const char *under, *log_path, *saved_dir;
static struct {
    dev_t dev;
    ino_t ino;
    char path[512];
    bool dirty;
} files[FILES_MAX];
static int nfiles;

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static bool is_role(const char *word, const char *role)
{
    const char *slash = strrchr(word, '/');
    return !strcmp(word, role) || (slash && !strcmp(slash + 1, role));
}

/* A copy: a shepherd wipes its environment. */
static const char *setting(const char *name)
{
    const char *text = getenv(name);
    return text ? strdup(text) : NULL;
}

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"none", "eio", "enospc", "short", "kill", "torn", "power"};
    const char *role = getenv("WRITES_ROLE"), *word = getenv("WRITES_MODE");
    char line[4096];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    ready = true;
    any = getenv("WRITES_ANY") != NULL;
    under = setting("WRITES_UNDER");
    log_path = setting("WRITES_LOG");
    saved_dir = setting("WRITES_SAVED");
    at = number("WRITES_AT", 0);
    times = number("WRITES_FOR", 1);
    for (size_t i = 0; word && i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(word, names[i]))
            mode = (enum mode)i;
    for (ssize_t i = 0; role && under && i < n; i += (ssize_t)strlen(line + i) + 1)
        if (line[n] = '\0', is_role(line + i, role))
            ours = true;
}

/* ---- what is not synced ---- */

static void copy(const char *from, const char *to)
{
    static char block[65536];
    int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC);
    int out =
        (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, block, sizeof block)) > 0;)
        if (syscall(SYS_write, out, block, (size_t)n) != n)
            break;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
}

static void saved_path(int i, char *out, size_t size)
{
    snprintf(out, size, "%s/%d", saved_dir, i);
}

static int file_of(int fd, const char *path)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return -1;
    for (int i = 0; i < nfiles; i++)
        if (files[i].ino == st.st_ino && files[i].dev == st.st_dev)
            return i;
    if (nfiles == FILES_MAX)
        return -1;
    files[nfiles].dev = st.st_dev, files[nfiles].ino = st.st_ino;
    snprintf(files[nfiles].path, sizeof files[0].path, "%s", path);
    return nfiles++;
}

static void soon_dirty(int fd, const char *path)
{
    char saved[600];
    int i = mode == POWER ? file_of(fd, path) : -1;
    if (i < 0 || files[i].dirty || strstr(path, ".pid"))
        return; /* who opens and closes the pid file lets go of its lock */
    saved_path(i, saved, sizeof saved);
    copy(path, saved);
    files[i].dirty = true;
}

static void synced(int fd, const char *path)
{
    int i = mode == POWER ? file_of(fd, path) : -1;
    if (i >= 0)
        files[i].dirty = false;
}

/* A file that was put in another's place, or removed, is not there by its old name. */
static bool is_file(int i)
{
    struct stat st;
    return stat(files[i].path, &st) == 0 && st.st_ino == files[i].ino;
}

static void power_goes(void)
{
    char saved[600], shm[600];
    for (int i = 0; i < nfiles; i++) {
        if (!files[i].dirty || !is_file(i) || strstr(files[i].path, ".log"))
            continue;
        saved_path(i, saved, sizeof saved);
        copy(saved, files[i].path);
    }
    snprintf(shm, sizeof shm, "%s/remuda.db-shm", under);
    syscall(SYS_unlinkat, AT_FDCWD, shm, 0);
}

/* ---- calls ---- */

static void note(const char *call, const char *path)
{
    char line[700];
    if (!log_path)
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                          0600);
    if (fd < 0)
        return;
    int n = snprintf(line, sizeof line, "%ld %s %s\n", count, call, path);
    syscall(SYS_write, fd, line, (size_t)n);
    close(fd);
}

static _Noreturn void die(void)
{
    if (mode == POWER)
        power_goes();
    for (;;)
        kill(getpid(), SIGKILL);
}

/* Locked. */
static enum fate fate_of(const char *call, const char *path)
{
    if (!counts)
        counts = getpid();
    count++;
    note(call, path);
    if (at == 0 || count < at || count >= at + times)
        return GOES_ON;
    switch (mode) {
    case EIO_MODE: errno = EIO; return FAILS;
    case ENOSPC_MODE: errno = ENOSPC; return FAILS;
    case SHORT:
    case TORN: return HALF;
    case KILL:
    case POWER: die();
    case NONE: break;
    }
    return GOES_ON;
}

static bool meant(const char *path)
{
    return under && !strncmp(path, under, strlen(under));
}

static bool watched(void)
{
    return ready && ours &&
           (counts
                ? counts == getpid()
                : any ||
                      getsid(0) ==
                          getpid()); /* a copy has no use of the mutex: a thread that it has not may hold it */
}

static bool watched_fd(int fd, char *path, size_t size)
{
    struct stat st;
    char link[64];
    if (!watched() || fstat(fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, size - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return meant(path);
}

static ssize_t write_at(int fd, const void *data, size_t len, off_t offset)
{
    return offset < 0 ? syscall(SYS_write, fd, data, len)
                      : syscall(SYS_pwrite64, fd, data, len, offset);
}

static ssize_t written(const char *call, int fd, const void *data, size_t len, off_t offset)
{
    char path[512];
    ssize_t n;
    if (!watched_fd(fd, path, sizeof path))
        return write_at(fd, data, len, offset);
    pthread_mutex_lock(&mutex);
    switch (fate_of(call, path)) {
    case FAILS: n = -1; break;
    case HALF:
        n = write_at(fd, data, len > 1 ? len / 2 : len, offset);
        if (mode == TORN)
            die();
        break;
    default: soon_dirty(fd, path); n = write_at(fd, data, len, offset);
    }
    pthread_mutex_unlock(&mutex);
    return n;
}

ssize_t write(int fd, const void *data, size_t len)
{
    return written("write", fd, data, len, -1);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    return written("pwrite", fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
    return written("pwrite", fd, data, len, offset);
}

/* A call that has no halves: done, then the end. */
#define WHOLE(call, path, real)                                                                    \
    do {                                                                                           \
        pthread_mutex_lock(&mutex);                                                                \
        enum fate fate = fate_of(call, path);                                                      \
        long rc = fate == FAILS ? -1 : (real);                                                     \
        if (fate == HALF && mode == TORN)                                                          \
            die();                                                                                 \
        pthread_mutex_unlock(&mutex);                                                              \
        return (int)rc;                                                                            \
    } while (0)

static long sync_real(int fd, const char *path, long nr)
{
    long rc = syscall(nr, fd);
    if (rc == 0)
        synced(fd, path);
    return rc;
}

int fsync(int fd)
{
    char path[512];
    if (!watched_fd(fd, path, sizeof path))
        return (int)syscall(SYS_fsync, fd);
    WHOLE("fsync", path, sync_real(fd, path, SYS_fsync));
}

int fdatasync(int fd)
{
    char path[512];
    if (!watched_fd(fd, path, sizeof path))
        return (int)syscall(SYS_fdatasync, fd);
    WHOLE("fdatasync", path, sync_real(fd, path, SYS_fdatasync));
}

int ftruncate(int fd, off_t len)
{
    char path[512];
    if (!watched_fd(fd, path, sizeof path))
        return (int)syscall(SYS_ftruncate, fd, len);
    WHOLE("ftruncate", path, (soon_dirty(fd, path), syscall(SYS_ftruncate, fd, len)));
}

int ftruncate64(int fd, off64_t len)
{
    return ftruncate(fd, len);
}

int rename(const char *from, const char *to)
{
    if (!watched() || !meant(to))
        return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    WHOLE("rename", to, syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int unlink(const char *path)
{
    if (!watched() || !meant(path))
        return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    WHOLE("unlink", path, syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int mkdir(const char *path, mode_t how)
{
    if (!watched() || !meant(path))
        return (int)syscall(SYS_mkdirat, AT_FDCWD, path, how);
    WHOLE("mkdir", path, syscall(SYS_mkdirat, AT_FDCWD, path, how));
}

static int opened(int dir, const char *path, int flags, mode_t how)
{
    if (!(flags & O_CREAT) || !watched() || !meant(path) || access(path, F_OK) == 0)
        return (int)syscall(SYS_openat, dir, path, flags, how);
    WHOLE("create", path, syscall(SYS_openat, dir, path, flags, how));
}

#define MODE_OF(how)                                                                               \
    va_list args;                                                                                  \
    va_start(args, flags);                                                                         \
    mode_t how = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                         \
    va_end(args)

int open(const char *path, int flags, ...)
{
    MODE_OF(how);
    return opened(AT_FDCWD, path, flags, how);
}

int open64(const char *path, int flags, ...)
{
    MODE_OF(how);
    return opened(AT_FDCWD, path, flags, how);
}

int openat(int dir, const char *path, int flags, ...)
{
    MODE_OF(how);
    return opened(dir, path, flags, how);
}
