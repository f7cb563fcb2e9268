/* Questions to the controller's machine. */
#include "core_help.h"

#include "sched/plan.h"

#include <unistd.h>

static void jobs_are_found_by_what_they_are(void **unused)
{
    uint64_t one = submit(a_job("one"));
    am_bob();
    struct job_spec held = a_job("two");
    held.hold = true;
    held.req.partition = "small";
    held.req.account = "physics";
    uint64_t two = submit(held);
    assert_int_equal(state(one), JOB_RUNNING);
    assert_int_equal(state(two), JOB_PENDING);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1001"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1001,1000"}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "R"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "pending,RUNNING"}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .partitions = "small"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .partitions = "small,main"}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .names = "one"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .accounts = "physics"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .qos = "none"}), 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .nodes = "n[1-4]"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .nodes = "n9"}), 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1000", .states = "PD"}),
                     0);
}

static void an_ended_job_is_shown_when_asked_for(void **unused)
{
    uint64_t id = submit(a_job("short"));
    pass(5 * SEC);
    script_ends(id, 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "all"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "CD"}), 1);
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(job(id)->end_us - job(id)->start_us, 5 * SEC);
    pass(301 * SEC);
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
    assert_int_equal(r.refusal, REFUSE_INVALID_JOB_ID);
    vec_done(&r.row);
}

static void one_unknown_id_is_refused_among_several_it_is_left_out(void **unused)
{
    uint64_t id = submit(a_job("one"));
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = "999"});
    assert_int_equal(r.refusal, REFUSE_INVALID_JOB_ID);
    vec_done(&r.row);
    assert_int_equal(
        count((struct msg_query){.what = QUERY_JOBS,
                                 .ids = arena_printf(w.a, "999,%llu", (unsigned long long)id)}),
        1);
}

static void a_job_named_twice_is_one_row(void **unused)
{
    uint64_t id = submit(a_job("one"));
    assert_int_equal(
        count((struct msg_query){
            .what = QUERY_JOBS,
            .ids = arena_printf(w.a, "%llu,%llu", (unsigned long long)id, (unsigned long long)id)}),
        1);
}

static void waiting_elements_are_one_row(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.array = "0-9%2";
    uint64_t id = submit(spec);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 3);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)}), 3);
    assert_int_equal(
        count((struct msg_query){.what = QUERY_JOBS,
                                 .ids = arena_printf(w.a, "%llu_[3-9]", (unsigned long long)id)}),
        1);
    assert_int_equal(
        count((struct msg_query){.what = QUERY_JOBS,
                                 .ids = arena_printf(w.a, "%llu_[0-9]", (unsigned long long)id)}),
        3);
    assert_string_equal(
        job_named(arena_printf(w.a, "%llu_[2-9]", (unsigned long long)id))->array_pending, "2-9");
    const struct job *running = job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id));
    assert_int_equal(running->array_task_id, 1);
    assert_int_equal(running->state, JOB_RUNNING);
    struct rows r = ask((struct msg_query){
        .what = QUERY_JOBS, .ids = arena_printf(w.a, "%llu_77", (unsigned long long)id)});
    assert_int_equal(r.refusal, REFUSE_INVALID_JOB_ID);
    vec_done(&r.row);
}

static void filters_that_make_no_sense_are_refused(void **unused)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .states = "RUNING"});
    assert_int_equal(r.refusal, REFUSE_BAD_MESSAGE);
    assert_non_null(strstr(r.detail, "RUNING"));
    vec_done(&r.row);
    r = ask((struct msg_query){.what = QUERY_JOBS, .ids = "12x"});
    assert_int_equal(r.refusal, REFUSE_INVALID_JOB_ID);
    vec_done(&r.row);
    r = ask((struct msg_query){.what = QUERY_NODES, .names = "n[1-9]"});
    assert_int_equal(r.refusal, REFUSE_INVALID_NODE);
    vec_done(&r.row);
    r = ask((struct msg_query){.what = QUERY_PARTITIONS, .names = "mian"});
    assert_int_equal(r.refusal, REFUSE_INVALID_PARTITION);
    vec_done(&r.row);
}

