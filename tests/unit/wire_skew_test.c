/* Releases that differ by one understand each other.
 *
 * frames_release_0.txt keeps every message and row as release 0 wrote it, each field filled:
 * today's tables must still read all of it. Older readers are played by tables that lack a field,
 * newer writers by members that no table knows. `unit_wire_skew --write` prints the file anew, for
 * the next release (beside the old file, not over it). */
#include "wire_skew_help.h"

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

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--write") == 0)
        return file_write();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_release_0_wrote_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
