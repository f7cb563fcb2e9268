/* What processes have, where it takes long to find out: because they are large, or because somebody
 * holds the answer back. The kernel, its time and the other steps are stand-ins. */
#include "unit.h"

#include "node/shepherd/apart.h"
#include "node/shepherd/watch/memory_watch.h"
#include "node/step/dir.h"
#include "node/step/proc_tree.h"

#include <string.h>

#define MIB  (INT64_C(1) << 20)
#define GIB  (INT64_C(1) << 30)
#define MOST 64

static struct {
    int64_t rss, share;
    int took_ms;
} process[MOST]; /* pid - 1 */
static size_t n;
static int sample_ms; /* that the last sample took */
static bool nobody;
static struct memory_shares shares;

/* ---- stand-ins ---- */

bool proc_usage(pid_t pid, struct proc_usage *ret)
{
    *ret = (struct proc_usage){.rss_bytes = process[pid - 1].rss};
    return process[pid - 1].rss > 0;
}

int64_t proc_share_bytes(pid_t pid)
{
    return process[pid - 1].share;
}

enum apart ask_apart_each(int64_t (*fn)(const void *ctx, size_t i), const void *ctx, size_t count,
                          const int *each_ms, int *left_ms, size_t *next, int64_t *ret)
{
    const struct memory_share *who = ctx;
    for (; *next < count && !nobody; (*next)++) {
        int wait_ms = each_ms[*next] < *left_ms ? each_ms[*next] : *left_ms;
        int took_ms = process[who[*next].pid - 1].took_ms;
        *left_ms -= took_ms < wait_ms ? took_ms : wait_ms;
        sample_ms += took_ms < wait_ms ? took_ms : wait_ms;
        if (took_ms > wait_ms)
            return APART_LATE;
        ret[*next] = fn(ctx, *next);
    }
    return nobody ? APART_NOBODY : APART_ANSWERED;
}

bool step_dir_alive(int dir_fd, const char *name)
{
    (void)dir_fd, (void)name;
    return false;
}

bool small_file_read(int dir_fd, const char *path, size_t max, struct str *out)
{
    (void)dir_fd, (void)path, (void)max, (void)out;
    return false;
}

bool small_file_write(int dir_fd, const char *path, const void *data, size_t len, int mode)
{
    (void)dir_fd, (void)path, (void)data, (void)len, (void)mode;
    return false;
}

/* ---- the world ---- */

static void are_there(size_t how_many, int64_t rss, int64_t share, int took_ms)
{
    vec_done(&shares.of);
    memset(&shares, 0, sizeof shares);
    nobody = false;
    n = how_many;
    for (size_t i = 0; i < n; i++) {
        process[i].rss = rss;
        process[i].share = share;
        process[i].took_ms = took_ms;
    }
}

/* What the step is found to use beyond that limit; 0: it goes on. */
static int64_t sampled(int64_t limit)
{
    static pid_t pids[MOST];
    static uint64_t starts[MOST];
    struct step_plan p = {.dir_name = "7.1.1", .mem_limit_bytes = limit};
    struct memory_watch w = {0};
    struct memory_processes of = {pids, starts, n, 0, &shares};
    for (size_t i = 0; i < n; i++) {
        pids[i] = (pid_t)(i + 1);
        starts[i] = 1000 + i;
        of.rss_bytes += process[i].rss;
    }
    sample_ms = 0;
    bool ends = memory_watch(&w, &p, -1, &of);
    assert_in_range(sample_ms, 0, 10000);
    return ends ? w.used_bytes : 0;
}

/* ---- tests ---- */

/* Of three two had answered in seven seconds, and for the third there was no time, each time. */
static void who_holds_answers_back_has_what_he_seems_to_have(void **state)
{
    (void)state;
    are_there(3, GIB, MIB, 3500);
    assert_int_equal(sampled(2 * GIB), 3 * GIB);
    assert_in_range(sample_ms, 1, 2700);
    are_there(23, 100 * MIB, MIB, 450); /* no one of them is late by itself */
    int64_t seems = sampled(GIB);
    assert_in_range(seems, GIB, 23 * 100 * MIB);
    assert_in_range(sample_ms, 1, 2700);
}

/* Where many threads have one processor an answer that takes 50 ms takes 800: that is no proof
 * against those who have a GiB in common. */
