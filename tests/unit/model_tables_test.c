/* What holds for every table of the model: names fit the wire and SQL, nothing is there twice,
 * everything is explained. */
#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/job/job.h"
#include "model/message.h"
#include "model/stored.h"

#include <string.h>

static size_t field_size(enum field_type type)
{
    switch (type) {
    case FIELD_BOOL: return sizeof(bool);
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM: return sizeof(int32_t);
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return sizeof(int64_t);
    case FIELD_TEXT: return sizeof(char *);
    case FIELD_BLOB: return sizeof(struct blob);
    case FIELD_LIST: return sizeof(struct record_list);
    }
    return 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), of = strlen(end);
    return len >= of && strcmp(text + len - of, end) == 0;
}

/* Units are the last word of a name. */
static void unit_check(const struct fields *t, const struct field *f)
{
    bool time = f->type == FIELD_TIME || f->type == FIELD_SPAN;
    if (time != ends_with(f->name, "_us"))
        fail_msg("%s.%s: times end in _us, nothing else does", t->name, f->name);
    if ((f->type == FIELD_MIB) != ends_with(f->name, "_mib"))
        fail_msg("%s.%s: sizes in MiB end in _mib, nothing else does", t->name, f->name);
}

static bool overlaps(const struct field *a, const struct field *b)
{
    return a->offset < b->offset + field_size(b->type) &&
           b->offset < a->offset + field_size(a->type);
}

static void fields_check(const struct fields *t)
{
    assert_true(t->n > 0 && t->size > 0);
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        if (strspn(f->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(f->name))
            fail_msg("%s.%s is not snake_case", t->name, f->name);
        if (fields_find(t, f->name) != (ptrdiff_t)i)
            fail_msg("%s.%s is there twice", t->name, f->name);
        if (f->offset + field_size(f->type) > t->size)
            fail_msg("%s.%s is outside of its record", t->name, f->name);
        for (size_t k = 0; k < i; k++)
            if (overlaps(f, &t->field[k]))
                fail_msg("%s.%s overlaps %s", t->name, f->name, t->field[k].name);
        if (text_empty(f->doc) || strchr(f->doc, '\n'))
            fail_msg("%s.%s is not explained in a line", t->name, f->name);
        const struct int_range *range = field_range(f);
        if (!range && (f->aux != NULL) != (f->type == FIELD_ENUM || f->type == FIELD_LIST))
            fail_msg("%s.%s: enums and lists, and only they, point to their table", t->name,
                     f->name);
        if (range &&
            (range->min > 0 || (range->min < 0 && (f->type == FIELD_U32 || f->type == FIELD_U64))))
            fail_msg("%s.%s: 0 is \"not given\", and what has no sign is not below it", t->name,
                     f->name);
        unit_check(t, f);
    }
}

static void test_every_record(void **state)
{
    static const struct fields *const tables[] = {
        &job_request_fields, &job_spec_fields,    &job_fields,      &step_fields,   &node_fields,
        &partition_fields,   &reservation_fields, &result_fields,   &status_fields, &held_fields,
        &payload_fields,     &meta_fields,        &priority_fields, &usage_fields,  &diag_fields,
        &token_fields,       &host_fields,
    };
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        fields_check(tables[i]);
}

static void test_every_message(void **state)
{
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        enum message_kind found;
        const struct message_row *row = &message_table[kind];
        fields_check(message_fields(kind));
        assert_true(message_kind_parse(row->name, &found));
        assert_int_equal(found, kind);
        assert_true(row->doc[0]);
    }
}

/* What only reads is not repeated by number; an answer asks for nothing. */
static void test_what_requests_do(void **state)
{
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        const struct message_row *row = &message_table[kind];
        bool asks = row->who != WHO_CONTROLLER && row->who != WHO_STREAM;
        assert_int_equal(row->does != DOES_TELL, asks);
        assert_false(message_reads(kind) && message_changes(kind));
        if (row->who == WHO_ADMIN || row->who == WHO_OPERATOR)
            assert_false(message_reads(kind));
    }
    assert_true(message_reads(MSG_GET_CRONTAB) && message_changes(MSG_SET_CRONTAB));
}

static void test_a_message_that_does_not_exist(void **state)
{
    enum message_kind kind = MSG_SUBMIT;
    assert_false(message_kind_parse("submitt", &kind));
    assert_false(message_kind_parse("", &kind));
}

static void test_every_table_of_the_store_has_a_key_of_its_first_fields(void **state)
{
    for (int t = 0; t < STORE_TABLE_COUNT; t++) {
        const struct store_table_row *row = &store_table_rows[t];
        struct span rest = span_of(row->key), piece;
        while (span_next(&rest, ',', &piece)) {
            char name[64] = "";
            assert_true(piece.len < sizeof name);
            memcpy(name, piece.data, piece.len);
            assert_true(fields_find(row->fields, name) >= 0);
        }
    }
}

static void test_a_spec_is_a_request_and_more_and_a_job_is_a_spec_and_more(void **state)
{
    for (size_t i = 0; i < job_request_fields.n; i++) {
        assert_string_equal(job_spec_fields.field[i].name, job_request_fields.field[i].name);
        assert_int_equal(job_spec_fields.field[i].offset, job_request_fields.field[i].offset);
    }
    for (size_t i = 0; i < job_spec_fields.n; i++) {
        assert_string_equal(job_fields.field[i].name, job_spec_fields.field[i].name);
        assert_int_equal(job_fields.field[i].offset, job_spec_fields.field[i].offset);
    }
}

