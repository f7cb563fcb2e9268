/* What root's connections get of a round, all together and each. The rounds and what is spent are
 * the test's. */
#include "loop_stand_in.h"

#include "base/alloc.h"
#include "controller/session/crowd.h"

#include <string.h>

#define US 1000 /* in nanoseconds */

/* ---- the world ---- */

struct client {
    struct crowd_place place;
    bool waits;
    int64_t left_us, done_us;
};

static void go_on(void *ctx)
{
    ((struct client *)ctx)->waits = false;
}

/* Requests of 100 µs, until it may no more or has none left. */
static int64_t serve(struct crowd *c, struct client *one)
{
    int64_t took = 0;
    while (!one->waits && one->left_us > 0) {
        if (!crowd_may(c, &one->place)) {
            one->waits = true;
            crowd_wait(c, &one->place, go_on, one);
            break;
        }
        crowd_spent(c, &one->place, 100 * US);
        one->left_us -= 100;
        one->done_us += 100;
        took += 100;
    }
    return took;
}

/* One round of the loop: who was called, then who has something to say; µs. */
static int64_t round_of(struct crowd *c, struct client *v, size_t n)
{
    int64_t took = 0;
    note.round++;
    if (note.due_us <= note.now_us) {
        note.due_us = INT64_MAX;
        note.fire(note.ctx);
    }
    for (size_t i = 0; i < n; i++)
        took += serve(c, &v[i]);
    return took;
}

/* ---- the bounds ---- */

static void one_alone_gets_all_in_short_rounds(void **unused)
{
    struct client one = {.left_us = 66000};
    stand_in_begin();
    struct crowd *c = crowd_new(NULL);
    int rounds = 0;
    for (; one.left_us > 0; rounds++)
        assert_in_range(round_of(c, &one, 1), 1, 4000);
    assert_in_range(rounds, 17, 140);
    crowd_free(c);
}

/* Two hundred with as much each: no round is long, and nobody is far ahead of another, whoever
 * comes first in the loop. */
static void many_take_turns(void **unused)
{
    struct client v[200];
    stand_in_begin();
    memset(v, 0, sizeof v);
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        v[i].left_us = 1000000;
    struct crowd *c = crowd_new(NULL);
    for (int i = 0; i < 1000; i++)
        assert_in_range(round_of(c, v, ARRAY_LEN(v)), 1000, 4000);
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        least = v[i].done_us < least ? v[i].done_us : least;
        most = v[i].done_us > most ? v[i].done_us : most;
    }
    assert_true(least >= 15000);
    assert_true(most <= least + 5000);
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        crowd_leave(&v[i].place);
    crowd_free(c);
}

/* Who leaves while waiting is not called. */
static void who_leaves_is_not_called(void **unused)
{
    struct client v[3] = {{.left_us = 8000}, {.left_us = 8000}, {.left_us = 8000}};
    stand_in_begin();
    struct crowd *c = crowd_new(NULL);
    round_of(c, v, 3);
    assert_true(v[0].waits && v[1].waits && v[2].waits);
    crowd_leave(&v[1].place);
    crowd_leave(&v[2].place);
    round_of(c, v, 1);
    assert_true(v[1].waits && v[2].waits);
    assert_int_equal(v[0].done_us, 8000);
    crowd_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_gets_all_in_short_rounds),
        cmocka_unit_test(many_take_turns),
        cmocka_unit_test(who_leaves_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
