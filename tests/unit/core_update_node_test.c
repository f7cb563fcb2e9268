/* scontrol update of nodes. */
#include "core_help.h"

static enum refusal send(struct msg_update_node m)
{
    struct peer asks = w.peer;
    am_olga();
    say(1, MSG_UPDATE_NODE, &m);
    w.peer = asks;
    return refusal();
}

static enum refusal set(const char *names, const char *new_state, const char *reason)
{
    return send((struct msg_update_node){.names = names, .state = new_state, .reason = reason});
}

static struct job_spec on_n1(void)
{
    struct job_spec s = a_job("one");
    s.req.partition = "small";
    return s;
}

static void a_drained_node_finishes_its_jobs_and_takes_no_others(void **unused)
{
    uint64_t first = submit(on_n1());
    assert_int_equal(set("n1", "DRAIN", "new disk"), REFUSE_NONE);
    uint64_t second = submit(on_n1());
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_PENDING);
    assert_int_equal(job(second)->reason, REASON_REQ_NODE_NOT_AVAIL);
    assert_string_equal(node("n1")->reason, "new disk");
    assert_string_equal(node("n1")->reason_user, "olga");
    assert_int_equal(node("n1")->reason_us, w.now);
    script_ends(first, 0);
    assert_int_equal(state(second), JOB_PENDING);
    assert_int_equal(set("n1", "RESUME", NULL), REFUSE_NONE);
    assert_int_equal(state(second), JOB_RUNNING);
    assert_null(node("n1")->reason);
    assert_int_equal(node("n1")->reason_us, 0);
}

static void a_drained_node_stays_so_over_a_restart(void **unused)
{
    assert_int_equal(set("n[1-2]", "drain", "new disk"), REFUSE_NONE);
    restart(CONF);
    hello(1);
    assert_true(node("n1")->drain);
    assert_string_equal(node("n2")->reason, "new disk");
    assert_false(node("n3")->drain);
    assert_int_equal(set("n1", "UNDRAIN", NULL), REFUSE_NONE);
    assert_false(node("n1")->drain);
    assert_null(node("n1")->reason);
}

static void a_node_set_down_loses_its_jobs(void **unused)
{
    struct job_spec s = on_n1();
    uint64_t again = submit(s);
    s.requeue = NO;
    uint64_t ends = submit(s);
    assert_int_equal(set("n1", "DOWN", "smoke"), REFUSE_NONE);
    assert_int_equal(state(ends), JOB_NODE_FAIL);
    assert_int_equal(state(again), JOB_PENDING);
    assert_int_equal(job(again)->restarts, 1);
    assert_int_equal(node("n1")->state, NODE_DOWN);
    assert_int_equal(node("n1")->jobs, 0);
    assert_int_equal(set("n1", "RESUME", NULL), REFUSE_NONE);
    assert_int_equal(state(again), JOB_RUNNING);
    assert_int_equal(job(again)->attempt, 2);
}

static void a_resumed_node_that_does_not_come_is_down_again(void **unused)
{
    gone(2);
    pass_awake(2 * MIN);
    assert_int_equal(node("n2")->state, NODE_DOWN);
    assert_int_equal(set("n2", "RESUME", NULL), REFUSE_NONE);
    assert_int_equal(node("n2")->state, NODE_UNKNOWN);
    pass_awake(2 * MIN);
    assert_int_equal(node("n2")->state, NODE_DOWN);
    assert_int_equal(set("n2", "RESUME", NULL), REFUSE_NONE);
    hello(2);
    assert_int_equal(node("n2")->state, NODE_UP);
}

static void what_makes_no_sense_is_refused_and_changes_nothing(void **unused)
{
    assert_int_equal(set("n1", "", "x"), REFUSE_UPDATE);
    uint64_t before = core_hash(w.c);
    assert_int_equal(set("n1", "DRAIN", NULL), REFUSE_UPDATE);
    assert_int_equal(set("n1", "DOWN", ""), REFUSE_UPDATE);
    assert_int_equal(set("n1", "SLEEPY", "x"), REFUSE_UPDATE);
    assert_non_null(strstr(answer()->detail, "SLEEPY"));
    assert_int_equal(set("n1", "POWER_DOWN", "x"), REFUSE_NOT_SUPPORTED);
    assert_int_equal(set("n[3-7]", "DRAIN", "x"), REFUSE_INVALID_NODE);
    assert_non_null(strstr(answer()->detail, "n5"));
    assert_int_equal(set("n[3-", "DRAIN", "x"), REFUSE_INVALID_NODE);
    assert_int_equal(set("", "DRAIN", "x"), REFUSE_INVALID_NODE);
    struct node v = {.cpus = 64, .gres = "gpu:x:y:z"};
    assert_int_equal(
        send((struct msg_update_node){.names = "n1", .fields = "cpus", .values = {&v, 1}}),
        REFUSE_UPDATE);
    assert_int_equal(
        send((struct msg_update_node){.names = "n1", .fields = "gres", .values = {&v, 1}}),
        REFUSE_GRES);
    v.gres = "nic:a|b:2"; /* either: what a job asks for */
    assert_int_equal(
        send((struct msg_update_node){.names = "n1", .fields = "gres", .values = {&v, 1}}),
        REFUSE_GRES);
    v.features = "x\nProlog=/tmp/p"; /* a line of its own where the configuration is written */
    v.addr = v.hostname = "a\"b";
    for (const char *fields = "features\0addr\0hostname\0"; *fields; fields += strlen(fields) + 1)
        assert_int_equal(
            send((struct msg_update_node){.names = "n1", .fields = fields, .values = {&v, 1}}),
            REFUSE_UPDATE);
    struct msg_update_node m = {.names = "n1", .state = "DRAIN", .reason = "x"};
    say(1, MSG_UPDATE_NODE, &m);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    assert_true(core_hash(w.c) == before);
}

