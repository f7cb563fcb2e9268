/* Use of associations and QOS, and fair share along the tree. The table was printed by Slurm 22.05
 * (sshare -alP, with and without NO_FAIR_TREE) for this tree after runs that used so much. */
#include "core_tree.h"

#include "model/job/job_counts.h"

#include <stdio.h>

#define SHARES_OF(more)                                                                            \
    CONF "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\nPriorityWeightFairshare=10000\n"          \
         "AccountingStorageEnforce=limits,qos\n" more
#define SHARES SHARES_OF("")

static const struct {
    const char *account, *user, *shares;
    int64_t usage;       /* billing units × seconds */
    const char *tree;    /* NormShares NormUsage EffectvUsage FairShare LevelFS */
    const char *classic; /* the first four */
} slurm[] = {
    // clang-format off
    {"root", "", "", 104,
     "0.000000 - 1.000000 - -",
     "1.000000 - 1.000000 0.500000"},
    {"root", "news", "4", 0,
     "0.057143 0.000000 0.000000 1.000000 inf",
     "0.057143 0.000000 0.000000 1.000000"},
    {"root", "root", "1", 0,
     "0.014286 0.000000 0.000000 1.000000 inf",
     "0.014286 0.000000 0.000000 1.000000"},
    {"a", "", "10", 29,
     "0.142857 0.278846 0.278846 - 0.512315",
     "0.142857 0.278846 0.278846 0.258471"},
    {"a", "bin", "3", 14,
     "0.750000 0.134615 0.482759 0.315789 1.553571",
     "0.107143 0.134615 0.242788 0.207902"},
    {"a", "daemon", "1", 10,
     "0.250000 0.096154 0.344828 0.263158 0.725000",
     "0.035714 0.096154 0.141827 0.063762"},
    {"a", "sys", "0", 5,
     "0.000000 0.048077 0.172414 0.210526 0.000000",
     "0.000000 0.048077 0.048077 0.000000"},
    {"b", "", "20", 30,
     "0.285714 0.288462 0.288462 - 0.990476",
     "0.285714 0.288462 0.288462 0.496679"},
    {"b1", "", "1", 16,
     "0.333333 0.153846 0.533333 - 0.625000",
     "0.095238 0.153846 0.198718 0.235445"},
    {"b1", "daemon", "2", 13,
     "0.666667 0.125000 0.812500 0.526316 0.820513",
     "0.063492 0.125000 0.174145 0.149396"},
    {"b1", "games", "1", 3,
     "0.333333 0.028846 0.187500 0.578947 1.777778",
     "0.031746 0.028846 0.085470 0.154716"},
    {"b2", "", "parent", 14,
     "0.285714 0.134615 0.466667 - -",
     "0.285714 0.134615 0.288462 0.496679"},
    {"b2", "lp", "1", 2,
     "0.333333 0.019231 0.066667 0.684211 5.000000",
     "0.095238 0.019231 0.108974 0.452431"},
    {"b2", "man", "1", 12,
     "0.333333 0.115385 0.400000 0.631579 0.833333",
     "0.095238 0.115385 0.173077 0.283750"},
    {"c", "", "0", 8,
     "0.000000 0.076923 0.076923 - 0.000000",
     "0.000000 0.076923 0.076923 0.000000"},
    {"c", "mail", "1", 8,
     "1.000000 0.076923 1.000000 0.105263 1.000000",
     "0.000000 0.076923 0.076923 0.000000"},
    {"d", "", "parent", 21,
     "0.000000 0.201923 0.201923 - -",
     "1.000000 0.201923 0.201923 0.869391"},
    {"d", "daemon", "5", 18,
     "0.071429 0.173077 0.173077 0.157895 0.412698",
     "0.071429 0.173077 0.173077 0.186458"},
    {"d", "sys", "parent", 3,
     "0.000000 0.028846 0.028846 1.000000 -",
     "1.000000 0.028846 0.028846 0.980204"},
    {"e", "", "10", 0,
     "0.142857 0.000000 0.000000 - inf",
     "0.142857 0.000000 0.000000 1.000000"},
    {"e", "proxy", "0", 0,
     "0.000000 0.000000 0.000000 0.789474 0.000000",
     "0.000000 0.000000 0.000000 0.000000"},
    {"e", "uucp", "1", 0,
     "1.000000 0.000000 0.000000 1.000000 inf",
     "0.142857 0.000000 0.000000 1.000000"},
    {"f", "", "10", 0,
     "0.142857 0.000000 0.000000 - inf",
     "0.142857 0.000000 0.000000 1.000000"},
    {"f", "backup", "1", 0,
     "1.000000 0.000000 0.000000 0.789474 inf",
     "0.142857 0.000000 0.000000 1.000000"},
    {"g1", "", "5", 8,
     "0.071429 0.076923 0.076923 - 0.928571",
     "0.071429 0.076923 0.076923 0.474039"},
    {"g1", "irc", "1", 5,
     "0.333333 0.048077 0.625000 0.421053 0.533333",
     "0.023810 0.048077 0.057692 0.186458"},
    {"g1", "www-data", "2", 3,
     "0.666667 0.028846 0.375000 0.473684 1.777778",
     "0.047619 0.028846 0.060897 0.412125"},
    {"g2", "", "5", 8,
     "0.071429 0.076923 0.076923 - 0.928571",
     "0.071429 0.076923 0.076923 0.474039"},
    {"g2", "irc", "3", 8,
     "1.000000 0.076923 1.000000 0.421053 1.000000",
     "0.071429 0.076923 0.076923 0.474039"},
    {"h", "", "0", 0,
     "0.000000 0.000000 0.000000 - 0.000000",
     "0.000000 0.000000 0.000000 0.000000"},
    {"h", "list", "1", 0,
     "1.000000 0.000000 0.000000 0.105263 inf",
     "0.000000 0.000000 0.000000 0.000000"},
    // clang-format on
};

