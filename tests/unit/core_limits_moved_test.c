/* Limits of how many jobs there may be, and what a QOS refuses, hold for a job that is moved into an
 * account, a QOS or a partition as for one that is submitted there. */
#include "core_limits_help.h"

#include "core/record/accounts/limits.h"
#include "core/record/record.h"

#define OF_TEST ENFORCED "PartitionName=free Nodes=n[2-4] QOS=test\n"

static struct job_spec held(const char *account, const char *qos)
{
    struct job_spec s = job_of(1, account, qos);
    s.hold = true;
    return s;
}

static enum refusal move(const char *ids, const char *fields, struct job_request to)
{
    struct job_spec values = {.req = to};
    struct msg_update_job m = {.ids = ids, .fields = fields, .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

static enum refusal to_test(const char *ids)
{
    return move(ids, "qos", (struct job_request){.qos = "test"});
}

static void refuses(enum refusal got, const char *why)
{
    assert_int_equal(got, REFUSE_PARTITION_LIMIT);
    assert_non_null(strstr(answer()->detail, why));
}

/* Each sees those before it, and what was refused is as it was; operators may move any. */
static void several_in_one_request(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxSubmitJobsPerUser=3"), REFUSE_NONE);
    uint64_t id = submit(held("physics", "normal"));
    for (int i = 0; i < 4; i++)
        submit(held("physics", "normal"));
    assert_int_equal(id, 1);
    assert_int_equal(to_test("1,2,3,4,5"), REFUSE_NONE);
    assert_int_equal(answer()->count, 3);
    assert_int_equal(answer()->results.n, 2);
    assert_int_equal(((const struct result *)answer()->results.v)[0].refusal,
                     REFUSE_PARTITION_LIMIT);
    assert_string_equal(job(4)->spec.req.qos, "normal");
    refuses(to_test("4"), "MaxSubmitJobsPerUser=3 of QOS test: 3 jobs are there, 1 more would");
    am_root();
    assert_int_equal(to_test("4"), REFUSE_NONE);
    am_alice(); /* and who leaves makes room */
    assert_int_equal(move("1,2", "qos", (struct job_request){.qos = "normal"}), REFUSE_NONE);
    restart(ENFORCED);
    am_alice();
    assert_int_equal(to_test("5"), REFUSE_NONE);
    refuses(to_test("1"), "3 jobs are there");
}

/* The limit was lowered since: what counts already may be moved where it counts still. */
static void within_what_it_counts_in(void **unused)
{
    uint64_t id = submit(held("physics", "test"));
    for (int i = 0; i < 2; i++)
        submit(held("physics", "test"));
    assert_int_equal(limit_set("qos test", "MaxSubmitJobsPerUser=1"), REFUSE_NONE);
    assert_int_equal(limit_set("root", "GrpSubmitJobs=1"), REFUSE_NONE);
    assert_int_equal(to_test(ids_of(id)), REFUSE_NONE);
    assert_int_equal(move(ids_of(id), "account", (struct job_request){.account = "chem"}),
                     REFUSE_NONE);
    assert_int_equal(move(ids_of(id), "partition", (struct job_request){.partition = "small"}),
                     REFUSE_NONE);
    assert_int_equal(move(ids_of(id), "time_limit_us", (struct job_request){.time_limit_us = MIN}),
                     REFUSE_NONE);
}

static void accounts_count(void **unused)
{
    static const struct {
        const char *on, *limit;
    } of[] = {{"physics", "GrpSubmitJobs=1"},
              {"physics", "MaxSubmitJobs=1"},
              {"physics/alice", "MaxSubmitJobs=1"}};
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        world_open(ENFORCED, 4);
        the_tree();
        assert_int_equal(limit_set(of[i].on, of[i].limit), REFUSE_NONE);
        assert_int_not_equal(submit(held("physics", NULL)), 0);
        uint64_t id = submit(held("chem", NULL));
        struct job_request to = {.account = "physics"};
        refuses(move(ids_of(id), "account", to), "1 job is there, 1 more would be too many");
        assert_string_equal(job(id)->spec.req.account, "chem");
        cancel("1");
        assert_int_equal(move(ids_of(id), "account", to), REFUSE_NONE);
        world_close();
    }
}

static void the_qos_of_a_partition_counts(void **unused)
{
    configure(OF_TEST);
    assert_int_equal(limit_set("qos test", "GrpSubmitJobs=1"), REFUSE_NONE);
    submit(held("physics", "normal"));
    submit(held("physics", "normal"));
    struct job_request to = {.partition = "free"};
    assert_int_equal(move("1", "partition", to), REFUSE_NONE);
    refuses(move("2", "partition", to), "GrpSubmitJobs=1 of QOS test");
    to.partition = "main,free"; /* as at its submission it counts in the first */
    assert_int_equal(move("2", "partition", to), REFUSE_NONE);
    to.partition = "free,main";
    refuses(move("2", "partition", to), "GrpSubmitJobs=1 of QOS test");
}

static void elements_count_each(void **unused)
{
    struct job_spec s = held("physics", "normal");
    s.array = "0-9";
    assert_int_equal(limit_set("qos test", "MaxSubmitJobsPerUser=5"), REFUSE_NONE);
    assert_int_equal(submit(s), 1);
    refuses(to_test("1"), "0 jobs are there, 10 more would be too many");
    assert_int_equal(to_test("1_[0-4]"), REFUSE_NONE);
    assert_int_equal(answer()->count, 5);
    assert_int_not_equal(to_test("1_7"), REFUSE_NONE);
}

/* All or none, and together. */
static void components_count_together(void **unused)
{
    struct job_spec parts[3] = {held("physics", "normal"), held("physics", "normal"),
                                held("physics", "normal")};
    struct job_spec to[3] = {{.req.qos = "test"}, {.req.qos = "test"}, {.req.qos = "test"}};
    assert_int_equal(limit_set("qos test", "MaxSubmitJobsPerUser=2"), REFUSE_NONE);
    uint64_t id = submit_all(parts, 3);
    struct msg_update_job m = {.ids = ids_of(id), .fields = "qos;qos;qos", .values = {to, 3}};
    say(1, MSG_UPDATE_JOB, &m);
    refuses(refusal(), "0 jobs are there, 3 more would be too many");
    for (uint64_t i = 0; i < 3; i++)
        assert_string_equal(job(id + i)->spec.req.qos, "normal");
    m.fields = "qos;qos;comment";
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_string_equal(job(id + 1)->spec.req.qos, "test");
}

/* What the request itself is: what it wakes is not looked at. */
static size_t work_of(enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .body = body};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &m});
    return w.c->turn.work;
}

