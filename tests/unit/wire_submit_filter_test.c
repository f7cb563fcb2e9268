/* What the submit filter is told, and what is taken from its answer: wire/submit_filter.h. */
#include "unit.h"

#include "base/str.h"
#include "wire/submit_filter.h"

#include <string.h>

static struct arena *a;

static int begin(void **state)
{
    (void)state;
    a = arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(a);
    return 0;
}

static struct job_spec two[2];
static struct job_spec *const both[] = {&two[0], &two[1]};

static bool read_answer(const char *text, struct filter_answer *ret, struct err *e)
{
    memset(two, 0, sizeof two);
    two[0].name = "first";
    two[0].req.partition = "main";
    two[0].req.exclusive = EXCLUSIVE_NODE;
    return submit_filter_read(text, strlen(text), both, 2, a, ret, e);
}

static void told_all(void **state)
{
    (void)state;
    struct job_spec spec = {.name = "a\"b\n", .req.time_limit_us = 60000000, .req.ntasks = 4};
    struct msg_submit body = {.specs = {&spec, 1}, .script = {"#!/bin/sh\n", 10}};
    const struct message m = {.kind = MSG_SUBMIT, .body = &body};
    const struct filter_user who = {
        .uid = 1000, .gid = 100, .name = "ana", .group = "users", .groups = "users,gpu"};
    struct str out = STR_INIT;
    submit_filter_write(&out, &m, &who);
    assert_string_equal(
        str_text(&out),
        "{\"schema\":\"remuda.submit_filter/"
        "1\",\"user\":\"ana\",\"user_id\":1000,\"group\":\"users\","
        "\"group_id\":100,\"groups\":\"users,gpu\",\"host\":\"\",\"administrator\":false,"
        "\"request\":\"submit\",\"test_only\":false,\"immediate\":false,\"interactive\":false,"
        "\"script\":\"#!/bin/sh\\n\",\"jobs\":[{\"ntasks\":4,\"time_limit_us\":60000000,"
        "\"name\":\"a\\\"b\\n\"}]}\n");
    str_done(&out);
}

/* remuda extend: it may be refused, and there is no job in it to change. */
static void of_an_extension(void **state)
{
    (void)state;
    struct msg_extend body = {.id = "7_3", .add_us = 3600000000, .test_only = true};
    const struct message m = {.kind = MSG_EXTEND, .body = &body};
    const struct filter_user who = {.uid = 1000, .gid = 100, .name = "ana"};
    struct str out = STR_INIT;
    size_t n;
    assert_true(submit_filter_asks(MSG_EXTEND) && !submit_filter_asks(MSG_CREATE_STEP));
    submit_filter_write(&out, &m, &who);
    assert_non_null(strstr(str_text(&out), "\"request\":\"extend\",\"test_only\":true,"
                                           "\"ids\":\"7_3\",\"add_us\":3600000000,\"jobs\":[]}"));
    (void)submit_filter_specs(&m, a, &n);
    assert_int_equal(n, 0);
    str_done(&out);
}

static bool is_told(const struct message *m, const char *what)
{
    const struct filter_user who = {.uid = 7};
    struct str out = STR_INIT;
    submit_filter_write(&out, m, &who);
    bool told = strstr(str_text(&out), what) != NULL;
    if (!told)
        print_error("%s: %s\n", what, str_text(&out));
    str_done(&out);
    return told;
}

/* What a change does beside its values is named as what it changes: who looks for that finds it. */
static void of_what_a_change_does_beside_its_values(void **state)
{
    (void)state;
    struct msg_update_job update = {.ids = "42", .time_limit_add_us = 60000000};
    const struct message m = {.kind = MSG_UPDATE_JOB, .body = &update};
    assert_true(
        is_told(&m, "\"fields\":\"time_limit_us\",\"time_limit_add_us\":60000000,\"jobs\""));
    update = (struct msg_update_job){.ids = "42", .fields = "comment", .end_us = 5};
    assert_true(is_told(&m, "\"fields\":\"comment,time_limit_us\",\"end_us\":5,\"jobs\""));
    update.fields = "comment,time_limit_us";
    assert_true(is_told(&m, "\"fields\":\"comment,time_limit_us\",\"end_us\":5,\"jobs\""));
    update = (struct msg_update_job){.ids = "42", .array_limit_plus1 = 1};
    assert_true(is_told(&m, "\"fields\":\"array\",\"array_limit\":0,\"jobs\""));
    update = (struct msg_update_job){.ids = "42.0", .step_limit_us = 7, .admin_comment = "a"};
    assert_true(is_told(&m, "\"fields\":\"admin_comment\",\"step_limit_us\":7,"
                            "\"admin_comment\":\"a\",\"jobs\""));
    update = (struct msg_update_job){.ids = "42", .reset_accrue = 1};
    assert_true(is_told(&m, "\"fields\":\"\",\"reset_accrue\":true,\"jobs\""));
}

