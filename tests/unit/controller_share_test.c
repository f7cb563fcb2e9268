/* Shares of the controller's time: bounds on what is done for a user in one go and over time. The
 * clock is the test's: it goes on by what is spent, and by nothing else. */
#include "controller_share_help.h"

#include "model/limits.h"

#include <stdio.h>

/* ---- the bounds ---- */

static void one_thing_after_the_other_never_pauses(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *a = share_join(all, LIGHT), *b = share_join(all, LIGHT + 1);
    for (int i = 0; i < 20000; i++) {
        serve(a, 90); /* most of the time, in small pieces */
        rest(5);
        serve(b, 90);
        rest(5);
        assert_true(share_may(a) && share_may(b));
    }
    share_leave(a);
    share_leave(b);
    shares_free(all);
}

/* Beginnings of messages are no requests: however short each piece is, they have a fifth. */
static void halves_get_a_fifth(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *f = share_join(all, FLOODER), *light = share_join(all, LIGHT);
    int64_t until = note.now_us + 5 * USEC_PER_SEC, theirs = 0;
    serve(light, 50);
    while (note.now_us < until) {
        if (share_may(f)) {
            note.now_us += 80;
            share_spent_on_half(f, 80 * US);
            theirs += 80;
        }
        serve(light, 50);
        assert_true(share_may(light));
        rest(5);
    }
    assert_true(theirs * 4 <= 5 * USEC_PER_SEC);
    assert_true(theirs * 10 >= 5 * USEC_PER_SEC);
    share_leave(f);
    share_leave(light);
    shares_free(all);
}

static void a_flood_gets_a_fifth_in_short_slices(void **unused)
{
    (void)unused;
    static const int64_t each[] = {5, 30, 200, 1000};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        struct shares *all = world();
        struct user_share *f = share_join(all, FLOODER), *light = share_join(all, LIGHT);
        int64_t go, theirs;
        serve(light, 50);
        theirs = flood(&f, 1, each[i], 5 * USEC_PER_SEC, light, &go);
        assert_true(theirs * 4 <= 5 * USEC_PER_SEC);
        assert_true(theirs * 10 >= 5 * USEC_PER_SEC); /* and is not starved */
        assert_true(go <= GO_US + each[i]);
        share_leave(f);
        share_leave(light);
        shares_free(all);
    }
}

/* What others meet of who goes on is no more than what cannot be cut. */
static void who_goes_on_has_the_fifth_in_shorter_slices(void **unused)
{
    (void)unused;
    static const int64_t each[] = {5, 30, 120};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        struct shares *all = world();
        struct user_share *f = share_join(all, FLOODER), *light = share_join(all, LIGHT);
        int64_t go, theirs;
        serve(light, 50);
        flood(&f, 1, each[i], USEC_PER_SEC, light, &go);
        theirs = flood(&f, 1, each[i], 5 * USEC_PER_SEC, light, &go);
        assert_true(theirs * 10 >= 5 * USEC_PER_SEC);
        assert_in_range(go, 1, AGAIN_US + each[i]);
        share_leave(f);
        share_leave(light);
        shares_free(all);
    }
}

static void several_floods_share_that_fifth(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *f[8], *light = share_join(all, LIGHT);
    for (unsigned i = 0; i < 8; i++)
        f[i] = share_join(all, FLOODER + i);
    int64_t go, theirs;
    serve(light, 50);
    flood(f, 8, 30, USEC_PER_SEC, light, &go); /* until each is known for it */
    theirs = flood(f, 8, 30, 10 * USEC_PER_SEC, light, &go);
    assert_true(theirs * 10 <= 3 * 10 * USEC_PER_SEC);
    assert_true(go <= GO_US + 30);
    for (int i = 0; i < 8; i++)
        share_leave(f[i]);
    share_leave(light);
    shares_free(all);
}

static void who_is_alone_has_all_of_it(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *f = share_join(all, FLOODER);
    int64_t go, theirs = flood(&f, 1, 30, USEC_PER_SEC, NULL, &go);
    assert_true(theirs * 10 >= 9 * USEC_PER_SEC);
    assert_true(go <= 10000); /* the loop looks round */
    share_leave(f);
    shares_free(all);
}