/* ---- the same numbers ----------------------------------------------------------------------- */

static const char *parent_of(const char *account)
{
    return account[0] == 'b' && account[1] ? "b" : NULL;
}

static int32_t shares_of(const char *text)
{
    return text_is(text, "parent") ? SHARES_PARENT : text_is(text, "0") ? SHARES_NONE : atoi(text);
}

static void tree_make(void)
{
    for (size_t i = 1; i < ARRAY_LEN(slurm); i++) {
        const char *account = slurm[i].account;
        if (slurm[i].user[0])
            continue;
        change(VERB_ADD, NOUN_ACCOUNT)->account =
            (struct record_list){KEEP(struct account, .name = account), 1};
        change(VERB_ADD, NOUN_ASSOC)->assoc = (struct record_list){
            KEEP(struct assoc, .account = account, .parent = parent_of(account),
                 .shares = shares_of(slurm[i].shares)),
            1};
    }
    for (size_t i = 1; i < ARRAY_LEN(slurm); i++) {
        if (!slurm[i].user[0] || text_is(slurm[i].user, "root"))
            continue;
        change(VERB_ADD, NOUN_USER)->user = (struct record_list){
            KEEP(struct account_user, .name = slurm[i].user, .default_account = slurm[i].account),
            1};
        change(VERB_ADD, NOUN_ASSOC)->assoc =
            (struct record_list){KEEP(struct assoc, .account = slurm[i].account,
                                      .user = slurm[i].user, .shares = shares_of(slurm[i].shares)),
                                 1};
    }
    if (changed(false) != REFUSE_NONE)
        fail_msg("%s", answer()->detail);
}

static struct rows tree_rows(void)
{
    am_root();
    struct rows r = ask((struct msg_query){.what = QUERY_FAIR_SHARES});
    am_alice();
    return r;
}

static const struct fair_share *share_in(const struct rows *r, const char *account,
                                         const char *user)
{
    for (size_t i = 0; i < r->row.n; i++) {
        const struct fair_share *s = r->row.v[i];
        if (text_is(s->account, account) && text_is(s->user ? s->user : "", user))
            return s;
    }
    fail_msg("there is no %s of %s", user, account);
    return NULL;
}

static void use_put(uint32_t assoc, const char *tres)
{
    struct use_row row = {.tres = tres, .at_us = w.now};
    row.id = arena_printf(w.a, "assoc/%u", assoc);
    keep(&(struct effect){.kind = FX_STORE, .table = TABLE_USE, .record = &row});
}

