/* Shares of the controller's time where very many ask for much: what one who asks for little has
 * beside them, and what all have who speak through one host. */
#include "controller_share_help.h"

#include <stdio.h>

#define MANY 50

/* One submission, with its connection, costs more than a round allows for nothing. Who makes one now
 * and then, or a dozen at once, is none of those who flood, however many they are. */
static void who_asks_now_and_then_waits_for_no_crowd(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *f[MANY], *light = share_join(all, LIGHT + MANY),
                                *other = share_join(all, LIGHT + MANY + 1);
    int64_t waited = 0;
    for (unsigned i = 0; i < MANY; i++)
        f[i] = share_join(all, FLOODER + i);
    for (int round = 0; round < 40; round++) {
        int64_t go;
        serve(other, 50);
        flood(f, MANY, 30, USEC_PER_SEC, NULL, &go);
        for (int i = 0; i < (round ? 5 : 12); i++) {
            serve(light, 700);
            rest(1);
            int64_t pause = share_pause(light);
            waited = pause > waited ? pause : waited;
        }
    }
    assert_in_range(waited, 0, 10 * 1000);
    for (int i = 0; i < MANY; i++)
        share_leave(f[i]);
    share_leave(light);
    share_leave(other);
    shares_free(all);
}

/* A listing is made of parts that cost less than a slice each: those of fifty users in one round of
 * the loop made it twenty milliseconds long, and the pauses by which they share a fifth were as long
 * as makes a user one who asks for little. */
static void a_round_is_short_however_many_flood(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *f[MANY], *light = share_join(all, LIGHT + MANY);
    const int64_t warm_us = 2 * USEC_PER_SEC, for_us = 12 * USEC_PER_SEC;
    int64_t began = note.now_us, theirs = 0, longest = 0;
    for (unsigned i = 0; i < MANY; i++)
        f[i] = share_join(all, FLOODER + i);
    while (note.now_us < began + for_us) {
        int64_t round = 0;
        for (int i = 0; i < MANY; i++)
            if (share_may(f[i])) {
                serve(f[i], 450);
                round += 450;
            }
        if (note.now_us > began + warm_us) {
            theirs += round;
            longest = round > longest ? round : longest;
        }
        serve(light, 50);
        assert_true(share_may(light));
        rest(round ? 1 : 50);
    }
    assert_in_range(longest, 0, 3000);
    assert_in_range(theirs, (for_us - warm_us) / 10, (for_us - warm_us) * 3 / 10);
    for (int i = 0; i < MANY; i++)
        share_leave(f[i]);
    share_leave(light);
    shares_free(all);
}

/* Credit is for who rests: a crowd that floods has its fifth and no more, also by turns. */
static void credit_is_no_way_round(void **unused)
{
    (void)unused;
    enum { USERS = 400 };
    struct shares *all = world();
    struct user_share *f[USERS], *light = share_join(all, LIGHT + USERS);
    const int64_t for_us = 60 * USEC_PER_SEC;
    int64_t until = note.now_us + for_us, theirs = 0, last[USERS] = {0};
    for (unsigned i = 0; i < USERS; i++)
        f[i] = share_join(all, FLOODER + i);
    while (note.now_us < until) {
        bool any = false;
        for (int i = 0; i < USERS; i++) { /* each rests long enough to have credit again */
            int64_t go = 0;
            for (; last[i] < note.now_us - 11 * USEC_PER_SEC && share_may(f[i]) && go < 3000;
                 go += 200, any = true)
                serve(f[i], 200);
            last[i] = go ? note.now_us : last[i];
            theirs += go;
        }
        serve(light, 50);
        assert_true(share_pause(light) <= 1);
        rest(any ? 1 : 1000);
    }
    assert_true(theirs * 10 <= 3 * for_us);
    for (int i = 0; i < USERS; i++)
        share_leave(f[i]);
    share_leave(light);
    shares_free(all);
}

