/* --export in every form: which variables a job gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "cli/submit/env.h"

#include <string.h>

static char *const plain[] = {
    "PATH=/bin", "HOME=/h", "A=1", "SLURM_CONF=/c", "EMPTY=", "BASH_FUNC_m%%=() {  echo\n}", NULL};
static const char *const extra[] = {"SLURM_SUBMIT_DIR=/w", NULL};

/* The captured variables with '|' for NUL. */
static const char *capture(char *const *environ, const char *export_env, struct str *out,
                           struct err *e)
{
    struct env_ask ask = {.environ = environ, .export_env = export_env, .extra = extra};
    str_clear(out);
    if (!submit_env_capture(&ask, out, e))
        return "refused";
    for (size_t i = 0; i < out->len; i++)
        out->data[i] = out->data[i] ? out->data[i] : '|';
    return str_text(out);
}

static void forms(void **state)
{
    struct str out = STR_INIT;
    const char *all = "PATH=/bin|HOME=/h|A=1|SLURM_CONF=/c|EMPTY=|BASH_FUNC_m%%=() {  "
                      "echo\n}|SLURM_SUBMIT_DIR=/w|";
    assert_string_equal(capture(plain, NULL, &out, NULL), all);
    assert_string_equal(capture(plain, "ALL", &out, NULL), all);
    assert_string_equal(capture(plain, "all", &out, NULL), all);
    assert_string_equal(capture(plain, "NONE", &out, NULL), "SLURM_CONF=/c|SLURM_SUBMIT_DIR=/w|");
    assert_string_equal(capture(plain, "NIL", &out, NULL), "SLURM_CONF=/c|SLURM_SUBMIT_DIR=/w|");
    assert_string_equal(capture(plain, "A,HOME,NOT_THERE", &out, NULL),
                        "A=1|HOME=/h|SLURM_CONF=/c|SLURM_SUBMIT_DIR=/w|");
    assert_string_equal(capture(plain, "B=x y,A", &out, NULL),
                        "B=x y|A=1|SLURM_CONF=/c|SLURM_SUBMIT_DIR=/w|");
    assert_string_equal(capture(plain, "ALL,A=2", &out, NULL),
                        "PATH=/bin|HOME=/h|A=2|SLURM_CONF=/c|EMPTY=|BASH_FUNC_m%%=() {  "
                        "echo\n}|SLURM_SUBMIT_DIR=/w|");
    str_done(&out);
}

/* What goes to another than whose the command is: what was asked for, else what a program needs to
 * be found and to write. */
