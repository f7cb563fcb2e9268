/* Limits on how many waiting jobs gain priority by age. The cluster is full; whoever waits gains a
 * point a second, and a job that gains nothing has the priority of one that has just come. */
#include "core_tree.h"

#include "core/record/accounts/accrue.h"
#include "core/record/record.h"

#define AGEING                                                                                     \
    ENFORCED "PriorityType=priority/multifactor\nPriorityWeightAge=604800\nPriorityMaxAge=7-0\n"   \
             "PriorityWeightPartition=0\n"

static uint64_t filler[4];

static void full(void)
{
    configure(AGEING);
    am_root();
    for (int i = 0; i < 4; i++) {
        struct job_spec s = job_of(8, "root", "normal");
        s.req.time_limit_us = 120 * MIN;
        filler[i] = submit(s);
        assert_int_equal(state(filler[i]), JOB_RUNNING);
    }
    am_alice();
}

static uint64_t waits_as(const char *who)
{
    if (text_starts(who, "bob"))
        am_bob();
    else
        am_alice();
    uint64_t id = submit(job_of(8, strchr(who, ':') + 1, "test"));
    assert_int_equal(state(id), JOB_PENDING);
    return id;
}

/* In minutes; of an array the element that starts next. */
static int64_t age(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_PRIORITY});
    int64_t found = -1;
    for (size_t i = 0; i < r.row.n; i++)
        if (((const struct priority_row *)r.row.v[i])->job_id == id)
            found = (((const struct priority_row *)r.row.v[i])->age + 30) / 60;
    vec_done(&r.row);
    assert_true(found >= 0);
    return found;
}

static bool gains(uint64_t id)
{
    int64_t before = age(id);
    pass(10 * MIN);
    return age(id) > before;
}

static const struct {
    const char *on, *limit, *lifted;
    const char *second; /* whom it concerns as well */
    const char *third;  /* whom it does not; NULL = all */
} limits[] = {
    {"physics", "GrpJobsAccrue=1", "GrpJobsAccrue=-1", "bob:physics", "alice:chem"},
    {"root", "GrpJobsAccrue=1", "GrpJobsAccrue=-1", "alice:chem", NULL},
    {"physics", "MaxJobsAccrue=1", "MaxJobsAccrue=-1", "alice:physics", "bob:physics"},
    {"physics/alice", "MaxJobsAccrue=1", "MaxJobsAccrue=-1", "alice:physics", "alice:chem"},
    {"qos test", "GrpJobsAccrue=1", "GrpJobsAccrue=-1", "bob:physics", NULL},
    {"qos test", "MaxJobsAccruePerUser=1", "MaxJobsAccruePerUser=-1", "alice:chem", "bob:physics"},
    {"qos test", "MaxJobsAccruePerAccount=1", "MaxJobsAccruePerAccount=-1", "bob:physics",
     "alice:chem"},
};

enum way { BY_START, BY_CANCEL, BY_HOLD, BY_LIFT, BY_RESTART, WAYS };

static void let_go(size_t row, uint64_t first, enum way way)
{
    switch (way) {
    case BY_RESTART:
    case BY_START: script_ends(filler[0], 0); break;
    case BY_CANCEL:
        am_root();
        cancel(ids_of(first));
        break;
    case BY_HOLD:
        am_root();
        control(ids_of(first), ACTION_HOLD);
        break;
    case BY_LIFT:
        assert_int_equal(limit_set(limits[row].on, limits[row].lifted), REFUSE_NONE);
        break;
    case WAYS: break;
    }
}

/* The controller is another, and its nodes have what they had. */
static void again(void)
{
    struct held held[4] = {{0}};
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"});
    for (size_t i = 0; i < r.row.n; i++) {
        const struct job *j = r.row.v[i];
        held[j->batch_host[1] - '1'] = (struct held){.job_id = j->id, .attempt = j->attempt};
    }
    vec_done(&r.row);
    restart(AGEING);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &held[n - 1], held[n - 1].job_id ? 1 : 0);
}

