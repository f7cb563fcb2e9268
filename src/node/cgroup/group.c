/* The groups of a job come with its first step on the node. Steps start and end beside each other
 * without speaking: whoever makes a step's group makes that of the job too, sets the job's limits
 * (always the same), and begins again if another took the job's group away in between. A job's
 * group outlives its steps, which often follow each other, for some seconds: then the node daemon
 * removes it, which fails while a step is there. */
#include "node/cgroup/group.h"

#include "base/alloc.h"
#include "node/cgroup/base.h"
#include "node/cgroup/charged.h"
#include "node/cgroup/device_filter.h"
#include "node/cgroup/fs.h"
#include "node/step/shortage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAKE_TRIES   20
#define REMOVE_TRIES 10
#define REMOVE_MS    2

/* One controller's group of a step, and that of its job. */
struct group_making {
    const char *controller;
    const char *base;
    char job[PATH_MAX], step[PATH_MAX];
};

/* "42.1.batch" is in "42.1". */
static bool paths_find(struct group_making *m, const char *controller, const char *base,
                       const char *name)
{
    const char *dot = strrchr(name, '.');
    m->controller = controller;
    m->base = base;
    return dot &&
           (size_t)snprintf(m->job, sizeof m->job, "%s/%.*s", base, (int)(dot - name), name) <
               sizeof m->job &&
           (size_t)snprintf(m->step, sizeof m->step, "%.3000s/%s", m->job, name) < sizeof m->step;
}

static bool is_unified(const char *controller)
{
    return text_starts(controller, "unified:");
}

static bool controls(const char *controller, const char *which)
{
    return strcmp(controller, which) == 0 || cgroup_unified_has(controller, which);
}

/* A group without a use would only cost time. */
static bool group_wanted(const char *controller, const struct cgroup_limits *l)
{
    if (strcmp(controller, "cpuset") == 0)
        return l->cpus != NULL;
    if (strcmp(controller, "devices") == 0)
        return l->deny != NULL;
    if (strcmp(controller, "pids") == 0)
        return l->pids > 0;
    return true;
}

/* ---- limits ---- */

/* Version 1 limits memory, and memory and swap together, which must not be less: that is first in
 * the way of a memory limit that is raised. */
static bool v1_memory_put(const char *dir, int64_t bytes, int64_t swap_plus1,
                          int64_t swappiness_plus1)
{
    if (swappiness_plus1 > 0)
        cgroup_put_number(dir, "memory.swappiness", swappiness_plus1 - 1);
    if (bytes <= 0)
        return true;
    bool ok = cgroup_put_number(dir, "memory.limit_in_bytes", bytes);
    if (swap_plus1 > 0)
        cgroup_put_number(dir, "memory.memsw.limit_in_bytes", bytes + swap_plus1 - 1);
    return ok || cgroup_put_number(dir, "memory.limit_in_bytes", bytes);
}

static bool v2_memory_put(const char *dir, int64_t bytes, int64_t swap_plus1)
{
    if (bytes > 0 && swap_plus1 > 0)
        cgroup_put_number(dir, "memory.swap.max", swap_plus1 - 1);
    return bytes <= 0 || cgroup_put_number(dir, "memory.max", bytes);
}

static bool memory_put(const struct group_making *m, const char *dir, int64_t bytes,
                       int64_t swap_plus1, int64_t swappiness_plus1)
{
    return is_unified(m->controller) ? v2_memory_put(dir, bytes, swap_plus1)
                                     : v1_memory_put(dir, bytes, swap_plus1, swappiness_plus1);
}

/* Version 2 hands controllers down group by group. False: the kernel has no room for it. */
static bool controllers_pass_on(const struct group_making *m)
{
    static const char *const which[] = {"memory", "cpuset", "pids"};
    char word[16];
    for (size_t i = 0; i < ARRAY_LEN(which); i++) {
        snprintf(word, sizeof word, "+%s", which[i]);
        if (cgroup_unified_has(m->controller, which[i]) &&
            !cgroup_put(m->job, "cgroup.subtree_control", word) && shortage_is(errno))
            return false;
    }
    return true;
}

/* False: the kernel has no room for it. What it refuses for good is done without: memory is sampled
 * then (*ret_limited). */
static bool job_limits_put(const struct group_making *m, const struct cgroup_limits *l,
                           bool *ret_limited)
{
    *ret_limited =
        !controls(m->controller, "memory") ||
        memory_put(m, m->job, l->job_mem_bytes, l->job_swap_bytes_plus1, l->swappiness_plus1);
    if (!*ret_limited && shortage_is(errno))
        return false;
    if (l->pids > 0 && controls(m->controller, "pids") &&
        !cgroup_put_number(m->job, "pids.max", l->pids) && shortage_is(errno))
        return false;
    return controllers_pass_on(m);
}

/* True when this group hides the devices from now on. */
static bool devices_hide(bool program, const char *dir, const char *deny)
{
    struct device_number number[DEVICE_DENY_MAX];
    size_t n = device_numbers_parse(deny, number);
    errno = EINVAL;
    if (n == SIZE_MAX)
        return false;
    return program ? device_filter_attach(dir, number, n) : device_filter_write(dir, number, n);
}

