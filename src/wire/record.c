/* Our encoder writes members in the order of the table and leaves out zeros, so the reader looks
 * for a key from where it found the last one: a record costs one walk along its table. Members in
 * any other order are found too, just slower. */
#include "wire/record.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/limits.h"
#include "wire/quote.h"

#include <string.h>
#include <strings.h>

#define FIELDS_MAX 256u /* of one table, for the set of those seen */

bool field_is_zero(const struct field *f, const void *record)
{
    const void *p = field_ptr(f, record);
    switch (f->type) {
    case FIELD_BOOL: return !*(const bool *)p;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM: return *(const int32_t *)p == 0;
    case FIELD_I64:
    case FIELD_U64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return *(const int64_t *)p == 0;
    case FIELD_TEXT: return !*(const char *const *)p;
    case FIELD_BLOB: return ((const struct blob *)p)->len == 0;
    case FIELD_LIST: return ((const struct record_list *)p)->n == 0;
    }
    return true;
}

/* Two values may share a name (two reasons that Slurm calls the same), and a value may have none:
 * then the number travels. */
static bool enum_name_is_its_own(const struct enum_names *names, int32_t value)
{
    if (value < 0 || (size_t)value >= names->n || !names->name[value])
        return false;
    for (int32_t i = 0; i < value; i++)
        if (names->name[i] && strcasecmp(names->name[i], names->name[value]) == 0)
            return false;
    return true;
}

static void write_enum(struct str *out, const struct enum_names *names, int32_t value)
{
    if (!enum_name_is_its_own(names, value)) {
        str_add_i64(out, value);
        return;
    }
    const char *name = names->name[value];
    json_quote(out, name, strlen(name), true);
}

void field_write(struct str *out, const struct field *f, const void *record)
{
    const void *p = field_ptr(f, record);
    switch (f->type) {
    case FIELD_BOOL: str_add(out, *(const bool *)p ? "true" : "false"); break;
    case FIELD_I32: str_add_i64(out, *(const int32_t *)p); break;
    case FIELD_U32: str_add_u64(out, *(const uint32_t *)p); break;
    case FIELD_I64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: str_add_i64(out, *(const int64_t *)p); break;
    case FIELD_U64: str_add_u64(out, *(const uint64_t *)p); break;
    case FIELD_TEXT: {
        const char *text = *(const char *const *)p;
        if (text)
            json_quote(out, text, strlen(text), true);
        else
            str_add(out, "null");
        break;
    }
    case FIELD_ENUM: write_enum(out, f->aux, *(const int32_t *)p); break;
    case FIELD_BLOB:
        str_add(out, "{\"bytes\":");
        str_add_u64(out, ((const struct blob *)p)->len);
        str_addc(out, '}');
        break;
    case FIELD_LIST: die("lists are written by record_write");
    }
}

static void write_list(struct str *out, const struct field *f, const void *record,
                       size_t *raw_bytes)
{
    const struct record_list *list = field_ptr(f, record);
    const struct fields *t = f->aux;
    str_addc(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        bool first = true;
        str_add(out, i ? ",{" : "{");
        record_write(out, t, (const char *)list->v + i * t->size, &first, raw_bytes);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}

/* As deep as the tables nest lists: two. */
void record_write(struct str *out, const struct fields *t, const void *record, bool *first,
                  size_t *raw_bytes)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        if (field_is_zero(f, record))
            continue;
        str_add(out, *first ? "\"" : ",\"");
        str_add(out, f->name);
        str_addn(out, "\":", 2);
        *first = false;
        if (f->type == FIELD_LIST)
            write_list(out, f, record, raw_bytes);
        else
            field_write(out, f, record);
        if (f->type == FIELD_BLOB)
            *raw_bytes += ((const struct blob *)field_ptr(f, record))->len;
    }
}

void record_write_raw(struct str *out, const struct fields *t, const void *record)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct field *f = &t->field[i];
        if (f->type == FIELD_BLOB && !field_is_zero(f, record)) {
            const struct blob *b = field_ptr(f, record);
            str_addn(out, b->data, b->len);
        }
        if (f->type != FIELD_LIST)
            continue;
        const struct record_list *list = field_ptr(f, record);
        const struct fields *inner = f->aux;
        for (size_t k = 0; k < list->n; k++)
            record_write_raw(out, inner, (const char *)list->v + k * inner->size);
    }
}

/* Texts that are long for good reason: they grow with the cluster or with what was asked for, and
 * the frame's limit bounds them. */
static size_t text_max(const struct record_reader *r, const struct field *f)
{
    static const char *const unlimited[] = {"array_pending", "alloc", "ids"};
    if (r->text_max < LIMIT_SUBMIT_LINE_BYTES && strcmp(f->name, "submit_line") == 0)
        return LIMIT_SUBMIT_LINE_BYTES;
    for (size_t i = 0; i < ARRAY_LEN(unlimited); i++)
        if (f->name[0] == unlimited[i][0] && strcmp(f->name, unlimited[i]) == 0)
            return SIZE_MAX;
    return r->text_max;
}

