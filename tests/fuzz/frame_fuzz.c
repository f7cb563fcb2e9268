/* Bytes from a connection: frames, messages, rows, and JSON from programs of the site. Each is read
 * or refused with a sentence; a message that was read is written as a frame that reads to the same
 * message. */
#include "fuzz.h"

#include "base/alloc.h"
#include "wire/frame.h"
#include "wire/json.h"
#include "wire/json_in.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "{\"type\":\"submit\",\"specs\":[{",
    "{\"type\":\"report\",\"call\":7,",
    "{\"type\":\"cancel\"",
    "{\"type\":\"rows\",\"record\":\"job\",\"fields\":[\"id\",\"name\",\"state\"],\"rows\":[",
    "[1,\"a\",\"RUNNING\"]",
    "]}",
    "}]",
    "}",
    ",",
    ":",
    "\"script\":{\"bytes\":3}",
    "\"name\":\"a\\u00e9\\udc80\"",
    "\"min_nodes\":2",
    "\"kind\":\"EXITED\"",
    "\"hint\":1",
    "\"usage\":[{\"job_id\":1}]",
    "\"x\":[{},[],null,true,1.5e3]",
    "\\",
    "\"",
    NULL,
};

static void refusal_check(const struct err *e)
{
    CHECK(e->code == ERR_INVALID && e->text[0]);
}

static void json_check(const char *json, size_t len, struct arena *a)
{
    struct json_in in;
    json_in_begin(&in, json, len, a, NULL);
    CHECK(json_in_skip(&in) && json_in_end(&in));
}

static void message_check(const struct frame *f, struct arena *a)
{
    struct message once, twice;
    struct err e = {0};
    struct frame again;
    struct str out = STR_INIT;
    if (!wire_decode(f, a, &once, &e)) {
        refusal_check(&e);
        return;
    }
    json_check(f->json, f->json_len, a);
    wire_encode(&once, &out);
    CHECK(frame_take(out.data, out.len, &again, NULL) == (ssize_t)out.len);
    CHECK(wire_decode(&again, a, &twice, NULL));
    CHECK(twice.kind == once.kind && twice.seq == once.seq);
    CHECK(record_equal(message_fields(once.kind), once.body, twice.body));
    str_done(&out);
}

static void row_check(void *ctx, const void *record)
{
    const struct job *j = record;
    CHECK(!j->spec.name || strlen(j->spec.name) < *(size_t *)ctx);
}

static void rows_check(const struct frame *f)
{
    struct err e = {0};
    size_t len = f->json_len;
    if (rows_decode(f, &job_fields, NULL, row_check, &len, &e))
        (void)wire_is_rows(f);
    else
        refusal_check(&e);
}

static void record_words_check(const char *text, size_t len, struct arena *a)
{
    struct job_spec once = {0}, twice = {0};
    struct err e = {0};
    struct str out = STR_INIT;
    struct json_out j;
    if (!json_to_record(text, len, &job_spec_fields, &once, a, &e)) {
        refusal_check(&e);
        return;
    }
    json_begin(&j, &out, true);
    json_record(&j, &job_spec_fields, &once);
    json_check(out.data, out.len, a);
    CHECK(json_to_record(out.data, out.len, &job_spec_fields, &twice, a, NULL));
    str_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char raw[] = "raw";
    char *exact = xmemdup(data, size); /* a byte too far is a byte the sanitizer sees */
    struct arena *a = arena_new();
    struct err e = {0};
    struct frame f;
    if (frame_take(exact, size, &f, &e) < 0)
        refusal_check(&e);
    f = (struct frame){.json = exact, .json_len = size, .raw = raw, .raw_len = size % 2 ? 0 : 3};
    message_check(&f, a);
    rows_check(&f);
    record_words_check(exact, size, a);
    arena_free(a);
    free(exact);
    return 0;
}
