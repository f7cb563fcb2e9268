/* What is said of a request about many jobs: a frame of 64 KiB names one job ten thousand times, and
 * what comes of each is told, within bounds. */
#include "core_help.h"

#define LONG_NAME 65000
#define NAMED     300 /* times, in a request */
#define SAID_MOST (1u << 20)

static size_t turn_bytes = 8u << 20; /* what one turn may hold of it, before it is let out */

/* "12,12,12": so often. */
static const char *again(uint64_t id, int n)
{
    struct str ids = STR_INIT;
    for (int i = 0; i < n; i++)
        str_addf(&ids, "%s%llu", i ? "," : "", (unsigned long long)id);
    const char *text = arena_strdup(w.a, str_text(&ids));
    str_done(&ids);
    return text;
}

static const char *long_word(void)
{
    char *word = arena_alloc(w.a, LONG_NAME + 1);
    memset(word, 'x', LONG_NAME);
    return word;
}

/* Until it is answered, turn by turn; how many wakes it took. */
static size_t answered_after(enum message_kind kind, const void *body, uint64_t request)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .request = request, .body = body};
    size_t wakes = 0;
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &m});
    for (; !answer(); wakes++) {
        assert_true(wakes < 100000);
        assert_in_range(arena_used(w.fx.arena), 0, turn_bytes);
        effects_reset(&w.fx);
        step((struct event){.kind = EV_WAKE});
    }
    assert_in_range(arena_used(w.fx.arena), 0, turn_bytes);
    return wakes;
}

static size_t bytes_said(void)
{
    const struct result *r = answer()->results.v;
    size_t n = 0;
    for (size_t i = 0; i < answer()->results.n; i++)
        n += (r[i].detail ? strlen(r[i].detail) : 0) + (r[i].elements ? strlen(r[i].elements) : 0);
    return n;
}

/* What there is not is named in the sentence, which each reference has. */
static void what_is_said_of_many_has_a_bound(void **unused)
{
    (void)unused;
    struct job_spec values = a_job("one");
    values.hold = true;
    const char *ids = again(submit(values), NAMED), *word = long_word();
    size_t refused = 0;
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        const struct field *f = &job_spec_fields.field[i];
        if (f->type != FIELD_TEXT)
            continue;
        values = a_job("one");
        *(const char **)field_ptr(f, &values) = word;
        struct msg_update_job m = {.ids = ids, .fields = f->name, .values = {&values, 1}};
        (void)answered_after(MSG_UPDATE_JOB, &m, 0);
        const struct result *r = answer()->results.v;
        if (!answer()->results.n) /* it may be so long, or does not change */
            continue;
        assert_int_equal(answer()->results.n, NAMED);
        assert_int_equal(r[NAMED - 1].refusal, r[0].refusal);
        assert_non_null(r[0].detail);
        if (strlen(r[0].detail) > 1000)
            fail_msg("%s: %.120s", f->name, r[0].detail);
        assert_in_range(bytes_said(), 1, SAID_MOST);
        refused++;
    }
    assert_in_range(refused, 20, job_spec_fields.n);
}

/* Its elements are named with each, and what waits is not gone through one by one. */
static void elements_that_are_named_again_have_a_bound(void **unused)
{
    (void)unused;
    struct str some = STR_INIT;
    struct job_spec values = a_job("array");
    values.hold = true;
    configure(CONF "MaxArraySize=2000000\nMaxJobCount=4000000\n");
    for (int i = 0; i < 12000; i++)
        str_addf(&some, "%s%d", i ? "," : "", i * 3 + i % 2);
    values.array = arena_strdup(w.a, str_text(&some));
    str_done(&some);
    uint64_t gaps = submit(values);
    values.array = "0-1999999";
    uint64_t whole = submit(values);
    values.req.reservation = "none";
    struct msg_update_job m = {
        .ids = again(gaps, NAMED), .fields = "reservation", .values = {&values, 1}};
    assert_in_range(answered_after(MSG_UPDATE_JOB, &m, 0), NAMED / 4, NAMED);
    const struct result *r = answer()->results.v;
    assert_int_equal(answer()->results.n, NAMED);
    assert_in_range(strlen(r[0].elements), 12000, 12000 * 8);
    assert_in_range(bytes_said(), 1, SAID_MOST);
    m.ids = again(whole, 1000); /* one by one that would be 2,000 million */
    (void)answered_after(MSG_UPDATE_JOB, &m, 0);
    r = answer()->results.v;
    assert_string_equal(r[0].elements, "0-1999999");
}

