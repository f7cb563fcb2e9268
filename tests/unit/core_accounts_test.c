/* Accounts, users, associations, QOS and their limits: what a change does, who may, and that many
 * changes are one deed. */
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/limit_book.h"
#include "core_help.h"
#include "model/packed.h"

/* ---- asking --------------------------------------------------------------------------------- */

static VEC(struct account_change) list;

static struct account_change *more(enum account_noun noun, enum account_verb verb,
                                   const char *fields)
{
    struct account_change ch = {.verb = (int32_t)verb, .noun = (int32_t)noun, .fields = fields};
    vec_push(&list, ch);
    return &list.v[list.n - 1];
}

#define KEEP(record) arena_dup(w.a, &(record), sizeof(record))

static void account(enum account_verb verb, const char *name)
{
    struct account a = {.name = name};
    more(NOUN_ACCOUNT, verb, NULL)->account = (struct record_list){KEEP(a), 1};
}

static void user(enum account_verb verb, const char *name, const char *first)
{
    struct account_user u = {.name = name, .default_account = first};
    more(NOUN_USER, verb, verb == VERB_MODIFY ? "default_account" : NULL)->user =
        (struct record_list){KEEP(u), 1};
}

static struct account_change *assoc(enum account_verb verb, const char *fields, struct assoc a)
{
    struct account_change *ch = more(NOUN_ASSOC, verb, fields);
    ch->assoc = (struct record_list){KEEP(a), 1};
    return ch;
}

static void coordinator(enum account_verb verb, const char *account, const char *name)
{
    struct assoc a = {.account = account, .user = name};
    more(NOUN_COORDINATOR, verb, NULL)->assoc = (struct record_list){KEEP(a), 1};
}

static struct account_change *qos(enum account_verb verb, const char *fields, struct qos q)
{
    struct account_change *ch = more(NOUN_QOS, verb, fields);
    ch->qos = (struct record_list){KEEP(q), 1};
    return ch;
}

static void wckey(enum account_verb verb, const char *name, const char *of)
{
    struct wckey k = {.name = name, .user = of};
    more(NOUN_WCKEY, verb, NULL)->wckey = (struct record_list){KEEP(k), 1};
}

static void limited(struct account_change *ch, enum resource_limit what, const char *text)
{
    struct err e = {0};
    if (!limits_parse(what, text, NULL, NULL, w.a, &ch->limits, &e))
        fail_msg("%s", e.text);
}

static const struct msg_accounts_changed *told(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_ACCOUNTS_CHANGED)
            return w.fx.v[i].msg.body;
    return NULL;
}

static enum refusal send_changes(bool test_only)
{
    struct msg_change_accounts m = {.changes = {list.v, list.n}, .test_only = test_only};
    say(1, MSG_CHANGE_ACCOUNTS, &m);
    vec_clear(&list);
    return refusal();
}

static enum refusal send(void)
{
    return send_changes(false);
}

static void sent_well(void)
{
    enum refusal r = send();
    if (r)
        fail_msg("refused: %s", answer()->detail ? answer()->detail : refusal_text(r));
}

static size_t stored(void)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].table != TABLE_ANSWERED;
    return n;
}

static uint64_t book(void)
{
    return accounts_hash(w.c, HASH_INIT);
}

/* ---- a tree --------------------------------------------------------------------------------- */

/* root ─ physics (bob coordinates) ─ nova: alice; QOS opp; alice's key k. */
static void tree(void)
{
    am_root();
    account(VERB_ADD, "physics");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "physics", .parent = "root"});
    account(VERB_ADD, "nova");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "nova", .parent = "physics"});
    user(VERB_ADD, "alice", "nova");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "nova", .user = "alice"});
    user(VERB_ADD, "bob", "physics");
    assoc(VERB_ADD, NULL, (struct assoc){.account = "physics", .user = "bob"});
    coordinator(VERB_ADD, "physics", "bob");
    qos(VERB_ADD, NULL, (struct qos){.name = "opp"});
    wckey(VERB_ADD, "k", "alice");
    sent_well();
}

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

