/* Stores are damaged in many ways, and what can be read of them is made a new store: whole, with
 * rows that were written once and no others, most of them where the damage is small; the damaged
 * file stays as it was. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"
#include "store/file/salvage.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOBS 400u
#define PAGE 4096

static char dir[64];

static char *in_dir(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static void copy(const char *from, const char *to)
{
    char *command = xasprintf("cp %s %s", from, to);
    assert_int_equal(system(command), 0);
    free(command);
}

/* ---- the store ---- */

static struct job job_of(uint64_t id, bool over, struct arena *a)
{
    struct job j = {.id = id,
                    .user_id = 1000 + (uint32_t)(id % 7),
                    .submit_us = 1700000000000000 + (int64_t)id};
    j.spec.name = arena_printf(a, "job number %llu", (unsigned long long)id);
    j.array_task_id = NO_TASK;
    if (over) {
        j.state = JOB_COMPLETED;
        j.attempt = 1;
        j.start_us = j.submit_us + 5;
        j.end_us = j.start_us + 1000000;
    }
    return j;
}

static size_t script_len(uint64_t id)
{
    return 20 + (id % 5) * 3000;
}

static void payload_put(struct batch *b, uint64_t id, struct arena *a)
{
    size_t len = script_len(id);
    char *script = arena_alloc(a, len);
    memset(script, 'a' + (int)(id % 26), len);
    batch_add(b, ROW_PUT, TABLE_PAYLOAD, &(struct payload){.job_id = id, .script = {script, len}});
}

static void step_put(struct batch *b, uint64_t id)
{
    batch_add(b, ROW_PUT, TABLE_STEP,
              &(struct step){.job_id = id,
                             .attempt = 1,
                             .step_id = -1,
                             .step_name = "batch",
                             .state = JOB_COMPLETED});
}

static void jobs_commit(struct store *s, uint64_t epoch, uint64_t *seq, uint64_t first,
                        uint64_t last, bool over)
{
    struct arena *a = arena_new();
    struct batch *b = batch_new();
    for (uint64_t id = first; id <= last; id++) {
        struct job j = job_of(id, over, a);
        batch_add(b, ROW_PUT, TABLE_JOB, &j);
        if (over)
            step_put(b, id);
        else
            payload_put(b, id, a);
    }
    b->seq = ++*seq;
    b->epoch = epoch;
    batch_add(b, ROW_PUT, TABLE_META,
              &(struct meta){"next_job_id", arena_printf(a, "%llu", (unsigned long long)last + 1)});
    batch_add(b, ROW_PUT, TABLE_HOST, &(struct host){.id = "h1", .name = "other"});
    struct err e = {0};
    if (!store_commit(s, b, &e))
        fail_msg("%s", e.text);
    batch_free(b);
    arena_free(a);
}

/* `path` and, as of a machine that lost its power, its log: the last hundred jobs are in the log
 * alone. */
static void store_make(const char *path, uint64_t jobs)
{
    char *live = xasprintf("%s.live", path), *live_log = xasprintf("%s.live-wal", path),
         *log = xasprintf("%s-wal", path);
    struct store *s = store_open_sqlite(live, false, NULL);
    uint64_t epoch, seq;
    assert_true(store_take_epoch(s, &epoch, &seq, NULL));
    for (int over = 0; over < 2; over++)
        for (uint64_t id = 1; id <= jobs - 100; id += 100)
            jobs_commit(s, epoch, &seq, id, id + 99, over);
    store_close(s);
    s = store_open_sqlite(live, false, NULL);
    assert_true(store_take_epoch(s, &epoch, &seq, NULL));
    for (int over = 0; over < 2; over++)
        for (uint64_t id = jobs - 99; id <= jobs; id += 10)
            jobs_commit(s, epoch, &seq, id, id + 9, over);
    copy(live, path);
    copy(live_log, log);
    store_close(s);
    free(live);
    free(live_log);
    free(log);
}

/* ---- harms ---- */