static void part_add(struct str *out, int64_t part)
{
    int64_t millionths = (part * 1000000 + SHARE_ONE / 2) / SHARE_ONE;
    str_addf(out, "%lld.%06lld ", (long long)(millionths / 1000000),
             (long long)(millionths % 1000000));
}

static void same_as_slurm(const struct fair_share *s, const char *expected, bool tree)
{
    struct str is = STR_INIT;
    part_add(&is, s->norm_shares);
    if (s->depth)
        part_add(&is, s->norm_usage);
    else
        str_add(&is, "- ");
    part_add(&is, s->effective);
    if (s->factor >= 0)
        part_add(&is, s->factor);
    else
        str_add(&is, "- ");
    if (tree && (!s->depth || s->level_e6 == -2))
        str_add(&is, "- ");
    else if (tree && s->level_e6 == -1)
        str_add(&is, "inf ");
    else if (tree)
        str_addf(&is, "%lld.%06lld ", (long long)(s->level_e6 / 1000000),
                 (long long)(s->level_e6 % 1000000));
    str_cut(&is, is.len - 1);
    if (!text_is(str_text(&is), expected))
        fail_msg("%s %s: %s, and Slurm has %s", s->account, s->user ? s->user : "", str_text(&is),
                 expected);
    str_done(&is);
}

static void tree_check(bool tree)
{
    struct rows r = tree_rows();
    assert_int_equal(r.row.n, ARRAY_LEN(slurm));
    for (size_t i = 0; i < r.row.n; i++) {
        const struct fair_share *s = r.row.v[i];
        assert_string_equal(s->account, slurm[i].account); /* in the same order */
        assert_string_equal(s->user ? s->user : "", slurm[i].user);
        assert_int_equal(s->usage / 1000, slurm[i].usage);
        same_as_slurm(s, tree ? slurm[i].tree : slurm[i].classic, tree);
    }
    vec_done(&r.row);
}

/* DEPTH_OBLIVIOUS: Slurm works these out when a job of theirs comes, so that only those can be
 * compared who used nothing since. */
static void oblivious_check(void)
{
    struct rows r = tree_rows();
    same_as_slurm(share_in(&r, "a", ""), "0.142857 0.278846 0.278846 0.258471", false);
    same_as_slurm(share_in(&r, "b2", "man"), "0.095238 0.115385 0.115385 0.431808", false);
    same_as_slurm(share_in(&r, "g1", "www-data"), "0.047619 0.028846 0.030921 0.637571", false);
    same_as_slurm(share_in(&r, "d", "sys"), "1.000000 0.028846 0.028846 0.980204", false);
    vec_done(&r.row);
}

static void the_numbers_of_slurm(void **unused)
{
    world_open(SHARES, 1);
    tree_make();
    struct rows r = tree_rows();
    for (size_t i = 0; i < ARRAY_LEN(slurm); i++)
        if (slurm[i].user[0] && slurm[i].usage)
            use_put(share_in(&r, slurm[i].account, slurm[i].user)->assoc_id,
                    arena_printf(w.a, "billing=%lld", (long long)slurm[i].usage * 1000));
    vec_done(&r.row);
    restart(SHARES);
    tree_check(true);
    configure(SHARES_OF("PriorityFlags=NO_FAIR_TREE\n"));
    tree_check(false);
    configure(SHARES_OF("PriorityFlags=DEPTH_OBLIVIOUS\n"));
    oblivious_check();
    world_close();
}

/* ---- charging ------------------------------------------------------------------------------- */

/* "cpu=60" of those used, in resource × minutes. */
static int64_t used(const char *account, const char *user, const char *tres)
{
    struct rows r = tree_rows();
    const char *text = share_in(&r, account, user)->used;
    struct str key = STR_INIT;
    str_addf(&key, "%s=", tres);
    const char *at = text_starts(text, str_text(&key)) ? text : NULL;
    if (!at) {
        str_clear(&key);
        str_addf(&key, ",%s=", tres);
        at = strstr(text, str_text(&key));
        assert_non_null(at);
    }
    int64_t n = atoll(at + key.len);
    str_done(&key);
    vec_done(&r.row);
    return n;
}

static int64_t raw(const char *account, const char *user)
{
    struct rows r = tree_rows();
    int64_t usage = share_in(&r, account, user)->usage / 1000;
    vec_done(&r.row);
    return usage;
}