static void who_waits_for_a_processor_holds_nothing_back(void **state)
{
    (void)state;
    are_there(3, GIB, 400 * MIB, 800);
    for (int i = 0; i < 5; i++)
        assert_int_equal(sampled(2 * GIB), 0);
    are_there(3, 40 * MIB, 20 * MIB, 700); /* however small */
    for (int i = 0; i < 5; i++)
        assert_int_equal(sampled(110 * MIB), 0);
}

/* 64 processes of a database with 100 GiB in common. */
static void large_ones_are_found_out_over_several_samples(void **state)
{
    (void)state;
    size_t samples = 1;
    are_there(MOST, 100 * GIB, GIB, 1300);
    while (!sampled(50 * GIB) && samples < 20)
        samples++;
    assert_in_range(samples, 2, 10);
    are_there(MOST, 100 * GIB, GIB, 1300);
    for (samples = 0; samples < 20; samples++)
        assert_int_equal(sampled(80 * GIB), 0);
}

/* What was found in a sample before is less by then, or nothing: it ended. */
static void what_was_given_back_meanwhile_does_not_count(void **state)
{
    (void)state;
    are_there(MOST, 100 * GIB, GIB, 1300);
    assert_int_equal(sampled(50 * GIB), 0);
    for (size_t i = 0; i < 7; i++)
        process[i].rss = i ? MIB : 0;
    for (size_t i = 7; i < MOST; i++)
        process[i].share = 900 * MIB;
    for (size_t samples = 0; samples < 20; samples++)
        assert_int_equal(sampled(51 * GIB), 0); /* 7 more would be over it */
}

/* What was found in a sample before is not what it has when it has grown: seven that had nothing
 * have 20 GiB each while the rest are found out. */
static void who_grows_meanwhile_is_asked_again(void **state)
{
    (void)state;
    int64_t ends = 0;
    are_there(MOST, 100 * GIB, GIB, 1300);
    for (size_t i = 0; i < 7; i++)
        process[i].rss = process[i].share = MIB;
    assert_int_equal(sampled(100 * GIB), 0);
    for (size_t i = 0; i < 7; i++)
        process[i].rss = process[i].share = 20 * GIB;
    for (size_t samples = 1; samples < 12 && !ends; samples++)
        ends = sampled(100 * GIB);
    assert_in_range(ends, 190 * GIB, 200 * GIB);
}

/* It had given its memory back, and has it again, now its own. */
static void who_shrinks_and_grows_is_asked_again(void **state)
{
    (void)state;
    int64_t ends = 0;
    are_there(MOST, 100 * GIB, GIB, 1300);
    assert_int_equal(sampled(100 * GIB), 0);
    for (size_t i = 0; i < 7; i++)
        process[i].rss = MIB;
    assert_int_equal(sampled(100 * GIB), 0);
    for (size_t i = 0; i < 7; i++)
        process[i].rss = process[i].share = 20 * GIB;
    for (size_t samples = 2; samples < 12 && !ends; samples++)
        ends = sampled(100 * GIB);
    assert_in_range(ends, 190 * GIB, 200 * GIB);
}

/* However much they seem to have, which costs nobody anything: two minutes for all of them. */
static void no_round_takes_longer_than_two_minutes(void **state)
{
    (void)state;
    size_t samples = 1;
    are_there(MOST, 100 * GIB, MIB, 3500);
    while (!sampled(2000 * GIB) && samples < 30)
        samples++;
    assert_in_range(samples, 2, 13);
}

static void where_nobody_can_ask_nothing_is_known(void **state)
{
    (void)state;
    are_there(3, GIB, GIB, 1);
    nobody = true;
    for (int i = 0; i < 5; i++)
        assert_int_equal(sampled(2 * GIB), 0);
    nobody = false;
    assert_int_equal(sampled(2 * GIB), 3 * GIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_holds_answers_back_has_what_he_seems_to_have),
        cmocka_unit_test(who_waits_for_a_processor_holds_nothing_back),
        cmocka_unit_test(large_ones_are_found_out_over_several_samples),
        cmocka_unit_test(what_was_given_back_meanwhile_does_not_count),
        cmocka_unit_test(who_grows_meanwhile_is_asked_again),
        cmocka_unit_test(who_shrinks_and_grows_is_asked_again),
        cmocka_unit_test(no_round_takes_longer_than_two_minutes),
        cmocka_unit_test(where_nobody_can_ask_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