/* Elements that have records of their own and those that wait are told of together. */
static void elements_of_one_reason_are_told_together(void **unused)
{
    (void)unused;
    struct job_spec values = a_job("array");
    values.hold = true;
    values.array = "0-9";
    uint64_t id = submit(values);
    struct msg_job_control hold = {.ids = arena_printf(w.a, "%s_[2,5]", ids_of(id)),
                                   .action = ACTION_HOLD};
    (void)answered_after(MSG_JOB_CONTROL, &hold, 0); /* these two have records now */
    values.req.reservation = "none";
    struct msg_update_job m = {.ids = ids_of(id), .fields = "reservation", .values = {&values, 1}};
    (void)answered_after(MSG_UPDATE_JOB, &m, 0);
    const struct result *r = answer()->results.v;
    assert_int_equal(answer()->results.n, 1);
    assert_string_equal(r[0].elements, "0-9");
    assert_string_equal(r[0].detail, "there is no reservation none: there are none");
}

/* Thousands of jobs have one name: a reason is told once of it. */
static void a_reason_is_told_once_of_a_name(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("same");
    spec.hold = true;
    for (int i = 0; i < 500; i++)
        submit(spec);
    struct msg_job_control m = {.ids = "name=same", .action = ACTION_RESUME};
    (void)answered_after(MSG_JOB_CONTROL, &m, 0);
    const struct result *r = answer()->results.v;
    assert_int_equal(answer()->count, 0);
    assert_int_equal(answer()->refusal, r[0].refusal);
    assert_int_equal(answer()->results.n, 1);
    assert_string_equal(r[0].ref, "same");
}

/* Also where a reference before it met the same, or many met something. */
static void a_name_behind_references_is_told_of(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("other"), same = a_job("same");
    spec.hold = same.hold = true;
    uint64_t id = submit(spec);
    submit(same);
    submit(same);
    const char *const before[] = {ids_of(id), again(id, 100)};
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        struct msg_job_control m = {.ids = arena_printf(w.a, "%s,name=same", before[i]),
                                    .action = ACTION_RESUME};
        (void)answered_after(MSG_JOB_CONTROL, &m, 0);
        const struct result *r = answer()->results.v, *last = r + answer()->results.n - 1;
        assert_int_equal(answer()->results.n, i ? 101 : 2);
        assert_string_equal(last->ref, "same");
        assert_int_equal(last->refusal, r[0].refusal);
        assert_string_equal(last->detail ? last->detail : "", r[0].detail ? r[0].detail : "");
    }
}

/* For who asks again the answer is kept for minutes, in memory and on the disk. */
static void a_kept_answer_is_short(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("one");
    spec.hold = true;
    uint64_t id = submit(spec);
    struct msg_cancel m = {
        .ids = arena_printf(w.a, "%llu,%s", (unsigned long long)id, again(999, 16000))};
    (void)answered_after(MSG_CANCEL, &m, 4711);
    assert_int_equal(answer()->count, 1);
    assert_int_equal(answer()->results.n, 16000);
    (void)answered_after(MSG_CANCEL, &m, 4711);
    assert_int_equal(answer()->count, 1);
    assert_non_null(strstr(answer()->warning, "999: "));
    assert_in_range(strlen(answer()->warning), 1000, 5000);
}

/* "aaa,aab,…": words of which there is none. */
static const char *many_words(int n)
{
    struct str words = STR_INIT;
    for (int i = 0; i < n; i++)
        str_addf(&words, "%s%c%c%c", i ? "," : "", 'a' + i / 676, 'a' + i / 26 % 26, 'a' + i % 26);
    const char *text = arena_strdup(w.a, str_text(&words));
    str_done(&words);
    return text;
}

