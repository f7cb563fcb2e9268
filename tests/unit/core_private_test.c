/* PrivateData, the product: each who asks × each way to ask × each word. bob has job 1 in chem,
 * below science; alice job 2 in physics. carl coordinates science, dora is in physics, too, and
 * nobody's coordinator. The table below says what of bob each sees, by hand; without the word
 * everybody sees it. */
#include "core/record/accounts/accounts.h"
#include "core_help.h"

#include <stdio.h>

enum asker { ROOT, ADMINISTRATOR, OPERATOR, COORDINATOR, SELF, OTHER, FAR_OPERATOR, ASKERS };
static const char *const asker_names[] = {"root",
                                          "an administrator",
                                          "an operator",
                                          "a coordinator of the account above",
                                          "bob himself",
                                          "another user",
                                          "an operator, from a host that is not trusted"};

enum word { ACCOUNTS, EVENTS, JOBS, NODES, PARTITIONS, RESERVATIONS, USAGE, USERS, WORDS };
static const char *const words[] = {"accounts",   "events",       "jobs",  "nodes",
                                    "partitions", "reservations", "usage", "users"};

#define BIT(x)   (1u << (x))
#define OPERATES (BIT(ROOT) | BIT(ADMINISTRATOR) | BIT(OPERATOR))
#define DIRECTS  (OPERATES | BIT(COORDINATOR))
#define HIS      (DIRECTS | BIT(SELF))
#define ALL      (BIT(ASKERS) - 1)

static struct account_change changes[32];
static size_t nchanges;

#define KEEP(type, ...) arena_dup(w.a, &(type){__VA_ARGS__}, sizeof(type))

static struct account_change *change(enum account_noun noun)
{
    changes[nchanges] = (struct account_change){.verb = VERB_ADD, .noun = (int32_t)noun};
    return &changes[nchanges++];
}

static void add_account(const char *name, const char *parent)
{
    change(NOUN_ACCOUNT)->account = (struct record_list){KEEP(struct account, .name = name), 1};
    change(NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = name, .parent = parent), 1};
}

static void add_user(const char *name, const char *account, enum admin_level level)
{
    change(NOUN_USER)->user =
        (struct record_list){KEEP(struct account_user, .name = name, .default_account = account,
                                  .admin_level = (int32_t)level),
                             1};
    struct account_change *ch = change(NOUN_ASSOC);
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = account, .user = name), 1};
    assert_true(limits_parse(LIMIT_MAX_JOBS, "1", NULL, NULL, w.a, &ch->limits, NULL));
}

