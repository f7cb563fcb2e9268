/* Much that is asked for at once is done a slice at a time: how much a wake does is bounded, and
 * whose it is goes round. */
#include "core_help.h"

#include <time.h>

/* Everybody else is served in between, and the answer comes when all are ended. */
static void many_are_cancelled_a_slice_at_a_time(void **unused)
{
    struct job_spec spec = a_job("many");
    struct msg_cancel m = {.uids = "1000"};
    struct message ask = {.kind = MSG_CANCEL, .seq = 77, .body = &m};
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
    assert_null(answer());
    assert_true(count((struct msg_query){.what = QUERY_JOBS}) == 300 - 128);
    step((struct event){.kind = EV_WAKE});
    assert_null(answer());
    assert_true(count((struct msg_query){.what = QUERY_JOBS}) == 300 - 2 * 128);
    settle(0);
    assert_non_null(answer());
    assert_int_equal(answer()->count, 300);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

/* What is done of a job is stored with its texts: of jobs with long ones a slice has fewer. */
static void a_slice_of_long_texts_is_short(void **unused)
{
    static const char *const all[] = {"1_[0-39]", NULL};
    char *line = arena_alloc(w.a, 1000001);
    memset(line, 'x', 1000000);
    struct job_spec spec = a_job("long");
    spec.hold = true;
    spec.array = "0-39";
    spec.submit_line = line;
    assert_int_equal(submit(spec), 1);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct msg_update_job update = {.ids = all[i], .fields = "name", .values = {&spec, 1}};
        struct msg_cancel cancel = {.uids = "1000"};
        struct message ask = {.kind = all[i] ? MSG_UPDATE_JOB : MSG_CANCEL,
                              .seq = 77,
                              .body = all[i] ? (void *)&update : &cancel};
        size_t wakes = 0;
        effects_reset(&w.fx);
        step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
        for (; !answer() && wakes < 100; wakes++)
            step((struct event){.kind = EV_WAKE});
        assert_in_range(wakes, 40 / 4, 40);
        assert_int_equal(answer()->count, 40);
    }
}

/* While others ask, the slices rest. */
static void slices_rest_while_others_ask(void **unused)
{
    struct job_spec spec = a_job("many");
    struct msg_cancel m = {.uids = "1000"};
    struct message ask = {.kind = MSG_CANCEL, .seq = 77, .body = &m};
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
    am_bob();
    uint64_t other = submit(a_job("other"));
    assert_true(core_wake_due(w.c) > w.now);
    w.now += SEC / 100;
    effects_reset(&w.fx);
    while (core_wake_due(w.c) <= w.now || !answer()) {
        settle(0);
        w.now += SEC / 100;
    }
    assert_int_equal(answer()->count, 300);
    assert_int_equal(state(other), JOB_RUNNING);
}

static void ask_cancel_all(bool hurry)
{
    struct msg_cancel m = {.uids = w.peer.uid == ALICE ? "1000" : "1001"};
    struct message ask = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &m};
    step((struct event){
        .kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask, .hurry = hurry});
}

/* Where others wait a wake ends few jobs, of one request, and looks at a bounded number; users take
 * turns, however many requests each has. */
static void sweeps_are_bounded_and_go_round_over_users(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 200; i++)
        submit(spec);
    am_bob();
    for (int i = 0; i < 100; i++)
        submit(spec);
    am_alice();
    for (int i = 0; i < 3; i++)
        ask_cancel_all(true);
    uint64_t left = count((struct msg_query){.what = QUERY_JOBS, .uids = "1000"});
    assert_int_equal(left, 200 - 3 * 16);
    am_bob();
    ask_cancel_all(true);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1001"}), 100 - 16);
    uint64_t all = left + 100 - 16;
    for (int wakes = 0; wakes < 10; wakes++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
        uint64_t now = count((struct msg_query){.what = QUERY_JOBS});
        assert_in_range(all - now, 1, 16);
        all = now;
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1001"}),
                     100 - 16 - 5 * 16);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1000"}), left - 5 * 16);
}

static void requests_that_are_worked_off_are_few(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 65 * 16 + 100; i++)
        submit(spec);
    for (int i = 0; i < 64; i++)
        ask_cancel_all(true);
    effects_reset(&w.fx);
    ask_cancel_all(true);
    assert_non_null(answer());
    assert_int_equal(answer()->refusal, REFUSE_BUSY);
}

/* What came after the request is not meant by it. */
static void a_sweep_spares_what_came_later(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    ask_cancel_all(false);
    uint64_t later = submit(spec);
    settle(0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 1);
    assert_int_equal(state(later), JOB_PENDING);
}

