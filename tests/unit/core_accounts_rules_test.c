/* What accounts, their limits and their QOS must keep: one tree, no circles, no name twice, and what is refused. */
#include "base/rng.h"
#include "core_accounts_help.h"

#include "model/limits.h"
#include <time.h>

/* ---- the tree stays one --------------------------------------------------------------------- */

static void an_account_does_not_stand_below_itself(void **unused)
{
    tree();
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "physics", .parent = "nova"});
    assert_int_equal(send(), REFUSE_UPDATE);
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "nova", .parent = "nova"});
    assert_int_equal(send(), REFUSE_UPDATE);
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "root", .parent = "nova"});
    assert_int_equal(send(), REFUSE_UPDATE);
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "nova", .parent = "nosuch"});
    assert_int_equal(send(), REFUSE_NO_SUCH_ACCOUNT);
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "nova", .parent = "root"});
    sent_well();
    assert_string_equal(assoc_find(w.c, "nova", NULL, NULL)->up->a.account, "root");
}

static void chain_add(const char *prefix, unsigned n)
{
    for (unsigned i = 1; i <= n; i++) {
        const char *name = arena_printf(w.a, "%s%u", prefix, i);
        account(VERB_ADD, name);
        assoc(VERB_ADD, NULL,
              (struct assoc){.account = name,
                             .parent = i == 1 ? "root" : arena_printf(w.a, "%s%u", prefix, i - 1)});
        sent_well();
    }
}

/* Each job counts in all above it, and a coordinator may add accounts below his own. */
static void a_tree_is_not_deeper_than_is_allowed(void **unused)
{
    (void)unused;
    am_root();
    chain_add("a", LIMIT_ACCOUNT_DEPTH - 1); /* root is one, too */
    const char *last = arena_printf(w.a, "a%u", LIMIT_ACCOUNT_DEPTH - 1);
    account(VERB_ADD, "more");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "more", .parent = last});
    assert_int_equal(send(), REFUSE_UPDATE);
    assert_null(account_find(w.c, "more"));
    chain_add("b", 10);
    const char *high = arena_printf(w.a, "a%u", LIMIT_ACCOUNT_DEPTH - 11);
    const char *low = arena_printf(w.a, "a%u", LIMIT_ACCOUNT_DEPTH - 10);
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "b1", .parent = low});
    assert_int_equal(send(), REFUSE_UPDATE); /* b10 would be too deep */
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "b1", .parent = high});
    sent_well();
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = "b1", .parent = high});
    sent_well();
    assoc(VERB_MODIFY, "parent", (struct assoc){.account = last, .parent = "b10"});
    assert_int_equal(send(), REFUSE_UPDATE);
}

static void what_stands_below_goes_with_it(void **unused)
{
    tree();
    user(VERB_MODIFY, "bob", "physics");
    account(VERB_REMOVE, "physics");
    sent_well();
    assert_null(account_find(w.c, "nova"));
    assert_null(assoc_find(w.c, "nova", "alice", NULL));
    assert_null(account_default(w.c, "alice"));
    assert_false(account_coordinates(w.c, "bob", "physics"));
    account(VERB_REMOVE, "root");
    assert_int_equal(send(), REFUSE_UPDATE);
    user(VERB_REMOVE, "root", NULL);
    assert_int_equal(send(), REFUSE_UPDATE);
}

static void a_default_account_stays_while_there_are_others(void **unused)
{
    tree();
    assoc(VERB_ADD, NULL, (struct assoc){.account = "physics", .user = "alice"});
    sent_well();
    assoc(VERB_REMOVE, NULL, (struct assoc){.account = "nova", .user = "alice"});
    assert_int_equal(send(), REFUSE_DEFAULT_ACCOUNT);
    user(VERB_MODIFY, "alice", "physics");
    assoc(VERB_REMOVE, NULL, (struct assoc){.account = "nova", .user = "alice"});
    sent_well();
    assert_string_equal(account_default(w.c, "alice"), "physics");
    user(VERB_MODIFY, "alice", "nova");
    assert_int_equal(send(), REFUSE_NO_SUCH_ACCOUNT);
}

