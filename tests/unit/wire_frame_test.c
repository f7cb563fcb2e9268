/* Messages as frames: what is written is read again; what is wrong is refused by the name of its
 * field. */
#include "unit.h"
#include "wire_random.h"

#include "base/alloc.h"
#include "model/limits.h"
#include "wire/frame.h"

#include <string.h>

static void frame_bytes(struct str *out, const char *json, const char *raw, size_t raw_len)
{
    size_t json_len = strlen(json);
    const size_t lens[2] = {json_len, raw_len};
    for (size_t i = 0; i < FRAME_HEADER_BYTES; i++)
        str_addc(out, (char)(unsigned char)(lens[i / 4] >> (24 - 8 * (i % 4))));
    str_addn(out, json, json_len);
    str_addn(out, raw, raw_len);
}

/* ---- what is written ------------------------------------------------------------------------ */

static void test_a_frame_is_what_the_header_says(void **state)
{
    struct job_spec spec = {
        .name = "a\"b", .req.min_nodes = 2, .req.hint = HINT_COMPUTE_BOUND, .batch = true};
    struct msg_submit m = {.specs = {&spec, 1}, .script = {"#!/bin/sh\n", 10}, .env = {"A=1\0", 4}};
    struct str out = STR_INIT, expected = STR_INIT;
    wire_encode(&(struct message){.kind = MSG_SUBMIT, .seq = 7, .body = &m}, &out);
    frame_bytes(
        &expected,
        "{\"type\":\"submit\",\"call\":7,\"specs\":[{\"min_nodes\":2,\"hint\":\"compute_bound\","
        "\"name\":\"a\\\"b\",\"batch\":true}],"
        "\"script\":{\"bytes\":10},\"env\":{\"bytes\":4}}",
        "#!/bin/sh\nA=1\0", 14);
    assert_int_equal(out.len, expected.len);
    assert_memory_equal(out.data, expected.data, out.len);
    str_done(&out);
    str_done(&expected);
}

static void round_trip(enum message_kind kind, struct rng *r, uint32_t permille)
{
    const struct fields *t = message_fields(kind);
    struct arena *a = arena_new();
    struct str out = STR_INIT;
    struct message back;
    struct frame f;
    struct err e = {0};
    void *body = arena_alloc(a, t->size);
    record_random(t, body, r, permille, a);
    struct message m = {.kind = kind, .seq = rng_next(r) >> rng_below(r, 64), .body = body};
    str_add(&out, "before");
    wire_encode(&m, &out);
    assert_int_equal(frame_take(out.data + 6, out.len - 6, &f, &e), out.len - 6);
    if (!wire_decode(&f, a, &back, &e))
        fail_msg("%s", e.text);
    assert_int_equal(back.kind, kind);
    assert_true(back.seq == m.seq);
    assert_true(record_equal(t, body, back.body));
    assert_false(wire_is_rows(&f));
    str_done(&out);
    arena_free(a);
}

static void test_every_message_comes_back(void **state)
{
    struct rng r = {1};
    for (int kind = 0; kind < MESSAGE_COUNT; kind++)
        for (uint32_t i = 0; i < 40; i++)
            round_trip((enum message_kind)kind, &r, 25 * (i + 1));
}

/* "type" and "call" stand beside the fields. */
static void test_no_field_is_called_as_the_frame_itself(void **state)
{
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        assert_int_equal(fields_find(message_fields(kind), "type"), -1);
        assert_int_equal(fields_find(message_fields(kind), "call"), -1);
    }
}

/* ---- where frames begin and end ------------------------------------------------------------- */

static void test_a_part_of_a_frame_needs_more(void **state)
{
    struct msg_script m = {.job_id = 42, .script = {"#!/bin/sh\n", 10}};
    struct str out = STR_INIT;
    struct frame f;
    wire_encode(&(struct message){.kind = MSG_SCRIPT, .body = &m}, &out);
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(frame_take(out.data, len, &f, NULL), 0);
    size_t one = out.len;
    str_add(&out, "xyz");
    assert_int_equal(frame_take(out.data, out.len, &f, NULL), one);
    assert_memory_equal(f.raw, "#!/bin/sh\n", 10);
    str_done(&out);
}

