/* Requests that change accounts, users, QOS and limits, one after another in a list, and a tree of
 * them to begin with. */
#ifndef REMUDA_TESTS_CORE_ACCOUNTS_HELP_H
#define REMUDA_TESTS_CORE_ACCOUNTS_HELP_H

#include "core/record/accounts/accounts.h"
#include "core/record/accounts/limit_book.h"
#include "core_help.h"
#include "model/packed.h"

/* ---- asking --------------------------------------------------------------------------------- */

static VEC(struct account_change) list;

static inline struct account_change *more(enum account_noun noun, enum account_verb verb,
                                          const char *fields)
{
    struct account_change ch = {.verb = (int32_t)verb, .noun = (int32_t)noun, .fields = fields};
    vec_push(&list, ch);
    return &list.v[list.n - 1];
}

#define KEEP(record) arena_dup(w.a, &(record), sizeof(record))

static inline void account(enum account_verb verb, const char *name)
{
    struct account a = {.name = name};
    more(NOUN_ACCOUNT, verb, NULL)->account = (struct record_list){KEEP(a), 1};
}

static inline void user(enum account_verb verb, const char *name, const char *first)
{
    struct account_user u = {.name = name, .default_account = first};
    more(NOUN_USER, verb, verb == VERB_MODIFY ? "default_account" : NULL)->user =
        (struct record_list){KEEP(u), 1};
}

static inline struct account_change *assoc(enum account_verb verb, const char *fields,
                                           struct assoc a)
{
    struct account_change *ch = more(NOUN_ASSOC, verb, fields);
    ch->assoc = (struct record_list){KEEP(a), 1};
    return ch;
}

static inline void coordinator(enum account_verb verb, const char *account, const char *name)
{
    struct assoc a = {.account = account, .user = name};
    more(NOUN_COORDINATOR, verb, NULL)->assoc = (struct record_list){KEEP(a), 1};
}

static inline struct account_change *qos(enum account_verb verb, const char *fields, struct qos q)
{
    struct account_change *ch = more(NOUN_QOS, verb, fields);
    ch->qos = (struct record_list){KEEP(q), 1};
    return ch;
}

static inline void wckey(enum account_verb verb, const char *name, const char *of)
{
    struct wckey k = {.name = name, .user = of};
    more(NOUN_WCKEY, verb, NULL)->wckey = (struct record_list){KEEP(k), 1};
}

static inline void limited(struct account_change *ch, enum resource_limit what, const char *text)
{
    struct err e = {0};
    if (!limits_parse(what, text, NULL, NULL, w.a, &ch->limits, &e))
        fail_msg("%s", e.text);
}

static inline const struct msg_accounts_changed *told(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_ACCOUNTS_CHANGED)
            return w.fx.v[i].msg.body;
    return NULL;
}

static inline enum refusal send_changes(bool test_only)
{
    struct msg_change_accounts m = {.changes = {list.v, list.n}, .test_only = test_only};
    say(1, MSG_CHANGE_ACCOUNTS, &m);
    vec_clear(&list);
    return refusal();
}

static inline enum refusal send(void)
{
    return send_changes(false);
}

static inline void sent_well(void)
{
    enum refusal r = send();
    if (r)
        fail_msg("refused: %s", answer()->detail ? answer()->detail : refusal_text(r));
}

static inline uint64_t book(void)
{
    return accounts_hash(w.c, HASH_INIT);
}

/* ---- a tree --------------------------------------------------------------------------------- */

/* root ─ physics (bob coordinates) ─ nova: alice; QOS opp; alice's key k. */
static inline void tree(void)
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

/* ---- all or nothing ---- */

static inline struct assoc nova(const char *user)
{
    return (struct assoc){.account = "nova", .user = user};
}

/* ---- who may -------------------------------------------------------------------------------- */

enum asker { ROOT, OLGA, BOB_COORDINATES, ALICE_HERSELF, CAROL, WHO_COUNT };

#define R   (1u << ROOT)
#define OP  (R | 1u << OLGA)
#define CO  (OP | 1u << BOB_COORDINATES)
#define OWN (1u << ALICE_HERSELF)

static struct assoc assoc_bob_more = {.account = "nova", .user = "bob", .qos_more = "opp"},
                    assoc_bob_opp = {.account = "nova", .user = "bob", .qos = "opp"};
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
    {"a QOS that he has not, more for one who is new",
     {{.noun = NOUN_ASSOC, .verb = VERB_ADD, .assoc = ONE(assoc_bob_more)}},
     OP},
    {"a QOS that he has not, taken from one who is new",
     {{.noun = NOUN_ASSOC, .verb = VERB_ADD, .list = LIST_LESS, .assoc = ONE(assoc_bob_opp)}},
     OP},
    {"use is forgotten",
     {{.noun = NOUN_ASSOC, .verb = VERB_MODIFY, .no_usage = true, .assoc = ONE(assoc_alice)}},
     OP},
    {"use is forgotten beside a default of one's own",
     {{.noun = NOUN_USER,
       .verb = VERB_MODIFY,
       .fields = "default_account",
       .user = ONE(user_alice),
       .assoc = ONE(assoc_phys),
       .no_usage = true}},
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

#endif
