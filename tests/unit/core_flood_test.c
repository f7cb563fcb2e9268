/* What one user can make the controller keep: bounded, however he asks. */
#include "core_help.h"

#include "model/limits.h"

static size_t stored(enum store_table table)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == table;
    return n;
}

/* A submission of 128 components, each with the script and the environment of all, would take 128
 * times their room. */
static void components_share_their_script(void **unused)
{
    struct job_spec spec[3] = {a_job("a"), a_job("b"), a_job("c")};
    assert_int_equal(submit_all(spec, 3), 1);
    assert_int_equal(stored(TABLE_PAYLOAD), 1);
    for (uint64_t id = 1; id <= 3; id++) {
        say(1, MSG_GET_SCRIPT, &(struct msg_get_script){.job_id = id});
        assert_int_equal(sent(FX_REPLY, MSG_SCRIPT), 1);
        assert_int_equal(w.fx.v[0].payload_job, 1);
    }
}

/* Calls that are answered later: each end of a job looks through all of them. */
static void calls_are_bounded_for_each_user(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    struct msg_wait_job wait = {.job_id = submit(held)};
    for (size_t i = 0; i < LIMIT_CALLS_PER_USER; i++) {
        say(1, MSG_WAIT_JOB, &wait);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    say(1, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_BUSY);
    assert_int_not_equal(submit(held), 0); /* what is answered at once goes on */
    am_bob();
    say(2, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_NONE);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = 1});
    am_alice();
    say(3, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* ---- what others have to look at ---- */

static uint64_t after(const char *dependency)
{
    struct job_spec s = a_job("after");
    s.dependency = dependency;
    return submit(s);
}

/* So many conditions, on one job. */
static const char *conditions(uint64_t id, int n)
{
    struct str text = STR_INIT;
    str_add(&text, "afterany");
    for (int i = 0; i < n; i++)
        str_addf(&text, ":%llu", (unsigned long long)id);
    const char *kept = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    return kept;
}

/* Each end of the job would look at each condition of each of those that wait. */
static void crowds_that_wait_with_crowds_of_conditions_are_bounded(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t one = submit(held);
    for (int i = 0; i < 300; i++)
        assert_int_not_equal(after(conditions(one, 1)), 0);
    assert_int_equal(after(conditions(one, 4000)), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
    assert_non_null(strstr(answer()->detail, "300 jobs wait for job"));
    assert_int_equal(after(conditions(one, 900)),
                     0); /* 301 × 900: each is looked at when it ends */
    assert_int_not_equal(after(conditions(one, 800)), 0);
    assert_int_not_equal(after(conditions(one, 1)), 0);
}

static void never_a_row(void *ctx, const void *record)
{
    fail_msg("what is refused has no rows");
}

/* Lists of nodes that name each again and again: to multiply them out, and to find each name, took
 * a tenth of a second for one request, and a second and a half where the nearest that works was
 * looked for. */
static void nodes_are_not_named_again_and_again(void **unused)
{
    const char *twice = "n[1-4],n[1-4]", *often = "n[1-2],n[1-4],n[0-4999]";
    struct job_spec s = a_job("nodes"), values = {.req.exclude = often};
    s.req.nodelist = twice;
    uint64_t id = submit(s);
    assert_int_not_equal(id, 0);
    s.req.nodelist = often;
    assert_int_equal(submit(s), 0);
    assert_int_equal(refusal(), REFUSE_INVALID_NODE);
    assert_non_null(strstr(answer()->detail, "name each once"));
    s.req.nodelist = NULL;
    s.req.exclude = often;
    assert_int_equal(submit(s), 0);
    assert_int_equal(refusal(), REFUSE_INVALID_NODE);
    struct msg_update_job update = {.ids = ids_of(id), .fields = "exclude", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &update);
    assert_int_not_equal(refusal(), REFUSE_NONE);
    values = (struct job_spec){.req.nodelist = often};
    update.fields = "nodelist";
    say(1, MSG_UPDATE_JOB, &update);
    assert_int_not_equal(refusal(), REFUSE_NONE);
    say(1, MSG_CANCEL, &(struct msg_cancel){.nodes = often});
    assert_int_not_equal(refusal(), REFUSE_NONE);
    const struct view nobody = {.row = never_a_row};
    static const enum query_what what[] = {QUERY_JOBS, QUERY_NODES};
    for (size_t i = 0; i < ARRAY_LEN(what); i++) {
        struct str detail = STR_INIT;
        struct msg_query q = {.what = (int32_t)what[i],
                              .names = what[i] == QUERY_NODES ? often : NULL,
                              .nodes = what[i] == QUERY_JOBS ? often : NULL};
        assert_int_equal(core_query(w.c, &q, &w.peer, w.now, &nobody, &detail),
                         REFUSE_INVALID_NODE);
        assert_non_null(strstr(str_text(&detail), "name each once"));
        str_done(&detail);
    }
}

static enum refusal remark(const char *ids)
{
    struct job_spec values = {.comment = "x"};
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = ids, .fields = "comment", .values = {&values, 1}});
    return refusal();
}