static struct assoc nova(const char *user)
{
    return (struct assoc){.account = "nova", .user = user};
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
                                      "a<b"};
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

/* ---- who may -------------------------------------------------------------------------------- */

enum asker { ROOT, OLGA, BOB_COORDINATES, ALICE_HERSELF, CAROL, WHO_COUNT };
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

#define R   (1u << ROOT)
#define OP  (R | 1u << OLGA)
#define CO  (OP | 1u << BOB_COORDINATES)
#define OWN (1u << ALICE_HERSELF)

static struct account acct_new = {.name = "new"}, acct_nova = {.name = "nova", .description = "d"},
                      acct_phys = {.name = "physics", .description = "d"};
static struct account_user user_new = {.name = "new", .default_account = "nova"},
                           user_op = {.name = "new",
                                      .default_account = "nova",
                                      .admin_level = ADMIN_OPERATOR},
                           user_alice = {.name = "alice", .default_account = "nova"},
                           user_bob = {.name = "bob"},
                           user_level = {.name = "alice", .admin_level = ADMIN_OPERATOR};
static struct assoc assoc_new = {.account = "new", .parent = "physics"},
                    assoc_top = {.account = "new", .parent = "root"},
                    assoc_bob = {.account = "nova", .user = "bob"},
                    assoc_alice = {.account = "nova", .user = "alice", .shares = 3},
                    assoc_alice_opp = {.account = "nova", .user = "alice", .qos = "opp"},
                    assoc_nova = {.account = "nova", .shares = 3},
                    assoc_phys = {.account = "physics", .shares = 3};
static struct qos qos_new = {.name = "new"}, qos_opp = {.name = "opp", .priority = 4};
static struct wckey wckey_new = {.name = "n", .user = "alice"};

#define ONE(record)                                                                                \
    {                                                                                              \
        &(record), 1                                                                               \
    }
