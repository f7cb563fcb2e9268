/* Sums of use, and what is taken out of a store or a backup as a whole, on a disk that fails now and
 * then: whatever cannot be read, the sums are what a count gives, or nothing is said. */
#include "store_used_help.h"

#include "store/file/backup.h"

#include <unistd.h>

/* ---- a disk whose reads fail: the system's own calls, but for those ---- */

#define ALL_READS (-1)

static sqlite3_vfs failing, *whole;
static sqlite3_io_methods failing_methods[2]; /* of the database, which has shared memory; others */
static int (*whole_read)(sqlite3_file *f, void *to, int n, sqlite3_int64 at);
static int reads_left = ALL_READS; /* before the first that fails */
static bool fails_once;            /* and the rest are as before */

static int read_or_fail(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    bool fails = reads_left == 0;
    if (reads_left > 0 || (fails && fails_once))
        reads_left--;
    return fails ? SQLITE_IOERR_READ : whole_read(f, to, n, at);
}

static int open_on_it(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags,
                      int *ret_flags)
{
    (void)v;
    int rc = whole->xOpen(whole, name, f, flags, ret_flags);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_io_methods *m = &failing_methods[!(flags & SQLITE_OPEN_MAIN_DB)];
    whole_read = f->pMethods->xRead;
    *m = *f->pMethods;
    m->xRead = read_or_fail;
    f->pMethods = m;
    return SQLITE_OK;
}

static int disk_make(void **state)
{
    (void)state;
    reads_left = ALL_READS;
    fails_once = false;
    whole = sqlite3_vfs_find(NULL);
    failing = *whole;
    failing.zName = "failing";
    failing.pNext = NULL;
    failing.xOpen = open_on_it;
    return sqlite3_vfs_register(&failing, 1);
}

static int disk_drop(void **state)
{
    (void)state;
    reads_left = ALL_READS;
    return sqlite3_vfs_unregister(&failing);
}

/* ---- by others ---- */

