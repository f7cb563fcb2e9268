/* The place of a container: a directory that the tasks of a step on one machine have together, or
 * with --container-name those of all steps of a job. Its files:
 *
 *   make     locked by who makes or takes away what is in it
 *   use      locked, shared, by each task that runs in it: while it lives, nobody takes it away
 *   ready    is there once everything is made; a maker that was killed leaves none, and the next
 *            begins anew
 *   runtime  the path of the program that made it
 *   step     the step that made it
 *   failed   why it could not
 *
 * and what the runtime keeps there. All places of a user lie in a directory that is the user's
 * alone, one below it for each machine, as several may have the file system, and each cluster. */
#include "cli/container/container.h"

#include "base/rng.h"
#include "base/str.h"
#include "cli/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FILES 16    /* while a directory is removed */
#define FILE_READ  65536 /* bytes of a file in a place */

/* ---- directories of one's own ---- */

/* Made if it is not there. What is there must be the user's own, and shut to all others: whoever
 * may write in the directory above could have made it. */
static bool own_directory(const char *path, struct err *e)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set(e, ERR_UNAVAILABLE, "cannot make %s: %s; REMUDA_CONTAINER_DIR names another",
                       path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool known = fd >= 0 && fstat(fd, &st) == 0;
    if (fd >= 0)
        close(fd);
    if (!known)
        return err_set(e, ERR_UNAVAILABLE, "cannot use %s: %s", path, strerror(errno));
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(e, ERR_DENIED,
                       "%s is not used: it belongs to somebody else, or others may look into it; "
                       "REMUDA_CONTAINER_DIR names another",
                       path);
    return true;
}

/* Whoever may rename in it could put another directory in place of the user's. */
static bool parent_check(const char *path, struct err *e)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    mode_t others = S_IWGRP | S_IWOTH;
    if (there && st.st_gid == (gid_t)geteuid() && st.st_gid == getegid())
        others = S_IWOTH; /* the user's own group, as many systems give each one */
    if (!there || ((st.st_uid == 0 || st.st_uid == geteuid()) &&
                   (!(st.st_mode & others) || (st.st_mode & S_ISVTX))))
        return true;
    return err_set(
        e, ERR_DENIED,
        "%s is not used for containers: others may rename what is in it; "
        "REMUDA_CONTAINER_DIR names a directory of yours, or of root's with a sticky bit",
        path);
}

bool container_top_open(struct container *c, struct err *ret_err)
{
    const char *asked = getenv("REMUDA_CONTAINER_DIR");
    const char *parent = text_empty(asked) ? "/var/tmp" : asked;
    const char *base = arena_printf(c->a, "%s/remuda-containers-%u", parent, (unsigned)geteuid());
    if (base[0] != '/' || strpbrk(base, " \t\r\n\"'\\`$,:"))
        return err_set(
            ret_err, ERR_INVALID,
            "REMUDA_CONTAINER_DIR=%s: a path that begins with /, without blanks, quotes, "
            "commas and colons",
            base);
    /* Components of one job have the same job and step, and may have different images. */
    uint64_t image = hash_text(HASH_INIT, c->ask.image);
    /* Of another cluster's jobs nobody could say whether they are over. */
    uint64_t cluster = hash_text(HASH_INIT, state_dir_find(NULL, c->a));
    c->top = arena_printf(c->a, "%s/%s-%08x", base, c->host, (unsigned)(cluster >> 32));
    c->place = c->wish.name ? arena_printf(c->a, "%s.name.%s", c->job, c->wish.name)
                            : arena_printf(c->a, "%s.%s.%016llx", c->job, c->step,
                                           (unsigned long long)image);
    c->dir = arena_printf(c->a, "%s/%s", c->top, c->place);
    return parent_check(parent, ret_err) && own_directory(base, ret_err) &&
           own_directory(c->top, ret_err);
}

/* What cannot be removed keeps nothing else; the locks stay until the end. */
static int one_remove(const char *path, const struct stat *st, int what, struct FTW *at)
{
    const char *name = path + at->base;
    (void)st;
    (void)what;
    if (at->level > 1 || (at->level == 1 && !text_is(name, "make") && !text_is(name, "use")))
        (void)remove(path);
    return 0;
}

