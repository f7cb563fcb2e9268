#include "node/cgroup/measure.h"

#include "node/cgroup/fs.h"

#include <stdlib.h>
#include <string.h>

static int64_t less(int64_t all, int64_t part)
{
    return all < 0 ? -1 : part > 0 && part <= all ? all - part : all;
}

void group_memory_read(const struct step_cgroup *c, struct group_memory *ret)
{
    char text[8192], number[64];
    int fd = step_cgroup_fd(c, c->memory);
    bool v2 = c->memory == c->v2;
    *ret = (struct group_memory){-1, -1, -1};
    if (fd < 0 || !cgroup_get_at(fd, "memory.stat", text, sizeof text))
        return;
    int64_t own = cgroup_number(text, v2 ? "anon" : "total_rss"),
            shared = cgroup_number(text, v2 ? "shmem" : "total_shmem"),
            cache = cgroup_number(text, v2 ? "file" : "total_cache");
    ret->rss_bytes = own < 0 ? -1 : own + (shared > 0 ? shared : 0);
    ret->cache_bytes = less(cache, shared);
    if (!v2)
        ret->swap_bytes = cgroup_number(text, "total_swap");
    else if (cgroup_get_at(fd, "memory.swap.current", number, sizeof number))
        ret->swap_bytes = strtoll(number, NULL, 10);
}

int64_t group_pressure_us(const struct step_cgroup *c, const char *file)
{
    char text[256];
    int fd = step_cgroup_fd(c, c->v2);
    if (fd < 0 || !cgroup_get_at(fd, file, text, sizeof text) || strncmp(text, "some ", 5) != 0)
        return -1;
    const char *total = strstr(text, "total=");
    return total ? strtoll(total + 6, NULL, 10) : -1;
}
