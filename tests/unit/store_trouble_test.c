/* Each trouble of model/record/trouble.h is made, and a store is opened in it: what is said, whether it
 * passes, and that nothing of what is there is changed. */
#include "scratch.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/record/trouble.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static sqlite3 *locker;
static bool mounted, harmed; /* harmed: this machine lets that be made */

static int setup(void **state)
{
    (void)state;
    scratch_make(dir, sizeof dir, "store-trouble");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

static void sql_on(const char *path, const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void write_at(const char *path, off_t at, size_t len)
{
    int fd = open(path, O_WRONLY);
    char *noise = xmalloc(len);
    memset(noise, 0xa5, len);
    assert_int_equal(pwrite(fd, noise, len, at), (ssize_t)len);
    free(noise);
    close(fd);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* ---- the ways to harm a store ---- */

static void disk_fills(const char *path)
{
    (void)path;
    limit_files(1000);
}

/* In a mount namespace of its own, so that nobody else sees it. */
static void system_is_read_only(const char *path)
{
    (void)path;
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount(dir, dir, NULL, MS_BIND, NULL) == 0)
        mounted = true;
    if (!mounted || mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        print_message("nothing can be mounted here: a read-only file system is not tried\n");
    else
        harmed = true;
}

/* For root a file is never denied: another user then. */
static void is_denied(const char *path)
{
    harmed =
        chmod(dir, 0755) == 0 && chmod(path, 0444) == 0 && (geteuid() != 0 || seteuid(65534) == 0);
}

/* A disk that can be read, and reports an error for each write: the system's own calls, but for
 * those. */
static sqlite3_vfs failing, *whole;
/* Of the database, which has memory it shares; of others. */
static sqlite3_io_methods failing_methods[2];

static int write_fails(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
    (void)f, (void)data, (void)n, (void)at;
    return SQLITE_IOERR_WRITE;
}

static int sync_fails(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_IOERR_FSYNC;
}

static int last_error(sqlite3_vfs *v, int n, char *text)
{
    (void)v, (void)n, (void)text;
    return EIO;
}

static int open_on_it(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags,
                      int *ret_flags)
{
    (void)v;
    int rc = whole->xOpen(whole, name, f, flags, ret_flags);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_io_methods *m = &failing_methods[!(flags & SQLITE_OPEN_MAIN_DB)];
    *m = *f->pMethods;
    m->xWrite = write_fails;
    m->xSync = sync_fails;
    f->pMethods = m;
    return SQLITE_OK;
}

static void disk_fails(const char *path)
{
    (void)path;
    whole = sqlite3_vfs_find(NULL);
    failing = *whole;
    failing.zName = "failing";
    failing.pNext = NULL;
    failing.xOpen = open_on_it;
    failing.xGetLastError = last_error;
    assert_int_equal(sqlite3_vfs_register(&failing, 1), SQLITE_OK);
}

static void undo(void)
{
    limit_files(RLIM_INFINITY);
    if (whole)
        assert_int_equal(sqlite3_vfs_unregister(&failing), SQLITE_OK);
    whole = NULL;
    if (getuid() == 0 && geteuid() != 0)
        assert_int_equal(seteuid(0), 0);
    if (mounted)
        assert_int_equal(umount(dir), 0);
    if (locker)
        sqlite3_close(locker);
    locker = NULL;
    mounted = false;
}

static void other_locks(const char *path)
{
    assert_int_equal(sqlite3_open(path, &locker), SQLITE_OK);
    assert_int_equal(sqlite3_exec(locker, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

static void pages_are_torn(const char *path)
{
    write_at(path, 4096, 60 * 4096);
}

static void beginning_is_lost(const char *path)
{
    write_at(path, 0, 100);
}

static void end_is_cut(const char *path)
{
    assert_int_equal(truncate(path, 5 * 4096), 0);
}

static void table_is_dropped(const char *path)
{
    sql_on(path, "DROP TABLE payload");
}

static void facts_are_dropped(const char *path)
{
    sql_on(path, "DROP TABLE meta");
}

static void is_of_something_else(const char *path)
{
    assert_int_equal(unlink(path), 0);
    sql_on(path, "CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('bread')");
}

static void is_no_database(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 1000; i++)
        fputs("notes of somebody\n", f);
    fclose(f);
}

static void is_a_directory(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* A log that another program's database left beside it. */
static void log_is_another_programs(const char *path)
{
    sqlite3 *db;
    char *other = xasprintf("%s.other", path),
         *command = xasprintf("cp %s.other-wal %s-wal", path, path);
    assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA journal_mode=WAL; CREATE TABLE recipe (name TEXT);"
                                  "INSERT INTO recipe VALUES (randomblob(50000))",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(system(command), 0);
    sqlite3_close(db);
    free(command);
    free(other);
}

static const struct {
    const char *name;
    void (*harm)(const char *path);
    enum store_trouble trouble;
    const char *also; /* in the sentence */
    bool reads;       /* everything can be read all the same */
} harms[] = {
    {"the disk is full", disk_fills, TROUBLE_FULL, " are free there", true},
    {"the file system is read-only", system_is_read_only, TROUBLE_READ_ONLY, "read-only", true},
    {"another's file", is_denied, TROUBLE_DENIED, "(uid ", true},
    {"another process has it locked", other_locks, TROUBLE_LOCKED, "database is locked", true},
    {"the disk reports errors", disk_fails, TROUBLE_DISK, "disk I/O error", true},
    {"pages are torn", pages_are_torn, TROUBLE_DAMAGED, "malformed", false},
    {"its beginning is lost", beginning_is_lost, TROUBLE_NO_DATABASE, "not a database", false},
    {"it was cut", end_is_cut, TROUBLE_DAMAGED, "malformed", false},
    {"a table is lost", table_is_dropped, TROUBLE_TABLE_GONE, "(payload)", true},
    {"its facts are lost", facts_are_dropped, TROUBLE_TABLE_GONE, "(meta)", true},
    {"another program's database", is_of_something_else, TROUBLE_FOREIGN, "recipe", false},
    {"no database", is_no_database, TROUBLE_NO_DATABASE, "not a database", false},
    {"a directory", is_a_directory, TROUBLE_NO_FILE, "(a directory)", false},
    {"another program's log", log_is_another_programs, TROUBLE_FOREIGN, "recipe", false},
};

static uint64_t sum_of(const char *path)
{
    uint64_t sum = 14695981039346656037u;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = fgetc(f)) != EOF;)
        sum = (sum ^ (uint64_t)c) * 1099511628211u;
    if (f)
        fclose(f);
    return sum;
}

static void row_ignore(void *ctx, const void *record)
{
    (void)record;
    ++*(int *)ctx;
}

/* As a controller starts: opens, takes over, loads. */
static bool starts(const char *path, struct err *e)
{
    uint64_t epoch, seq;
    int rows = 0;
    struct store *s = store_open_sqlite(path, false, e);
    bool ok = s && store_take_epoch(s, &epoch, &seq, e);
    for (int t = 0; ok && t < STORE_TABLE_COUNT; t++)
        ok = store_load(s, (enum store_table)t, false, 0, row_ignore, &rows, e);
    if (s)
        store_close(s);
    return ok;
}

static int jobs_read(const char *path)
{
    int rows = 0;
    struct err e = {0};
    struct store *s = store_open_still(path, &e);
    bool ok = s && store_load(s, TABLE_JOB, false, 0, row_ignore, &rows, &e);
    if (s)
        store_close(s);
    return ok ? rows : -1;
}

static void test_each_trouble_has_its_sentence(void **state)
{
    static struct job j = {.spec.name = "a name that fills some room"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(harms); i++) {
        const struct store_trouble_row *row = &store_trouble_rows[harms[i].trouble];
        struct err e = {0};
        char *path = xasprintf("%s/harmed.%zu", dir, i);
        struct store *s = store_open_sqlite(path, false, NULL);
        uint64_t epoch, seq;
        assert_true(store_take_epoch(s, &epoch, &seq, NULL));
        for (int k = 0; k < 4; k++) {
            struct batch *b = batch_new();
            b->seq = ++seq;
            b->epoch = epoch;
            for (j.id = 1; j.id <= 500; j.id++)
                batch_add(b, ROW_PUT, TABLE_JOB, &j);
            assert_true(store_commit(s, b, NULL));
            batch_free(b);
        }
        store_close(s);
        harmed = harms[i].harm != system_is_read_only;
        harms[i].harm(path);
        uint64_t sum = sum_of(path);
        bool ok = starts(path, &e);
        int jobs = harms[i].reads ? jobs_read(path) : 500;
        undo();
        if (harmed && (ok || !strstr(e.text, row->found) || !strstr(e.text, row->way) ||
                       (harms[i].also[0] == '(' && !strstr(e.text, harms[i].also)) || jobs != 500 ||
                       !text_starts(e.text, path) || (e.code == ERR_UNAVAILABLE) != row->passes ||
                       sum != sum_of(path)))
            fail_msg("%s: starts %d, %d jobs, %s: %s", harms[i].name, ok, jobs,
                     sum == sum_of(path) ? "as it was" : "CHANGED", e.text);
        free(path);
    }
}

/* What passes, passes: afterwards it starts with all its rows. */
static void test_a_lock_that_is_given_back(void **state)
{
    (void)state;
    struct err e = {0};
    char *path = xasprintf("%s/locked", dir);
    assert_true(starts(path, &e));
    other_locks(path);
    assert_false(starts(path, &e));
    sqlite3_close(locker);
    locker = NULL;
    assert_true(starts(path, &e));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_trouble_has_its_sentence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_lock_that_is_given_back, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
