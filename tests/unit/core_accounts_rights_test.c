/* Who may change accounts, and what becomes of names and jobs when they are changed. */
#include "core_accounts_help.h"

#include <unistd.h>

/* ---- who may ---- */

static const char *const who_names[] = {"root", "an operator", "the coordinator", "the user",
                                        "another user"};

static void am_who(enum asker who)
{
    switch (who) {
    case ROOT: am_root(); break;
    case OLGA: am_olga(); break;
    case BOB_COORDINATES: am_bob(); break;
    case ALICE_HERSELF: am_alice(); break;
    case CAROL:
    case WHO_COUNT: am(1002, "carol", false); break;
    }
}

static void each_deed_by_everybody(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
        for (enum asker who = 0; who < WHO_COUNT; who++) {
            tree();
            uint64_t before = book();
            am_who(who);
            for (size_t k = 0; k < 2; k++)
                if (k == 0 || deeds[i].change[k].assoc.n || deeds[i].change[k].user.n)
                    vec_push(&list, deeds[i].change[k]);
            enum refusal r = send();
            bool may = deeds[i].may >> who & 1u;
            if ((r == REFUSE_ACCESS_DENIED) == may || (may && r))
                fail_msg("%s by %s: %s %s", deeds[i].what, who_names[who], refusal_text(r),
                         answer() && answer()->detail ? answer()->detail : "");
            if (!may)
                assert_int_equal(book(), before);
            teardown(state);
            setup(state);
        }
}

/* Each of the deeds with each of its names empty, which a frame may have. What is of nobody's name
 * is the account's own to the book, and who may was asked for a user's. */
static void no_name_is_empty(void **state)
{
    static const char *const names[] = {"name", "account", "user", "partition"};
    size_t asked = 0;
    for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
        for (size_t n = 0; n < 2 * ARRAY_LEN(names); n++) {
            struct account_change ch = deeds[i].change[n % 2];
            struct record_list *const of[] = {&ch.account, &ch.user, &ch.assoc, &ch.qos, &ch.wckey};
            static const struct fields *const kinds[] = {&account_fields, &account_user_fields,
                                                         &assoc_fields, &qos_fields, &wckey_fields};
            for (size_t k = 0; k < ARRAY_LEN(of); k++) {
                ptrdiff_t at = fields_find(kinds[k], names[n / 2]);
                if (!of[k]->n || at < 0)
                    continue;
                void *record = arena_dup(w.a, of[k]->v, kinds[k]->size);
                *(const char **)field_ptr(&kinds[k]->field[at], record) = "";
                of[k]->v = record;
                tree();
                uint64_t before = book();
                for (enum asker who = 0; who < WHO_COUNT; who++, asked++) {
                    am_who(who);
                    vec_push(&list, ch);
                    assert_int_not_equal(send(), REFUSE_NONE);
                    assert_int_equal(book(), before);
                }
                teardown(state);
                setup(state);
            }
        }
    assert_in_range(asked, 300, 3000);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void rename_user(const char *from, const char *to)
{
    struct account_user u = {.name = from};
    struct account_change *ch = more(NOUN_USER, VERB_MODIFY, NULL);
    ch->user = (struct record_list){KEEP(u), 1};
    ch->new_name = to;
}

/* All that is of her has the new name, and the number that it had: limits and use go with it. */
static void a_user_gets_another_name(void **state)
{
    tree();
    coordinator(VERB_ADD, "nova", "alice");
    struct account_change *ch =
        assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova", .user = "alice"});
    assert_true(limits_parse(LIMIT_MAX_JOBS, "3", NULL, NULL, w.a, &ch->limits, NULL));
    sent_well();
    hello(1);
    am_alice();
    struct job_spec s = a_job("uses");
    s.req.account = "nova";
    uint64_t id = submit(s), before = book();
    am_root();
    rename_user("alice", "al");
    assert_int_equal(send(), REFUSE_ASSOC_BUSY); /* the job carries the name */
    assert_int_equal(book(), before);
    am_alice();
    script_ends(id, 0);
    am_root();
    uint32_t number = assoc_find(w.c, "nova", "alice", NULL)->a.id;
    static const char *const taken[] = {"bob", "root", "", "a b", "alice"};
    before = book();
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        rename_user("alice", taken[i]);
        assert_int_not_equal(send(), REFUSE_NONE);
        assert_int_equal(book(), before);
    }
    rename_user("root", "toor");
    assert_int_not_equal(send(), REFUSE_NONE);
    assoc(VERB_MODIFY, "shares", (struct assoc){.account = "nova", .user = "alice"})->new_name =
        "al";
    assert_int_equal(send(), REFUSE_UPDATE);
    assert_int_equal(book(), before);
    rename_user("alice", "al");
    sent_well();
    for (int again = 0; again < 2; again++) {
        const struct assocrec *r = assoc_find(w.c, "nova", "al", NULL);
        assert_non_null(r);
        assert_int_equal(r->a.id, number);
        assert_int_equal(r->limit.n, 1);
        assert_null(assoc_find(w.c, "nova", "alice", NULL));
        assert_null(account_user_find(w.c, "alice"));
        assert_string_equal(account_user_find(w.c, "al")->default_account, "nova");
        assert_true(account_coordinates(w.c, "al", "nova"));
        assert_false(account_coordinates(w.c, "alice", "nova"));
        restart(CONF);
    }
    am_root();
    user(VERB_ADD, "alice", "physics");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "physics", .user = "alice"});
    sent_well(); /* the name is free */
    (void)state;
}

