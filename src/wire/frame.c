#include "wire/frame.h"

#include "base/alloc.h"
#include "model/limits.h"
#include "wire/frame_out.h"
#include "wire/record.h"

#include <string.h>

static uint32_t big_endian(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

ssize_t frame_take(const void *data, size_t len, struct frame *ret, struct err *ret_err)
{
    const unsigned char *p = data;
    uint32_t json_len = len >= 4 ? big_endian(p) : 2, raw_len = len >= 8 ? big_endian(p + 4) : 0;
    if (json_len < 2 || json_len > LIMIT_FRAME_JSON_BYTES) {
        err_set(ret_err, ERR_INVALID, "not a frame: a JSON part of %u bytes (2 to %u are allowed)",
                json_len, LIMIT_FRAME_JSON_BYTES);
        return -1;
    }
    if (raw_len > LIMIT_FRAME_DATA_BYTES) {
        err_set(ret_err, ERR_INVALID,
                "not a frame: a raw part of %u bytes (at most %u are allowed)", raw_len,
                LIMIT_FRAME_DATA_BYTES);
        return -1;
    }
    size_t whole = FRAME_HEADER_BYTES + (size_t)json_len + raw_len;
    if (len > FRAME_HEADER_BYTES && p[FRAME_HEADER_BYTES] != '{') {
        err_set(ret_err, ERR_INVALID, "not a frame: its JSON part is no object");
        return -1;
    }
    if (len < whole || len < FRAME_HEADER_BYTES)
        return 0;
    const char *json = (const char *)data + FRAME_HEADER_BYTES;
    *ret = (struct frame){
        .json = json, .json_len = json_len, .raw = json + json_len, .raw_len = raw_len};
    return (ssize_t)whole;
}

uint64_t frame_says(const void *data, size_t len)
{
    const unsigned char *p = data;
    return len < FRAME_HEADER_BYTES ? 0 : (uint64_t)big_endian(p) + big_endian(p + 4);
}

size_t frame_begin(struct str *out, const char *type, uint64_t call)
{
    static const char header[FRAME_HEADER_BYTES];
    size_t at = out->len;
    str_addn(out, header, sizeof header);
    str_add(out, "{\"type\":\"");
    str_add(out, type);
    str_addc(out, '"');
    if (call) {
        str_add(out, ",\"call\":");
        str_add_u64(out, call);
    }
    return at;
}

void frame_end(struct str *out, size_t at, size_t raw_len)
{
    ASSERT(out->len >= at + FRAME_HEADER_BYTES);
    size_t lens[2] = {out->len - at - FRAME_HEADER_BYTES, raw_len};
    for (size_t i = 0; i < FRAME_HEADER_BYTES; i++)
        out->data[at + i] = (char)(unsigned char)(lens[i / 4] >> (24 - 8 * (i % 4)));
}

void wire_encode(const struct message *m, struct str *out)
{
    const struct fields *fields = message_fields(m->kind);
    size_t raw_bytes = 0, at = frame_begin(out, message_table[m->kind].name, m->seq);
    bool first = false;
    if (m->request) {
        str_add(out, ",\"request\":");
        str_add_u64(out, m->request);
    }
    record_write(out, fields, m->body, &first, &raw_bytes);
    str_addc(out, '}');
    frame_end(out, at, raw_bytes);
    if (raw_bytes)
        record_write_raw(out, fields, m->body);
}

/* Reads members up to and with "type", which our encoder writes first. */
static bool read_type(struct json_in *in, struct span *ret)
{
    struct span key;
    if (!json_in_open(in, '{'))
        return false;
    for (bool first = true; json_in_more(in, '}', &first);) {
        if (!json_in_key(in, &key))
            return false;
        if (span_is(key, "type"))
            return json_in_word(in, ret);
        if (!json_in_skip(in))
            return false;
        if ((size_t)(in->at - in->start) > LIMIT_UNKNOWN_BYTES)
            return json_in_fail(in, "a frame begins with its \"type\"");
    }
    return json_in_fail(in, "a frame without \"type\"");
}

static bool find_kind(struct span name, enum message_kind *ret)
{
    char text[64];
    if (name.len >= sizeof text || memchr(name.data, '\0', name.len))
        return false;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return message_kind_parse(text, ret);
}

/* Members of the frame itself, among the fields of the message. */
struct envelope {
    struct record_reader *r;
    uint64_t call, request;
};

static bool envelope_member(void *ctx, struct span key)
{
    struct envelope *e = ctx;
    uint64_t *to = span_is(key, "call") ? &e->call : span_is(key, "request") ? &e->request : NULL;
    if (to)
        json_in_u64(&e->r->in, UINT64_MAX, to);
    return to != NULL;
}

static size_t text_max(enum message_kind kind)
{
    ASSERT(kind < MESSAGE_COUNT);
    enum who who = message_table[kind].who;
    if (who == WHO_CONTROLLER || who == WHO_STREAM)
        return SIZE_MAX;
    return who == WHO_NODE ? LIMIT_NODE_TEXT_BYTES : LIMIT_TEXT_BYTES;
}

/* Of users' requests, all of which are decoded by the controller's loop. What loads much is
 * administrators'. */
static bool is_bounded(enum message_kind kind)
{
    enum who who = message_table[kind].who;
    return who != WHO_NODE && who != WHO_CONTROLLER && who != WHO_STREAM &&
           kind != MSG_CHANGE_ACCOUNTS && kind != MSG_ADD_PAST;
}

static bool decode(const struct frame *f, bool from_user, struct arena *a, struct message *ret,
                   struct err *ret_err)
{
    struct record_reader r = {.raw = f->raw, .raw_len = f->raw_len};
    struct span type = {0};
    enum message_kind kind;
    json_in_begin(&r.in, f->json, f->json_len, a, ret_err);
    if (!read_type(&r.in, &type))
        return false;
    if (!find_kind(type, &kind))
        return json_in_fail(&r.in, "unknown message '%.*s' (of a newer release?)",
                            SPAN_QUOTED(type));
    const struct fields *t = message_fields(kind);
    bool bounded = from_user || is_bounded(kind);
    r.text_max = from_user ? LIMIT_TEXT_BYTES : text_max(kind);
    if (bounded && f->json_len > LIMIT_REQUEST_JSON_BYTES)
        return json_in_fail(&r.in, "%s: a request has %u bytes beside its script and environment",
                            t->name, LIMIT_REQUEST_JSON_BYTES);
    if (bounded) {
        r.records_max = LIMIT_REQUEST_RECORDS;
        r.unknown_max = LIMIT_UNKNOWN_BYTES;
    }
    void *body = arena_alloc(a, t->size);
    struct envelope e = {.r = &r};
    json_in_begin(&r.in, f->json, f->json_len, a, ret_err);
    if (!json_in_open(&r.in, '{') || !record_read(&r, t, body, true, envelope_member, &e) ||
        !json_in_end(&r.in))
        return false;
    if (r.raw_len)
        return json_in_fail(&r.in, "%s: %zu raw bytes belong to no field", t->name, r.raw_len);
    *ret = (struct message){.kind = kind, .seq = e.call, .request = e.request, .body = body};
    return true;
}

bool wire_decode(const struct frame *f, struct arena *a, struct message *ret, struct err *ret_err)
{
    return decode(f, false, a, ret, ret_err);
}

bool wire_decode_of_user(const struct frame *f, struct arena *a, struct message *ret,
                         struct err *ret_err)
{
    return decode(f, true, a, ret, ret_err);
}

bool wire_is_rows(const struct frame *f)
{
    struct json_in in;
    struct span type = {0};
    struct arena *a = arena_new();
    json_in_begin(&in, f->json, f->json_len, a, NULL);
    bool is_rows = read_type(&in, &type) && span_is(type, "rows");
    arena_free(a);
    return is_rows;
}
