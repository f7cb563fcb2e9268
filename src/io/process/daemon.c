#include "io/process/daemon.h"

#include "base/alloc.h"
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 50 /* half a second */

/* In the first process: until the child is ready (a byte comes) or has ended (end of file). */
static _Noreturn void parent_wait(int ready, pid_t child)
{
    char byte;
    ssize_t n;
    while ((n = read(ready, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (n == 1)
        _exit(0);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    _exit(WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1);
}

/* But for standard error, where it says what keeps it from being ready. */
static bool stdio_to_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool ok = fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
    if (fd > STDERR_FILENO)
        close(fd);
    return ok;
}

bool daemon_detach(int *ret_ready, struct err *ret_err)
{
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot make a pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot fork: %s", strerror(errno));
    if (child > 0) {
        close(ready[1]);
        parent_wait(ready[0], child);
    }
    close(ready[0]);
    *ret_ready = ready[1];
    setsid();
    if (chdir("/") != 0 || !stdio_to_null())
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot become a daemon: %s", strerror(errno));
    return true;
}

void daemon_ready(int ready)
{
    if (ready < 0)
        return;
    /* Nothing is opened, for that may fail: who reads what we wrote would wait for ever. */
    dup2(STDOUT_FILENO, STDERR_FILENO);
    ssize_t n = write(ready, "+", 1);
    (void)n; /* the one who waited is gone: nothing to tell */
    close(ready);
}

/* ---- pid file ------------------------------------------------------------------------------- */

static pid_t lock_holder(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

/* The file we locked may have been removed by its former holder meanwhile: then the lock means
 * nothing. */
static bool is_still_there(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
           ours.st_dev == there.st_dev;
}

/* Everybody who may read a file or a directory may lock it, and would keep us from starting for as
 * long as he likes: what others hold does not count. Whose process it is says its real user: what
 * it locked stays locked when it executes a program that is set to root. A lock whose holder is not
 * to be seen, as in another container, counts. */
static bool is_stranger(pid_t pid)
{
    char path[32], line[128];
    unsigned uid = 0;
    bool known = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    while (f && !known && fgets(line, sizeof line, f))
        known = sscanf(line, "Uid: %u", &uid) == 1;
    if (f)
        fclose(f);
    return known && uid != 0 && uid != geteuid();
}

/* A daemon that was just killed holds its lock until the kernel has cleaned up after it: wait a
 * moment for that. */
static bool lock_try(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (fcntl(fd, F_SETLK, &lock) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

/* `fd`: of the file that is locked. */
static bool taken_say(int fd, const char *path, struct err *ret_err)
{
    int holder = (int)lock_holder(fd);
    char text[64] = "", deed[16] = "";
    int pid = 0;
    if (pread(fd, text, sizeof text - 1, 0) > 0 && sscanf(text, "%d %15s", &pid, deed) == 2 &&
        pid == holder)
        return err_set(ret_err, ERR_UNAVAILABLE, "`remuda %s` is at work there, as process %d",
                       deed, holder);
    return err_set(ret_err, ERR_EXISTS, "%s: runs already as process %d", path, holder);
}

static int lock_take(const char *path, struct err *ret_err)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* for all once it is locked */
        if (fd < 0) {
            file_error(ret_err, "write", path);
            return -1;
        }
        bool locked = lock_try(fd);
        if (!locked && is_stranger(lock_holder(fd))) {
            unlink(path);
            close(fd);
            continue;
        }
        if (!locked) {
            taken_say(fd, path, ret_err);
            close(fd);
            return -1;
        }
        if (is_still_there(fd, path))
            return fd;
        close(fd);
    }
}

/* For people; who holds the lock is what counts. What is there is written over, which needs no
 * room. */
static bool number_write(int fd, const char *deed)
{
    char text[64];
    int n =
        snprintf(text, sizeof text, "%d%s%s\n", (int)getpid(), deed ? " " : "", deed ? deed : "");
    CHECK(n > 0 && (size_t)n < sizeof text);
    return fchmod(fd, 0644) == 0 && pwrite(fd, text, (size_t)n, 0) == n && ftruncate(fd, n) == 0;
}

static bool file_lock(struct pid_file *f, const char *path, const char *deed, struct err *ret_err)
{
    f->path = NULL;
    f->fd = lock_take(path, ret_err);
    if (f->fd < 0)
        return false;
    if (!number_write(f->fd, deed) && !room_is_missing(errno)) {
        file_error(ret_err, "write", path);
        close(f->fd);
        f->fd = -1;
        return false;
    }
    f->path = xstrdup(path);
    return true;
}

bool pid_file_lock(struct pid_file *f, const char *path, struct err *ret_err)
{
    f->dir_fd = -1;
    return file_lock(f, path, NULL, ret_err);
}

/* Is it locked (flock) by a process of ours? One that ended may have left its lock to others: it is
 * nobody's of ours. Where that cannot be found out: yes. */
static bool lock_is_ours(int fd)
{
    char line[256], kind[16];
    unsigned long long node;
    long pid;
    struct stat st;
    bool seen = false, ours = false;
    FILE *f = fstat(fd, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        /* Its device is not always the one that stat tells (btrfs). */
        if (sscanf(line, "%*s %15s %*s %*s %ld %*x:%*x:%llu", kind, &pid, &node) != 3 ||
            strcmp(kind, "FLOCK") != 0 || node != st.st_ino || pid <= 0)
            continue;
        seen = true;
        ours |= kill((pid_t)pid, 0) == 0 && !is_stranger((pid_t)pid);
    }
    if (f)
        fclose(f);
    return !seen || ours;
}

/* A file can be removed under its holder, and the next one would lock a new file of that name; the
 * directory is the same for both. File systems that have no such lock (some of networks) do not
 * keep anybody from starting, nor do locks of others. */
static bool dir_lock(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return !lock_is_ours(fd);
}

/* Who has the directory, as far as its file says. */
static bool dir_is_taken(const char *path, struct err *ret_err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool told = fd >= 0 && lock_holder(fd) > 0;
    if (told)
        taken_say(fd, path, ret_err);
    if (fd >= 0)
        close(fd);
    if (told)
        return false;
    return err_set(ret_err, ERR_EXISTS,
                   "%s was removed while its process runs, which puts it back within seconds: try "
                   "again then",
                   path);
}

bool pid_file_lock_dir(struct pid_file *f, const char *path, struct err *ret_err)
{
    return pid_file_lock_for(f, path, NULL, ret_err);
}

bool pid_file_lock_for(struct pid_file *f, const char *path, const char *deed, struct err *ret_err)
{
    char *dir = xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    *f = (struct pid_file){.fd = -1, .dir_fd = -1};
    if (fd < 0)
        return file_error(ret_err, "write", path);
    bool ok = dir_lock(fd) ? file_lock(f, path, deed, ret_err) : dir_is_taken(path, ret_err);
    if (ok)
        f->dir_fd = fd;
    else
        close(fd);
    return ok;
}

bool pid_file_keep(struct pid_file *f, struct err *ret_err)
{
    struct pid_file again = {.fd = -1};
    if (is_still_there(f->fd, f->path) || !file_lock(&again, f->path, NULL, ret_err))
        return false;
    close(f->fd);
    free(f->path);
    f->fd = again.fd;
    f->path = again.path;
    return true;
}

bool pid_file_dir_gone(const struct pid_file *f)
{
    struct stat st;
    return fstat(f->dir_fd, &st) == 0 && st.st_nlink == 0;
}

void pid_file_drop(struct pid_file *f)
{
    if (!f->path)
        return;
    if (is_still_there(f->fd, f->path))
        unlink(f->path);
    close(f->fd);
    if (f->dir_fd >= 0)
        close(f->dir_fd);
    free(f->path);
    f->path = NULL;
}

void daemon_descriptors_raise(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}
