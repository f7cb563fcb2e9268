/* A user may have descriptors by the million, in as many processes as he likes, and looking through
 * them takes longer than an answer may. So each user's processes have a part of the time, of what
 * those before left over, and of whom it was not enough that is told. Root's, which are in the
 * looks of all, come first and have half of it. */
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

/* False: the time was not enough. */
static bool processes_list(struct openers_walk *w, int64_t until_ms)
{
    struct dirent *e;
    bool in_time = true;
    DIR *proc = w->nfiles > 0 ? opendir("/proc") : NULL;
    while (proc && in_time && (e = readdir(proc))) {
        in_time = bounded_now_ms() < until_ms;
        struct candidate c = {
            .pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0};
        if (c.pid > 0 && c.pid != getpid() && gpu_holder_user(c.pid, &c.uid) &&
            (c.uid == 0 || is_one_of(c.uid, w->ask->users, w->ask->nusers)))
            vec_push(&w->process, c);
    }
    if (proc)
        closedir(proc);
    return in_time;
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

/* Where he is first among them. */
static size_t first_of(const struct gpu_holders_ask *ask, size_t user)
{
    size_t first = 0;
    while (ask->users[first] != ask->users[user])
        first++;
    return first;
}

static bool is_looked_at(const struct gpu_holders_ask *ask, size_t user)
{
    return ask->users[user] != 0 && first_of(ask, user) == user;
}

static void users_look(struct openers_walk *w, int64_t end_ms, enum gpu_holders_cut *ret_cut)
{
    int64_t left = 0;
    for (size_t i = 0; i < w->ask->nusers; i++)
        left += is_looked_at(w->ask, i);
    for (size_t i = 0; i < w->ask->nusers; i++) {
        int64_t now_ms = bounded_now_ms();
        if (!is_looked_at(w->ask, i)) {
            size_t first = first_of(w->ask, i);
            ret_cut[i] = first < i ? ret_cut[first] : GPU_HOLDERS_ALL;
            continue;
        }
        ret_cut[i] = user_look(w, w->ask->users[i], now_ms + (end_ms - now_ms) / left--)
                         ? GPU_HOLDERS_ALL
                         : GPU_HOLDERS_CUT_USER;
    }
}

void gpu_holders_each(
    struct gpu_holders *m, const struct gpu_holders_ask *ask, enum gpu_holders_cut *ret_cut,
    void (*fn)(void *ctx, const struct gpu_holder *h, const struct device_number *file), void *ctx)
{
    ASSERT(ask && (ret_cut || ask->nusers == 0));
    struct openers_walk w = {.memory = m, .ask = ask, .fn = fn, .ctx = ctx};
    int64_t end_ms = bounded_now_ms() + ask->wait_ms;
    w.nfiles = ask->n < GPU_FILES_MAX ? ask->n : GPU_FILES_MAX;
    if (processes_list(&w, end_ms) && user_look(&w, 0, end_ms - ask->wait_ms / 2))
        users_look(&w, end_ms, ret_cut);
    else
        for (size_t i = 0; i < ask->nusers; i++)
            ret_cut[i] = GPU_HOLDERS_CUT_SYSTEM;
    vec_done(&w.process);
}