static bool step_limits_put(struct step_cgroup *c, const struct group_making *m,
                            const struct cgroup_limits *l)
{
    bool hides = l->deny && !c->hides &&
                 (is_unified(m->controller) || strcmp(m->controller, "devices") == 0);
    if (hides && !(c->hides = devices_hide(is_unified(m->controller), m->step, l->deny)) &&
        shortage_is(errno))
        return false;
    if (l->cpus && controls(m->controller, "cpuset") &&
        !cgroup_put(m->step, "cpuset.cpus", l->cpus) &&
        (!is_unified(m->controller) || shortage_is(errno)))
        return false;
    if (controls(m->controller, "memory"))
        return memory_put(m, m->step, l->step_mem_bytes, l->step_swap_bytes_plus1,
                          l->swappiness_plus1);
    return true;
}

/* ---- making ---- */

/* False: it is not there. */
static bool group_keep(struct step_cgroup *c, const struct group_making *m)
{
    int fd = open(m->step, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char *dir = xstrdup(m->step);
    c->fd[c->n] = fd;
    c->dir[c->n++] = dir;
    if (is_unified(m->controller))
        c->v2 = dir;
    if (controls(m->controller, "memory"))
        c->memory = dir;
    if (controls(m->controller, "pids"))
        c->pids = dir;
    if (strcmp(m->controller, "freezer") == 0)
        c->freezer = dir;
    return true;
}

/* Another step's end may take the job's group (or a daemon's end the base) away between two of
 * these. */
static bool groups_make(const struct group_making *m, const struct cgroup_limits *l,
                        bool *ret_limited)
{
    for (int i = 0; i < MAKE_TRIES; i++) {
        if ((cgroup_make(m->base), cgroup_make(m->job)) && job_limits_put(m, l, ret_limited) &&
            cgroup_make(m->step))
            return true;
        if (errno != ENOENT)
            return false;
    }
    return false;
}

/* False with errno: it is not there, or the kernel has no room for its limits. One whose limits it
 * refuses for good is done without. */
static bool one_make(struct step_cgroup *c, const struct group_making *m,
                     const struct cgroup_limits *l)
{
    bool limited;
    if (!groups_make(m, l, &limited))
        return false;
    bool put = step_limits_put(c, m, l);
    if (put && group_keep(c, m)) {
        if (controls(m->controller, "memory"))
            c->limits_memory = limited;
        return true;
    }
    int why = errno;
    rmdir(m->step);
    rmdir(m->job);
    errno = why;
    return !put && !shortage_is(why);
}

/* As they were made or taken, ready for processes. */
static void known_as(struct step_cgroup *c, const char *bases, const char *name)
{
    if (strlen(name) < sizeof c->name) {
        memcpy(c->name, name, strlen(name) + 1);
        c->bases = xstrdup(bases ? bases : "");
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->dir[i] != c->v2)
            cgroup_files_tasks(&c->files, i, c->fd[i]);
}

bool step_cgroup_make(struct step_cgroup *c, const char *bases, const char *name,
                      const struct cgroup_limits *limits)
{
    ASSERT(name[0] && !strchr(name, '/'));
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX];
    struct group_making m;
    memset(c, 0, sizeof *c);
    while (c->n < STEP_CGROUP_MAX &&
           cgroup_base_next(&rest, controller, sizeof controller, base, sizeof base))
        if (group_wanted(controller, limits) && paths_find(&m, controller, base, name) &&
            !one_make(c, &m, limits)) {
            int why = errno;
            step_cgroup_remove(c);
            errno = why;
            return false;
        }
    known_as(c, bases, name);
    return true;
}

/* ---- used again ----
 *
 * Making and removing groups costs a short step more than anything but its own program. */

void step_cgroup_name(int64_t group, int64_t part, char name[CGROUP_NAME_BYTES])
{
    snprintf(name, CGROUP_NAME_BYTES, "g%lld.%lld", (long long)group, (long long)part);
}

bool step_cgroup_name_parse(const char *name, int64_t *ret_group, int64_t *ret_part)
{
    char *end;
    if (name[0] != 'g')
        return false;
    *ret_group = strtoll(name + 1, &end, 10);
    if (*end != '.')
        return false;
    *ret_part = strtoll(end + 1, &end, 10);
    return !*end;
}

void step_cgroup_close(struct step_cgroup *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->dir[i]);
        close(c->fd[i]);
    }
    cgroup_files_close(&c->files);
    free(c->bases);
    memset(c, 0, sizeof *c);
}

/* The limits are the same, so the same groups are wanted. */
static bool kept_take(struct step_cgroup *c, struct step_cgroup *kept, const char *bases,
                      const char *name)
{
    char text[64];
    bool same = kept->bases && strcmp(kept->name, name) == 0 && text_is(bases, kept->bases);
    if (same && kept->memory) /* who reads in a group that was removed is told so */
        same = cgroup_file_get(&kept->files, CGROUP_CHARGED, step_cgroup_fd(kept, kept->memory),
                               kept->memory == kept->v2, text, sizeof text);
    if (same) {
        *c = *kept;
        memset(kept, 0, sizeof *kept);
    }
    return same;
}