static void a_running_job_says_when_its_limit_ends(void **unused)
{
    uint64_t id = submit(a_job("one"));
    assert_int_equal(job(id)->end_us, job(id)->start_us + 10 * MIN);
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    pass(3 * MIN);
    assert_int_equal(job(id)->end_us, job(id)->start_us + 13 * MIN);
    assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
    assert_int_equal(job(id)->end_us, job(id)->start_us + 13 * MIN);
}

static void a_waiting_job_says_why(void **unused)
{
    for (int i = 0; i < 4; i++)
        submit(a_wide_job("full"));
    uint64_t waits = submit(a_wide_job("waits"));
    assert_int_equal(job(waits)->reason, REASON_RESOURCES);
    assert_non_null(job(waits)->reason_detail);
    assert_int_equal(job(waits)->planned_us, w.now + 10 * MIN);
    assert_true(job(waits)->priority > 0);
    struct job_spec spec = a_job("held");
    spec.hold = true;
    uint64_t held = submit(spec);
    assert_int_equal(job(held)->reason, REASON_HELD_USER);
    assert_int_equal(job(held)->priority, 0);
    spec = a_job("later");
    spec.begin_us = w.now + 5 * MIN;
    assert_int_equal(job(submit(spec))->reason, REASON_BEGIN_TIME);
    spec = a_job("after");
    spec.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)waits);
    assert_int_equal(job(submit(spec))->reason, REASON_DEPENDENCY);
}

static void a_node_says_what_is_taken(void **unused)
{
    struct job_spec spec = a_job("one");
    spec.req.partition = "small";
    spec.req.cpus_per_task = 3;
    submit(spec);
    assert_int_equal(node("n1")->alloc_cpus, 3);
    assert_int_equal(node("n1")->alloc_mem_mib, 100);
    assert_int_equal(node("n1")->jobs, 1);
    assert_string_equal(node("n1")->partitions, "main,small");
    assert_string_equal(node("n2")->partitions, "main");
    assert_int_equal(node("n2")->alloc_cpus, 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_NODES}), 4);
    assert_int_equal(count((struct msg_query){.what = QUERY_NODES, .names = "n[2-3]"}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_NODES, .partitions = "small"}), 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_NODES, .partitions = "small,main"}), 4);
}

static void a_job_being_cleaned_counts_as_such(void **unused)
{
    struct job_spec spec = a_job("one");
    spec.req.partition = "small";
    uint64_t id = submit(spec);
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(node("n1")->jobs, 1);
    assert_int_equal(node("n1")->jobs_cleaning, 1);
}

static void a_partition_says_what_it_has(void **unused)
{
    assert_int_equal(part("main")->total_nodes, 4);
    assert_int_equal(part("main")->total_cpus, 32);
    assert_string_equal(part("main")->tres, "cpu=32,mem=32000M,node=4,billing=32");
    assert_int_equal(part("small")->total_cpus, 8);
    assert_int_equal(count((struct msg_query){.what = QUERY_PARTITIONS}), 2);
}

static void steps_of_running_jobs(void **unused)
{
    uint64_t id = submit(a_job("one"));
    report(job(id)->batch_host[1] - '0',
           (struct msg_report){
               .kind = REPORT_STARTED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    struct rows r = ask((struct msg_query){.what = QUERY_STEPS});
    assert_int_equal(r.row.n, 1);
    const struct step *s = r.row.v[0];
    assert_int_equal(s->step_id, STEP_BATCH);
    assert_string_equal(s->user_name, "alice");
    assert_string_equal(s->partition, "main");
    vec_done(&r.row);
    assert_int_equal(count((struct msg_query){.what = QUERY_STEPS, .uids = "1001"}), 0);
    assert_int_equal(
        count((struct msg_query){.what = QUERY_STEPS,
                                 .ids = arena_printf(w.a, "%llu.batch", (unsigned long long)id)}),
        1);
    assert_int_equal(
        count((struct msg_query){.what = QUERY_STEPS,
                                 .ids = arena_printf(w.a, "%llu.0", (unsigned long long)id)}),
        0);
    script_ends(id, 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_STEPS}), 0);
}

