/* Stores are damaged in many ways, and what can be read of them is made a new store: whole, with
 * rows that were written once and no others, most of them where the damage is small; the damaged
 * file stays as it was. */
#include "store_salvage_help.h"

#include "store/file/log.h"

/* ---- looking ---- */

struct look {
    struct arena *a;
    bool exact;
    unsigned jobs, steps, scripts, hosts;
    uint64_t next;
};

static void job_look(void *ctx, const void *record)
{
    struct look *l = ctx;
    const struct job *j = record;
    struct job over = job_of(j->id, true, l->a), waits = job_of(j->id, false, l->a);
    l->jobs++;
    if (l->exact && !record_equal(&job_fields, j, &over) && !record_equal(&job_fields, j, &waits))
        fail_msg("job %llu is as it never was", (unsigned long long)j->id);
}

static void step_look(void *ctx, const void *record)
{
    struct look *l = ctx;
    const struct step *s = record;
    l->steps++;
    if (l->exact && (s->step_id != -1 || s->state != JOB_COMPLETED))
        fail_msg("the step of job %llu is as it never was", (unsigned long long)s->job_id);
}

static void payload_look(void *ctx, const void *record)
{
    struct look *l = ctx;
    const struct payload *p = record;
    const char *script = p->script.data;
    l->scripts++;
    bool same = p->script.len == script_len(p->job_id);
    for (size_t i = 0; same && i < p->script.len; i++)
        same = script[i] == 'a' + (int)(p->job_id % 26);
    if (l->exact && !same)
        fail_msg("the script of job %llu is as it never was", (unsigned long long)p->job_id);
}

static void host_look(void *ctx, const void *record)
{
    (void)record;
    ((struct look *)ctx)->hosts++;
}

static void meta_look(void *ctx, const void *record)
{
    const struct meta *m = record;
    if (text_is(m->key, "next_job_id"))
        text_to_u64(m->value, UINT64_MAX, &((struct look *)ctx)->next);
}

static struct look look_at(const char *path, bool exact)
{
    struct look l = {.a = arena_new(), .exact = exact};
    struct err e = {0};
    if (!store_whole(path, false, &e))
        fail_msg("%s", e.text);
    struct store *s = store_open_sqlite(path, false, &e);
    bool ok = s && store_load(s, TABLE_JOB, false, 0, job_look, &l, &e) &&
              store_load(s, TABLE_STEP, false, 0, step_look, &l, &e) &&
              store_load(s, TABLE_PAYLOAD, false, 0, payload_look, &l, &e) &&
              store_load(s, TABLE_HOST, false, 0, host_look, &l, &e) &&
              store_load(s, TABLE_META, false, 0, meta_look, &l, &e);
    if (!ok)
        fail_msg("%s", e.text);
    store_close(s);
    arena_free(l.a);
    return l;
}

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

static bool sound(enum store_table table, const void *record, struct err *ret_err)
{
    return record_check(store_table_rows[table].fields, record, ret_err);
}

static void harm_try(const char *good, size_t i, struct rng *r)
{
    char *path = in_dir("harmed"), *log = log_of(path), *good_log = log_of(good),
         *to = in_dir("new");
    struct salvage s = {.sound = sound};
    struct err e = {0};
    struct stat st;
    unlink(to);
    copy(good, path);
    copy(good_log, log);
    harms[i].harm(path, r);
    uint64_t sum = sum_of(path) + sum_of(log);
    if (!store_salvage(path, to, &s, &e))
        fail_msg("%s: %s", harms[i].name, e.text);
    assert_int_equal(sum, sum_of(path) + sum_of(log));
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct look l = look_at(to, harms[i].exact);
    if (l.jobs < harms[i].jobs || l.steps < harms[i].steps || l.scripts < harms[i].scripts ||
        l.jobs != s.kept[TABLE_JOB])
        fail_msg("%s: %u jobs, %u steps, %u scripts", harms[i].name, l.jobs, l.steps, l.scripts);
    assert_true(l.next > l.jobs && l.next == s.next_job_id);
    idset_done(&s.jobs_lost_ids);
    free(path);
    free(log);
    free(good_log);
    free(to);
}

