/* JSON for people's tools: well-formed whatever the bytes; JSON of people's programs: read by the
 * field tables. */
#include "unit.h"
#include "wire_random.h"

#include "base/alloc.h"
#include "model/message.h"
#include "model/stored.h"
#include "wire/json.h"
#include "wire/json_in.h"
#include "wire/quote.h"
#include "wire/utf8.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- writing -------------------------------------------------------------------------------- */

static void write_example(struct str *out, bool pretty)
{
    struct json_out j;
    json_begin(&j, out, pretty);
    json_object(&j);
    json_key_text(&j, "name", "train");
    json_key_i64(&j, "n", -5);
    json_key_bool(&j, "on", true);
    json_key(&j, "list");
    json_array(&j);
    json_u64(&j, UINT64_MAX);
    json_null(&j);
    json_object(&j);
    json_object_end(&j);
    json_double(&j, 0.1);
    json_array_end(&j);
    json_key(&j, "empty");
    json_array(&j);
    json_array_end(&j);
    json_key_text(&j, "none", NULL);
    json_object_end(&j);
}

static void test_the_writer_puts_commas_and_lines(void **state)
{
    struct str out = STR_INIT;
    write_example(&out, false);
    assert_string_equal(str_text(&out),
                        "{\"name\":\"train\",\"n\":-5,\"on\":true,\"list\":["
                        "18446744073709551615,null,{},0.1],\"empty\":[],\"none\":\"\"}");
    str_clear(&out);
    write_example(&out, true);
    assert_string_equal(str_text(&out),
                        "{\n  \"name\": \"train\",\n  \"n\": -5,\n  \"on\": true,\n  \"list\": [\n "
                        "   18446744073709551615,\n"
                        "    null,\n    {},\n    0.1\n  ],\n  \"empty\": [],\n  \"none\": \"\"\n}");
    str_done(&out);
}

static void assert_text(const char *text, const char *expected)
{
    struct str out = STR_INIT;
    struct json_out j;
    json_begin(&j, &out, false);
    json_text(&j, text);
    assert_string_equal(str_text(&out), expected);
    str_done(&out);
}

