/* Releases that differ by one understand each other.
 *
 * frames_release_0.txt keeps every message and row as release 0 wrote it, each field filled:
 * today's tables must still read all of it. Older readers are played by tables that lack a field,
 * newer writers by members that no table knows. `unit_wire_skew --write` prints the file anew, for
 * the next release (beside the old file, not over it). */
#include "unit.h"

#include "base/alloc.h"
#include "wire/frame.h"
#include "wire/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEP_MAX 4

static const struct fields *const row_tables[] = {
    &job_fields,         &step_fields,   &node_fields,     &partition_fields,
    &reservation_fields, &status_fields, &priority_fields, &usage_fields,
    &diag_fields,        &token_fields,  &host_fields,
};

/* ---- records with every field given, the same each time ------------------------------------- */

static int64_t number_of(const char *name)
{
    uint32_t hash = 7;
    for (; *name; name++)
        hash = hash * 31 + (unsigned char)*name;
    return 1 + hash % 1000;
}

static void record_fill(const struct fields *t, void *record, struct arena *a, int deep)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        void *p = field_ptr(f, record);
        switch (f->type) {
        case FIELD_BOOL: *(bool *)p = true; break;
        case FIELD_I32:
        case FIELD_U32: *(int32_t *)p = (int32_t)number_of(f->name); break;
        case FIELD_I64:
        case FIELD_U64:
        case FIELD_TIME:
        case FIELD_SPAN:
        case FIELD_MIB: *(int64_t *)p = number_of(f->name) * INT64_C(10000000000); break;
        case FIELD_TEXT: *(const char **)p = arena_printf(a, "the %s", f->name); break;
        case FIELD_ENUM: *(int32_t *)p = ((const struct enum_names *)f->aux)->n > 1 ? 1 : 0; break;
        case FIELD_BLOB:
            *(struct blob *)p =
                (struct blob){arena_printf(a, "bytes of %s", f->name), strlen(f->name) + 9};
            break;
        case FIELD_LIST: {
            const struct fields *inner = f->aux;
            struct record_list list = {.v = arena_alloc(a, inner->size),
                                       .n = deep < DEEP_MAX ? 1 : 0};
            if (list.n)
                record_fill(inner, list.v, a, deep + 1);
            *(struct record_list *)p = list;
            break;
        }
        }
    }
}

static const void *filled(const struct fields *t, struct arena *a)
{
    void *record = arena_alloc(a, t->size);
    record_fill(t, record, a, 0);
    return record;
}

/* ---- writing the file ---- */

static void frame_print(const char *name, const struct str *bytes)
{
    struct frame f;
    struct err e = {0};
    if (frame_take(bytes->data, bytes->len, &f, &e) <= 0)
        die(e.text);
    printf("# %s\n%.*s\nraw ", name, (int)f.json_len, f.json);
    for (size_t i = 0; i < f.raw_len; i++)
        printf("%02x", ((const unsigned char *)f.raw)[i]);
    printf("\n");
}

static void enums_print(const struct fields *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->field[i].type != FIELD_ENUM)
            continue;
        const struct enum_names *names = t->field[i].aux;
        printf("enum %s.%s", t->name, t->field[i].name);
        for (size_t k = 0; k < names->n; k++)
            if (names->name[k])
                printf(" %s", names->name[k]);
        printf("\n");
    }
}

static int file_write(void)
{
    struct arena *a = arena_new();
    struct str out = STR_INIT;
    for (int kind = 0; kind < MESSAGE_COUNT; kind++) {
        const struct fields *t = message_fields(kind);
        str_clear(&out);
        wire_encode(
            &(struct message){.kind = (enum message_kind)kind, .seq = 5, .body = filled(t, a)},
            &out);
        frame_print(message_table[kind].name, &out);
        enums_print(t);
    }
    for (size_t i = 0; i < ARRAY_LEN(row_tables); i++) {
        str_clear(&out);
        struct rows_writer *w = rows_writer_new(row_tables[i], NULL, 5, &out);
        rows_writer_add(w, filled(row_tables[i], a));
        rows_writer_end(w);
        frame_print("rows", &out);
        enums_print(row_tables[i]);
    }
    str_done(&out);
    arena_free(a);
    return 0;
}

/* ---- reading the file ---- */

