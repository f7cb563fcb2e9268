#include "unit.h"

#include "base/err.h"

#include <string.h>

static void test_set_returns_false_so_that_return_reads_well(void **state)
{
    struct err e = {0};
    assert_false(err_set(&e, ERR_NOT_FOUND, "no partition \"%s\"", "gpu"));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.text, "no partition \"gpu\"");
}

static void test_who_does_not_want_the_reason_passes_null(void **state)
{
    assert_false(err_set(NULL, ERR_INVALID, "x"));
    assert_false(err_prefix(NULL, "x"));
}

static void test_prefix_says_where_and_keeps_the_code(void **state)
{
    struct err e = {0};
    err_set(&e, ERR_DENIED, "not yours");
    assert_false(err_prefix(&e, "job %d", 17));
    assert_string_equal(e.text, "job 17: not yours");
    assert_int_equal(e.code, ERR_DENIED);
}

/* C0, C1, what turns the direction of writing, a line separator, bytes that are no UTF-8. */
static void test_what_a_sentence_quotes_moves_no_terminal(void **state)
{
    struct err e = {0};
    err_set(&e, ERR_INVALID, "no job %s",
            "a\033[2J\n\xc2\x9b"
            "2Jb\xe2\x80\xae"
            "c\xe2\x80\xa8\xff\xc3\xa9");
    assert_string_equal(e.text, "no job a [2J   2Jb   c   ?\xc3\xa9");
    err_lead(&e, "first \xc2\x9b%s", "\033c");
    assert_string_equal(e.lead, "first    c");
    err_prefix(&e, "in \xe2\x80\xae%s", "\r");
    assert_memory_equal(e.text, "in     : no job", 15);
}

static void test_a_long_sentence_is_cut_to_fit(void **state)
{
    struct err e = {0};
    err_set(&e, ERR_INVALID, "%01000d", 7);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
    err_prefix(&e, "what");
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
    assert_memory_equal(e.text, "what: 000", 9);
    err_prefix(&e, "%01000d", 7);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
}

static void test_a_quoted_text_cannot_break_the_line(void **state)
{
    struct err e = {0};
    err_set(&e, ERR_INVALID, "\"%s\" is no name", "a\nb\r\033[1mé");
    assert_string_equal(e.text, "\"a b  [1mé\" is no name");
    err_prefix(&e, "x\ny");
    assert_string_equal(e.text, "x y: \"a b  [1mé\" is no name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_returns_false_so_that_return_reads_well),
        cmocka_unit_test(test_who_does_not_want_the_reason_passes_null),
        cmocka_unit_test(test_prefix_says_where_and_keeps_the_code),
        cmocka_unit_test(test_what_a_sentence_quotes_moves_no_terminal),
        cmocka_unit_test(test_a_long_sentence_is_cut_to_fit),
        cmocka_unit_test(test_a_quoted_text_cannot_break_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
