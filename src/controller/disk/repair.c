/* The new store is an older one in the sense of core/life/restored.c: what waits in it is held,
 * and numbers go on. */
#include "controller/disk/repair.h"

#include "base/alloc.h"
#include "base/str.h"
#include "controller/disk/given.h"
#include "controller/disk/state_line.h"
#include "controller/disk/switch.h"
#include "core/core.h"
#include "io/files.h"
#include "io/process/daemon.h"
#include "store/file/log.h"
#include "store/file/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAID_IDS 400 /* letters of the list of lost jobs */

struct repair_work {
    struct arena *a;
    const char *dir;
    const char *aside; /* the damaged store, where it lies now */
    struct salvage found;
    struct err err;
};

static const char *in_dir(const struct repair_work *w, const char *name)
{
    return arena_printf(w->a, "%s/%s", w->dir, name);
}

/* ---- in words ---- */

static void table_say(const struct repair_work *w, enum store_table t)
{
    uint64_t kept = w->found.kept[t], lost = w->found.lost[t];
    if (kept || lost)
        printf("  %-12s %llu kept, %llu seen that could not be read\n", store_table_rows[t].name,
               (unsigned long long)kept, (unsigned long long)lost);
}

static void jobs_lost_say(const struct repair_work *w)
{
    struct str ids = STR_INIT;
    idset_format(&w->found.jobs_lost_ids, &ids);
    if (ids.len > SAID_IDS) {
        str_cut(&ids, SAID_IDS);
        str_add(&ids, "…");
    }
    if (w->found.jobs_lost)
        printf("%llu jobs are known by their steps, scripts or an index alone, and are lost: %s\n",
               (unsigned long long)w->found.jobs_lost, str_text(&ids));
    str_done(&ids);
}

static void found_say(const struct repair_work *w)
{
    printf("%s/remuda.db is a new store, of what could be read of the damaged one (%u pages, %u of "
           "them not "
           "given "
           "by the disk; %u from its log):\n",
           w->dir, w->found.pages, w->found.unreadable, w->found.in_log);
    for (size_t t = 0; t < STORE_TABLE_COUNT; t++)
        table_say(w, (enum store_table)t);
    jobs_lost_say(w);
    if (w->found.log_left_out)
        printf("Its log (-wal) is of another store and was left out.\n");
    printf("The damaged one stays as it was: %s. `remuda up` starts the cluster. Jobs that waited "
           "are held, for "
           "they "
           "may have run since; `scontrol release` lets them run. What is not in the store any "
           "more ends on its "
           "nodes; rows that are lost wholly are not counted.\n",
           w->aside);
}

/* ---- doing it ---- */

/* A log alone is read, and set aside, with an empty file beside it. */
static bool file_make(struct repair_work *w)
{
    const char *path = in_dir(w, "remuda.db");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(&w->err, ERR_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    return true;
}

static bool is_damaged(struct repair_work *w)
{
    struct err err = {0};
    struct given given = {0};
    if (!given_read(in_dir(w, "given"), &given, &w->err))
        return false;
    if (!store_file_check(in_dir(w, "remuda.db"), given.seq, &err))
        return store_log_is_astray(in_dir(w, "remuda.db"))
                   ? err_set(&w->err, ERR_EXISTS, "%s", err.text) /* nothing is damaged */
                   : file_make(w);
    if (access(in_dir(w, "remuda.db"), F_OK) != 0)
        return err_set(&w->err, ERR_NOT_FOUND, "there is no cluster in %s: %s", w->dir,
                       strerror(errno));
    return !store_whole(in_dir(w, "remuda.db"), false, &err) ||
           err_set(&w->err, ERR_EXISTS, "%s/remuda.db is whole: there is nothing to repair",
                   w->dir);
}

/* With the controller's lock held. The numbers are raised first: should this end in between, the
 * damaged store is still there, and nothing is given twice. */
static bool repair(struct repair_work *w)
{
    struct given given = {0};
    const char *fresh = in_dir(w, "remuda.db.repairing");
    w->found = (struct salvage){.sound = core_row_sound};
    for (size_t i = 0; i < 3; i++)
        unlink(arena_printf(w->a, "%s%s", fresh, (const char *[]){"", "-wal", "-shm"}[i]));
    if (!given_read(in_dir(w, "given"), &given, &w->err))
        return false;
    if (given_is_known(&given))
        w->found.next_job_id = given.next_job_id;
    return store_salvage(in_dir(w, "remuda.db"), fresh, &w->found, &w->err) &&
           given_raise(in_dir(w, "given"), in_dir(w, "given"), w->found.seq, w->found.next_job_id,
                       &w->err) &&
           store_switch(w->dir, fresh, SWITCH_REPAIRED, w->a, &w->aside, &w->err);
}

int repair_main(int argc, char **argv)
{
    struct repair_work w = {.a = arena_new()};
    struct pid_file lock = {.fd = -1};
    bool ok =
        state_line_read(argc, argv, w.a, &w.dir, NULL, &w.err) &&
        (access(w.dir, F_OK) == 0 ||
         err_set(&w.err, ERR_NOT_FOUND, "there is no cluster in %s: %s", w.dir, strerror(errno))) &&
        state_dir_take(&lock, w.dir, "repair", &w.err) &&
        store_switch_finish(w.dir, w.a, NULL, &w.err) && is_damaged(&w) && repair(&w);
    pid_file_drop(&lock);
    if (ok)
        found_say(&w);
    else
        fprintf(stderr, "remuda repair: error: %s\n", w.err.text);
    idset_done(&w.found.jobs_lost_ids);
    arena_free(w.a);
    return ok ? 0 : 1;
}
