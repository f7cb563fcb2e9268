/* What a QOS does beside its limits: whose work gives way to its jobs and how, what its jobs may
 * exceed, limits of some hours, and what a limit is worth to its jobs (LimitFactor). */
#include "core_tree.h"

#define HOUR    (60 * MIN)
#define PREEMPT ENFORCED "PreemptType=preempt/qos\nKillWait=30\n"

static enum refusal qos_set(const char *fields, struct qos q)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = fields;
    ch->qos = (struct record_list){arena_dup(w.a, &q, sizeof q), 1};
    return changed(false);
}

static void open_with(const char *conf)
{
    world_open(conf, 4);
    the_tree();
    am_alice();
}

/* ---- who gives way -------------------------------------------------------------------------- */

/* How work of normal gives way to a job of test, by PreemptMode of the cluster and of its QOS. */
static const struct {
    const char *cluster;
    enum preempt_mode of_qos;
    const char *preempt; /* of test */
    bool goes;
    enum job_state becomes;
} ways[] = {
    {"REQUEUE", PREEMPT_UNSET, "normal", true, JOB_PENDING},
    {"CANCEL", PREEMPT_UNSET, "normal", true, JOB_PREEMPTED},
    {"CANCEL", PREEMPT_REQUEUE, "normal", true, JOB_PENDING},
    {"REQUEUE", PREEMPT_CANCEL, "normal", true, JOB_PREEMPTED},
    {"OFF", PREEMPT_REQUEUE, "normal", true, JOB_PENDING},
    {"REQUEUE", PREEMPT_OFF, "normal", true, JOB_PENDING}, /* of a QOS: as the cluster's */
    {"OFF", PREEMPT_UNSET, "normal", false, JOB_RUNNING},
    {"REQUEUE", PREEMPT_UNSET, NULL, false, JOB_RUNNING},
    {"SUSPEND,GANG", PREEMPT_UNSET, "normal", true, JOB_SUSPENDED},
};

static uint64_t fill(const char *qos)
{
    uint64_t first = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t id = submit(job_of(8, NULL, qos));
        first = first ? first : id;
        assert_int_equal(state(id), JOB_RUNNING);
        pass(SEC);
    }
    return first;
}

static void who_gives_way(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct str conf = STR_INIT;
        str_addf(&conf, PREEMPT "PreemptMode=%s\n", ways[i].cluster);
        open_with(str_text(&conf));
        str_done(&conf);
        assert_int_equal(
            qos_set("preempt", (struct qos){.name = "test", .preempt = ways[i].preempt}),
            REFUSE_NONE);
        assert_int_equal(
            qos_set("preempt_mode", (struct qos){.name = "normal", .preempt_mode = ways[i].of_qos}),
            REFUSE_NONE);
        uint64_t first = fill("normal"), victim = 0, asker = submit(job_of(8, NULL, "test"));
        for (uint64_t id = first; id < first + 4; id++)
            if (state(id) != JOB_RUNNING)
                victim = id;
        assert_int_equal(victim > 0, ways[i].goes);
        if (!victim) {
            assert_int_equal(state(asker), JOB_PENDING);
        } else if (ways[i].becomes != JOB_SUSPENDED) {
            assert_int_equal(victim, first + 3); /* least is lost */
            script_ends(victim, 15);
            assert_int_equal(state(victim), ways[i].becomes);
            assert_int_equal(state(asker), JOB_RUNNING);
        } else {
            assert_int_equal(state(asker), JOB_RUNNING);
        }
        world_close();
    }
}

/* What was stopped comes back behind the job it was stopped for, though its partition is of a higher
 * tier. */
static void not_back_before_the_asker(void **unused)
{
    open_with(PREEMPT "PreemptMode=REQUEUE\nPartitionName=high Nodes=ALL PriorityTier=9\n");
    assert_int_equal(qos_set("preempt", (struct qos){.name = "test", .preempt = "normal"}),
                     REFUSE_NONE);
    struct job_spec s = job_of(8, NULL, "normal");
    s.req.partition = "high";
    for (int i = 0; i < 4; i++) {
        assert_int_equal(state(submit(s)), JOB_RUNNING);
        pass(SEC);
    }
    uint64_t waits = submit(s), asker = submit(job_of(8, NULL, "test")), victim = waits - 1;
    assert_int_not_equal(state(victim), JOB_RUNNING);
    script_ends(victim, 15);
    assert_int_equal(state(asker), JOB_RUNNING);
    assert_int_equal(state(victim), JOB_PENDING);
    assert_int_equal(state(waits), JOB_PENDING);
}