static void bytes_set(const char *path, off_t at, size_t len, struct rng *r)
{
    int fd = open(path, O_WRONLY);
    uint8_t *noise = xcalloc(1, len);
    for (size_t i = 0; r && i < len; i++)
        noise[i] = (uint8_t)rng_next(r);
    assert_int_equal(pwrite(fd, noise, len, at), (ssize_t)len);
    free(noise);
    close(fd);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void page_is_zero(const char *path, struct rng *r)
{
    bytes_set(path, (off_t)rng_below(r, (uint64_t)size_of(path) / PAGE) * PAGE, PAGE, NULL);
}

static void head_is_lost(const char *path, struct rng *r)
{
    bytes_set(path, 0, 100, r);
}

static void first_page_is_lost(const char *path, struct rng *r)
{
    (void)r;
    bytes_set(path, 0, PAGE, NULL);
}

static void many_pages_are_zero(const char *path, struct rng *r)
{
    for (int i = 0; i < 20; i++)
        page_is_zero(path, r);
}

static void bytes_are_noise(const char *path, struct rng *r)
{
    for (int i = 0; i < 20; i++)
        bytes_set(path, (off_t)rng_below(r, (uint64_t)size_of(path) - 64), 64, r);
}

static void end_is_cut(const char *path, struct rng *r)
{
    assert_int_equal(truncate(path, size_of(path) / 2 + (off_t)rng_below(r, 1000)), 0);
}

static char *log_of(const char *path)
{
    return xasprintf("%s-wal", path);
}

static void log_is_lost(const char *path, struct rng *r)
{
    char *log = log_of(path);
    assert_int_equal(unlink(log), 0);
    free(log);
    page_is_zero(path, r);
}

static void log_is_torn(const char *path, struct rng *r)
{
    char *log = log_of(path);
    bytes_set(log, (off_t)rng_below(r, (uint64_t)size_of(log) - 100), 100, r);
    page_is_zero(path, r);
    free(log);
}

static void head_of_log_is_lost(const char *path, struct rng *r)
{
    char *log = log_of(path);
    bytes_set(log, 0, 32, r);
    page_is_zero(path, r);
    free(log);
}

static void log_is_anothers(const char *path, struct rng *r)
{
    char *other = in_dir("other"), *others_log = log_of(other), *log = log_of(path);
    (void)r;
    store_make(other, 300);
    copy(others_log, log);
    free(other);
    free(others_log);
    free(log);
}

static void sql_on(const char *path, const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void table_is_dropped(const char *path, struct rng *r)
{
    (void)r;
    sql_on(path, "DROP TABLE job");
}

/* exact: what is kept is as it was written; a byte of noise in a text nobody can tell from the
 * text. */
static const struct {
    const char *name;
    void (*harm)(const char *path, struct rng *r);
    int times;
    unsigned jobs, steps, scripts; /* that are there afterwards, at least */
    bool exact;
} harms[] = {
    {"a page is zero", page_is_zero, 8, JOBS - 40, JOBS - 200, JOBS - 200, true},
    {"twenty pages are zero", many_pages_are_zero, 3, JOBS - 300, 0, JOBS - 300, true},
    {"the head is lost", head_is_lost, 2, JOBS, JOBS, JOBS, true},
    {"the first page is lost", first_page_is_lost, 1, JOBS, JOBS, JOBS, true},
    {"noise", bytes_are_noise, 6, JOBS - 300, 0, JOBS - 300, false},
    {"the end is cut", end_is_cut, 2, 20, 0, 20, true},
    {"the log is lost", log_is_lost, 2, JOBS - 140, JOBS - 300, JOBS - 300, true},
    {"the log is torn", log_is_torn, 4, JOBS - 140, JOBS - 300, JOBS - 300, true},
    {"the head of the log is lost", head_of_log_is_lost, 2, JOBS - 140, JOBS - 300, JOBS - 300,
     true},
    {"the log is of another store", log_is_anothers, 1, JOBS - 200, JOBS - 300, JOBS - 300, true},
    {"the jobs' table was dropped", table_is_dropped, 1, 0, JOBS, JOBS, true},
};

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

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/store-salvage-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
