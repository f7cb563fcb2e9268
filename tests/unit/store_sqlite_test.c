/* What only SQLite can show: a schema people can read, files of other releases, handles side by
 * side, disks that are full. */
#include "store_help.h"

#include "base/str.h"
#include "store/job_filter.h"
#include "store/sqlite/query.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_sqlite(void **state)
{
    *state = xcalloc(1, sizeof(struct world));
    world_open_sqlite(*state);
    return 0;
}

static int close_world(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* Runs SQL as an administrator would; the answer's columns and rows are joined by '|' and '\n'. */
static int join(void *ctx, int n, char **value, char **name)
{
    struct str *out = ctx;
    if (out->len)
        str_addc(out, '\n');
    for (int i = 0; i < n; i++) {
        str_add(out, i ? "|" : "");
        str_add(out, value[i] ? value[i] : "NULL");
    }
    return 0;
}

static const char *sql(struct world *w, const char *text)
{
    sqlite3 *db = NULL;
    struct str out = STR_INIT;
    char *error = NULL;
    assert_int_equal(sqlite3_open_v2(w->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_exec(db, text, join, &out, &error) != SQLITE_OK)
        fail_msg("%s: %s", text, error);
    sqlite3_close(db);
    const char *answer = arena_strdup(w->arena, str_text(&out));
    str_done(&out);
    return answer;
}

/* ---- the schema ----------------------------------------------------------------------------- */

static void test_people_can_read_it(void **state)
{
    struct world *w = *state;
    world_put_job(w, &(struct job){.id = 42,
                                   .spec.name = "train",
                                   .user_id = 1000,
                                   .state = JOB_PENDING,
                                   .reason = REASON_PRIORITY,
                                   .submit_us = 1700000000000000});
    world_put_job(w, &(struct job){.id = 43, .state = JOB_COMPLETED, .oom = true});
    assert_string_equal(
        sql(w, "SELECT id, name, user_id, state, reason, submit_us, start_us, oom FROM job"),
        "42|train|1000|PENDING|Priority|1700000000000000|NULL|NULL\n43|NULL|NULL|COMPLETED|NULL|"
        "NULL|NULL|1");
    assert_string_equal(
        sql(w, "SELECT datetime(submit_us/1000000,'unixepoch') FROM job WHERE id=42"),
        "2023-11-14 22:13:20");
    assert_string_equal(sql(w, "PRAGMA journal_mode"), "wal");
    assert_string_equal(sql(w, "PRAGMA integrity_check"), "ok");
}

static void test_every_field_is_a_column(void **state)
{
    struct world *w = *state;
    for (int table = 0; table < STORE_TABLE_COUNT; table++) {
        const struct store_table_row *row = &store_table_rows[table];
        struct str names = STR_INIT;
        char *query = xasprintf("SELECT name FROM pragma_table_info('%s')", row->name);
        for (size_t i = 0; i < row->fields->n; i++)
            str_addf(&names, "%s%s", i ? "\n" : "", row->fields->field[i].name);
        assert_string_equal(sql(w, query), str_text(&names));
        str_done(&names);
        free(query);
    }
}

static void test_only_the_owner_may_read_it(void **state)
{
    struct world *w = *state;
    struct stat st;
    world_put_job(w, &(struct job){.id = 42});
    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    char *log = xasprintf("%s-wal", w->path);
    assert_int_equal(stat(log, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(log);
}

static const char *plan_of(struct world *w, const struct scan *scan)
{
    sqlite3 *db = NULL;
    struct sql_table t;
    sql_table_init(&t, scan->table);
    for (size_t i = 0; i < t.row->fields->n; i++)
        t.column[i].present = true;
    assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
    sqlite3_stmt *st = sql_query_prepare(db, &t, scan, NULL);
    char *explain = xasprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(st));
    const char *plan = sql(w, explain);
    free(explain);
    sqlite3_finalize(st);
    sqlite3_close(db);
    sql_table_done(&t);
    return plan;
}

/* A history of years must not be walked through for a question about today. */
static void test_questions_are_answered_through_indexes(void **state)
{
    static const struct {
        struct msg_query q;
        const char *searches;
    } questions[] = {
        {{.ids = "42,43_7"}, "SEARCH job USING COVERING INDEX job_by_array"},
        {{.ids = "42,43_7"}, "SEARCH job USING COVERING INDEX job_by_het"},
        {{.from_us = 5}, "SEARCH job USING INDEX job_by_end"},
        {{.from_us = 5, .to_us = 9}, "SEARCH job USING INDEX job_by_end"},
        {{.uids = "1000"}, "INDEX job_by_user (user_id=?"},
        {{.uids = "1000", .from_us = 5},
         "SEARCH job USING INDEX job_by_user (user_id=? AND end_us>?)"},
        {{.names = "train"}, "INDEX job_by_name (name"},
        {{.names = "train,x'y", .from_us = 5}, "INDEX job_by_name (name"},
        {{.states = "FAILED"}, "INDEX job_by_state (state"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        struct job_filter f;
        assert_true(job_filter_init(&f, &questions[i].q, NULL));
        const char *plan = plan_of(w, &(struct scan){.table = TABLE_JOB, .filter = &f});
        if (!strstr(plan, questions[i].searches) || strstr(plan, "TEMP B-TREE"))
            fail_msg("question %zu is not answered by \"%s\":\n%s", i, questions[i].searches, plan);
        if (!questions[i].q.ids)
            assert_non_null(strstr(plan, "USING INDEX job_live"));
        job_filter_done(&f);
    }
    const char *start =
        plan_of(w, &(struct scan){.table = TABLE_JOB, .live_only = true, .ended_after_us = 5});
    assert_non_null(strstr(start, "USING INDEX job_live"));
    assert_non_null(strstr(start, "USING INDEX job_by_end"));
    const char *arrays = plan_of(
        w, &(struct scan){
               .table = TABLE_JOB, .live_only = true, .ended_after_us = 5, .whole_jobs = true});
    assert_non_null(strstr(arrays, "INDEX job_by_array (array_job_id=?"));
    assert_null(strstr(arrays, "SCAN job\n"));
    assert_null(strstr(arrays, "SCAN job USING INDEX job_by_array"));
}

/* Of what only grows: a table walked through, or an index that holds all that ever was. What a
 * start asks of jobs it asks with all that it may ask. */
static void test_a_start_walks_through_no_history(void **state)
{
    static const struct scan starts[] = {
        {.table = TABLE_JOB, .live_only = true, .ended_after_us = 5, .whole_jobs = true},
        {.table = TABLE_STEP, .of_job = true},
        {.table = TABLE_PAYLOAD, .of_job = true},
        {.table = TABLE_NODE_SPELL, .live_only = true},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        const char *plan = plan_of(w, &starts[i]), *at = plan;
        while ((at = strstr(at, "SCAN "))) {
            size_t line = strcspn(at, "\n");
            char *scan = xasprintf("%.*s", (int)line, at);
            if (!strstr(scan, "USING INDEX job_live") && !strstr(scan, "INDEX node_spell_live") &&
                !strstr(scan, "INDEX job_by_cron"))
                fail_msg("start %zu walks through history:\n%s", i, plan);
            free(scan);
            at += line;
        }
        assert_null(strstr(plan, "TEMP B-TREE"));
    }
}

/* ---- other releases ------------------------------------------------------------------------- */

static void test_missing_columns_are_added(void **state)
{
    struct world *w = *state;
    world_put_job(w, &(struct job){.id = 42, .spec.name = "train", .spec.comment = "lost"});
    sql(w, "ALTER TABLE job DROP COLUMN comment; ALTER TABLE job DROP COLUMN oom; DROP TABLE "
           "partition; "
           "DELETE FROM meta WHERE key='tables'");
    world_reopen(w);
    world_put_job(w, &(struct job){.id = 43, .spec.comment = "kept", .oom = true});
    assert_string_equal(sql(w, "SELECT id, name, comment, oom FROM job"),
                        "42|train|NULL|NULL\n43|NULL|kept|1");
    assert_string_equal(sql(w, "SELECT count(*) FROM partition"), "0");
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "42 43");
}

static void test_a_reader_may_meet_an_older_file(void **state)
{
    struct world *w = *state;
    struct world reader = {.arena = w->arena};
    world_put_job(w, &(struct job){.id = 42, .spec.name = "train"});
    sql(w, "ALTER TABLE job DROP COLUMN comment; DROP INDEX job_by_cron; ALTER TABLE job DROP "
           "COLUMN cron");
    reader.store = store_open_sqlite(w->path, true, NULL);
    assert_non_null(reader.store);
    assert_string_equal(world_query_ids(&reader, &(struct msg_query){.names = "train"}), "42");
    assert_string_equal(world_load_ids(&reader, TABLE_JOB, true, 5), "42");
    store_close(reader.store);
}

static void test_columns_of_a_newer_release_do_not_hurt(void **state)
{
    struct world *w = *state;
    sql(w, "ALTER TABLE job ADD COLUMN sparkle TEXT");
    world_reopen(w);
    world_put_job(w, &(struct job){.id = 42});
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "42");
}

static void test_indexes_of_another_release_are_made_anew(void **state)
{
    struct world *w = *state;
    const char *before = sql(
        w, "SELECT name, sql FROM sqlite_master WHERE type='index' AND sql NOT NULL ORDER BY name");
    sql(w, "DROP INDEX job_live; CREATE INDEX job_live ON job(id) WHERE state='PENDING'; DROP "
           "INDEX job_by_end");
    world_reopen(w);
    assert_string_equal(sql(w, "SELECT name, sql FROM sqlite_master WHERE type='index' AND sql NOT "
                               "NULL ORDER BY name"),
                        before);
}

/* Nor does it keep the others from being read: the row has a value that there is not. */
static void test_an_unknown_name_is_not_guessed(void **state)
{
    struct world *w = *state;
    struct rows r = {.world = w, .t = &job_fields};
    struct err e = {0};
    world_put_job(w, &(struct job){.id = 42});
    sql(w, "UPDATE job SET state='DREAMING'");
    assert_true(store_load(w->store, TABLE_JOB, false, 0, rows_add, &r, &e));
    assert_int_equal(r.v.n, 1);
    assert_int_equal(((const struct job *)r.v.v[0])->state, -1);
    assert_false(record_check(&job_fields, r.v.v[0], &e));
    assert_string_equal(e.text, "state: there is no value -1, the last is 15");
    vec_done(&r.v);
}

static void test_what_is_no_database(void **state)
{
    struct world *w = *state;
    struct err e = {0};
    char *other = xasprintf("%s/other", w->dir), *missing = xasprintf("%s/none/remuda.db", w->dir);
    FILE *f = fopen(other, "w");
    assert_non_null(f);
    fputs("these are notes of somebody, and no database; do not write into them", f);
    fclose(f);
    assert_null(store_open_sqlite(other, false, &e));
    assert_int_equal(e.code, ERR_INTERNAL);
    assert_non_null(strstr(e.text, "file is not a database"));
    assert_null(store_open_sqlite(missing, false, &e));
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "No such file or directory"));
    assert_null(store_open_sqlite(missing, true, &e));
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    unlink(other);
    free(other);
    free(missing);
}