/* What runs of a table is told as what runs of a submission. */
static void of_the_scripts_of_a_table(void **state)
{
    (void)state;
    struct job_spec spec[2] = {{.name = "a"}, {.name = "b"}};
    struct cron_entry entry[] = {
        {.cron = "@daily", .spec = {&spec[0], 1}, .script = {"#!/bin/sh\ndate\n", 15}},
        {.cron = "@hourly", .spec = {&spec[1], 1}, .script = {"#!/bin/sh\nid", 12}}};
    struct msg_set_crontab table = {.entries = {entry, 2}};
    const struct message m = {.kind = MSG_SET_CRONTAB, .body = &table};
    assert_true(is_told(&m, "\"request\":\"crontab\",\"cron\":[\"@daily\",\"@hourly\"],"
                            "\"script\":\"#!/bin/sh\\ndate\\n#!/bin/sh\\nid\\n\",\"jobs\":[{"));
}

static void of_changes_and_tables(void **state)
{
    (void)state;
    struct job_spec spec = {.req.partition = "gpu"};
    struct msg_update_job update = {.ids = "42", .fields = "partition", .values = {&spec, 1}};
    struct message m = {.kind = MSG_UPDATE_JOB, .body = &update};
    const struct filter_user who = {.uid = 7};
    struct str out = STR_INIT;
    size_t n;
    submit_filter_write(&out, &m, &who);
    assert_non_null(strstr(str_text(&out), "\"request\":\"update\",\"ids\":\"42\",\"fields\":"
                                           "\"partition\",\"jobs\":[{\"partition\":\"gpu\"}]"));
    str_clear(&out);
    struct cron_entry entry[] = {{.spec = {&spec, 1}}, {.cron = "@daily"}, {.spec = {&two[1], 1}}};
    struct msg_set_crontab table = {.entries = {entry, 3}};
    m = (struct message){.kind = MSG_SET_CRONTAB, .body = &table};
    struct job_spec **specs = submit_filter_specs(&m, a, &n);
    assert_int_equal(n, 2); /* an entry of a stranger may have no job */
    assert_ptr_equal(specs[0], &spec);
    assert_ptr_equal(specs[1], &two[1]);
    submit_filter_write(&out, &m, &who);
    assert_non_null(strstr(str_text(&out), "\"request\":\"crontab\""));
    str_done(&out);
}

static void nothing_said(void **state)
{
    (void)state;
    struct filter_answer answer;
    struct err e = {0};
    assert_true(read_answer("", &answer, &e));
    assert_true(read_answer(" \n", &answer, &e));
    assert_true(read_answer("{}", &answer, &e));
    assert_null(answer.refuse);
    assert_null(answer.message);
    assert_string_equal(two[0].name, "first");
}

static void a_nul_is_no_blank(void **state)
{
    static const char nuls[] = " \0{\"refuse\": \"no\"}";
    (void)state;
    struct filter_answer answer;
    struct err e = {0};
    assert_false(submit_filter_read(nuls, sizeof nuls - 1, both, 2, a, &answer, &e));
    assert_non_null(strstr(e.text, "byte 1"));
}

static void changed_in_place(void **state)
{
    (void)state;
    struct filter_answer answer;
    struct err e = {0};
    assert_true(read_answer("{\"message\": \"to the GPUs\", \"jobs\": [{\"partition\": \"gpu\", "
                            "\"time_limit_us\": 3600000000, \"name\": \"\", \"exclusive\": 0},"
                            " {\"ntasks\": 2}]}",
                            &answer, &e));
    assert_string_equal(answer.message, "to the GPUs");
    assert_string_equal(two[0].req.partition, "gpu");
    assert_string_equal(two[0].name, "");
    assert_true(two[0].req.time_limit_us == INT64_C(3600000000));
    assert_int_equal(two[0].req.exclusive, EXCLUSIVE_UNSET);
    assert_int_equal(two[1].req.ntasks, 2);
}

static void not_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"no", "byte 0"},
        {"{\"refuse\": 1}", "string"},
        {"{\"refuse\": \"x\"", "byte"},
        {"{\"accept\": true}", "none of refuse, message and jobs"},
        {"{\"jobs\": [{\"frob\": 1}]}", "a job has no \"frob\""},
        {"{\"jobs\": [{\"ntasks\": -5}]}", "out of range"},
        {"{\"jobs\": [{\"partition\": 5}]}", "string"},
        {"{\"jobs\": [{}, {}, {}]}", "more jobs than the 2"},
        {"{\"jobs\": [{\"name\": \"a\", \"name\": \"b\"}]}", "twice"},
        {"{} {}", "byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_answer answer;
        struct err e = {0};
        assert_false(read_answer(cases[i].text, &answer, &e));
        if (!strstr(e.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, e.text);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {TEST(told_all),
                                       TEST(of_an_extension),
                                       TEST(of_changes_and_tables),
                                       TEST(of_what_a_change_does_beside_its_values),
                                       TEST(of_the_scripts_of_a_table),
                                       TEST(nothing_said),
                                       TEST(a_nul_is_no_blank),
                                       TEST(changed_in_place),
                                       TEST(not_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