static void where_all_ask_for_much_they_take_turns(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *f[2] = {share_join(all, FLOODER), share_join(all, FLOODER + 1)};
    int64_t go, theirs;
    flood(f, 2, 30, USEC_PER_SEC, NULL, &go);
    theirs = flood(f, 2, 30, 5 * USEC_PER_SEC, NULL, &go);
    assert_true(theirs * 10 >= 8 * 5 * USEC_PER_SEC);
    assert_true(go <= 3000);
    share_leave(f[0]);
    share_leave(f[1]);
    shares_free(all);
}

/* A connection for each request is no way round. */
static void a_debt_outlives_the_connection(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *f = share_join(all, FLOODER);
    serve(light, 10);
    serve(f, 15000);
    rest(1000);
    assert_false(share_may(f));
    share_leave(f);
    f = share_join(all, FLOODER);
    assert_false(share_may(f));
    share_leave(f);
    rest(60 * USEC_PER_SEC);
    f = share_join(all, FLOODER + 1); /* nothing is owed any more: forgotten */
    assert_int_equal(share_connections(all, FLOODER), 0);
    share_leave(f);
    share_leave(light);
    shares_free(all);
}

/* The one whose rows fill the commits pays for the waiting; who shares in one pays for a few
 * rows. */
static void commits_are_paid_by_who_asked_for_them(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *f = share_join(all, FLOODER);
    serve(light, 10);
    serve(f, 11000); /* more than he has credit for */
    assert_true(share_pause(f) > 10 * 1000);
    rest(100 * 1000);
    assert_true(share_may(f));
    serve(f, 150);
    assert_true(share_may(f));
    shares_caused(all, FLOODER, 50 * US, 20 * 1000);
    assert_false(share_may(f));
    assert_true(share_pause(f) >= 4 * 20 * 1000);
    for (int i = 0; i < 100; i++) {
        shares_caused(all, LIGHT, 50 * US, 20 * 1000);
        rest(1000);
        assert_true(share_may(light));
    }
    shares_caused(all, 4711, 50 * US, 20 * 1000); /* has left */
    share_leave(light);
    share_leave(f);
    shares_free(all);
}

/* Much at once is paid for; whoever has gone over to one thing after the other since is held up no
 * more. */
static void who_asks_for_little_again_is_forgiven(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *f = share_join(all, FLOODER);
    serve(light, 10);
    serve(f, 15000);
    rest(1);
    assert_false(share_may(f));
    rest(share_pause(f));
    int64_t began = note.now_us;
    while (note.now_us < began + 2 * USEC_PER_SEC) {
        bool may = share_may(f);
        assert_true(may || note.now_us < began + USEC_PER_SEC / 5);
        if (may) {
            serve(f, 50);
            rest(1);
            shares_caused(all, FLOODER, 300 * US, 400); /* its commit */
        }
        rest(10);
    }
    share_leave(light);
    share_leave(f);
    shares_free(all);
}

/* Handshakes of those who have not said who they are are limited as a user is; they are nobody for
 * whom room would be kept. */
static void an_address_has_a_share_and_is_nobody(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *f = share_join(all, FLOODER);
    struct user_share *from = share_join_address(all, "192.0.2.1"),
                      *other = share_join_address(all, "192.0.2.2");
    int64_t go, theirs;
    assert_ptr_not_equal(from, other);
    serve(from, 1000);
    theirs = flood(&f, 1, 30, USEC_PER_SEC, NULL, &go);
    assert_true(theirs * 10 >= 9 * USEC_PER_SEC);
    serve(light, 50);
    theirs = flood(&from, 1, 1000, 5 * USEC_PER_SEC, light, &go);
    assert_true(theirs * 4 <= 5 * USEC_PER_SEC);
    assert_true(share_may(other));
    share_leave(from);
    share_leave(other);
    share_leave(light);
    share_leave(f);
    shares_free(all);
}

#define ADDRESSES 500

/* Handshakes from as many addresses as somebody has: all together are held to what one user who
 * floods gets, and one address to half of it, so that a host that joins still can. */
