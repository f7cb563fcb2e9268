/* Control groups of version 2 in a tree of plain files that behaves like them: a directory made in
 * it has the control files, one that is removed needs not be emptied of them, and controllers are
 * handed down only from groups without processes. mkdir, rmdir and open are this program's own for
 * paths in the tree. */
#ifndef REMUDA_TESTS_CGROUP_HELP_H
#define REMUDA_TESTS_CGROUP_HELP_H

#include "unit.h"

#include "base/alloc.h"
#include "io/process/groups.h"
#include "node/cgroup/base.h"
#include "node/cgroup/fs.h"
#include "node/cgroup/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char tree[64], mounts[96], own[96];
/* a group with processes was to hand down controllers: that fails, or makes a threaded tree of
 * it. */
static bool spoiled;

static const char *subtree_gives; /* the controllers that can be had */

static const char *const files[] = {
    "cgroup.procs",  "cgroup.type",  "cgroup.controllers", "cgroup.subtree_control",
    "cgroup.kill",   "memory.max",   "memory.swap.max",    "memory.stat",
    "memory.events", "memory.peak",  "memory.current",     "cpuset.cpus",
    "pids.max",      "pids.current", "cgroup.freeze"};

/* What ends so, a directory to be made or a file to be written, is refused so often. */
static struct {
    const char *end;
    int why, times;
} refusal;

static inline bool is_ours(const char *path)
{
    return tree[0] && strncmp(path, tree, strlen(tree)) == 0;
}

static inline void file_fill(const char *dir, const char *name, const char *text)
{
    char path[4096];
    assert_in_range(snprintf(path, sizeof path, "%s/%s", dir, name), 1, sizeof path - 1);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *file_text(const char *dir, const char *name)
{
    static char text[256];
    return cgroup_get(dir, name, text, sizeof text) ? text : "";
}

static inline bool is_refused(const char *path)
{
    size_t len = strlen(path), end = refusal.end ? strlen(refusal.end) : 0;
    if (!end || len < end || strcmp(path + len - end, refusal.end) != 0 || refusal.times <= 0)
        return false;
    refusal.times--;
    errno = refusal.why;
    return true;
}

int mkdir(const char *path, mode_t mode)
{
    if (is_ours(path) && is_refused(path))
        return -1;
    int r = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (r == 0 && is_ours(path))
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
            file_fill(path, files[i],
                      strcmp(files[i], "cgroup.controllers") == 0 ? "cpuset memory pids\n" : "");
    return r;
}

int rmdir(const char *path)
{
    if (is_ours(path) && file_text(path, "cgroup.procs")[0]) {
        errno = EBUSY;
        return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(files) && is_ours(path); i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, files[i]);
        unlink(file);
    }
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

/* "+memory" is added to what is there. */
static inline int subtree_open(const char *path)
{
    char dir[4096];
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = '\0';
    if (file_text(dir, "cgroup.procs")[0]) {
        spoiled = true;
        errno = EBUSY;
        return -1;
    }
    file_fill(dir, "cgroup.subtree_control", subtree_gives);
    return (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC, 0);
}

static inline int any_open(const char *path, int flags, unsigned mode)
{
    bool writes = (flags & O_ACCMODE) == O_WRONLY && is_ours(path);
    if (writes && is_refused(path))
        return -1;
    if (writes && strstr(path, "cgroup.subtree_control"))
        return subtree_open(path);
    if (writes && strstr(path, "remuda-daemons/cgroup.procs")) {
        char from[4096];
        snprintf(from, sizeof from, "%.*s", (int)(strstr(path, "/remuda-daemons") - path), path);
        file_fill(from, "cgroup.procs", ""); /* who enters one group leaves the other */
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | (writes ? O_TRUNC : 0), mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
    va_end(args);
    return any_open(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
    va_end(args);
    if ((flags & O_ACCMODE) == O_WRONLY && is_refused(path))
        return -1;
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

/* ---- the world ---- */

static inline int setup(void **state)
{
    char line[256];
    (void)state;
    tree[0] = '\0';
    char made[] = "/tmp/cgroup-test-XXXXXX";
    assert_non_null(mkdtemp(made));
    snprintf(mounts, sizeof mounts, "%s/mounts", made);
    snprintf(own, sizeof own, "%s/own", made);
    snprintf(line, sizeof line, "cgroup2 %s/cg cgroup2 rw 0 0\n", made);
    file_fill(made, "mounts", line);
    file_fill(made, "own", "0::/user/me\n");
    snprintf(tree, sizeof tree, "%s/cg", made);
    assert_int_equal(mkdir(tree, 0755), 0);
    snprintf(line, sizeof line, "%s/user", tree);
    assert_int_equal(mkdir(line, 0755), 0);
    snprintf(line, sizeof line, "%s/user/me", tree);
    assert_int_equal(mkdir(line, 0755), 0);
    spoiled = false;
    memset(&refusal, 0, sizeof refusal);
    subtree_gives = "cpuset memory pids\n";
    return 0;
}

static inline int teardown(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %.*s", (int)(strrchr(tree, '/') - tree), tree);
    return system(command);
}

static const char *in_tree(const char *path)
{
    static char full[4096];
    snprintf(full, sizeof full, "%s/%s", tree, path);
    return full;
}

static inline struct cgroup_bases bases_of(bool is_root, const char *former)
{
    struct cgroup_system sys = {.mounts = mounts, .own = own, .is_root = is_root, .pids = 300};
    struct cgroup_bases b;
    cgroup_bases_make(&b, &sys, "n1.1", former);
    return b;
}

#endif