static void add_top(void)
{
    change(VERB_ADD, NOUN_QOS)->qos = (struct record_list){KEEP(struct qos, .name = "top"), 1};
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "qos";
    ch->list = LIST_MORE;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "root", .qos = "top"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_int_equal(qos_set("preempt", (struct qos){.name = "top", .preempt = "test"}),
                     REFUSE_NONE);
}

/* Work was stopped for it, it has begun, and is stopped for another in its turn: it is owed nothing
 * any more, or it would be back first, and stopped again, without end. */
static void stopped_in_its_turn(void **unused)
{
    open_with(PREEMPT "PreemptMode=REQUEUE\n");
    add_top();
    am_alice();
    assert_int_equal(qos_set("preempt", (struct qos){.name = "test", .preempt = "normal"}),
                     REFUSE_NONE);
    uint64_t first = fill("normal"), middle = submit(job_of(8, NULL, "test"));
    script_ends(first + 3, 15);
    assert_int_equal(state(middle), JOB_RUNNING);
    pass(SEC);
    uint64_t top = submit(job_of(8, NULL, "top"));
    assert_int_equal(job(middle)->reason, REASON_PREEMPTED);
    script_ends(middle, 15);
    assert_int_equal(state(top), JOB_RUNNING);
    assert_int_equal(state(middle), JOB_PENDING);
}

/* A component of "normal" and one of "top": who may stop the first would be stopped for the second,
 * so it waits; it was found to go on without end. Beside the top one alone it need not. */
static void a_component_is_kept_by_one_above(void **unused)
{
    open_with(PREEMPT "PreemptMode=REQUEUE\n");
    add_top();
    assert_int_equal(qos_set("preempt", (struct qos){.name = "test", .preempt = "normal"}),
                     REFUSE_NONE);
    struct job_spec both[2] = {job_of(8, NULL, "normal"), job_of(8, NULL, "top")},
                    low[2] = {job_of(8, NULL, "normal"), job_of(8, NULL, "normal")};
    am_alice();
    uint64_t kept = submit_all(both, 2), others = submit_all(low, 2);
    assert_int_equal(state(kept), JOB_RUNNING);
    assert_int_equal(state(others), JOB_RUNNING);
    uint64_t first = submit(job_of(8, NULL, "test"));
    assert_int_equal(job(others)->reason, REASON_PREEMPTED);
    assert_int_equal(state(kept), JOB_RUNNING);
    script_ends(others, 15);
    uint64_t second = submit(job_of(8, NULL, "test")), third = submit(job_of(8, NULL, "test"));
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_RUNNING);
    pass(MIN);
    assert_int_equal(state(third), JOB_PENDING);
    assert_int_equal(state(kept), JOB_RUNNING);
    assert_int_equal(state(kept + 1), JOB_RUNNING);
}

/* What begins because the order says so, while one whom it must make room for was held, is stopped
 * again at once, and not when something else happens. */
