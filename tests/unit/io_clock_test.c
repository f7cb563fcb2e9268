/* Two clocks read as one: their difference tells of a clock that was set, and of nothing else. */
#include "unit.h"

#include "clock_stall.h"
#include "io/clock.h"

static int64_t difference(void)
{
    int64_t now, monotonic;
    clock_both(&now, &monotonic);
    return now - monotonic;
}

static void assert_as_before(int64_t before)
{
    int64_t by_us = difference() - before;
    assert_in_range(by_us + 500000, 0, 1000000); /* the machine of the tests may stand still, too */
}

static void a_machine_that_stood_still_is_no_clock_that_was_set(void **state)
{
    (void)state;
    int64_t before = difference();
    for (unsigned every = 3; every < 20; every++) {
        stall.every = every;
        stall.us = 3600000000;
        for (int i = 0; i < 20; i++)
            assert_as_before(before);
        stall.every = 0;
    }
    assert_true(stall.stood_us > 0);
}

/* Whatever it does, it is told a time. */
static void a_machine_that_stands_still_all_the_time(void **state)
{
    (void)state;
    int64_t now, monotonic;
    stall.every = 1;
    stall.us = 2000000;
    clock_both(&now, &monotonic);
    stall.every = 0;
    assert_in_range(clock_now_us() - now, 0, 60000000);
    assert_in_range(clock_monotonic_us() - monotonic, 0, 60000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_stood_still_is_no_clock_that_was_set),
        cmocka_unit_test(a_machine_that_stands_still_all_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
