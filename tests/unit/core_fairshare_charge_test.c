/* What is charged to whom: use, seconds, devices, decay, what is given back. */
#include "core_fairshare_help.h"

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
        pass_awake(2 * MIN);
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
        pass_awake(2 * MIN);
        assert_int_equal(state(id), JOB_NODE_FAIL);
        assert_int_equal(job_part_suspended_us(job(id), 0), stop & 2 ? 20 * SEC : 0);
        assert_int_equal(raw("physics", "alice"), 16 * 120);
        assert_int_equal(raw("root", ""), 16 * 120);
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
