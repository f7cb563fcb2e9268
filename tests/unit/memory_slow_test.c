/* What processes have, where it takes long to find out: because they are large, or because somebody
 * holds the answer back. The kernel, its time and the other steps are stand-ins. */
#include "unit.h"

#include "node/shepherd/apart.h"
#include "node/shepherd/watch/memory_watch.h"
#include "node/step/dir.h"
#include "node/step/proc_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static char part[2][64]; /* that the steps 7.1.0 and 7.1.1 of one job have left */

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
    return true;
}

bool small_file_read(int dir_fd, const char *path, size_t max, struct str *out)
{
    (void)dir_fd, (void)max;
    str_add(out, part[path[4] - '0']);
    return part[path[4] - '0'][0] != '\0';
}

bool small_file_write(int dir_fd, const char *path, const void *data, size_t len, int mode)
{
    (void)dir_fd, (void)mode;
    snprintf(part[path[4] - '0'], sizeof part[0], "%.*s", (int)len, (const char *)data);
    return true;
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
    int64_t largest_ms = 0; /* that one alone may take */
    for (size_t i = 0; i < n; i++) {
        int64_t its_ms = process[i].rss / MIB / 20 + 5500;
        largest_ms = its_ms > largest_ms ? its_ms : largest_ms;
        largest_ms = largest_ms < 60000 ? largest_ms : 60000;
        pids[i] = (pid_t)(i + 1);
        starts[i] = 1000 + i;
        of.rss_bytes += process[i].rss;
    }
    sample_ms = 0;
    bool ends = memory_watch(&w, &p, -1, &of);
    assert_in_range(sample_ms, 0, largest_ms > 10000 ? largest_ms : 10000);
    return ends ? w.used_bytes : 0;
}

/* ---- tests ---- */

/* Of three two had answered in seven seconds, and for the third there was no time, each time. */
static void who_holds_answers_back_has_what_he_seems_to_have(void **state)
{
    (void)state;
    are_there(3, GIB, MIB, 3500);
    assert_int_equal(sampled(2 * GIB), 3 * GIB);
    assert_in_range(sample_ms, 1, 5700);
    are_there(23, 100 * MIB, MIB, 450); /* no one of them is late by itself */
    int64_t seems = sampled(GIB);
    assert_in_range(seems, GIB, 23 * 100 * MIB);
    assert_in_range(sample_ms, 1, 5700);
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
        assert_int_equal(sampled(70 * MIB), 0);
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

/* However much they seem to have, which costs nobody anything: two minutes for all of them, or as
 * long as an idle processor takes for that, so that nobody honest ends. */
static void no_round_takes_longer_than_it_may(void **state)
{
    (void)state;
    size_t samples = 1;
    are_there(MOST, 30 * GIB, MIB, 3500);
    while (!sampled(600 * GIB) && samples < 30)
        samples++;
    assert_in_range(samples, 2, 15);
    are_there(MOST, 100 * GIB, GIB, 1700);
    for (samples = 0; samples < 40; samples++)
        assert_int_equal(sampled(100 * GIB), 0);
}

/* Two of 300 GiB on a machine that is idle take longer than a sample waits for others. */
static void whose_answer_takes_longer_than_a_sample_is_heard(void **state)
{
    (void)state;
    int64_t ends = 0;
    int samples;
    are_there(2, 300 * GIB, 150 * GIB, 15000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sampled(400 * GIB), 0);
    are_there(2, 300 * GIB, 250 * GIB, 15000);
    for (int i = 0; i < 4 && !ends; i++)
        ends = sampled(400 * GIB);
    assert_int_equal(ends, 500 * GIB);
    are_there(2, 300 * GIB, MIB, 25000); /* too long for that */
    for (ends = 0, samples = 0; samples < 3 && !ends; samples++)
        ends = sampled(400 * GIB);
    assert_int_equal(ends, 600 * GIB);
    are_there(2, 3000 * GIB, MIB, 25000);
    assert_int_equal(sampled(4000 * GIB), 0);
}

/* One was asked; then it forks. What it had alone it has in common from then on, and the next is
 * counted with its part of that, too. */
static void fork_of(int64_t parent, int64_t child)
{
    process[0].share = parent;
    process[n].rss = process[0].rss;
    process[n].took_ms = process[0].took_ms;
    process[n++].share = child;
}

static void who_forks_between_two_samples_has_no_more_than_before(void **state)
{
    (void)state;
    int64_t ends = 0;
    for (int has = 0; has < 2; has++) { /* what it shares with its child; or has written to since */
        are_there(2, 40 * GIB, 20 * GIB, 6000);
        process[0].share = 40 * GIB;
        assert_int_equal(sampled(70 * GIB), 0);
        fork_of(has ? 40 * GIB : 20 * GIB, has ? 40 * GIB : 20 * GIB);
        ends = 0;
        for (int i = 0; i < 12 && !ends; i++)
            ends = sampled(70 * GIB);
        assert_int_equal(ends, has ? 100 * GIB : 0);
    }
}

/* Who has too much without those is not let go on for them; nor is who begins others each time. */
static void who_forks_all_the_time_ends_all_the_same(void **state)
{
    (void)state;
    int64_t ends = 0;
    int samples = 0;
    are_there(2, 40 * GIB, 40 * GIB, 6000);
    assert_int_equal(sampled(70 * GIB), 0);
    fork_of(40 * GIB, GIB);
    for (; samples < 2 && !ends; samples++)
        ends = sampled(70 * GIB);
    assert_int_equal(ends, 81 * GIB);
    are_there(2, 40 * GIB, 20 * GIB, 6000);
    process[0].share = 40 * GIB;
    for (samples = ends = 0; samples < 40 && !ends; samples++) {
        ends = sampled(70 * GIB);
        if (!ends && n < 8)
            fork_of(40 * GIB, 40 * GIB);
    }
    assert_in_range(ends, 100 * GIB, 400 * GIB);
}

static int steps_make(char *dir)
{
    assert_non_null(mkdtemp(dir));
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdirat(fd, "7.1.0", 0700), 0);
    assert_int_equal(mkdirat(fd, "7.1.1", 0700), 0);
    return fd;
}