/* Images have directories that their owner may not write in. */
static int one_open(const char *path, const struct stat *st, int what, struct FTW *at)
{
    (void)at;
    if ((what == FTW_D || what == FTW_DNR) && (st->st_mode & 0700) != 0700)
        (void)chmod(path, 0700);
    return 0;
}

/* Empties a place but for its locks; it is not ready from the first moment. */
static void tree_empty(struct arena *a, const char *path)
{
    unlink(arena_printf(a, "%s/ready", path));
    nftw(path, one_open, OPEN_FILES, FTW_PHYS | FTW_MOUNT);
    nftw(path, one_remove, OPEN_FILES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- files ---- */

const char *container_file(const struct container *c, const char *name)
{
    return arena_printf(c->a, "%s/%s", c->dir, name);
}

bool container_file_write(const struct container *c, const char *name, const char *text,
                          struct err *ret_err)
{
    const char *path = container_file(c, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t len = strlen(text);
    ssize_t n = fd >= 0 ? write(fd, text, len) : -1;
    bool ok = n == (ssize_t)len;
    int why = n < 0 ? errno : ENOSPC;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    return ok || err_set(ret_err, ERR_UNAVAILABLE, "cannot write %s: %s", path, strerror(why));
}

static const char *read_of(const struct container *c, const char *place, const char *name)
{
    const char *path = arena_printf(c->a, "%s/%s/%s", c->top, place, name);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *text = arena_alloc(c->a, FILE_READ + 1);
    ssize_t n = fd >= 0 ? read(fd, text, FILE_READ) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

const char *container_text(const struct container *c, const char *name)
{
    return read_of(c, c->place, name);
}

const char *container_line(const struct container *c, const char *place, const char *name)
{
    struct span rest = span_of(read_of(c, place, name)), line = {"", 0};
    span_next(&rest, '\n', &line);
    return arena_strndup(c->a, line.data, line.len);
}

long container_number(const struct container *c, const char *name)
{
    int64_t n;
    return text_to_i64(container_line(c, c->place, name), 0, INT32_MAX, &n) ? (long)n : -1;
}

/* ---- locks ---- */

static int lock_open(const struct container *c, const char *place, const char *file)
{
    const char *path = arena_printf(c->a, "%s/%s/%s", c->top, place, file);
    return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int container_lock_try(const struct container *c, const char *place, const char *file)
{
    int fd = lock_open(c, place, file);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Is it the file that is there, and not one of a place that was taken away while we waited? */
static bool is_there(int fd, const char *path)
{
    struct stat have, there;
    return fstat(fd, &have) == 0 && lstat(path, &there) == 0 && have.st_ino == there.st_ino &&
           have.st_dev == there.st_dev;
}

/* The place's lock of makers, once nobody else has it; the place is there. -1 with errno. */
static int make_lock(const struct container *c)
{
    for (;;) {
        if (mkdir(c->dir, 0700) != 0 && errno != EEXIST)
            return -1;
        int fd = lock_open(c, c->place, "make");
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return -1;
        while (flock(fd, LOCK_EX) != 0)
            if (errno != EINTR)
                return close(fd), -1;
        if (is_there(fd, container_file(c, "make")))
            return fd;
        close(fd);
    }
}

/* ---- making ---- */

/* The runtime that made the place, whatever is asked for now. False: its program is not there,
 * neither where it was nor elsewhere; c->runtime is told all the same, NULL = none. */
static bool runtime_of(struct container *c, const char *place, struct err *e)
{
    struct container of = *c;
    const char *made = container_line(c, place, "runtime"), *slash = strrchr(made, '/');
    of.runtime = NULL;
    of.wish = (struct container_wish){0};
    bool found =
        made[0] ? c->runtime_find(&of, made, e) || (slash && c->runtime_find(&of, slash + 1, e))
                : err_set(e, ERR_UNAVAILABLE, "%s/%s does not say what made it", c->top, place);
    c->runtime = of.runtime;
    c->path = of.path;
    return found;
}

/* False: the runtime keeps something that its program alone could take away; nothing is done. */
static bool place_empty(const struct container *c, const char *place)
{
    struct container of = *c;
    bool found = runtime_of(&of, place, NULL);
    if (of.runtime && of.runtime->forget && !found)
        return false;
    if (of.runtime && of.runtime->forget)
        of.runtime->forget(&of, place);
    tree_empty(c->a, arena_printf(c->a, "%s/%s", c->top, place));
    return true;
}

/* The lock of makers goes last: whoever waits for it sees that it is not the one that is there. */
void container_place_remove(const struct container *c, const char *place)
{
    if (!place_empty(c, place))
        return;
    unlink(arena_printf(c->a, "%s/%s/use", c->top, place));
    unlink(arena_printf(c->a, "%s/%s/make", c->top, place));
    (void)rmdir(arena_printf(c->a, "%s/%s", c->top, place));
}

static bool is_ready(const struct container *c)
{
    return access(container_file(c, "ready"), F_OK) == 0;
}

/* Whoever has the lock makes the place anew: what is there is half made, or is to be replaced. */
static bool place_make(struct container *c, struct err *e)
{
    const struct container_image *i = &c->wish.image;
    if (c->wish.use == CONTAINER_EXEC || (!i->name && !i->path))
        return err_set(e, ERR_NOT_FOUND,
                       "--container-name=%s: this job has no container of that name on node %s; "
                       "--container-image makes one%s",
                       c->wish.name, c->host,
                       c->wish.use == CONTAINER_EXEC ? " where :exec is left out" : "");
    place_empty(c, c->place);
    return container_file_write(c, "runtime", c->path, e) &&
           container_file_write(c, "step", c->step, e) &&
           (!c->runtime->make || c->runtime->make(c, e)) && container_file_write(c, "ready", "", e);
}

/* Where it failed, the other tasks of the step need not try, one after the other, too. */
static bool has_failed(const struct container *c, struct err *e)
{
    const char *why = container_line(c, c->place, "failed");
    if (!why[0] || !text_is(container_line(c, c->place, "step"), c->step))
        return false;
    err_set(e, ERR_UNAVAILABLE, "there is no container: %s", why);
    return true;
}

static bool made_or_failed(struct container *c, struct err *e)
{
    struct err why = {0};
    if (has_failed(c, e))
        return false;
    if (place_make(c, &why))
        return true;
    place_empty(c, c->place); /* half an image may be what fills the disk */
    container_file_write(c, "step", c->step, NULL);
    container_file_write(c, "failed", why.text, NULL);
    if (e)
        *e = why;
    return false;
}

/* :create, and the container of that name is another step's. */
static bool is_to_be_replaced(struct container *c)
{
    return c->wish.use == CONTAINER_CREATE &&
           !text_is(container_line(c, c->place, "step"), c->step);
}

static bool replaceable(const struct container *c, struct err *e)
{
    int fd = container_lock_try(c, c->place, "use");
    if (fd < 0)
        return err_set(e, ERR_EXISTS,
                       "--container-name=%s: another step runs in the container of that name, so "
                       "no new one takes its place",
                       c->ask.name);
    close(fd);
    return true;
}

bool container_place_enter(struct container *c, struct err *ret_err)
{
    int lock = make_lock(c);
    bool ok = lock >= 0 ||
              err_set(ret_err, ERR_UNAVAILABLE, "cannot use %s: %s", c->dir, strerror(errno));
    if (ok && is_ready(c) && !is_to_be_replaced(c))
        ok = runtime_of(c, c->place, ret_err); /* what made it runs it */
    else if (ok)
        ok = (!is_ready(c) || replaceable(c, ret_err)) && made_or_failed(c, ret_err);
    if (ok) {
        c->use_fd = lock_open(c, c->place, "use");
        ok = (c->use_fd >= 0 && flock(c->use_fd, LOCK_SH) == 0) ||
             err_set(ret_err, ERR_UNAVAILABLE, "cannot use %s: %s", c->dir, strerror(errno));
    }
    if (lock >= 0)
        close(lock);
    return ok;
}

void container_place_leave(struct container *c)
{
    int lock = make_lock(c);
    close(c->use_fd);
    c->use_fd = -1;
    int alone = lock >= 0 && !c->wish.name ? container_lock_try(c, c->place, "use") : -1;
    if (alone >= 0) {
        container_place_remove(c, c->place);
        close(alone);
    }
    if (lock >= 0)
        close(lock);
}
