/* YAML out of JSON (wire/yaml.h): the frame, the scalars that YAML would take for something else,
 * and bytes that are no JSON. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "wire/json.h"
#include "wire/yaml.h"

#include <string.h>

static void documents_become_blocks(void **state)
{
    static const struct {
        const char *json, *yaml;
    } rows[] = {
        {"1", "--- 1\n"},
        {"\"a\"", "--- \"a\"\n"},
        {"{}", "--- {}\n"},
        {"[]", "--- []\n"},
        {"{\"a\": [1, true, null, -2.5], \"b\": {\"c\": {}}}",
         "---\na:\n  - 1\n  - true\n  - null\n  - -2.5\nb:\n  c: {}\n"},
        {"[[1,2],[],{\"a\":1}]", "---\n-\n  - 1\n  - 2\n- []\n-\n  a: 1\n"},
        /* Words and names that YAML 1.1 has a meaning for. */
        {"{\"yes\":\"no\",\"k-x\":\"#\",\"1\":\"~\",\"\":\"\"}",
         "---\n\"yes\": \"no\"\n\"k-x\": \"#\"\n\"1\": \"~\"\n\"\": \"\"\n"},
        /* An exponent behind no point would be a text. */
        {"[1e-07,2.5e+10,1E+300]", "---\n- 1.0e-07\n- 2.5e+10\n- 1.0E+300\n"},
        /* Two halves of a character are one to YAML; a half alone is none. */
        {"\"\\udb40\\udc01 \\uD83C\\uDFF4 \\\\ud83c\\\\udff4\"",
         "--- \"\\U000e0001 \\U0001f3f4 \\\\ud83c\\\\udff4\"\n"},
        {"[\"\\udb40\",\"\\udc01\\udb40\",\"\\udb40\\u0041\",\"\\udb40x\"]",
         "---\n- \"\\ufffd\"\n- \"\\ufffd\\ufffd\"\n- \"\\ufffd\\u0041\"\n- \"\\ufffdx\"\n"},
        {"{\"\\udb40\\udc01\":1}", "---\n\"\\U000e0001\": 1\n"},
        {"\"a\\n\\\"b\\\\ \\u001b\"", "--- \"a\\n\\\"b\\\\ \\u001b\"\n"},
        /* Line breaks of YAML, and what it does not print. */
        {"\"\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\x7f \xc3\xa9\"",
         "--- \"\\u0085\\u2028\\ufeff\\u007f \xc3\xa9\"\n"},
    };
    struct str out = STR_INIT;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        str_clear(&out);
        assert_true(yaml_of_json(rows[i].json, strlen(rows[i].json), &out));
        assert_string_equal(str_text(&out), rows[i].yaml);
    }
    str_done(&out);
}

static void what_is_no_json_is_told(void **state)
{
    static const char *const rows[] = {"",         "{",          "[1",     "{\"a\"}",
                                       "{\"a\":}", "{1:2}",      "\"open", "[1] 2",
                                       "[1 2]",    "{\"a\":1,}", "\"\\"};
    struct str out = STR_INIT, deep = STR_INIT;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (yaml_of_json(rows[i], strlen(rows[i]), &out))
            fail_msg("%s", rows[i]);
    for (int i = 0; i < 100000; i++)
        str_addc(&deep, '[');
    assert_false(yaml_of_json(str_text(&deep), deep.len, &out));
    str_done(&deep);
    str_done(&out);
}

/* Any bytes: an answer, and what json_out writes is always taken. */
static void any_bytes_will_do(void **state)
{
    static const char *const pieces[] = {"{", "}", "[", "]", ":",    ",",  "\"",   "\\",  "a",
                                         "1", "e", " ", "-", "true", "\n", "\xe2", "\x80"};
    struct rng r = {7};
    struct str out = STR_INIT, text = STR_INIT, json = STR_INIT;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct json_out j;
        str_clear(&text);
        str_clear(&out);
        str_clear(&json);
        for (uint64_t n = rng_below(&r, 24); n > 0; n--)
            str_add(&text, pieces[rng_below(&r, ARRAY_LEN(pieces))]);
        yaml_of_json(str_text(&text), text.len, &out);
        json_begin(&j, &json, rng_below(&r, 2));
        json_object(&j);
        json_key_text(&j, str_text(&text), str_text(&text));
        json_key(&j, "list");
        json_array(&j);
        json_text(&j, str_text(&text));
        json_double(&j, 1e-9);
        json_array_end(&j);
        json_object_end(&j);
        assert_true(yaml_of_json(str_text(&json), json.len, &out));
    }
    str_done(&json);
    str_done(&text);
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_become_blocks),
        cmocka_unit_test(what_is_no_json_is_told),
        cmocka_unit_test(any_bytes_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