/* What each of a host's users does, as a session charges it. */
static int64_t host_floods(struct shares *all, struct user_share *from, struct user_share **f,
                           int n, int64_t for_us, struct user_share *light)
{
    int64_t until = note.now_us + for_us, theirs = 0;
    while (note.now_us < until) {
        bool any = false;
        for (int i = 0; i < n; i++)
            if (share_may(from) && share_may(f[i])) {
                serve(f[i], 90); /* of which nothing is owed */
                shares_spent_from(all, from, 90 * US);
                theirs += 90;
                any = true;
            }
        if (light) {
            serve(light, 50);
            shares_spent_from(all, NULL, 50 * US);
            assert_true(share_may(light));
        }
        rest(any ? 1 : 50);
    }
    return theirs;
}

/* As many as a login host's root likes to speak for, each below what is too much: they have half of
 * the time where others ask elsewhere, all of it where nobody does. */
static void users_of_one_host_have_half_together(void **unused)
{
    (void)unused;
    enum { USERS = 500 };
    struct shares *all = world();
    struct user_share *f[USERS], *light = share_join(all, LIGHT + USERS),
                                 *from = share_join_host(all, "h1"),
                                 *second = share_join_host(all, "h2");
    for (unsigned i = 0; i < USERS; i++)
        f[i] = share_join(all, FLOODER + i);
    int64_t theirs = host_floods(all, from, f, USERS, 5 * USEC_PER_SEC, NULL);
    assert_true(theirs * 10 >= 9 * 5 * USEC_PER_SEC);
    theirs = host_floods(all, from, f, USERS, 5 * USEC_PER_SEC, light);
    assert_true(theirs * 10 <= 6 * 5 * USEC_PER_SEC);
    assert_true(theirs * 10 >= 3 * 5 * USEC_PER_SEC);
    assert_true(share_may(second));                          /* another host is not bound by it */
    shares_caused_from(all, share_mark(second), 30000 * US); /* its commits and plans count */
    assert_false(share_may(second));
    rest(20 * USEC_PER_SEC);
    assert_true(share_may(second) && share_may(from));
    for (int i = 0; i < USERS; i++)
        share_leave(f[i]);
    share_leave(light);
    share_leave(from);
    share_leave(second);
    shares_caused_from(all, 4711, US); /* has left */
    shares_free(all);
}

/* Hellos without pause have a tenth, over connections; one of them after a break is heard at once. */
static void what_a_node_says_has_a_tenth(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *says = share_join_node(all, "h1"), *other = share_join_node(all, "h2");
    static const int64_t each[] = {3000, 45000};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        int64_t until = note.now_us + 20 * USEC_PER_SEC, theirs = 0;
        while (note.now_us < until) {
            for (; share_may(says); theirs += each[i]) {
                note.now_us += each[i];
                shares_spent_from(all, says, each[i] * US);
                share_leave(says);
                says = share_join_node(all, "h1");
            }
            rest(1000);
            assert_true(share_may(other));
        }
        assert_in_range(theirs, USEC_PER_SEC, 3 * USEC_PER_SEC);
        rest(10 * USEC_PER_SEC);
        assert_true(share_may(says));
    }
    share_leave(says);
    share_leave(other);
    shares_free(all);
}

/* Words of some µs, as many as are read in a round; and a node that says one thing after the other,
 * as one does whose jobs end. */
static void small_words_of_a_node_count(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *says = share_join_node(all, "h1"), *other = share_join_node(all, "h2");
    int64_t until = note.now_us + 20 * USEC_PER_SEC, theirs = 0, longest = 0;
    while (note.now_us < until) {
        int64_t go = 0;
        for (; share_may(says) && go < 100 * 1000; go += 8) {
            note.now_us += 8;
            shares_said(all, says, 8 * US);
        }
        theirs += go;
        longest = go > longest ? go : longest;
        note.now_us += 90;
        shares_said(all, other, 90 * US);
        assert_true(share_may(other));
        rest(500);
    }
    assert_in_range(theirs, USEC_PER_SEC, 3 * USEC_PER_SEC);
    assert_in_range(longest, 0, 12 * 1000);
    share_leave(says);
    share_leave(other);
    shares_free(all);
}

