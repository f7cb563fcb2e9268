/* What is kept of the samples that a node sends. */
#include "unit.h"

#include "controller/series/intake.h"
#include "wire/series.h"

#include <string.h>

static struct str frame, kept;

static int begin(void **unused)
{
    frame = kept = STR_INIT;
    return 0;
}

static int end(void **unused)
{
    str_done(&frame);
    str_done(&kept);
    return 0;
}

static void block_add(const char *node, uint64_t job_id, uint32_t attempt)
{
    struct series_source_key key = {
        .job_id = job_id, .attempt = attempt, .step_id = 0, .device = SERIES_OF_STEP};
    struct str block = STR_INIT;
    strncpy(key.node, node, sizeof key.node - 1);
    struct series_grow *g = series_grow_new(&key);
    series_grow_add(g, 1000, 1000, &(struct series_point){.id = SERIES_CPU, .value = 50}, 1);
    series_grow_encode(g, 0, true, &block);
    series_put(&frame, &block);
    series_grow_free(g);
    str_done(&block);
}

static size_t asked;

/* It had jobs below 100, each once. */
static bool had(void *ctx, uint64_t job_id, uint32_t attempt)
{
    (void)ctx;
    asked++;
    return job_id < 100 && attempt == 1;
}

static bool take(void)
{
    asked = 0;
    str_clear(&kept);
    return series_intake(frame.data, frame.len, "n1", had, NULL, &kept);
}

static size_t kept_count(void)
{
    const char *at = kept.data;
    size_t left = kept.len, n = 0;
    struct span block;
    while (series_next(&at, &left, &block))
        n++;
    assert_int_equal(left, 0);
    return n;
}

static void all_that_is_its_own(void **unused)
{
    for (int i = 0; i < 50; i++)
        block_add("n1", 7, 1);
    block_add("n1", 8, 1);
    assert_true(take());
    assert_int_equal(kept_count(), 51);
    assert_int_equal(asked, 2);
    assert_memory_equal(kept.data, frame.data, frame.len);
}

static void jobs_of_others_are_left_out(void **unused)
{
    block_add("n1", 7, 1);
    block_add("n1", 500, 1);
    block_add("n1", 7, 2);
    block_add("n2", 7, 1);
    block_add("n1", 9, 1);
    assert_false(take());
    assert_int_equal(kept_count(), 2);
}

/* Each byte changed, each length cut: the others stay, nothing that cannot be read is kept. */
static void what_cannot_be_read_is_left_out(void **unused)
{
    block_add("n1", 7, 1);
    size_t first = frame.len;
    block_add("n1", 8, 1);
    for (size_t i = 4; i < first; i++) {
        frame.data[i] ^= 0x41;
        assert_false(take());
        assert_int_equal(kept_count(), 1);
        frame.data[i] ^= 0x41;
    }
    for (size_t len = first; len < frame.len; len++) {
        str_clear(&kept);
        bool all = series_intake(frame.data, len, "n1", had, NULL, &kept);
        assert_int_equal(all, len == first);
        assert_int_equal(kept_count(), 1);
    }
    assert_true(take());
    assert_true(series_intake("", 0, "n1", had, NULL, &kept));
}

/* A frame of very many small blocks is looked at so far. */
static void so_many_blocks_at_once(void **unused)
{
    for (size_t i = 0; i < SERIES_INTAKE_BLOCKS + 5; i++)
        block_add("n1", 1 + i % 90, 1);
    assert_false(take());
    assert_int_equal(kept_count(), SERIES_INTAKE_BLOCKS);
    assert_true(asked <= SERIES_INTAKE_BLOCKS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(all_that_is_its_own),
        TEST(jobs_of_others_are_left_out),
        TEST(what_cannot_be_read_is_left_out),
        TEST(so_many_blocks_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
