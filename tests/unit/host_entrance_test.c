/* The way from a host's relay to the controller: so many begin at once, users take turns, and who
 * comes and goes again and again takes nobody's place. */
#include "io_help.h"

#include "node/host/entrance.h"

#define MOST 300

struct hall {
    struct entrance *e;
    struct entrance_place place[MOST];
    size_t began[7], n; /* by uid */
};

struct guest {
    struct hall *hall;
    uid_t uid;
};

static void go(void *ctx)
{
    struct guest *g = ctx;
    g->hall->began[g->uid]++;
}

static struct entrance_place *come(struct hall *h, struct guest *g)
{
    struct entrance_place *p = &h->place[h->n++];
    entrance_take(h->e, p, g->uid, go, g);
    return p;
}

static void a_user_has_some_places_and_the_others_theirs(void **state)
{
    struct hall h = {.e = entrance_new(((struct world *)*state)->loop)};
    struct guest flood = {&h, 1}, other = {&h, 2}, root = {&h, 0};
    struct entrance_place *first = come(&h, &flood);
    for (int i = 0; i < 200; i++)
        come(&h, &flood);
    assert_int_equal(h.began[1], ENTRANCE_USER);
    come(&h, &other);
    come(&h, &root);
    assert_int_equal(h.began[2], 1);
    assert_int_equal(h.began[0], 1);
    entrance_passed(h.e, first);
    assert_int_equal(h.began[1], ENTRANCE_USER + 1);
    for (size_t i = 0; i < h.n; i++)
        entrance_leave(h.e, &h.place[i]);
    entrance_free(h.e);
}

static void tick(void *ctx)
{
    loop_stop(ctx);
}

/* The controller does not know at once that they went. */
static void who_comes_and_goes_waits_a_moment(void **state)
{
    struct world *w = *state;
    struct hall h = {.e = entrance_new(w->loop)};
    struct guest flood = {&h, 1}, other = {&h, 2};
    for (int i = 0; i < 100; i++)
        entrance_leave(h.e, come(&h, &flood));
    assert_int_equal(h.began[1], ENTRANCE_USER);
    struct entrance_place *waits = come(&h, &flood);
    come(&h, &other);
    assert_int_equal(h.began[1], ENTRANCE_USER);
    assert_int_equal(h.began[2], 1);
    struct timer *t = timer_new(w->loop, tick, w->loop);
    timer_set(t, 2 * ENTRANCE_PAUSE_US);
    loop_run(w->loop);
    timer_free(t);
    assert_int_equal(h.began[1], ENTRANCE_USER + 1);
    entrance_passed(h.e, waits);
    entrance_free(h.e);
}

/* Nor do many together. */
static void many_who_come_and_go_wait_a_moment(void **state)
{
    struct world *w = *state;
    struct hall h = {.e = entrance_new(w->loop)};
    struct guest flood[] = {{&h, 1}, {&h, 2}, {&h, 3}, {&h, 4}, {&h, 5}}, other = {&h, 6};
    for (size_t u = 0; u < ARRAY_LEN(flood); u++)
        for (int i = 0; i < ENTRANCE_USER; i++)
            entrance_leave(h.e, come(&h, &flood[u]));
    assert_int_equal(ARRAY_LEN(flood) * ENTRANCE_USER, ENTRANCE_ALL);
    struct entrance_place *waits = come(&h, &other);
    assert_int_equal(h.began[6], 0);
    struct timer *t = timer_new(w->loop, tick, w->loop);
    timer_set(t, 2 * ENTRANCE_PAUSE_US);
    loop_run(w->loop);
    timer_free(t);
    assert_int_equal(h.began[6], 1);
    entrance_passed(h.e, waits);
    entrance_free(h.e);
}

/* Where all places are taken the next goes to whose turn it is, not to who has most that wait. */
static void users_take_turns(void **state)
{
    struct hall h = {.e = entrance_new(((struct world *)*state)->loop)};
    struct guest fill[2] = {{&h, 3}, {&h, 4}}, flood = {&h, 1}, other = {&h, 2};
    for (int i = 0; i < 100; i++)
        come(&h, &flood);
    struct entrance_place *one = &h.place[0], *two = &h.place[1];
    come(&h, &fill[0]);
    come(&h, &other);
    assert_int_equal(h.began[2], 1);
    entrance_passed(h.e, one);
    entrance_passed(h.e, two);
    assert_int_equal(h.began[1], ENTRANCE_USER + 2);
    for (size_t i = 0; i < h.n; i++)
        entrance_leave(h.e, &h.place[i]);
    entrance_free(h.e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_user_has_some_places_and_the_others_theirs),
        TEST(who_comes_and_goes_waits_a_moment),
        TEST(many_who_come_and_go_wait_a_moment),
        TEST(users_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