/* Lists of a request are read once: with each of its jobs ten thousand words would be kept anew. */
static void lists_of_an_update_are_read_once(void **unused)
{
    (void)unused;
    struct job_spec values = a_job("one");
    values.hold = true;
    uint64_t id = submit(values);
    const char *words = many_words(16000);
    values.req.partition = arena_printf(w.a, "main,%s", words);
    values.req.reservation = words;
    struct msg_update_job m = {
        .ids = again(id, 2000), .fields = "partition,reservation", .values = {&values, 1}};
    turn_bytes >>= 3;
    (void)answered_after(MSG_UPDATE_JOB, &m, 0);
    turn_bytes <<= 3;
    const struct result *r = answer()->results.v;
    assert_int_equal(answer()->results.n, 2000);
    assert_string_equal(r[0].detail, "there is no reservation aaa: there are none");
    m.fields = "partition";
    (void)answered_after(MSG_UPDATE_JOB, &m, 0);
    r = answer()->results.v;
    assert_non_null(strstr(r[1999].detail, "there is no partition \"aaa\""));
}

/* What a request's texts take is done again with each job: a slice of them is shorter. */
static void a_slice_of_a_request_with_long_texts_is_short(void **unused)
{
    (void)unused;
    struct job_spec values = a_job("one");
    values.hold = true;
    struct msg_update_job m = {
        .ids = again(submit(values), 1000), .fields = "constraint", .values = {&values, 1}};
    values.req.constraint = "none";
    assert_in_range(answered_after(MSG_UPDATE_JOB, &m, 0), 7, 8);
    values.req.constraint = long_word();
    assert_in_range(answered_after(MSG_UPDATE_JOB, &m, 0), 4 * 7, 5 * 8);
}

/* A short text may name all nodes of a large cluster, which are found anew with each job. */
static void a_slice_of_a_request_that_names_many_nodes_is_short(void **unused)
{
    (void)unused;
    configure("ClusterName=test\nNodeName=n[1-5000] CPUs=8 RealMemory=8000\n"
              "PartitionName=main Nodes=ALL Default=YES\n");
    struct job_spec values = a_job("one");
    values.hold = true;
    struct msg_update_job m = {
        .ids = again(submit(values), 300), .fields = "exclude", .values = {&values, 1}};
    values.req.exclude = "n7";
    assert_in_range(answered_after(MSG_UPDATE_JOB, &m, 0), 2, 3);
    values.req.exclude = "n[1-4990]";
    assert_in_range(answered_after(MSG_UPDATE_JOB, &m, 0), 300 / 8, 300);
    assert_int_equal(answer()->count, 300);
    m.fields = "comment";
    assert_in_range(answered_after(MSG_UPDATE_JOB, &m, 0), 2, 3);
}

/* A shell that charges a slice to its user has it apart from all else that is due. */
static void a_slice_and_the_rest_of_a_wake_are_apart(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("many");
    struct msg_cancel m = {.uids = "1000"};
    struct message ask = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &m};
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
    am_bob();
    struct job_spec others = a_job("other");
    struct msg_submit submission = {.specs = {&others, 1}, .script = {"#!/bin/sh\n", 10}};
    struct message asks = {.kind = MSG_SUBMIT, .seq = ++w.seq, .body = &submission};
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &asks});
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 300 - 128 + 1);
    w.now += 2 * SEC;
    step((struct event){.kind = EV_WAKE, .part = WAKE_REST});
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 300 - 128 + 1);
    assert_int_equal(state(301), JOB_RUNNING);
    step((struct event){.kind = EV_WAKE, .part = WAKE_SLICE});
    assert_in_range(count((struct msg_query){.what = QUERY_JOBS}), 1, 300 - 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(lists_of_an_update_are_read_once),
        STORY(a_slice_of_a_request_with_long_texts_is_short),
        STORY(a_slice_of_a_request_that_names_many_nodes_is_short),
        STORY(a_slice_and_the_rest_of_a_wake_are_apart),
        STORY(what_is_said_of_many_has_a_bound),
        STORY(elements_that_are_named_again_have_a_bound),
        STORY(elements_of_one_reason_are_told_together),
        STORY(a_reason_is_told_once_of_a_name),
        STORY(a_name_behind_references_is_told_of),
        STORY(a_kept_answer_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
