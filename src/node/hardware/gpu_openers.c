/* A user may have descriptors by the million, in as many processes as he likes, and looking through
 * them takes longer than an answer may. So each user's processes have a part of the time, of what
 * those before left over, and of whom it was not enough that is told. */
#include "node/hardware/gpu_holders.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "node/hardware/amd/bounded.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLOCK_EACH 256 /* descriptors between two looks at the clock */

struct candidate {
    pid_t pid;
    uid_t uid;
};

struct openers_walk {
    struct gpu_holders *memory;
    const struct gpu_holders_ask *ask;
    size_t nfiles;
    VEC(struct candidate) process; /* of the users that are asked for, and root's */
    void (*fn)(void *ctx, const struct gpu_holder *h, const struct device_number *file);
    void *ctx;
};

static bool is_one_of(uid_t uid, const uid_t *users, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n && !found; i++)
        found = users[i] == uid;
    return found;
}

static void processes_list(struct openers_walk *w)
{
    struct dirent *e;
    DIR *proc = w->nfiles > 0 ? opendir("/proc") : NULL;
    while (proc && (e = readdir(proc))) {
        struct candidate c = {
            .pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0};
        if (c.pid > 0 && c.pid != getpid() && gpu_holder_user(c.pid, &c.uid) &&
            (c.uid == 0 || is_one_of(c.uid, w->ask->users, w->ask->nusers)))
            vec_push(&w->process, c);
    }
    if (proc)
        closedir(proc);
}

/* Marks those of the files that the process has open; false: the time was not enough. Other files
 * of its, which may be on file systems that do not answer, are not asked for anew. */
static bool open_files(const struct openers_walk *w, pid_t pid, int64_t until_ms, bool *ret_open)
{
    ASSERT(w->nfiles > 0);
    const struct device_number *files = w->ask->files;
    char path[64];
    struct dirent *e;
    bool in_time = true;
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *fds = opendir(path);
    memset(ret_open, 0, w->nfiles * sizeof *ret_open);
    for (size_t seen = 1; fds && in_time && (e = readdir(fds)); seen++) {
        struct statx st;
        in_time = seen % CLOCK_EACH != 0 || bounded_now_ms() < until_ms;
        if (!isdigit((unsigned char)e->d_name[0]) ||
            statx(dirfd(fds), e->d_name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) !=
                0 ||
            !S_ISCHR(st.stx_mode))
            continue;
        for (size_t i = 0; i < w->nfiles; i++)
            ret_open[i] |=
                st.stx_rdev_major == files[i].major && st.stx_rdev_minor == files[i].minor;
    }
    if (fds)
        closedir(fds);
    return in_time;
}

/* False: the time was not enough for all of this user's. */
static bool user_look(struct openers_walk *w, uid_t uid, int64_t until_ms)
{
    bool is_open[GPU_FILES_MAX], in_time = true;
    for (size_t i = 0; i < w->process.n && in_time; i++) {
        struct gpu_holder h;
        bool found = false;
        if (w->process.v[i].uid != uid || !(in_time = bounded_now_ms() < until_ms))
            continue;
        in_time = open_files(w, w->process.v[i].pid, until_ms, is_open);
        for (size_t k = 0; k < w->nfiles; k++)
            if (is_open[k] &&
                (found = found || gpu_holder_find(w->memory, w->process.v[i].pid, &h)))
                w->fn(w->ctx, &h, &w->ask->files[k]);
    }
    return in_time;
}

void gpu_holders_each(struct gpu_holders *m, const struct gpu_holders_ask *ask, bool *ret_cut,
                      void (*fn)(void *ctx, const struct gpu_holder *h,
                                 const struct device_number *file),
                      void *ctx)
{
    struct openers_walk w = {.memory = m, .ask = ask, .fn = fn, .ctx = ctx};
    w.nfiles = ask->n < GPU_FILES_MAX ? ask->n : GPU_FILES_MAX;
    processes_list(&w);
    int64_t begin_ms = bounded_now_ms(), end_ms = begin_ms + ask->wait_ms;
    /* Root's first: they are in the looks of all. */
    bool root_cut = !user_look(&w, 0, begin_ms + ask->wait_ms / (int64_t)(ask->nusers + 1));
    for (size_t i = 0; i < ask->nusers; i++) {
        int64_t now_ms = bounded_now_ms(), left = (int64_t)(ask->nusers - i);
        size_t same = 0;
        while (ask->users[same] != ask->users[i])
            same++;
        ret_cut[i] =
            same < i
                ? ret_cut[same]
                : root_cut || (ask->users[i] != 0 &&
                               !user_look(&w, ask->users[i], now_ms + (end_ms - now_ms) / left));
    }
    vec_done(&w.process);
}