static void hostile_names_are_refused(void **unused)
{
    static const char *const bad[] = {"",
                                      "a b",
                                      "a,b",
                                      "a=b",
                                      "a/b",
                                      "-a",
                                      "+a",
                                      "a'b",
                                      "a\"b",
                                      "a\nb",
                                      ("a\x1b"
                                       "b"),
                                      "*",
                                      "a[1]",
                                      "a:b",
                                      "a;b",
                                      "a|b",
                                      "a\\b",
                                      "a<b",
                                      ("a\xc2\x9b"
                                       "b"),
                                      "a\u202eb",
                                      "a\u2028b",
                                      ("a\xff"
                                       "b")};
    static const char *const good[] = {"naiss2024-22-101", "wc_test", "a.b", "größe", "a@b", "9"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        am_root();
        account(VERB_ADD, bad[i]);
        assert_int_not_equal(send(), REFUSE_NONE);
        qos(VERB_ADD, NULL, (struct qos){.name = bad[i]});
        assert_int_not_equal(send(), REFUSE_NONE);
        user(VERB_ADD, bad[i], "root");
        assert_int_not_equal(send(), REFUSE_NONE);
        wckey(VERB_ADD, bad[i], "alice");
        assert_int_not_equal(send(), REFUSE_NONE);
    }
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        am_root();
        account(VERB_ADD, good[i]);
        sent_well();
    }
    char *large = arena_alloc(w.a, 100000);
    memset(large, 'x', 99999);
    struct account a = {.name = "large", .description = large};
    more(NOUN_ACCOUNT, VERB_ADD, NULL)->account = (struct record_list){KEEP(a), 1};
    assert_int_equal(send(), REFUSE_TOO_LARGE);
}

static void a_change_without_its_record_is_refused(void **unused)
{
    for (int noun = NOUN_ACCOUNT; noun <= NOUN_COORDINATOR; noun++)
        for (int verb = VERB_ADD; verb <= VERB_REMOVE; verb++) {
            am_root();
            more((enum account_noun)noun, (enum account_verb)verb, "name,flags,nosuch");
            assert_int_not_equal(send(), REFUSE_NONE);
        }
    struct account nothing = {0};
    struct account_user nobody = {0};
    struct qos no_qos = {0};
    for (int verb = VERB_ADD; verb <= VERB_REMOVE; verb++) {
        am_root();
        more(NOUN_ACCOUNT, (enum account_verb)verb, NULL)->account =
            (struct record_list){&nothing, 1};
        assert_int_not_equal(send(), REFUSE_NONE);
        more(NOUN_USER, (enum account_verb)verb, NULL)->user = (struct record_list){&nobody, 1};
        assert_int_not_equal(send(), REFUSE_NONE);
        more(NOUN_QOS, (enum account_verb)verb, NULL)->qos = (struct record_list){&no_qos, 1};
        assert_int_not_equal(send(), REFUSE_NONE);
    }
}

/* ---- limits and QOS ------------------------------------------------------------------------- */

static void limits_are_set_and_lifted(void **unused)
{
    tree();
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "physics"}), LIMIT_MAX_JOBS, "5");
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "physics"}), LIMIT_GRP_TRES,
            "cpu=4,mem=10G");
    sent_well();
    struct assocrec *r = assoc_find(w.c, "nova", "alice", NULL);
    assert_int_equal(assoc_limit(r, LIMIT_MAX_JOBS, NULL)->value, 5);
    assert_non_null(strstr(told()->warning, "AccountingStorageEnforce"));
    assert_int_equal(assoc_limit(r, LIMIT_GRP_TRES, "mem")->value, 10240);
    assert_null(assoc_limit(r, LIMIT_GRP_TRES, "node"));
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova"}), LIMIT_MAX_JOBS, "2");
    sent_well();
    assert_int_equal(assoc_limit(r, LIMIT_MAX_JOBS, NULL)->value, 2);
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova"}), LIMIT_MAX_JOBS, "-1");
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "physics"}), LIMIT_GRP_TRES,
            "cpu=-1");
    sent_well();
    assert_int_equal(assoc_limit(r, LIMIT_MAX_JOBS, NULL)->value, 5);
    assert_null(assoc_limit(r, LIMIT_GRP_TRES, "cpu"));
    uint64_t before = book();
    restart(CONF);
    assert_int_equal(book(), before);
    am_root();
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova"}), LIMIT_MAX_TRES_PER_USER,
            "cpu=1");
    assert_int_equal(send(), REFUSE_UPDATE); /* a QOS has it */
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova"}), LIMIT_GRP_TRES,
            "gres/unicorn=1");
    assert_int_equal(send(), REFUSE_UPDATE);
}

