#include "io/process/groups.h"

#include "base/alloc.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
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

struct entering {
    pid_t pid;
    struct err *err;
    bool failed;
};

static bool one_enter(void *ctx, const char *dir)
{
    struct entering *e = ctx;
    char name[2UL * GROUP_PATH_MAX + sizeof "/cgroup.procs"];
    snprintf(name, sizeof name, "%s/cgroup.procs", dir);
    FILE *to = fopen(name, "we");
    bool written = to && fprintf(to, "%ld", (long)e->pid) > 0;
    if (to && fclose(to) != 0)
        written = false;
    if (!written) {
        err_set(e->err, ERR_UNAVAILABLE, "%s: %s", name, strerror(errno));
        e->failed = true;
    }
    return !e->failed;
}

bool groups_enter(pid_t pid, pid_t like, struct err *ret_err)
{
    struct entering e = {.pid = pid, .err = ret_err};
    return groups_of_process(like, one_enter, &e, ret_err) > 0 && !e.failed;
}
