#include "controller/disk/backup.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "controller/disk/given.h"
#include "controller/disk/placing.h"
#include "controller/disk/state_line.h"
#include "controller/disk/switch.h"
#include "io/files.h"
#include "io/process/daemon.h"
#include "model/limits.h"
#include "store/file/backup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct backup_work {
    struct arena *a;
    const char *dir, *file;
    VEC(struct backup_file) files; /* a backup: what goes into it */
    ino_t store;                   /* a backup: the file that was copied */
    VEC(const char *) had;         /* a restore: names that the backup has */
    struct str lacked;             /* a restore: names that it has not, and were set aside */
    bool changes;                  /* a restore: some file is to be placed or set aside */
    struct err err;
};

static const char *in_dir(const struct backup_work *w, const char *name)
{
    return arena_printf(w->a, "%s/%s", w->dir, name);
}

static int finish(struct backup_work *w, const char *name, bool ok)
{
    if (!ok)
        fprintf(stderr, "%s: error: %s\n", name, w->err.text);
    vec_done(&w->files);
    vec_done(&w->had);
    str_done(&w->lacked);
    arena_free(w->a);
    return ok ? 0 : 1;
}

/* ---- backup ---- */

static bool file_add(struct backup_work *w, const char *name)
{
    struct str data = STR_INIT;
    struct stat st;
    if (stat(in_dir(w, name), &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    bool ok = file_read(in_dir(w, name), LIMIT_CONFIG_BYTES, &data, &w->err);
    struct backup_file f = {.name = arena_strdup(w->a, name), .mode = st.st_mode & 0777};
    f.data = (struct blob){arena_dup(w->a, data.len ? data.data : "", data.len), data.len};
    str_done(&data);
    vec_push(&w->files, f);
    return ok;
}

/* What is configured there, and the cluster's certificates and keys. */
static bool files_read(struct backup_work *w)
{
    const char **names;
    size_t n;
    bool ok = dir_list(w->dir, w->a, &names, &n, &w->err);
    for (size_t i = 0; ok && i < n; i++)
        if (placing_is_conf(names[i]))
            ok = file_add(w, names[i]);
    if (!ok || access(in_dir(w, "tls"), F_OK) != 0)
        return ok;
    ok = dir_list(in_dir(w, "tls"), w->a, &names, &n, &w->err);
    for (size_t i = 0; ok && i < n; i++)
        ok = file_add(w, arena_printf(w->a, "tls/%s", names[i]));
    return ok;
}

/* The files would be of another cluster than the store that was copied. */
static bool is_restored_meanwhile(const struct backup_work *w)
{
    struct stat st;
    return store_switch_is_open(w->dir, w->a) || stat(in_dir(w, "remuda.db"), &st) != 0 ||
           st.st_ino != w->store;
}

static bool files_find(void *ctx, const struct backup_file **ret, size_t *ret_n,
                       struct err *ret_err)
{
    struct backup_work *w = ctx;
    bool ok = files_read(w);
    if (ok && is_restored_meanwhile(w))
        ok = err_set(&w->err, ERR_UNAVAILABLE,
                     "%s is being restored, or that was cut off: `remuda restore` or `remuda up` "
                     "finishes it; then do this again",
                     w->dir);
    if (!ok) {
        *ret_err = w->err;
        return false;
    }
    *ret = w->files.v;
    *ret_n = w->files.n;
    return true;
}

int backup_main(int argc, char **argv)
{
    struct backup_work w = {.a = arena_new(), .lacked = STR_INIT};
    bool ok = state_line_read(argc, argv, w.a, &w.dir, &w.file, &w.err);
    struct stat st = {0};
    if (ok && stat(in_dir(&w, "remuda.db"), &st) != 0)
        ok =
            err_set(&w.err, ERR_NOT_FOUND, "there is no cluster in %s: %s", w.dir, strerror(errno));
    w.store = st.st_ino;
    ok = ok && backup_write(in_dir(&w, "remuda.db"), w.file, files_find, &w, &w.err);
    if (ok)
        printf("%s holds the cluster of %s: its store and %zu files.\n", w.file, w.dir, w.files.n);
    return finish(&w, "remuda backup", ok);
}

/* ---- restore ---- */

/* What others may write to is theirs; whatever the backup says. */
static mode_t mode_good(uint32_t mode)
{
    return mode & 0755;
}

static bool is_there(const struct backup_work *w, const struct backup_file *f)
{
    struct str now = STR_INIT;
    bool same = file_read(in_dir(w, f->name), LIMIT_CONFIG_BYTES, &now, NULL) &&
                now.len == f->data.len &&
                memcmp(str_text(&now), f->data.data ? f->data.data : "", now.len) == 0;
    str_done(&now);
    return same;
}

static bool file_write_beside(void *ctx, const struct backup_file *f)
{
    struct backup_work *w = ctx;
    if (!placing_name_is_good(f->name))
        return err_set(&w->err, ERR_INVALID, "%s holds a file \"%.100s\", which no backup has",
                       w->file, f->name);
    vec_push(&w->had, arena_strdup(w->a, f->name));
    if (is_there(w, f))
        return true;
    w->changes = true;
    return placing_put(w->dir, f->name, f->data.data, f->data.len, mode_good(f->mode), w->a,
                       &w->err);
}

static bool is_had(const struct backup_work *w, const char *name)
{
    for (size_t i = 0; i < w->had.n; i++)
        if (text_is(w->had.v[i], name))
            return true;
    return false;
}

/* What is configured by a file that came since would be of another cluster than the one restored.
 * The authority may stay: who is in says the store. */
static bool lacked_mark(struct backup_work *w)
{
    const char **names;
    size_t n;
    if (!dir_list(w->dir, w->a, &names, &n, &w->err))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!placing_name_is_good(names[i]) || text_is(names[i], "remuda.conf") ||
            is_had(w, names[i]))
            continue;
        if (!placing_leave(w->dir, names[i], w->a, &w->err))
            return false;
        str_addf(&w->lacked, "%s%s", w->lacked.len ? ", " : "", names[i]);
        w->changes = true;
    }
    return true;
}