static void begun_beside_who_may_stop_it(void **unused)
{
    open_with(PREEMPT "PreemptMode=CANCEL\n");
    assert_int_equal(qos_set("preempt", (struct qos){.name = "test", .preempt = "normal"}),
                     REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=1"), REFUSE_NONE);
    struct job_spec wide = job_of(32, NULL, "test"), low = job_of(32, NULL, "normal");
    wide.req.min_nodes = wide.req.max_nodes = low.req.min_nodes = low.req.max_nodes = 4;
    uint64_t first = submit(wide), older = submit(low), held = submit(wide);
    assert_string_equal(reason(held), "QOSMaxJobsPerUserLimit");
    script_ends(first, 0);
    assert_int_equal(state(older), JOB_COMPLETING);
    assert_int_equal(job(older)->reason, REASON_PREEMPTED);
    assert_int_equal(state(held), JOB_PENDING);
}

/* Nobody gives way until the list says so, and then at once; after a restart it is the same. */
static void a_list_that_changes(void **unused)
{
    open_with(PREEMPT "PreemptMode=REQUEUE\n");
    uint64_t first = fill("normal"), asker = submit(job_of(8, NULL, "test"));
    struct held held[4];
    assert_int_equal(state(asker), JOB_PENDING);
    restart(PREEMPT "PreemptMode=REQUEUE\n");
    for (int n = 1; n <= 4; n++)
        for (uint64_t id = first; id < first + 4; id++)
            if (job(id)->batch_host[1] - '0' == n) {
                held[0] = (struct held){.job_id = id, .attempt = 1};
                hello_holding(n, held, 1);
            }
    assert_int_equal(qos_set("preempt", (struct qos){.name = "test", .preempt = "normal"}),
                     REFUSE_NONE);
    assert_true(job(first + 3)->preempt_us > 0);
    assert_int_equal(job(first + 3)->preempt_for, asker);
}

/* PreemptExemptTime and GraceTime of the QOS come before those of the cluster and partition. */
static void exempt_and_grace(void **unused)
{
    open_with(PREEMPT "PreemptMode=CANCEL\nPreemptExemptTime=0\n");
    assert_int_equal(qos_set("preempt", (struct qos){.name = "test", .preempt = "normal"}),
                     REFUSE_NONE);
    assert_int_equal(
        qos_set("preempt_exempt_us,grace_us",
                (struct qos){.name = "normal", .preempt_exempt_us = 2 * MIN, .grace_us = 3 * MIN}),
        REFUSE_NONE);
    uint64_t first = fill("normal"), asker = submit(job_of(8, NULL, "test"));
    assert_int_equal(job(first)->preempt_us, 0);
    pass(2 * MIN);
    wake();
    const struct job *victim = job(first);
    for (uint64_t id = first; id < first + 4; id++)
        if (job(id)->preempt_us)
            victim = job(id);
    assert_true(victim->preempt_us > 0);
    assert_int_equal(victim->preempt_end_us - victim->preempt_us, 3 * MIN);
    assert_int_equal(victim->state, JOB_RUNNING);
    assert_int_equal(state(asker), JOB_PENDING);
}

/* ---- what its jobs may exceed --------------------------------------------------------------- */

static void flag_set(uint32_t flags)
{
    assert_int_equal(qos_set("flags", (struct qos){.name = "test", .flags = flags}), REFUSE_NONE);
}

static void beyond_the_partition(void **unused)
{
    static const struct {
        uint32_t flag;
        int32_t nodes;
        int64_t limit_us;
    } cases[] = {
        {QOS_PART_MAX_NODES, 2, 10 * MIN},
        {QOS_PART_MIN_NODES, 1, 10 * MIN},
        {QOS_PART_TIME_LIMIT, 1, 10 * MIN},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        open_with(ENFORCED "EnforcePartLimits=NO\n");
        struct partition p = {
            .max_nodes = i == 0, .min_nodes = i == 1 ? 2 : 1, .max_time_us = i == 2 ? 5 * MIN : 0};
        static const char *const field[] = {"max_nodes", "min_nodes", "max_time_us"};
        struct msg_update_partition m = {.name = "main", .fields = field[i], .values = {&p, 1}};
        am_root();
        say(1, MSG_UPDATE_PARTITION, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
        am_alice();
        struct job_spec s = job_of(cases[i].nodes, NULL, "test");
        s.req.min_nodes = s.req.max_nodes = cases[i].nodes;
        s.req.time_limit_us = cases[i].limit_us;
        uint64_t id = submit(s);
        assert_true(id == 0 || state(id) == JOB_PENDING);
        flag_set(cases[i].flag);
        if (!id)
            id = submit(s);
        assert_int_equal(state(id), JOB_RUNNING);
        world_close();
    }
}

static void only_in_a_reservation(void **unused)
{
    open_with(ENFORCED);
    uint64_t before = submit(job_of(8, NULL, "normal"));
    flag_set(QOS_REQUIRES_RESV);
    assert_int_equal(submit(job_of(1, NULL, "test")), 0);
    assert_int_equal(refusal(), REFUSE_QOS);
    assert_non_null(strstr(answer()->detail, "--reservation"));
    assert_int_equal(state(before), JOB_RUNNING);
}

/* The first that is blocked keeps nothing free for itself: a long narrow job passes. */
static void nothing_is_promised(void **unused)
{
    for (int flagged = 0; flagged < 3; flagged++) {
        open_with(ENFORCED "PriorityType=priority/multifactor\n");
        if (flagged == 1)
            flag_set(QOS_NO_RESERVE);
        if (flagged == 2)
            assert_int_equal(limit_set("qos test", "MinPrioThreshold=4000000"), REFUSE_NONE);
        for (int i = 0; i < 3; i++)
            assert_int_equal(state(submit(job_of(8, NULL, "normal"))), JOB_RUNNING);
        struct job_spec wide = job_of(32, NULL, "test"), narrow = job_of(8, NULL, "normal");
        wide.req.min_nodes = wide.req.max_nodes = 4;
        narrow.req.time_limit_us = HOUR;
        assert_int_equal(state(submit(wide)), JOB_PENDING);
        assert_int_equal(state(submit(narrow)), flagged ? JOB_RUNNING : JOB_PENDING);
        world_close();
    }
}

/* ---- hours ---------------------------------------------------------------------------------- */

/* It is 22:13 UTC on a Tuesday. At the end of the hours the job that waits starts by itself, and
 * when it will is known before. */
static void a_limit_ends_by_the_clock(void **unused)
{
    open_with(ENFORCED);
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=1@tue:20-23"), REFUSE_NONE);
    struct job_spec s = job_of(1, NULL, "test");
    s.req.time_limit_us = 59 * MIN;
    uint64_t first = submit(s), second = submit(s);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_PENDING);
    assert_string_equal(reason(second), "QOSMaxJobsPerUserLimit");
    int64_t until = INT64_C(1700002800) * SEC; /* 23:00 */
    pass(2 * SEC);
    assert_int_equal(job(second)->planned_us, until);
    pass(until - w.now - SEC);
    assert_int_equal(state(second), JOB_PENDING);
    pass(2 * SEC);
    assert_int_equal(state(second), JOB_RUNNING);
}

/* Before the hours all start; what runs goes on in them, and counts. */
static void a_limit_begins_by_the_clock(void **unused)
{
    open_with(ENFORCED);
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=3,1@tue:23-24"), REFUSE_NONE);
    struct job_spec s = job_of(1, NULL, "test");
    s.req.time_limit_us = 59 * MIN;
    uint64_t first = submit(s), second = submit(s), third = submit(s), fourth = submit(s);
    assert_int_equal(state(third), JOB_RUNNING);
    assert_int_equal(state(fourth), JOB_PENDING);
    pass(48 * MIN);
    script_ends(second, 0);
    assert_int_equal(state(fourth), JOB_PENDING);
    script_ends(third, 0);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(fourth), JOB_PENDING);
    script_ends(first, 0);
    assert_int_equal(state(fourth), JOB_RUNNING);
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=-1"), REFUSE_NONE);
    assert_int_equal(count((struct msg_query){.what = QUERY_LIMITS}), 0);
}

