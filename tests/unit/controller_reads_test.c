/* Reads beside the loop: users take turns, one has one thread, and too many that wait are refused. */
#include "io_help.h"

#include "controller/reads.h"

#include <stdatomic.h>
#include <unistd.h>

#define READERS 3

struct reading {
    uid_t uid;
    struct hall *hall;
};

struct hall {
    struct loop *loop;
    atomic_int open, inside[READERS + 1], most[READERS + 1];
    uid_t order[256];
    size_t n, expected;
};

static const struct peer *user_number(uid_t uid)
{
    static struct peer users[READERS + 1];
    users[uid] = (struct peer){.uid = uid, .user = "somebody"};
    return &users[uid];
}

static void read_slowly(void *ctx, struct reader *reader)
{
    struct reading *r = ctx;
    struct hall *h = r->hall;
    assert_non_null(reader);
    int now = atomic_fetch_add(&h->inside[r->uid], 1) + 1;
    if (now > atomic_load(&h->most[r->uid]))
        atomic_store(&h->most[r->uid], now);
    while (!atomic_load(&h->open))
        usleep(1000);
    atomic_fetch_sub(&h->inside[r->uid], 1);
}

static void was_read(void *ctx)
{
    struct reading *r = ctx;
    struct hall *h = r->hall;
    h->order[h->n++] = r->uid;
    if (h->n == h->expected)
        loop_stop(h->loop);
}

/* User 1 asks for much before the others come: they are served all the same. */
static void one_user_holds_one_thread(void **state)
{
    (void)state;
    static struct reading many[READS_PER_USER + 2], few[2];
    struct hall h = {.loop = loop_new(NULL)};
    struct reads *all = reads_new(h.loop, "/nowhere", NULL);
    size_t taken = 0;
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = (struct reading){1, &h};
        taken += reads_add(all, user_number(1), read_slowly, was_read, &many[i]);
    }
    assert_int_equal(taken, READS_PER_USER + 1); /* one is at work */
    for (size_t i = 0; i < 2; i++) {
        few[i] = (struct reading){(uid_t)(2 + i), &h};
        assert_true(reads_add(all, user_number(few[i].uid), read_slowly, was_read, &few[i]));
    }
    while (!atomic_load(&h.inside[1]) || !atomic_load(&h.inside[2]) || !atomic_load(&h.inside[3]))
        usleep(1000);
    h.expected = taken + 2;
    atomic_store(&h.open, 1);
    loop_run(h.loop);
    assert_int_equal(h.n, taken + 2);
    for (uid_t uid = 1; uid <= READERS; uid++)
        assert_int_equal(atomic_load(&h.most[uid]), 1);
    reads_free(all);
    loop_free(h.loop);
}

/* Whoever may have user namespaces is as many of them as he likes; what is nobody's has its turn
 * beside them. */
static void users_without_a_name_hold_one_thread(void **state)
{
    (void)state;
    static struct reading many[READS_PER_USER + 2], few[2] = {{2, NULL}, {3, NULL}};
    struct hall h = {.loop = loop_new(NULL)};
    struct reads *all = reads_new(h.loop, "/nowhere", NULL);
    size_t taken = 0;
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        struct peer nameless = {.uid = (uid_t)(100000 + i)};
        many[i] = (struct reading){1, &h};
        taken += reads_add(all, &nameless, read_slowly, was_read, &many[i]);
    }
    assert_int_equal(taken, READS_PER_USER + 1);
    few[0].hall = few[1].hall = &h;
    assert_true(reads_add(all, user_number(2), read_slowly, was_read, &few[0]));
    assert_true(reads_add(all, NULL, read_slowly, was_read, &few[1]));
    while (!atomic_load(&h.inside[1]) || !atomic_load(&h.inside[2]) || !atomic_load(&h.inside[3]))
        usleep(1000);
    h.expected = taken + 2;
    atomic_store(&h.open, 1);
    loop_run(h.loop);
    assert_int_equal(atomic_load(&h.most[1]), 1);
    reads_free(all);
    loop_free(h.loop);
}

/* The end waits for all. */
static void the_end_runs_what_waits(void **state)
{
    (void)state;
    static struct reading some[10];
    struct hall h = {.loop = loop_new(NULL), .open = 1};
    struct reads *all = reads_new(h.loop, "/nowhere", NULL);
    h.expected = SIZE_MAX;
    for (size_t i = 0; i < ARRAY_LEN(some); i++) {
        some[i] = (struct reading){(uid_t)(1 + i % READERS), &h};
        assert_true(reads_add(all, user_number(some[i].uid), read_slowly, was_read, &some[i]));
    }
    reads_free(all);
    assert_int_equal(h.n, ARRAY_LEN(some));
    loop_free(h.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_user_holds_one_thread),
        TEST(users_without_a_name_hold_one_thread),
        TEST(the_end_runs_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