static void lists_of_qos_grow_and_shrink(void **unused)
{
    tree();
    assoc(VERB_MODIFY, "qos", (struct assoc){.account = "nova", .user = "alice", .qos = "opp"})
        ->list = LIST_MORE;
    sent_well();
    struct assocrec *r = assoc_find(w.c, "nova", "alice", NULL);
    assert_string_equal(assoc_qos_list(w.c, r, w.a), "normal,opp");
    assoc(VERB_MODIFY, "qos", (struct assoc){.account = "nova", .user = "alice", .qos = "normal"})
        ->list = LIST_LESS;
    sent_well();
    assert_string_equal(assoc_qos_list(w.c, r, w.a), "opp");
    assoc(VERB_MODIFY, "qos,default_qos",
          (struct assoc){
              .account = "nova", .user = "alice", .qos = "normal", .default_qos = "normal"});
    sent_well();
    assert_string_equal(assoc_qos_list(w.c, r, w.a), "normal");
    qos(VERB_REMOVE, NULL, (struct qos){.name = "normal"});
    sent_well();
    assert_null(assoc_default_qos(r));
    assoc(VERB_MODIFY, "qos", (struct assoc){.account = "nova", .qos = "nosuch"});
    assert_int_equal(send(), REFUSE_QOS);
}

/* In a partition, too: what is kept in another one keeps the default, and the last takes it along. */
static void a_default_in_partitions_goes_with_the_last(void **unused)
{
    struct assoc batch = {.account = "physics", .user = "dave", .partition = "batch"},
                 gpu = {.account = "physics", .user = "dave", .partition = "gpu"};
    tree();
    user(VERB_ADD, "dave", "physics");
    assoc(VERB_ADD, NULL, batch);
    assoc(VERB_ADD, NULL, gpu);
    sent_well();
    assert_string_equal(account_default(w.c, "dave"), "physics");
    assoc(VERB_REMOVE, NULL, batch);
    sent_well();
    assert_string_equal(account_default(w.c, "dave"), "physics");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "nova", .user = "dave"});
    sent_well();
    assoc(VERB_REMOVE, NULL, gpu);
    assert_int_equal(send(), REFUSE_DEFAULT_ACCOUNT);
    account(VERB_REMOVE, "physics");
    sent_well();
    assert_null(account_default(w.c, "dave"));
}

/* Who may stop whom is no circle, of one, two or three. */
static void who_stops_whom_is_no_circle(void **unused)
{
    static const struct {
        const char *name, *stops;
        enum refusal refusal;
    } steps[] = {{"opp", "opp", REFUSE_QOS_LOOP},      {"opp", "normal", REFUSE_NONE},
                 {"normal", "opp", REFUSE_QOS_LOOP},   {"third", "opp,normal", REFUSE_NONE},
                 {"normal", "third", REFUSE_QOS_LOOP}, {"opp", NULL, REFUSE_NONE},
                 {"normal", "opp", REFUSE_NONE},       {"opp", "third", REFUSE_QOS_LOOP}};
    tree();
    qos(VERB_ADD, NULL, (struct qos){.name = "third"});
    sent_well();
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        qos(VERB_MODIFY, "preempt", (struct qos){.name = steps[i].name, .preempt = steps[i].stops});
        assert_int_equal(send(), steps[i].refusal);
    }
}

/* Whoever a change concerns may use what is his default then: the user himself, and who inherits
 * either of both; it is refused whole. */
static void a_default_qos_may_be_used(void **unused)
{
    tree();
    struct assoc nova = {.account = "nova", .qos = "normal", .default_qos = "opp"},
                 alice = {.account = "nova", .user = "alice", .qos = "opp", .default_qos = "opp"};
    assoc(VERB_MODIFY, "default_qos", nova);
    assert_int_equal(send(), REFUSE_QOS);
    assert_null(assoc_find(w.c, "nova", NULL, NULL)->a.default_qos);
    assoc(VERB_MODIFY, "qos,default_qos", alice);
    sent_well();
    assoc(VERB_MODIFY, "qos", nova)->list = LIST_SET; /* alice has both herself */
    sent_well();
    uint64_t before = book();
    alice.qos = "normal";
    assoc(VERB_MODIFY, "qos", alice);
    assert_int_equal(send(), REFUSE_QOS);
    alice.qos = NULL; /* then she has the account's list, which does not have it */
    assoc(VERB_MODIFY, "qos", alice);
    assert_int_equal(send(), REFUSE_QOS);
    assert_int_equal(book(), before);
    alice.default_qos = NULL;
    assoc(VERB_MODIFY, "qos,default_qos", alice);
    sent_well();
    nova.qos = "opp";
    assoc(VERB_MODIFY, "qos,default_qos", nova);
    sent_well();
    nova.qos = "normal"; /* what stands below it is looked at, too */
    assoc(VERB_MODIFY, "qos", nova);
    assert_int_equal(send(), REFUSE_QOS);
}

/* ---- many at once --------------------------------------------------------------------------- */

/* Of twenty users in six accounts, two of them below others. */
struct pick {
    int what, user, account, partition;
};