static void status_has_the_controller_and_each_node(void **unused)
{
    submit(a_job("runs"));
    struct job_spec spec = a_job("many");
    spec.array = "1-10";
    spec.hold = true;
    submit(spec);
    gone(3);
    am_olga();
    struct msg_update_node drain = {.names = "n2", .state = "DRAIN", .reason = "new disk"};
    say(1, MSG_UPDATE_NODE, &drain);
    struct rows r = ask((struct msg_query){.what = QUERY_STATUS});
    assert_int_equal(r.row.n, 5);
    const struct daemon_status *s = r.row.v[0];
    assert_string_equal(s->role, "controller");
    assert_int_equal(s->jobs_running, 1);
    assert_int_equal(s->jobs_pending, 10);
    assert_true(s->plans > 0);
    s = r.row.v[1];
    assert_string_equal(s->name, "n1");
    assert_int_equal(s->pid, 7);
    assert_string_equal(s->version, "test");
    assert_null(s->trouble);
    s = r.row.v[2];
    assert_string_equal(s->trouble, "new disk");
    s = r.row.v[3];
    assert_string_equal(s->name, "n3");
    assert_string_equal(s->trouble, "its daemon is not connected");
    vec_done(&r.row);
}

/* Whoever names two thousand million elements, a thousand times over, waits no longer than one who
 * names four; nor where even numbers wait and odd ones are named, which never meet. */
static void what_is_named_costs_what_there_is(void **unused)
{
    struct job_spec spec = a_wide_job("array");
    struct str ids = STR_INIT;
    spec.array = "0-2147483646";
    spec.hold = true;
    uint64_t id = submit(spec);
    alarm(60);
    for (int i = 0; i < 1000; i++)
        str_addf(&ids, "%s%llu_[0-2147483646]", i ? "," : "", (unsigned long long)id);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .ids = str_text(&ids)}), 1);
    assert_int_equal(cancel(str_text(&ids)), REFUSE_TOO_LARGE);
    assert_int_equal(
        cancel(arena_printf(w.a, "%llu_[2147483640-2147483646]", (unsigned long long)id)),
        REFUSE_NONE);
    assert_string_equal(job(id)->array_pending, "0-2147483639");
    assert_int_equal(cancel(arena_printf(w.a, "%llu_[1-401:2]", (unsigned long long)id)),
                     REFUSE_NONE);
    assert_true(text_starts(job(id)->array_pending, "0-402:2,403-"));
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    spec.array = "0-2147483646:2";
    id = submit(spec);
    str_clear(&ids);
    for (int i = 0; i < 1000; i++)
        str_addf(&ids, "%s%llu_[1-2147483645:2]", i ? "," : "", (unsigned long long)id);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .ids = str_text(&ids)}), 0);
    alarm(0);
    str_done(&ids);
}

/* Priorities of all waiting jobs are looked at a few jobs a part, each job once. */
static void priorities_in_parts_show_each_once(void **unused)
{
    struct msg_query q = {.what = QUERY_PRIORITY};
    struct rows r = {.what = QUERY_PRIORITY};
    struct view view = {row_take, &r};
    struct query_at at = {0};
    struct str detail = STR_INIT;
    struct job_spec spec = a_wide_job("waits");
    spec.req.partition = "main,small";
    for (int i = 0; i < 20; i++)
        submit(spec);
    size_t parts = 0, before = 0;
    do {
        assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now, &view, &detail, &at, 3),
                         REFUSE_NONE);
        assert_true(r.row.n - before <= 3 * 2);
        before = r.row.n;
        parts++;
    } while (at.more);
    core_query_end(&at);
    assert_true(parts >= 20 / 3);
    assert_int_equal(r.row.n, 16 * 2);
    for (size_t i = 0; i < r.row.n; i++)
        assert_int_equal(((const struct priority_row *)r.row.v[i])->job_id, 5 + i / 2);
    vec_done(&r.row);
    str_done(&detail);
    assert_int_equal(count((struct msg_query){.what = QUERY_PRIORITY, .ids = "7,7,nobody's,999"}),
                     2);
    assert_int_equal(count((struct msg_query){.what = QUERY_PRIORITY, .ids = "nobody's"}), 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_PRIORITY, .ids = "999"}), 0);
    assert_int_equal(
        count((struct msg_query){.what = QUERY_PRIORITY, .ids = "7,8", .partitions = "small"}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_PRIORITY, .uids = "1001"}), 0);
}

