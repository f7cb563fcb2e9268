/* The shepherd was a subreaper; without it orphans belong to init, and only what they carry tells
 * whose they were: their control group, and their environment. */
#include "node/daemon/clear.h"
#include "base/alloc.h"

#include "node/cgroup/group.h"
#include "node/step/proc_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRIES    100
#define TRY_MS   10
#define TREE_MAX 4096u

static bool environment_has(const char *pid, const char *tag)
{
    char path[64];
    struct str text = STR_INIT;
    char piece[16384];
    ssize_t n = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
        str_addn(&text, piece, (size_t)n);
    if (fd >= 0)
        close(fd);
    for (const char *at = text.data; !found && at && at < text.data + text.len;
         at += strlen(at) + 1)
        found = strcmp(at, tag) == 0;
    str_done(&text);
    return found;
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
        if (!isdigit((unsigned char)e->d_name[0]) || !environment_has(e->d_name, tag))
            continue;
        kill_with_descendants((pid_t)strtol(e->d_name, NULL, 10));
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
