/* A user may have descriptors by the million, in as many processes as he likes, and looking through
 * them takes longer than an answer may. So each user's processes have a part of the time, of what
 * those before left over, and of whom it was not enough that is told. Root's, which are in the
 * looks of all, come first and have half of what the list of all processes left. Others, who may
 * have been sent what the job had open, come next, so that who had it leaves them time, and have
 * little: one of them could make everybody wait for GPUs else, or keep these.
 *
 * A process's descriptors are its first thread's only by custom: another may have a table of its
 * own, and the first may have ended, with which the process seems to have none. Which threads have
 * the same table the kernel compares, but not while the process executes a program, which it can
 * draw out; then each thread's are looked through. */
#include "node/hardware/gpu_holders.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "node/hardware/amd/bounded.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOCK_EACH   256  /* descriptors or threads between two looks at the clock */
#define COMPARE_PART 2    /* of a user's time is for comparing tables */
#define OTHERS_MS    1000 /* or, if that is less, … */
#define OTHERS_PART  4    /* … this part of what is left */

struct candidate {
    pid_t pid;
    uid_t uid;
    unsigned threads;
};

/* Of descriptors, of this thread of the process. */
struct table {
    pid_t pid, thread;
};

struct tables {
    VEC(struct table) of;
};

struct openers_walk {
    struct gpu_holders *memory;
    const struct gpu_holders_ask *ask;
    size_t nfiles;
    VEC(struct candidate) process; /* of the users that are asked for, of others, and root's */
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
        if (c.pid > 0 && c.pid != getpid() && gpu_holder_user(c.pid, &c.uid, &c.threads) &&
            (c.uid == 0 || is_one_of(c.uid, w->ask->users, w->ask->nusers) ||
             is_one_of(c.uid, w->ask->others, w->ask->nothers)))
            vec_push(&w->process, c);
    }
    if (proc)
        closedir(proc);
    return in_time;
}

/* Marks those of the files that this thread has open; false: the time was not enough. Other files
 * of its, which may be on file systems that do not answer, are not asked for anew. */
static bool open_files(const struct openers_walk *w, pid_t pid, pid_t thread, int64_t until_ms,
                       bool *ret_open)
{
    ASSERT(w->nfiles > 0);
    const struct device_number *files = w->ask->files;
    char path[64];
    struct dirent *e;
    bool in_time = true;
    if (thread == pid) /* the shorter way, which is nearly all that is gone */
        snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    else
        snprintf(path, sizeof path, "/proc/%ld/task/%ld/fd", (long)pid, (long)thread);
    DIR *fds = opendir(path);
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

/* A process's threads but the first; false: the time was not enough. */
static bool threads_list(pid_t pid, int64_t until_ms, struct tables *inout)
{
    char path[64];
    struct dirent *e;
    bool in_time = true;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *tasks = opendir(path);
    for (size_t seen = 1; tasks && in_time && (e = readdir(tasks)); seen++) {
        pid_t thread =
            isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : pid;
        in_time = seen % CLOCK_EACH != 0 || bounded_now_ms() < until_ms;
        if (thread != pid)
            vec_push(&inout->of, ((struct table){pid, thread}));
    }
    if (tasks)
        closedir(tasks);
    return in_time;
}

struct comparison {
    size_t n;
    struct table of[];
};

/* Leaves out threads that have the table of the one before. Of which it cannot be known, they may
 * have their own. */
static void tables_compare(void *ctx)
{
    struct comparison *c = ctx;
    pid_t before = 0;
    size_t kept = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->of[i].thread == c->of[i].pid ||
            syscall(SYS_kcmp, before, c->of[i].thread, KCMP_FILES, 0, 0) != 0) {
            before = c->of[i].thread;
            c->of[kept++] = c->of[i];
        }
    c->n = kept;
}

static void tables_tell_apart(struct openers_walk *w, uid_t uid, int64_t until_ms,
                              struct tables *inout)
{
    size_t bytes = inout->of.n * sizeof inout->of.v[0];
    struct comparison *c = xmalloc(sizeof *c + bytes);
    *c = (struct comparison){inout->of.n};
    memcpy(c->of, inout->of.v, bytes);
    if (!gpu_holders_ask(w->memory, uid, until_ms, tables_compare, c))
        return;
    memcpy(inout->of.v, c->of, c->n * sizeof c->of[0]);
    inout->of.n = c->n;
    free(c);
}

/* All that this user's processes have: it is compared once for all of them, for on a busy machine a
 * thread's turn is long in coming. False: the time was not enough. */
static bool tables_list(struct openers_walk *w, uid_t uid, int64_t until_ms, struct tables *ret)
{
    bool in_time = true;
    size_t processes = 0;
    for (size_t i = 0; i < w->process.n && in_time; i++) {
        const struct candidate *c = &w->process.v[i];
        if (c->uid != uid)
            continue;
        processes++;
        vec_push(&ret->of, ((struct table){c->pid, c->pid}));
        in_time =
            bounded_now_ms() < until_ms && (c->threads == 1 || threads_list(c->pid, until_ms, ret));
    }
    int64_t now_ms = bounded_now_ms();
    if (in_time && ret->of.n > processes)
        tables_tell_apart(w, uid, now_ms + (until_ms - now_ms) / COMPARE_PART, ret);
    return in_time;
}

/* False: the time was not enough for all of this user's. */
static bool user_look(struct openers_walk *w, uid_t uid, int64_t until_ms)
{
    bool is_open[GPU_FILES_MAX];
    struct tables tables = {0};
    bool in_time = tables_list(w, uid, until_ms, &tables);
    for (size_t i = 0; i < tables.of.n && in_time;) {
        struct gpu_holder h;
        bool found = false;
        pid_t pid = tables.of.v[i].pid;
        memset(is_open, 0, w->nfiles * sizeof *is_open);
        for (; i < tables.of.n && tables.of.v[i].pid == pid && in_time; i++)
            in_time = bounded_now_ms() < until_ms &&
                      open_files(w, pid, tables.of.v[i].thread, until_ms, is_open);
        for (size_t k = 0; k < w->nfiles; k++)
            if (is_open[k] && (found = found || gpu_holder_find(w->memory, pid, &h)))
                w->fn(w->ctx, &h, &w->ask->files[k]);
    }
    vec_done(&tables.of);
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

static void others_look(struct openers_walk *w, int64_t end_ms)
{
    int64_t now_ms = bounded_now_ms(), part_ms = (end_ms - now_ms) / OTHERS_PART;
    end_ms = now_ms + (part_ms < OTHERS_MS ? part_ms : OTHERS_MS);
    for (size_t i = 0; i < w->ask->nothers; i++) {
        uid_t uid = w->ask->others[i];
        now_ms = bounded_now_ms();
        if (uid != 0 && !is_one_of(uid, w->ask->users, w->ask->nusers))
            user_look(w, uid, now_ms + (end_ms - now_ms) / (int64_t)(w->ask->nothers - i));
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
    bool listed = processes_list(&w, end_ms);
    int64_t now_ms = bounded_now_ms();
    if (listed && user_look(&w, 0, now_ms + (end_ms - now_ms) / 2)) {
        others_look(&w, end_ms);
        users_look(&w, end_ms, ret_cut);
    } else {
        for (size_t i = 0; i < ask->nusers; i++)
            ret_cut[i] = GPU_HOLDERS_CUT_SYSTEM;
    }
    vec_done(&w.process);
}