/* What a user who has rested has at once before a pause, while strangers come and go. */
static int64_t at_once_beside(unsigned strangers)
{
    struct shares *all = world();
    struct user_share *light = share_join(all, LIGHT), *f = share_join(all, FLOODER);
    int64_t had = 0;
    char name[32];
    rest(20 * USEC_PER_SEC);
    serve(light, 50);
    for (unsigned i = 0; i < strangers; i++) {
        snprintf(name, sizeof name, "2001:db8::%x", i);
        struct user_share *from = share_join_address(all, name);
        share_spent(from, 1);
        share_leave(from);
    }
    for (; share_pause(f) <= 1; had += 700) {
        serve(f, 700);
        rest(1);
    }
    share_leave(light);
    share_leave(f);
    shares_free(all);
    return had;
}

/* Addresses are as many as somebody likes. They are nobody among whom users share, nor does what
 * makes a user pause go through them. */
static void any_number_of_strangers_leaves_users_what_they_have(void **unused)
{
    (void)unused;
    int64_t alone = at_once_beside(0);
    assert_true(alone > 2000);
    for (unsigned strangers = 1; strangers <= 100000; strangers *= 10)
        assert_int_equal(at_once_beside(strangers), alone);
}

/* A host that is known stays so while strangers are forgotten. */
static void strangers_are_forgotten_and_hosts_are_not(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *user = share_join(all, LIGHT), *other = share_join(all, LIGHT + 1),
                      *host = share_join_address(all, "192.0.2.1");
    char name[32];
    serve(user, 50);
    serve(other, 50);
    serve(host, 1000);
    share_vouch(host);
    share_leave(host);
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "2001:db8::%x", i);
        struct user_share *from = share_join_address(all, name);
        serve(from, 20);
        share_leave(from);
    }
    struct user_share *stranger = share_join_address(all, "192.0.2.2");
    assert_false(share_may(stranger)); /* what they owe together is remembered */
    assert_ptr_equal(share_join_address(all, "192.0.2.1"), host);
    assert_true(share_may(host));
    share_leave(host);
    share_leave(stranger);
    share_leave(user);
    share_leave(other);
    shares_free(all);
}

static void one_went_on(void *ctx)
{
    (void)ctx;
    note.called++;
}

/* Who waits for the host's turn is called when it comes, and not before. */
static void a_session_waits_for_its_hosts_turn(void **unused)
{
    (void)unused;
    struct shares *all = world();
    struct user_share *from = share_join_host(all, "h1");
    struct share_wait w = {0}, gone = {0};
    shares_spent_from(all, NULL, 50 * US);
    shares_spent_from(all, from, 20000 * US);
    assert_false(share_may(from));
    share_wait(from, &w, one_went_on, NULL);
    share_wait(from, &gone, one_went_on, NULL);
    share_wait_cancel(&gone);
    note.fire(note.ctx);
    assert_int_equal(note.called, 0);
    note.now_us = note.due_us;
    note.fire(note.ctx);
    assert_int_equal(note.called, 1);
    share_leave(from);
    shares_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_now_and_then_waits_for_no_crowd),
        cmocka_unit_test(a_round_is_short_however_many_flood),
        cmocka_unit_test(credit_is_no_way_round),
        cmocka_unit_test(users_of_one_host_have_half_together),
        cmocka_unit_test(what_a_node_says_has_a_tenth),
        cmocka_unit_test(small_words_of_a_node_count),
        cmocka_unit_test(any_number_of_strangers_leaves_users_what_they_have),
        cmocka_unit_test(strangers_are_forgotten_and_hosts_are_not),
        cmocka_unit_test(a_session_waits_for_its_hosts_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