static void sql_run(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Handles read again what they had in memory. */
static void cache_drop(struct both *b)
{
    sql_run(b->sql.path, "CREATE TABLE IF NOT EXISTS other (n); INSERT INTO other VALUES (1)");
}

/* ---- tests ---- */

static struct job job_ended(struct both *b, uint64_t id)
{
    struct job j = job_new(b->r, id);
    job_begin(b->r, &j, j.eligible_us);
    j.state = JOB_COMPLETED;
    j.end_us = j.start_us + rng_range(b->r, 0, 5 * HOUR);
    return j;
}

static void job_ends(struct both *b, uint64_t id)
{
    struct job j = job_ended(b, id);
    both_put(b, TABLE_JOB, &j);
}

/* One batch, with the first read that fails `step` later each time it is tried. */
static size_t fails_until_committed(struct both *b, int step)
{
    size_t failed = 0;
    for (int reads = 0;; reads += step) {
        struct err e = {0};
        cache_drop(b);
        reads_left = reads;
        bool ok = store_commit(b->sql.store, b->batch[0], &e);
        reads_left = ALL_READS;
        if (ok)
            break;
        assert_int_not_equal(e.code, 0);
        failed++;
    }
    b->sql.seq = b->batch[0]->seq;
    batch_free(b->batch[0]);
    b->batch[0] = NULL;
    both_commit(b);
    return failed;
}

/* What was used was no longer counted after one read had failed, until the controller's next start,
 * and reports went by it. */
static void test_a_read_that_fails_stops_no_counting(void **state)
{
    struct both b;
    zone_set("Europe/Berlin");
    both_open(&b, 15200800);
    history_make(&b, 1);
    both_commit(&b);
    for (uint64_t id = 1000; id < 1010; id++) {
        job_ends(&b, id);
        assert_true(fails_until_committed(&b, 1) > 1);
    }
    assert_true(ask(&b, false) > 10);
    both_close(&b);
}

static void older_release_make(struct both *b)
{
    for (uint64_t id = 1; id < 1100; id++) {
        struct job j = job_ended(b, id);
        for (int i = 0; i < 2; i++) { /* in one commit */
            if (!b->batch[i])
                b->batch[i] = world_batch(i ? &b->twin : &b->sql);
            batch_add(b->batch[i], ROW_PUT, TABLE_JOB, &j);
        }
    }
    both_commit(b);
    store_close(b->sql.store);
    b->sql.store = store_open_memory(); /* for world_reopen to close */
    sql_run(b->sql.path, "DROP TABLE used; DROP TABLE used_by; DROP TABLE used_gres; DROP TABLE "
                         "used_fact");
    world_reopen(&b->sql);
}

/* By then all are counted. */
static void older_release_ask(struct both *b)
{
    struct err e;
    for (int i = 0; i < 6; i++) {
        struct batch *batch = world_batch(&b->sql);
        assert_true(world_commit(&b->sql, batch, &e));
    }
    assert_true(ask(b, false) > 10);
}

static void test_nor_of_a_store_of_an_older_release(void **state)
{
    struct both b;
    zone_set("Asia/Kolkata");
    both_open(&b, 15200900);
    older_release_make(&b);
    for (uint64_t id = 2000; id < 2005; id++) {
        job_ends(&b, id);
        fails_until_committed(&b, 61);
        if (id == 2001)
            world_reopen(&b.sql);
    }
    older_release_ask(&b);
    both_close(&b);
}

/* Some are counted at the beginning of a commit. They were taken for counted after it was rolled
 * back, too. */
static void test_what_is_rolled_back_is_not_counted(void **state)
{
    struct both b;
    struct err e;
    zone_set("UTC");
    both_open(&b, 15201000);
    older_release_make(&b);
    sql_run(b.sql.path, "CREATE TRIGGER no BEFORE INSERT ON job WHEN NEW.id=5000 BEGIN "
                        "SELECT RAISE(ABORT, 'no'); END");
    for (int i = 0; i < 3; i++) {
        job_ends(&b, 5000);
        assert_false(store_commit(b.sql.store, b.batch[0], &e));
        for (int k = 0; k < 2; k++) {
            batch_free(b.batch[k]);
            b.batch[k] = NULL;
        }
    }
    for (uint64_t id = 2000; id < 2012; id++) {
        job_ends(&b, id);
        both_commit(&b);
        if (id == 2001 || id == 2006)
            world_reopen(&b.sql);
    }
    older_release_ask(&b);
    both_close(&b);
}

/* A report was then made of the jobs that are still there. */
static void test_a_report_is_whole_or_none(void **state)
{
    struct both b;
    struct used_query q = {.from_us = 0, .to_us = NOW_US + 1000 * HOUR, .now_us = NOW_US};
    size_t failed = 0;
    zone_set("UTC");
    both_open(&b, 15201100);
    history_make(&b, 1);
    both_commit(&b);
    struct batch *batch = world_batch(&b.sql);
    struct err e;
    for (size_t i = 0; i < b.job.n; i++)
        if (job_state_over((enum job_state)b.job.v[i].state))
            batch_add(batch, ROW_DELETE, TABLE_JOB, &b.job.v[i]);
    assert_true(world_commit(&b.sql, batch, &e));
    struct rows all = rows_read(&b.sql, &q, store_query_used);
    assert_int_equal(all.v.n, 1);
    fails_once = true;
    for (bool ok = false; !ok; failed += !ok) {
        struct rows rows = {.world = &b.sql, .t = &used_fields};
        struct store *s = store_open_sqlite(b.sql.path, true, &e);
        assert_non_null(s);
        cache_drop(&b);
        reads_left = (int)failed;
        ok = store_query_used(s, &q, rows_add, &rows, &e);
        reads_left = ALL_READS;
        if (ok)
            rows_same(&all, &rows, "a report");
        vec_done(&rows.v);
        store_close(s);
    }
    assert_true(failed > 3);
    vec_done(&all.v);
    both_close(&b);
}

/* ---- taken out whole ---- */

static void hour_add(void *ctx, enum store_table table, const void *record)
{
    const struct used *u = record;
    assert_int_equal(table, STORE_TABLE_COUNT);
    str_addf(ctx, "%lld %s %s %lld %s\n", (long long)u->from_us, u->account ? u->account : "",
             u->user_name ? u->user_name : "", (long long)u->cpu_s, u->gres ? u->gres : "");
}

/* The sums of an hour went into the archive without its GPUs, and then from the store. */
static void test_the_past_is_given_whole_or_not(void **state)
{
    struct both b;
    struct err e = {0};
    struct str all = STR_INIT, got = STR_INIT;
    const struct past_query whole_past = {.kind = PAST_USAGE, .before_us = NOW_US, .most = 100};
    struct past_query q = whole_past;
    int failed = 0;
    zone_set("UTC");
    both_open(&b, 15201200);
    history_make(&b, 1);
    both_commit(&b);
    assert_true(store_query_past(b.sql.store, &q, hour_add, &all, &e));
    assert_non_null(strstr(str_text(&all), "gpu"));
    fails_once = true;
    for (bool ok = false; !ok; failed += !ok) {
        struct store *s = store_open_sqlite(b.sql.path, true, &e);
        assert_non_null(s);
        cache_drop(&b);
        str_clear(&got);
        q = whole_past;
        reads_left = failed;
        ok = store_query_past(s, &q, hour_add, &got, &e);
        reads_left = ALL_READS;
        if (ok)
            assert_string_equal(str_text(&got), str_text(&all));
        store_close(s);
    }
    assert_true(failed > 10);
    str_done(&all);
    str_done(&got);
    both_close(&b);
}

#define FILES      3
#define FILE_BYTES 1000000u /* more than SQLite keeps in memory, so that they are read again */

static bool files_find(void *ctx, const struct backup_file **ret, size_t *ret_n,
                       struct err *ret_err)
{
    static const char *const file_names[FILES] = {"conf.d/a.conf", "conf.d/b.conf", "remuda.conf"};
    static struct backup_file file[FILES];
    for (size_t i = 0; i < FILES; i++)
        file[i] = (struct backup_file){file_names[i], 0600, {ctx, FILE_BYTES}};
    *ret = file;
    *ret_n = FILES;
    return true;
}

static bool file_count(void *ctx, const struct backup_file *f)
{
    *(size_t *)ctx += f->data.len == FILE_BYTES;
    return true;
}

/* Files that were not read were set aside as if the backup had none of that name. */
static void test_a_backup_gives_all_its_files_or_says_so(void **state)
{
    struct both b;
    struct err e = {0};
    uint64_t seq, next;
    size_t failed = 0, got = 0;
    zone_set("UTC");
    both_open(&b, 15201300);
    char *to = xasprintf("%s/backup", b.sql.dir), *db = xasprintf("%s/again", b.sql.dir),
         *data = xcalloc(1, FILE_BYTES);
    if (!backup_write(b.sql.path, to, files_find, data, &e))
        fail_msg("%s", e.text);
    for (bool ok = false; !ok; failed += !ok) {
        got = 0;
        reads_left = (int)failed * 197;
        ok = backup_read(to, db, file_count, &got, &seq, &next, &e);
        reads_left = ALL_READS;
        if (ok)
            assert_int_equal(got, FILES);
        unlink(db);
    }
    assert_true(failed > 4);
    unlink(to);
    free(to);
    free(db);
    free(data);
    both_close(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, disk_make, disk_drop)
    const struct CMUnitTest tests[] = {
        TEST(a_read_that_fails_stops_no_counting), TEST(nor_of_a_store_of_an_older_release),
        TEST(what_is_rolled_back_is_not_counted),  TEST(a_report_is_whole_or_none),
        TEST(the_past_is_given_whole_or_not),      TEST(a_backup_gives_all_its_files_or_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