/* {"bytes":n}: the next n bytes of the raw part. */
static bool take_raw(struct record_reader *r, struct blob *ret)
{
    struct span key;
    uint64_t n = 0;
    bool first = true;
    if (!json_in_open(&r->in, '{'))
        return false;
    while (json_in_more(&r->in, '}', &first) && json_in_key(&r->in, &key))
        if (!(span_is(key, "bytes") ? json_in_u64(&r->in, UINT64_MAX, &n) : json_in_skip(&r->in)))
            return false;
    if (r->in.failed)
        return false;
    if (n > r->raw_len)
        return json_in_fail(&r->in, "%llu bytes, but the raw part of the frame has %zu left",
                            (unsigned long long)n, r->raw_len);
    *ret = (struct blob){n ? r->raw : NULL, (size_t)n};
    if (n) /* there may be no raw part to go on in */
        r->raw += n;
    r->raw_len -= (size_t)n;
    return true;
}

static bool read_blob(struct record_reader *r, struct blob *ret)
{
    const char *text = NULL;
    size_t len = 0;
    if (!r->blobs_are_texts)
        return take_raw(r, ret);
    if (!json_in_bytes(&r->in, LIMIT_FRAME_DATA_BYTES, &text, &len))
        return false;
    *ret = (struct blob){len ? text : NULL, len};
    return true;
}

static bool read_enum(struct record_reader *r, const struct enum_names *names, int32_t *ret)
{
    struct span word;
    char name[64];
    if (json_in_peek(&r->in) != '"') {
        int64_t n = 0;
        if (!json_in_i64(&r->in, 0, names->n ? (int64_t)names->n - 1 : 0, &n))
            return false;
        *ret = (int32_t)n;
        return true;
    }
    if (!json_in_word(&r->in, &word))
        return false;
    size_t len = word.len < sizeof name ? word.len : sizeof name - 1;
    memcpy(name, word.data, len);
    name[len] = '\0';
    if (len != word.len || strlen(name) != len || !enum_value(names, name, ret))
        return json_in_fail(&r->in, "unknown name '%s' (of a newer release?)", name);
    return true;
}

static bool read_list(struct record_reader *r, const struct fields *t, struct record_list *ret)
{
    size_t cap = 0, most = r->records_max ? r->records_max : LIMIT_LIST_RECORDS;
    if (!json_in_open(&r->in, '['))
        return false;
    for (bool first = true; json_in_more(&r->in, ']', &first);) {
        if (ret->n == most)
            return json_in_fail(&r->in, "more than %zu records in a list", most);
        if (ret->n == cap) {
            cap = cap ? 2 * cap : 1;
            void *grown = arena_alloc(r->in.arena, cap * t->size);
            if (ret->n)
                memcpy(grown, ret->v, ret->n * t->size);
            ret->v = grown;
        }
        if (!json_in_open(&r->in, '{') ||
            !record_read(r, t, (char *)ret->v + ret->n * t->size, true, NULL, NULL))
            return false;
        ret->n++;
    }
    return !r->in.failed;
}

/* A number out of its range: which are allowed belongs to the sentence. */
static bool range_fail(struct record_reader *r, const struct int_range *range, const char *sign,
                       uint64_t n)
{
    struct str allowed = STR_INIT;
    range_say(range, &allowed);
    json_in_fail(&r->in, "%s%llu is out of range, %s is allowed", sign, (unsigned long long)n,
                 str_text(&allowed));
    str_done(&allowed);
    return false;
}

static bool read_i64(struct record_reader *r, const struct int_range *range, void *to, size_t size)
{
    bool negative;
    uint64_t n;
    if (!json_in_number(&r->in, &negative, &n))
        return false;
    /* The magnitude of a negative minimum, which -INT64_MIN would not be. */
    uint64_t least = range->min < 0 ? 0 - (uint64_t)range->min : 0;
    bool endless = range->endless && !negative && n == (uint64_t)TIME_UNLIMITED;
    if (!endless && (negative ? n > least : n > range->max))
        return range_fail(r, range, negative ? "-" : "", n);
    int64_t value = (int64_t)(negative ? 0 - n : n);
    if (size == sizeof(int32_t))
        *(int32_t *)to = (int32_t)value;
    else
        *(int64_t *)to = value;
    return true;
}

static bool read_u64(struct record_reader *r, const struct int_range *range, void *to, size_t size)
{
    bool negative;
    uint64_t n;
    if (!json_in_number(&r->in, &negative, &n))
        return false;
    if ((negative && n) || n > range->max)
        return range_fail(r, range, negative ? "-" : "", n);
    if (size == sizeof(uint32_t))
        *(uint32_t *)to = (uint32_t)n;
    else
        *(uint64_t *)to = n;
    return true;
}

/* What a number may be here: by the field's row, or, in what a daemon of ours shows, whatever
 * fits. */
