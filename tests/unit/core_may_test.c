/* What a user may use is what his jobs would get: each choice that is told as usable is taken by
 * submit, each other is refused with the refusal that is told; limits, their use and what is left
 * are those that submission and the planner hold to. */
#include "core_help.h"

#define MAY_CONF                                                                                   \
    "ClusterName=test\nOperators=olga\nGresTypes=gpu\n"                                            \
    "NodeName=n[1-3] CPUs=8 RealMemory=8000\n"                                                     \
    "NodeName=n4 CPUs=8 RealMemory=8000 Gres=gpu:v100:4\n"                                         \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00\n"                                \
    "PartitionName=secret Nodes=n1 AllowGroups=bob\n"                                              \
    "PartitionName=chemists Nodes=n1 AllowAccounts=chem\n"                                         \
    "PartitionName=notest Nodes=n1 DenyQos=test\n"                                                 \
    "PartitionName=away Nodes=n1 State=DOWN\n"                                                     \
    "PartitionName=closed Nodes=n1 State=INACTIVE\n"

static struct account_change changes[32];
static size_t nchanges;

#define KEEP(type, ...) arena_dup(w.a, &(type){__VA_ARGS__}, sizeof(type))

static struct account_change *change(enum account_verb verb, enum account_noun noun)
{
    changes[nchanges] = (struct account_change){.verb = (int32_t)verb, .noun = (int32_t)noun};
    return &changes[nchanges++];
}

static void changed(void)
{
    struct msg_change_accounts m = {.changes = {changes, nchanges}};
    struct peer asks = w.peer;
    am_root();
    say(1, MSG_CHANGE_ACCOUNTS, &m);
    w.peer = asks;
    nchanges = 0;
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void add_assoc(const char *account, const char *user, const char *qos)
{
    change(VERB_ADD, NOUN_ASSOC)->assoc =
        (struct record_list){KEEP(struct assoc, .account = account, .user = user, .qos = qos), 1};
}

static void add_account(const char *name, const char *qos)
{
    change(VERB_ADD, NOUN_ACCOUNT)->account =
        (struct record_list){KEEP(struct account, .name = name), 1};
    add_assoc(name, NULL, qos);
}

static void limit_qos(const char *name, enum resource_limit what, const char *text)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->qos = (struct record_list){KEEP(struct qos, .name = name), 1};
    assert_true(limits_parse(what, text, NULL, NULL, w.a, &ch->limits, NULL));
}

/* alice: physics (default) with normal and test, chem with normal. bob: chem, and coordinates it. */
static void the_tree(void)
{
    change(VERB_ADD, NOUN_QOS)->qos = (struct record_list){KEEP(struct qos, .name = "test"), 1};
    add_account("physics", "normal,test");
    add_account("chem", "normal");
    change(VERB_ADD, NOUN_USER)->user = (struct record_list){
        KEEP(struct account_user, .name = "alice", .default_account = "physics"), 1};
    add_assoc("physics", "alice", NULL);
    add_assoc("chem", "alice", NULL);
    change(VERB_ADD, NOUN_USER)->user = (struct record_list){
        KEEP(struct account_user, .name = "bob", .default_account = "chem"), 1};
    add_assoc("chem", "bob", NULL);
    change(VERB_ADD, NOUN_COORDINATOR)->assoc =
        (struct record_list){KEEP(struct assoc, .account = "chem", .user = "bob"), 1};
    limit_qos("test", LIMIT_MAX_JOBS_PER_USER, "1");
    limit_qos("test", LIMIT_MAX_SUBMIT_PER_USER, "3");
    limit_qos("test", LIMIT_MAX_WALL, "60");
    changed();
}

static void open_with(const char *conf)
{
    world_open(conf, 4);
    the_tree();
    am_alice();
}

static int enforced(void **unused)
{
    (void)unused;
    open_with(MAY_CONF "AccountingStorageEnforce=limits,qos\n");
    return 0;
}

static const struct msg_allowed *may(const char *user)
{
    struct msg_may m = {.user = user};
    say(50, MSG_MAY, &m);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_ALLOWED) {
            struct msg_allowed *kept = arena_alloc(w.a, sizeof *kept);
            record_copy(message_fields(MSG_ALLOWED), kept, w.fx.v[i].msg.body, w.a);
            return kept;
        }
    return NULL;
}

static const struct may_partition *part_of(const struct msg_allowed *m, const char *name)
{
    const struct may_partition *v = m->partitions.v;
    for (size_t i = 0; i < m->partitions.n; i++)
        if (text_is(v[i].name, name))
            return &v[i];
    return NULL;
}