/* Kinds of jobs are as many as their user makes: how many there are is not worked out anew for each
 * component and each limit. */
static void how_many_there_are_is_worked_out_once(void **unused)
{
#define ANY_QOS CONF "AccountingStorageEnforce=limits\n"
    enum { PARTS = 128, KINDS = 600 };
    static const char *const on[] = {"root", "physics", "qos test"};
    struct job_spec parts[PARTS], to[PARTS];
    struct str fields = STR_INIT;
    configure(ANY_QOS);
    for (size_t i = 0; i < ARRAY_LEN(on); i++)
        assert_int_equal(limit_set(on[i], "GrpSubmitJobs=5000"), REFUSE_NONE);
    for (size_t i = 0; i < KINDS; i++) {
        struct job_spec s = held("physics", arena_printf(w.a, "own%zu", i));
        struct msg_submit m = {.specs = {&s, 1}};
        assert_in_range(work_of(MSG_SUBMIT, &m), 0, i ? 0 : 200); /* it is added to the others */
    }
    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = held("physics", "normal");
        to[i] = (struct job_spec){.req.qos = "test"};
        str_add(&fields, i ? ";qos" : "qos");
    }
    assert_int_equal(limit_set("physics/alice", "MaxSubmitJobs=5000"), REFUSE_NONE);
    uint64_t id = submit_all(parts, PARTS);
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = str_text(&fields), .values = {to, PARTS}};
    configure(ANY_QOS); /* what partitions there are is read again */
    /* once, and not for each of 128 */
    assert_in_range(work_of(MSG_UPDATE_JOB, &m), KINDS, KINDS * 100);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "GrpSubmitJobs=130"), REFUSE_NONE);
    assert_int_equal(to_test("1,2"), REFUSE_NONE);
    refuses(to_test("3"), "130 jobs are there, 1 more");
    str_done(&fields);
}

