/* What may go to anybody's terminal. */
#include "base/plain.h"
#include "unit.h"

#include <string.h>

static void becomes(const char *text, const char *want)
{
    struct str s = STR_INIT;
    str_add_plain(&s, text);
    assert_string_equal(str_text(&s), want);
    assert_int_equal(text_is_plain(text), strcmp(text, want) == 0);
    assert_true(text_is_plain(str_text(&s)));
    str_done(&s);
}

static void test_letters_stay(void **state)
{
    becomes("", "");
    becomes("train \\x1b {a} ~", "train \\x1b {a} ~");
    becomes("Gr\xc3\xb6\xc3\x9f"
            "e \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x8e",
            "Gr\xc3\xb6\xc3\x9f"
            "e \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x90\x8e");
    assert_true(text_is_plain(NULL));
}

static void test_what_moves_a_terminal_is_shown(void **state)
{
    becomes("a\x1b[31mb", "a\\x1b[31mb");
    becomes("a\nb\rc\td\x07\x08\x7f", "a\\nb\\rc\\td\\x07\\x08\\x7f");
    becomes("\xc2\x9b"
            "31m",
            "\\u009b31m"); /* C1: CSI in one character */
    becomes("\xe2\x80\xaegnp", "\\u202egnp");
    becomes("\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069");
    becomes("\xe2\x80\xa8", "\\u2028");
    becomes("\xf3\xa0\x80\xa1", "\\U000e0021");
    becomes("\xef\xbf\xbb", "\\ufffb");
}

/* Else a name looks like another's, in each listing. Joiners are parts of words and pictures. */
static void test_what_is_not_to_be_seen_is_shown(void **state)
{
    becomes("ro\xe2\x80\x8bot", "ro\\u200bot");
    becomes("ro\xc2\xadot", "ro\\u00adot");
    becomes("a\xe2\x81\xa0\xe2\x81\xa4\xe2\x81\xaf", "a\\u2060\\u2064\\u206f");
    becomes("\xe3\x85\xa4\xef\xbe\xa0\xe1\x85\x9f", "\\u3164\\uffa0\\u115f");
    becomes("\xe1\xa0\x8e\xef\xbb\xbf", "\\u180e\\ufeff");
    becomes("\xf0\x9d\x85\xb3", "\\U0001d173");
    for (const char *const *as =
             (const char *const[]){"\xe2\x80\x8c", "\xe2\x80\x8d", "\xef\xb8\x8f", "\xc2\xac",
                                   "\xc2\xae", "\xe2\x81\x9f", "\xe2\x81\xb0", NULL};
         *as; as++)
        becomes(*as, *as);
}

static void test_bytes_that_are_no_letters_are_shown(void **state)
{
    becomes("\x9b"
            "31m",
            "\\x9b31m");
    becomes("a\xc3", "a\\xc3");
    becomes("\xc0\x9b", "\\xc0\\x9b");          /* a longer way to write 0x1b … */
    becomes("\xe0\x82\x9b", "\\xe0\\x82\\x9b"); /* … and U+009B */
    becomes("\xed\xa0\x80", "\\xed\\xa0\\x80");
    becomes("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
}

static void test_lines_may_stay_lines(void **state)
{
    struct str s = STR_INIT;
    str_add_plain_lines(&s, "one\ntwo\x1b\r");
    assert_string_equal(str_text(&s), "one\ntwo\\x1b\\r");
    str_done(&s);
}

/* Every character there is: none that is left is one of those that do something. */
static void test_a_word_of_a_shell_is_one_whatever_is_in_it(void **state)
{
    static const char *const words[][2] = {
        {"", "''"}, {"a b", "'a b'"}, {"$x`y`\\", "'$x`y`\\'"}, {"it's'", "'it'\\''s'\\'''"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct str s = STR_INIT;
        str_add_shell_word(&s, words[i][0]);
        assert_string_equal(str_text(&s), words[i][1]);
        str_done(&s);
    }
}

static void test_every_character(void **state)
{
    for (unsigned c = 1; c <= 0x10ffff; c++) {
        char text[5] = "";
        size_t n = 0;
        if (c < 0x80) {
            text[n++] = (char)c;
        } else if (c < 0x800) {
            text[n++] = (char)(0xc0 | c >> 6);
            text[n++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            text[n++] = (char)(0xe0 | c >> 12);
            text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            text[n++] = (char)(0x80 | (c & 0x3f));
        } else {
            text[n++] = (char)(0xf0 | c >> 18);
            text[n++] = (char)(0x80 | (c >> 12 & 0x3f));
            text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
            text[n++] = (char)(0x80 | (c & 0x3f));
        }
        bool bad = c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) ||
                   (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
        if (bad)
            assert_false(text_is_plain(text));
        else if (c < 0x600 && c != 0xad)
            assert_true(text_is_plain(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters_stay),
        cmocka_unit_test(test_what_moves_a_terminal_is_shown),
        cmocka_unit_test(test_what_is_not_to_be_seen_is_shown),
        cmocka_unit_test(test_bytes_that_are_no_letters_are_shown),
        cmocka_unit_test(test_lines_may_stay_lines),
        cmocka_unit_test(test_a_word_of_a_shell_is_one_whatever_is_in_it),
        cmocka_unit_test(test_every_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