/* A forecast of three thousand starts is more than a wake may make: it is made elsewhere, and comes
 * in parts. */
static void a_long_forecast_is_made_elsewhere(void **unused)
{
    struct job_spec spec = a_wide_job("many");
    struct str bytes = STR_INIT;
    spec.array = "0-2999";
    effects_reset(&w.fx);
    submit(spec);
    spec.array = NULL;
    uint64_t last = submit(spec);
    w.now += 5 * SEC; /* the forecast of the submissions is old by then */
    step((struct event){.kind = EV_CLOSED, .conn = CONN_OF(4)});
    step((struct event){.kind = EV_WAKE, .foresees = true});
    assert_true(core_foresee_due(w.c));
    core_foresee(w.c, w.now, &bytes);
    struct foreseen f = {.bytes = &bytes};
    step((struct event){.kind = EV_FORESEEN, .foreseen = &f});
    while (f.more)
        step((struct event){.kind = EV_FORESEEN, .foreseen = &f});
    assert_true(core_wake_due(w.c) <= w.now); /* promises are to be made anew */
    step((struct event){.kind = EV_WAKE, .foresees = true});
    assert_false(core_foresee_due(w.c));
    assert_true(job(last)->planned_us > w.now + USEC_PER_HOUR);
    str_done(&bytes);
}

static struct rows in_parts(struct msg_query q, size_t most, size_t *ret_parts)
{
    struct rows r = {.what = (enum query_what)q.what};
    struct view view = {row_take, &r};
    struct query_at at = {0};
    struct str detail = STR_INIT;
    *ret_parts = 0;
    do {
        r.refusal = core_query_part(w.c, &q, &w.peer, w.now, &view, &detail, &at, most);
        ++*ret_parts;
    } while (at.more);
    core_query_end(&at);
    str_done(&detail);
    return r;
}

/* What is read in parts is what is read at once, and a part is not more than it may be. */
static void parts_are_the_whole(void **unused)
{
    static const struct msg_query queries[] = {
        {.what = QUERY_NODES},
        {.what = QUERY_NODES, .names = "n[2-3]"},
        {.what = QUERY_NODES, .partitions = "small"},
        {.what = QUERY_NODES, .names = "n[1-2]", .partitions = "small"},
        {.what = QUERY_NODES, .names = "nobody"},
        {.what = QUERY_PARTITIONS},
        {.what = QUERY_PARTITIONS, .names = "small,none"},
        {.what = QUERY_PARTITIONS, .names = "none"},
        {.what = QUERY_JOBS, .names = "a,b", .nodes = "n1"},
        {.what = QUERY_JOBS, .partitions = "small", .uids = "1000"},
        {.what = QUERY_JOBS, .ids = "3,1,2,1,3"},
        {.what = QUERY_JOBS, .ids = "7"},
        {.what = QUERY_JOBS, .ids = "4_[0-2],4,4_1"},
        {.what = QUERY_STEPS, .ids = "1,1"},
        {.what = QUERY_IN_USE},
    };
    submit(a_job("a"));
    submit(a_wide_job("b"));
    submit(a_job("c"));
    struct job_spec s = a_job("array");
    s.array = "0-3";
    s.hold = true;
    submit(s);
    s.hold = false;
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = "4_[0-2]", .fields = "comment", .values = {&s, 1}});
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        size_t parts, whole;
        struct rows one = in_parts(queries[i], 1, &parts), all = in_parts(queries[i], 1000, &whole);
        assert_int_equal(one.refusal, all.refusal);
        assert_int_equal(one.row.n, all.row.n);
        assert_int_equal(whole, 1);
        for (size_t k = 0; k < one.row.n; k++)
            assert_true(record_equal(row_fields[queries[i].what], one.row.v[k], all.row.v[k]));
        assert_true(parts >= one.row.n);
        vec_done(&one.row);
        vec_done(&all.row);
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_NODES, .names = "n[2-3]"}), 2);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .nodes = "n1"}), 2);
}