static void test_what_is_left_is_kept(void **state)
{
    struct rng r = {20261122};
    char *good = in_dir("good");
    (void)state;
    store_make(good, JOBS);
    for (size_t i = 0; i < ARRAY_LEN(harms); i++)
        for (int k = 0; k < harms[i].times; k++)
            harm_try(good, i, &r);
    free(good);
}

/* ---- single facts ---- */

static void log_middle_is_noise(const char *path, struct rng *r)
{
    char *log = log_of(path);
    bytes_set(log, 32 + 24, PAGE, r);
    free(log);
}

static struct salvage salvage_of(const char *path, const char *to, struct err *e, bool *ret_ok)
{
    struct salvage s = {.sound = sound};
    *ret_ok = store_salvage(path, to, &s, e);
    return s;
}

static void test_a_host_that_was_taken_away_stays_away(void **state)
{
    char *good = in_dir("good"), *log = log_of(good), *to = in_dir("new");
    struct err e = {0};
    bool ok;
    (void)state;
    store_make(good, JOBS);
    sql_on(good, "PRAGMA wal_checkpoint(TRUNCATE); DROP TABLE host; DROP TABLE job_run");
    unlink(log);
    struct salvage s = salvage_of(good, to, &e, &ok);
    assert_true(ok);
    assert_int_equal(s.kept[TABLE_HOST], 0);
    assert_int_equal(s.kept[TABLE_JOB], JOBS);
    free(good);
    free(log);
    free(to);
}

static void test_jobs_that_are_lost_are_named(void **state)
{
    char *good = in_dir("good"), *to = in_dir("new");
    struct err e = {0};
    struct rng r = {7};
    bool ok;
    (void)state;
    store_make(good, JOBS);
    for (int i = 0; i < 100; i++)
        page_is_zero(good, &r);
    struct salvage s = salvage_of(good, to, &e, &ok);
    assert_true(ok);
    assert_true(s.kept[TABLE_JOB] < JOBS);
    assert_in_range(s.jobs_lost, 1, JOBS - s.kept[TABLE_JOB]);
    assert_int_equal(s.jobs_lost_ids.count, s.jobs_lost);
    idset_done(&s.jobs_lost_ids);
    free(good);
    free(to);
}

static void test_what_is_none_of_ours_is_refused(void **state)
{
    char *path = in_dir("notes"), *to = in_dir("new");
    struct err e = {0};
    bool ok;
    (void)state;
    sql_on(path, "CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('bread')");
    salvage_of(path, to, &e, &ok);
    assert_false(ok);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_not_equal(access(to, F_OK), 0);
    free(path);
    free(to);
}

/* A table that older releases made has its columns in another order, and rows that are shorter. */
static void test_columns_of_another_release(void **state)
{
    char *good = in_dir("good"), *to = in_dir("new");
    struct err e = {0};
    bool ok;
    (void)state;
    sql_on(
        good,
        "CREATE TABLE \"job\" (\n\"id\" INTEGER PRIMARY KEY,\n\"state\" TEXT,\n\"gone\" TEXT);"
        "INSERT INTO job VALUES (7,'PENDING','x');"
        "ALTER TABLE job ADD COLUMN \"end_us\" INTEGER; ALTER TABLE job ADD COLUMN \"name\" TEXT;"
        "INSERT INTO job VALUES (8,'COMPLETED',NULL,1700000000000000,'late');"
        "CREATE TABLE meta (key TEXT, value TEXT, PRIMARY KEY (key)) WITHOUT ROWID");
    struct salvage s = salvage_of(good, to, &e, &ok);
    assert_true(ok);
    assert_int_equal(s.kept[TABLE_JOB], 2);
    assert_int_equal(s.next_job_id, 9);
    sql_on(to, "CREATE TEMP TABLE t (n INTEGER CHECK (n = 1));"
               "INSERT INTO t SELECT count(*) FROM job WHERE id=8 AND name='late' AND "
               "state='COMPLETED' AND "
               "end_us>0");
    free(good);
    free(to);
}