static const struct may_choice *choice_of(const struct may_partition *p, const char *account,
                                          const char *qos)
{
    const struct may_choice *v = p->choices.v;
    for (size_t i = 0; i < p->choices.n; i++)
        if (text_is(v[i].account, account) && text_is(v[i].qos, qos))
            return &v[i];
    return NULL;
}

static const struct may_limit *limit_of(const struct may_choice *c, enum resource_limit what)
{
    const struct may_limit *v = c->limits.v;
    for (size_t i = 0; i < c->limits.n; i++)
        if (v[i].what == (int32_t)what)
            return &v[i];
    return NULL;
}

/* ---- stories -------------------------------------------------------------------------------- */

static void each_choice_is_as_submit_takes_it(void **unused)
{
    (void)unused;
    const struct msg_allowed *m = may(NULL);
    const struct may_partition *p = m->partitions.v;
    assert_string_equal(m->user, "alice");
    assert_string_equal(m->default_account, "physics");
    assert_true(m->accounts_needed && m->limits_hold);
    assert_int_equal(m->partitions.n, 6);
    assert_int_equal(m->next, 0);
    size_t usable = 0;
    for (size_t i = 0; i < m->partitions.n; i++)
        for (size_t k = 0; k < p[i].choices.n; k++) {
            const struct may_choice *c = (const struct may_choice *)p[i].choices.v + k;
            struct job_spec s = a_job("x");
            s.hold = true;
            s.req.partition = p[i].name;
            s.req.account = c->account;
            s.req.qos = c->qos;
            struct msg_submit ask = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}};
            say(50, MSG_SUBMIT, &ask);
            enum refusal r = refusal();
            bool taken = c->usable && !p[i].refusal;
            usable += taken;
            if (taken != (r == REFUSE_NONE))
                fail_msg("%s %s %s: told %d, was %s", p[i].name, c->account, c->qos, taken,
                         refusal_text(r));
            if (!taken)
                assert_int_equal(r, p[i].refusal ? p[i].refusal : c->refusal);
        }
    assert_true(usable >= 5);
}

static void what_may_not_be_used_says_why(void **unused)
{
    (void)unused;
    const struct msg_allowed *m = may(NULL);
    assert_true(part_of(m, "main")->usable);
    assert_true(part_of(m, "main")->is_default);
    assert_false(part_of(m, "secret")->usable);
    assert_int_equal(part_of(m, "secret")->refusal, REFUSE_PARTITION_ACCESS);
    assert_non_null(strstr(part_of(m, "secret")->because, "groups bob"));
    assert_false(choice_of(part_of(m, "chemists"), "physics", "normal")->usable);
    assert_int_equal(choice_of(part_of(m, "chemists"), "physics", "normal")->refusal,
                     REFUSE_ACCOUNT);
    assert_true(choice_of(part_of(m, "chemists"), "chem", "normal")->usable);
    assert_int_equal(choice_of(part_of(m, "notest"), "physics", "test")->refusal, REFUSE_QOS);
    assert_null(choice_of(part_of(m, "main"), "chem", "test"));
    assert_false(part_of(m, "away")->usable);
    assert_int_equal(part_of(m, "away")->refusal, REFUSE_NONE);
    assert_non_null(strstr(part_of(m, "away")->because, "down"));
    assert_int_equal(part_of(m, "closed")->refusal, REFUSE_PARTITION_DOWN);
}

static void defaults_and_times(void **unused)
{
    (void)unused;
    const struct may_partition *p = part_of(may(NULL), "main");
    const struct may_choice *first = p->choices.v;
    assert_string_equal(first->account, "physics");
    assert_true(first->account_default && first->qos_default);
    assert_false(choice_of(p, "physics", "test")->qos_default);
    assert_false(choice_of(p, "chem", "normal")->account_default);
    assert_int_equal(choice_of(p, "physics", "normal")->time_limit_us, 120 * MIN);
    assert_string_equal(choice_of(p, "physics", "normal")->time_limit_of, "partition main");
    assert_int_equal(choice_of(p, "physics", "test")->time_limit_us, 60 * MIN);
    assert_string_equal(choice_of(p, "physics", "test")->time_limit_of, "QOS test");
}