/* ---- trouble that passes -------------------------------------------------------------------- */

static bool try_put(struct world *w, uint64_t id, struct err *e)
{
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = id});
    return world_commit(w, b, e);
}

static void test_somebody_else_holds_the_lock(void **state)
{
    struct world *w = *state;
    sqlite3 *other = NULL;
    struct err e;
    world_put_job(w, &(struct job){.id = 1});
    assert_int_equal(sqlite3_open(w->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_false(try_put(w, 2, &e));
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "database is locked"));
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1");
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_true(try_put(w, 2, &e));
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1 2");
}

/* A limit on the size of files stands for a full disk: writes fail in the same place. */
static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct batch *big_batch(struct world *w)
{
    static char script[1u << 20];
    struct batch *b = world_batch(w);
    batch_add(b, ROW_PUT, TABLE_JOB, &(struct job){.id = 2});
    for (uint64_t i = 0; i < 4; i++)
        batch_add(b, ROW_PUT, TABLE_PAYLOAD,
                  &(struct payload){.job_id = i + 10, .script = {script, sizeof script}});
    return b;
}

static void test_a_full_disk_that_has_room_again(void **state)
{
    struct world *w = *state;
    struct err e;
    struct payload p;
    world_put_job(w, &(struct job){.id = 1});
    signal(SIGXFSZ, SIG_IGN);
    set_file_limit(1u << 20);
    for (int i = 0; i < 3; i++) {
        assert_false(world_commit(w, big_batch(w), &e));
        assert_int_equal(e.code, ERR_UNAVAILABLE);
        assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1");
    }
    assert_true(try_put(w, 3, &e)); /* a little fits */
    set_file_limit(RLIM_INFINITY);
    if (!world_commit(w, big_batch(w), &e))
        fail_msg("%s", e.text);
    assert_string_equal(world_load_ids(w, TABLE_JOB, false, 0), "1 2 3");
    assert_true(store_payload(w->store, 13, w->arena, &p, NULL));
    world_reopen(w);
    assert_int_equal(w->seq, 3);
    assert_string_equal(sql(w, "PRAGMA integrity_check"), "ok");
}

