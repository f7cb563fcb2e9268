/* Limits of what a job may ask for, of how many there may be, and the choosing of accounts and QOS. */
#include "core_limits_help.h"

/* ---- what a job asks for ---- */

static void limits_of_a_job(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        world_open(ENFORCED, 4);
        the_tree();
        assert_int_equal(limit_set(asked[i].on, asked[i].limit), REFUSE_NONE);
        uint64_t id = submit(job_of(4, NULL, "test"));
        assert_true(id > 0);
        assert_int_equal(state(id), JOB_PENDING);
        assert_string_equal(reason(id), asked[i].word);
        assert_int_equal(limit_set(asked[i].on, asked[i].lifted), REFUSE_NONE);
        assert_int_equal(state(id), JOB_RUNNING);
        /* With DenyOnLimit it is not even taken. */
        struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
        ch->fields = "flags";
        ch->qos =
            (struct record_list){KEEP(struct qos, .name = "test", .flags = QOS_DENY_ON_LIMIT), 1};
        assert_int_equal(changed(false), REFUSE_NONE);
        assert_int_equal(limit_set(asked[i].on, asked[i].limit), REFUSE_NONE);
        assert_int_equal(submit(job_of(4, NULL, "test")), 0);
        assert_int_equal(refusal(), REFUSE_PARTITION_LIMIT);
        world_close();
    }
}

static void beyond_by_itself(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(alone); i++)
        for (int deny = 0; deny < 2; deny++) {
            world_open(ENFORCED, 4);
            the_tree();
            if (deny) {
                struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
                ch->fields = "flags";
                ch->qos = (struct record_list){
                    KEEP(struct qos, .name = "test", .flags = QOS_DENY_ON_LIMIT), 1};
                assert_int_equal(changed(false), REFUSE_NONE);
            }
            uint64_t other = submit(job_of(4, NULL, "test"));
            assert_int_equal(limit_set(alone[i].on, alone[i].limit), REFUSE_NONE);
            bool taken = submit(job_of(4, NULL, "test")) > other;
            assert_int_equal(taken, !(deny && alone[i].refused));
            if (!taken)
                assert_int_equal(refusal(), REFUSE_PARTITION_LIMIT);
            world_close();
        }
}

