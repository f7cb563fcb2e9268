/* Answers to queries: many records in few frames. */
#include "unit.h"
#include "wire_random.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "model/stored.h"
#include "wire/frame.h"

#include <string.h>

struct seen {
    const struct fields *t;
    struct arena *arena;
    VEC(void *) v; /* copies in the arena */
};

static void see(void *ctx, const void *record)
{
    struct seen *s = ctx;
    void *copy = arena_alloc(s->arena, s->t->size);
    record_copy(s->t, copy, record, s->arena);
    vec_push(&s->v, copy);
}

/* Reads all frames; returns how many there were. */
static size_t read_all(const struct str *bytes, struct seen *s)
{
    size_t frames = 0;
    for (size_t at = 0; at < bytes->len; frames++) {
        struct frame f;
        struct err e = {0};
        ssize_t n = frame_take(bytes->data + at, bytes->len - at, &f, &e);
        assert_true(n > 0);
        assert_true(wire_is_rows(&f));
        if (!rows_decode(&f, s->t, NULL, see, s, &e))
            fail_msg("%s", e.text);
        at += (size_t)n;
    }
    return frames;
}

static void test_records_come_back_in_order(void **state)
{
    static const struct fields *const tables[] = {
        &job_fields,    &step_fields,     &node_fields,  &partition_fields,
        &status_fields, &priority_fields, &usage_fields, &diag_fields};
    struct rng r = {2};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        struct arena *a = arena_new();
        struct seen s = {.t = tables[i], .arena = a};
        struct str out = STR_INIT;
        void *sent[400];
        struct rows_writer *w = rows_writer_new(s.t, NULL, 3, &out);
        for (size_t k = 0; k < ARRAY_LEN(sent); k++) {
            sent[k] = arena_alloc(a, s.t->size);
            record_random(s.t, sent[k], &r, (uint32_t)(k * 1000 / ARRAY_LEN(sent)), a);
            rows_writer_add(w, sent[k]);
        }
        rows_writer_end(w);
        read_all(&out, &s);
        assert_int_equal(s.v.n, ARRAY_LEN(sent));
        for (size_t k = 0; k < ARRAY_LEN(sent); k++)
            assert_true(record_equal(s.t, sent[k], s.v.v[k]));
        vec_done(&s.v);
        str_done(&out);
        arena_free(a);
    }
}

static void test_only_wanted_fields_travel(void **state)
{
    struct str out = STR_INIT;
    struct rows_writer *w = rows_writer_new(&job_fields, " state, id ,nonsense,id,name", 3, &out);
    rows_writer_add(w,
                    &(struct job){.id = 42, .spec.name = "a", .state = JOB_RUNNING, .user_id = 7});
    rows_writer_add(w, &(struct job){.id = 43});
    rows_writer_end(w);
    assert_string_equal(
        out.data + FRAME_HEADER_BYTES,
        "{\"type\":\"rows\",\"call\":3,\"record\":\"job\",\"fields\":[\"state\",\"id\",\"name\"],"
        "\"rows\":[[\"RUNNING\",42,\"a\"],[\"PENDING\",43,null]]}");
    str_done(&out);
}

static void test_blobs_and_lists_do_not_travel_in_rows(void **state)
{
    struct str out = STR_INIT;
    struct rows_writer *w = rows_writer_new(&payload_fields, NULL, 0, &out);
    rows_writer_add(w, &(struct payload){.job_id = 42, .script = {"x", 1}});
    rows_writer_end(w);
    assert_string_equal(
        out.data + FRAME_HEADER_BYTES,
        "{\"type\":\"rows\",\"record\":\"payload\",\"fields\":[\"job_id\"],\"rows\":[[42]]}");
    str_done(&out);
}

static void test_no_rows_no_frame(void **state)
{
    struct str out = STR_INIT;
    rows_writer_end(rows_writer_new(&job_fields, NULL, 3, &out));
    assert_int_equal(out.len, 0);
    str_done(&out);
}