/* The clock is set back by an hour while slices rest: they go on. */
static void a_sweep_outlives_a_clock_that_is_set(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 100; i++)
        submit(spec);
    ask_cancel_all(true);
    w.now -= 60 * MIN;
    step((struct event){.kind = EV_WAKE});
    for (int i = 0; i < 20 && core_wake_due(w.c) <= w.now + SEC; i++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

/* While the planner rests a wake does all but plan. */
static void a_planner_that_rests_plans_afterwards(void **unused)
{
    step((struct event){.kind = EV_WAKE, .plan_rests = true});
    uint64_t id = submit(a_job("waits"));
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(core_wake_due(w.c) > w.now);
    step((struct event){.kind = EV_WAKE});
    assert_int_equal(state(id), JOB_RUNNING);
}

/* ---- requests with lists ---- */

/* "1,2,…": as many new jobs as that, held. */
static const char *many_jobs(int n)
{
    struct job_spec spec = a_job("many");
    struct str ids = STR_INIT;
    spec.hold = true;
    for (int i = 0; i < n; i++)
        str_addf(&ids, "%s%llu", i ? "," : "", (unsigned long long)submit(spec));
    const char *text = arena_strdup(w.a, str_text(&ids));
    str_done(&ids);
    return text;
}

static void ask_for(enum message_kind kind, const void *body, uint64_t request, uint64_t conn)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .request = request, .body = body};
    effects_reset(&w.fx);
    step((struct event){
        .kind = EV_MESSAGE, .conn = conn, .peer = &w.peer, .msg = &m, .hurry = true});
}

/* Each wake does a bounded number, whatever the request is; then it is answered, with what did not
 * go. */
static void listed_jobs_are_gone_through_a_slice_at_a_time(void **unused)
{
    am_bob();
    uint64_t bobs = submit(a_job("bobs"));
    am_alice();
    const char *ids = arena_printf(w.a, "%s,%llu,9999", many_jobs(100), (unsigned long long)bobs);
    struct job_spec values = a_job("many");
    values.comment = "seen";
    struct msg_update_job update = {.ids = ids, .fields = "comment", .values = {&values, 1}};
    struct msg_job_control release = {.ids = ids, .action = ACTION_UHOLD};
    struct msg_cancel cancel = {.ids = ids};
    const struct {
        enum message_kind kind;
        const void *body;
    } asked[] = {{MSG_UPDATE_JOB, &update}, {MSG_JOB_CONTROL, &release}, {MSG_CANCEL, &cancel}};
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        int wakes = 0;
        ask_for(asked[i].kind, asked[i].body, 0, 1);
        assert_null(answer());
        for (; !answer(); wakes++) {
            assert_true(wakes < 20);
            w.now += SEC / 100;
            step((struct event){.kind = EV_WAKE});
        }
        assert_int_equal(wakes, 6); /* 16 jobs each, the first at once */
        assert_int_equal(answer()->count, 100);
        assert_int_equal(answer()->results.n, 2);
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1000"}), 0);
    assert_int_equal(state(bobs), JOB_RUNNING);
}

/* Fields named again and again are one: looked for in the list for each of a hundred jobs they cost
 * seconds. */
static void fields_that_are_named_again_are_read_once(void **unused)
{
    (void)unused;
    struct str fields = STR_INIT;
    am_alice();
    const char *ids = many_jobs(100);
    struct job_spec values = a_job("many");
    values.comment = "seen";
    for (int i = 0; i < 16000; i++)
        str_addf(&fields, "%scomment", i ? "," : "");
    struct msg_update_job update = {
        .ids = ids, .fields = str_text(&fields), .values = {&values, 1}};
    clock_t began = clock();
    say(1, MSG_UPDATE_JOB, &update);
    for (int wakes = 0; !answer(); wakes++) {
        assert_true(wakes < 20);
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(answer()->count, 100);
    assert_in_range(clock() - began, 0, 2 * CLOCKS_PER_SEC); /* of this process, sanitized */
    str_done(&fields);
}

/* Elements of an array that are named become records a few at a time, too; those that are not named
 * stay. */
static void listed_elements_are_gone_through_a_slice_at_a_time(void **unused)
{
    struct job_spec spec = a_job("array");
    spec.hold = true;
    spec.array = "0-199";
    uint64_t id = submit(spec);
    struct msg_cancel m = {.ids = arena_printf(w.a, "%llu_[0-149]", (unsigned long long)id)};
    ask_for(MSG_CANCEL, &m, 0, 1);
    assert_null(answer());
    assert_string_equal(job(id)->array_pending, "16-199");
    while (!answer()) {
        w.now += SEC / 100;
        settle(0);
    }
    assert_int_equal(answer()->count, 150);
    assert_string_equal(job(id)->array_pending, "150-199");
    struct msg_cancel rest = {.ids = arena_printf(w.a, "%llu", (unsigned long long)id)};
    say(1, MSG_CANCEL, &rest);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "PENDING"}), 0);
}

