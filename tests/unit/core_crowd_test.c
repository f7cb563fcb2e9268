/* What concerns very many jobs at once, which one user can arrange: a step of the machine does so
 * much of it, and everybody else is served before the next. */
#include "core_tree.h"

#include "core/record/record.h"

#define MANY 1000
#define ROWS 600 /* of one step: 256 jobs, and elements that go with them */

static size_t rows_of_step(struct event ev)
{
    effects_reset(&w.fx);
    step(ev);
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE;
    return n;
}

/* Says it, then wakes until nothing is due; no step of them may write more than ROWS. */
static void is_done_in_parts(enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .body = body};
    size_t parts = 0, most = 0, n;
    if (body)
        most =
            rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &m});
    while (core_wake_due(w.c) <= w.now) {
        n = rows_of_step((struct event){.kind = EV_WAKE});
        most = n > most ? n : most;
        assert_true(++parts < 100);
    }
    assert_in_range(most, 1, ROWS);
    assert_in_range(parts, MANY / 256, 99);
}

static uint64_t held(const char *array)
{
    struct job_spec s = a_job("held");
    s.hold = true;
    s.array = array;
    am_alice();
    return submit(s);
}

static uint64_t after(const char *kind, uint64_t id, bool kill)
{
    struct job_spec s = a_job("after");
    s.dependency = arena_printf(w.a, "%s:%llu", kind, (unsigned long long)id);
    s.kill_on_invalid_dep = kill ? YES : NO;
    id = submit(s);
    assert_int_not_equal(id, 0);
    return id;
}

static size_t in_state(const char *state)
{
    return count((struct msg_query){.what = QUERY_JOBS, .states = state});
}

static void cancels(uint64_t id)
{
    struct msg_cancel m = {.ids = ids_of(id)};
    is_done_in_parts(MSG_CANCEL, &m);
}

static void all_that_wait_for_one(void **unused)
{
    uint64_t one = held(NULL);
    for (int i = 0; i < MANY; i++)
        after("afterok", one, true);
    cancels(one);
    assert_int_equal(in_state("CANCELLED"), MANY + 1);
    one = held(NULL);
    for (int i = 0; i < MANY; i++)
        after("afterany", one, false);
    cancels(one);
    assert_int_equal(in_state("PENDING,RUNNING"), MANY);
    assert_null(job(one + MANY)->spec.dependency);
    w.now += 400 * SEC; /* MinJobAge */
    is_done_in_parts(MESSAGE_COUNT, NULL);
    assert_int_equal(in_state("CANCELLED"), 0);
}

static void a_chain(void **unused)
{
    uint64_t first = held(NULL), last = first;
    for (int i = 0; i < MANY; i++)
        last = after("afterok", last, true);
    cancels(first);
    assert_int_equal(in_state("CANCELLED"), MANY + 1);
}

/* Each end is looked at by few, which have very many conditions: these are counted, and written as
 * texts of 100 KB. */
static void crowds_of_conditions(void **unused)
{
    enum { CONDITIONS = 4000, WAIT = 10 };
    uint64_t first = held(NULL), last = first;
    struct str text = STR_INIT;
    for (int i = 1; i < CONDITIONS; i++)
        last = held(NULL);
    for (uint64_t id = first; id <= last; id++)
        str_addf(&text, "%safterany:%llu", id > first ? "," : "", (unsigned long long)id);
    struct job_spec s = a_job("after");
    s.dependency = arena_strdup(w.a, str_text(&text));
    str_done(&text);
    for (int i = 0; i < WAIT; i++)
        assert_int_not_equal(submit(s), 0);
    struct msg_cancel m = {
        .ids = arena_printf(w.a, "%llu,%llu,%llu,%llu", (unsigned long long)first,
                            (unsigned long long)first + 1, (unsigned long long)first + 2,
                            (unsigned long long)first + 3)};
    struct message cancel = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &m};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &cancel});
    size_t rounds = 0;
    for (; core_wake_due(w.c) <= w.now && rounds < 100; rounds++)
        assert_in_range(rows_of_step((struct event){.kind = EV_WAKE}), 0, WAIT / 2);
    assert_in_range(rounds, WAIT / 2, 99);
    assert_int_equal(job(last + WAIT)->state, JOB_PENDING);
    assert_null(strstr(job(last + WAIT)->spec.dependency,
                       arena_printf(w.a, ":%llu(", (unsigned long long)first + 3)));
}