/* A job that gives no time gets what is allowed. */
static void the_wall_of_who_gives_no_time(void **unused)
{
    struct job_spec s = job_of(1, NULL, "test");
    s.req.time_limit_us = 0;
    assert_int_equal(limit_set("qos test", "MaxWall=5"), REFUSE_NONE);
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->limit_us, 5 * MIN);
    assert_int_equal(limit_set("qos test", "MaxWall=0"), REFUSE_NONE);
    id = submit(s); /* and where no time is allowed it waits */
    assert_string_equal(reason(id), "QOSMaxWallDurationPerJobLimit");
    assert_int_equal(limit_set("qos test", "MaxWall=-1"), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* ---- several partitions --------------------------------------------------------------------- */

#define TWO ENFORCED "PartitionName=full Nodes=n1 DefaultTime=60\nPartitionName=free Nodes=n[2-4]\n"
#define TWO_OF_TEST                                                                                \
    ENFORCED                                                                                       \
    "PartitionName=full Nodes=n1 DefaultTime=60\nPartitionName=free Nodes=n[2-4] QOS=test\n"

#define WIDE_OF_TEST                                                                               \
    ENFORCED                                                                                       \
    "PartitionName=full Nodes=n1 DefaultTime=60 QOS=wide\n"                                        \
    "PartitionName=free Nodes=n[2-4] QOS=test\n"

static void update(uint64_t id, const char *fields, struct job_spec to)
{
    struct msg_update_job m = {.ids = ids_of(id), .fields = fields, .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

static uint64_t full_by_bob(void)
{
    struct job_spec s = job_of(8, NULL, "normal");
    s.req.partition = "full";
    am_bob();
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    am_alice();
    return id;
}

static uint64_t either(struct job_spec s, int turn)
{
    s.req.partition = turn ? "free,full" : "full,free";
    uint64_t id = submit(s);
    assert_true(id > 0);
    return id;
}

/* What a limit of one partition's QOS forbids is not had by naming another beside it, in whatever
 * order, and whichever came first, the limit or the job. */
static void a_second_partition_lifts_nothing(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        for (int way = 0; text_starts(asked[i].on, "qos ") && way < 4; way++) {
            world_open(TWO_OF_TEST, 4);
            the_tree();
            uint64_t full = full_by_bob();
            struct job_spec s = job_of(4, NULL, "normal");
            s.hold = way & 2;
            if (!s.hold)
                assert_int_equal(limit_set(asked[i].on, asked[i].limit), REFUSE_NONE);
            uint64_t id = either(s, way & 1);
            if (s.hold)
                assert_int_equal(limit_set(asked[i].on, asked[i].limit), REFUSE_NONE);
            update(id, "hold", (struct job_spec){.hold = false});
            if (state(id) != JOB_PENDING)
                fail_msg("%s: it runs in %s", asked[i].limit, job(id)->run_partition);
            if (way & 1) {
                script_ends(full, 0);
                assert_string_equal(job(id)->run_partition, "full");
            } else {
                assert_int_equal(limit_set(asked[i].on, asked[i].lifted), REFUSE_NONE);
                assert_string_equal(job(id)->run_partition, "free");
            }
            world_close();
        }
}

/* Who is in an account for one partition, or may use a QOS in one, is not in the other so. */
static void a_second_partition_is_of_the_account(void **unused)
{
    for (int of_qos = 0; of_qos < 2; of_qos++)
        for (int turn = 0; turn < 2; turn++) {
            world_open(TWO, 4);
            the_tree();
            add_account("bio");
            struct assoc in = {.account = "bio", .user = "alice", .partition = "full"}, other = in;
            other.partition = "free";
            other.qos = "normal";
            change(VERB_ADD, NOUN_ASSOC)->assoc =
                (struct record_list){arena_dup(w.a, &in, sizeof in), 1};
            if (of_qos)
                change(VERB_ADD, NOUN_ASSOC)->assoc =
                    (struct record_list){arena_dup(w.a, &other, sizeof other), 1};
            assert_int_equal(changed(false), REFUSE_NONE);
            uint64_t full = full_by_bob(), id;
            struct job_spec s = job_of(4, "bio", "test");
            s.req.partition = turn ? "free,full" : "full,free";
            id = submit(s);
            if (!id) /* the first says what it may use */
                assert_true(turn && of_qos && refusal() == REFUSE_QOS);
            if (id) {
                assert_int_equal(state(id), JOB_PENDING);
                script_ends(full, 0);
                assert_string_equal(job(id)->run_partition, "full");
            }
            world_close();
        }
}

/* A job that gives no time gets what is allowed where it runs, whatever came after it. */
static void no_time_is_no_more_time(void **unused)
{
    enum { LATER, MOVED, LIFTED, WAYS };
    for (int way = 0; way < WAYS; way++)
        for (int turn = 0; turn < 2; turn++) {
            world_open(way == MOVED ? TWO : TWO_OF_TEST, 4);
            the_tree();
            uint64_t full = full_by_bob();
            struct job_spec s = job_of(4, NULL, "normal");
            s.req.time_limit_us = 0;
            s.hold = true;
            uint64_t id = either(s, turn);
            assert_int_equal(limit_set("qos test", "MaxWall=5"), REFUSE_NONE);
            if (way == MOVED)
                update(id, "qos", (struct job_spec){.req = {.qos = "test"}});
            if (way == LIFTED)
                assert_int_equal(limit_set("qos test", "MaxWall=-1"), REFUSE_NONE);
            update(id, "hold", (struct job_spec){.hold = false});
            assert_string_equal(job(id)->run_partition, "free");
            assert_int_equal(job(id)->limit_us, way == LIFTED ? TIME_UNLIMITED : 5 * MIN);
            script_ends(full, 0);
            world_close();
        }
}

/* Where a job may not run its time is not shortened for, and nothing there lets it wait unsaid. */
static void a_closed_partition_says_nothing(void **unused)
{
    static const char *const shorter[] = {"MaxWall=5", "MaxWall=-1"};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        for (int way = 0; text_is(asked[i].word, "QOSMinCpuNotSatisfied") && way < 4; way++) {
            world_open(WIDE_OF_TEST, 4);
            the_tree();
            struct account_change *ch = change(VERB_ADD, NOUN_QOS);
            ch->qos = (struct record_list){KEEP(struct qos, .name = "wide"), 1};
            ch = change(VERB_MODIFY, NOUN_QOS);
            ch->fields = "flags";
            ch->qos = (struct record_list){
                KEEP(struct qos, .name = "normal", .flags = QOS_DENY_ON_LIMIT), 1};
            assert_int_equal(changed(false), REFUSE_NONE);
            assert_int_equal(limit_set(asked[i].on, asked[i].limit), REFUSE_NONE);
            assert_int_equal(limit_set(asked[i].on, shorter[way / 2]), REFUSE_NONE);
            struct job_spec s = job_of(4, NULL, "normal");
            s.req.time_limit_us = 0;
            uint64_t id = either(s, way & 1);
            assert_string_equal(job(id)->run_partition, "full");
            assert_int_equal(job(id)->limit_us, 60 * MIN);
            assert_int_equal(limit_set("qos wide", "GrpTRES=cpu=3"), REFUSE_NONE);
            s.req.partition = way & 1 ? "free,full" : "full,free";
            assert_int_equal(submit(s), 0);
            assert_int_equal(refusal(), REFUSE_PARTITION_LIMIT);
            assert_int_equal(limit_set(asked[i].on, asked[i].lifted), REFUSE_NONE);
            assert_true(submit(s) > 0);
            world_close();
        }
}

/* Where nothing is insisted on any more, all that waits is looked at anew. */
static void nothing_is_insisted_on_any_more(void **unused)
{
    static const char *const left[] = {"associations", "none"};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        for (size_t way = 0; text_starts(asked[i].on, "qos ") && way < ARRAY_LEN(left); way++) {
            world_open(TWO_OF_TEST, 4);
            the_tree();
            full_by_bob();
            assert_int_equal(limit_set(asked[i].on, asked[i].limit), REFUSE_NONE);
            uint64_t id = either(job_of(4, NULL, "normal"), 0);
            assert_int_equal(state(id), JOB_PENDING);
            configure(arena_printf(w.a, TWO_OF_TEST "AccountingStorageEnforce=%s\n", left[way]));
            pass(MIN);
            assert_string_equal(job(id)->run_partition, "free");
            world_close();
        }
}

/* ---- how many there are ---- */

static uint64_t try_as(const char *who)
{
    if (text_starts(who, "bob"))
        am_bob();
    else
        am_alice();
    return submit(job_of(1, strchr(who, ':') + 1, "test"));
}

static void limits_of_submissions(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(there); i++) {
        world_open(ENFORCED, 4);
        the_tree();
        struct job_spec array = job_of(1, "physics", "test");
        array.array = "1-2%1";
        assert_int_equal(limit_set(there[i].on, there[i].limit), REFUSE_NONE);
        am_alice();
        uint64_t both = submit(array);
        assert_true(both > 0);
        assert_int_equal(try_as(there[i].second), 0);
        assert_int_equal(refusal(), REFUSE_PARTITION_LIMIT);
        assert_non_null(strstr(answer()->detail, "2 jobs are there"));
        if (there[i].free_for)
            assert_true(try_as(there[i].free_for) > 0);
        restart(ENFORCED);
        assert_int_equal(try_as(there[i].second), 0);
        am_alice();
        cancel(ids_of(both));
        pass(10 * MIN); /* no node holds it after the restart: it is lost there */
        assert_true(try_as(there[i].second) > 0);
        world_close();
    }
}

static void in_partition(enum account_verb verb, const char *partition)
{
    struct assoc a = {.account = "bio", .user = "alice", .partition = partition};
    change(verb, NOUN_ASSOC)->assoc = (struct record_list){arena_dup(w.a, &a, sizeof a), 1};
}

/* Who is in an account for some partitions counts in it like everybody, whichever he names first. */
static void in_an_account_by_partition(void **unused)
{
    static const char *const named[] = {"free", "free,main", "main,free"};
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        world_open(TWO, 4);
        the_tree();
        add_account("bio");
        in_partition(VERB_ADD, "free");
        assert_int_equal(changed(false), REFUSE_NONE);
        assert_int_equal(limit_set("bio", "GrpSubmitJobs=2"), REFUSE_NONE);
        struct job_spec s = job_of(1, "bio", "normal");
        s.req.partition = named[i];
        for (int n = 0; n < 3; n++)
            assert_int_equal(submit(s) > 0, n < 2);
        assert_int_equal(refusal(), REFUSE_PARTITION_LIMIT);
        struct rows r = ask((struct msg_query){.what = QUERY_LIMIT_USE});
        int64_t used = -1;
        for (size_t k = 0; k < r.row.n; k++)
            used = ((const struct limit_use *)r.row.v[k])->used;
        assert_int_equal(r.row.n, 1);
        assert_int_equal(used, 2);
        vec_done(&r.row);
        world_close();
    }
}

static void comes_back_special(uint64_t id)
{
    struct msg_job_control m = {
        .ids = ids_of(id), .action = ACTION_REQUEUE_HOLD, .special_exit = true};
    struct peer asks = w.peer;
    script_ends(id, 0x100);
    am_alice();
    say(1, MSG_JOB_CONTROL, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(state(id), JOB_SPECIAL_EXIT);
    w.peer = asks;
}

/* An association is not taken from a job that is of it; that of another partition may be. */
static void what_a_job_is_of_stays(void **unused)
{
    enum { WAITS, RUNS, RAN, WAYS };
    for (int way = 0; way < WAYS; way++)
        for (int general = 0; general < 2; general++) {
            world_open(TWO, 4);
            the_tree();
            add_account("bio");
            in_partition(VERB_ADD, "free");
            in_partition(VERB_ADD, "full");
            if (general)
                in_partition(VERB_ADD, NULL);
            assert_int_equal(changed(false), REFUSE_NONE);
            struct job_spec s = job_of(1, "bio", "normal");
            s.hold = way == WAITS;
            s.req.partition = "free";
            uint64_t id = submit(s);
            assert_int_equal(state(id), way == WAITS ? JOB_PENDING : JOB_RUNNING);
            if (way == RAN)
                comes_back_special(id);
            in_partition(VERB_REMOVE, "full");
            assert_int_equal(changed(false), REFUSE_NONE);
            in_partition(VERB_REMOVE, "free");
            assert_int_equal(changed(false), general ? REFUSE_NONE : REFUSE_ASSOC_BUSY);
            if (general)
                in_partition(VERB_REMOVE, NULL);
            assert_int_equal(changed(false), general ? REFUSE_ASSOC_BUSY : REFUSE_NONE);
            world_close();
        }
}

/* ---- choosing ------------------------------------------------------------------------------- */

static void defaults(void **unused)
{
    uint64_t id = submit(a_job("plain"));
    assert_string_equal(job(id)->spec.req.account, "physics");
    assert_string_equal(job(id)->spec.req.qos, "normal");
    struct job_spec s = a_job("capitals");
    s.req.account = "CHEM";
    assert_string_equal(job(submit(s))->spec.req.account, "chem");
}

static void refusals_name_what_may_be(void **unused)
{
    refused("biology", NULL, REFUSE_ACCOUNT, "physics (default), chem");
    refused(NULL, "gold", REFUSE_QOS, "normal,test");
    am_bob();
    refused("chem", NULL, REFUSE_ACCOUNT, "physics (default)");
    am(1005, "eve", false);
    refused(NULL, NULL, REFUSE_ACCOUNT, "eve is in no account");
}

/* Without AccountingStorageEnforce nothing is refused, and without accounts none is filled in; the
 * QOS is the one that everybody has, as Slurm's controller decides it. */
static void nothing_is_insisted_on(void **unused)
{
    world_close();
    world_open(CONF, 4);
    uint64_t id = submit(a_job("plain"));
    assert_null(job(id)->spec.req.account);
    assert_string_equal(job(id)->spec.req.qos, "normal");
    the_tree();
    assert_int_equal(limit_set("qos test", "GrpJobs=0"), REFUSE_NONE);
    assert_int_equal(state(submit(job_of(1, "biology", "test"))), JOB_RUNNING);
    configure(ENFORCED); /* and from then on it is */
    assert_int_equal(state(submit(job_of(1, NULL, "test"))), JOB_PENDING);
}

/* Access that is taken away keeps those who wait. */
static void access_taken_away(void **unused)
{
    assert_int_equal(limit_set("qos test", "GrpJobs=0"), REFUSE_NONE);
    uint64_t id = submit(job_of(1, NULL, "test"));
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "qos";
    ch->list = LIST_LESS;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "physics", .qos = "test"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_string_equal(reason(id), "InvalidQOS");
    struct job_spec to = {.req = {.qos = "normal"}};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "qos", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* Whoever asks: limits are held where jobs start, and who may use a QOS is asked of submissions. */
static void a_running_job_keeps_its_qos(void **unused)
{
    static const struct {
        const char *fields;
        struct job_request to;
        enum refusal hers, roots;
    } tried[] = {
        {"qos", {.qos = "test"}, REFUSE_NOT_PENDING, REFUSE_NOT_PENDING},
        {"qos", {.qos = "nosuch"}, REFUSE_QOS, REFUSE_NOT_PENDING},
        {"account", {.account = "chem"}, REFUSE_NOT_PENDING, REFUSE_NOT_PENDING},
    };
    uint64_t id = submit(job_of(1, NULL, "normal"));
    assert_int_equal(state(id), JOB_RUNNING);
    for (int root = 0; root < 2; root++) {
        if (root)
            am_root();
        for (size_t i = 0; i < ARRAY_LEN(tried); i++) {
            struct job_spec to = {.req = tried[i].to};
            struct msg_update_job m = {
                .ids = ids_of(id), .fields = tried[i].fields, .values = {&to, 1}};
            say(1, MSG_UPDATE_JOB, &m);
            assert_int_equal(refusal(), root ? tried[i].roots : tried[i].hers);
            assert_string_equal(job(id)->spec.req.qos, "normal");
            assert_string_equal(job(id)->spec.req.account, "physics");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_of_a_job),
        cmocka_unit_test(beyond_by_itself),
        TREE_STORY(the_wall_of_who_gives_no_time),
        cmocka_unit_test(a_second_partition_lifts_nothing),
        cmocka_unit_test(a_second_partition_is_of_the_account),
        cmocka_unit_test(no_time_is_no_more_time),
        cmocka_unit_test(a_closed_partition_says_nothing),
        cmocka_unit_test(nothing_is_insisted_on_any_more),
        cmocka_unit_test(limits_of_submissions),
        cmocka_unit_test(in_an_account_by_partition),
        cmocka_unit_test(what_a_job_is_of_stays),
        TREE_STORY(defaults),
        TREE_STORY(refusals_name_what_may_be),
        TREE_STORY(nothing_is_insisted_on),
        TREE_STORY(access_taken_away),
        TREE_STORY(a_running_job_keeps_its_qos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
