/* MaxJobCount: how many jobs the controller keeps, and how many of them may be one user's. */
#include "core_help.h"

static const char *conf_of(int jobs)
{
    return arena_printf(w.a,
                        "ClusterName=t\nMaxJobCount=%d\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"
                        "PartitionName=p Nodes=ALL Default=YES\n",
                        jobs);
}

static void room_for(int jobs)
{
    configure(conf_of(jobs));
}

static size_t fills(uint32_t uid)
{
    struct job_spec held = a_job("held");
    size_t n = 0;
    held.hold = true;
    am(uid, arena_printf(w.a, "user%u", uid), false);
    while (submit(held))
        n++;
    assert_int_equal(refusal(), REFUSE_QUEUE_FULL);
    return n;
}

/* However many one user has, there is room for the next, who may have most of it. */
static void nobody_fills_the_queue_alone(void **unused)
{
    room_for(1000);
    assert_in_range(fills(2001), 899, 901);
    assert_non_null(strstr(answer()->detail, "one user may have 9 times what is left"));
    assert_in_range(fills(2002), 88, 92);
    assert_in_range(fills(2003), 8, 10);
    am_root(); /* operators go on until it is full */
    struct job_spec held = a_job("held");
    held.hold = true;
    size_t n = 0;
    while (submit(held))
        n++;
    assert_in_range(n, 1, 3);
    assert_string_equal(answer()->detail, "the queue is full: MaxJobCount is 1000");
}

static void a_small_queue_may_be_one_users(void **unused)
{
    for (int most = 1; most <= 8; most++) {
        room_for(most);
        assert_int_equal(fills(2001), most);
        assert_non_null(strstr(answer()->detail, "the queue is full: MaxJobCount is"));
        cancel("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,"
               "31,32,33,34,35,36");
        pass(400 * USEC_PER_SEC); /* MinJobAge: they leave the memory */
    }
}

/* Elements count once they have records of their own, of whatever user; what is forgotten does not,
 * nor does a restart count anything twice. */