/* Each element that ends is one more element of each array that goes by it. */
static void arrays_that_go_by_one(void **unused)
{
    uint64_t one = held("0-99"), last = 0;
    struct job_spec s = a_job("by");
    s.array = "0-99";
    s.dependency = arena_printf(w.a, "aftercorr:%llu", (unsigned long long)one);
    for (int i = 0; i < 100; i++)
        last = submit(s);
    struct msg_cancel m = {.ids = arena_printf(w.a, "%llu_[0-9]", (unsigned long long)one)};
    is_done_in_parts(MSG_CANCEL, &m);
    assert_int_equal(job_named(arena_printf(w.a, "%llu_9", (unsigned long long)last))->state,
                     JOB_PENDING);
}

/* Those that are over already when it comes are many at once. */
static void an_array_that_comes_late(void **unused)
{
    uint64_t one = held("0-999");
    struct msg_cancel m = {.ids = arena_printf(w.a, "%llu_[0-998]", (unsigned long long)one)};
    is_done_in_parts(MSG_CANCEL, &m);
    assert_int_equal(map_u64_count(w.c->jobs.by_id), 1000);
    struct job_spec s = a_job("late");
    s.array = "0-999";
    s.dependency = arena_printf(w.a, "aftercorr:%llu", (unsigned long long)one);
    s.kill_on_invalid_dep = YES;
    struct msg_submit late = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}};
    is_done_in_parts(MSG_SUBMIT, &late);
    assert_int_equal(map_u64_count(w.c->jobs.by_id), 2000);
}

/* Between two parts the job that they wait for is not forgotten, and who comes, goes or waits for
 * something else meanwhile is not woken in vain. */
static void others_act_in_between(void **unused)
{
    configure("ClusterName=t\nMinJobAge=1\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"
              "PartitionName=main Nodes=ALL Default=YES\n");
    uint64_t one = held(NULL), other = held(NULL), id[MANY];
    for (int i = 0; i < MANY; i++)
        id[i] = after("afterok", one, true);
    struct msg_cancel m = {.ids = ids_of(one)}, last = {.ids = ids_of(id[MANY - 1])};
    struct message say_it = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &m};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    assert_true(in_state("PENDING") > MANY / 2);
    w.now += 10 * SEC;
    say_it = (struct message){.kind = MSG_CANCEL, .seq = ++w.seq, .body = &last};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    struct job_spec values = {.dependency =
                                  arena_printf(w.a, "afterok:%llu", (unsigned long long)other)};
    struct msg_update_job update = {
        .ids = ids_of(id[MANY - 2]), .fields = "dependency", .values = {&values, 1}};
    say_it = (struct message){.kind = MSG_UPDATE_JOB, .seq = ++w.seq, .body = &update};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    effects_reset(&w.fx);
    settle(0);
    assert_int_equal(state(id[MANY - 2]), JOB_PENDING);
    assert_int_equal(in_state("PENDING"), 2); /* and the one that it waits for */
    w.now += 10 * SEC;
    settle(0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "all"}), 2);
}

static void all_at_one_time(void **unused)
{
    struct job_spec s = a_job("then");
    am_alice();
    s.begin_us = w.now + 100 * SEC;
    for (int i = 0; i < MANY; i++)
        submit(s);
    w.now += 200 * SEC;
    is_done_in_parts(MESSAGE_COUNT, NULL);
    s = a_job("until");
    s.hold = true;
    s.deadline_us = w.now + 1000 * SEC;
    for (int i = 0; i < MANY; i++)
        submit(s);
    w.now += 2000 * SEC;
    is_done_in_parts(MESSAGE_COUNT, NULL);
    assert_int_equal(in_state("DEADLINE"), MANY);
}

