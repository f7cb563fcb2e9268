#include "unit.h"

#include "base/help.h"

#include <string.h>

static const struct help_option nodes = {"nodes",          'N',  HELP_REQUIRED, "min[-max]",
                                         "how many nodes", false};
static const struct help_option quiet = {"quiet", 'Q', HELP_NONE, NULL, "say little", false};
static const struct help_option verbose = {"verbose", 'v', HELP_NONE, NULL, "say more", false};
static const struct help_option pty = {"pty", 0, HELP_OPTIONAL, NULL, "a terminal", false};
static const struct help_option letter = {NULL, 'x', HELP_REQUIRED, "file", "a letter alone",
                                          false};
static const struct help_option wide = {
    "a-name-of-thirty-letters-or-so", 0, HELP_NONE, NULL, "below", false};

static void row_is(const struct help_option *o, const char *row)
{
    struct str s = STR_INIT;
    help_row(o, &s);
    assert_string_equal(str_text(&s), row);
    str_done(&s);
}

static void rows(void **state)
{
    row_is(&nodes, "  -N, --nodes=min[-max]       how many nodes\n");
    row_is(&quiet, "  -Q, --quiet                 say little\n");
    row_is(&pty, "      --pty[=value]           a terminal\n");
    row_is(&letter, "  -x file                     a letter alone\n");
    const struct help_option word = {"oo", 0, HELP_REQUIRED, "file", "a word behind one dash",
                                     true};
    row_is(&word, "  -oo file                    a word behind one dash\n");
    row_is(&wide, "      --a-name-of-thirty-letters-or-so\n                              below\n");
}

static void usage_gathers_flags_and_wraps(void **state)
{
    struct str s = STR_INIT;
    const struct help_option few[] = {nodes, quiet, pty, verbose};
    help_usage("thing", few, 4, "WORD", &s);
    assert_string_equal(str_text(&s), "Usage: thing [-Qv] [-N min[-max]] [--pty[=value]] WORD\n");
    str_clear(&s);
    const struct help_option many[] = {nodes, nodes, nodes, nodes, nodes, nodes};
    help_usage("thing", many, 6, "", &s);
    assert_non_null(strstr(str_text(&s), "\n             [-N min[-max]]"));
    for (const char *line = str_text(&s), *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(end - line <= 79);
    str_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(usage_gathers_flags_and_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