static void use_and_what_is_left_follow_the_jobs(void **unused)
{
    (void)unused;
    const struct may_limit *run, *there;
    struct job_spec s = a_job("x");
    s.req.qos = "test";
    run =
        limit_of(choice_of(part_of(may(NULL), "main"), "physics", "test"), LIMIT_MAX_JOBS_PER_USER);
    assert_true(run->counted && run->holds);
    assert_int_equal(run->used, 0);
    assert_int_equal(run->left, 1);
    assert_string_equal(run->of, "QOS test");
    uint64_t one = submit(s), two = submit(s);
    assert_int_equal(state(one), JOB_RUNNING);
    assert_int_equal(state(two), JOB_PENDING);
    const struct may_choice *c = choice_of(part_of(may(NULL), "main"), "physics", "test");
    run = limit_of(c, LIMIT_MAX_JOBS_PER_USER);
    there = limit_of(c, LIMIT_MAX_SUBMIT_PER_USER);
    assert_int_equal(run->used, 1);
    assert_int_equal(run->left, 0);
    assert_int_equal(there->used, 2);
    assert_int_equal(there->left, 1);
    assert_null(limit_of(choice_of(part_of(may(NULL), "main"), "physics", "normal"),
                         LIMIT_MAX_JOBS_PER_USER));
    struct rows r = ask((struct msg_query){.what = QUERY_LIMIT_USE});
    assert_int_equal(r.row.n, 2);
    for (size_t i = 0; i < r.row.n; i++) {
        const struct limit_use *u = r.row.v[i];
        assert_string_equal(u->user, "alice");
        assert_int_equal(u->used, (strstr(u->id, "Submit") || strstr(u->id, "SUBMIT")) ? 2 : 1);
    }
    vec_done(&r.row);
}

static void gpus_that_are_free(void **unused)
{
    (void)unused;
    const struct may_partition *p = part_of(may(NULL), "main");
    const struct may_gpu *g = p->gpus.v;
    assert_int_equal(p->gpus.n, 1);
    assert_string_equal(g->type, "v100");
    assert_int_equal(g->total, 4);
    assert_int_equal(g->free, 4);
    struct job_spec s = a_job("x");
    s.req.gres = "gpu:3";
    assert_int_equal(state(submit(s)), JOB_RUNNING);
    p = part_of(may(NULL), "main");
    assert_int_equal(((const struct may_gpu *)p->gpus.v)->free, 1);
    assert_int_equal(part_of(may(NULL), "chemists")->gpus.n, 0);
}

static void others_are_asked_about_as_private_data_says(void **unused)
{
    (void)unused;
    am_bob();
    assert_non_null(may("alice"));
    teardown(NULL);
    open_with(MAY_CONF "AccountingStorageEnforce=limits\nPrivateData=users\n");
    assert_non_null(may(NULL));
    assert_non_null(may("alice"));
    assert_null(may("bob"));
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    am_bob(); /* coordinates an account of hers */
    assert_non_null(may("alice"));
    am_olga();
    assert_non_null(may("bob"));
    w.peer.is_plain = true;
    assert_null(may("bob"));
}

static void without_accounts_everybody_may(void **unused)
{
    (void)unused;
    teardown(NULL);
    world_open(MAY_CONF, 4);
    am_alice();
    const struct msg_allowed *m = may(NULL);
    assert_false(m->accounts_needed);
    assert_true(part_of(m, "main")->usable);
    assert_int_equal(part_of(m, "main")->choices.n, 0);
    assert_false(part_of(m, "secret")->usable);
}

#define MAY_STORY(function) cmocka_unit_test_setup_teardown(function, enforced, teardown)

/* PrivateData=usage: how much others used, together too; one's own is told. */
static void what_others_use_is_not_told(void **unused)
{
    static const struct {
        const char *conf;
        bool told;
    } worlds[] = {{MAY_CONF "AccountingStorageEnforce=limits,qos\n", true},
                  {MAY_CONF "AccountingStorageEnforce=limits,qos\nPrivateData=usage\n", false}};
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
        open_with(worlds[i].conf);
        limit_qos("test", LIMIT_GRP_SUBMIT, "9");
        changed();
        const struct may_choice *c = choice_of(part_of(may(NULL), "main"), "physics", "test");
        assert_true(limit_of(c, LIMIT_MAX_SUBMIT_PER_USER)->counted);
        assert_int_equal(limit_of(c, LIMIT_MAX_SUBMIT_PER_USER)->left, 3);
        const struct may_limit *all = limit_of(c, LIMIT_GRP_SUBMIT);
        assert_int_equal(all->counted, worlds[i].told);
        assert_int_equal(all->left, worlds[i].told ? 9 : 0);
        teardown(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MAY_STORY(each_choice_is_as_submit_takes_it),
        MAY_STORY(what_may_not_be_used_says_why),
        MAY_STORY(defaults_and_times),
        MAY_STORY(use_and_what_is_left_follow_the_jobs),
        MAY_STORY(gpus_that_are_free),
        MAY_STORY(others_are_asked_about_as_private_data_says),
        MAY_STORY(without_accounts_everybody_may),
        cmocka_unit_test(what_others_use_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
