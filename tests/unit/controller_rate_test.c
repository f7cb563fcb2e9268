/* How many requests a user may make: bursts, what comes after them, others meanwhile, the table. */
#include "unit.h"

#include "base/duration.h"
#include "controller/session/rate.h"

#define SEC USEC_PER_SEC

static struct rates *r;
static struct setting_words words;
static int64_t now = 1000 * SEC;

static int setup(void **unused)
{
    (void)unused;
    setting_words_default(&words);
    words.rl_enable = true;
    words.rl_bucket_size = 3;
    words.rl_refill_rate = 2;
    words.rl_refill_period = 10;
    r = rates_new();
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    rates_free(r);
    return 0;
}

static int64_t take(uint32_t uid)
{
    bool say;
    return rate_take(r, &words, uid, now, &say);
}

static void a_burst_then_so_many_each_period(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(7), 0);
    assert_int_equal(take(7), 10 * SEC);
    now += 4 * SEC;
    assert_int_equal(take(7), 6 * SEC); /* asking again does not move it */
    assert_int_equal(take(8), 0);       /* others are not held up */
    now += 6 * SEC;
    assert_int_equal(take(7), 0);
    assert_int_equal(take(7), 0);
    assert_int_equal(take(7), 10 * SEC);
    now += 1000 * SEC; /* not more than the bucket holds */
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(7), 0);
    assert_true(take(7) > 0);
}

static void not_asked_for_it_holds_nobody(void **unused)
{
    (void)unused;
    words.rl_enable = false;
    for (int i = 0; i < 100; i++)
        assert_int_equal(take(7), 0);
}

static void slurms_defaults(void **unused)
{
    (void)unused;
    setting_words_default(&words);
    words.rl_enable = true;
    for (int i = 0; i < 30; i++)
        assert_int_equal(take(7), 0);
    assert_int_equal(take(7), SEC);
    now += SEC;
    assert_int_equal(take(7), 0);
    assert_int_equal(take(7), 0);
    assert_int_equal(take(7), SEC);
}

static void refusals_are_logged_so_often(void **unused)
{
    (void)unused;
    bool say;
    words.rl_log_freq = 60;
    words.rl_refill_period = 100000;
    for (int i = 0; i < 3; i++)
        take(7);
    assert_true(rate_take(r, &words, 7, now, &say) > 0 && say);
    assert_true(rate_take(r, &words, 7, now + 59 * SEC, &say) > 0 && !say);
    assert_true(rate_take(r, &words, 7, now + 60 * SEC, &say) > 0 && say);
}

/* Who used least is forgotten first: a full table lets nobody begin anew who has just been told
 * to wait. */
static void a_full_table_forgets_who_used_least(void **unused)
{
    (void)unused;
    words.rl_table_size = 2;
    for (int i = 0; i < 3; i++)
        take(7);
    take(8);
    take(9);
    assert_int_equal(take(7), 10 * SEC);
}

int main(void)
{
#define RATE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        RATE(a_burst_then_so_many_each_period),
        RATE(not_asked_for_it_holds_nobody),
        RATE(slurms_defaults),
        RATE(refusals_are_logged_so_often),
        RATE(a_full_table_forgets_who_used_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
