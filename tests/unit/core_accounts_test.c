/* Accounts, users, associations, QOS and their limits: what a change does, who may, and that many
 * changes are one deed. */
#include "core_accounts_help.h"

/* ---- asking ---- */

static size_t stored(void)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].table != TABLE_ANSWERED;
    return n;
}

/* ---- a tree ---- */

static void a_tree_is_made_in_one_request(void **unused)
{
    tree();
    assert_int_equal(told()->changed.n, 11);
    assert_true(accounts_in_use(w.c));
    struct assocrec *r = assoc_find(w.c, "nova", "alice", NULL);
    assert_non_null(r);
    assert_string_equal(r->up->a.account, "nova");
    assert_string_equal(r->up->up->a.account, "physics");
    assert_string_equal(account_default(w.c, "alice"), "nova");
    assert_string_equal(assoc_qos_list(w.c, r, w.a), "normal");
    assert_true(account_coordinates(w.c, "bob", "nova"));
    assert_false(account_coordinates(w.c, "alice", "nova"));
    am_bob(); /* whose requests may be long */
    assert_true(core_loads_accounts(w.c, &w.peer));
    am_alice();
    assert_false(core_loads_accounts(w.c, &w.peer));
    am_root();
    assert_true(core_loads_accounts(w.c, &w.peer));
}

static void what_is_there_is_not_added_again(void **unused)
{
    tree();
    uint64_t before = book();
    account(VERB_ADD, "nova");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "nova", .parent = "root"});
    user(VERB_ADD, "alice", "nova");
    qos(VERB_ADD, NULL, (struct qos){.name = "opp"});
    wckey(VERB_ADD, "k", "alice");
    sent_well();
    assert_int_equal(told()->changed.n, 0);
    assert_int_equal(book(), before);
    assert_int_equal(stored(), 0);
}

/* ---- all or nothing ------------------------------------------------------------------------- */

static void the_last_change_refused_undoes_all(void **unused)
{
    tree();
    uint64_t before = book();
    account(VERB_ADD, "x");
    limited(assoc(VERB_ADD, NULL, (struct assoc){.account = "x"}), LIMIT_GRP_JOBS, "4");
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova"}), LIMIT_GRP_TRES, "cpu=4");
    account(VERB_REMOVE, "physics");
    qos(VERB_REMOVE, NULL, (struct qos){.name = "opp"});
    qos(VERB_MODIFY, "priority", (struct qos){.name = "nosuch"});
    assert_int_equal(send(), REFUSE_QOS);
    assert_int_equal(book(), before);
    assert_int_equal(stored(), 0);
    assert_non_null(account_find(w.c, "physics"));
    assert_null(account_find(w.c, "x"));
    assert_string_equal(assoc_find(w.c, "nova", "alice", NULL)->up->up->a.account, "physics");
    account(VERB_ADD, "y"); /* numbers are not used up by what was undone */
    assoc(VERB_ADD, NULL, (struct assoc){.account = "y"});
    uint32_t last = w.c->accounts.last_assoc;
    sent_well();
    assert_int_equal(assoc_find(w.c, "y", NULL, NULL)->a.id, last + 1);
    assert_int_equal(last, 6);
}

static void a_trial_changes_nothing(void **unused)
{
    tree();
    uint64_t before = book();
    account(VERB_ADD, "x");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "x"});
    account(VERB_REMOVE, "physics");
    assert_int_equal(send_changes(true), REFUSE_NONE);
    assert_true(told()->changed.n >= 6);
    assert_int_equal(book(), before);
    assert_int_equal(stored(), 0);
    assert_int_equal(w.c->accounts.last_assoc, 6);
}

static void a_restart_gives_the_same_book(void **unused)
{
    tree();
    limited(assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nova"}), LIMIT_GRP_TRES,
            "cpu=4,mem=10G");
    qos(VERB_MODIFY, "priority,flags",
        (struct qos){.name = "opp", .priority = 75, .flags = QOS_DENY_ON_LIMIT});
    user(VERB_REMOVE, "alice", NULL);
    sent_well();
    uint64_t before = book();
    restart(CONF);
    assert_int_equal(book(), before);
    assert_int_equal(w.c->accounts.last_assoc, 6);
    assert_string_equal(assoc_find(w.c, "nova", NULL, NULL)->up->a.account, "physics");
    assert_null(account_user_find(w.c, "alice"));
}