static void hours_that_are_none(void **unused)
{
    static const char *const wrong[] = {
        "2@",         "2@mon",        "2@mon-fri",      "2@mon-fri:8",       "2@mon-fri:8-25",
        "2@xyz:8-18", "2@mon:8:61-9", "2@mon-fri:18-:", "2@:8-18",           "@mon:8-18",
        "x@mon:8-18", "2@mon:8-18x",  "2@mon,8-18",     "2@mon:8-18@tue:8-9"};
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct record_list list;
        struct err err = {0};
        assert_false(limits_parse(LIMIT_MAX_JOBS_PER_USER, wrong[i], NULL, NULL, a, &list, &err));
        assert_true(err.text[0] != '\0');
    }
    struct record_list list;
    struct err err = {0};
    assert_false(limits_parse(LIMIT_MAX_SUBMIT, "2@mon:8-18", NULL, NULL, a, &list, &err));
    assert_true(
        limits_parse(LIMIT_GRP_TRES, "cpu=4@Mon-Fri:8-18:30,cpu=8", NULL, NULL, a, &list, &err));
    const struct limit *l = list.v;
    assert_int_equal(list.n, 2);
    assert_string_equal(l[0].hours, "mon-fri 08:00-18:30");
    assert_null(l[1].hours);
    arena_free(a);
}

