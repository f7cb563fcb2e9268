/* Neighbouring releases: a field that one end lacks, a member that no table knows, a value of a newer one. */
#include "wire_skew_help.h"

/* ---- tables that lack a field ---- */

/* A copy of the table, and of those in its lists, without the field of that name; counts what it
 * left out. */
static const struct fields *table_without(const struct fields *t, const char *name, struct arena *a,
                                          int deep, size_t *left_out)
{
    struct fields *copy = arena_alloc(a, sizeof *copy);
    struct field *field = arena_alloc(a, t->n * sizeof *field);
    *copy = (struct fields){.name = t->name, .size = t->size, .field = field};
    for (size_t i = 0; i < t->n; i++) {
        struct field f = t->field[i];
        if (strcmp(f.name, name) == 0) {
            ++*left_out;
            continue;
        }
        if (f.type == FIELD_LIST && deep < DEEP_MAX)
            f.aux = table_without(f.aux, name, a, deep + 1, left_out);
        field[copy->n++] = f;
    }
    return copy;
}

static bool type_skip(void *ctx, struct span key)
{
    return span_is(key, "type") && json_in_skip(ctx);
}

static const void *read_by(const struct fields *t, const struct str *bytes, struct arena *a)
{
    struct frame f;
    struct err e = {0};
    struct record_reader r = {.text_max = SIZE_MAX};
    void *record = arena_alloc(a, t->size);
    assert_true(frame_take(bytes->data, bytes->len, &f, &e) > 0);
    r.raw = f.raw;
    r.raw_len = f.raw_len;
    json_in_begin(&r.in, f.json, f.json_len, a, &e);
    if (!json_in_open(&r.in, '{') || !record_read(&r, t, record, true, type_skip, &r.in) ||
        !json_in_end(&r.in))
        fail_msg("%s", e.text);
    assert_int_equal(r.raw_len, 0);
    return record;
}

static void encode_by(const struct fields *t, const char *type, const void *record, struct str *out)
{
    struct str json = STR_INIT;
    size_t raw = 0;
    bool first = false;
    str_addf(&json, "{\"type\":\"%s\"", type);
    record_write(&json, t, record, &first, &raw);
    str_addc(&json, '}');
    header_put(out, json.len, raw);
    str_addn(out, json.data, json.len);
    record_write_raw(out, t, record);
    str_done(&json);
}

/* An older end that has never heard of the field reads the rest of what we write, and we read the
 * rest of what it writes. */
static void without_check(enum message_kind kind, const char *name)
{
    struct arena *a = arena_new();
    const struct fields *t = message_fields(kind);
    size_t left_out = 0;
    const struct fields *older = table_without(t, name, a, 0, &left_out);
    const void *record = filled(t, a);
    struct str bytes = STR_INIT;
    struct message back;
    struct frame f;
    struct err e = {0};
    assert_true(left_out > 0);
    wire_encode(&(struct message){.kind = kind, .body = record}, &bytes);
    assert_true(record_equal(older, record, read_by(older, &bytes, a)));
    str_clear(&bytes);
    encode_by(older, message_table[kind].name, record, &bytes);
    assert_true(frame_take(bytes.data, bytes.len, &f, &e) > 0);
    if (!wire_decode(&f, a, &back, &e))
        fail_msg("%s without %s: %s", t->name, name, e.text);
    assert_true(record_equal(older, record, back.body));
    ptrdiff_t i = fields_find(t, name);
    assert_true(i < 0 || field_is_zero(&t->field[i], back.body));
    str_done(&bytes);
    arena_free(a);
}

static void nested_names(enum message_kind kind, const struct fields *t, int deep)
{
    for (size_t i = 0; i < t->n; i++) {
        without_check(kind, t->field[i].name);
        if (t->field[i].type == FIELD_LIST && deep < 1)
            nested_names(kind, t->field[i].aux, deep + 1);
    }
}

static void test_each_field_may_be_missing_at_either_end(void **state)
{
    for (int kind = 0; kind < MESSAGE_COUNT; kind++)
        nested_names((enum message_kind)kind, message_fields(kind), 0);
}

/* ---- members that no table knows ---- */

#define NEWER                                                                                      \
    "\"x_flag\":true,\"x_text\":\"new\",\"x_none\":null,\"x_number\":-7,\"x_blob\":{\"bytes\":4}," \
    "\"x_"                                                                                         \
    "rows\":[{\"a\":1,\"bytes\":9,\"b\":{\"bytes\":3},\"c\":[{\"d\":{\"bytes\":2}}]},{}],\"x_"     \
    "names\":["                                                                                    \
    "\"p\",[1]],"

static void test_what_a_newer_release_adds_is_passed_over(void **state)
{
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        struct arena *a = arena_new();
        const struct fields *t = message_fields(kind);
        struct message m = {.kind = (enum message_kind)kind, .seq = 3, .body = filled(t, a)}, back;
        struct str bytes = STR_INIT, newer = STR_INIT;
        struct frame f;
        struct err e = {0};
        wire_encode(&m, &bytes);
        assert_true(frame_take(bytes.data, bytes.len, &f, &e) > 0);
        header_put(&newer, f.json_len + strlen(NEWER), f.raw_len + 9);
        str_addn(&newer, "{" NEWER, 1 + strlen(NEWER));
        str_addn(&newer, f.json + 1, f.json_len - 1);
        str_add(&newer, "AAAABBBCC");
        str_addn(&newer, f.raw, f.raw_len);
        assert_true(frame_take(newer.data, newer.len, &f, &e) > 0);
        if (!wire_decode(&f, a, &back, &e))
            fail_msg("%s: %s", t->name, e.text);
        assert_true(record_equal(t, m.body, back.body));
        assert_int_equal(back.seq, 3);
        str_done(&bytes);
        str_done(&newer);
        arena_free(a);
    }
}

static const char *refusal_of(const char *json, struct arena *a)
{
    struct str bytes = STR_INIT;
    struct frame f;
    struct message m;
    struct err e = {0};
    header_put(&bytes, strlen(json), 0);
    str_add(&bytes, json);
    assert_true(frame_take(bytes.data, bytes.len, &f, &e) > 0);
    assert_false(wire_decode(&f, a, &m, &e));
    str_done(&bytes);
    return arena_strdup(a, e.text);
}

/* A value that cannot be understood is never taken for another one: the message is refused, and
 * says what it may be. */
static void test_a_value_of_a_newer_release_is_refused_by_name(void **state)
{
    struct arena *a = arena_new();
    const char *text = refusal_of("{\"type\":\"report\",\"kind\":\"TELEPORTED\",\"job_id\":4}", a);
    assert_non_null(strstr(text, "report.kind"));
    assert_non_null(strstr(text, "TELEPORTED"));
    assert_non_null(strstr(text, "newer release?)"));
    text = refusal_of("{\"type\":\"done\",\"refusal\":\"NOT_ON_SUNDAYS\"}", a);
    assert_non_null(strstr(text, "newer release?)"));
    text = refusal_of("{\"type\":\"teleport\"}", a);
    assert_non_null(strstr(text, "teleport"));
    assert_non_null(strstr(text, "newer release?)"));
    arena_free(a);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return file_write();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_field_may_be_missing_at_either_end),
        cmocka_unit_test(test_what_a_newer_release_adds_is_passed_over),
        cmocka_unit_test(test_a_value_of_a_newer_release_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