static void bytes_count(void *ctx, const void *record)
{
    size_t *taken = ctx;
    *taken += strlen(((const struct job *)record)->spec.submit_line);
}

/* Rows are as long as their texts, which users give them: a part ends by bytes, too, also where
 * jobs are named, and the elements of one array. A part that may look at a thousand records has no
 * more than a MiB, as long as nobody else is about. */
static void a_part_of_long_rows_is_short(void **unused)
{
    static const char *const ids[] = {NULL, "1,2,3,4,5,6,7,8,9,10,11,12", "1", "1_[0-9],2"};
    enum { LINE = 300000 };
    char *line = arena_alloc(w.a, LINE + 1);
    memset(line, 1, LINE);
    struct job_spec s = a_job("long");
    s.submit_line = line;
    s.hold = true;
    s.array = "0-9";
    uint64_t id = submit(s);
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = "1_[0-9]", .fields = "name", .values = {&s, 1}});
    s.array = NULL;
    for (int i = 0; i < 10; i++)
        submit(s);
    assert_int_equal(id, 1);
    for (size_t i = 0; i < 2 * ARRAY_LEN(ids); i++) {
        struct msg_query q = {.what = QUERY_JOBS, .ids = ids[i / 2]};
        size_t taken = 0, before, all = count(q), most = i % 2 ? 1000 : 32;
        size_t bytes = i % 2 ? 1 << 20 : 32 * 16384;
        struct query_at at = {.taken = &taken};
        do {
            before = taken;
            assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now,
                                             &(struct view){bytes_count, &taken}, NULL, &at, most),
                             REFUSE_NONE);
            assert_true(taken - before <= bytes + LINE);
        } while (at.more);
        core_query_end(&at);
        assert_int_equal(taken, all * LINE);
    }
}

/* Of whose samples are kept: a run that the node has or had, and what is not known any more. */
static void what_a_node_had(void **unused)
{
    const char *here, *elsewhere;
    uint64_t id = submit(a_job("j"));
    wake();
    here = arena_strdup(w.a, job(id)->nodes);
    elsewhere = strcmp(here, "n1") == 0 ? "n2" : "n1";
    uint32_t run = job(id)->attempt;
    for (int over = 0; over < 2; over++) {
        assert_true(core_node_had(w.c, here, id, run));
        assert_false(core_node_had(w.c, elsewhere, id, run));
        assert_false(core_node_had(w.c, here, id, run + 1));
        assert_false(core_node_had(w.c, here, id, 0));
        assert_false(core_node_had(w.c, "nowhere", id, run));
        assert_false(core_node_had(w.c, here, id + 1, run)); /* a number that nobody was given */
        assert_false(core_node_had(w.c, here, 0, run));
        if (!over)
            script_ends(id, 0);
    }
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    assert_true(core_node_had(w.c, here, id, run));
    assert_false(core_node_had(w.c, elsewhere, id, run)); /* nor of a former run */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(jobs_are_found_by_what_they_are),
        STORY(an_ended_job_is_shown_when_asked_for),
        STORY(one_unknown_id_is_refused_among_several_it_is_left_out),
        STORY(a_job_named_twice_is_one_row),
        STORY(waiting_elements_are_one_row),
        STORY(filters_that_make_no_sense_are_refused),
        STORY(a_running_job_says_when_its_limit_ends),
        STORY(a_waiting_job_says_why),
        STORY(a_node_says_what_is_taken),
        STORY(a_job_being_cleaned_counts_as_such),
        STORY(a_partition_says_what_it_has),
        STORY(what_is_named_costs_what_there_is),
        STORY(priorities_in_parts_show_each_once),
        STORY(parts_are_the_whole),
        STORY(a_part_of_long_rows_is_short),
        STORY(a_long_forecast_is_made_elsewhere),
        STORY(steps_of_running_jobs),
        STORY(status_has_the_controller_and_each_node),
        STORY(what_a_node_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