static void begin(const char *conf)
{
    world_open(conf, 2);
    am_root();
    add_account("science", "root");
    add_account("chem", "science");
    add_account("physics", "root");
    add_user("bob", "chem", ADMIN_NONE);
    add_user("alice", "physics", ADMIN_NONE);
    add_user("dora", "physics", ADMIN_NONE);
    add_user("ada", "physics", ADMIN_ADMINISTRATOR);
    change(NOUN_USER)->user = (struct record_list){
        KEEP(struct account_user, .name = "carl", .default_account = "physics"), 1};
    change(NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = "physics", .user = "carl"), 1};
    change(NOUN_COORDINATOR)->assoc =
        (struct record_list){KEEP(struct assoc, .account = "science", .user = "carl"), 1};
    change(NOUN_WCKEY)->wckey =
        (struct record_list){KEEP(struct wckey, .name = "k", .user = "bob"), 1};
    say(1, MSG_CHANGE_ACCOUNTS, &(struct msg_change_accounts){.changes = {changes, nchanges}});
    nchanges = 0;
    assert_int_equal(refusal(), REFUSE_NONE);
    struct reservation r = {
        .users = "bob", .nodes = "n2", .start_us = w.now + 500000 * SEC, .duration_us = 600 * SEC};
    say(1, MSG_UPDATE_RESERVATION,
        &(struct msg_update_reservation){.name = "his",
                                         .create = true,
                                         .fields = "users,nodes,start_us,duration_us",
                                         .values = {&r, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
    am_bob();
    struct job_spec waits = a_job("waits");
    waits.req.ntasks = 16;
    assert_int_equal(submit(a_job("his")), 1);
    assert_int_equal(submit(waits), 2);
    am_alice();
    assert_int_equal(submit(a_job("hers")), 3);
}

static void am_asker(enum asker who)
{
    switch (who) {
    case ROOT: am_root(); break;
    case ADMINISTRATOR: am(901, "ada", false); break;
    case OPERATOR: am_olga(); break;
    case COORDINATOR: am(902, "carl", false); break;
    case SELF: am_bob(); break;
    case OTHER: am(903, "dora", false); break;
    case FAR_OPERATOR:
        am_olga();
        w.peer.is_plain = true;
        break;
    case ASKERS: break;
    }
}

/* ---- ways to ask: is something of bob's there? ---------------------------------------------- */

static bool row_is_his(enum query_what what, const void *row)
{
    switch (what) {
    case QUERY_JOBS: return ((const struct job *)row)->user_id == BOB;
    case QUERY_STEPS: return ((const struct step *)row)->user_id == BOB;
    case QUERY_PRIORITY: return text_is(((const struct priority_row *)row)->user_name, "bob");
    case QUERY_RESERVATIONS: return true;
    case QUERY_FAIR_SHARES:
        return !((const struct fair_share *)row)->user ||
               text_is(((const struct fair_share *)row)->user, "bob");
    case QUERY_SHARES: return text_is(((const struct usage *)row)->user_name, "bob");
    case QUERY_ACCOUNTS: return text_is(((const struct account *)row)->name, "chem");
    case QUERY_ACCOUNT_USERS: return text_is(((const struct account_user *)row)->name, "bob");
    case QUERY_ASSOCS: {
        const struct assoc *a = row;
        return a->user && text_is(a->user, "bob");
    }
    case QUERY_LIMITS: {
        const struct limit *l = row;
        return l->owner_id == assoc_find(w.c, "chem", "bob", NULL)->a.id;
    }
    case QUERY_WCKEYS: return text_is(((const struct wckey *)row)->user, "bob");
    case QUERY_IN_USE: {
        const struct in_use *use = row;
        return use->owner == OWNER_ASSOC && use->id == assoc_find(w.c, "chem", "bob", NULL)->a.id;
    }
    case QUERY_LIMIT_USE: return text_is(((const struct limit_use *)row)->user, "bob");
    case QUERY_STATUS: return text_is(((const struct daemon_status *)row)->role, "node");
    case QUERY_NODES:
    case QUERY_PARTITIONS:
    case QUERY_HOSTS:
    case QUERY_TRIGGERS: /* unit core_trigger */
    case QUERY_SETTINGS:
    case QUERY_HISTORY:
    case QUERY_DIAG:
    case QUERY_TOKENS:
    case QUERY_QOS:
    case QUERY_TRES:
    case QUERY_TRANSACTIONS:
    case QUERY_USED:
    case QUERY_NODE_SPELLS:
    case QUERY_PAST_RESERVATIONS: break;
    }
    return true;
}

static bool query_shows(enum query_what what, const char *ids)
{
    struct rows r = ask((struct msg_query){.what = (int32_t)what, .ids = ids});
    bool his = what == QUERY_HOSTS && r.refusal == REFUSE_NONE;
    for (size_t i = 0; i < r.row.n; i++)
        his |= row_is_his(what, r.row.v[i]);
    vec_done(&r.row);
    return his;
}

static bool by_jobs(void)
{
    return query_shows(QUERY_JOBS, NULL);
}
static bool by_job_number(void)
{
    return query_shows(QUERY_JOBS, "1");
}
static bool by_job_among_others(void)
{
    return query_shows(QUERY_JOBS, "1,3");
}
static bool by_priority(void)
{
    return query_shows(QUERY_PRIORITY, NULL);
}
static bool by_why(void)
{
    say(50, MSG_WHY, &(struct msg_why){.ids = "1"});
    return sent(FX_REPLY, MSG_EXPLAINED) == 1;
}
static bool by_why_all(void)
{
    say(50, MSG_WHY, &(struct msg_why){0});
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_EXPLAINED) {
            const struct msg_explained *e = w.fx.v[i].msg.body;
            for (size_t k = 0; k < e->jobs.n; k++)
                if (text_is(((const struct why *)e->jobs.v)[k].user_name, "bob"))
                    return true;
        }
    return false;
}
static bool by_waiting_for_it(void)
{
    say(50, MSG_WAIT_JOB, &(struct msg_wait_job){.job_id = 1});
    return refusal() != REFUSE_INVALID_JOB_ID;
}
static struct core_sight sight(void)
{
    struct core_sight s;
    core_sight_of(w.c, &w.peer, w.a, &s);
    return s;
}

static bool by_history(void)
{
    struct core_sight s = sight();
    return s.jobs || w.peer.uid == BOB || (s.accounts && strstr(s.accounts, "chem"));
}
static bool by_report(void)
{
    struct core_sight s = sight();
    return s.usage || w.peer.uid == BOB || (s.accounts && strstr(s.accounts, "chem"));
}
static bool by_events(void)
{
    return sight().events;
}
static bool by_past_reservations(void)
{
    return sight().past_reservations;
}
static bool by_nodes(void)
{
    return query_shows(QUERY_NODES, NULL);
}
static bool by_status(void)
{
    return query_shows(QUERY_STATUS, NULL);
}
static bool by_hosts(void)
{
    return query_shows(QUERY_HOSTS, NULL);
}
static bool by_partitions(void)
{
    return query_shows(QUERY_PARTITIONS, NULL);
}
static bool by_reservations(void)
{
    return query_shows(QUERY_RESERVATIONS, NULL);
}
static bool by_shares(void)
{
    return query_shows(QUERY_SHARES, NULL);
}
static bool by_limit_use(void)
{
    return query_shows(QUERY_LIMIT_USE, NULL);
}
static bool by_in_use(void)
{
    return query_shows(QUERY_IN_USE, NULL);
}
static bool by_accounts(void)
{
    return query_shows(QUERY_ACCOUNTS, NULL);
}
static bool by_coordinators(void)
{
    struct rows r = ask((struct msg_query){.what = QUERY_ACCOUNTS});
    bool told = false;
    for (size_t i = 0; i < r.row.n; i++)
        told |= text_is(((const struct account *)r.row.v[i])->coordinators, "carl");
    vec_done(&r.row);
    return told;
}
static bool by_users(void)
{
    return query_shows(QUERY_ACCOUNT_USERS, NULL);
}
static bool by_assocs(void)
{
    return query_shows(QUERY_ASSOCS, NULL);
}
static bool by_limits(void)
{
    return query_shows(QUERY_LIMITS, NULL);
}
static bool by_wckeys(void)
{
    return query_shows(QUERY_WCKEYS, NULL);
}
static bool by_may(void)
{
    say(50, MSG_MAY, &(struct msg_may){.user = "bob"});
    return sent(FX_REPLY, MSG_ALLOWED) == 1;
}
static bool by_transactions(void)
{
    return sight().transactions;
}
static bool by_diag_users(void)
{
    return sight().users;
}
static bool by_qos(void)
{
    return query_shows(QUERY_QOS, NULL);
}

/* Who sees it with each word; 0: the word does not concern it. */
static const struct {
    const char *name;
    bool (*shows)(void);
    unsigned who[WORDS];
} ways[] = {
    {"squeue", by_jobs, {[JOBS] = HIS}},
    {"squeue -j", by_job_number, {[JOBS] = HIS}},
    {"squeue -j, several", by_job_among_others, {[JOBS] = HIS}},
    {"sprio", by_priority, {[JOBS] = HIS}},
    {"remuda why JOB", by_why, {[JOBS] = HIS}},
    {"remuda why --all", by_why_all, {[JOBS] = HIS}},
    {"waiting for its end", by_waiting_for_it, {[JOBS] = HIS}},
    {"sacct", by_history, {[JOBS] = HIS}},
    {"sreport, by user", by_report, {[USAGE] = HIS}},
    {"sacctmgr show event", by_events, {[EVENTS] = OPERATES}},
    {"reservations of the past", by_past_reservations, {[RESERVATIONS] = OPERATES}},
    {"sinfo -N", by_nodes, {[NODES] = OPERATES}},
    {"remuda status", by_status, {[NODES] = OPERATES}},
    {"remuda hosts", by_hosts, {[NODES] = OPERATES}},
    {"scontrol show partition", by_partitions, {[PARTITIONS] = OPERATES}},
    {"scontrol show reservation", by_reservations, {[RESERVATIONS] = OPERATES | BIT(SELF)}},
    {"sshare", by_shares, {[USAGE] = HIS}},
    {"remuda accounts, use", by_limit_use, {[USAGE] = HIS}},
    {"scontrol show assoc_mgr", by_in_use, {[USAGE] = HIS}},
    {"sacctmgr show account", by_accounts, {[ACCOUNTS] = HIS, [USERS] = HIS}},
    {"its coordinators", by_coordinators, {[ACCOUNTS] = HIS, [USERS] = DIRECTS}},
    {"sacctmgr show user", by_users, {[USERS] = HIS}},
    {"sacctmgr show assoc", by_assocs, {[ACCOUNTS] = HIS, [USERS] = HIS}},
    {"its limits", by_limits, {[ACCOUNTS] = HIS, [USERS] = HIS}},
    {"sacctmgr show wckey", by_wckeys, {[USERS] = HIS}},
    {"remuda may", by_may, {[ACCOUNTS] = HIS, [USERS] = HIS}},
    {"sacctmgr show transaction", by_transactions, {[ACCOUNTS] = OPERATES, [USERS] = OPERATES}},
    {"sdiag, users", by_diag_users, {[USERS] = OPERATES}},
    {"sacctmgr show qos", by_qos, {0}},
};

#define BASE                                                                                       \
    CONF "PriorityType=priority/multifactor\nPriorityWeightFairshare=1\n"                          \
         "AccountingStorageEnforce=limits\n"

static void each_asker_way_and_word(void **unused)
{
    (void)unused;
    for (int word = -1; word < WORDS; word++) {
        char conf[1200];
        snprintf(conf, sizeof conf, "%sPrivateData=%s\n", BASE, word < 0 ? "none" : words[word]);
        begin(conf);
        for (size_t i = 0; i < ARRAY_LEN(ways); i++)
            for (enum asker who = 0; who < ASKERS; who++) {
                unsigned sees = word < 0 || !ways[i].who[word] ? ALL : ways[i].who[word];
                am_asker(who);
                if (ways[i].shows() != (sees >> who & 1u))
                    fail_msg("PrivateData=%s: %s %s it by %s", word < 0 ? "none" : words[word],
                             asker_names[who], sees >> who & 1u ? "does not see" : "sees",
                             ways[i].name);
            }
        teardown(NULL);
    }
}

/* What is hidden is told neither by a number nor by a name in the way of one's own jobs. */
static void what_is_in_the_way_has_no_number(void **unused)
{
    (void)unused;
    begin(BASE "PrivateData=jobs\n");
    am_alice();
    struct job_spec wide = a_wide_job("wide");
    wide.req.nodelist = job(3)->nodes;
    uint64_t id = submit(wide);
    say(50, MSG_WHY, &(struct msg_why){.ids = ids_of(id)});
    assert_int_equal(sent(FX_REPLY, MSG_EXPLAINED), 1);
    const struct msg_explained *e = w.fx.v[0].msg.body;
    const struct why *y = e->jobs.v;
    assert_null(y->ahead);
    for (size_t i = 0; i < y->blockers.n; i++)
        assert_null(((const struct blocker *)y->blockers.v)[i].jobs);
    teardown(NULL);
}

/* Whoever sees an association sees the accounts above it, up to root: sacctmgr makes a tree of it. */
static void what_is_seen_of_accounts_is_a_tree(void **unused)
{
    static const char *const confs[] = {BASE "PrivateData=accounts\n", BASE "PrivateData=users\n",
                                        BASE "PrivateData=accounts,users\n"};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(confs) * ASKERS; i++) {
        begin(confs[i / ASKERS]);
        am_asker((enum asker)(i % ASKERS));
        struct rows r = ask((struct msg_query){.what = QUERY_ASSOCS});
        assert_true(r.row.n > 1 || i % ASKERS == FAR_OPERATOR); /* who is in no account */
        for (size_t k = 0; k < r.row.n; k++) {
            const struct assoc *a = r.row.v[k];
            const char *above = a->user ? a->account : a->parent;
            bool there = !above;
            for (size_t l = 0; l < r.row.n && !there; l++) {
                const struct assoc *b = r.row.v[l];
                there = !b->user && text_is(b->account, above);
            }
            if (!there)
                fail_msg("%s sees %s of %s, and not %s", asker_names[i % ASKERS],
                         a->user ? a->user : "the account", a->account, above);
        }
        vec_done(&r.row);
        teardown(NULL);
    }
}