/* As from a store that has them packed. */
static void restart_at_once(void)
{
    static const enum store_table packed[] = {TABLE_ACCOUNT, TABLE_ACCOUNT_USER, TABLE_ASSOC,
                                              TABLE_LIMIT, TABLE_WCKEY};
    struct packer *packer = packer_new();
    struct str bytes = STR_INIT;
    struct packed p;
    for (size_t t = 0; t < ARRAY_LEN(packed); t++)
        for (size_t i = 0; i < w.store.n; i++) {
            struct limit l = {0};
            if (w.store.v[i].table != packed[t])
                continue;
            if (packed[t] == TABLE_LIMIT)
                l = *(const struct limit *)w.store.v[i].record;
            l.id = NULL; /* as the store packs them */
            packer_add(packer, packed[t], packed[t] == TABLE_LIMIT ? &l : w.store.v[i].record);
        }
    packer_end(packer, &bytes);
    packer_free(packer);
    core_free(w.c);
    effects_reset(&w.fx);
    w.c = core_new(1, "ctl");
    configure(CONF);
    load(TABLE_META);
    load(TABLE_NODE);
    load(TABLE_QOS);
    assert_true(packed_open(bytes.data, bytes.len, w.a, &p, NULL));
    core_load_packed(w.c, &p);
    load(TABLE_TRES);
    core_loaded(w.c, w.now, &w.fx);
    core_check(w.c);
    settle(0);
    str_done(&bytes);
    am_root();
}

/* What came at once is changed, undone and removed as what came one by one. */
static void a_restart_at_once_gives_the_same_book(void **unused)
{
    tree();
    limited(assoc(VERB_MODIFY, NULL, nova(NULL)), LIMIT_GRP_TRES, "cpu=4,mem=10G,node=2");
    limited(assoc(VERB_MODIFY, NULL, nova("alice")), LIMIT_MAX_JOBS, "3");
    qos(VERB_MODIFY, "priority", (struct qos){.name = "opp", .priority = 75});
    limited(qos(VERB_MODIFY, NULL, (struct qos){.name = "opp"}), LIMIT_MAX_JOBS_PER_USER, "7");
    sent_well();
    uint64_t before = book();
    restart_at_once();
    assert_int_equal(book(), before);
    struct assocrec *r = assoc_find(w.c, "nova", "alice", NULL);
    assert_string_equal(r->up->up->a.account, "physics");
    assert_int_equal(assoc_limit(r, LIMIT_GRP_TRES, "node")->value, 2);
    assert_int_equal(limit_own(&qos_find(w.c, "opp")->limit, LIMIT_MAX_JOBS_PER_USER, NULL)->value,
                     7);
    limited(assoc(VERB_MODIFY, NULL, nova("alice")), LIMIT_MAX_SUBMIT, "9");
    limited(assoc(VERB_MODIFY, NULL, nova(NULL)), LIMIT_GRP_TRES, "cpu=-1,node=8");
    assoc(VERB_MODIFY, NULL, (struct assoc){.account = "nosuch"});
    assert_int_not_equal(send(), REFUSE_NONE);
    assert_int_equal(book(), before);
    limited(assoc(VERB_MODIFY, NULL, nova("alice")), LIMIT_MAX_SUBMIT, "9");
    limited(assoc(VERB_MODIFY, NULL, nova(NULL)), LIMIT_GRP_TRES, "cpu=-1,mem=1G,node=8");
    sent_well();
    assert_int_equal(assoc_limit(r, LIMIT_MAX_JOBS, NULL)->value, 3);
    assert_int_equal(assoc_limit(r, LIMIT_GRP_TRES, "node")->value, 8);
    user(VERB_REMOVE, "alice", NULL);
    sent_well();
    before = book();
    restart_at_once();
    assert_int_equal(book(), before);
    user(VERB_ADD, "alice", "nova");
    assoc(VERB_ADD, NULL, nova("alice"));
    sent_well();
    before = book();
    restart(CONF);
    assert_int_equal(book(), before);
}

static void what_comes_back_keeps_its_number(void **unused)
{
    tree();
    uint32_t id = assoc_find(w.c, "nova", "alice", NULL)->a.id, q = qos_find(w.c, "opp")->q.id;
    user(VERB_REMOVE, "alice", NULL);
    qos(VERB_REMOVE, NULL, (struct qos){.name = "opp"});
    sent_well();
    assert_null(assoc_find(w.c, "nova", "alice", NULL));
    assert_null(qos_find(w.c, "opp"));
    restart(CONF);
    am_root();
    user(VERB_ADD, "alice", "nova");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "nova", .user = "alice"});
    qos(VERB_ADD, NULL, (struct qos){.name = "opp"});
    sent_well();
    assert_int_equal(assoc_find(w.c, "nova", "alice", NULL)->a.id, id);
    assert_int_equal(qos_find(w.c, "opp")->q.id, q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_tree_is_made_in_one_request),      STORY(what_is_there_is_not_added_again),
        STORY(the_last_change_refused_undoes_all), STORY(a_trial_changes_nothing),
        STORY(a_restart_gives_the_same_book),      STORY(a_restart_at_once_gives_the_same_book),
        STORY(what_comes_back_keeps_its_number),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vec_done(&list);
    return failed;
}