static void one_limit(size_t row, enum way way)
{
    full();
    assert_int_equal(limit_set(limits[row].on, limits[row].limit), REFUSE_NONE);
    uint64_t first = waits_as("alice:physics"), second = waits_as(limits[row].second),
             third = limits[row].third ? waits_as(limits[row].third) : 0;
    pass(30 * MIN);
    assert_int_equal(age(first), 30);
    assert_int_equal(age(second), 0);
    assert_true(job(second)->accrue_us == ACCRUES_NOT);
    if (third)
        assert_int_equal(age(third), 30);
    if (way == BY_RESTART) {
        again();
        pass(10 * MIN);
        assert_int_equal(age(first), 40);
        assert_int_equal(age(second), 0);
    }
    int64_t from_us = w.now;
    let_go(row, first, way);
    if (way == BY_START || way == BY_RESTART)
        assert_int_equal(state(first), JOB_RUNNING);
    assert_true(gains(second));
    assert_true(job(second)->accrue_us >= from_us);
    assert_int_equal(age(second), 10);
}

static void each_limit(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        for (int way = 0; way < WAYS; way++) {
            world_open(AGEING, 4);
            the_tree();
            one_limit(i, (enum way)way);
            world_close();
        }
}

/* Of an array so many elements gain as may, those first that start first; each has its own time. */
static void elements(void **unused)
{
    struct job_spec s = job_of(8, "physics", "test");
    s.array = "1-5";
    s.req.time_limit_us = 60 * MIN;
    full();
    assert_int_equal(limit_set("physics", "MaxJobsAccrue=2"), REFUSE_NONE);
    am_alice();
    uint64_t id = submit(s), later = waits_as("alice:physics");
    pass(20 * MIN);
    assert_int_equal(age(id), 20);
    assert_int_equal(age(later), 0);
    script_ends(filler[0], 0); /* the first starts, and the third begins to gain */
    assert_int_equal(job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id))->state,
                     JOB_RUNNING);
    pass(10 * MIN);
    assert_int_equal(age(id), 30); /* as the second has it */
    again();
    script_ends(filler[1], 0);
    pass(10 * MIN);
    assert_int_equal(age(id), 20); /* as the third has it */
    assert_int_equal(age(later), 0);
    cancel(ids_of(id));
    assert_true(gains(later));
}