/* Of a whole array those that are over are no failure, as long as there is one that is not; if all
 * are, nothing was done, and it is said of which. A hold says it at once. */
static void an_array_that_is_over_refuses_what_is_asked_of_all_of_it(void **unused)
{
    (void)unused;
    struct job_spec values = a_job("array");
    values.hold = true;
    values.array = "0-3";
    uint64_t id = submit(values);
    const char *ids = arena_printf(w.a, "%llu", (unsigned long long)id);
    struct msg_cancel two = {.ids = arena_printf(w.a, "%s_[0-1]", ids)}, all = {.ids = ids},
                      signal = {.ids = ids, .signal = 15};
    struct msg_update_job update = {.ids = ids, .fields = "comment", .values = {&values, 1}};
    struct msg_job_control hold = {.ids = ids, .action = ACTION_HOLD};
    const struct {
        enum message_kind kind;
        const void *body;
        enum refusal refusal, first;
        const char *elements; /* NULL = nothing is said of any */
    } asked[] = {
        {MSG_CANCEL, &two, REFUSE_NONE, REFUSE_NONE, NULL},
        {MSG_UPDATE_JOB, &update, REFUSE_NONE, REFUSE_NONE, NULL},
        {MSG_JOB_CONTROL, &hold, REFUSE_NONE, REFUSE_JOB_FINISHED, "0-1"},
        {MSG_CANCEL, &signal, REFUSE_NOT_RUNNING, REFUSE_NOT_RUNNING, "2-3"},
        {MSG_CANCEL, &all, REFUSE_NONE, REFUSE_NONE, NULL},
        {MSG_CANCEL, &all, REFUSE_ALREADY_DONE, REFUSE_ALREADY_DONE, "0-3"},
        {MSG_CANCEL, &signal, REFUSE_ALREADY_DONE, REFUSE_ALREADY_DONE, "0-3"},
        {MSG_UPDATE_JOB, &update, REFUSE_JOB_FINISHED, REFUSE_JOB_FINISHED, "0-3"},
        {MSG_JOB_CONTROL, &hold, REFUSE_JOB_FINISHED, REFUSE_JOB_FINISHED, "0-3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        say(1, asked[i].kind, asked[i].body);
        const struct result *said = answer()->results.v;
        assert_int_equal(answer()->refusal, asked[i].refusal);
        assert_int_equal(answer()->results.n, asked[i].elements ? 1 : 0);
        if (!asked[i].elements)
            continue;
        assert_int_equal(said->refusal, asked[i].first);
        assert_string_equal(said->ref, ids);
        assert_string_equal(said->elements, asked[i].elements);
    }
}

/* That another array of the same request was reached says nothing of this one. */
static void each_array_of_a_request_is_told_of_for_itself(void **unused)
{
    (void)unused;
    struct job_spec values = a_job("array");
    values.hold = true;
    values.array = "0-1";
    unsigned long long over = submit(values), there = submit(values);
    assert_int_equal(cancel(arena_printf(w.a, "%llu_0", over)), REFUSE_NONE);
    assert_int_equal(cancel(arena_printf(w.a, "%llu_1", over)), REFUSE_NONE);
    struct msg_cancel both = {.ids = arena_printf(w.a, "%llu,%llu", there, over)};
    say(1, MSG_CANCEL, &both);
    while (!answer()) {
        w.now += SEC / 100;
        settle(0);
    }
    assert_int_equal(answer()->results.n, 1);
    const struct result *said = answer()->results.v;
    assert_int_equal(said->refusal, REFUSE_ALREADY_DONE);
    assert_string_equal(said->elements, "0-1");
}

/* A name is looked for in all jobs there are: some of them a wake, however few have it. */
static void jobs_of_a_name_are_looked_for_a_slice_at_a_time(void **unused)
{
    struct msg_job_control m = {.ids = "name=rare", .action = ACTION_UHOLD};
    struct job_spec spec = a_job("rare");
    spec.begin_us = w.now + 1000 * SEC;
    uint64_t first = submit(spec);
    many_jobs(2500);
    uint64_t last = submit(spec);
    am_bob();
    uint64_t bobs = submit(spec);
    am_alice();
    ask_for(MSG_JOB_CONTROL, &m, 0, 1);
    assert_null(answer());
    uint64_t later = submit(spec);
    int wakes = 0;
    effects_reset(&w.fx);
    for (; !answer(); wakes++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_in_range(wakes, 2, 4);
    assert_int_equal(answer()->count, 2);
    assert_true(job(first)->spec.hold && job(last)->spec.hold);
    assert_false(job(bobs)->spec.hold || job(later)->spec.hold);
    m.ids = "name=nobodys";
    ask_for(MSG_JOB_CONTROL, &m, 0, 1);
    while (!answer()) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(answer()->refusal, REFUSE_INVALID_JOB_ID);
}

/* The connection breaks, and the command asks again: it hears the end of the request that is under
 * way, and once more the same when that is over. */
static void a_request_that_is_asked_again_is_worked_off_once(void **unused)
{
    struct msg_job_control m = {.ids = many_jobs(100), .action = ACTION_UHOLD};
    ask_for(MSG_JOB_CONTROL, &m, 4711, 1);
    ask_for(MSG_JOB_CONTROL, &m, 4711, 2);
    assert_null(answer());
    effects_reset(&w.fx);
    while (!answer()) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    size_t replies = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY) {
            assert_int_equal(w.fx.v[i].conn, 2);
            replies++;
        }
    assert_int_equal(replies, 1);
    assert_int_equal(core_wake_due(w.c) > w.now, true);
    ask_for(MSG_JOB_CONTROL, &m, 4711, 3);
    assert_non_null(answer());
    assert_int_equal(answer()->count, 100);
}

static size_t answers_kept(void)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_ANSWERED;
    return n;
}