static void test_bytes_that_are_no_frame(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } bad[] = {
        {"GET / HTTP/1.1\r\n", 16,
         "not a frame: a JSON part of 1195725856 bytes (2 to 67108864 are allowed)"},
        {"\x04\x00\x00\x01", 4,
         "not a frame: a JSON part of 67108865 bytes (2 to 67108864 are allowed)"},
        {"\0\0\0\1", 4, "not a frame: a JSON part of 1 bytes (2 to 67108864 are allowed)"},
        {"\0\0\0\2\1\0\0\1", 8,
         "not a frame: a raw part of 16777217 bytes (at most 16777216 are allowed)"},
        {"\0\0\0\2\0\0\0\0x", 9, "not a frame: its JSON part is no object"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e = {0};
        struct frame f;
        assert_int_equal(frame_take(bad[i].bytes, bad[i].len, &f, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        assert_string_equal(e.text, bad[i].text);
    }
    struct frame f;
    assert_int_equal(frame_take("\x04\x00\x00\x00\x01\x00\x00\x00", 8, &f, NULL), 0);
}

/* ---- what is read --------------------------------------------------------------------------- */

static bool decode(const char *json, const char *raw, struct arena *a, struct message *ret,
                   struct err *e)
{
    const struct frame f = {
        .json = json, .json_len = strlen(json), .raw = raw, .raw_len = raw ? strlen(raw) : 0};
    *e = (struct err){0};
    return wire_decode(&f, a, ret, e);
}

static void test_a_foreign_writer_may_order_and_space_as_it_likes(void **state)
{
    struct arena *a = arena_new();
    struct message m;
    struct err e;
    assert_true(decode(" {\n \"names\" : \"x\" ,\"call\":9, \"signal\" : 9,\t\"type\":\"cancel\", "
                       "\"i\\u0064s\":\"42\"\r\n} ",
                       NULL, a, &m, &e));
    const struct msg_cancel *c = m.body;
    assert_int_equal(m.kind, MSG_CANCEL);
    assert_int_equal(m.seq, 9);
    assert_int_equal(c->signal, 9);
    assert_string_equal(c->ids, "42");
    assert_string_equal(c->names, "x");
    arena_free(a);
}

static void test_fields_of_a_newer_release_are_passed_over(void **state)
{
    struct arena *a = arena_new();
    struct message m;
    struct err e;
    assert_true(
        decode("{\"type\":\"script\",\"shiny\":[{\"a\":[1.5e3,null,\"\\u0000\"]}],\"checksum\":{"
               "\"bytes\":3},\"job_id\":42,\"more\":{\"x\":{}},"
               "\"script\":{\"kind\":\"sh\",\"bytes\":4}}",
               "abcdefg", a, &m, &e));
    const struct msg_script *s = m.body;
    assert_int_equal(s->job_id, 42);
    assert_int_equal(s->script.len, 4);
    assert_memory_equal(s->script.data, "defg", 4);
    arena_free(a);
}

static void test_null_is_not_given(void **state)
{
    struct arena *a = arena_new();
    struct message m;
    struct err e;
    assert_true(decode("{\"type\":\"submit\",\"specs\":null,\"script\":null,\"test_only\":null}",
                       NULL, a, &m, &e));
    assert_true(record_equal(message_fields(MSG_SUBMIT), m.body, &(struct msg_submit){0}));
    arena_free(a);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *json, *raw, *text;
    } bad[] = {
        {"{}", NULL, "a frame without \"type\""},
        {"{\"type\":\"dance\"}", NULL, "unknown message 'dance' (of a newer release?)"},
        {"{\"type\":\"rows\"}", NULL, "unknown message 'rows' (of a newer release?)"},
        {"{\"type\":\"submit\"", NULL, "expected ',' or '}' where the JSON ends (byte 16)"},
        {"{\"type\":\"submit\"} x", NULL, "expected the end at byte 18"},
        {"{\"type\":\"submit\",}", NULL, "expected a string at byte 17"},
        {"{\"type\":\"submit\",\"specs\":[{\"name\":5}]}", NULL,
         "submit.specs: job_spec.name: expected a string at byte 34"},
        {"{\"type\":\"submit\",\"specs\":{}}", NULL, "submit.specs: expected an array at byte 25"},
        {"{\"type\":\"submit\",\"specs\":[{\"min_nodes\":2147483648}]}", NULL,
         "submit.specs: job_spec.min_nodes: 2147483648 is out of range, 0 to 65536 is allowed"},
        {"{\"type\":\"submit\",\"specs\":[{\"min_nodes\":1.5}]}", NULL,
         "submit.specs: job_spec.min_nodes: expected a whole number at byte 39"},
        {"{\"type\":\"submit\",\"specs\":[{\"hint\":\"hurry\"}]}", NULL,
         "submit.specs: job_spec.hint: unknown name 'hurry' (of a newer release?)"},
        {"{\"type\":\"submit\",\"specs\":[{\"hint\":77}]}", NULL,
         "submit.specs: job_spec.hint: number 77 is out of range"},
        {"{\"type\":\"submit\",\"test_only\":1}", NULL,
         "submit.test_only: expected true or false at byte 29"},
        {"{\"type\":\"submit\",\"test_only\":true,\"test_only\":true}", NULL,
         "submit.test_only: given twice"},
        {"{\"type\":\"submit\",\"script\":{\"bytes\":4}}", "abc",
         "submit.script: 4 bytes, but the raw part of the frame has 3 left"},
        {"{\"type\":\"submit\",\"script\":{\"bytes\":-1}}", "abc",
         "submit.script: number -1 is out of range"},
        {"{\"type\":\"submit\",\"script\":{\"bytes\":2}}", "abc",
         "submit: 1 raw bytes belong to no field"},
        {"{\"type\":\"wait_job\",\"job_id\":18446744073709551616}", NULL,
         "wait_job.job_id: number at byte 28 does not fit 64 bits"},
        {"{\"type\":\"wait_job\",\"job_id\":-1}", NULL,
         "wait_job.job_id: -1 is out of range, 0 to 18446744073709551615 is allowed"},
        {"{\"type\":\"wait_job\",\"job_id\":01}", NULL,
         "wait_job.job_id: number at byte 28 starts with 0"},
        {"{\"type\":\"cancel\",\"ids\":\"4\\u00002\"}", NULL,
         "cancel.ids: a text with a NUL character in it"},
        {"{\"type\":\"cancel\",\"ids\":\"\\ud800\"}", NULL,
         "cancel.ids: half a surrogate pair before byte 30"},
        {"{\"type\":\"cancel\",\"ids\":\"\xff\"}", NULL,
         "cancel.ids: expected UTF-8 in a string at byte 24"},
        {"{\"type\":\"cancel\",\"ids\":\"\n\"}", NULL,
         "cancel.ids: expected no bare control character in a string at byte 24"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct message m;
        struct err e;
        if (decode(bad[i].json, bad[i].raw, a, &m, &e))
            fail_msg("read: %s", bad[i].json);
        assert_string_equal(e.text, bad[i].text);
        assert_int_equal(e.code, ERR_INVALID);
    }
    arena_free(a);
}

static bool encode_and_decode(enum message_kind kind, const void *body, struct arena *a,
                              struct err *e)
{
    struct str out = STR_INIT;
    struct message m;
    struct frame f;
    *e = (struct err){0};
    wire_encode(&(struct message){.kind = kind, .body = body}, &out);
    bool good = frame_take(out.data, out.len, &f, e) > 0 && wire_decode(&f, a, &m, e);
    str_done(&out);
    return good;
}

static void test_long_texts(void **state)
{
    static char text[LIMIT_TEXT_BYTES + 2];
    memset(text, 'x', sizeof text - 1);
    struct arena *a = arena_new();
    struct err e;
    struct job_spec spec = {.comment = text};
    assert_false(encode_and_decode(MSG_SUBMIT, &(struct msg_submit){.specs = {&spec, 1}}, a, &e));
    assert_string_equal(
        e.text, "submit.specs: job_spec.comment: a text of 65537 bytes; at most 65536 are allowed");
    spec = (struct job_spec){.comment = text + 1, .submit_line = text};
    assert_true(encode_and_decode(MSG_SUBMIT, &(struct msg_submit){.specs = {&spec, 1}}, a, &e));
    char *line = arena_alloc(a, LIMIT_SUBMIT_LINE_BYTES + 2);
    memset(line, 'x', LIMIT_SUBMIT_LINE_BYTES + 1);
    line[LIMIT_SUBMIT_LINE_BYTES + 1] = '\0';
    spec = (struct job_spec){.submit_line = line + 1};
    assert_true(encode_and_decode(MSG_SUBMIT, &(struct msg_submit){.specs = {&spec, 1}}, a, &e));
    spec.submit_line = line;
    assert_false(encode_and_decode(MSG_SUBMIT, &(struct msg_submit){.specs = {&spec, 1}}, a, &e));
    assert_non_null(strstr(e.text, "1048577 bytes; at most 1048576 are allowed"));
    assert_true(encode_and_decode(MSG_CANCEL, &(struct msg_cancel){.ids = text}, a, &e));
    struct job job = {.nodes = text};
    assert_true(encode_and_decode(MSG_LAUNCH, &(struct msg_launch){.job = {&job, 1}}, a, &e));
    arena_free(a);
}

static void test_a_list_has_a_limit(void **state)
{
    struct str json = STR_INIT;
    struct arena *a = arena_new();
    struct message m;
    struct err e;
    str_add(&json, "{\"type\":\"done\",\"results\":[{}");
    for (size_t i = 1; i < LIMIT_LIST_RECORDS; i++)
        str_add(&json, ",{}");
    size_t full = json.len;
    str_add(&json, "]}");
    assert_true(decode(str_text(&json), NULL, a, &m, &e));
    assert_int_equal(((const struct msg_done *)m.body)->results.n, LIMIT_LIST_RECORDS);
    str_cut(&json, full);
    str_add(&json, ",{}]}");
    assert_false(decode(str_text(&json), NULL, a, &m, &e));
    assert_string_equal(e.text, "done.results: more than 65536 records in a list");
    str_done(&json);
    arena_free(a);
}

/* `head`, so many bytes of `piece`, `tail`. */
static bool decodes(const char *head, const char *piece, size_t bytes, const char *tail,
                    struct err *e)
{
    struct str json = STR_INIT;
    struct arena *a = arena_new();
    struct message m;
    str_add(&json, head);
    for (size_t i = 0; i < bytes; i += strlen(piece))
        str_add(&json, piece);
    str_add(&json, tail);
    bool taken = decode(str_text(&json), NULL, a, &m, e);
    str_done(&json);
    arena_free(a);
    return taken;
}

/* What is bounded goes by who speaks, not by what he says that it is. */
static void test_users_have_no_longer_messages(void **state)
{
    static const char *const head[] = {
        "{\"type\":\"done\",\"new\":[{}", "{\"type\":\"change_accounts\",\"changes\":[{}",
        "{\"type\":\"add_past\",\"jobs\":[{}", "{\"type\":\"node_hello\",\"held\":[{}"};
    for (size_t i = 0; i < ARRAY_LEN(head); i++) {
        struct str json = STR_INIT;
        struct arena *a = arena_new();
        struct message m;
        struct err e = {0};
        str_add(&json, head[i]);
        for (int k = 0; k < 30000; k++)
            str_add(&json, ",{}");
        str_add(&json, "]}");
        assert_true(decode(str_text(&json), NULL, a, &m, &e));
        const struct frame f = {.json = json.data, .json_len = (uint32_t)json.len};
        assert_false(wire_decode_of_user(&f, a, &m, &e));
        assert_non_null(strstr(e.text, i ? "more than 256 records" : "more than 65536 bytes"));
        str_done(&json);
        arena_free(a);
    }
}

/* A request is decoded in one go: what it costs is bounded whatever is in it. */
static void test_a_request_costs_so_much_to_decode(void **state)
{
    static const char ping[] = "{\"type\":\"daemon\"",
                      specs[] = "{\"type\":\"submit\",\"specs\":[{}";
    static const struct {
        const char *head, *piece;
        size_t bytes;
        const char *tail, *says; /* NULL: it is taken */
    } cases[] = {
        {specs, ",{}", 255 * 3, "]}", NULL},
        {specs, ",{}", 256 * 3, "]}", "more than 256 records in a list"},
        {ping, " ", 4000000, "}", NULL},
        {ping, " ", 5000000, "}", "has 4194304 bytes"},
        {"{\"type\":\"daemon\",\"new\":\"", "x", 60000, "\"}", NULL},
        {"{\"type\":\"daemon\",\"new\":\"", "x", 70000, "\"}", "more than 65536 bytes"},
        {"{\"type\":\"daemon\",\"new\":[", "1,", 70000, "1]}", "more than 65536 bytes"},
        {"{\"type\":\"daemon\",\"new\":[{}", ",{}", 70000, "]}", "more than 65536 bytes"},
        {"{\"type\":\"daemon\",\"new\":{\"bytes\":0", ",\"b\":1", 70000, "}}",
         "more than 65536 bytes"},
        {"{\"old\":\"", "x", 70000, "\",\"type\":\"daemon\"}", "begins with its"},
        /* Of nodes, the controller and those who load accounts. */
        {"{\"type\":\"done\",\"new\":\"", "x", 70000, "\"}", NULL},
        {"{\"type\":\"done\"", " ", 5000000, "}", NULL},
        {"{\"type\":\"change_accounts\",\"changes\":[{}", ",{}", 9000, "]}", NULL},
        {"{\"type\":\"node_hello\",\"held\":[{}", ",{}", 9000, "]}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = {0};
        bool taken = decodes(cases[i].head, cases[i].piece, cases[i].bytes, cases[i].tail, &e);
        if (taken != !cases[i].says || (!taken && !strstr(e.text, cases[i].says)))
            fail_msg("case %zu: %s", i, taken ? "taken" : e.text);
    }
    /* Many that are not known are counted together. */
    struct err e = {0};
    assert_false(decodes(ping, ",\"new\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"", 200000, "}", &e));
    assert_non_null(strstr(e.text, "more than 65536 bytes"));
}

static void test_nesting_has_a_limit(void **state)
{
    struct str json = STR_INIT;
    struct arena *a = arena_new();
    struct message m;
    struct err e;
    str_add(&json, "{\"type\":\"done\",\"deep\":");
    for (int i = 0; i < 100000; i++)
        str_addc(&json, '[');
    assert_false(decode(str_text(&json), NULL, a, &m, &e));
    assert_string_equal(e.text, "JSON nested deeper than 64");
    str_done(&json);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_is_what_the_header_says),
        cmocka_unit_test(test_every_message_comes_back),
        cmocka_unit_test(test_no_field_is_called_as_the_frame_itself),
        cmocka_unit_test(test_a_part_of_a_frame_needs_more),
        cmocka_unit_test(test_bytes_that_are_no_frame),
        cmocka_unit_test(test_a_foreign_writer_may_order_and_space_as_it_likes),
        cmocka_unit_test(test_fields_of_a_newer_release_are_passed_over),
        cmocka_unit_test(test_null_is_not_given),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_a_list_has_a_limit),
        cmocka_unit_test(test_a_request_costs_so_much_to_decode),
        cmocka_unit_test(test_users_have_no_longer_messages),
        cmocka_unit_test(test_nesting_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