/* Each element that becomes a job of its own waits for all that its array waits for. */
static void elements_do_not_pass_the_bound_of_crowds(void **unused)
{
    struct job_spec array = a_job("array"), held = a_job("held");
    held.hold = true;
    array.array = "0-999";
    array.dependency = conditions(submit(held), 1000);
    unsigned long long id = submit(array);
    assert_int_equal(remark(arena_printf(w.a, "%llu_[0-899]", id)), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->results.n
                               ? ((const struct result *)answer()->results.v)->detail
                               : answer()->detail,
                           "let one job wait for these"));
    assert_int_equal(remark(arena_printf(w.a, "%llu_[0-99]", id)), REFUSE_NONE);
    assert_int_equal(remark(arena_printf(w.a, "%llu_[100-289]", id)), REFUSE_TOO_LARGE);
    assert_int_equal(remark(arena_printf(w.a, "%llu_100", id)), REFUSE_NONE);
    configure(CONF "MaxUserTexts=1\n"); /* what they take of it, those already have */
    assert_int_equal(remark(arena_printf(w.a, "%llu_[101-110]", id)), REFUSE_TOO_LARGE);
    configure(CONF);
    assert_int_equal(remark(arena_printf(w.a, "%llu_[101-110]", id)), REFUSE_NONE);
    array.dependency = NULL; /* who waits for nothing may be any number */
    array.hold = true;
    id = submit(array);
    assert_int_equal(remark(arena_printf(w.a, "%llu_[0-899]", id)), REFUSE_NONE);
}

/* Each becomes a job of its own, in memory and in the store. */
static void a_request_splits_off_so_many_elements(void **unused)
{
    struct job_spec array = a_job("array");
    configure("ClusterName=t\nMaxArraySize=50000\nMaxJobCount=100000\n"
              "NodeName=n[1-2] CPUs=4 RealMemory=4000\n"
              "PartitionName=p Nodes=ALL Default=YES\n");
    array.array = "0-19999";
    array.hold = true;
    unsigned long long id = submit(array);
    assert_int_equal(remark(arena_printf(w.a, "%llu_[0-16384]", id)), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->results.n
                               ? ((const struct result *)answer()->results.v)->detail
                               : answer()->detail,
                           "more than 16384 elements"));
    assert_int_equal(remark(arena_printf(w.a, "%llu_[0-99]", id)), REFUSE_NONE);
}