/* Zero means "not given": in every enum it must be the value that says so or the natural
 * beginning. */
static void test_every_value_of_every_enum_has_a_name(void **state)
{
    static const struct {
        const struct enum_names *names;
        size_t n;
    } enums[] = {
        {&job_state_names, JOB_STATE_COUNT},     {&job_reason_names, REASON_COUNT},
        {&refusal_names, REFUSAL_COUNT},         {&tristate_names, NO + 1},
        {&exclusive_names, EXCLUSIVE_TOPO + 1},  {&open_mode_names, OPEN_TRUNCATE_ERROR + 1},
        {&hint_names, HINT_NOMULTITHREAD + 1},   {&node_state_names, NODE_FUTURE + 1},
        {&part_state_names, PART_INACTIVE + 1},  {&part_share_names, SHARE_FORCE + 1},
        {&preempt_mode_names, PREEMPT_GANG + 1}, {&suspender_names, SUSPENDER_GANG + 1},
        {&limit_policy_names, LIMITS_ALL + 1},   {&query_what_names, QUERY_COUNT},
        {&job_action_names, ACTION_NOTIFY + 1},  {&daemon_action_names, DAEMON_DAMPENING + 1},
        {&report_kind_names, REPORT_LOST + 1},   {&host_role_names, ROLE_LOGIN + 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(enums); i++) {
        assert_int_equal(enums[i].names->n, enums[i].n);
        for (size_t v = 0; v < enums[i].n; v++)
            assert_non_null(enums[i].names->name[v]);
    }
}

static void test_refusals_speak_slurms_words(void **state)
{
    assert_string_equal(refusal_text(REFUSE_INVALID_JOB_ID), "Invalid job id specified");
    assert_string_equal(enum_name(&refusal_names, REFUSE_INVALID_JOB_ID), "INVALID_JOB_ID");
    for (int r = 0; r < REFUSAL_COUNT; r++)
        assert_true(refusal_text((enum refusal)r)[0]);
    assert_string_equal(refusal_text(REFUSAL_COUNT), "Unspecified error");
}

/* ---- how jobs and steps are called ---- */

static void assert_label(struct job j, const char *expected)
{
    struct str out = STR_INIT;
    job_label(&j, &out);
    assert_string_equal(str_text(&out), expected);
    str_done(&out);
}

static void test_labels_of_jobs(void **state)
{
    assert_label((struct job){.id = 42, .array_task_id = NO_TASK}, "42");
    assert_label((struct job){.id = 49, .array_job_id = 42, .array_task_id = 7}, "42_7");
    assert_label((struct job){.id = 42,
                              .array_job_id = 42,
                              .array_task_id = NO_TASK,
                              .array_pending = "0-9",
                              .array_limit = 4},
                 "42_[0-9%4]");
    assert_label(
        (struct job){.id = 42, .array_job_id = 42, .array_task_id = NO_TASK, .array_pending = "9"},
        "42_9");
    assert_label((struct job){.id = 42, .array_job_id = 42, .array_task_id = NO_TASK}, "42");
    assert_label(
        (struct job){.id = 43, .array_task_id = NO_TASK, .het_job_id = 42, .het_offset = 1},
        "42+1");
}

static void test_labels_of_steps(void **state)
{
    static const struct {
        int64_t id;
        const char *label;
    } steps[] = {{STEP_BATCH, "batch"},
                 {STEP_EXTERN, "extern"},
                 {STEP_INTERACTIVE, "interactive"},
                 {0, "0"},
                 {17, "17"}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct str out = STR_INIT;
        step_label(steps[i].id, &out);
        assert_string_equal(str_text(&out), steps[i].label);
        str_done(&out);
    }
}

static void test_wait_statuses(void **state)
{
    assert_int_equal(status_code(status_of_code(3)), 3);
    assert_int_equal(status_signal(status_of_code(3)), 0);
    assert_int_equal(status_signal(9), 9);
    assert_int_equal(status_code(9), 0);
    assert_int_equal(status_of_code(256), 0);
}

/* There may be a million of them in memory. */
static void test_a_job_has_no_gaps(void **state)
{
    size_t used = 0;
    for (size_t i = 0; i < job_fields.n; i++)
        used += field_size(job_fields.field[i].type);
    /* At the ends of the three it is made of. */
    assert_true(sizeof(struct job) - used < 3 * sizeof(void *));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_record),
        cmocka_unit_test(test_a_job_has_no_gaps),
        cmocka_unit_test(test_every_message),
        cmocka_unit_test(test_what_requests_do),
        cmocka_unit_test(test_a_message_that_does_not_exist),
        cmocka_unit_test(test_every_table_of_the_store_has_a_key_of_its_first_fields),
        cmocka_unit_test(test_a_spec_is_a_request_and_more_and_a_job_is_a_spec_and_more),
        cmocka_unit_test(test_every_value_of_every_enum_has_a_name),
        cmocka_unit_test(test_refusals_speak_slurms_words),
        cmocka_unit_test(test_labels_of_jobs),
        cmocka_unit_test(test_labels_of_steps),
        cmocka_unit_test(test_wait_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
