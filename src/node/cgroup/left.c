/* What steps left of their control groups. Those that are nobody's any more are removed; only where
 * it is known that they are, what runs in them is ended, too. */
#include "base/alloc.h"
#include "node/cgroup/base.h"
#include "node/cgroup/fs.h"
#include "node/cgroup/group.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define END_TIMES    100
#define END_PAUSE_US 2000

struct tidying {
    bool (*is_known)(void *ctx, const char *name);
    void *ctx;
    size_t *ended; /* NULL: none are */
};

/* Who was being born is met the next time; who is frozen by version 1 dies when it is no more. */
static size_t group_end(const char *dir)
{
    size_t first = cgroup_kill_each(dir);
    cgroup_put(dir, "freezer.state", "THAWED");
    for (int i = 0; i < END_TIMES && cgroup_kill_each(dir) > 0; i++)
        usleep(END_PAUSE_US);
    return first;
}

static void job_tidy(const char *job, const struct tidying *t)
{
    int64_t group, part;
    char dir[PATH_MAX];
    struct dirent *e;
    DIR *d = opendir(job);
    while (d && (e = readdir(d))) {
        if (e->d_type != DT_DIR || e->d_name[0] == '.' || t->is_known(t->ctx, e->d_name))
            continue;
        snprintf(dir, sizeof dir, "%.3000s/%s", job, e->d_name);
        if (t->ended && step_cgroup_name_parse(e->d_name, &group, &part))
            *t->ended += group_end(dir);
        cgroup_remove(dir);
    }
    if (d)
        closedir(d);
    rmdir(job);
}

static void bases_tidy(const char *bases, const struct tidying *t)
{
    struct span rest = span_of(bases);
    char controller[300], base[PATH_MAX], job[PATH_MAX];
    struct dirent *e;
    while (cgroup_base_next(&rest, controller, sizeof controller, base, sizeof base)) {
        DIR *d = opendir(base);
        while (d && (e = readdir(d)))
            if (e->d_type == DT_DIR && e->d_name[0] != '.') {
                snprintf(job, sizeof job, "%.3000s/%s", base, e->d_name);
                job_tidy(job, t);
            }
        if (d)
            closedir(d);
    }
}

void step_cgroups_tidy(const char *bases, bool (*is_known)(void *ctx, const char *name), void *ctx)
{
    bases_tidy(bases, &(struct tidying){is_known, ctx, NULL});
}

size_t step_cgroups_end(const char *bases, bool (*is_known)(void *ctx, const char *name), void *ctx)
{
    size_t ended = 0;
    bases_tidy(bases, &(struct tidying){is_known, ctx, &ended});
    return ended;
}
