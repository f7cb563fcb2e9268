/* Samples that wait for the controller, and a disk that does not take them. */
#include "scratch.h"

#include "base/alloc.h"
#include "node/daemon/series_queue.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[96];

static int setup(void **state)
{
    scratch_make(dir, sizeof dir, "series-queue");
    snprintf(path, sizeof path, "%s/series.queue", dir);
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

static int teardown(void **state)
{
    return scratch_remove(dir);
}

/* What a file may have: as on a full disk, what goes in goes in, and the rest is refused. */
static void disk_has(rlim_t bytes)
{
    struct rlimit r;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static size_t file_size(void)
{
    struct stat st;
    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static struct series_queue queue_new(void)
{
    return (struct series_queue){.log = log_open("/dev/null", LOG_IS_ERROR, NULL),
                                 .path = xstrdup(path)};
}

static void queue_done(struct series_queue *q)
{
    log_close(q->log);
    series_queue_done(q);
}

static void block_add(struct series_queue *q, uint64_t job)
{
    struct series_source_key key = {.job_id = job, .attempt = 1, .node = "n1", .device = 0};
    struct series_grow *g = series_grow_new(&key);
    struct str bytes = STR_INIT;
    for (int i = 0; i < 20; i++)
        series_grow_add(g, 1000000 + i * 1000, 1000,
                        &(struct series_point){.id = 1, .value = i * (int64_t)job}, 1);
    series_grow_encode(g, 0, true, &bytes);
    series_queue_add(q, bytes.data, bytes.len, false);
    str_done(&bytes);
    series_grow_free(g);
}

/* A daemon that ends while the disk is full, and the next. */
static size_t read_again(void)
{
    struct series_queue q = queue_new();
    series_queue_read(&q);
    size_t n = q.block.n;
    queue_done(&q);
    return n;
}

/* What the disk did not take is tried again when it has room: half a block is not left in the way of
 * what comes behind it. */
static void test_what_a_full_disk_does_not_take_is_tried_again(void **state)
{
    struct series_queue q = queue_new();
    block_add(&q, 1);
    series_queue_save(&q, true);
    size_t one = file_size();
    assert_true(one > 20 && q.block.v[0].in_file);
    disk_has((rlim_t)(one + one / 2));
    block_add(&q, 2);
    block_add(&q, 3);
    series_queue_save(&q, true);
    assert_int_equal(file_size(), one);
    assert_false(q.block.v[1].in_file || q.block.v[2].in_file);
    assert_true(q.full);
    assert_int_equal(read_again(), 1);
    disk_has(RLIM_INFINITY);
    series_queue_save(&q, true);
    assert_true(q.block.v[1].in_file && q.block.v[2].in_file && !q.full);
    assert_int_equal(read_again(), 3);
    queue_done(&q);
}

/* A file that has grown is written anew beside it: what a full disk does not take then stays where
 * it was. */
static void test_a_file_that_is_written_anew_is_whole_or_as_it_was(void **state)
{
    struct series_queue q = queue_new();
    for (uint64_t job = 1; job <= 3; job++)
        block_add(&q, job);
    series_queue_save(&q, true);
    size_t before = file_size(), known = q.file_bytes;
    q.file_bytes = 64u << 20; /* as after very many that were sent */
    disk_has((rlim_t)(before + 1));
    block_add(&q, 4);
    series_queue_save(&q, true);
    assert_false(q.block.v[3].in_file);
    assert_int_equal(file_size(), before);
    assert_int_equal(read_again(), 3);
    disk_has(RLIM_INFINITY);
    series_queue_save(&q, true);
    assert_true(q.block.v[3].in_file && q.file_bytes == file_size() && q.file_bytes > known);
    assert_int_equal(read_again(), 4);
    queue_done(&q);
}

static void test_a_file_that_cannot_be_opened_keeps_nothing(void **state)
{
    struct series_queue q = queue_new();
    block_add(&q, 1);
    assert_int_equal(mkdir(path, 0700), 0);
    series_queue_save(&q, true);
    assert_false(q.block.v[0].in_file);
    assert_int_equal(rmdir(path), 0);
    series_queue_save(&q, true);
    assert_true(q.block.v[0].in_file);
    assert_int_equal(read_again(), 1);
    queue_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_a_full_disk_does_not_take_is_tried_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_written_anew_is_whole_or_as_it_was,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_file_that_cannot_be_opened_keeps_nothing, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