static void pick_send(const struct pick *p)
{
    const char *who = arena_printf(w.a, "u%d", p->user);
    struct assoc a = {.account = arena_printf(w.a, "a%d", p->account), .user = who};
    if (p->partition)
        a.partition = "main";
    switch (p->what) {
    case 0: user(VERB_ADD, who, a.account); break;
    case 1:
    case 2:
    case 3: assoc(VERB_ADD, NULL, a); break;
    case 4: user(VERB_MODIFY, who, a.account); break;
    case 5:
    case 6: assoc(VERB_REMOVE, NULL, a); break;
    case 7: user(VERB_REMOVE, who, NULL); break;
    case 8: assoc(VERB_ADD, NULL, (struct assoc){.account = a.account, .parent = "root"}); break;
    case 9: account(VERB_ADD, a.account); break;
    case 10:
        if (p->user == 0)
            account(VERB_REMOVE, a.account);
        else
            assoc(VERB_ADD, NULL, a);
        break;
    }
}

static void six_accounts(void)
{
    am_root();
    for (int i = 0; i < 6; i++) {
        const char *name = arena_printf(w.a, "a%d", i);
        account(VERB_ADD, name);
        assoc(VERB_ADD, NULL, (struct assoc){.account = name, .parent = i > 3 ? "a0" : "root"});
    }
    sent_well();
}

/* Changes that are taken one by one make the same of the book as one request of all of them, in
 * which associations are known by user from some on. */
static void many_at_once_are_as_one_by_one(void **unused)
{
    (void)unused;
    struct rng r = {7};
    for (int life = 0; life < 30; life++) {
        VEC(struct pick) taken = {0};
        six_accounts();
        for (int i = 0; i < 300; i++) {
            struct pick p = {(int)rng_below(&r, 11), (int)rng_below(&r, 20), (int)rng_below(&r, 6),
                             (int)rng_below(&r, 2)};
            pick_send(&p);
            if (send() == REFUSE_NONE)
                vec_push(&taken, p);
        }
        uint64_t one_by_one = book();
        assert_true(taken.n > 60);
        world_close();
        world_open(CONF, 4);
        six_accounts();
        for (size_t i = 0; i < taken.n; i++)
            pick_send(&taken.v[i]);
        sent_well();
        assert_int_equal(book(), one_by_one);
        vec_done(&taken);
        world_close();
        world_open(CONF, 4);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each was looked for among all: a thousand million names were compared. */
static void keys_of_many_users_are_found_at_once(void **unused)
{
    enum { USERS = 40000, AT_ONCE = 20000 };
    (void)unused;
    am_root();
    double began = cpu_seconds();
    for (int i = 0; i < USERS; i++) {
        wckey(VERB_ADD, "k", arena_printf(w.a, "user%d", i));
        if (i % AT_ONCE != AT_ONCE - 1)
            continue;
        struct msg_change_accounts m = {.changes = {list.v, list.n}};
        struct message asks = {.kind = MSG_CHANGE_ACCOUNTS, .seq = ++w.seq, .body = &m};
        effects_reset(&w.fx);
        w.fills = true; /* nothing is checked or kept while it is measured */
        step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &asks});
        w.fills = false;
        assert_int_equal(refusal(), REFUSE_NONE);
        vec_clear(&list);
    }
    assert_true(cpu_seconds() - began < 5);
    assert_non_null(wckey_ever(w.c, "k", "user39999"));
    assert_null(wckey_ever(w.c, "k", "user40000"));
    wckey(VERB_REMOVE, "k", "user7");
    wckey(VERB_ADD, "k2", "user7");
    wckey(VERB_ADD, " ", "user8"); /* refused: all is as it was */
    assert_int_not_equal(send(), REFUSE_NONE);
    assert_null(wckey_ever(w.c, "k2", "user7"));
    assert_false(wckey_ever(w.c, "k", "user7")->deleted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(an_account_does_not_stand_below_itself),
        STORY(a_tree_is_not_deeper_than_is_allowed),
        STORY(what_stands_below_goes_with_it),
        STORY(a_default_account_stays_while_there_are_others),
        STORY(hostile_names_are_refused),
        STORY(a_change_without_its_record_is_refused),
        STORY(limits_are_set_and_lifted),
        STORY(lists_of_qos_grow_and_shrink),
        STORY(a_default_qos_may_be_used),
        STORY(a_default_in_partitions_goes_with_the_last),
        STORY(who_stops_whom_is_no_circle),
        STORY(many_at_once_are_as_one_by_one),
        STORY(keys_of_many_users_are_found_at_once),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vec_done(&list);
    return failed;
}