/* ---- coordinators --------------------------------------------------------------------------- */

static enum refusal update(const char *ids, const char *field, struct job_spec values)
{
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = ids, .fields = field, .values = {&values, 1}});
    return refusal();
}

static void coordinators_manage_jobs_of_their_accounts(void **unused)
{
    (void)unused;
    begin(BASE);
    am_asker(COORDINATOR);
    assert_int_equal(control("2", ACTION_HOLD), REFUSE_NONE);
    assert_true(job(2)->admin_hold);
    assert_int_equal(update("2", "priority_asked", (struct job_spec){.priority_asked = 7}),
                     REFUSE_HELD);
    assert_int_equal(update("2", "nice", (struct job_spec){.nice = -5}), REFUSE_NONE);
    am_bob(); /* who holds it is above him */
    assert_int_equal(control("2", ACTION_RELEASE), REFUSE_ACCESS_DENIED);
    am_asker(COORDINATOR);
    assert_int_equal(control("2", ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(control("1", ACTION_REQUEUE), REFUSE_NONE);
    assert_int_equal(cancel("2"), REFUSE_NONE);
    assert_int_equal(job(2)->state, JOB_CANCELLED);
    /* not jobs of other accounts, not what is operators', and nothing in the name of the owner */
    assert_int_equal(cancel("3"), REFUSE_ACCESS_DENIED);
    assert_int_equal(control("1", ACTION_SUSPEND), REFUSE_ACCESS_DENIED);
    assert_int_equal(update("1", "site_factor", (struct job_spec){.site_factor = 4}),
                     REFUSE_ACCESS_DENIED);
    say(1, MSG_GET_SCRIPT, &(struct msg_get_script){.job_id = 1});
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    struct job_spec one = {.name = "step", .req = {.ntasks = 1}};
    say(1, MSG_CREATE_STEP,
        &(struct msg_create_step){.job_id = 1, .spec = {&one, 1}, .address = "@x", .key = "kk"});
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    w.peer.is_plain = true; /* from a host that is not believed to have such */
    assert_int_equal(cancel("1"), REFUSE_ACCESS_DENIED);
    am_asker(OTHER);
    assert_int_equal(cancel("1"), REFUSE_ACCESS_DENIED);
    teardown(NULL);
}

/* The record that has an array's number is gone, an element still runs. */
static void what_is_left_of_an_array_is_hidden(void **unused)
{
    (void)unused;
    world_open(CONF "PrivateData=jobs\n", 2);
    struct job_spec spec = a_job("array");
    spec.array = "0-1";
    struct msg_wait_job m = {.job_id = submit(spec)};
    script_ends(m.job_id, 1 << 8);
    pass(400 * SEC);
    assert_true(job_named(ids_of(m.job_id))->id != m.job_id);
    say(50, MSG_WAIT_JOB, &m);
    assert_null(answer()); /* it is her own, and not over */
    am_bob();
    say(51, MSG_WAIT_JOB, &m);
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
    teardown(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_asker_way_and_word),
        cmocka_unit_test(what_is_in_the_way_has_no_number),
        cmocka_unit_test(what_is_left_of_an_array_is_hidden),
        cmocka_unit_test(what_is_seen_of_accounts_is_a_tree),
        cmocka_unit_test(coordinators_manage_jobs_of_their_accounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