static int64_t qos_wall_ms(const char *id)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == TABLE_USE &&
            text_is(((const struct use_row *)w.store.v[i].record)->id, id))
            return ((const struct use_row *)w.store.v[i].record)->wall_ms;
    return -1;
}

static int tree_open(void **unused)
{
    world_open(SHARES, 4);
    the_tree();
    am_alice();
    return 0;
}
#define USE_STORY(function) cmocka_unit_test_setup_teardown(function, tree_open, teardown)

/* To the association, all above it and the QOS, of each resource; others have nothing. */
static void to_all_above(void **unused)
{
    struct job_spec s = job_of(4, "physics", "test");
    s.req.mem_per_node_mib = 100;
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(10 * MIN);
    script_ends(id, 0);
    assert_int_equal(raw("physics", "alice"), 2400);
    assert_int_equal(raw("physics", ""), 2400);
    assert_int_equal(raw("root", ""), 2400);
    assert_int_equal(raw("chem", "alice"), 0);
    assert_int_equal(used("physics", "", "cpu"), 40);
    assert_int_equal(used("physics", "", "mem"), 1000);
    assert_int_equal(used("root", "", "node"), 10);
    assert_int_equal(qos_wall_ms("qos/2"), 600000);
}

/* Whatever happens to a run, and whenever the controller is killed, each second is charged once. */
static void each_second_once(void **unused)
{
    struct job_spec s = job_of(16, "physics", NULL);
    s.req.min_nodes = s.req.max_nodes = 2;
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(90 * SEC); /* between two charges */
    restart(SHARES);
    hello(1);
    hello(2);
    pass(20 * SEC);
    am_root();
    control(ids_of(id), ACTION_SUSPEND);
    assert_int_equal(state(id), JOB_SUSPENDED);
    pass(5 * SEC);
    restart(SHARES);
    hello(1);
    hello(2);
    pass(200 * SEC);
    am_root();
    control(ids_of(id), ACTION_RESUME);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(7 * SEC);
    restart(SHARES);
    hello(1);
    hello(2);
    pass(3 * SEC); /* 120 s ran, 205 were stopped */
    am_alice();
    struct job_spec to = {.req = {.min_nodes = 1}};
    struct msg_update_job smaller = {.ids = ids_of(id), .fields = "min_nodes", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &smaller);
    assert_int_equal(job(id)->alloc_nodes, 1);
    assert_int_equal(raw("physics", "alice"), 16 * 120);
    restart(SHARES);
    hello(1);
    hello(2);
    pass(100 * SEC);
    script_ends(id, 0);
    assert_int_equal(raw("physics", "alice"), 16 * 120 + 8 * 100);
    restart(SHARES);
    assert_int_equal(raw("physics", "alice"), 16 * 120 + 8 * 100);
    assert_int_equal(raw("root", ""), 16 * 120 + 8 * 100);
}

/* Also of a controller that dies before it charged anything, the first in its life. */
static void from_the_first_second(void **unused)
{
    uint64_t id = submit(job_of(4, "physics", NULL));
    pass(30 * SEC);
    restart(SHARES);
    hello(1);
    hello(2);
    pass(10 * SEC);
    script_ends(id, 0);
    assert_int_equal(raw("physics", "alice"), 4 * 40);
}

static void clock_is_set(int64_t by_us)
{
    effects_reset(&w.fx);
    step((struct event){.kind = EV_WAKE, .mono_us = 1000 * SEC});
    w.now += by_us;
    step((struct event){.kind = EV_WAKE, .mono_us = 1000 * SEC});
    settle(0);
}

/* A restarted controller knows in which time it was told until when work is charged. */
static void whatever_the_clock_says(void **unused)
{
    for (int forward = 0; forward < 2; forward++) {
        world_open(SHARES, 4);
        the_tree();
        am_alice();
        uint64_t id = submit(job_of(4, "physics", NULL));
        pass(90 * SEC);
        clock_is_set((forward ? 300 : -300) * MIN);
        assert_int_equal(state(id), JOB_RUNNING);
        pass(5 * SEC);
        restart(SHARES);
        for (int n = 1; n <= 4; n++)
            hello(n);
        pass(10 * SEC);
        script_ends(id, 0);
        assert_int_equal(raw("physics", "alice"), 4 * 105);
        world_close();
    }
}

