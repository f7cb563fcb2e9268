/* Whatever the arguments of a script are, they arrive as they were typed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/grammar/script_args.h"

#include <string.h>

static void there_and_back(void **state)
{
    static const char *const args[] = {"plain", "",   "two words", "a\nb", "back\\slash",
                                       "\\n",   "\n", "\\",        "'q\"", "\x1f"};
    struct str text = STR_INIT, back = STR_INIT;
    size_t n = sizeof args / sizeof args[0];
    for (size_t i = 0; i < n; i++)
        script_args_add(&text, args[i]);
    assert_int_equal(script_args_unpack(str_text(&text), &back), n);
    const char *at = back.data;
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(at, args[i]);
        at += strlen(at) + 1;
    }
    assert_ptr_equal(at, back.data + back.len);
    str_done(&text);
    str_done(&back);
}

static void as_it_is_written(void **state)
{
    struct str text = STR_INIT;
    script_args_add(&text, "a\\b");
    script_args_add(&text, "c\nd");
    assert_string_equal(str_text(&text), "a\\\\b\nc\\nd\n");
    str_done(&text);
}

static void none(void **state)
{
    struct str out = STR_INIT;
    assert_int_equal(script_args_unpack(NULL, &out), 0);
    assert_int_equal(script_args_unpack("", &out), 0);
    assert_int_equal(out.len, 0);
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back),
                                       cmocka_unit_test(as_it_is_written), cmocka_unit_test(none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