/* ---- what a limit is worth ------------------------------------------------------------------ */

static void limit_factor(void **unused)
{
    open_with(ENFORCED);
    assert_int_equal(limit_set("physics", "GrpTRES=cpu=4"), REFUSE_NONE);
    assert_int_equal(qos_set("limit_factor_e6_plus1",
                             (struct qos){.name = "test", .limit_factor_e6_plus1 = 2000001}),
                     REFUSE_NONE);
    assert_int_equal(state(submit(job_of(8, NULL, "normal"))), JOB_PENDING);
    assert_int_equal(state(submit(job_of(8, NULL, "test"))), JOB_RUNNING);
    uint64_t more = submit(job_of(1, NULL, "test"));
    assert_string_equal(reason(more), "AssocGrpCpuLimit");
    assert_int_equal(qos_set("limit_factor_e6_plus1",
                             (struct qos){.name = "test", .limit_factor_e6_plus1 = 3000001}),
                     REFUSE_NONE);
    assert_int_equal(state(more), JOB_RUNNING);
}

static void licences(void **unused)
{
    open_with(ENFORCED "Licenses=matlab:10\n");
    assert_int_equal(limit_set("physics", "GrpTRES=license/matlab=3"), REFUSE_NONE);
    struct job_spec s = job_of(1, NULL, "test");
    s.req.licenses = "matlab:2";
    uint64_t first = submit(s), second = submit(s);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_string_equal(reason(second), "AssocGrpLicense");
    assert_int_equal(state(submit(job_of(1, NULL, "test"))), JOB_RUNNING);
    script_ends(first, 0);
    assert_int_equal(state(second), JOB_RUNNING);
}

/* ---- one that is not there ------------------------------------------------------------------ */

static const char *warned_of(const char *qos)
{
    submit(job_of(1, NULL, qos));
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            return ((const struct msg_submitted *)w.fx.v[i].msg.body)->warning;
    fail_msg("-q %s was not taken", qos);
    return NULL;
}

/* Where none is insisted on: scripts of other sites work as they are where there are none; who has
 * some and mistypes one hears of it. */
static void not_there(void **unused)
{
    world_open(CONF, 4);
    am_alice();
    assert_null(warned_of("regular"));
    assert_null(warned_of("normal"));
    the_tree();
    am_alice();
    const char *said = warned_of("tset");
    assert_non_null(said);
    assert_non_null(strstr(said, "there is no QOS tset here"));
    assert_null(warned_of("test"));
    assert_null(warned_of("normal"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_gives_way),
        cmocka_unit_test_teardown(not_back_before_the_asker, teardown),
        cmocka_unit_test_teardown(stopped_in_its_turn, teardown),
        cmocka_unit_test_teardown(a_component_is_kept_by_one_above, teardown),
        cmocka_unit_test_teardown(begun_beside_who_may_stop_it, teardown),
        cmocka_unit_test_teardown(a_list_that_changes, teardown),
        cmocka_unit_test_teardown(exempt_and_grace, teardown),
        cmocka_unit_test(beyond_the_partition),
        cmocka_unit_test_teardown(only_in_a_reservation, teardown),
        cmocka_unit_test(nothing_is_promised),
        cmocka_unit_test_teardown(a_limit_ends_by_the_clock, teardown),
        cmocka_unit_test_teardown(a_limit_begins_by_the_clock, teardown),
        cmocka_unit_test(hours_that_are_none),
        cmocka_unit_test_teardown(limit_factor, teardown),
        cmocka_unit_test_teardown(licences, teardown),
        cmocka_unit_test_teardown(not_there, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