/* An element that is changed by itself takes its time with it. */
static void an_element_of_its_own(void **unused)
{
    struct job_spec s = job_of(8, "physics", "test"), to = {.comment = "mine"};
    s.array = "1-3";
    full();
    assert_int_equal(limit_set("physics", "MaxJobsAccrue=2"), REFUSE_NONE);
    am_alice();
    uint64_t id = submit(s);
    pass(20 * MIN);
    struct msg_update_job m = {.ids = arena_printf(w.a, "%llu_1", (unsigned long long)id),
                               .fields = "comment",
                               .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    pass(10 * MIN);
    const struct job *own = job_named(m.ids);
    assert_int_equal(age(own->id), 30);
    assert_int_equal(age(id), 30);
    cancel(m.ids);
    pass(10 * MIN);
    cancel(arena_printf(w.a, "%llu_2", (unsigned long long)id));
    assert_int_equal(age(id), 10);
}

/* Elements that are cancelled give their places back. */
static void cancelled_elements(void **unused)
{
    struct job_spec s = job_of(8, "physics", "test");
    s.array = "1-3";
    full();
    assert_int_equal(limit_set("physics", "MaxJobsAccrue=3"), REFUSE_NONE);
    am_alice();
    uint64_t id = submit(s), later = waits_as("alice:physics");
    pass(10 * MIN);
    assert_int_equal(age(later), 0);
    cancel(arena_printf(w.a, "%llu_[2-3]", (unsigned long long)id));
    pass(10 * MIN);
    assert_int_equal(age(later), 10);
    assert_int_equal(age(id), 20);
}

/* Who gained before there was a limit goes on. */
static void before_the_limit(void **unused)
{
    full();
    uint64_t first = waits_as("alice:physics"), second = waits_as("alice:physics");
    pass(10 * MIN);
    assert_int_equal(limit_set("physics", "MaxJobsAccrue=1"), REFUSE_NONE);
    uint64_t third = waits_as("alice:physics");
    pass(10 * MIN);
    assert_int_equal(age(first), 20);
    assert_int_equal(age(second), 20);
    assert_int_equal(age(third), 0);
    am_alice();
    cancel(ids_of(first));
    assert_false(gains(third)); /* one is as many as may */
    cancel(ids_of(second));
    assert_true(gains(third));
}

/* Who is requeued, or changes to another account, asks anew. */
static void comes_back(void **unused)
{
    full();
    assert_int_equal(limit_set("physics", "MaxJobsAccrue=1"), REFUSE_NONE);
    uint64_t first = waits_as("alice:physics"), second = waits_as("alice:physics");
    script_ends(filler[0], 0);
    assert_int_equal(state(first), JOB_RUNNING);
    pass(10 * MIN);
    assert_int_equal(age(second), 10);
    am_alice();
    struct job_spec to = {.req = {.account = "chem"}};
    struct msg_update_job m = {.ids = ids_of(second), .fields = "account", .values = {&to, 1}};
    uint64_t third = waits_as("alice:physics");
    pass(10 * MIN);
    assert_int_equal(age(third), 0);
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_true(gains(third));
}

/* With limits, but no QOS insisted on, a job names any, and partitions in any order. */
static size_t texts_after(int from, int to)
{
    struct job_spec s = job_of(8, "physics", NULL);
    am_alice();
    for (int i = from; i < to; i++) {
        s.req.qos = arena_printf(w.a, "x%d", i);
        s.req.partition = arena_printf(w.a, "main,p%d", i % 20);
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_PENDING);
        cancel(ids_of(id));
    }
    pass(30 * MIN); /* they are not in memory any more */
    return intern_count(w.c->pool);
}

static void names_are_not_kept_for_ever(void **unused)
{
    struct str conf = STR_INIT;
    str_add(&conf, "AccountingStorageEnforce=limits\n");
    for (int i = 0; i < 20; i++)
        str_addf(&conf, "PartitionName=p%d Nodes=n1\n", i);
    full();
    configure(arena_printf(w.a, AGEING "%s", str_text(&conf)));
    str_done(&conf);
    assert_int_equal(limit_set("physics", "GrpJobsAccrue=5"), REFUSE_NONE);
    size_t few = texts_after(0, 5);
    assert_in_range(texts_after(5, 500), 1, few + 5);
}

/* Nor are those who came and went, or went to and fro, while nobody may gain. */
static void wishes_are_not_kept_for_ever(void **unused)
{
    enum { ROUNDS = 3000 };
    full();
    assert_int_equal(limit_set("root", "GrpJobsAccrue=1"), REFUSE_NONE);
    uint64_t gaining = waits_as("alice:physics"), id = waits_as("alice:physics");
    size_t before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct job_spec to = {.req = {.account = i % 2 ? "physics" : "chem"}};
        struct msg_update_job m = {.ids = ids_of(id), .fields = "account", .values = {&to, 1}};
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
        if (i % 10 == 0)
            cancel(ids_of(waits_as("bob:physics")));
        am_alice();
        if (i == ROUNDS / 10)
            before = accrue_wishes(w.c);
    }
    assert_in_range(accrue_wishes(w.c), 1, before + 200);
    assert_int_equal(age(id), 0);
    cancel(ids_of(gaining));
    assert_true(gains(id));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_limit),
        TREE_STORY(elements),
        TREE_STORY(an_element_of_its_own),
        TREE_STORY(before_the_limit),
        TREE_STORY(cancelled_elements),
        TREE_STORY(comes_back),
        TREE_STORY(names_are_not_kept_for_ever),
        TREE_STORY(wishes_are_not_kept_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
