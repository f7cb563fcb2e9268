/* Files of series by day: what is put is found, a whole block replaces its pieces, days grow coarser
 * with age and go, and nothing is lost where that fails. */
#include "controller/disk/series_days.h"
#include "controller/disk/series_write.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/files.h"
#include "store/sqlite/series_file.h"
#include "unit.h"
#include "wire/series.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DAY_US INT64_C(1795392000000000) /* 2026-11-23 */
#define DAY_MS (DAY_US / 1000)

static char dir[] = "/tmp/series-days-XXXXXX";
static const struct series_keep keep = {.level = {{2 * USEC_PER_SEC, SERIES_DAY_US},
                                                  {10 * USEC_PER_SEC, 30 * SERIES_DAY_US},
                                                  {60 * USEC_PER_SEC, 365 * SERIES_DAY_US}},
                                        .n = 3};

static const char *in_dir(const char *name)
{
    static char path[4][128];
    static unsigned at;
    char *to = path[at++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", dir, name);
    return to;
}

static int fresh(void **state)
{
    (void)state;
    struct err err = {0};
    dir_remove(dir, &err);
    return dir_make(dir, 0700, &err) ? 0 : -1;
}

static int gone(void **state)
{
    (void)state;
    struct err err = {0};
    return dir_remove(dir, &err) ? 0 : -1;
}

/* ---- blocks ---- */

static void block_put(struct series_file *f, int32_t device, int64_t from_ms, size_t n,
                      int64_t gap_ms, bool whole)
{
    struct series_source_key key = {
        .job_id = 7, .attempt = 1, .device = device, .node = "gpu7", .name = "a100"};
    struct series_grow *g = series_grow_new(&key);
    struct str bytes = STR_INIT;
    struct err err = {0};
    for (size_t i = 0; i < n; i++)
        series_grow_add(g, from_ms + (int64_t)i * gap_ms, gap_ms,
                        &(struct series_point){SERIES_GPU_UTIL, 0, (int64_t)(i % 2) * 80}, 1);
    series_grow_encode(g, 0, whole, &bytes);
    const struct series_row row = {.job_id = 7,
                                   .attempt = 1,
                                   .node = "gpu7",
                                   .device = device,
                                   .whole = whole,
                                   .first_ms = from_ms,
                                   .last_ms = from_ms + (int64_t)(n - 1) * gap_ms,
                                   .data = bytes.data,
                                   .len = bytes.len};
    assert_true(series_file_put(f, &row, &err));
    str_done(&bytes);
    series_grow_free(g);
}

struct counted {
    size_t rows, samples, wholes, most;
    int64_t first_ms[64];
    double sum;
};

static bool row_count(void *ctx, const struct series_row *r)
{
    struct counted *c = ctx;
    struct arena *a = arena_new();
    struct series_block b;
    assert_true(series_block_read(r->data, r->len, a, &b, NULL));
    c->first_ms[c->rows % 64] = r->first_ms;
    c->rows++;
    c->wholes += r->whole;
    c->samples += b.head.n;
    for (size_t i = 0; i < b.head.n; i++)
        c->sum += (double)b.col[0].v[i];
    arena_free(a);
    return c->rows != c->most;
}

static struct counted count(const char *path, const struct series_where *w)
{
    struct counted c = {.most = w->first_ms ? 0 : SIZE_MAX};
    struct err err = {0};
    struct series_file *f = series_file_open(path, false, &err);
    assert_non_null(f);
    assert_true(series_file_read(f, w, row_count, &c, &err));
    series_file_close(f);
    return c;
}

static struct series_file *day_file(const char *name)
{
    struct err err = {0};
    struct series_file *f = series_file_open(in_dir(name), true, &err);
    assert_non_null(f);
    assert_true(series_file_begin(f, &err));
    return f;
}

static void kept(struct series_file *f)
{
    struct err err = {0};
    assert_true(series_file_commit(f, &err));
    series_file_close(f);
}

static const struct series_where of_job = {.job_id = 7, .attempt = 1};

static void a_whole_block_replaces_its_pieces(void **state)
{
    (void)state;
    struct series_file *f = day_file("2026-11-23.db");
    for (int64_t i = 0; i < 4; i++)
        block_put(f, 0, DAY_MS + i * 10000, 5, 2000, false);
    block_put(f, 1, DAY_MS, 5, 2000, false);
    block_put(f, 0, DAY_MS, 20, 2000, true);
    block_put(f, 0, DAY_MS, 5, 2000, false);         /* sent again */
    block_put(f, 0, DAY_MS, 20, 2000, true);         /* and again */
    block_put(f, 0, DAY_MS + 40000, 5, 2000, false); /* the next has begun */
    kept(f);
    struct counted c = count(in_dir("2026-11-23.db"), &of_job);
    assert_int_equal(c.rows, 3);
    assert_int_equal(c.wholes, 1);
    assert_int_equal(c.samples, 20 + 5 + 5);
    struct series_where after = of_job, within = of_job;
    after.node = "gpu7";
    after.device = 0;
    after.first_ms = DAY_MS;
    c = count(in_dir("2026-11-23.db"), &after);
    assert_int_equal(c.rows, 2);
    assert_true(c.first_ms[0] == DAY_MS + 40000);
    within.from_ms = DAY_MS + 39000;
    assert_int_equal(count(in_dir("2026-11-23.db"), &within).rows, 1);
    const struct series_where other = {.job_id = 7, .attempt = 2};
    assert_int_equal(count(in_dir("2026-11-23.db"), &other).rows, 0);
}

static void what_was_begun_and_not_ended_is_not_there(void **state)
{
    (void)state;
    struct series_file *f = day_file("2026-11-23.db");
    block_put(f, 0, DAY_MS, 20, 2000, true);
    kept(f);
    f = day_file("2026-11-23.db");
    block_put(f, 1, DAY_MS, 20, 2000, true);
    series_file_close(f);
    assert_int_equal(count(in_dir("2026-11-23.db"), &of_job).rows, 1);
}

/* ---- days ---- */

static bool is_there(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

static bool due(int64_t age_us)
{
    int64_t day;
    bool is = series_days_due(dir, &keep, DAY_US + SERIES_DAY_US + age_us, &day);
    assert_true(!is || day == DAY_US);
    return is;
}

static bool thin(int64_t age_us, struct err *err)
{
    return series_day_thin(dir, &keep, DAY_US + SERIES_DAY_US + age_us, DAY_US, err);
}

static void day_fill(const char *name)
{
    struct series_file *f = day_file(name);
    for (int64_t i = 0; i < 30; i++)
        for (int32_t device = 0; device < 2; device++)
            block_put(f, device, DAY_MS + i * 128000, 64, 2000, true);
    block_put(f, 2, DAY_MS, 30, 60000, true); /* as seldom as the coarsest */
    kept(f);
}

static void days_grow_coarser_and_go(void **state)
{
    struct err err = {0};
    (void)state;
    day_fill("2026-11-23.db");
    assert_false(due(-SERIES_DAY_US));
    assert_false(due(SERIES_DAY_US - 1));
    assert_true(due(SERIES_DAY_US));
    assert_true(thin(SERIES_DAY_US, &err));
    assert_false(is_there("2026-11-23.db") || is_there("2026-11-23.db-wal"));
    struct counted c = count(in_dir("2026-11-23.10s.db"), &of_job);
    assert_int_equal(c.samples, 2 * 30 * 64 / 5 + 30);
    assert_true(c.sum / (double)c.samples > 30 && c.sum / (double)c.samples < 50);
    assert_false(due(2 * SERIES_DAY_US));
    /* A block that was late, once it has grown coarser as well. */
    struct series_file *late = day_file("2026-11-23.db");
    block_put(late, 3, DAY_MS, 10, 2000, true);
    kept(late);
    assert_true(due(2 * SERIES_DAY_US));
    assert_true(thin(2 * SERIES_DAY_US, &err));
    assert_int_equal(count(in_dir("2026-11-23.10s.db"), &of_job).samples, 2 * 384 + 30 + 2);
    assert_true(due(30 * SERIES_DAY_US));
    assert_true(thin(30 * SERIES_DAY_US, &err));
    assert_false(is_there("2026-11-23.10s.db"));
    assert_int_equal(count(in_dir("2026-11-23.60s.db"), &of_job).samples, 2 * 64 + 30 + 1);
    assert_true(due(365 * SERIES_DAY_US));
    assert_true(thin(365 * SERIES_DAY_US, &err));
    assert_false(is_there("2026-11-23.60s.db"));
    assert_false(due(366 * SERIES_DAY_US));
}

static void what_cannot_be_written_stays_as_it_was(void **state)
{
    struct err err = {0};
    struct rlimit before, little = {.rlim_cur = 8192};
    (void)state;
    day_fill("2026-11-23.db");
    getrlimit(RLIMIT_FSIZE, &before);
    little.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    bool ok = thin(SERIES_DAY_US, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(ok);
    assert_true(err.text[0] != '\0');
    assert_false(is_there("2026-11-23.10s.db") || is_there("thinning"));
    assert_int_equal(count(in_dir("2026-11-23.db"), &of_job).rows, 61);
    assert_true(thin(SERIES_DAY_US, &err));
}

static void a_damaged_file_is_an_error(void **state)
{
    struct err err = {0};
    char rubbish[4096];
    (void)state;
    memset(rubbish, 'x', sizeof rubbish);
    assert_true(file_write_atomic(in_dir("2026-11-23.db"), rubbish, sizeof rubbish, 0600, &err));
    assert_false(thin(SERIES_DAY_US, &err));
    assert_true(err.text[0] != '\0');
    assert_true(is_there("2026-11-23.db"));
    struct series_file *f = series_file_open(in_dir("2026-11-23.db"), false, &err);
    struct counted c = {.most = SIZE_MAX};
    assert_true(!f || !series_file_read(f, &of_job, row_count, &c, &err));
    series_file_close(f);
}

static void only_files_of_days_are_days(void **state)
{
    static const char *const names[] = {
        "2026-11-23.db", "2026-11-22.10s.db", "2026-13-22.db", "2026-11-22.0s.db", "notes",
        "thinning",      "2026-11-23.db-wal", "2026-11-2.db",  "2026-11-22.db"};
    struct arena *a = arena_new();
    struct series_day_file *f;
    struct err err = {0};
    size_t n;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_true(file_write_atomic(in_dir(names[i]), "", 0, 0600, &err));
    series_days_list(dir, a, &f, &n);
    assert_int_equal(n, 3);
    assert_string_equal(f[0].name, "2026-11-22.10s.db");
    assert_string_equal(f[1].name, "2026-11-22.db");
    assert_string_equal(f[2].name, "2026-11-23.db");
    assert_true(f[2].day_us == DAY_US);
    assert_string_equal(series_day_path(dir, DAY_US + 5, a), in_dir("2026-11-23.db"));
    arena_free(a);
}

/* ---- what comes within a second ---- */

static void blocks_of_day(struct str *out, const char *node, int64_t day)
{
    struct series_source_key key = {.job_id = 7, .attempt = 1, .name = "a100"};
    struct str block = STR_INIT;
    snprintf(key.node, sizeof key.node, "%s", node);
    struct series_grow *g = series_grow_new(&key);
    series_grow_add(g, DAY_MS + day * (SERIES_DAY_US / 1000) + 5000, 2000,
                    &(struct series_point){SERIES_GPU_UTIL, 0, 80}, 1);
    series_grow_encode(g, 0, true, &block);
    series_put(out, &block);
    str_done(&block);
    series_grow_free(g);
}

static size_t files(void)
{
    struct arena *a = arena_new();
    struct series_day_file *f;
    size_t n;
    series_days_list(dir, a, &f, &n);
    arena_free(a);
    return n;
}

/* Each node is of another day than its neighbour after days without a controller: it was one day
 * too many, so nothing was kept, again and again. */
static void as_many_days_as_nodes_may_have_kept_come_at_once(void **state)
{
    struct series_write *w = series_write_new(dir);
    struct err err = {0};
    (void)state;
    for (int again = 0; again < 2; again++) {
        series_write_begin(w, DAY_US, 0);
        for (int64_t day = -45; day < 5; day++) {
            struct str frame = STR_INIT;
            blocks_of_day(&frame, "gpu7", day);
            assert_true(series_write_put(w, "gpu7", (struct span){frame.data, frame.len}));
            str_done(&frame);
        }
        assert_true(series_write_end(w, &err));
        assert_int_equal(files(), 42);
    }
    series_write_free(w);
}

/* One second after the other brings an older day, last of all today: its file stays open (its log is
 * there until it is closed), though the places that are kept hold other days. */
static void the_day_that_came_last_stays_open(void **state)
{
    struct series_write *w = series_write_new(dir);
    struct err err = {0};
    (void)state;
    for (int64_t day = -6; day <= 0; day++) {
        struct str frame = STR_INIT;
        char log[64];
        blocks_of_day(&frame, "gpu7", day);
        series_write_begin(w, DAY_US, 0);
        assert_true(series_write_put(w, "gpu7", (struct span){frame.data, frame.len}));
        assert_true(series_write_end(w, &err));
        snprintf(log, sizeof log, "2026-11-%02d.db-wal", (int)(23 + day));
        assert_int_equal(access(in_dir(log), F_OK), 0);
        str_done(&frame);
    }
    series_write_free(w);
}

static void what_is_left_for_later_or_of_others_is_not_put(void **state)
{
    struct series_write *w = series_write_new(dir);
    struct str frame = STR_INIT;
    struct err err = {0};
    (void)state;
    blocks_of_day(&frame, "gpu8", 0);
    series_write_begin(w, DAY_US, 0);
    assert_true(series_write_put(w, "gpu7", (struct span){frame.data, frame.len}));
    assert_true(series_write_end(w, &err));
    assert_int_equal(files(), 0);
    series_write_begin(w, DAY_US, DAY_US);
    assert_false(series_write_put(w, "gpu8", (struct span){frame.data, frame.len}));
    assert_true(series_write_end(w, &err));
    assert_int_equal(files(), 0);
    series_write_begin(w, DAY_US, 0);
    assert_true(series_write_put(w, "gpu8", (struct span){frame.data, frame.len}));
    series_write_free(w); /* what was begun */
    assert_int_equal(count(in_dir("2026-11-23.db"), &of_job).rows, 0);
    str_done(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_whole_block_replaces_its_pieces, fresh, gone),
        cmocka_unit_test_setup_teardown(what_was_begun_and_not_ended_is_not_there, fresh, gone),
        cmocka_unit_test_setup_teardown(days_grow_coarser_and_go, fresh, gone),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_stays_as_it_was, fresh, gone),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_an_error, fresh, gone),
        cmocka_unit_test_setup_teardown(only_files_of_days_are_days, fresh, gone),
        cmocka_unit_test_setup_teardown(as_many_days_as_nodes_may_have_kept_come_at_once, fresh,
                                        gone),
        cmocka_unit_test_setup_teardown(the_day_that_came_last_stays_open, fresh, gone),
        cmocka_unit_test_setup_teardown(what_is_left_for_later_or_of_others_is_not_put, fresh,
                                        gone),
    };
    if (!mkdtemp(dir))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
