/* Lines of files that are not ours. */
#include "unit.h"

#include "io/lines.h"

#include <stdlib.h>
#include <string.h>

static FILE *of(const char *text, size_t len)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    rewind(f);
    return f;
}

static void lines_of_any_length(void **unused)
{
    (void)unused;
    struct str line = STR_INIT;
    struct err err;
    char *longer = malloc(10001);
    memset(longer, 'x', 10000);
    longer[10000] = '\n';
    static const char four[] = "one\n\na\0b\nlast";
    FILE *f = of(four, sizeof four - 1);
    assert_true(file_line(f, 100, &line, &err) && strcmp(str_text(&line), "one") == 0);
    assert_true(file_line(f, 100, &line, &err) && line.len == 0);
    assert_true(file_line(f, 100, &line, &err) && line.len == 3 && memcmp(line.data, "a", 2) == 0);
    assert_true(file_line(f, 100, &line, &err) && strcmp(str_text(&line), "last") == 0);
    assert_false(file_line(f, 100, &line, &err));
    assert_int_equal(err.code, ERR_NONE);
    fclose(f);
    f = of(longer, 10001);
    assert_true(file_line(f, 10000, &line, &err) && line.len == 10000);
    assert_false(file_line(f, 10000, &line, &err));
    assert_int_equal(err.code, ERR_NONE);
    rewind(f);
    assert_false(file_line(f, 9999, &line, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    fclose(f);
    free(longer);
    str_done(&line);
}

static void what_does_not_end_and_what_is_no_file(void **unused)
{
    (void)unused;
    struct str line = STR_INIT;
    struct err err;
    FILE *f = fopen("/dev/zero", "re");
    assert_non_null(f);
    assert_false(file_line(f, 1u << 20, &line, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(line.len < (1u << 20) + 8192);
    fclose(f);
    f = fopen("/", "re");
    assert_non_null(f);
    assert_false(file_line(f, 1u << 20, &line, &err));
    assert_string_equal(err.text, "Is a directory");
    fclose(f);
    str_done(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_any_length),
        cmocka_unit_test(what_does_not_end_and_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
