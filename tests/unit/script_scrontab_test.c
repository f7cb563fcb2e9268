/* Tables for scrontab as text: lines, options, variables; all that is wrong is said at once. */
#include "script_help.h"

#include "base/alloc.h"
#include "model/limits.h"
#include "script/scrontab.h"

static struct scrontab t;

static bool parse(struct world *w, const char *text)
{
    scrontab_done(&t);
    return scrontab_parse(text, &w->env, w->a, &t);
}

static const struct scrontab_entry *entry(size_t i)
{
    assert_true(i < t.entry.n);
    return &t.entry.v[i];
}

static void a_table_is_read(void **state)
{
    struct world *w = *state;
    assert_true(parse(w, "# mine\n"
                         "\n"
                         "DIR=/home/user1\n"
                         "#SCRON -p high\n"
                         "#SCRON -A sub1 -t 1:00\n"
                         "@hourly $DIR/date.printer.job\n"
                         "\t1-5,30 8-17/2 * * wed\t$DIR/example.job  one \r\n"
                         "0 0 1 1 * last"));
    assert_int_equal(t.entry.n, 3);
    assert_string_equal(entry(0)->when, "@hourly");
    assert_string_equal(entry(0)->command, "/home/user1/date.printer.job");
    assert_int_equal(entry(0)->first, 4);
    assert_int_equal(entry(0)->last, 6);
    assert_string_equal(entry(0)->options->spec.req.partition, "high");
    assert_string_equal(entry(0)->options->spec.req.account, "sub1");
    assert_true(entry(0)->options->spec.req.time_limit_us == 60 * USEC_PER_SEC);
    assert_string_equal(entry(1)->when, "1-5,30 8-17/2 * * wed");
    assert_string_equal(entry(1)->command, "/home/user1/example.job  one");
    assert_int_equal(entry(1)->first, 7);
    assert_null(entry(1)->options->spec.req.partition);
    assert_string_equal(entry(2)->command, "last");
    const char *script = scrontab_script(entry(2), w->a);
    assert_true(text_starts(script, "#!/bin/sh\n"));
    assert_non_null(strstr(script, "\nlast\n"));
    assert_true(parse(w, ""));
    assert_int_equal(t.entry.n, 0);
    assert_true(parse(w, "# only remarks\n#DISABLED: #SCRON -t 1\n#DISABLED: * * * * * x\n"));
    assert_int_equal(t.entry.n, 0);
}

static void variables(void **state)
{
    struct world *w = *state;
    assert_true(parse(w, "A = one two \nB=\"quoted # \"\nC='$A'\nD=\n"
                         "* * * * * $A|$B|$C|$D|$NONE|$$|$1|${A}|$A_|x$A$\n"
                         "A=2\n"
                         "* * * * * $A\n"));
    assert_string_equal(entry(0)->command, "one two|quoted # |$A||$NONE|$$|$1|${A}|$A_|xone two$");
    assert_string_equal(entry(1)->command, "2");
}

static void wrong(struct world *w, const char *text, const char *words)
{
    assert_false(parse(w, text));
    if (!strstr(str_text(&t.wrong), words))
        fail_msg("%s: %s", text, str_text(&t.wrong));
}

static void mistakes(void **state)
{
    struct world *w = *state;
    wrong(w, "\n61 * * * * x\n", "line 2: minute \"61\"");
    wrong(w, "* * * * * \n", "line 1: the command is missing");
    wrong(w, "@daily\n", "line 1: the command is missing");
    wrong(w, "A=\n@daily $A $A\n", "line 2: with its variables the command, $A $A, is empty");
    wrong(w, "* * * *\n", "line 1: the day of the week is missing");
    wrong(w, "@reboot x\n", "line 1: @reboot");
    wrong(w, "hello\n", "line 1: minute \"hello\"");
    wrong(w, "#SCRON --frob\n* * * * * x\n", "line 1: ");
    wrong(w, "#SCRON -t never\n* * * * * x\n", "line 1: ");
    wrong(w, "#SCRON \"open\n* * * * * x\n", "line 1: ");
    wrong(w, "#SCRON hetjob\n* * * * * x\n", "line 1: ");
    wrong(w, "#SCRON --array=1-3\n* * * * * x\n", "line 1: --array: ");
    wrong(w, "#SCRON --begin=now\n* * * * * x\n", "line 1: --begin: ");
    wrong(w, "#SCRON -d afterok:1\n* * * * * x\n", "line 1: --dependency: ");
    wrong(w, "#SCRON --wrap=true\n* * * * * x\n", "line 1: --wrap: ");
    wrong(w, "#SCRON --mem=1G --mem-per-cpu=1G\n* * * * * x\n", "");
    wrong(w, "#SCRON --frob\n* * * * * x\n99 * * * * x\n* * * * * y\n", "line 3: minute");
    assert_int_equal(t.wrong_lines, 2);
    assert_true(parse(w, "#SCRON -d singleton\n* * * * * x\n"));
    assert_null(entry(0)->options->spec.dependency);
    assert_true(parse(w, "* * * * * x\n#SCRON -t 1\n# nothing\n"));
    assert_non_null(strstr(str_text(&t.warnings), "line 2: "));
}

static void there_are_bounds(void **state)
{
    struct world *w = *state;
    struct str text = STR_INIT;
    for (unsigned i = 0; i <= LIMIT_CRONTAB_ENTRIES; i++)
        str_add(&text, "@daily x\n");
    wrong(w, str_text(&text), "line 201: a table has at most 200 entries");
    str_clear(&text);
    str_add(&text, "A=0123456789abcdef\n");
    str_add(&text, "@daily ");
    for (int i = 0; i < 6000; i++)
        str_add(&text, "$A");
    wrong(w, str_text(&text), "more than 64 KiB");
    str_done(&text);
}

static int done(void **state)
{
    scrontab_done(&t);
    t = (struct scrontab){0};
    return world_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_table_is_read, world_setup, done),
        cmocka_unit_test_setup_teardown(variables, world_setup, done),
        cmocka_unit_test_setup_teardown(mistakes, world_setup, done),
        cmocka_unit_test_setup_teardown(there_are_bounds, world_setup, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
