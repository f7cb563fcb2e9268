/* What a node may fill of the controller's disk with samples. */
#include "unit.h"

#include "base/duration.h"
#include "controller/series/share.h"

#define FRAME ((size_t)1 << 20)

static size_t taken(struct series_share *s, const char *node, size_t most, int64_t now_us)
{
    size_t n = 0;
    bool say;
    while (n < most && series_share_take(s, node, FRAME, now_us, &say))
        n++;
    return n;
}

static void a_flood_ends_and_other_nodes_go_on(void **unused)
{
    (void)unused;
    struct series_share *s = series_share_new();
    int64_t now = 7 * USEC_PER_DAY;
    size_t day = 0;
    assert_int_equal(taken(s, "liar", 10000, now), 64);
    assert_int_equal(taken(s, "honest", 3, now), 3);
    for (int second = 0; second < 86400; second++)
        day += taken(s, "liar", 10000, now += USEC_PER_SEC);
    assert_in_range(day, 1000, 1024);
    assert_int_equal(taken(s, "honest", 10000, now), 64); /* what it did not use does not grow */
    assert_int_equal(taken(s, "honest", 1, now - USEC_PER_DAY), 0);
    series_share_free(s);
}

static void it_is_said_once(void **unused)
{
    (void)unused;
    struct series_share *s = series_share_new();
    int64_t now = USEC_PER_DAY;
    bool say;
    assert_int_equal(taken(s, "n1", 63, now), 63);
    assert_false(series_share_take(s, "n1", 2 * FRAME, now, &say));
    assert_true(say);
    for (int minute = 0; minute < 300; minute++) {
        assert_false(series_share_take(s, "n1", 100 * FRAME, now += USEC_PER_MIN, &say));
        assert_false(say);
    }
    assert_true(series_share_take(s, "n1", FRAME, now += 2 * USEC_PER_HOUR, &say));
    assert_false(series_share_take(s, "n1", 100 * FRAME, now, &say));
    assert_true(say);
    series_share_free(s);
}

static void what_is_odd_is_said_once(void **unused)
{
    (void)unused;
    struct series_share *s = series_share_new();
    int64_t now = USEC_PER_DAY;
    assert_true(series_share_odd(s, "n1", now));
    assert_false(series_share_odd(s, "n1", now + USEC_PER_MIN));
    assert_true(series_share_odd(s, "n2", now));
    assert_true(series_share_odd(s, "n1", now + 3 * USEC_PER_HOUR));
    assert_int_equal(taken(s, "n1", 3, now), 3); /* it costs nothing of what it may */
    series_share_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_ends_and_other_nodes_go_on),
        cmocka_unit_test(it_is_said_once),
        cmocka_unit_test(what_is_odd_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