/* 128 components, each with four thousand conditions, were looked at for seconds. */
static void components_share_what_they_may_wait_for(void **unused)
{
    struct job_spec spec[8], held = a_job("held");
    held.hold = true;
    const char *text = conditions(submit(held), 2000);
    for (size_t i = 0; i < 8; i++) {
        spec[i] = a_job("component");
        spec[i].dependency = text;
    }
    assert_int_equal(submit_all(spec, 5), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
    assert_non_null(strstr(answer()->detail, "8192 conditions together"));
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 1);
    assert_int_not_equal(submit_all(spec, 4), 0);
}

/* A partition that is named twenty thousand times was looked at as often, several times over. */
static void partitions_are_looked_at_once(void **unused)
{
    struct str text = STR_INIT;
    for (int i = 0; i < 10000; i++)
        str_addf(&text, "%smain, small", i ? "," : "");
    struct job_spec spec = a_job("often"), values = {.req = {.partition = str_text(&text)}};
    spec.hold = true;
    spec.req.partition = "main,main"; /* no more than there are: as it was said, as in Slurm */
    uint64_t id = submit(spec);
    assert_string_equal(job(id)->spec.req.partition, "main,main");
    spec.req.partition = str_text(&text);
    uint64_t other = submit(spec);
    assert_string_equal(job(other)->spec.req.partition, "main,small");
    struct msg_update_job m = {.ids = ids_of(id), .fields = "partition", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_string_equal(job(id)->spec.req.partition, "main,small");
    str_done(&text);
}

/* Whether one of them waits for the job is looked for in a bounded number of conditions. */
static void a_circle_is_looked_for_so_far(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t end = submit(held), other = submit(held), last = end, one = submit(held);
    assert_int_not_equal(after(conditions(one, 1)), 0);
    for (int i = 0; i < 70; i++) {
        last = after(arena_printf(w.a, "%s,afterany:%llu", conditions(i % 2 ? end : other, 4000),
                                  (unsigned long long)last));
        assert_int_not_equal(last, 0);
    }
    struct job_spec values = {.dependency = conditions(last, 1)};
    struct msg_update_job m = {.ids = ids_of(one), .fields = "dependency", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_not_equal(refusal(), REFUSE_NONE);
    assert_int_equal(job(one)->spec.dependency == NULL, true);
    assert_int_not_equal(after(conditions(last, 1)), 0); /* for whom nobody waits may */
}

/* They take ten times the room of their text. */
static void conditions_count_as_texts(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    configure(CONF "MaxUserTexts=1\n");
    const char *text = conditions(submit(held), 4000);
    int n = 0;
    while (n < 20 && after(text))
        n++;
    assert_in_range(n, 6, 9);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_int_equal(cancel("1"), REFUSE_NONE); /* they are let go, and forgotten */
    assert_int_not_equal(after(NULL), 0);
    pass(400 * SEC);
    am_bob();
    assert_int_not_equal(submit(held), 0);
}

/* before:ARRAY:ARRAY:… looks at each of its elements as often. */
static void what_before_names_is_bounded(void **unused)
{
    struct job_spec array = a_job("array");
    struct str text = STR_INIT;
    array.array = "0-199";
    array.hold = true;
    array.dependency = "on:4096";
    uint64_t id = submit(array);
    assert_int_not_equal(id, 0);
    for (int i = 0; i < 190; i++)
        control(arena_printf(w.a, "%llu_%d", (unsigned long long)id, i), ACTION_RELEASE);
    str_add(&text, "before");
    for (int i = 0; i < 400; i++)
        str_addf(&text, ":%llu", (unsigned long long)id);
    assert_int_equal(after(str_text(&text)), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
    assert_non_null(strstr(answer()->detail, "name each array once"));
    str_done(&text);
    assert_int_not_equal(after(arena_printf(w.a, "before:%llu", (unsigned long long)id)), 0);
}

/* An array of very many elements, named again and again, took all memory there was. */
static void what_why_names_is_looked_at_once(void **unused)
{
    struct job_spec array = a_job("array");
    struct str ids = STR_INIT;
    array.array = "0-299";
    array.hold = true;
    unsigned long long id = submit(array);
    assert_int_equal(remark(arena_printf(w.a, "%llu_[0-299]", id)), REFUSE_NONE);
    while (ids.len < 60000)
        str_addf(&ids, "%s%llu", ids.len ? "," : "", id);
    say(1, MSG_WHY, &(struct msg_why){.ids = str_text(&ids)});
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "name each once"));
    str_done(&ids);
}

/* ---- the controller's memory ---- */

static char long_text[60001];

static struct job_spec a_talker(void)
{
    struct job_spec s = a_job("talker");
    memset(long_text, 'x', sizeof long_text - 1);
    s.hold = true;
    s.comment = long_text;
    return s;
}

static size_t talkers_taken(size_t most)
{
    size_t n = 0;
    while (n < most && submit(a_talker()))
        n++;
    return n;
}

static enum refusal comment(uint64_t id, const char *text)
{
    struct job_spec values = {.comment = text};
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = ids_of(id), .fields = "comment", .values = {&values, 1}});
    return refusal();
}