/* Each of them looked whenever one got another name. */
static void singletons(void **unused)
{
    struct job_spec s = a_job("same"), values = {.name = "other"};
    am_alice();
    s.hold = true;
    uint64_t first = submit(s);
    s.hold = false;
    s.dependency = "singleton";
    for (int i = 0; i < MANY; i++)
        submit(s);
    struct msg_update_job m = {.ids = ids_of(first), .fields = "name", .values = {&values, 1}};
    struct message say_it = {.kind = MSG_UPDATE_JOB, .seq = ++w.seq, .body = &m};
    size_t n = rows_of_step(
        (struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    assert_in_range(n, 1, 8);
    settle(0);
    assert_int_equal(in_state("RUNNING"), 1);
    assert_int_equal(state(first + 1), JOB_RUNNING);
    script_ends(first + 1, 0);
    assert_int_equal(state(first + 2), JOB_RUNNING);
}

/* The first singleton of a name looks at all jobs, a part a step; until all were looked at, nobody
 * of the name goes ahead, whatever becomes of the others meanwhile. */
static void the_first_singleton_of_a_name(void **unused)
{
    enum { JOBS = 20000, OF_NAME = 15000, ENDED = 16000 };
    struct job_spec s = a_job("other");
    am_alice();
    s.hold = true;
    uint64_t id[JOBS];
    w.fills = true;
    for (int i = 0; i < JOBS; i++) {
        s.name = i == OF_NAME || i == ENDED ? "same" : "other";
        id[i] = submit(s);
    }
    w.fills = false;
    core_check_turn(w.c, CHECK_ALL);
    s.hold = false;
    s.dependency = "singleton";
    struct msg_submit m = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}};
    s.name = "same";
    struct message say_it = {.kind = MSG_SUBMIT, .seq = ++w.seq, .body = &m};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    assert_int_equal(w.c->marks.looking.n, 1);
    struct msg_cancel cancel = {.ids = ids_of(id[ENDED])};
    struct message end_it = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &cancel};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &end_it});
    size_t steps = 0;
    for (; w.c->marks.looking.n && steps < 100; steps++)
        rows_of_step((struct event){.kind = EV_WAKE});
    assert_in_range(steps, 1, 9);
    settle(0);
    assert_int_equal(state(id[JOBS - 1] + 1), JOB_PENDING);
    cancel.ids = ids_of(id[OF_NAME]);
    say(1, MSG_CANCEL, &cancel);
    settle(0);
    assert_int_equal(state(id[JOBS - 1] + 1), JOB_RUNNING);
    script_ends(id[JOBS - 1] + 1, 0);
    settle(0);
    assert_int_equal(map_str_count(w.c->jobs.singleton), 0);
}

/* What is allowed changes: each job is looked at in each of its partitions, all components with
 * their leader: none counts with all the others in each of theirs (half a minute without a plan). */
static void a_slice_of_limits_counts_partitions(void **unused)
{
    enum { JOBS = 100, PARTS = 50, SLICE = 2000, LOOKS = JOBS * (PARTS + 2 + 1) };
    struct str conf = STR_INIT, names = STR_INIT;
    str_add(&conf, ENFORCED);
    for (int i = 0; i < PARTS; i++) {
        str_addf(&conf, "PartitionName=p%d Nodes=ALL\n", i);
        str_addf(&names, "%sp%d", i ? "," : "", i);
    }
    configure(str_text(&conf));
    the_tree();
    struct job_spec one = a_job("one"), parts[JOBS];
    one.hold = true;
    one.req.partition = str_text(&names);
    for (int i = 0; i < JOBS; i++)
        assert_int_not_equal(submit(one), 0);
    one.req.partition = "p1,p2";
    for (int i = 0; i < JOBS; i++)
        parts[i] = one;
    assert_int_not_equal(submit_all(parts, JOBS), 0);
    struct assoc a = {.account = "physics", .shares = 2};
    change(VERB_MODIFY, NOUN_ASSOC)->assoc = (struct record_list){&a, 1};
    changes[0].fields = "shares";
    struct msg_change_accounts m = {.changes = {changes, nchanges}};
    struct message say_it = {.kind = MSG_CHANGE_ACCOUNTS, .seq = ++w.seq, .body = &m};
    nchanges = 0;
    am_root();
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    size_t slices = 1;
    for (; w.c->slices.anew.on && slices < 100; slices++)
        rows_of_step((struct event){.kind = EV_WAKE});
    assert_in_range(slices, LOOKS / SLICE, LOOKS / SLICE + 2);
    str_done(&conf);
    str_done(&names);
}

