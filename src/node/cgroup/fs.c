#include "node/cgroup/fs.h"
#include "base/alloc.h"
#include "io/process/groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FREEZE_TRIES 50
#define FREEZE_MS    2
#define DEPTH_MAX    6 /* node, job, step, task */

static int file_open(const char *dir, const char *file, int flags)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return open(path, flags | O_CLOEXEC);
}

/* Closes fd. */
static bool text_put(int fd, const char *text)
{
    if (fd < 0)
        return false;
    ssize_t n = write(fd, text, strlen(text));
    int saved = errno;
    close(fd);
    errno = saved;
    return n == (ssize_t)strlen(text);
}

/* Closes fd. */
static bool text_get(int fd, char *buffer, size_t size)
{
    if (fd < 0)
        return false;
    ssize_t n = read(fd, buffer, size - 1);
    close(fd);
    if (n < 0)
        return false;
    buffer[n] = '\0';
    return true;
}

bool cgroup_put(const char *dir, const char *file, const char *text)
{
    ASSERT(dir[0] == '/' && !strchr(file, '/'));
    return text_put(file_open(dir, file, O_WRONLY), text);
}

bool cgroup_put_at(int dir_fd, const char *file, const char *text)
{
    return text_put(openat(dir_fd, file, O_WRONLY | O_CLOEXEC), text);
}

bool cgroup_put_number(const char *dir, const char *file, int64_t value)
{
    ASSERT(dir[0] == '/');
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return cgroup_put(dir, file, text);
}

bool cgroup_get(const char *dir, const char *file, char *buffer, size_t size)
{
    ASSERT(dir[0] == '/' && size > 0);
    return text_get(file_open(dir, file, O_RDONLY), buffer, size);
}

bool cgroup_get_at(int dir_fd, const char *file, char *buffer, size_t size)
{
    ASSERT(size > 0);
    return text_get(openat(dir_fd, file, O_RDONLY | O_CLOEXEC), buffer, size);
}

bool cgroup_has(const char *dir, const char *file)
{
    ASSERT(dir[0] == '/');
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return access(path, F_OK) == 0;
}

int64_t cgroup_number(const char *text, const char *key)
{
    ASSERT(key[0]);
    size_t len = strlen(key);
    for (const char *line = text; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return strtoll(line + len + 1, NULL, 10);
    return -1;
}

bool cgroup_make(const char *dir)
{
    ASSERT(dir[0] == '/');
    return mkdir(dir, 0755) == 0 || errno == EEXIST;
}

/* ---- groups in groups ---- */

/* Calls fn for each group in this one. */
static void inner_each(const char *dir, int depth,
                       void (*fn)(const char *inner, int depth, void *ctx), void *ctx)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d = depth < DEPTH_MAX ? opendir(dir) : NULL;
    while (d && (e = readdir(d))) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        fn(path, depth + 1, ctx);
    }
    if (d)
        closedir(d);
}

static void remove_below(const char *dir, int depth, void *ctx)
{
    inner_each(dir, depth, remove_below, ctx);
    rmdir(dir);
}

bool cgroup_remove(const char *dir)
{
    ASSERT(dir[0] == '/');
    if (rmdir(dir) == 0)
        return true;
    remove_below(dir, 0, NULL);
    return access(dir, F_OK) != 0 && errno == ENOENT;
}

struct fs_processes {
    void (*fn)(void *ctx, pid_t pid);
    void *ctx;
    size_t n;
};

/* Numbers may be cut by the end of what one read gives. */
static void processes_add(const char *dir, int depth, void *ctx)
{
    struct fs_processes *p = ctx;
    char buffer[4096];
    long pid = 0;
    ssize_t n;
    int fd = file_open(dir, "cgroup.procs", O_RDONLY);
    while (fd >= 0 && (n = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (buffer[i] >= '0' && buffer[i] <= '9') {
                pid = 10 * pid + (buffer[i] - '0');
                continue;
            }
            if (pid > 1) {
                p->n++;
                p->fn(p->ctx, (pid_t)pid);
            }
            pid = 0;
        }
    if (fd >= 0)
        close(fd);
    inner_each(dir, depth, processes_add, ctx);
}

size_t cgroup_each_process(const char *dir, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
    struct fs_processes p = {fn, ctx, 0};
    processes_add(dir, 0, &p);
    return p.n;
}

/* Is it in that group, "/remuda.n1.1/g42.1", or one below? Other groups are not looked at. */
static bool process_is_in(pid_t pid, const char *group)
{
    char name[40], text[16384];
    size_t len = strlen(group);
    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    bool found = false;
    if (!text_get(fd, text, sizeof text))
        return false;
    for (const char *at = text; !found && (at = strstr(at, group)); at++)
        found = at[len] == '\n' || at[len] == '/';
    return found;
}

/* Its number may be another's since the list was read: by a handle the process gets the signal that
 * was looked at. Without handles (before Linux 5.3) a moment remains. */
static void kill_one(void *ctx, pid_t pid)
{
    const char *group = ctx;
    int handle = (int)syscall(SYS_pidfd_open, pid, 0), why = handle < 0 ? errno : 0;
    bool is_in = !group || process_is_in(pid, group);
    if (is_in && handle >= 0)
        syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0);
    else if (is_in && why != ESRCH)
        kill(pid, SIGKILL);
    if (handle >= 0)
        close(handle);
}

size_t cgroup_kill_each(const char *dir)
{
    ASSERT(dir[0] == '/');
    return cgroup_each_process(dir, kill_one, strstr(dir, "/" CGROUP_NAME_START));
}

bool cgroup_kill_whole(const char *dir)
{
    return cgroup_put(dir, "cgroup.kill", "1");
}

bool cgroup_freeze(const char *dir, bool frozen)
{
    ASSERT(dir[0] == '/');
    char state[32];
    if (!cgroup_put(dir, "freezer.state", frozen ? "FROZEN" : "THAWED"))
        return false;
    for (int i = 0; frozen && i < FREEZE_TRIES; i++) {
        if (cgroup_get(dir, "freezer.state", state, sizeof state) &&
            strncmp(state, "FROZEN", 6) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = FREEZE_MS * 1000000}, NULL);
    }
    return !frozen;
}