static const struct {
    const char *what;
    struct account_change change[2];
    unsigned may;
} deeds[] = {
    {"an account of his",
     {{.noun = NOUN_ACCOUNT, .verb = VERB_ADD, .account = ONE(acct_new)},
      {.noun = NOUN_ASSOC, .verb = VERB_ADD, .assoc = ONE(assoc_new)}},
     CO},
    {"an account below root",
     {{.noun = NOUN_ACCOUNT, .verb = VERB_ADD, .account = ONE(acct_new)},
      {.noun = NOUN_ASSOC, .verb = VERB_ADD, .assoc = ONE(assoc_top)}},
     OP},
    {"a description",
     {{.noun = NOUN_ACCOUNT,
       .verb = VERB_MODIFY,
       .fields = "description",
       .account = ONE(acct_nova)}},
     CO},
    {"a description of his own account",
     {{.noun = NOUN_ACCOUNT,
       .verb = VERB_MODIFY,
       .fields = "description",
       .account = ONE(acct_phys)}},
     OP},
    {"an account goes",
     {{.noun = NOUN_ACCOUNT, .verb = VERB_REMOVE, .account = ONE(acct_nova)}},
     CO},
    {"a user", {{.noun = NOUN_USER, .verb = VERB_ADD, .user = ONE(user_new)}}, CO},
    {"an operator", {{.noun = NOUN_USER, .verb = VERB_ADD, .user = ONE(user_op)}}, R},
    {"a level",
     {{.noun = NOUN_USER, .verb = VERB_MODIFY, .fields = "admin_level", .user = ONE(user_level)}},
     R},
    {"a default",
     {{.noun = NOUN_USER,
       .verb = VERB_MODIFY,
       .fields = "default_account",
       .user = ONE(user_alice)}},
     OP | OWN},
    {"a user goes who is in his accounts alone",
     {{.noun = NOUN_USER, .verb = VERB_REMOVE, .user = ONE(user_alice)}},
     CO},
    {"an association", {{.noun = NOUN_ASSOC, .verb = VERB_ADD, .assoc = ONE(assoc_bob)}}, CO},
    {"shares of a user",
     {{.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .fields = "shares", .assoc = ONE(assoc_alice)}},
     CO},
    {"shares of an account",
     {{.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .fields = "shares", .assoc = ONE(assoc_nova)}},
     CO},
    {"shares of his own account",
     {{.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .fields = "shares", .assoc = ONE(assoc_phys)}},
     OP},
    {"a QOS that he has not",
     {{.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .fields = "qos", .assoc = ONE(assoc_alice_opp)}},
     OP},
    {"an association goes",
     {{.noun = NOUN_ASSOC, .verb = VERB_REMOVE, .assoc = ONE(assoc_alice)}},
     CO},
    {"a name",
     {{.noun = NOUN_USER, .verb = VERB_MODIFY, .user = ONE(user_alice), .new_name = "al"}},
     OP},
    {"a name of a level",
     {{.noun = NOUN_USER, .verb = VERB_MODIFY, .fields = "admin_level", .user = ONE(user_level)},
      {.noun = NOUN_USER, .verb = VERB_MODIFY, .user = ONE(user_alice), .new_name = "al"}},
     R},
    {"a user goes who is in no other account",
     {{.noun = NOUN_ASSOC, .verb = VERB_REMOVE, .assoc = ONE(assoc_alice)},
      {.noun = NOUN_USER, .verb = VERB_REMOVE, .user = ONE(user_alice)}},
     CO},
    {"one goes, and he himself, who is in his account alone, too",
     {{.noun = NOUN_ASSOC, .verb = VERB_REMOVE, .assoc = ONE(assoc_alice)},
      {.noun = NOUN_USER, .verb = VERB_REMOVE, .user = ONE(user_bob)}},
     CO},
    {"a coordinator",
     {{.noun = NOUN_COORDINATOR, .verb = VERB_ADD, .assoc = ONE(assoc_alice)}},
     CO},
    {"a QOS", {{.noun = NOUN_QOS, .verb = VERB_ADD, .qos = ONE(qos_new)}}, OP},
    {"a QOS changes",
     {{.noun = NOUN_QOS, .verb = VERB_MODIFY, .fields = "priority", .qos = ONE(qos_opp)}},
     OP},
    {"a QOS goes", {{.noun = NOUN_QOS, .verb = VERB_REMOVE, .qos = ONE(qos_opp)}}, OP},
    {"a key", {{.noun = NOUN_WCKEY, .verb = VERB_ADD, .wckey = ONE(wckey_new)}}, OP},
};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_tree_is_made_in_one_request),
        STORY(what_is_there_is_not_added_again),
        STORY(the_last_change_refused_undoes_all),
        STORY(a_trial_changes_nothing),
        STORY(a_restart_gives_the_same_book),
        STORY(a_restart_at_once_gives_the_same_book),
        STORY(what_comes_back_keeps_its_number),
        STORY(an_account_does_not_stand_below_itself),
        STORY(what_stands_below_goes_with_it),
        STORY(a_default_account_stays_while_there_are_others),
        STORY(hostile_names_are_refused),
        STORY(a_change_without_its_record_is_refused),
        STORY(limits_are_set_and_lifted),
        STORY(lists_of_qos_grow_and_shrink),
        STORY(a_default_qos_may_be_used),
        STORY(a_default_in_partitions_goes_with_the_last),
        STORY(who_stops_whom_is_no_circle),
        STORY(each_deed_by_everybody),
        STORY(a_user_gets_another_name),
        STORY(a_name_with_a_past_is_not_taken),
        STORY(what_jobs_use_is_not_taken_away),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vec_done(&list);
    return failed;
}
