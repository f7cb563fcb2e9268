#include "wire/json.h"

#include "base/alloc.h"
#include "model/limits.h"
#include "wire/quote.h"
#include "wire/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_begin(struct json_out *j, struct str *out, bool pretty)
{
    *j = (struct json_out){.out = out, .first = true, .pretty = pretty};
}

static bool in_object(const struct json_out *j)
{
    return j->depth && j->object >> (j->depth - 1) & 1;
}

static void new_line(struct json_out *j)
{
    if (!j->pretty)
        return;
    str_addc(j->out, '\n');
    for (uint32_t i = 0; i < j->depth; i++)
        str_addn(j->out, "  ", 2);
}

/* What comes before a key, or before a value that has none. */
static void separate(struct json_out *j)
{
    if (!j->first)
        str_addc(j->out, ',');
    j->first = false;
    if (j->depth)
        new_line(j);
}

static void before_value(struct json_out *j)
{
    CHECK(in_object(j) == j->after_key);
    if (!j->after_key)
        separate(j);
    j->after_key = false;
}

static void open_bracket(struct json_out *j, char bracket)
{
    before_value(j);
    CHECK(j->depth < 64);
    uint64_t bit = UINT64_C(1) << j->depth++;
    j->object = bracket == '{' ? j->object | bit : j->object & ~bit;
    j->first = true;
    str_addc(j->out, bracket);
}

static void close_bracket(struct json_out *j, char bracket)
{
    CHECK(j->depth && !j->after_key && in_object(j) == (bracket == '}'));
    j->depth--;
    if (!j->first)
        new_line(j);
    j->first = false;
    str_addc(j->out, bracket);
}

void json_object(struct json_out *j)
{
    open_bracket(j, '{');
}

void json_object_end(struct json_out *j)
{
    close_bracket(j, '}');
}

void json_array(struct json_out *j)
{
    open_bracket(j, '[');
}

void json_array_end(struct json_out *j)
{
    close_bracket(j, ']');
}

void json_key(struct json_out *j, const char *key)
{
    CHECK(in_object(j) && !j->after_key);
    separate(j);
    json_quote(j->out, key, strlen(key), false);
    str_add(j->out, j->pretty ? ": " : ":");
    j->after_key = true;
}

void json_text(struct json_out *j, const char *text)
{
    before_value(j);
    json_quote(j->out, text ? text : "", text ? strlen(text) : 0, false);
}

void json_i64(struct json_out *j, int64_t n)
{
    before_value(j);
    str_add_i64(j->out, n);
}

void json_u64(struct json_out *j, uint64_t n)
{
    before_value(j);
    str_add_u64(j->out, n);
}

void json_bool(struct json_out *j, bool b)
{
    before_value(j);
    str_add(j->out, b ? "true" : "false");
}

void json_null(struct json_out *j)
{
    before_value(j);
    str_add(j->out, "null");
}

void json_double(struct json_out *j, double d)
{
    char text[40];
    if (!isfinite(d)) {
        json_null(j);
        return;
    }
    before_value(j);
    snprintf(text, sizeof text, "%.15g", d);
    if (strtod(text, NULL) != d)
        snprintf(text, sizeof text, "%.17g", d);
    str_add(j->out, text);
}

void json_key_text(struct json_out *j, const char *key, const char *text)
{
    json_key(j, key);
    json_text(j, text);
}

void json_key_i64(struct json_out *j, const char *key, int64_t n)
{
    json_key(j, key);
    json_i64(j, n);
}

void json_key_bool(struct json_out *j, const char *key, bool b)
{
    json_key(j, key);
    json_bool(j, b);
}

static void json_field(struct json_out *j, const struct field *f, const void *record)
{
    const void *p = field_ptr(f, record);
    if (f->type == FIELD_LIST) {
        const struct record_list *list = p;
        const struct fields *t = f->aux;
        json_array(j);
        for (size_t i = 0; i < list->n; i++)
            json_record(j, t, (const char *)list->v + i * t->size);
        json_array_end(j);
        return;
    }
    before_value(j);
    if (f->type == FIELD_BLOB)
        json_quote(j->out, ((const struct blob *)p)->data, ((const struct blob *)p)->len, false);
    else if (f->type == FIELD_TEXT)
        json_quote(j->out, *(const char *const *)p, strlen(*(const char *const *)p), false);
    else
        field_write(j->out, f, record);
}

void json_record(struct json_out *j, const struct fields *t, const void *record)
{
    json_object(j);
    for (size_t i = 0; i < t->n; i++) {
        if (field_is_zero(&t->field[i], record))
            continue;
        json_key(j, t->field[i].name);
        json_field(j, &t->field[i], record);
    }
    json_object_end(j);
}

bool json_to_record(const char *text, size_t len, const struct fields *t, void *record,
                    struct arena *a, struct err *ret_err)
{
    struct record_reader r = {.text_max = LIMIT_TEXT_BYTES, .blobs_are_texts = true};
    json_in_begin(&r.in, text, len, a, ret_err);
    return json_in_open(&r.in, '{') && record_read(&r, t, record, true, NULL, NULL) &&
           json_in_end(&r.in);
}
