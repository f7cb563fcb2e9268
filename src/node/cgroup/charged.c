#include "node/cgroup/charged.h"

#include "base/str.h"
#include "node/cgroup/fs.h"

#include <stdio.h>
#include <stdlib.h>

int64_t cgroup_number_in(int dir_fd, const char *file)
{
    char text[64];
    return cgroup_get_at(dir_fd, file, text, sizeof text) ? strtoll(text, NULL, 10) : -1;
}

static int64_t number_of(int dir_fd, bool parent, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", parent ? "../" : "", file);
    return cgroup_number_in(dir_fd, path);
}

/* By kinds: memory.stat, and in version 1 what the kernel has for the group in a file of its own.
 * -1 where one of them is not told (version 2 before 5.18). */
static int64_t charged_by_kind(int dir_fd, bool v2, bool parent)
{
    char text[8192];
    if (!cgroup_get_at(dir_fd, parent ? "../memory.stat" : "memory.stat", text, sizeof text))
        return -1;
    int64_t files = cgroup_number(text, v2 ? "file" : "total_cache"),
            own = cgroup_number(text, v2 ? "anon" : "total_rss"),
            kernel = v2 ? cgroup_number(text, "kernel")
                        : number_of(dir_fd, parent, "memory.kmem.usage_in_bytes");
    return files < 0 || own < 0 || kernel < 0 ? -1 : files + own + kernel;
}

int64_t cgroup_charged(int dir_fd, bool v2, bool parent, int64_t all)
{
    int64_t kinds = charged_by_kind(dir_fd, v2, parent);
    return kinds >= 0 && kinds < all ? kinds : all;
}

int64_t cgroup_rss(int dir_fd, bool v2)
{
    char text[8192];
    if (!cgroup_get_at(dir_fd, "memory.stat", text, sizeof text))
        return -1;
    int64_t own = cgroup_number(text, v2 ? "anon" : "total_rss"),
            shared = cgroup_number(text, v2 ? "shmem" : "total_shmem");
    return own < 0 ? -1 : own + (shared > 0 ? shared : 0);
}

int64_t cgroup_kept(int dir_fd, bool v2)
{
    int64_t rss = cgroup_rss(dir_fd, v2), swapped = 0;
    if (v2)
        swapped = cgroup_number_in(dir_fd, "memory.swap.current");
    else if (cgroup_number_in(dir_fd, "memory.memsw.usage_in_bytes") >= 0)
        swapped = cgroup_number_in(dir_fd, "memory.memsw.usage_in_bytes") -
                  cgroup_number_in(dir_fd, "memory.usage_in_bytes");
    return rss < 0 || swapped < 0 ? rss : rss + swapped;
}
