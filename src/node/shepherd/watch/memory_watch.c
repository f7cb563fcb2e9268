/* Steps of one job know of each other by the file "memory" in their directories: "BYTES EXACT",
 * EXACT 1 when the bytes count what is shared in parts. A sum with inexact parts may be too high;
 * each shepherd that sees a sum over the limit measures its own part exactly, so after one more
 * sample of each the sum is true. */
#include "node/shepherd/watch/memory_watch.h"

#include "base/alloc.h"
#include "node/shepherd/apart.h"
#include "node/step/dir.h"
#include "node/step/proc_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHARES_WAIT_MS 10000 /* of processes with hundreds of GiB it takes seconds */

struct memory_part {
    long long bytes;
    int exact;
};

struct memory_shares {
    const pid_t *pids;
    size_t n;
};

static int64_t shares_add(const void *ctx)
{
    const struct memory_shares *s = ctx;
    int64_t sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        int64_t bytes = proc_share_bytes(s->pids[i]);
        sum += bytes > 0 ? bytes : 0;
    }
    return sum;
}

/* Whose processes do not let it be found out has what it seems to have. */
static int64_t shares_sum(const pid_t *pids, size_t n, int64_t rss_bytes)
{
    const struct memory_shares s = {pids, n};
    int64_t sum;
    return ask_apart(shares_add, &s, SHARES_WAIT_MS, &sum) ? sum : rss_bytes;
}

static void part_leave(const struct step_plan *p, int steps_fd, struct memory_part mine)
{
    char path[320], text[48];
    snprintf(path, sizeof path, "%s/memory", p->dir_name);
    snprintf(text, sizeof text, "%lld %d\n", mine.bytes, mine.exact);
    small_file_write(steps_fd, path, text, strlen(text), 0600);
}

static bool part_read(int steps_fd, const char *name, struct memory_part *ret)
{
    char path[320];
    struct str text = STR_INIT;
    snprintf(path, sizeof path, "%.255s/memory", name);
    bool ok = step_dir_alive(steps_fd, name) && small_file_read(steps_fd, path, 64, &text);
    /* It is being written: nothing is known, least of all that it is small. */
    if (ok && sscanf(str_text(&text), "%lld %d", &ret->bytes, &ret->exact) != 2)
        *ret = (struct memory_part){0, 0};
    str_done(&text);
    return ok;
}

struct others {
    int64_t sum;
    bool all_exact, any_larger;
};

/* The other steps of the job on this node. */
static struct others others_sum(const struct step_plan *p, int steps_fd, int64_t mine)
{
    struct others o = {0, true, false};
    const char *dot = strrchr(p->dir_name, '.');
    size_t len = dot ? (size_t)(dot + 1 - p->dir_name) : 0;
    struct dirent *e;
    struct memory_part part;
    int fd = openat(steps_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    while (d && len && (e = readdir(d))) {
        if (strncmp(e->d_name, p->dir_name, len) != 0 || strcmp(e->d_name, p->dir_name) == 0 ||
            !part_read(steps_fd, e->d_name, &part))
            continue;
        o.sum += part.bytes;
        o.all_exact &= part.exact != 0;
        o.any_larger |=
            part.bytes > mine || (part.bytes == mine && strcmp(e->d_name, p->dir_name) < 0);
    }
    if (d)
        closedir(d);
    return o;
}

bool memory_watch(struct memory_watch *w, const struct step_plan *p, int steps_fd,
                  const pid_t *pids, size_t n, int64_t rss_bytes)
{
    ASSERT(pids || n == 0);
    struct memory_part mine = {rss_bytes, 0};
    struct others others = {0, true, false};
    if (p->job_mem_bytes > 0)
        others = others_sum(p, steps_fd, mine.bytes);
    bool step_over = p->mem_limit_bytes > 0 && mine.bytes > p->mem_limit_bytes;
    bool job_over = p->job_mem_bytes > 0 && mine.bytes + others.sum > p->job_mem_bytes;
    if (step_over || job_over)
        mine = (struct memory_part){shares_sum(pids, n, rss_bytes), 1};
    if (p->job_mem_bytes > 0)
        part_leave(p, steps_fd, mine);
    if (step_over && mine.bytes > p->mem_limit_bytes) {
        *w = (struct memory_watch){mine.bytes, p->mem_limit_bytes, false};
        return true;
    }
    if (!job_over)
        return false;
    others = others_sum(p, steps_fd, mine.bytes);
    if (!others.all_exact || others.any_larger || mine.bytes + others.sum <= p->job_mem_bytes)
        return false;
    /* It is about to be free: no other has to end for it. */
    part_leave(p, steps_fd, (struct memory_part){0, 1});
    *w = (struct memory_watch){mine.bytes + others.sum, p->job_mem_bytes, true};
    return true;
}