/* Nothing is woken by it. */
static void released(uint64_t id)
{
    const struct jobrec *r = job_find(w.c, id);
    struct msg_report m = {
        .kind = REPORT_RELEASED, .job_id = id, .attempt = r->j.attempt, .step_id = STEP_BATCH};
    struct message say_it = {.kind = MSG_REPORT, .seq = ++w.seq, .body = &m};
    struct peer node = {.user = "root", .is_admin = true};
    for (unsigned n = 1; n <= 4; n++)
        rows_of_step(
            (struct event){.kind = EV_MESSAGE, .conn = CONN_OF(n), .peer = &node, .msg = &say_it});
}

/* Components are looked at with their leader. It was none that waits when the look came by, and the
 * look was to go on behind it when it came back: then all of its job are looked at. */
static void a_job_that_comes_back_behind_the_look(void **unused)
{
    enum { SLICE = 2000, PARTS = 50, WIDE = (SLICE - 1) / PARTS };
    struct str conf = STR_INIT, names = STR_INIT;
    str_add(&conf, ENFORCED);
    for (int i = 0; i < PARTS; i++) {
        str_addf(&conf, "PartitionName=p%d Nodes=ALL\n", i);
        str_addf(&names, "%sp%d", i ? "," : "", i);
    }
    configure(str_text(&conf));
    the_tree();
    struct job_spec one = a_job("one"), parts[2] = {a_job("leads"), a_job("wide")};
    one.hold = true;
    for (int i = 0; i < WIDE + (SLICE - 1) % PARTS; i++) {
        one.req.partition = i < WIDE ? str_text(&names) : "p1";
        assert_int_not_equal(submit(one), 0);
    }
    parts[1].req.ntasks = 3;
    parts[0].requeue = parts[1].requeue = YES;
    uint64_t id = submit_all(parts, 2);
    assert_int_equal(state(id), JOB_RUNNING);
    struct msg_job_control back = {.ids = ids_of(id), .action = ACTION_REQUEUE};
    say(1, MSG_JOB_CONTROL, &back);
    released(id + 1);
    assert_int_equal(job_find(w.c, id)->j.state, JOB_REQUEUED);
    assert_int_equal(state(id + 1), JOB_PENDING);
    struct assoc of = {.account = "physics"};
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    struct err err = {0};
    ch->assoc = (struct record_list){&of, 1};
    assert_true(limits_parse(LIMIT_MAX_TRES, "cpu=2", NULL, NULL, w.a, &ch->limits, &err));
    struct msg_change_accounts m = {.changes = {changes, nchanges}};
    nchanges = 0;
    am_root();
    struct message say_it = {.kind = MSG_CHANGE_ACCOUNTS, .seq = ++w.seq, .body = &m};
    rows_of_step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_true(w.c->slices.anew.on);
    assert_int_equal(w.c->slices.anew.walk.key, id);
    released(id);
    assert_int_equal(job_find(w.c, id)->j.state, JOB_PENDING);
    assert_true(w.c->slices.anew.on);
    settle(0);
    assert_false(w.c->slices.anew.on);
    assert_int_equal(state(id + 1), JOB_PENDING);
    assert_string_equal(reason(id + 1), "AssocMaxCpuPerJobLimit");
    str_done(&conf);
    str_done(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_slice_of_limits_counts_partitions),
        STORY(a_job_that_comes_back_behind_the_look),
        STORY(all_that_wait_for_one),
        STORY(a_chain),
        STORY(crowds_of_conditions),
        STORY(arrays_that_go_by_one),
        STORY(an_array_that_comes_late),
        STORY(others_act_in_between),
        STORY(all_at_one_time),
        STORY(singletons),
        STORY(the_first_singleton_of_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
