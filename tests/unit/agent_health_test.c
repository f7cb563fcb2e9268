/* The moves of a device's health: each state with each sign, and what must hold of all of them. */
#include "unit.h"

#include "agent/health.h"

#include <string.h>

#define HEALTHS_N ((int)HEALTH_GONE + 1)

static struct health health_of(int state, bool returns)
{
    return (struct health){.state = (enum device_health)state, .returns = returns};
}

/* X(state, returns) of every health that a device can have; sign and what becomes of it are the
 * loops'. */
static void each(void (*fn)(struct health before, enum device_sign sign, struct health after))
{
    for (int state = 0; state < HEALTHS_N; state++)
        for (int returns = 0; returns <= (state == HEALTH_BROKEN || state == HEALTH_GONE);
             returns++)
            for (int sign = 0; sign < DEVICE_SIGNS_N; sign++) {
                struct health h = health_of(state, returns);
                health_note(&h, (enum device_sign)sign);
                fn(health_of(state, returns), (enum device_sign)sign, h);
            }
}

static void only_a_look_makes_clean(struct health before, enum device_sign sign,
                                    struct health after)
{
    if (after.state == HEALTH_CLEAN && before.state != HEALTH_CLEAN)
        assert_int_equal(sign, DEVICE_CLEAN);
}

static void what_failed_stays(struct health before, enum device_sign sign, struct health after)
{
    (void)sign;
    if (health_is_failed(&before))
        assert_true(health_is_failed(&after));
}

static void one_doubt_changes_nothing(struct health before, enum device_sign sign,
                                      struct health after)
{
    if (sign == DEVICE_DOUBT)
        assert_int_equal(after.state, before.state);
}

static void what_cannot_be_asked_is_not_clean_and_not_broken(struct health before,
                                                             enum device_sign sign,
                                                             struct health after)
{
    if (sign != DEVICE_BLIND)
        return;
    assert_true(after.state != HEALTH_CLEAN);
    assert_int_equal(after.state == HEALTH_BROKEN, before.state == HEALTH_BROKEN);
    assert_int_equal(after.state == HEALTH_GONE, before.state == HEALTH_GONE);
}

static void bad_news_is_heard(struct health before, enum device_sign sign, struct health after)
{
    (void)before;
    if (sign == DEVICE_BROKEN || sign == DEVICE_LOST)
        assert_true(health_is_failed(&after));
    if (sign == DEVICE_RESET || sign == DEVICE_ABSENT)
        assert_true(health_is_ill(&after) && (health_is_failed(&before) || after.returns));
}

static void test_every_state_with_every_sign(void **state)
{
    (void)state;
    each(only_a_look_makes_clean);
    each(what_failed_stays);
    each(one_doubt_changes_nothing);
    each(what_cannot_be_asked_is_not_clean_and_not_broken);
    each(bad_news_is_heard);
}

static void test_suspicion_needs_two_failures_in_a_row(void **state)
{
    struct health h = health_of(HEALTH_CLEAN, false);
    (void)state;
    assert_false(health_note(&h, DEVICE_DOUBT));
    assert_false(health_note(&h, DEVICE_WELL)); /* it answered between */
    assert_false(health_note(&h, DEVICE_DOUBT));
    assert_int_equal(h.state, HEALTH_CLEAN);
    assert_true(health_note(&h, DEVICE_DOUBT));
    assert_int_equal(h.state, HEALTH_SUSPECT);
    assert_false(health_note(&h, DEVICE_BLIND));
    assert_true(health_note(&h, DEVICE_WELL));
    assert_int_equal(h.state, HEALTH_UNKNOWN);
}

static void test_what_is_well_again_by_its_librarys_word_is_looked_at_first(void **state)
{
    struct health h = health_of(HEALTH_CLEAN, false);
    (void)state;
    health_note(&h, DEVICE_RESET);
    assert_true(h.returns);
    assert_true(health_note(&h, DEVICE_WELL));
    assert_int_equal(h.state, HEALTH_UNKNOWN);
    assert_false(h.returns);
    health_note(&h, DEVICE_RESET);
    assert_true(health_note(&h, DEVICE_LOST)); /* worse: now an operator is needed */
    assert_false(health_note(&h, DEVICE_WELL));
    assert_int_equal(h.state, HEALTH_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state_with_every_sign),
        cmocka_unit_test(test_suspicion_needs_two_failures_in_a_row),
        cmocka_unit_test(test_what_is_well_again_by_its_librarys_word_is_looked_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
