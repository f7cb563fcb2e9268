/* Columns of texts in letters of several bytes (wire/utf8.h). */
#include "unit.h"

#include "wire/utf8.h"

#include <string.h>

static void columns_count_characters(void **state)
{
    static const struct {
        const char *text;
        size_t width, bytes; /* of the first so many characters */
        size_t most, cut;    /* to how many bytes it may be cut */
        const char *columns; /* in `width` columns */
    } rows[] = {
        {"", 0, 0, 0, 0, ""},
        {"", 3, 0, 4, 0, "   "},
        {"abc", 2, 2, 2, 2, "ab"},
        {"abc", 5, 3, 9, 3, "abc  "},
        {"\xc3\xa4\xc3\xa4", 1, 2, 3, 2, "\xc3\xa4"},
        {"\xc3\xa4\xc3\xa4", 3, 4, 1, 0, "\xc3\xa4\xc3\xa4 "},
        {"a\xe4\xb8\xad"
         "b",
         2, 4, 3, 1, "a\xe4\xb8\xad"},
        {"\xf0\x9f\x8f\xb4z", 1, 4, 4, 4, "\xf0\x9f\x8f\xb4"},
        {"\x80\x80z", 1, 3, 2, 2, "\x80\x80z"}, /* bytes that go on with nothing take no column */
    };
    struct str out = STR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = strlen(rows[i].text);
        assert_int_equal(utf8_bytes(rows[i].text, len, rows[i].width), rows[i].bytes);
        assert_int_equal(utf8_cut(rows[i].text, len, rows[i].most), rows[i].cut);
        str_clear(&out);
        utf8_add_columns(&out, rows[i].text, rows[i].width);
        assert_string_equal(str_text(&out), rows[i].columns);
        assert_int_equal(utf8_width(str_text(&out), out.len), rows[i].width);
        str_add(&out, "more");
        utf8_cut_columns(&out, rows[i].width);
        assert_string_equal(str_text(&out), rows[i].columns);
    }
    str_clear(&out);
    utf8_add_columns(&out, NULL, 2);
    assert_string_equal(str_text(&out), "  ");
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_count_characters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
