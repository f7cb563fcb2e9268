/* Accounts for tests of the core: root, physics with alice and bob, chem with alice; QOS test beside
 * normal. Changes are collected, and made by changed(). */
#ifndef REMUDA_TESTS_CORE_TREE_H
#define REMUDA_TESTS_CORE_TREE_H

#include "core_help.h"

#define ENFORCED CONF "AccountingStorageEnforce=limits,qos\n"

/* ---- changes -------------------------------------------------------------------------------- */

static struct account_change changes[128];
static size_t nchanges;

static inline struct account_change *change(enum account_verb verb, enum account_noun noun)
{
    struct account_change *ch = &changes[nchanges++];
    *ch = (struct account_change){.verb = (int32_t)verb, .noun = (int32_t)noun};
    return ch;
}

static inline enum refusal changed(bool test_only)
{
    struct msg_change_accounts m = {.changes = {changes, nchanges}, .test_only = test_only};
    struct peer asks = w.peer;
    am_root();
    say(1, MSG_CHANGE_ACCOUNTS, &m);
    w.peer = asks;
    nchanges = 0;
    return refusal();
}

#define KEEP(type, ...) arena_dup(w.a, &(type){__VA_ARGS__}, sizeof(type))

static inline void add_account(const char *name)
{
    change(VERB_ADD, NOUN_ACCOUNT)->account =
        (struct record_list){KEEP(struct account, .name = name), 1};
    change(VERB_ADD, NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = name), 1};
}

static inline void add_user(const char *name, const char *account)
{
    change(VERB_ADD, NOUN_USER)->user = (struct record_list){
        KEEP(struct account_user, .name = name, .default_account = account), 1};
    change(VERB_ADD, NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = account, .user = name), 1};
}

static inline void the_tree(void)
{
    add_account("physics");
    add_account("chem");
    add_user("alice", "physics");
    add_user("bob", "physics");
    change(VERB_ADD, NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = "chem", .user = "alice"), 1};
    change(VERB_ADD, NOUN_QOS)->qos = (struct record_list){KEEP(struct qos, .name = "test"), 1};
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "qos";
    ch->list = LIST_MORE;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "root", .qos = "test"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
}

static inline int tree_setup(void **unused)
{
    world_open(ENFORCED, 4);
    the_tree();
    return 0;
}

#define TREE_STORY(function) cmocka_unit_test_setup_teardown(function, tree_setup, teardown)

/* On a QOS, on an account, or on a user in an account ("physics/alice"). */
static inline enum refusal limit_set(const char *on, const char *text)
{
    bool of_qos = text_starts(on, "qos "), of_user = strchr(on, '/') != NULL;
    const char *equals = strchr(text, '=');
    const char *word = arena_strndup(w.a, text, (size_t)(equals - text));
    enum resource_limit what;
    struct err err = {0};
    struct account_change *ch = change(VERB_MODIFY, of_qos ? NOUN_QOS : NOUN_ASSOC);
    assert_true(resource_limit_find(word, of_qos ? OWNER_QOS : OWNER_ASSOC, 100, &what));
    assert_true(limits_parse(what, equals + 1, NULL, NULL, w.a, &ch->limits, &err));
    if (of_qos) {
        ch->qos = (struct record_list){KEEP(struct qos, .name = on + 4), 1};
    } else {
        const char *account = of_user ? arena_strndup(w.a, on, strcspn(on, "/")) : on;
        ch->assoc = (struct record_list){
            KEEP(struct assoc, .account = account, .user = of_user ? strchr(on, '/') + 1 : NULL),
            1};
    }
    return changed(false);
}

static inline struct job_spec job_of(int32_t cpus, const char *account, const char *qos)
{
    struct job_spec s = a_job("j");
    s.req.ntasks = cpus;
    s.req.account = account;
    s.req.qos = qos;
    return s;
}

static inline const char *reason(uint64_t id)
{
    return enum_name(&job_reason_names, job(id)->reason);
}

#endif