struct kept {
    FILE *file;
    char *line;
    size_t room;
    struct str bytes;
    struct frame frame;
};

static void kept_open(struct kept *k)
{
    const char *root = getenv("REMUDA_SOURCE");
    char path[4096];
    *k = (struct kept){0};
    snprintf(path, sizeof path, "%s/tests/unit/frames_release_0.txt", root ? root : ".");
    k->file = fopen(path, "re");
    if (!k->file)
        fail_msg("cannot open %s; REMUDA_SOURCE names the source folder", path);
}

static void kept_close(struct kept *k)
{
    fclose(k->file);
    free(k->line);
    str_done(&k->bytes);
}

static size_t kept_line(struct kept *k)
{
    ssize_t n = getline(&k->line, &k->room, k->file);
    while (n > 0 && k->line[n - 1] == '\n')
        k->line[--n] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static void header_put(struct str *out, size_t json, size_t raw)
{
    for (size_t i = 0; i < FRAME_HEADER_BYTES; i++)
        str_addc(out, (char)(unsigned char)((i < 4 ? json : raw) >> (24 - 8 * (i % 4))));
}

static void raw_put(struct str *out, const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        const char two[3] = {hex[0], hex[1], '\0'};
        str_addc(out, (char)strtol(two, NULL, 16));
    }
}

/* The next frame; false at the end. Lines of enums in between go to `names`. */
static bool kept_next(struct kept *k, void (*names)(char *line))
{
    struct err e = {0};
    while (kept_line(k)) {
        if (k->line[0] != '{') {
            if (names && strncmp(k->line, "enum ", 5) == 0)
                names(k->line + 5);
            continue;
        }
        struct str json = STR_INIT;
        str_add(&json, k->line);
        assert_true(kept_line(k) >= 4 && strncmp(k->line, "raw ", 4) == 0);
        str_clear(&k->bytes);
        header_put(&k->bytes, json.len, strlen(k->line + 4) / 2);
        str_addn(&k->bytes, json.data, json.len);
        raw_put(&k->bytes, k->line + 4);
        str_done(&json);
        if (frame_take(k->bytes.data, k->bytes.len, &k->frame, &e) <= 0)
            fail_msg("%s", e.text);
        return true;
    }
    return false;
}

static const struct field *field_must(const struct fields *t, struct span key)
{
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)key.len, key.data);
    ptrdiff_t i = fields_find(t, name);
    if (i < 0)
        fail_msg("%s.%s of release 0 is not known any more", t->name, name);
    return &t->field[i];
}

static void value_check(struct json_in *in, const struct fields *t, const struct field *f,
                        const void *record);

static void members_check(struct json_in *in, const struct fields *t, const void *record)
{
    struct span key;
    assert_true(json_in_open(in, '{'));
    for (bool first = true; json_in_more(in, '}', &first);) {
        assert_true(json_in_key(in, &key));
        if (span_is(key, "type") || span_is(key, "call"))
            json_in_skip(in);
        else
            value_check(in, t, field_must(t, key), record);
    }
    assert_false(in->failed);
}

/* What the frame says is what the record has. */
static void value_check(struct json_in *in, const struct fields *t, const struct field *f,
                        const void *record)
{
    if (f->type == FIELD_LIST) {
        const struct record_list *list = field_ptr(f, record);
        assert_true(json_in_open(in, '['));
        for (bool first = true; json_in_more(in, ']', &first);) {
            assert_int_equal(list->n, 1);
            members_check(in, f->aux, list->v);
        }
        return;
    }
    struct str has = STR_INIT;
    json_in_peek(in);
    const char *from = in->at;
    assert_true(json_in_skip(in));
    field_write(&has, f, record);
    if ((size_t)(in->at - from) != has.len || memcmp(from, has.data, has.len) != 0)
        fail_msg("%s.%s: release 0 said %.*s, read was %s", t->name, f->name, (int)(in->at - from),
                 from, str_text(&has));
    if (f->type == FIELD_BLOB) {
        const struct blob *b = field_ptr(f, record);
        assert_memory_equal(b->data, "bytes of ", 9);
        assert_memory_equal((const char *)b->data + 9, f->name, strlen(f->name));
    }
    str_done(&has);
}