static void what_has_a_record_counts(void **unused)
{
    struct job_spec array = a_job("array");
    array.hold = true;
    array.array = "0-4999";
    room_for(100);
    am_alice();
    unsigned long long id = submit(array);
    assert_int_not_equal(id, 0);
    struct job_spec values = {.comment = "mine"};
    struct msg_update_job m = {
        .ids = arena_printf(w.a, "%llu_[0-79]", id), .fields = "comment", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    pass(1);
    size_t n = 0;
    array.array = NULL;
    while (submit(array))
        n++;
    assert_in_range(n, 8, 10); /* beside 81 records */
    restart(conf_of(100));
    am_alice();
    assert_int_equal(submit(array), 0);
    assert_int_equal(refusal(), REFUSE_QUEUE_FULL);
    am_bob();
    assert_int_not_equal(submit(array), 0);
    am_alice();
    cancel(arena_printf(w.a, "%llu", id));
    pass(400 * USEC_PER_SEC);
    assert_int_not_equal(submit(array), 0);
}

static enum refusal remark(unsigned long long id, const char *elements)
{
    struct job_spec values = {.comment = "mine"};
    struct msg_update_job m = {.ids = arena_printf(w.a, "%llu_[%s]", id, elements),
                               .fields = "comment",
                               .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    return refusal();
}

/* Elements got records of their own, sixteen thousand a request, however full the queue was. */
static void nobody_fills_it_with_elements(void **unused)
{
    struct job_spec array = a_job("array");
    array.hold = true;
    array.array = "0-4999";
    room_for(1000);
    am_alice();
    unsigned long long id = submit(array);
    assert_int_equal(remark(id, "0-999"), REFUSE_TOO_LARGE);
    assert_non_null(strstr(((const struct result *)answer()->results.v)->detail,
                           "1000 elements would become jobs of their own, and MaxJobCount (1000)"));
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 1);
    for (int i = 0; i < 4000; i += 100) {
        const char *hundred = arena_printf(w.a, "%d-%d", i, i + 99);
        assert_int_equal(remark(id, hundred), i < 800 ? REFUSE_NONE : REFUSE_TOO_LARGE);
    }
    assert_int_equal(cancel(arena_printf(w.a, "%llu_[2000-2999]", id)), REFUSE_TOO_LARGE);
    assert_int_equal(control(arena_printf(w.a, "%llu_[2000-2999]", id), ACTION_HOLD),
                     REFUSE_TOO_LARGE);
    am_bob(); /* there is room for others, and for a few elements of theirs in any queue */
    uint64_t his = submit(array);
    assert_int_not_equal(his, 0);
    am_root();
    array.array = NULL;
    while (submit(array)) {
    }
    am_bob();
    assert_int_equal(remark(his, "0-8"), REFUSE_NONE);
    assert_int_equal(remark(his, "9-99"), REFUSE_TOO_LARGE);
    am_root(); /* operators reach all of it */
    assert_int_equal(remark(his, "9-99"), REFUSE_NONE);
    am_alice();
    assert_int_equal(cancel(arena_printf(w.a, "%llu", id)), REFUSE_NONE);
}

/* Several requests, each of which had room alone. */
static void requests_under_way_count_together(void **unused)
{
    struct job_spec array = a_job("array"), values = {.comment = "mine"};
    array.hold = true;
    array.array = "0-49999";
    configure("ClusterName=t\nMaxArraySize=50000\nMaxJobCount=100000\n"
              "NodeName=n[1-2] CPUs=4 RealMemory=4000\n"
              "PartitionName=p Nodes=ALL Default=YES\n");
    am_alice();
    unsigned long long id = submit(array);
    for (int i = 0; i < 3; i++) {
        struct msg_update_job m = {
            .ids = arena_printf(w.a, "%llu_[%d-%d]", id, i * 8000, i * 8000 + 7999),
            .fields = "comment",
            .values = {&values, 1}};
        struct message ask = {.kind = MSG_UPDATE_JOB, .seq = ++w.seq, .body = &m};
        effects_reset(&w.fx);
        step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
        assert_int_equal(refusal(), i < 2 ? REFUSE_NONE : REFUSE_TOO_LARGE);
    }
}

/* A table of scrontab counts as what it makes, and may be taken away in any queue. */
static void a_table_counts_as_what_it_makes(void **unused)
{
    struct job_spec spec[3] = {a_job("a"), a_job("b"), a_job("c")};
    struct cron_entry e[3];
    for (size_t i = 0; i < 3; i++) {
        spec[i].batch = true;
        e[i] = (struct cron_entry){.cron = "0 0 29 2 *",
                                   .first = 1 + (uint32_t)i,
                                   .last = 1 + (uint32_t)i,
                                   .spec = {&spec[i], 1},
                                   .script = {"#!/bin/sh\n", 10}};
    }
    struct msg_set_crontab m = {.text = "x\ny\nz", .entries = {e, 3}};
    room_for(2);
    am_alice();
    say(1, MSG_SET_CRONTAB, &m);
    assert_int_equal(refusal(), REFUSE_QUEUE_FULL);
    assert_string_equal(answer()->detail, "the queue is full: MaxJobCount is 2");
    fills(ALICE);
    say(1, MSG_SET_CRONTAB, &(struct msg_set_crontab){0});
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* What they do not keep in the queue is on the disk: rows, which hold no script and no long text. */
static void rows_are_bounded_for_each_user_and_day(void **unused)
{
    struct job_spec held = a_job("held"), words = a_job("words"), array = a_job("array");
    char text[251];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    held.hold = words.hold = array.hold = true;
    words.comment = words.extra = words.work_dir = words.std_out = words.std_err = text;
    configure(arena_printf(w.a, "%sMaxUserScripts=1\n", conf_of(100000)));
    am_alice();
    size_t n[2] = {0};
    for (int i = 0; i < 2; i++, w.now += 25 * 60 * MIN)
        for (uint64_t id; (id = submit(i ? words : held)) != 0; n[i]++)
            assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_in_range(n[0], 1500, 2048);
    assert_in_range(n[1], 500, 650);
    /* An array may be as large as it likes; its elements count as they come. */
    array.array = "0-99999";
    uint64_t id = submit(array);
    assert_int_not_equal(id, 0);
    struct job_spec values = {.comment = "mine"};
    struct msg_update_job m = {.ids = arena_printf(w.a, "%llu_[0-1999]", (unsigned long long)id),
                               .fields = "comment",
                               .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    pass(1);
    assert_int_equal(submit(held), 0);
    assert_non_null(strstr(answer()->detail, "rows of the accounting"));
    am_root();
    assert_int_not_equal(submit(held), 0);
}

static size_t records(const char *states)
{
    return count((struct msg_query){.what = QUERY_JOBS, .states = states});
}

/* Of the array's elements up to `last` those that run now. */
static void running_end(uint64_t array, uint32_t last)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"});
    for (size_t i = 0; i < r.row.n; i++) {
        const struct job *e = r.row.v[i];
        if (e->array_job_id == array && e->array_task_id <= last)
            script_ends(e->id, 0);
    }
    vec_done(&r.row);
}

static uint64_t array_of_50(const char *dependency)
{
    struct job_spec s = a_job("array");
    s.array = "0-49";
    s.dependency = dependency;
    return submit(s);
}

/* They are not refused for want of room: the oldest of its user's that are over go for them. */
static void elements_that_start_take_the_place_of_those_that_ended(void **unused)
{
    room_for(20);
    am_bob();
    uint64_t others = submit(a_job("others"));
    script_ends(others, 0);
    am_alice();
    uint64_t id = array_of_50(NULL);
    for (size_t i = 0; i < 20 && records("RUNNING"); i++) {
        assert_in_range(records("all"), 2, 20 + 8);
        pass(3 * USEC_PER_SEC);
        running_end(id, 49);
    }
    assert_int_equal(records("RUNNING,PENDING"), 0);
    assert_int_equal(state(others), JOB_COMPLETED);
    pass(400 * USEC_PER_SEC);
    assert_int_equal(records("all"), 0);
}

/* The nodes still have what ran. */
static void restart_with_nodes(const char *conf)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"});
    struct held held[2][8];
    size_t n[2] = {0};
    for (size_t i = 0; i < r.row.n; i++) {
        const struct job *e = r.row.v[i];
        int node = e->batch_host[1] - '1';
        held[node][n[node]++] =
            (struct held){.job_id = e->id, .attempt = e->attempt, .step_id = STEP_BATCH};
    }
    vec_done(&r.row);
    restart(conf);
    hello_holding(1, held[0], n[0]);
    hello_holding(2, held[1], n[1]);
    am_alice();
}

/* Elements that others let go wait for room as one record, and are none the worse for it. */
static void elements_that_are_let_go_wait_for_room(void **unused)
{
    const char *conf = arena_printf(w.a, "%sMinJobAge=2\n", conf_of(80));
    configure(conf);
    am_alice();
    uint64_t first = array_of_50(NULL);
    for (size_t i = 0; i < 8; i++)
        running_end(first, 47); /* two run on */
    assert_int_equal(records("RUNNING"), 2);
    assert_int_equal(records("COMPLETED"), 48);
    uint64_t next = array_of_50(arena_printf(w.a, "aftercorr:%llu", (unsigned long long)first));
    assert_in_range(records("all"), 79, 81);
    restart_with_nodes(conf);
    for (size_t i = 0; i < 9; i++) {
        assert_in_range(records("all"), 51, 81);
        running_end(next, 49);
        pass(4 * USEC_PER_SEC);
    }
    assert_int_equal(records("RUNNING"), 2);
    assert_int_equal(records("PENDING"), 1); /* the two whose counterparts run */
    running_end(first, 49);
    running_end(next, 49);
    pass(4 * USEC_PER_SEC);
    assert_int_equal(records("all"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(nobody_fills_the_queue_alone),
        STORY(a_small_queue_may_be_one_users),
        STORY(what_has_a_record_counts),
        STORY(nobody_fills_it_with_elements),
        STORY(elements_that_start_take_the_place_of_those_that_ended),
        STORY(elements_that_are_let_go_wait_for_room),
        STORY(requests_under_way_count_together),
        STORY(a_table_counts_as_what_it_makes),
        STORY(rows_are_bounded_for_each_user_and_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