/* A MiB holds 17 comments of 60,000 bytes; short ones are not counted. */
static void long_texts_are_bounded_for_each_user(void **unused)
{
    struct job_spec quiet = a_job("quiet");
    quiet.hold = true;
    configure(CONF "MaxUserTexts=1\n");
    assert_int_equal(talkers_taken(50), 17);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "MaxUserTexts allows 1"));
    uint64_t one = submit(quiet);
    assert_int_not_equal(one, 0);
    assert_int_equal(comment(one, long_text), REFUSE_TOO_LARGE);
    am_bob();
    assert_int_equal(talkers_taken(50), 17);
    am_root();
    assert_int_equal(talkers_taken(30), 30);
    am_alice();
    restart(CONF "MaxUserTexts=1\n"); /* it is counted anew */
    assert_int_equal(talkers_taken(50), 0);
    assert_int_equal(comment(1, "short"), REFUSE_NONE);
    assert_int_equal(talkers_taken(50), 1);
    assert_int_equal(cancel("2"), REFUSE_NONE);
    assert_int_equal(talkers_taken(50), 0); /* it is there still, for squeue */
    pass(400 * SEC);
    assert_int_equal(talkers_taken(50), 1);
}

/* An array holds its texts once, however many elements become records. */
static void elements_share_their_texts(void **unused)
{
    struct job_spec array = a_talker();
    array.array = "0-99";
    configure(CONF "MaxUserTexts=1\n");
    uint64_t id = submit(array);
    assert_int_not_equal(id, 0);
    for (int i = 0; i < 40; i++)
        assert_int_equal(
            control(arena_printf(w.a, "%llu_%d", (unsigned long long)id, i), ACTION_RELEASE),
            REFUSE_NONE);
    assert_int_equal(talkers_taken(50), 16);
}

/* ---- its disk ---- */

static size_t scripts_taken(size_t most, size_t bytes)
{
    struct job_spec s = a_job("script");
    struct msg_submit m = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}};
    size_t n = 0;
    s.hold = true;
    m.env = (struct blob){xcalloc(1, bytes), bytes};
    for (; n < most; n++) {
        say(1, MSG_SUBMIT, &m);
        if (refusal())
            break;
    }
    free((void *)(uintptr_t)m.env.data);
    return n;
}

static void scripts_are_bounded_for_each_user_and_day(void **unused)
{
    const size_t mib = 1u << 20;
    configure(CONF "MaxUserScripts=6\n");
    assert_int_equal(scripts_taken(50, mib), 5); /* with their scripts the sixth is too much */
    assert_non_null(strstr(answer()->detail, "MaxUserScripts allows 6 a day"));
    am_bob();
    assert_int_equal(scripts_taken(50, mib), 5);
    am_olga();
    assert_int_equal(scripts_taken(10, mib), 10);
    am_alice();
    for (int i = 0; i < 100; i++) {   /* asking often does not hold the clock */
        w.now += 20 * SEC - SEC / 10; /* that pays the row of its job, too */
        scripts_taken(1, 0);
    }
    assert_int_equal(scripts_taken(50, mib), 1);
    w.now += 24 * 60 * MIN;
    assert_int_equal(scripts_taken(50, mib), 5);
    configure(CONF "MaxUserScripts=0\n");
    assert_int_equal(scripts_taken(10, mib), 10);
}

