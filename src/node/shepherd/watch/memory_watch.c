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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHARE_WAIT_MS  5000 /* of a process with hundreds of GiB it takes seconds */
#define SHARES_WAIT_MS 10000

struct memory_part {
    long long bytes;
    int exact;
};

static int64_t share_of(const void *ctx, size_t i)
{
    const pid_t *pids = ctx;
    return proc_share_bytes(pids[i]);
}

/* 0 if it is gone. */
static int64_t seeming_bytes(pid_t pid)
{
    struct proc_usage u;
    return proc_usage(pid, &u) ? u.rss_bytes : 0;
}

/* A process that does not let it be found out has what it seems to have, and so have those for
 * which it leaves no time, and of which the kernel does not tell. False: it was not found out this
 * time, through no fault of theirs. */
static bool shares_sum(const pid_t *pids, size_t n, long long *ret_sum)
{
    int64_t *share = xcalloc(n + 1, sizeof *share);
    int left_ms = SHARES_WAIT_MS;
    bool known = true, is_late = false;
    for (size_t i = 0; i < n && known;) {
        enum apart how = APART_LATE;
        if (left_ms > 0)
            how = ask_apart_each(share_of, pids, n, SHARE_WAIT_MS, &left_ms, &i, share);
        if (how == APART_ANSWERED)
            continue;
        is_late |= left_ms > 0; /* by itself */
        known = how == APART_LATE && is_late;
        share[i++] = -1;
    }
    *ret_sum = 0;
    for (size_t i = 0; i < n; i++)
        *ret_sum += share[i] >= 0 ? share[i] : seeming_bytes(pids[i]);
    free(share);
    return known;
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
        mine.exact = shares_sum(pids, n, &mine.bytes);
    if (!mine.exact)
        mine.bytes = rss_bytes;
    if (p->job_mem_bytes > 0)
        part_leave(p, steps_fd, mine);
    if ((step_over || job_over) && !mine.exact)
        return false;
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