static void names_check(char *line)
{
    char *word = strtok(line, " "); /* names hold no blanks */
    char *dot = strchr(word, '.');
    const struct field *f = NULL;
    *dot = '\0';
    for (int kind = 0; kind < MESSAGE_COUNT && !f; kind++)
        if (strcmp(message_fields(kind)->name, word) == 0)
            f = field_must(message_fields(kind), span_of(dot + 1));
    for (size_t i = 0; i < ARRAY_LEN(row_tables) && !f; i++)
        if (strcmp(row_tables[i]->name, word) == 0)
            f = field_must(row_tables[i], span_of(dot + 1));
    if (!f)
        fail_msg("the record %s of release 0 is gone", word);
    for (const char *name = strtok(NULL, " "); name; name = strtok(NULL, " ")) {
        int32_t value;
        if (!enum_value(f->aux, name, &value))
            fail_msg("%s.%s: the value %s of release 0 is not known any more", word, dot + 1, name);
    }
}

struct row_seen {
    const struct fields *t;
    size_t n;
};

static void row_check(void *ctx, const void *record)
{
    struct row_seen *s = ctx;
    struct arena *a = arena_new();
    const void *now = filled(s->t, a);
    for (size_t i = 0; i < s->t->n; i++) {
        const struct field *f = &s->t->field[i];
        struct str had = STR_INIT, has = STR_INIT;
        if (f->type != FIELD_LIST && f->type != FIELD_BLOB && !field_is_zero(f, record)) {
            field_write(&had, f, record);
            field_write(&has, f, now);
            assert_string_equal(str_text(&had), str_text(&has));
        }
        str_done(&had);
        str_done(&has);
    }
    s->n++;
    arena_free(a);
}

/* The columns that release 0 wrote, in its words. */
static void columns_check(const struct frame *f, const struct fields *t)
{
    struct arena *a = arena_new();
    struct json_in in;
    struct span key, name;
    json_in_begin(&in, f->json, f->json_len, a, NULL);
    assert_true(json_in_open(&in, '{'));
    for (bool first = true; json_in_more(&in, '}', &first);) {
        assert_true(json_in_key(&in, &key));
        if (!span_is(key, "fields")) {
            json_in_skip(&in);
            continue;
        }
        json_in_open(&in, '[');
        for (bool one = true; json_in_more(&in, ']', &one);) {
            assert_true(json_in_word(&in, &name));
            field_must(t, name);
        }
    }
    arena_free(a);
}

static void rows_check(const struct frame *f, struct arena *a)
{
    for (size_t i = 0; i < ARRAY_LEN(row_tables); i++) {
        struct row_seen s = {.t = row_tables[i]};
        const char *record = arena_printf(a, "\"record\":\"%s\",", s.t->name);
        struct err e = {0};
        if (!memmem(f->json, f->json_len, record, strlen(record)))
            continue;
        columns_check(f, s.t);
        if (!rows_decode(f, s.t, NULL, row_check, &s, &e))
            fail_msg("rows of %s: %s", s.t->name, e.text);
        assert_int_equal(s.n, 1);
        return;
    }
    fail_msg("rows of a record that is gone: %.*s", 80, f->json);
}

static void test_what_release_0_wrote_is_read(void **state)
{
    struct kept k;
    size_t messages = 0, rows = 0;
    kept_open(&k);
    while (kept_next(&k, names_check)) {
        struct arena *a = arena_new();
        struct message m;
        struct err e = {0};
        struct json_in in;
        if (wire_is_rows(&k.frame)) {
            rows_check(&k.frame, a);
            rows++;
        } else if (!wire_decode(&k.frame, a, &m, &e)) {
            fail_msg("%.*s…: %s", 60, k.frame.json, e.text);
        } else {
            json_in_begin(&in, k.frame.json, k.frame.json_len, a, NULL);
            members_check(&in, message_fields(m.kind), m.body);
            assert_int_equal(m.seq, 5);
            messages++;
        }
        arena_free(a);
    }
    kept_close(&k);
    assert_int_equal(messages, 51); /* release 0 had so many */
    assert_int_equal(rows, ARRAY_LEN(row_tables));
}

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
        cmocka_unit_test(test_what_release_0_wrote_is_read),
        cmocka_unit_test(test_each_field_may_be_missing_at_either_end),
        cmocka_unit_test(test_what_a_newer_release_adds_is_passed_over),
        cmocka_unit_test(test_a_value_of_a_newer_release_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