/* A coordinator's request is gone through once, whatever it adds under what: each of three thousand
 * accounts stands under the next, and the last under his, which is deeper than a tree may be. */
static void a_tree_of_a_coordinators_is_looked_at_once(void **unused)
{
    enum { DEEP = 3000 };
    (void)unused;
    tree();
    am_bob();
    const char *under = "physics";
    for (int last = 0; last < 2; last++) { /* the second leads to nobody's */
        alarm(60);
        for (int i = 0; i < DEEP; i++)
            account(VERB_ADD, arena_printf(w.a, "%d_%d", last, DEEP - 1 - i));
        for (int i = 0; i < DEEP; i++) {
            const char *name = arena_printf(w.a, "%d_%d", last, i);
            assoc(VERB_ADD, NULL, (struct assoc){.account = name, .parent = under});
            under = name;
        }
        assert_int_equal(send(), last ? REFUSE_ACCESS_DENIED : REFUSE_UPDATE);
        alarm(0);
        assert_null(account_find(w.c, arena_printf(w.a, "%d_0", last)));
        under = arena_printf(w.a, "1_%d", DEEP - 1); /* in a circle */
    }
}

/* Who was in the account before keeps what was used under that name. */
static void a_name_with_a_past_is_not_taken(void **unused)
{
    tree();
    assoc(VERB_REMOVE, NULL, (struct assoc){.account = "nova", .user = "alice"});
    user(VERB_REMOVE, "alice", NULL);
    user(VERB_ADD, "carol", "nova");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "nova", .user = "carol"});
    sent_well();
    rename_user("carol", "alice");
    assert_int_equal(send(), REFUSE_UPDATE);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static void what_jobs_use_is_not_taken_away(void **unused)
{
    tree();
    assoc(VERB_MODIFY, "qos", (struct assoc){.account = "nova", .user = "alice", .qos = "opp"})
        ->list = LIST_MORE;
    sent_well();
    hello(1);
    am_alice();
    struct job_spec s = a_job("uses");
    s.req.account = "nova";
    s.req.qos = "opp";
    uint64_t id = submit(s);
    assert_true(id > 0);
    uint64_t before = book();
    am_root();
    user(VERB_REMOVE, "alice", NULL);
    assert_int_equal(send(), REFUSE_ASSOC_BUSY);
    account(VERB_REMOVE, "nova");
    assert_int_equal(send(), REFUSE_ASSOC_BUSY);
    account(VERB_REMOVE, "physics");
    assert_int_equal(send(), REFUSE_ASSOC_BUSY);
    assoc(VERB_REMOVE, NULL, (struct assoc){.account = "nova", .user = "alice"});
    assert_int_equal(send(), REFUSE_ASSOC_BUSY);
    qos(VERB_REMOVE, NULL, (struct qos){.name = "opp"});
    assert_int_equal(send(), REFUSE_ASSOC_BUSY);
    assert_int_equal(book(), before);
    am_alice();
    script_ends(id, 0);
    am_root();
    qos(VERB_REMOVE, NULL, (struct qos){.name = "opp"});
    account(VERB_REMOVE, "physics");
    sent_well();
}

/* It is the owner who is to be in the group; of whom a job's record has one. */
static void a_coordinator_moves_jobs_where_their_owners_may_go(void **unused)
{
    static const struct {
        const char *allow;
        bool fits;
    } rows[] = {{"alice", true}, {"lab,alice", true}, {"bob", false}, {"lab", false}};
    tree();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        configure(arena_printf(w.a, CONF "PartitionName=lab Nodes=n1 State=UP AllowGroups=%s\n",
                               rows[i].allow));
        am_alice();
        struct job_spec s = a_job("j"), to = {.req.partition = "lab"};
        s.hold = true;
        s.req.account = "nova";
        uint64_t id = submit(s);
        am_bob();
        say(1, MSG_UPDATE_JOB,
            &(struct msg_update_job){.ids = ids_of(id), .fields = "partition", .values = {&to, 1}});
        assert_int_equal(refusal() == REFUSE_NONE, rows[i].fits);
        assert_string_equal(job(id)->spec.req.partition, rows[i].fits ? "lab" : "main");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(each_deed_by_everybody),
        STORY(no_name_is_empty),
        STORY(a_user_gets_another_name),
        STORY(a_tree_of_a_coordinators_is_looked_at_once),
        STORY(a_coordinator_moves_jobs_where_their_owners_may_go),
        STORY(a_name_with_a_past_is_not_taken),
        STORY(what_jobs_use_is_not_taken_away),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vec_done(&list);
    return failed;
}