static void any_number_of_addresses_has_one_share(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *other = share_join(all, LIGHT + 1),
                      *from[ADDRESSES];
    char name[32];
    int64_t go, theirs;
    for (int i = 0; i < ADDRESSES; i++) {
        snprintf(name, sizeof name, "2001:db8::%x", i);
        from[i] = share_join_address(all, name);
    }
    serve(other, 50);
    rest(1);
    theirs = flood(from, ADDRESSES, 1000, 5 * USEC_PER_SEC, light, &go);
    assert_in_range(theirs, USEC_PER_SEC / 2, 5 * USEC_PER_SEC / 4);
    assert_true(go <= 15000);
    rest(10 * USEC_PER_SEC);
    serve(other, 50);
    rest(1);
    theirs = flood(from, 1, 1000, 5 * USEC_PER_SEC, light, &go);
    assert_true(theirs * 8 <= 5 * USEC_PER_SEC);
    assert_true(share_may(from[1]));
    for (int i = 0; i < ADDRESSES; i++)
        share_leave(from[i]);
    share_leave(light);
    share_leave(other);
    shares_free(all);
}

/* Each command of a host's users begins with a handshake at the host's address: once the host has
 * shown itself there, others like it are no flood of strangers. */
static void a_host_that_has_shown_itself_is_no_stranger(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *other = share_join(all, LIGHT + 1);
    struct user_share *host = share_join_address(all, "10.0.0.9"),
                      *stranger = share_join_address(all, "10.0.0.8");
    serve(light, 50);
    serve(other, 50);
    rest(1);
    serve(host, 10000); /* the first handshake */
    serve(stranger, 50000);
    assert_false(share_may(host));
    share_vouch(host);
    rest(0);
    assert_true(share_may(host));
    assert_false(share_may(stranger));
    serve(host, 1000);
    assert_true(share_may(host));
    share_leave(host);
    share_leave(stranger);
    share_leave(light);
    share_leave(other);
    shares_free(all);
}

static void one_went_on(void *ctx)
{
    (void)ctx;
    note.called++;
}

static void a_thousand_that_wait_come_back_few_at_a_time(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *f = share_join(all, FLOODER);
    static struct share_wait w[1000];
    memset(w, 0, sizeof w);
    serve(light, 10);
    serve(f, 12000);
    for (int i = 0; i < 1000; i++)
        share_wait(f, &w[i], one_went_on, NULL);
    note.fire(note.ctx);
    assert_int_equal(note.called, 0);
    rest(note.due_us - note.now_us);
    note.fire(note.ctx);
    assert_in_range(note.called, 1, 16);
    for (int i = 0; i < 1000; i++)
        share_wait_cancel(&w[i]);
    share_leave(light);
    share_leave(f);
    shares_free(all);
}

/* As docs/security.md promises them: a user's own, to the byte, and nobody else's. */
static void bytes_and_large_answers_are_bounded_for_each_user(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *s = share_join(all, FLOODER), *other = share_join(all, LIGHT);
    const ptrdiff_t halves = 64 << 20, unread = 128 << 20;
    assert_true(share_bytes(s, halves));
    assert_false(share_bytes(s, 1));
    assert_false(share_bytes(s, 1));
    assert_true(share_bytes(s, -1)); /* still too much, and no reason to complain */
    assert_true(share_bytes(other, halves));
    assert_true(share_bytes(s, -1));
    assert_true(share_bytes(s, -halves));
    assert_true(share_bytes(s, halves));
    assert_true(share_unsent(s, unread));
    assert_false(share_unread(s));
    assert_false(share_unsent(s, 1));
    assert_true(share_unread(s));
    assert_false(share_unread(other));
    assert_true(share_unsent(s, -1));
    assert_false(share_unread(s));
    for (int i = 0; i < 8; i++)
        assert_true(share_large(s));
    assert_false(share_large(s));
    assert_true(share_large(other));
    share_large_sent(s);
    assert_true(share_large(s));
    assert_false(share_large(s));
    share_leave(s);
    share_leave(other);
    shares_free(all);
}

/* As many users as a host likes: they are one of all users, and no user's own share is theirs. */
static void users_that_a_host_may_have_made_up_are_one_user(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *first = share_join_bound_guests(all, "h1"),
                      *second = share_join_bound_guests(all, "h1"),
                      *other = share_join_guests(all, "h1"), *counted = share_join_host(all, "h1");
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    assert_ptr_not_equal(first, counted);
    assert_int_equal(share_count(first), 2);
    assert_int_equal(share_count(counted), 1);
    serve(light, 10);
    for (int i = 0; i < 10; i++)
        serve(first, 1000);
    assert_false(share_may(second));
    assert_true(share_may(light));
    assert_true(share_may(other));
    assert_true(share_may(counted));
    assert_int_equal(share_connections(all, LIGHT), 1);
    share_leave(light);
    share_leave(first);
    share_leave(second);
    share_leave(other);
    share_leave(counted);
    shares_free(all);
}