/* By hand, or by damage: at the end of what 64 bits hold no commit could follow, ever. */
static void test_numbers_of_its_own_that_cannot_be(void **state)
{
    static const char *const values[] = {
        "18446744073709551615", "9223372036854775807", "9223372036854775806", "-1", "x", ""};
    struct world *w = *state;
    struct err e = {0};
    uint64_t id = 1;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        for (int both = 0; both < 2; both++) {
            struct str text = STR_INIT;
            str_addf(&text, "UPDATE meta SET value='%s' WHERE key='%s'", values[i],
                     both ? "epoch" : "seq");
            sql(w, str_text(&text));
            str_done(&text);
            world_reopen(w);
            for (int times = 0; times < 3; times++)
                if (!try_put(w, id++, &e))
                    fail_msg("%s", e.text);
        }
}

/* ---- readers beside the writer -------------------------------------------------------------- */

#define TOGETHER 50

struct reader {
    const char *path;
    size_t questions, torn;
    bool failed, stop;
};

static void count(void *ctx, const void *record)
{
    (*(size_t *)ctx)++;
}

static void *read_on(void *arg)
{
    struct reader *r = arg;
    struct store *s = store_open_sqlite(r->path, true, NULL);
    bool failed = !s;
    while (!failed && !__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
        size_t jobs = 0;
        failed = !store_query_jobs(s, &(struct msg_query){.from_us = 1}, count, &jobs, NULL);
        r->torn += jobs % TOGETHER != 0;
        __atomic_add_fetch(&r->questions, 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&r->failed, failed, __ATOMIC_RELEASE);
    store_close(s);
    return NULL;
}

/* Has each reader asked often enough, or given up? */
static bool readers_are_content(struct reader readers[2])
{
    bool content = true;
    for (int i = 0; i < 2; i++)
        content &= __atomic_load_n(&readers[i].questions, __ATOMIC_ACQUIRE) >= 5 ||
                   __atomic_load_n(&readers[i].failed, __ATOMIC_ACQUIRE);
    return content;
}

static void test_readers_see_whole_commits(void **state)
{
    struct world *w = *state;
    struct reader readers[2] = {{.path = w->path}, {.path = w->path}};
    pthread_t threads[2];
    struct err e;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    for (uint64_t i = 0; i < 60 || !readers_are_content(readers); i++) {
        struct batch *b = world_batch(w);
        for (uint64_t k = 0; k < TOGETHER; k++)
            batch_add(b, ROW_PUT, TABLE_JOB,
                      &(struct job){.id = i % 60 * TOGETHER + k + 1,
                                    .state = i % 2 ? JOB_RUNNING : JOB_FAILED,
                                    .end_us = 5});
        if (!world_commit(w, b, &e))
            fail_msg("%s", e.text);
    }
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&readers[i].stop, true, __ATOMIC_RELEASE);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_false(readers[i].failed);
        assert_int_equal(readers[i].torn, 0);
        assert_true(readers[i].questions > 0);
    }
}

static void test_a_reader_cannot_write(void **state)
{
    struct world *w = *state;
    uint64_t epoch, seq;
    struct err e = {0};
    struct store *s = store_open_sqlite(w->path, true, NULL);
    assert_non_null(s);
    assert_false(store_take_epoch(s, &epoch, &seq, &e));
    assert_int_equal(e.code, ERR_DENIED);
    store_close(s);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, open_sqlite, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(test_people_can_read_it),
        WITH(test_every_field_is_a_column),
        WITH(test_only_the_owner_may_read_it),
        WITH(test_questions_are_answered_through_indexes),
        WITH(test_a_start_walks_through_no_history),
        WITH(test_missing_columns_are_added),
        WITH(test_a_reader_may_meet_an_older_file),
        WITH(test_columns_of_a_newer_release_do_not_hurt),
        WITH(test_indexes_of_another_release_are_made_anew),
        WITH(test_an_unknown_name_is_not_guessed),
        WITH(test_what_is_no_database),
        WITH(test_somebody_else_holds_the_lock),
        WITH(test_a_full_disk_that_has_room_again),
        WITH(test_numbers_of_its_own_that_cannot_be),
        WITH(test_readers_see_whole_commits),
        WITH(test_a_reader_cannot_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