/* Of the store that is there already no copy is kept in the place of what was there before it: the
 * same restore, done again, is none. */
static bool store_is_there(const struct backup_work *w, const char *fresh)
{
    struct stat st;
    bool log = stat(in_dir(w, "remuda.db-wal"), &st) == 0 && st.st_size > 0;
    return !log && file_same(fresh, in_dir(w, "remuda.db"));
}

/* Numbers go on behind those of the store that is replaced, which somebody may put back, also where
 * the file `given` is lost or is behind that one. */
static bool store_read(struct backup_work *w, const char *fresh, uint64_t *ret_seq,
                       uint64_t *ret_next)
{
    if (!backup_read(w->file, fresh, file_write_beside, w, ret_seq, ret_next, &w->err))
        return false;
    uint64_t own = *ret_seq;
    backup_overtake(in_dir(w, "remuda.db"), ret_seq, ret_next);
    *ret_seq -= *ret_seq > own; /* which it is itself, if it is put back at once */
    return true;
}

/* With the controller's lock held. */
static bool restore(struct backup_work *w)
{
    uint64_t seq, next;
    const char *aside, *fresh = in_dir(w, "remuda.db.restoring");
    const char *given = in_dir(w, "given");
    if (access(in_dir(w, "host.conf"), F_OK) == 0)
        return err_set(&w->err, ERR_EXISTS,
                       "%s is of a host that joined a cluster: `remuda leave` first, or choose "
                       "another directory with --state",
                       w->dir);
    if (!store_switch_finish(w->dir, w->a, NULL, &w->err))
        return false;
    store_switch_drop(w->dir, w->a); /* of one that was cut off */
    bool ok = store_read(w, fresh, &seq, &next) && lacked_mark(w) &&
              given_raise(given, placing_beside(w->dir, "given", w->a), seq, next, &w->err);
    if (ok && !w->changes && store_is_there(w, fresh)) {
        store_switch_drop(w->dir, w->a);
        return given_raise(given, given, seq, next, &w->err);
    }
    if (!ok || !store_switch(w->dir, fresh, SWITCH_RESTORED, w->a, &aside, &w->err)) {
        if (store_switch_is_open(w->dir, w->a))
            err_prefix(&w->err, "the rest of it is done by the same command, or `remuda up`");
        else
            store_switch_drop(w->dir, w->a);
        return false;
    }
    return true;
}

/* They came with the file, and will run. */
static void programs_say(const struct backup_work *w)
{
    struct str text = STR_INIT;
    backup_programs(in_dir(w, "remuda.db"), &text);
    if (text.len)
        printf("Programs will be run by what was restored; `strigger --get` shows them, "
               "`strigger --clear --id=N` takes one back:\n%s",
               str_text(&text));
    str_done(&text);
}

/* Who was shut out since the backup was made is back. */
static void hosts_say(const struct backup_work *w)
{
    struct str text = STR_INIT;
    backup_hosts(in_dir(w, "remuda.db"), &text);
    if (text.len)
        printf("These hosts are let in, also those that were shut out since; `remuda hosts remove "
               "ID` shuts one out. Tokens were not restored:\n%s",
               str_text(&text));
    str_done(&text);
}

int restore_main(int argc, char **argv)
{
    struct backup_work w = {.a = arena_new(), .lacked = STR_INIT};
    struct pid_file lock = {.fd = -1};
    bool ok = state_line_read(argc, argv, w.a, &w.dir, &w.file, &w.err);
    umask(022);
    ok = ok && dir_make(w.dir, geteuid() == 0 ? 0755 : 0700, &w.err) &&
         state_dir_take(&lock, w.dir, "restore", &w.err);
    ok = ok && restore(&w);
    pid_file_drop(&lock);
    if (ok) {
        printf("%s has the cluster of %s. `remuda up` starts it. Jobs that waited are held, for "
               "they may "
               "have run "
               "since; `scontrol release` lets them run. What was there is kept beside, as "
               "*.before.\n",
               w.dir, w.file);
        if (w.lacked.len)
            printf("Set aside in this way, as the backup has none of that name: %s\n",
                   str_text(&w.lacked));
        programs_say(&w);
        hosts_say(&w);
    }
    return finish(&w, "remuda restore", ok);
}