/* What decays goes on to do so as if the clock had not been set. */
static void decay_and_the_clock(void **unused)
{
    const char *conf = SHARES_OF("PriorityDecayHalfLife=1:00:00\n");
    world_open(conf, 4);
    the_tree();
    am_alice();
    uint64_t id = submit(job_of(4, "physics", NULL));
    pass(100 * SEC);
    script_ends(id, 0);
    int64_t before = raw("physics", "alice");
    clock_is_set(300 * MIN);
    restart(conf);
    assert_int_equal(raw("physics", "alice"), before);
    world_close();
}

/* Devices are used, too, by their kind and by their type. */
static void devices(void **unused)
{
    world_open("ClusterName=test\nGresTypes=gpu\nNodeName=n1 CPUs=8 RealMemory=8000 "
               "Gres=gpu:v100:4\nPartitionName=main Nodes=n1 Default=YES\n"
               "PriorityDecayHalfLife=0\nAccountingStorageEnforce=limits,qos\n",
               1);
    the_tree();
    am_alice();
    struct job_spec s = job_of(1, "physics", NULL);
    s.req.gres = "gpu:3";
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(10 * MIN);
    script_ends(id, 0);
    const char *tres = NULL;
    for (size_t i = 0; i < w.store.n; i++) {
        const struct use_row *row = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_USE && text_starts(row->id, "assoc/"))
            tres = row->tres;
    }
    assert_non_null(tres);
    assert_non_null(strstr(tres, "gres/gpu=1800000"));
    assert_non_null(strstr(tres, "gres/gpu:v100=1800000"));
    world_close();
}

/* A QOS makes use dear or cheap, and what it counts itself may stay for ever. */
static void factors_of_a_qos(void **unused)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "usage_factor_e6_plus1,flags";
    ch->qos = (struct record_list){
        KEEP(struct qos, .name = "test", .flags = QOS_NO_DECAY, .usage_factor_e6_plus1 = 500001),
        1};
    assert_int_equal(changed(false), REFUSE_NONE);
    configure(SHARES_OF("PriorityDecayHalfLife=0:10:00\n"));
    uint64_t id = submit(job_of(4, "physics", "test"));
    pass(10 * SEC);
    script_ends(id, 0);
    assert_int_equal(raw("physics", "alice"), 20);
    assert_int_equal(qos_wall_ms("qos/2"), 5000);
    pass(60 * MIN);
    assert_int_equal(raw("physics", "alice"), 0);
    submit(job_of(4, "physics", "test"));
    pass(10 * SEC);
    script_ends(id + 1, 0);
    assert_int_equal(qos_wall_ms("qos/2"), 10000);
}

/* RawUsage=0 of an account is for all below it, and those above it have as much less. */
static void forgotten(void **unused)
{
    uint64_t first = submit(job_of(4, "physics", NULL)), second = submit(job_of(2, "chem", NULL));
    pass(100 * SEC);
    script_ends(first, 0);
    script_ends(second, 0);
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->no_usage = true;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "physics"), 1};
    assert_int_equal(changed(true), REFUSE_NONE); /* a trial */
    assert_int_equal(raw("physics", "alice"), 400);
    ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->no_usage = true;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "physics"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(raw("physics", "alice"), 0);
        assert_int_equal(raw("physics", ""), 0);
        assert_int_equal(raw("chem", "alice"), 200);
        assert_int_equal(raw("root", ""), 200);
        restart(SHARES);
    }
}

