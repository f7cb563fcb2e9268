#include "io/process/groups.h"

#include "base/alloc.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GROUP_PATH_MAX 4096

bool groups_are_of_job(const char *text)
{
    for (const char *at = text; (at = strstr(at, "/" CGROUP_NAME_START)); at++) {
        const char *in = at + 1 + strcspn(at + 1, "/\n");
        if (in[0] == '/' && in[1] == 'g' && isdigit((unsigned char)in[2]))
            return true;
    }
    return false;
}

bool groups_left_job(const char *text)
{
    return !groups_are_of_job(text) && strstr(text, "/user@");
}

/* Where the hierarchy is mounted that has this version 1 controller ("" = version 2). */
static bool mount_find(const char *controller, char *dir, size_t size)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char text[GROUP_PATH_MAX];
    bool found = false;
    while (mounts && !found && getmntent_r(mounts, &entry, text, sizeof text))
        found = *controller ? text_is(entry.mnt_type, "cgroup") && hasmntopt(&entry, controller)
                            : text_is(entry.mnt_type, "cgroup2");
    if (found)
        found = (size_t)snprintf(dir, size, "%s", entry.mnt_dir) < size;
    if (mounts)
        endmntent(mounts);
    return found;
}

/* A line "4:memory,pids:/remuda.node1/g17/3": where that is in the file system. False: no job's, or
 * not mounted here. */
static bool line_dir(char *line, char *dir, size_t size)
{
    char mounted[GROUP_PATH_MAX];
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path || !groups_are_of_job(path))
        return false;
    *path++ = '\0';
    controllers++;
    controllers[strcspn(controllers, ",")] = '\0';
    path[strcspn(path, "\n")] = '\0';
    return mount_find(controllers, mounted, sizeof mounted) &&
           (size_t)snprintf(dir, size, "%s%s", mounted, path) < size;
}

size_t groups_of_process(pid_t pid, bool (*fn)(void *ctx, const char *dir), void *ctx,
                         struct err *ret_err)
{
    char name[64], line[GROUP_PATH_MAX], dir[2 * GROUP_PATH_MAX];
    size_t n = 0;
    bool more = true;
    snprintf(name, sizeof name, "/proc/%ld/cgroup", (long)pid);
    FILE *from = fopen(name, "re");
    while (from && more && fgets(line, sizeof line, from))
        if (line_dir(line, dir, sizeof dir)) {
            n++;
            more = fn(ctx, dir);
        }
    if (from)
        fclose(from);
    if (!n)
        err_set(ret_err, ERR_NOT_FOUND, "process %ld is in no control group of a job", (long)pid);
    return n;
}

#define GROUPS_MAX 32 /* hierarchies: version 1 has a dozen */

struct entering {
    uid_t owner; /* of the process whose groups these are */
    char *dir[GROUPS_MAX];
    size_t n;
    struct err *err;
    bool failed;
};

/* Who made a directory below a group that was lent to him (systemd's user@.service) chose its name,
 * and is not held by it: the groups of jobs are the node daemon's, root's as we are. */
static bool dir_is_ours(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static bool one_note(void *ctx, const char *dir)
{
    struct entering *e = ctx;
    if (e->n == GROUPS_MAX || !dir_is_ours(dir)) {
        err_set(e->err, ERR_DENIED, "%s is no group that the node made for a job", dir);
        e->failed = true;
        return false;
    }
    e->dir[e->n++] = xstrdup(dir);
    return true;
}

static bool one_enter(const char *dir, pid_t pid, struct err *ret_err)
{
    char name[2UL * GROUP_PATH_MAX + sizeof "/cgroup.procs"];
    snprintf(name, sizeof name, "%s/cgroup.procs", dir);
    FILE *to = fopen(name, "we");
    bool written = to && fprintf(to, "%ld", (long)pid) > 0;
    if (to && fclose(to) != 0)
        written = false;
    return written || err_set(ret_err, ERR_UNAVAILABLE, "%s: %s", name, strerror(errno));
}

/* /proc/PID is its owner's; a process whose memory is closed to him is taken for root's. */
static bool process_is_of(pid_t pid, uid_t owner)
{
    char name[64];
    struct stat st;
    snprintf(name, sizeof name, "/proc/%ld", (long)pid);
    return stat(name, &st) == 0 && st.st_uid == owner;
}

/* Its number may be another's by the time its groups are read: a handle tells that it lived on. */
static bool groups_note(struct entering *e, pid_t like)
{
    int handle = (int)syscall(SYS_pidfd_open, like, 0U);
    bool known = handle >= 0 && process_is_of(like, e->owner) &&
                 groups_of_process(like, one_note, e, e->err) && !e->failed;
    if (known && syscall(SYS_pidfd_send_signal, handle, 0, NULL, 0U) != 0)
        known = false;
    if (handle >= 0)
        close(handle);
    if (!known && !e->err->code)
        err_set(e->err, ERR_NOT_FOUND, "process %ld is gone, or not of user %ld", (long)like,
                (long)e->owner);
    return known;
}

bool groups_enter(pid_t pid, pid_t like, uid_t owner, struct err *ret_err)
{
    struct entering e = {.owner = owner, .err = ret_err};
    bool entered = groups_note(&e, like);
    for (size_t i = 0; i < e.n; i++) {
        entered = entered && one_enter(e.dir[i], pid, ret_err);
        free(e.dir[i]);
    }
    return entered;
}
