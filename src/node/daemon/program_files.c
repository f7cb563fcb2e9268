#include "node/daemon/program_files.h"

#include "base/arena.h"
#include "base/str.h"
#include "io/files.h"
#include "node/step/dir.h"
#include "node/step/proc_tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define END_LOOKS  100 /* for the ends of all of them together: one may be stuck in the kernel */
#define END_NAP_NS 10000000

static const char *programs_dir(const char *node_dir, struct arena *a)
{
    return arena_printf(a, "%s/programs", node_dir);
}

static const char *path_of(const char *node_dir, pid_t pid, uint64_t start, struct arena *a)
{
    return arena_printf(a, "%s/%ld.%" PRIu64, programs_dir(node_dir, a), (long)pid, start);
}

void program_file_put(const char *node_dir, const char *life, pid_t pid, uint64_t start)
{
    struct arena *a = arena_new();
    if (dir_make(programs_dir(node_dir, a), 0700, NULL))
        small_file_write(AT_FDCWD, path_of(node_dir, pid, start, a), life, strlen(life), 0600);
    arena_free(a);
}

void program_file_remove(const char *node_dir, pid_t pid, uint64_t start)
{
    struct arena *a = arena_new();
    unlink(path_of(node_dir, pid, start, a));
    arena_free(a);
}

/* The leader of a session is that of its group for as long as it lives. */
static bool left_end(pid_t pid, uint64_t start, int *looks)
{
    if (pid <= 1 || start == 0 || proc_start(pid) != start || getsid(pid) != pid ||
        kill(-pid, SIGKILL) != 0)
        return false;
    for (; *looks > 0 && proc_start(pid) == start; --*looks)
        nanosleep(&(struct timespec){.tv_nsec = END_NAP_NS}, NULL);
    return true;
}

int programs_left_end(const char *node_dir, const char *life)
{
    struct arena *a = arena_new();
    const char *dir = programs_dir(node_dir, a), **names;
    size_t n = 0;
    int ended = 0, looks = END_LOOKS;
    if (access(dir, F_OK) != 0 || !dir_list(dir, a, &names, &n, NULL))
        n = 0;
    for (size_t i = 0; i < n; i++) {
        const char *path = arena_printf(a, "%s/%s", dir, names[i]),
                   *of = file_read_text(path, 4096, a, NULL);
        long pid = 0;
        uint64_t start = 0;
        if (of && strcmp(of, life) == 0 && sscanf(names[i], "%ld.%" SCNu64, &pid, &start) == 2)
            ended += left_end((pid_t)pid, start, &looks);
        unlink(path);
    }
    arena_free(a);
    return ended;
}