static const struct int_range *range_of(const struct record_reader *r, const struct field *f)
{
    static const struct int_range any_u32 = {.max = UINT32_MAX}, any_u64 = {.max = UINT64_MAX};
    if (!r->any_number)
        return field_range(f);
    return f->type == FIELD_I32   ? &range_any32
           : f->type == FIELD_U32 ? &any_u32
           : f->type == FIELD_U64 ? &any_u64
                                  : &range_any64;
}

bool field_read(struct record_reader *r, const struct field *f, void *record)
{
    void *p = field_ptr(f, record);
    if (json_in_peek(&r->in) == 'n')
        return json_in_null(&r->in);
    switch (f->type) {
    case FIELD_BOOL: return json_in_bool(&r->in, p);
    case FIELD_I32: return read_i64(r, range_of(r, f), p, sizeof(int32_t));
    case FIELD_U32: return read_u64(r, range_of(r, f), p, sizeof(uint32_t));
    case FIELD_I64:
    case FIELD_TIME:
    case FIELD_SPAN:
    case FIELD_MIB: return read_i64(r, range_of(r, f), p, sizeof(int64_t));
    case FIELD_U64: return read_u64(r, range_of(r, f), p, sizeof(uint64_t));
    case FIELD_TEXT: return json_in_text(&r->in, text_max(r, f), p);
    case FIELD_ENUM: return read_enum(r, f->aux, p);
    case FIELD_BLOB: return read_blob(r, p);
    case FIELD_LIST: return read_list(r, f->aux, p);
    }
    return false;
}

static bool name_is(const char *name, struct span key)
{
    return key.len && name[0] == key.data[0] && strlen(name) == key.len &&
           memcmp(name, key.data, key.len) == 0;
}

/* Index of the field, from *at round to before it; -1 if unknown. */
static ptrdiff_t find_from(const struct fields *t, struct span key, size_t at)
{
    ASSERT(at <= t->n);
    for (size_t i = at; i < t->n; i++)
        if (name_is(t->field[i].name, key))
            return (ptrdiff_t)i;
    for (size_t i = 0; i < at; i++)
        if (name_is(t->field[i].name, key))
            return (ptrdiff_t)i;
    return -1;
}

static bool skip_unknown(struct record_reader *r);

/* A record in a list that is not known: what its members say of raw bytes counts. */
static bool skip_record(struct record_reader *r)
{
    struct span key;
    bool first = true;
    if (!json_in_open(&r->in, '{'))
        return false;
    while (json_in_more(&r->in, '}', &first))
        if (!json_in_key(&r->in, &key) || !skip_unknown(r))
            return false;
    return !r->in.failed;
}

/* A field of a newer release may be a blob, or a list of records with blobs: their bytes are passed
 * over as well. */
static bool skip_unknown(struct record_reader *r)
{
    struct blob ignored;
    char next = json_in_peek(&r->in);
    if (r->blobs_are_texts || (next != '{' && next != '['))
        return json_in_skip(&r->in);
    if (next == '{')
        return take_raw(r, &ignored);
    json_in_open(&r->in, '[');
    for (bool first = true; json_in_more(&r->in, ']', &first);)
        if (!(json_in_peek(&r->in) == '{' ? skip_record(r) : json_in_skip(&r->in)))
            return false;
    return !r->in.failed;
}

/* Passing over takes as long as reading, and nothing else bounds it: the reader sees no more than
 * may still be passed over. */
static bool skip_bounded(struct record_reader *r)
{
    const char *from = r->in.at, *end = r->in.end;
    size_t left = r->unknown_max - r->unknown;
    bool cut = r->unknown_max && (size_t)(end - from) > left;
    r->in.end = cut ? from + left : end;
    bool whole = skip_unknown(r);
    r->in.end = end;
    r->unknown += (size_t)(r->in.at - from);
    return whole ||
           (cut && err_set(r->in.err, ERR_INVALID,
                           "more than %zu bytes that this release does not know", r->unknown_max));
}

bool record_read(struct record_reader *r, const struct fields *t, void *record, bool first,
                 bool (*unknown)(void *ctx, struct span key), void *ctx)
{
    uint64_t seen[FIELDS_MAX / 64] = {0};
    size_t at = 0;
    CHECK(t->n <= FIELDS_MAX);
    while (json_in_more(&r->in, '}', &first)) {
        struct span key;
        if (!json_in_key(&r->in, &key))
            return false;
        ptrdiff_t i = find_from(t, key, at);
        if (i < 0) {
            if (!(unknown && unknown(ctx, key)) && !skip_bounded(r))
                return false;
            continue;
        }
        const struct field *f = &t->field[i];
        at = (size_t)i + 1;
        if (seen[i / 64] >> i % 64 & 1)
            return json_in_fail(&r->in, "%s.%s: given twice", t->name, f->name);
        seen[i / 64] |= UINT64_C(1) << i % 64;
        if (!field_read(r, f, record))
            return err_prefix(r->in.err, "%s.%s", t->name, f->name);
    }
    return !r->in.failed;
}