static void refused_one_more(const char *why)
{
    struct job_spec one = held("chem", NULL);
    struct msg_submit m = {.specs = {&one, 1}};
    say(1, MSG_SUBMIT, &m);
    refuses(refusal(), why);
}

/* What they count in is another since. */
static void what_is_kept_follows_what_is_changed(void **unused)
{
    assert_int_equal(limit_set("physics", "GrpSubmitJobs=2"), REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "GrpSubmitJobs=2"), REFUSE_NONE);
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(submit(held("chem", NULL)), 0);
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->fields = "parent";
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "chem", .parent = "physics"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    refused_one_more("GrpSubmitJobs=2 of account physics: 3 jobs are there");
    cancel("1,2");
    assert_int_not_equal(submit(held("chem", NULL)), 0);
    struct partition of_test = {.qos = "test"};
    struct msg_update_partition m = {.name = "main", .fields = "qos", .values = {&of_test, 1}};
    am_root();
    say(1, MSG_UPDATE_PARTITION, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    am_alice();
    refused_one_more("GrpSubmitJobs=2 of QOS test: 2 jobs are there");
}

/* By the job's own user, whoever asks; what is there already may still be changed. */
static void a_qos_refuses_what_it_would_not_take(void **unused)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "flags";
    ch->qos = (struct record_list){KEEP(struct qos, .name = "test", .flags = QOS_DENY_ON_LIMIT), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    struct job_spec wide = held("physics", "normal"), late = held("physics", "test");
    wide.req.ntasks = late.req.ntasks = 4;
    submit(wide);
    submit(held("physics", "normal"));
    submit(late);
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=cpu=2"), REFUSE_NONE);
    refuses(to_test("1"), "MaxTRESPerJob=cpu=2 of QOS test");
    assert_int_equal(to_test("2"), REFUSE_NONE);
    assert_int_equal(move("3", "time_limit_us", (struct job_request){.time_limit_us = MIN}),
                     REFUSE_NONE);
    /* what is there within it stays so, by its user; what is not may ask for less, or for more */
    refuses(move("2", "ntasks", (struct job_request){.ntasks = 3}), "MaxTRESPerJob=cpu=2");
    assert_int_equal(job(2)->spec.req.ntasks, 1);
    assert_int_equal(move("2", "ntasks", (struct job_request){.ntasks = 2}), REFUSE_NONE);
    assert_int_equal(move("3", "ntasks", (struct job_request){.ntasks = 5}), REFUSE_NONE);
    assert_int_equal(move("3", "ntasks", (struct job_request){.ntasks = 2}), REFUSE_NONE);
    refuses(move("3", "ntasks", (struct job_request){.ntasks = 4}), "MaxTRESPerJob=cpu=2");
    assert_int_equal(move("1", "ntasks", (struct job_request){.ntasks = 5}), REFUSE_NONE);
    am_root();
    assert_int_equal(move("2", "ntasks", (struct job_request){.ntasks = 3}), REFUSE_NONE);
    assert_int_equal(to_test("1"), REFUSE_NONE);
}

static void without_limits_insisted_on_any_goes(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxSubmitJobsPerUser=0"), REFUSE_NONE);
    submit(held("physics", "normal"));
    refuses(to_test("1"), "MaxSubmitJobsPerUser=0");
    configure(CONF "AccountingStorageEnforce=associations\n");
    assert_int_equal(to_test("1"), REFUSE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_STORY(several_in_one_request),
        TREE_STORY(within_what_it_counts_in),
        cmocka_unit_test(accounts_count),
        TREE_STORY(the_qos_of_a_partition_counts),
        TREE_STORY(elements_count_each),
        TREE_STORY(components_count_together),
        TREE_STORY(how_many_there_are_is_worked_out_once),
        TREE_STORY(what_is_kept_follows_what_is_changed),
        TREE_STORY(a_qos_refuses_what_it_would_not_take),
        TREE_STORY(without_limits_insisted_on_any_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