/* What is over is not in memory any more, but on the disk: jobs, their elements, their former runs
 * and their steps, each with a command line as long as it may be. */
static void long_texts_stay_on_the_disk(void **unused)
{
    struct job_spec talker = a_talker();
    configure(CONF "MaxUserScripts=6\n");
    for (int day = 0; day < 3; day++, w.now += 24 * 60 * MIN) {
        size_t n = 0;
        for (uint64_t id; n < 500 && (id = submit(talker)) != 0; n++)
            assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        assert_in_range(n, 100, 105);
    }
    w.now -= 25 * 60 * MIN; /* the clock is set */
    assert_int_equal(submit(talker), 0);
    assert_non_null(strstr(answer()->detail, "MaxUserScripts allows 6 a day"));
    w.now += 25 * 60 * MIN;
    talker.array = "0-99";
    assert_int_not_equal(submit(talker), 0);
    assert_int_equal(submit(talker), 0);
    am_bob();
    struct job_spec quiet = a_job("quiet");
    quiet.hold = true;
    quiet.array = "0-199";
    uint64_t id = submit(quiet);
    assert_int_equal(comment(id, long_text), REFUSE_TOO_LARGE);
    am_root();
    assert_int_equal(comment(id, long_text), REFUSE_NONE);
}

static void former_runs_and_steps_stay_on_the_disk(void **unused)
{
    struct job_spec talker = a_talker();
    talker.hold = false;
    configure(CONF "MaxUserScripts=1\n");
    uint64_t id = submit(talker);
    size_t runs = 0;
    for (; runs < 50; runs++) {
        assert_int_equal(state(id), JOB_RUNNING);
        struct msg_report gone = {.kind = REPORT_RELEASED,
                                  .job_id = id,
                                  .attempt = job(id)->attempt,
                                  .step_id = STEP_BATCH};
        if (control(ids_of(id), ACTION_REQUEUE))
            break;
        report(1, gone);
        pass(130 * SEC);
    }
    assert_int_equal(runs, 16);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    am_bob();
    id = submit(talker);
    assert_int_equal(state(id), JOB_RUNNING);
    size_t steps = 0;
    struct job_spec spec = a_talker();
    struct msg_create_step m = {.job_id = id, .spec = {&spec, 1}, .overlap = true};
    for (; steps < 50; steps++) {
        say(1, MSG_CREATE_STEP, &m);
        if (sent(FX_REPLY, MSG_DONE))
            break;
    }
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_true(steps >= 15 && steps <= 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(components_share_their_script),
        STORY(calls_are_bounded_for_each_user),
        STORY(crowds_that_wait_with_crowds_of_conditions_are_bounded),
        STORY(nodes_are_not_named_again_and_again),
        STORY(elements_do_not_pass_the_bound_of_crowds),
        STORY(a_request_splits_off_so_many_elements),
        STORY(components_share_what_they_may_wait_for),
        STORY(partitions_are_looked_at_once),
        STORY(a_circle_is_looked_for_so_far),
        STORY(conditions_count_as_texts),
        STORY(what_before_names_is_bounded),
        STORY(what_why_names_is_looked_at_once),
        STORY(long_texts_are_bounded_for_each_user),
        STORY(elements_share_their_texts),
        STORY(scripts_are_bounded_for_each_user_and_day),
        STORY(long_texts_stay_on_the_disk),
        STORY(former_runs_and_steps_stay_on_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
