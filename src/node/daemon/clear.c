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

static void kill_with_descendants(pid_t pid)
{
    pid_t below[TREE_MAX];
    size_t n = proc_tree(pid, below, TREE_MAX);
    kill(pid, SIGKILL);
    for (size_t i = 0; i < n; i++)
        kill(below[i], SIGKILL);
}

static size_t tagged_kill(const char *tag)
{
    struct dirent *e;
    size_t n = 0;
    DIR *proc = opendir("/proc");
    while (proc && (e = readdir(proc))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;
        if (pid <= 0 || !environment_has(pid, tag))
            continue;
        kill_with_descendants(pid);
        n++;
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
