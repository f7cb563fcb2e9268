/* The shepherd was a subreaper; without it orphans belong to init, and only what they carry tells
 * whose they were: their control group, and their environment. */
#include "node/daemon/clear.h"
#include "base/alloc.h"

#include "node/cgroup/group.h"
#include "node/step/proc_environ.h"
#include "node/step/proc_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES    100
#define TRY_MS   10
#define TREE_MAX 4096u

struct tag_search {
    const char *tag;
    bool found;
};

static bool is_tag(void *ctx, const char *assignment)
{
    struct tag_search *s = ctx;
    s->found = text_is(assignment, s->tag);
    return !s->found;
}

static bool environment_has(pid_t pid, const char *tag)
{
    struct tag_search s = {.tag = tag};
    proc_environ_each(pid, PROC_ENVIRON_BYTES, is_tag, &s);
    return s.found;
}

/* Of that process, which had the tag while it was the one that began then. */
static bool kill_with_descendants(pid_t pid, uint64_t start)
{
    pid_t below[TREE_MAX];
    uint64_t starts[TREE_MAX];
    size_t n = proc_tree(pid, &(struct proc_list){below, NULL, starts, TREE_MAX});
    if (!proc_signal(pid, start, SIGKILL, NULL))
        return false; /* whose they are is not known either */
    for (size_t i = 0; i < n; i++)
        proc_signal(below[i], starts[i], SIGKILL, NULL);
    return true;
}

static size_t tagged_kill(const char *tag)
{
    struct dirent *e;
    size_t n = 0;
    DIR *proc = opendir("/proc");
    while (proc && (e = readdir(proc))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
        uint64_t start = pid > 0 ? proc_start(pid) : 0;
        n += start && environment_has(pid, tag) && kill_with_descendants(pid, start);
    }
    if (proc)
        closedir(proc);
    return n;
}

size_t clear_step(const char *cgroups, const char *name, const char *tag)
{
    ASSERT(!strchr(name, '/'));
    struct step_cgroup groups;
    size_t left = 1;
    step_cgroup_open(&groups, cgroups, name);
    for (int i = 0; i < TRIES && left > 0; i++) {
        step_cgroup_kill(&groups);
        left = tagged_kill(tag);
        if (left > 0)
            nanosleep(&(struct timespec){.tv_nsec = TRY_MS * 1000000L}, NULL);
    }
    step_cgroup_remove(&groups);
    return left;
}
