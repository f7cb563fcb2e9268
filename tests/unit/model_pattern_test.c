#include "unit.h"

#include "base/alloc.h"
#include "model/grammar/signals.h"
#include "model/job/job.h"
#include "model/job/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Element 7 of array 40 has the job id 47; its batch script runs as user alice on gpu1. */
static const struct pattern_env element = {
    .job_id = 47,
    .array_job_id = 40,
    .array_task_id = 7,
    .step_id = STEP_BATCH,
    .node = "gpu1",
    .user = "alice",
    .job_name = "train",
};
static const struct pattern_env plain = {
    .job_id = 47,
    .array_task_id = NO_TASK,
    .step_id = STEP_BATCH,
    .node = "gpu1",
    .user = "alice",
    .job_name = "train",
};
static const struct pattern_env task = {
    .job_id = 47,
    .array_task_id = NO_TASK,
    .step_id = 3,
    .node_index = 1,
    .task = 12,
    .node = "gpu2",
    .user = "alice",
    .job_name = "train",
};

static void assert_expands(const char *pattern, const struct pattern_env *env, const char *expected)
{
    struct str out = STR_INIT;
    pattern_expand(pattern, env, &out);
    assert_string_equal(str_text(&out), expected);
    str_done(&out);
}

static void test_the_usual_names(void **state)
{
    assert_expands("slurm-%j.out", &plain, "slurm-47.out");
    assert_expands("slurm-%A_%a.out", &element, "slurm-40_7.out");
    assert_expands("logs/%x-%u-%N.log", &plain, "logs/train-alice-gpu1.log");
    assert_expands("/dev/null", &plain, "/dev/null");
    assert_expands("", &plain, "");
}

/* 1,024 bytes of a name, some thousand times in 64 KiB of a pattern, were 32 MiB: what is cut must
 * be a name that opens no file. */
static void test_no_name_grows_without_bound(void **state)
{
    (void)state;
    static char name[1025], pattern[65537];
    struct pattern_env env = plain;
    env.job_name = memset(name, 'x', sizeof name - 1);
    static const char *const pieces[] = {"%x", "/y", "\\z"};
    for (size_t p = 0; p < ARRAY_LEN(pieces); p++) {
        struct str out = STR_INIT;
        str_add(&out, "/work/");
        for (size_t i = 0; i + 2 < sizeof pattern; i += 2)
            memcpy(pattern + i, pieces[p], 2);
        pattern_expand(pattern, &env, &out);
        assert_int_equal(out.len, strlen("/work/") + PATTERN_NAME_MAX);
        assert_int_equal(open(out.data + strlen("/work/"), O_RDONLY), -1);
        assert_int_equal(errno, ENAMETOOLONG);
        str_done(&out);
    }
    memset(pattern, 'n', PATTERN_NAME_MAX - 1);
    pattern[PATTERN_NAME_MAX - 1] = '\0';
    assert_expands(pattern, &plain, pattern); /* the longest that is kept whole */
}

static void test_without_an_array(void **state)
{
    assert_expands("%A", &plain, "47");
    assert_expands("%a", &plain, "4294967294");
    assert_expands("%b", &element, "7");
}

static void test_steps_and_tasks(void **state)
{
    assert_expands("%J", &plain, "47");
    assert_expands("%J", &task, "47.3");
    assert_expands("%s", &plain, "batch");
    assert_expands("%4s", &plain, "batch");
    assert_expands("%4s.%3t", &task, "0003.012");
    assert_expands("%s_%t_%n", &task, "3_12_1");
}

static void test_numbers_have_a_width(void **state)
{
    assert_expands("%6j", &plain, "000047");
    assert_expands("%1j", &plain, "47");
    assert_expands("%4t", &task, "0012");
    assert_expands("%10j", &plain, "0000000047");
    assert_expands("%999999999999999999999j", &plain, "0000000047");
}

static void test_what_is_no_conversion_stays(void **state)
{
    assert_expands("100%%", &plain, "100%");
    assert_expands("%", &plain, "%");
    assert_expands("%5", &plain, "%5");
    assert_expands("%q%j", &plain, "%q47");
}

static void test_a_backslash_turns_everything_off(void **state)
{
    assert_expands("\\%j.out", &plain, "%j.out");
    assert_expands("%j\\%a", &plain, "%j%a");
    assert_expands("\\\\%j\\", &plain, "\\%j");
}

static void test_a_missing_name_is_empty(void **state)
{
    struct pattern_env env = {.job_id = 1, .array_task_id = NO_TASK, .step_id = STEP_BATCH};
    assert_expands("a%x%u%Nb", &env, "ab");
}

static void test_signals_have_names_and_numbers(void **state)
{
    int signo;
    static const char *const same[] = {"USR1", "SIGUSR1", "usr1", "sigusr1", "10"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        assert_true(signal_parse(same[i], &signo) && signo == 10);
    assert_string_equal(signal_name(10), "USR1");
    assert_string_equal(signal_name(9), "KILL");
    assert_true(signal_parse("34", &signo) && signo == 34);
    assert_null(signal_name(34));
    assert_null(signal_name(0));
    assert_null(signal_name(-1));
}

static void test_what_goes_with_a_signal(void **state)
{
    uint64_t id = 1;
    assert_int_equal(signal_word_read(signal_word_pack(SIGNAL_ENDS, 123456789), &id), SIGNAL_ENDS);
    assert_int_equal(id, 123456789);
    assert_int_equal(signal_word_read(signal_word_pack(SIGNAL_TOLD, 1), &id), SIGNAL_TOLD);
    /* kill -q 5, and what else programs send. */
    assert_int_equal(signal_word_read(5, &id), SIGNAL_PLAIN);
    assert_int_equal(id, 0);
    assert_int_equal(signal_word_read(UINT64_MAX, &id), SIGNAL_PLAIN);
}

static void test_no_signal(void **state)
{
    static const char *const wrong[] = {"", "SIG", "0", "65", "-9", "USR3", "SIGSIGUSR1", "9x"};
    int signo = 77;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(signal_parse(wrong[i], &signo));
    assert_false(signal_parse(NULL, &signo));
    assert_int_equal(signo, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_usual_names),
        cmocka_unit_test(test_no_name_grows_without_bound),
        cmocka_unit_test(test_without_an_array),
        cmocka_unit_test(test_steps_and_tasks),
        cmocka_unit_test(test_numbers_have_a_width),
        cmocka_unit_test(test_what_is_no_conversion_stays),
        cmocka_unit_test(test_a_backslash_turns_everything_off),
        cmocka_unit_test(test_a_missing_name_is_empty),
        cmocka_unit_test(test_signals_have_names_and_numbers),
        cmocka_unit_test(test_what_goes_with_a_signal),
        cmocka_unit_test(test_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