static void log_is_youngers(const char *log)
{
    char *live = in_dir("younger"), *live_log = log_of(live);
    struct store *s = store_open_sqlite(live, false, NULL);
    uint64_t epoch, seq;
    assert_true(store_take_epoch(s, &epoch, &seq, NULL));
    jobs_commit(s, epoch, &seq, 1, 5, true);
    copy(live_log, log);
    store_close(s);
    free(live);
    free(live_log);
}

/* What SQLite would give up of a log without a word, and write over. */
static void test_a_log_that_is_cut_is_told(void **state)
{
    static void (*const harm[])(const char *path, struct rng *r) = {head_of_log_is_lost,
                                                                    log_middle_is_noise};
    char *good = in_dir("good"), *path = in_dir("cut"), *good_log = log_of(good),
         *log = log_of(path);
    struct err e = {0};
    struct rng r = {3};
    uint64_t seq = 0;
    bool ok;
    (void)state;
    store_make(good, JOBS);
    copy(good, path);
    copy(good_log, log);
    struct store *s = store_open_sqlite(path, true, NULL);
    assert_true(store_last(s, &seq, NULL));
    store_close(s);
    for (size_t i = 0; i < ARRAY_LEN(harm); i++) {
        copy(good, path);
        copy(good_log, log);
        assert_true(store_file_check(path, seq, &e));
        harm[i](path, &r);
        assert_false(store_file_check(path, seq, &e));
        assert_non_null(strstr(e.text, "stands behind the damage"));
        assert_true(store_file_check(path, 0, &e)); /* an older store's own, perhaps */
    }
    /* its end was never whole */
    copy(good_log, log);
    assert_int_equal(truncate(log, size_of(log) - 1000), 0);
    assert_true(store_file_check(path, seq, &e));
    /* beside a link, and not where the file is */
    char *moved = in_dir("moved"), *moved_log = log_of(moved);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_false(store_file_check(path, seq, &e));
    assert_non_null(strstr(e.text, "beside the link"));
    assert_int_equal(rename(log, moved_log), 0);
    assert_true(store_file_check(path, seq, &e));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(moved, path), 0);
    assert_int_equal(rename(moved_log, log), 0);
    free(moved);
    free(moved_log);
    /* a file that lacks its last byte, which SQLite takes for zero, unless the log has that page */
    assert_int_equal(truncate(path, size_of(path) - 1), 0);
    assert_true(store_file_check(path, seq, &e));
    assert_int_equal(truncate(log, 0), 0);
    assert_false(store_file_check(path, 0, &e));
    assert_non_null(strstr(e.text, "its end is missing"));
    copy(good, path);
    copy(good_log, log);
    assert_true(store_file_check(path, seq, &e));
    /* of a store that is younger: all of it stands in that log */
    log_is_youngers(log);
    assert_false(store_file_check(path, 0, &e));
    assert_non_null(strstr(e.text, "of another store"));
    char *to = in_dir("new");
    struct salvage left = salvage_of(path, to, &e, &ok);
    assert_true(ok && left.log_left_out && left.kept[TABLE_JOB] >= JOBS - 100);
    assert_int_equal(unlink(to), 0);
    idset_done(&left.jobs_lost_ids);
    copy(good_log, log);
    /* alone */
    assert_int_equal(truncate(path, 0), 0);
    assert_false(store_file_check(path, seq, &e));
    assert_non_null(strstr(e.text, "but its log (-wal) is there"));
    left = salvage_of(path, to, &e, &ok);
    assert_true(ok && left.kept[TABLE_JOB] >= 10);
    idset_done(&left.jobs_lost_ids);
    free(to);
    assert_int_equal(unlink(path), 0);
    assert_false(store_file_check(path, 0, &e));
    assert_int_equal(unlink(log), 0);
    assert_true(store_file_check(path, seq, &e));
    free(good);
    free(path);
    free(good_log);
    free(log);
}

static int setup(void **state)
{
    (void)state;
    scratch_make(dir, sizeof dir, "store-salvage");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return scratch_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_left_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_host_that_was_taken_away_stays_away, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_jobs_that_are_lost_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_none_of_ours_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_columns_of_another_release, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_log_that_is_cut_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