bool step_cgroup_take(struct step_cgroup *c, struct step_cgroup *kept, const char *bases,
                      const char *name, const struct cgroup_limits *limits)
{
    if (kept_take(c, kept, bases, name))
        return true;
    step_cgroup_close(kept);
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX];
    struct group_making m;
    bool ok = true;
    memset(c, 0, sizeof *c);
    while (ok && c->n < STEP_CGROUP_MAX &&
           cgroup_base_next(&rest, controller, sizeof controller, base, sizeof base)) {
        if (!group_wanted(controller, limits))
            continue;
        ok = paths_find(&m, controller, base, name) && group_keep(c, &m);
    }
    c->hides = limits->deny != NULL;
    c->limits_memory = c->memory != NULL;
    if (ok)
        known_as(c, bases, name);
    else
        step_cgroup_close(c);
    return ok;
}

void step_cgroup_open(struct step_cgroup *c, const char *bases, const char *name)
{
    ASSERT(!strchr(name, '/'));
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX];
    struct group_making m;
    memset(c, 0, sizeof *c);
    while (c->n < STEP_CGROUP_MAX &&
           cgroup_base_next(&rest, controller, sizeof controller, base, sizeof base))
        if (paths_find(&m, controller, base, name))
            group_keep(c, &m);
}

/* ---- removing ---- */

/* Processes that were just waited for may still be counted. */
static void group_remove_soon(const char *dir)
{
    for (int i = 0; i < REMOVE_TRIES && !cgroup_remove(dir); i++)
        nanosleep(&(struct timespec){.tv_nsec = REMOVE_MS * 1000000}, NULL);
}

void step_cgroup_remove(struct step_cgroup *c)
{
    for (size_t i = 0; i < c->n; i++)
        group_remove_soon(c->dir[i]);
    step_cgroup_close(c);
}

/* ---- what is in them ---- */

int64_t step_cgroup_rss(const struct step_cgroup *c)
{
    return c->memory ? cgroup_rss(step_cgroup_fd(c, c->memory), c->memory == c->v2) : -1;
}

int64_t step_cgroup_peak(const struct step_cgroup *c, int64_t limit)
{
    char text[64];
    if (!c->memory ||
        !cgroup_get_at(step_cgroup_fd(c, c->memory),
                       c->memory == c->v2 ? "memory.peak" : "memory.max_usage_in_bytes", text,
                       sizeof text))
        return -1;
    int64_t peak = strtoll(text, NULL, 10);
    return limit > 0 && peak > limit ? limit : peak;
}

int64_t step_cgroup_oom_kills(struct step_cgroup *c)
{
    char text[1024];
    if (!c->memory || !cgroup_file_get(&c->files, CGROUP_KILLS, step_cgroup_fd(c, c->memory),
                                       c->memory == c->v2, text, sizeof text))
        return 0;
    int64_t n = cgroup_number(text, "oom_kill");
    return n > 0 ? n : 0;
}

/* Each group counts for itself and those below. */
bool step_cgroup_limits_hit(const struct step_cgroup *c, bool *ret_step, bool *ret_job)
{
    char text[1024];
    int fd = step_cgroup_fd(c, c->memory);
    if (!c->memory || c->memory != c->v2 || !cgroup_get_at(fd, "memory.events", text, sizeof text))
        return false;
    *ret_step = cgroup_number(text, "oom") > 0;
    if (!cgroup_get_at(fd, "../memory.events", text, sizeof text))
        return false;
    *ret_job = cgroup_number(text, "oom") > 0;
    return true;
}

static void process_pass(void *ctx, pid_t pid)
{
    (void)ctx;
    (void)pid;
}

bool step_cgroup_has_process(const struct step_cgroup *c)
{
    return c->n > 0 && cgroup_each_process(c->v2 ? c->v2 : c->dir[0], process_pass, NULL) > 0;
}

bool step_cgroup_freeze(const struct step_cgroup *c, bool frozen)
{
    return (c->v2 && cgroup_put(c->v2, "cgroup.freeze", frozen ? "1" : "0")) ||
           (c->freezer && cgroup_freeze(c->freezer, frozen));
}

bool step_cgroup_kill(const struct step_cgroup *c)
{
    if (c->v2 && cgroup_kill_whole(c->v2))
        return true;
    /* Whoever is frozen cannot fork; whoever may have no more processes cannot either. */
    bool held = (c->freezer && cgroup_freeze(c->freezer, true)) ||
                (c->pids && cgroup_put(c->pids, "pids.max", "0"));
    for (size_t i = 0; i < c->n; i++)
        cgroup_kill_each(c->dir[i]);
    if (c->freezer)
        cgroup_freeze(c->freezer, false);
    return held;
}