static void test_texts_are_always_valid(void **state)
{
    assert_text("a\"\\/\b\f\n\r\t\x01\x1f\x7f",
                "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"");
    assert_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb4", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb4\"");
    assert_text("\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\xa1",
                "\"\\u009b\\u202e\\udb40\\udc21\""); /* moves a terminal */
    assert_text("x\xffy", "\"x\xef\xbf\xbdy\"");
    assert_text("\xc3", "\"\xef\xbf\xbd\"");                                 /* cut off */
    assert_text("\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"");                 /* overlong */
    assert_text("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* a surrogate */
    assert_text("\xf4\x90\x80\x80",
                "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* above U+10FFFF */
}

static void assert_double(double d, const char *expected)
{
    struct str out = STR_INIT;
    struct json_out j;
    json_begin(&j, &out, false);
    json_double(&j, d);
    assert_string_equal(str_text(&out), expected);
    str_done(&out);
}

static void test_doubles(void **state)
{
    assert_double(0, "0");
    assert_double(-1.5, "-1.5");
    assert_double(1.0 / 3, "0.33333333333333331");
    assert_double(1e300, "1e+300");
    assert_double(INFINITY, "null");
    assert_double(NAN, "null");
}

static void value_without_key(struct json_out *j)
{
    json_object(j);
    json_i64(j, 1);
}

static void wrong_bracket(struct json_out *j)
{
    json_object(j);
    json_array_end(j);
}

static void key_in_array(struct json_out *j)
{
    json_array(j);
    json_key(j, "a");
}

static void assert_aborts(void (*misuse)(struct json_out *))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct str out = STR_INIT;
        struct json_out j;
        signal(SIGABRT, SIG_DFL);
        json_begin(&j, &out, false);
        misuse(&j);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void test_misuse_aborts(void **state)
{
    assert_aborts(value_without_key);
    assert_aborts(wrong_bracket);
    assert_aborts(key_in_array);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_json(const char *text)
{
    struct json_in in;
    struct arena *a = arena_new();
    json_in_begin(&in, text, strlen(text), a, NULL);
    bool good = json_in_skip(&in) && json_in_end(&in);
    arena_free(a);
    return good;
}

static void test_the_grammar(void **state)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1.5",
        "-1e5",
        "1E+2",
        "1e-2",
        "true",
        "false",
        "null",
        "\"\"",
        "\"\\u00e9\\\"\\/\\b\\f\\n\\r\\t\\\\\"",
        "\"\\ud83d\\udc34\"",
        "[]",
        "[1,[2,{}],\"x\"]",
        "{\"a\":1,\"a\":2}",
        " \t\r\n[ 1 , 2 ] ",
        "\"\\udc80\"",
        "18446744073709551616",
        "\"\x7f\"",
    };
    static const char *const bad[] = {
        "",
        " ",
        "-",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "1e+",
        "tru",
        "nulll",
        "True",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\t\"",
        "\"\xff\"",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\" 1}",
        "[1]x",
        "{}{}",
        "'a'",
        "//",
        "[1}",
        "NaN",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!is_json(good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (is_json(bad[i]))
            fail_msg("accepted: %s", bad[i]);
}

static void test_bytes_that_are_no_text_survive(void **state)
{
    struct arena *a = arena_new();
    struct json_in in;
    const char *json = "\"a\\udcff\\udc80\\ud83d\\udc34\"", *text = NULL;
    json_in_begin(&in, json, strlen(json), a, NULL);
    assert_true(json_in_text(&in, SIZE_MAX, &text));
    assert_string_equal(text, "a\xff\x80\xf0\x9f\x90\xb4");
    arena_free(a);
}

/* Long runs of each kind, of every length around what is written at once, are what they were. */
static void test_runs_of_escapes_survive(void **state)
{
    static const char *const piece[] = {"\x01",
                                        "\x7f",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "\xff",
                                        "\xc3",
                                        "\xc3\xa4",
                                        "\xe2\x80\xae",
                                        "a",
                                        "\x01\xff",
                                        "\\\"",
                                        "\xf0\x9f\x90\xb4"};
    for (size_t i = 0; i < ARRAY_LEN(piece); i++)
        for (size_t n = 0; n < 200; n++) {
            struct arena *a = arena_new();
            struct str text = STR_INIT, json = STR_INIT;
            struct json_in in;
            struct err e = {0};
            const char *got = NULL;
            for (size_t k = 0; k < n; k++)
                str_add(&text, piece[i]);
            str_add(&text, n % 3 ? "b" : "\x02");
            json_quote(&json, text.data, text.len, true);
            json_in_begin(&in, json.data, json.len, a, &e);
            if (!json_in_text(&in, SIZE_MAX, &got) || !json_in_end(&in))
                fail_msg("%s", e.text);
            assert_string_equal(got, text.data);
            str_done(&text);
            str_done(&json);
            arena_free(a);
        }
}

/* ---- records -------------------------------------------------------------------------------- */

/* Bytes that are no UTF-8 become U+FFFD for tools, so the second reading is compared with the
 * first, not with the record. */
static void test_records_are_objects_of_their_fields(void **state)
{
    struct rng r = {3};
    for (uint32_t i = 0; i < 200; i++) {
        struct arena *a = arena_new();
        struct str one = STR_INIT, two = STR_INIT;
        struct job sent = {0}, got = {0};
        struct json_out j;
        struct err e = {0};
        record_random(&job_fields, &sent, &r, i * 5, a);
        json_begin(&j, &one, i % 2);
        json_record(&j, &job_fields, &sent);
        if (!json_to_record(str_text(&one), one.len, &job_fields, &got, a, &e))
            fail_msg("%s", e.text);
        json_begin(&j, &two, i % 2);
        json_record(&j, &job_fields, &got);
        assert_string_equal(str_text(&one), str_text(&two));
        str_done(&one);
        str_done(&two);
        arena_free(a);
    }
}

static void test_a_submit_filter_answers(void **state)
{
    const char *json =
        "{\"partition\": \"gpu\", \"time_limit_us\": 3600000000, \"hold\": true, \"colour\": "
        "\"red\", \"hint\": \"Compute_Bound\"}";
    struct arena *a = arena_new();
    struct job_spec spec = {0};
    struct err e = {0};
    assert_true(json_to_record(json, strlen(json), &job_spec_fields, &spec, a, &e));
    assert_string_equal(spec.req.partition, "gpu");
    assert_int_equal(spec.req.time_limit_us, 3600000000);
    assert_int_equal(spec.req.hint, HINT_COMPUTE_BOUND);
    assert_true(spec.hold);
    assert_false(json_to_record("[1]", 3, &job_spec_fields, &spec, a, &e));
    assert_string_equal(e.text, "expected an object at byte 0");
    arena_free(a);
}

static void test_blobs_are_texts_for_programs(void **state)
{
    struct arena *a = arena_new();
    struct str out = STR_INIT;
    struct json_out j;
    struct payload p = {.job_id = 42, .script = {"#!/bin/sh\n", 10}, .env = {"A=1\0B=2\0", 8}},
                   got = {0};
    json_begin(&j, &out, false);
    json_record(&j, &payload_fields, &p);
    assert_string_equal(
        str_text(&out),
        "{\"job_id\":42,\"script\":\"#!/bin/sh\\n\",\"env\":\"A=1\\u0000B=2\\u0000\"}");
    assert_true(json_to_record(str_text(&out), out.len, &payload_fields, &got, a, NULL));
    assert_true(record_equal(&payload_fields, &p, &got));
    str_done(&out);
    arena_free(a);
}

/* Characters of one to four bytes, cut at each byte and at each column. */
static void test_texts_are_cut_between_characters(void **state)
{
    static const char text[] = "aä€𝄞z𝄞€äa";
    size_t len = strlen(text), last = 0;
    for (size_t most = 0; most <= len + 3; most++) {
        size_t n = utf8_cut(text, len, most), whole = 0;
        while (whole < n) {
            size_t one = utf8_take(text + whole, len - whole);
            assert_true(one > 0);
            whole += one;
        }
        assert_int_equal(whole, n);
        assert_true(n <= most && n >= last && (n + 4 > most || n == len));
        last = n;
        assert_int_equal(utf8_bytes(text, len, utf8_width(text, n)), n);
    }
    assert_int_equal(last, len);
    assert_int_equal(utf8_width(text, len), 9);
    assert_int_equal(utf8_bytes(text, len, 100), len);
    assert_int_equal(utf8_cut("\xbf\xbf\xbf", 3, 2), 0); /* no text at all ends somewhere, too */
    assert_int_equal(utf8_bytes("", 0, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_writer_puts_commas_and_lines),
        cmocka_unit_test(test_texts_are_always_valid),
        cmocka_unit_test(test_texts_are_cut_between_characters),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_misuse_aborts),
        cmocka_unit_test(test_the_grammar),
        cmocka_unit_test(test_bytes_that_are_no_text_survive),
        cmocka_unit_test(test_runs_of_escapes_survive),
        cmocka_unit_test(test_records_are_objects_of_their_fields),
        cmocka_unit_test(test_a_submit_filter_answers),
        cmocka_unit_test(test_blobs_are_texts_for_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