static void few(void **state)
{
    static char *const many[] = {"PATH=/bin", "HOME=/h",        "TERM=vt", "SLURM_CONF=/c",
                                 "LANG=C",    "SLURM_JWT=e30.", NULL};
    static const struct {
        const char *export_env;
        struct span file;
        const char *all;
    } cases[] = {
        {NULL, {0}, "PATH=/bin|TERM=vt|LANG=C|SLURM_SUBMIT_DIR=/w|"},
        {"", {0}, "PATH=/bin|TERM=vt|LANG=C|SLURM_SUBMIT_DIR=/w|"},
        {NULL, {"A=1\0PATH=/f", 11}, "A=1|PATH=/f|SLURM_SUBMIT_DIR=/w|"},
        {"HOME", {0}, "HOME=/h|SLURM_SUBMIT_DIR=/w|"},
        {"NONE", {0}, "SLURM_SUBMIT_DIR=/w|"},
        {"NIL", {0}, "SLURM_SUBMIT_DIR=/w|"},
        {"nil,A=1", {0}, "A=1|SLURM_SUBMIT_DIR=/w|"},
        {"SLURM_CONF", {0}, "SLURM_CONF=/c|SLURM_SUBMIT_DIR=/w|"},
        {"ALL", {"A=1\0PATH=/f", 11}, "A=1|PATH=/f|SLURM_SUBMIT_DIR=/w|"},
        {"ALL",
         {0},
         "PATH=/bin|HOME=/h|TERM=vt|SLURM_CONF=/c|LANG=C|SLURM_JWT=e30.|SLURM_SUBMIT_DIR=/w|"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str out = STR_INIT;
        struct env_ask ask = {.environ = many,
                              .export_env = cases[i].export_env,
                              .file = cases[i].file,
                              .few = true,
                              .extra = extra};
        assert_true(submit_env_capture(&ask, &out, NULL));
        for (size_t k = 0; k < out.len; k++)
            out.data[k] = out.data[k] ? out.data[k] : '|';
        assert_string_equal(str_text(&out), cases[i].all);
        str_done(&out);
    }
}

static void values(void **state)
{
    struct str out = STR_INIT;
    const char *rest = "SLURM_CONF=/c|SLURM_SUBMIT_DIR=/w|";
    static const struct {
        const char *list, *first;
    } cases[] = {
        {"B='x,y',C=z", "B=x,y|C=z|"}, {"B=\"x,y\"", "B=x,y|"},
        {"B=it's", "B=it's|"},         {"B=say \"hi\" now", "B=say \"hi\" now|"},
        {"B=a=b,C=", "B=a=b|C=|"},     {"B='unclosed", "B='unclosed|"},
        {"B='',C=1", "B=|C=1|"},       {"B=1,B=2", "B=2|"},
        {"NONE,B=1", "B=1|"},          {"nil,B=1", "B=1|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = capture(plain, cases[i].list, &out, NULL);
        if (strncmp(got, cases[i].first, strlen(cases[i].first)) != 0 ||
            strcmp(got + strlen(cases[i].first), rest) != 0)
            fail_msg("%s gave %s", cases[i].list, got);
    }
    struct err e = {0};
    assert_string_equal(capture(plain, "NONE,A,ALL", &out, &e), "refused");
    assert_non_null(strstr(e.text, "ALL and NONE or NIL are not in one list"));
    assert_string_equal(capture(plain, "=x", &out, &e), "refused");
    str_done(&out);
}

/* What describes the job that sbatch runs in is not the new job's. */
static void inside_a_job(void **state)
{
    static char *const inside[] = {"SLURM_JOB_ID=7",
                                   "SLURM_ARRAY_TASK_ID=3",
                                   "SLURM_MEM_PER_CPU=100",
                                   "SLURM_TIME_FORMAT=%s",
                                   "SLURM_CPU_BIND=none",
                                   "SLURM_SUBMIT_DIR=/old",
                                   "SLURMD_NODENAME=n1",
                                   "A=1",
                                   NULL};
    static char *const outside[] = {"SLURM_ARRAY_TASK_ID=3", "A=1", NULL};
    struct str out = STR_INIT;
    assert_string_equal(capture(inside, NULL, &out, NULL),
                        "SLURM_TIME_FORMAT=%s|SLURM_CPU_BIND=none|A=1|SLURM_SUBMIT_DIR=/w|");
    assert_string_equal(capture(inside, "NONE", &out, NULL),
                        "SLURM_TIME_FORMAT=%s|SLURM_CPU_BIND=none|SLURM_SUBMIT_DIR=/w|");
    assert_string_equal(capture(outside, NULL, &out, NULL),
                        "SLURM_ARRAY_TASK_ID=3|A=1|SLURM_SUBMIT_DIR=/w|");
    str_done(&out);
}

static void from_a_file(void **state)
{
    static const char text[] = "X=a b\nc\0Y=2\0A=9";
    struct env_ask ask = {.environ = plain, .file = {text, sizeof text - 1}, .extra = extra};
    struct str out = STR_INIT;
    assert_true(submit_env_capture(&ask, &out, NULL));
    static const char expected[] = "X=a b\nc\0Y=2\0A=9\0SLURM_CONF=/c\0SLURM_SUBMIT_DIR=/w";
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    str_done(&out);
}

static void login_environment(void **state)
{
    assert_false(submit_env_wants_login(NULL));
    assert_false(submit_env_wants_login("ALL"));
    assert_false(submit_env_wants_login("NIL"));
    assert_false(submit_env_wants_login("ALL,A=1"));
    assert_false(submit_env_wants_login("A=1,ALL"));
    assert_true(submit_env_wants_login("NONE"));
    assert_true(submit_env_wants_login("A,B=ALL"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),       cmocka_unit_test(few),
        cmocka_unit_test(values),      cmocka_unit_test(inside_a_job),
        cmocka_unit_test(from_a_file), cmocka_unit_test(login_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