static void steps_remove(const char *dir, int fd)
{
    unlinkat(fd, "7.1.0", AT_REMOVEDIR);
    unlinkat(fd, "7.1.1", AT_REMOVEDIR);
    close(fd);
    rmdir(dir);
}

/* The sample of one of two steps that have half of the processes each. */
static int64_t sampled_of_two(int steps_fd, int step, struct memory_shares *of_step, int64_t limit)
{
    pid_t pids[MOST / 2];
    uint64_t starts[MOST / 2];
    struct step_plan p = {.dir_name = step ? "7.1.1" : "7.1.0", .job_mem_bytes = limit};
    struct memory_watch w = {0};
    struct memory_processes of = {pids, starts, MOST / 2, 0, of_step};
    for (size_t i = 0; i < MOST / 2; i++) {
        pids[i] = (pid_t)(i + 1) + step * MOST / 2;
        starts[i] = 1000 + i;
        of.rss_bytes += process[pids[i] - 1].rss;
    }
    return memory_watch(&w, &p, steps_fd, &of) && w.of_job ? w.used_bytes : 0;
}

/* How many samples it takes until the job is found to be over it, of both steps, the second of
 * which begins two samples later; of 30. */
static size_t job_samples(int64_t limit, int64_t *ret_used)
{
    char dir[] = "/tmp/memory-slow-XXXXXX";
    struct memory_shares of_step[2] = {{.asked_ms = 0}};
    int fd = steps_make(dir);
    size_t samples = 0;
    memset(part, 0, sizeof part);
    for (*ret_used = 0; samples < 30 && !*ret_used; samples++) {
        *ret_used = sampled_of_two(fd, 0, &of_step[0], limit);
        if (!*ret_used && samples >= 2)
            *ret_used = sampled_of_two(fd, 1, &of_step[1], limit);
    }
    vec_done(&of_step[0].of);
    vec_done(&of_step[1].of);
    steps_remove(dir, fd);
    return samples;
}

/* Each is known to the byte in one sample of several, and never both in the same. */
static void two_large_steps_of_one_job_are_found_out(void **state)
{
    (void)state;
    int64_t used;
    are_there(MOST, 100 * GIB, GIB, 1300);
    assert_in_range(job_samples(50 * GIB, &used), 5, 15);
    assert_int_equal(used, 64 * GIB);
    are_there(MOST, 100 * GIB, GIB, 1300);
    assert_int_equal(job_samples(80 * GIB, &used), 30);
    assert_int_equal(used, 0);
}

/* What was found last is told while the step has about that, less what was given back since: nobody
 * ends for that, nor for what is not known. */
static void what_a_step_gave_back_is_not_told(void **state)
{
    (void)state;
    char dir[] = "/tmp/memory-slow-XXXXXX";
    struct memory_shares of_step = {.asked_ms = 0};
    int fd = steps_make(dir);
    memset(part, 0, sizeof part);
    are_there(MOST, 100 * GIB, GIB, 1300);
    for (int i = 0; i < 10 && strcmp(part[0], "34359738368 1\n") != 0; i++)
        assert_int_equal(sampled_of_two(fd, 0, &of_step, 50 * GIB), 0);
    assert_string_equal(part[0], "34359738368 1\n");
    static const struct {
        int64_t each, told; /* GiB of the first two */
        int exact;
    } then[] = {{99, 30, 1}, {70, 3140, 0}, {200, 3400, 0}, {100, 32, 1}};
    for (size_t i = 0; i < ARRAY_LEN(then); i++) {
        char expected[64];
        process[0].rss = process[1].rss = then[i].each * GIB;
        snprintf(expected, sizeof expected, "%lld %d\n", (long long)(then[i].told * GIB),
                 then[i].exact);
        assert_int_equal(sampled_of_two(fd, 0, &of_step, 50 * GIB), 0);
        assert_string_equal(part[0], expected);
    }
    vec_done(&of_step.of);
    steps_remove(dir, fd);
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
        cmocka_unit_test(no_round_takes_longer_than_it_may),
        cmocka_unit_test(whose_answer_takes_longer_than_a_sample_is_heard),
        cmocka_unit_test(who_forks_between_two_samples_has_no_more_than_before),
        cmocka_unit_test(who_forks_all_the_time_ends_all_the_same),
        cmocka_unit_test(two_large_steps_of_one_job_are_found_out),
        cmocka_unit_test(what_a_step_gave_back_is_not_told),
        cmocka_unit_test(where_nobody_can_ask_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