/* Who was not looked up yet is no user: all such may have all but a quarter. Those of a host that
 * has a limit have what their host has; those of one that has none are one user. */
static void who_begins_has_a_place_while_there_are_any(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *begins = share_join_guests(all, GUESTS_NEW),
                      *theirs = share_join_bound_guests(all, "h1"),
                      *of[] = {NULL,
                               share_join(all, LIGHT),
                               share_join_guests(all, GUESTS_HERE),
                               share_join_guests(all, "h1"),
                               share_join_guests(all, "new"),
                               share_join_host(all, "new")};
    for (size_t fair = 16; fair <= LIMIT_CONNECTIONS / 2 + 16; fair++) {
        size_t user = fair < LIMIT_CONNECTIONS_PER_USER ? fair : LIMIT_CONNECTIONS_PER_USER;
        bool plenty = fair >= LIMIT_CONNECTIONS / 8;
        assert_int_equal(share_connections_most(begins, fair), plenty ? LIMIT_CONNECTIONS : fair);
        assert_int_equal(share_connections_most(theirs, fair), fair);
        for (size_t i = 0; i < ARRAY_LEN(of); i++)
            assert_int_equal(share_connections_most(of[i], fair), user);
    }
    for (size_t i = 1; i < ARRAY_LEN(of); i++)
        share_leave(of[i]);
    share_leave(begins);
    share_leave(theirs);
    shares_free(all);
}

/* Each of 65,536 would have a share; what their requests make necessary later is theirs, too. What
 * others' do, who have no share (node daemons, guests of hosts, who has left), is not. */
static void users_without_a_name_are_one_user(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT),
                      *nameless = share_join_guests(all, GUESTS_HERE),
                      *host = share_join_guests(all, "h1"), *as_host = share_join_host(all, "h1");
    assert_true(share_is_guests(nameless) && share_is_guests(host));
    assert_false(share_is_guests(light) || share_is_guests(as_host));
    assert_ptr_not_equal(nameless, host);
    serve(light, 10);
    assert_true(share_guests_mark(GUESTS_HERE) != share_guests_mark("h1"));
    for (uint64_t uid = 0; uid <= UINT32_MAX; uid = uid * 5 + 1)
        shares_caused(all, uid, 2000 * US, 2000);
    shares_caused(all, UINT32_MAX - 1, 20000 * US, 20000); /* guests of hosts */
    shares_caused(all, share_guests_mark("h2"), 20000 * US, 20000);
    assert_true(share_may(nameless));
    assert_int_equal(share_pause(nameless), 0);
    for (int i = 0; i < 10; i++)
        shares_caused(all, share_guests_mark(GUESTS_HERE), 2000 * US, 2000);
    assert_false(share_may(nameless));
    assert_true(share_may(light));
    assert_true(share_may(host));
    share_leave(light);
    share_leave(nameless);
    share_leave(host);
    share_leave(as_host);
    shares_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_that_a_host_may_have_made_up_are_one_user),
        cmocka_unit_test(users_without_a_name_are_one_user),
        cmocka_unit_test(who_begins_has_a_place_while_there_are_any),
        cmocka_unit_test(bytes_and_large_answers_are_bounded_for_each_user),
        cmocka_unit_test(one_thing_after_the_other_never_pauses),
        cmocka_unit_test(halves_get_a_fifth),
        cmocka_unit_test(a_flood_gets_a_fifth_in_short_slices),
        cmocka_unit_test(who_goes_on_has_the_fifth_in_shorter_slices),
        cmocka_unit_test(several_floods_share_that_fifth),
        cmocka_unit_test(who_is_alone_has_all_of_it),
        cmocka_unit_test(where_all_ask_for_much_they_take_turns),
        cmocka_unit_test(a_debt_outlives_the_connection),
        cmocka_unit_test(commits_are_paid_by_who_asked_for_them),
        cmocka_unit_test(who_asks_for_little_again_is_forgiven),
        cmocka_unit_test(an_address_has_a_share_and_is_nobody),
        cmocka_unit_test(any_number_of_addresses_has_one_share),
        cmocka_unit_test(a_host_that_has_shown_itself_is_no_stranger),
        cmocka_unit_test(a_thousand_that_wait_come_back_few_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