/* What changed something is answered once, whenever that was; of what changed nothing nothing is
 * kept: asked again it is looked at again. */
static void an_answer_is_kept_of_what_changed_something(void **unused)
{
    struct msg_job_control m = {.ids = many_jobs(100), .action = ACTION_RESUME};
    ask_for(MSG_JOB_CONTROL, &m, 4711, 1); /* they wait */
    for (int i = 0; i < 20; i++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(answers_kept(), 0);
    static const int of[] = {3, 100}; /* in one turn, and in several */
    for (int i = 0; i < 2; i++) {
        struct msg_cancel cancel = {.ids = many_jobs(of[i])};
        ask_for(MSG_CANCEL, &cancel, 4712 + (uint64_t)i, 1);
        for (int wakes = 0; wakes < 20; wakes++) {
            w.now += SEC / 100;
            step((struct event){.kind = EV_WAKE});
        }
        assert_int_equal(answers_kept(), 1);
    }
}

/* The command was interrupted, or its host is gone: what it asked for is done to its end all the
 * same. */
static void what_was_asked_goes_on_without_its_command(void **unused)
{
    struct msg_cancel m = {.ids = many_jobs(100)};
    ask_for(MSG_CANCEL, &m, 0, 1);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 100 - 16);
    step((struct event){.kind = EV_CLOSED, .conn = 1});
    for (int wakes = 0; wakes < 6; wakes++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

/* A user with as many requests under way as may be is told how far this one came. */
static void lists_beyond_the_bound_are_cut(void **unused)
{
    struct msg_cancel m = {.ids = many_jobs(17)};
    many_jobs(64 * 16 + 100);
    for (int i = 0; i < 64; i++)
        ask_cancel_all(true);
    m.ids = many_jobs(17);
    ask_for(MSG_CANCEL, &m, 0, 1);
    assert_non_null(answer());
    assert_int_equal(answer()->count, 16);
    assert_int_equal(answer()->results.n, 1);
    const struct result *left = answer()->results.v;
    assert_int_equal(left->refusal, REFUSE_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(many_are_cancelled_a_slice_at_a_time),
        STORY(slices_rest_while_others_ask),
        STORY(a_slice_of_long_texts_is_short),
        STORY(sweeps_are_bounded_and_go_round_over_users),
        STORY(requests_that_are_worked_off_are_few),
        STORY(a_sweep_spares_what_came_later),
        STORY(a_sweep_outlives_a_clock_that_is_set),
        STORY(a_planner_that_rests_plans_afterwards),
        STORY(listed_jobs_are_gone_through_a_slice_at_a_time),
        STORY(fields_that_are_named_again_are_read_once),
        STORY(listed_elements_are_gone_through_a_slice_at_a_time),
        STORY(an_array_that_is_over_refuses_what_is_asked_of_all_of_it),
        STORY(each_array_of_a_request_is_told_of_for_itself),
        STORY(jobs_of_a_name_are_looked_for_a_slice_at_a_time),
        STORY(a_request_that_is_asked_again_is_worked_off_once),
        STORY(an_answer_is_kept_of_what_changed_something),
        STORY(what_was_asked_goes_on_without_its_command),
        STORY(lists_beyond_the_bound_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