static void an_extra_text_and_a_binding_stay(void **unused)
{
    struct node v = {.extra = "rack 7", .cpu_bind = "cores"}, bad = {.cpu_bind = "knees"};
    assert_int_equal(send((struct msg_update_node){
                         .names = "n[1-2]", .fields = "extra,cpu_bind", .values = {&v, 1}}),
                     REFUSE_NONE);
    assert_int_equal(
        send((struct msg_update_node){.names = "n1", .fields = "cpu_bind", .values = {&bad, 1}}),
        REFUSE_UPDATE);
    restart(CONF);
    assert_string_equal(node("n1")->extra, "rack 7");
    assert_string_equal(node("n2")->cpu_bind, "cores");
    struct node none = {0};
    assert_int_equal(send((struct msg_update_node){
                         .names = "n2", .fields = "extra,cpu_bind", .values = {&none, 1}}),
                     REFUSE_NONE);
    assert_null(node("n2")->extra);
    assert_null(node("n2")->cpu_bind);
}

static void weights_choose_the_node(void **unused)
{
    struct node v = {.weight = 100};
    assert_int_equal(
        send((struct msg_update_node){.names = "n[1-3]", .fields = "weight", .values = {&v, 1}}),
        REFUSE_NONE);
    assert_string_equal(job(submit(a_job("one")))->nodes, "n4");
    assert_int_equal(node("n1")->weight, 100);
}

static void features_and_gres_can_be_asked_for_at_once(void **unused)
{
    struct node slip = {.gres = "gpuu:0"};
    restart(CONF "GresTypes=gpu,nic\n");
    hello(3);
    struct job_spec s = a_job("one");
    s.req.constraint = "fast";
    assert_int_equal(submit(s), 0);
    struct node v = {.features = "fast", .gres = "nic:2", .comment = "rack 7"};
    assert_int_equal(
        send((struct msg_update_node){.names = "n3", .fields = "gres", .values = {&slip, 1}}),
        REFUSE_GRES);
    assert_int_equal(send((struct msg_update_node){
                         .names = "n3", .fields = "features,gres,comment", .values = {&v, 1}}),
                     REFUSE_NONE);
    assert_string_equal(job(submit(s))->nodes, "n3");
    s.req.constraint = NULL;
    s.req.gres = "nic:1";
    assert_string_equal(job(submit(s))->nodes, "n3");
    assert_string_equal(node("n3")->comment, "rack 7");
}

#define GPU_CONF                                                                                   \
    "ClusterName=test\nOperators=olga\nGresTypes=gpu,nic\nNodeName=n1 CPUs=4 RealMemory=8000 "     \
    "Gres=gpu:v100:2\nNodeName=n2 CPUs=4 RealMemory=8000\nPartitionName=main Nodes=ALL "           \
    "Default=YES\n"

static void devices_are_as_many_as_there_are(void **unused)
{
    const struct {
        const char *gres;
        enum refusal refusal;
    } rows[] = {
        {"gpu:1", REFUSE_GRES},      {"gpu:9", REFUSE_GRES},      {"gpu:a100:2", REFUSE_GRES},
        {"gpu:v100:1", REFUSE_GRES}, {"gpu:v100:2", REFUSE_NONE}, {"gpu:2", REFUSE_NONE},
        {"nic:3", REFUSE_NONE},      {"gpu:v100:2", REFUSE_GRES},
    };
    restart(GPU_CONF);
    hello(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct node v = {.gres = rows[i].gres};
        enum refusal got =
            send((struct msg_update_node){.names = "n1", .fields = "gres", .values = {&v, 1}});
        if (got != rows[i].refusal)
            fail_msg("%s: %d", rows[i].gres, (int)got);
        if (got == REFUSE_GRES)
            assert_non_null(strstr(answer()->detail, "the number of its devices"));
        if (i == 5)
            assert_string_equal(node("n1")->gres, "gpu:v100:2"); /* said without its type */
    }
    struct node v = {.gres = "gpu:2"};
    assert_int_equal(
        send((struct msg_update_node){.names = "n2", .fields = "gres", .values = {&v, 1}}),
        REFUSE_GRES); /* it has none */
}