/* Two reasons have the same word in Slurm; the second travels by its number. */
static void test_values_that_share_a_name(void **state)
{
    for (int32_t reason = 0; reason < REASON_COUNT; reason++) {
        struct arena *a = arena_new();
        struct seen s = {.t = &job_fields, .arena = a};
        struct str out = STR_INIT;
        struct rows_writer *w = rows_writer_new(&job_fields, "reason", 0, &out);
        rows_writer_add(w, &(struct job){.reason = reason});
        rows_writer_end(w);
        read_all(&out, &s);
        assert_int_equal(s.v.n, 1);
        for (size_t i = 0; i < s.v.n; i++)
            assert_int_equal(((const struct job *)s.v.v[i])->reason, reason);
        vec_done(&s.v);
        str_done(&out);
        arena_free(a);
    }
}

static void test_many_rows_are_many_frames(void **state)
{
    struct arena *a = arena_new();
    struct seen s = {.t = &job_fields, .arena = a};
    struct str out = STR_INIT;
    struct rows_writer *w = rows_writer_new(&job_fields, "id,user_name", 1, &out);
    for (uint64_t i = 0; i < 20000; i++)
        rows_writer_add(
            w, &(struct job){.id = i, .user_name = "a name of some forty letters, for length"});
    rows_writer_end(w);
    size_t frames = read_all(&out, &s);
    assert_in_range(frames, 4, 6);
    assert_int_equal(s.v.n, 20000);
    for (uint64_t i = 0; i < 20000; i++)
        assert_true(((const struct job *)s.v.v[i])->id == i);
    vec_done(&s.v);
    str_done(&out);
    arena_free(a);
}

static void ignore(void *ctx, const void *record)
{
    (*(size_t *)ctx)++;
}

static bool decode(const char *json, struct arena *a, size_t *ret_rows, struct err *e)
{
    const struct frame f = {.json = json, .json_len = strlen(json)};
    *e = (struct err){0};
    *ret_rows = 0;
    return rows_decode(&f, &job_fields, a, ignore, ret_rows, e);
}

static void keep_name(void *ctx, const void *record)
{
    *(const char **)ctx = ((const struct job *)record)->spec.name;
}

static void test_texts_live_in_the_callers_arena(void **state)
{
    const char
        *json =
            "{\"type\":\"rows\",\"record\":\"job\",\"fields\":[\"later\",\"name\",\"x\"],\"rows\":"
            "[[{},\"first\",[1]],[0,\"b\\u00e9ta\",null]]}",
        *name = NULL;
    const struct frame f = {.json = json, .json_len = strlen(json)};
    struct arena *a = arena_new();
    assert_true(rows_decode(&f, &job_fields, a, keep_name, &name, NULL));
    assert_string_equal(name, "b\xc3\xa9ta");
    arena_free(a);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *json, *text;
    } bad[] = {
        {"{\"record\":\"node\",\"fields\":[],\"rows\":[]}",
         "rows of node where rows of job were asked for"},
        {"{\"fields\":[\"id\"],\"rows\":[[1]]}", "rows before \"record\" and \"fields\""},
        {"{\"record\":\"job\",\"rows\":[[1]]}", "rows before \"record\" and \"fields\""},
        {"{\"record\":\"job\",\"fields\":[\"id\"],\"fields\":[\"id\"]}",
         "rows.fields: given twice"},
        {"{\"record\":\"job\",\"fields\":[\"id\",\"name\"],\"rows\":[[1]]}",
         "rows: a row of 1 values for 2 fields"},
        {"{\"record\":\"job\",\"fields\":[\"id\"],\"rows\":[[1,2]]}",
         "rows: a row of 2 values for 1 fields"},
        {"{\"record\":\"job\",\"fields\":[\"id\"],\"rows\":[[\"1\"]]}",
         "job.id: expected a number at byte 41"},
        {"{\"record\":\"job\",\"fields\":[\"id\"],\"rows\":[[1]",
         "expected ',' or ']' where the JSON ends (byte 43)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e;
        size_t rows;
        if (decode(bad[i].json, NULL, &rows, &e))
            fail_msg("read: %s", bad[i].json);
        assert_string_equal(e.text, bad[i].text);
        assert_int_equal(e.code, ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_come_back_in_order),
        cmocka_unit_test(test_only_wanted_fields_travel),
        cmocka_unit_test(test_blobs_and_lists_do_not_travel_in_rows),
        cmocka_unit_test(test_no_rows_no_frame),
        cmocka_unit_test(test_values_that_share_a_name),
        cmocka_unit_test(test_many_rows_are_many_frames),
        cmocka_unit_test(test_texts_live_in_the_callers_arena),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