static void stopped_for(uint64_t id, int64_t us)
{
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    pass(us);
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* Of the part that was stored last. */
static int64_t part_suspended_us(void)
{
    for (size_t i = w.store.n; i-- > 0;)
        if (w.store.v[i].table == TABLE_JOB_PART)
            return ((const struct job *)w.store.v[i].record)->suspended_us;
    return -1;
}

static void given_back(void **unused)
{
    for (int refund = 0; refund < 2; refund++) {
        const char *conf = refund ? SHARES_OF("RefundNodeFail=yes\n") : SHARES;
        size_t transactions = 0;
        world_open(conf, 4);
        the_tree();
        am_alice();
        struct job_spec s = job_of(4, "physics", NULL);
        s.requeue = NO;
        uint64_t id = submit(s);
        pass(500 * SEC);
        for (int n = 1; n <= 4; n++)
            gone(n);
        pass(10 * MIN);
        assert_int_equal(state(id), JOB_NODE_FAIL);
        assert_int_equal(raw("physics", "alice") > 0, !refund);
        assert_int_equal(raw("root", "") > 0, !refund);
        for (size_t i = 0; i < w.store.n; i++)
            transactions +=
                w.store.v[i].table == TABLE_TRANSACTION &&
                text_is(((const struct transaction *)w.store.v[i].record)->action, "Refund Job");
        assert_int_equal(transactions, refund);
        world_close();
    }
}

/* Of a run that was stopped and gave a node back: what it used since then, stops left out. */
static void given_back_since_it_gave_nodes_back(void **unused)
{
    for (int stop = 0; stop < 4; stop++) { /* bit 0: stopped before it became smaller, 1: after */
        world_open(SHARES_OF("RefundNodeFail=yes\n"), 2);
        the_tree();
        am_alice();
        struct job_spec s = job_of(16, "physics", NULL);
        s.req.min_nodes = s.req.max_nodes = 2;
        s.requeue = NO;
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_RUNNING);
        pass(90 * SEC);
        if (stop & 1)
            stopped_for(id, 50 * SEC);
        pass(30 * SEC);
        am_alice();
        struct job_spec to = {.req = {.min_nodes = 1}};
        struct msg_update_job smaller = {
            .ids = ids_of(id), .fields = "min_nodes", .values = {&to, 1}};
        say(1, MSG_UPDATE_JOB, &smaller);
        assert_int_equal(raw("physics", "alice"), 16 * 120);
        assert_int_equal(part_suspended_us(), stop & 1 ? 50 * SEC : 0);
        pass(100 * SEC);
        if (stop & 2)
            stopped_for(id, 20 * SEC);
        pass(10 * SEC);
        gone(1);
        gone(2);
        pass(10 * MIN);
        assert_int_equal(state(id), JOB_NODE_FAIL);
        assert_int_equal(job_part_suspended_us(job(id)), stop & 2 ? 20 * SEC : 0);
        assert_int_equal(raw("physics", "alice"), 16 * 120);
        assert_int_equal(raw("root", ""), 16 * 120);
        world_close();
    }
}

/* ---- priorities ----------------------------------------------------------------------------- */

static uint64_t priority_as(void (*who)(void), const char *account)
{
    struct job_spec s = job_of(32, account, NULL); /* all there is */
    who();
    return submit(s);
}

/* alice used much in physics; in chem nobody did. A change of shares counts at once. */
static void who_comes_next(void **unused)
{
    configure(SHARES_OF("PriorityType=priority/multifactor\nPriorityWeightAge=0\n"));
    uint64_t first = submit(job_of(4, "physics", NULL));
    pass(5 * MIN);
    uint64_t in_physics = priority_as(am_alice, "physics"), in_chem = priority_as(am_alice, "chem"),
             bobs = priority_as(am_bob, "physics");
    assert_true(job(in_chem)->priority > job(bobs)->priority);
    assert_true(job(bobs)->priority > job(in_physics)->priority);
    assert_int_equal(state(first), JOB_RUNNING);
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "shares";
    ch->assoc =
        (struct record_list){KEEP(struct assoc, .account = "chem", .shares = SHARES_NONE), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_true(job(in_chem)->priority < job(in_physics)->priority);
    restart(SHARES_OF("PriorityType=priority/multifactor\nPriorityWeightAge=0\n"));
    assert_true(job(in_chem)->priority < job(in_physics)->priority);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_numbers_of_slurm),
        USE_STORY(to_all_above),
        USE_STORY(each_second_once),
        USE_STORY(from_the_first_second),
        cmocka_unit_test(whatever_the_clock_says),
        cmocka_unit_test(decay_and_the_clock),
        cmocka_unit_test(devices),
        USE_STORY(factors_of_a_qos),
        USE_STORY(forgotten),
        cmocka_unit_test(given_back),
        cmocka_unit_test(given_back_since_it_gave_nodes_back),
        USE_STORY(who_comes_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