static void a_future_node_is_none_until_it_is_resumed(void **unused)
{
    uint64_t id = submit(on_n1());
    assert_int_equal(set("n1", "FUTURE", NULL), REFUSE_UNAVAILABLE);
    script_ends(id, 0);
    assert_int_equal(set("n1", "FUTURE", NULL), REFUSE_NONE);
    assert_int_equal(state(submit(a_wide_job("elsewhere"))), JOB_RUNNING);
    assert_int_equal(node("n1")->jobs, 0);
    assert_int_equal(set("n1", "IDLE", NULL), REFUSE_NONE);
    assert_int_equal(node("n1")->state, NODE_UP);
}

static void drained_and_failing_take_each_others_place(void **unused)
{
    assert_int_equal(set("n1", "DRAIN", "a"), REFUSE_NONE);
    assert_int_equal(set("n1", "FAIL", "b"), REFUSE_NONE);
    assert_true(node("n1")->fail && !node("n1")->drain);
    assert_int_equal(set("n1", "DRAIN", "c"), REFUSE_NONE);
    assert_true(node("n1")->drain && !node("n1")->fail);
    assert_int_equal(set("n1", "FAIL", "d"), REFUSE_NONE);
    assert_int_equal(set("n1", "UNDRAIN", NULL), REFUSE_NONE);
    assert_false(node("n1")->drain || node("n1")->fail);
    assert_null(node("n1")->reason);
}

static void a_failing_node_takes_nothing_new(void **unused)
{
    assert_int_equal(set("ALL", "FAIL", "bad memory"), REFUSE_NONE);
    uint64_t id = submit(a_job("one"));
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(set("n4", "RESUME", NULL), REFUSE_NONE);
    assert_string_equal(job(id)->nodes, "n4");
}

/* How the reports have it since then; nothing before. */
static const struct node_spell *spell_since(const char *name, int64_t at_us)
{
    for (size_t i = 0; i < w.store.n; i++) {
        const struct node_spell *s = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_NODE_SPELL && text_is(s->name, name) &&
            s->start_us == at_us)
            return s;
    }
    return NULL;
}

/* A restart is none of its times: it is as it was. */
static bool was_unknown(const char *name, int64_t since_us)
{
    for (size_t i = 0; i < w.store.n; i++) {
        const struct node_spell *s = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_NODE_SPELL && text_is(s->name, name) &&
            s->state == NODE_UNKNOWN && s->start_us > since_us)
            return true;
    }
    return false;
}

/* Its CPUs are down when the last job has gone: until then they are its jobs', or idle. */
static void it_is_drained_when_its_last_job_has_gone(void **unused)
{
    for (int jobs = 0; jobs < 3; jobs++)
        for (int resumed = 0; resumed < 2; resumed++)
            for (int again = 0; again < 2; again++) {
                world_open(CONF, 1);
                uint64_t id[2] = {0};
                for (int i = 0; i < jobs; i++) {
                    struct job_spec s = a_job("j");
                    s.req.time_limit_us = 100 * MIN;
                    id[i] = submit(s);
                    assert_int_equal(state(id[i]), JOB_RUNNING);
                }
                pass(MIN);
                assert_int_equal(set("n1", "drain", "x"), REFUSE_NONE);
                const struct node_spell *s = spell_since("n1", w.now);
                assert_int_equal(s && s->drain, jobs == 0);
                for (int i = 0; i < jobs; i++) {
                    pass(MIN);
                    if (again) {
                        restart(CONF);
                        pass(10 * SEC);
                        assert_false(was_unknown("n1", w.now - 20 * SEC));
                        struct held held[2] = {{0}};
                        size_t n = 0;
                        for (int k = i; k < jobs; k++)
                            held[n++] =
                                (struct held){.job_id = id[k], .attempt = 1, .step_id = STEP_BATCH};
                        hello_holding(1, held, n);
                    }
                    if (resumed && i + 1 == jobs)
                        assert_int_equal(set("n1", "resume", NULL), REFUSE_NONE);
                    script_ends(id[i], 0);
                    s = spell_since("n1", w.now);
                    assert_int_equal(s && s->drain, i + 1 == jobs && !resumed);
                }
                world_close();
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_drained_node_finishes_its_jobs_and_takes_no_others),
        STORY(a_drained_node_stays_so_over_a_restart),
        cmocka_unit_test(it_is_drained_when_its_last_job_has_gone),
        STORY(a_node_set_down_loses_its_jobs),
        STORY(a_resumed_node_that_does_not_come_is_down_again),
        STORY(what_makes_no_sense_is_refused_and_changes_nothing),
        STORY(an_extra_text_and_a_binding_stay),
        STORY(weights_choose_the_node),
        STORY(features_and_gres_can_be_asked_for_at_once),
        STORY(devices_are_as_many_as_there_are),
        STORY(a_future_node_is_none_until_it_is_resumed),
        STORY(drained_and_failing_take_each_others_place),
        STORY(a_failing_node_takes_nothing_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
