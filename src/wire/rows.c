/* Rows are arrays, not objects: the names of the fields are written once a frame. A zero is
 * written as 0, false, null or its name, so that a row always has a value for every column.
 *
 * A value goes straight from the bytes into one record that is used again for each row: 100,000
 * rows cost no more memory than one frame. */
#include "base/vec.h"
#include "wire/frame.h"
#include "wire/frame_out.h"
#include "wire/record.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES ((size_t)256 << 10)

/* ---- writing ---- */

struct rows_column {
    const struct field *f; /* NULL = a field this release does not know */
};

struct rows_writer {
    const struct fields *t;
    struct str *out;
    uint64_t call;
    size_t at;   /* start of the open frame in out */
    size_t rows; /* in the open frame; 0 = none is open */
    size_t n;
    struct rows_column column[];
};

static bool has_column(const struct rows_writer *w, const struct field *f)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->column[i].f == f)
            return true;
    return false;
}

static void add_column(struct rows_writer *w, const struct field *f)
{
    if (f->type != FIELD_BLOB && f->type != FIELD_LIST && !has_column(w, f))
        w->column[w->n++].f = f;
}

static void add_named(struct rows_writer *w, struct span name)
{
    name = span_trim(name);
    for (size_t i = 0; i < w->t->n; i++)
        if (span_is(name, w->t->field[i].name))
            add_column(w, &w->t->field[i]);
}

struct rows_writer *rows_writer_new(const struct fields *t, const char *wanted, uint64_t seq,
                                    struct str *out)
{
    struct rows_writer *w = xcalloc(1, sizeof *w + t->n * sizeof w->column[0]);
    *w = (struct rows_writer){.t = t, .out = out, .call = seq};
    struct span rest = span_of(text_empty(wanted) ? NULL : wanted), name;
    while (span_next(&rest, ',', &name))
        add_named(w, name);
    for (size_t i = 0; text_empty(wanted) && i < t->n; i++)
        add_column(w, &t->field[i]);
    return w;
}

static void open_frame(struct rows_writer *w)
{
    w->at = frame_begin(w->out, "rows", w->call);
    str_add(w->out, ",\"record\":\"");
    str_add(w->out, w->t->name);
    str_add(w->out, "\",\"fields\":[");
    for (size_t i = 0; i < w->n; i++) {
        str_add(w->out, i ? ",\"" : "\"");
        str_add(w->out, w->column[i].f->name);
        str_addc(w->out, '"');
    }
    str_add(w->out, "],\"rows\":[");
}

static void close_frame(struct rows_writer *w)
{
    if (w->rows == 0)
        return;
    str_addn(w->out, "]}", 2);
    frame_end(w->out, w->at, 0);
    w->rows = 0;
}

void rows_writer_add(struct rows_writer *w, const void *record)
{
    if (w->rows++ == 0)
        open_frame(w);
    else
        str_addc(w->out, ',');
    for (size_t i = 0; i < w->n; i++) {
        str_addc(w->out, i ? ',' : '[');
        field_write(w->out, w->column[i].f, record);
    }
    str_add(w->out, w->n ? "]" : "[]");
    if (w->out->len - w->at >= FRAME_BYTES)
        close_frame(w);
}

void rows_writer_end(struct rows_writer *w)
{
    close_frame(w);
    free(w);
}

/* ---- reading ---- */

struct rows_reader {
    struct record_reader r;
    const struct fields *t;
    VEC(struct rows_column) column;
    bool named, listed;    /* "record" came and is ours; "fields" came */
    struct arena *scratch; /* texts of a row, when the caller has no arena */
    void *record;
    void (*row)(void *ctx, const void *record);
    void *ctx;
};

/* Looked for from *at on, where the last one was found: our writer names them in the order of the
 * table. */
static const struct field *column_of(const struct fields *t, struct span name, size_t *at)
{
    for (size_t tried = 0; tried < t->n; tried++) {
        const struct field *f = &t->field[*at];
        *at = *at + 1 < t->n ? *at + 1 : 0;
        if (span_is(name, f->name))
            return f->type == FIELD_BLOB || f->type == FIELD_LIST ? NULL : f;
    }
    return NULL;
}

static bool read_columns(struct rows_reader *rd)
{
    struct json_in *in = &rd->r.in;
    size_t at = 0;
    if (rd->listed)
        return json_in_fail(in, "rows.fields: given twice");
    rd->listed = true;
    if (!json_in_open(in, '['))
        return false;
    for (bool first = true; json_in_more(in, ']', &first);) {
        struct span name;
        if (!json_in_word(in, &name))
            return false;
        vec_push(&rd->column, ((struct rows_column){column_of(rd->t, name, &at)}));
    }
    return !in->failed;
}

static bool read_row(struct rows_reader *rd)
{
    struct json_in *in = &rd->r.in;
    size_t n = 0;
    memset(rd->record, 0, rd->t->size);
    if (!json_in_open(in, '['))
        return false;
    for (bool first = true; json_in_more(in, ']', &first); n++) {
        const struct field *f = n < rd->column.n ? rd->column.v[n].f : NULL;
        if (f && !field_read(&rd->r, f, rd->record))
            return err_prefix(in->err, "%s.%s", rd->t->name, f->name);
        if (!f && !json_in_skip(in))
            return false;
    }
    if (in->failed)
        return false;
    if (n != rd->column.n)
        return json_in_fail(in, "rows: a row of %zu values for %zu fields", n, rd->column.n);
    rd->row(rd->ctx, rd->record);
    if (rd->scratch)
        arena_reset(rd->scratch);
    return true;
}

static bool read_rows(struct rows_reader *rd)
{
    if (!rd->named || !rd->listed)
        return json_in_fail(&rd->r.in, "rows before \"record\" and \"fields\"");
    if (!json_in_open(&rd->r.in, '['))
        return false;
    for (bool first = true; json_in_more(&rd->r.in, ']', &first);)
        if (!read_row(rd))
            return false;
    return !rd->r.in.failed;
}

static bool read_record_name(struct rows_reader *rd)
{
    struct span name;
    if (!json_in_word(&rd->r.in, &name))
        return false;
    rd->named = span_is(name, rd->t->name);
    if (!rd->named)
        return json_in_fail(&rd->r.in, "rows of %.*s where rows of %s were asked for",
                            SPAN_QUOTED(name), rd->t->name);
    return true;
}

static bool read_frame(struct rows_reader *rd)
{
    struct json_in *in = &rd->r.in;
    struct span key;
    if (!json_in_open(in, '{'))
        return false;
    for (bool first = true; json_in_more(in, '}', &first);) {
        if (!json_in_key(in, &key))
            return false;
        bool done = span_is(key, "record")   ? read_record_name(rd)
                    : span_is(key, "fields") ? read_columns(rd)
                    : span_is(key, "rows")   ? read_rows(rd)
                                             : json_in_skip(in);
        if (!done)
            return false;
    }
    return json_in_end(in);
}

bool rows_decode(const struct frame *f, const struct fields *t, struct arena *a,
                 void (*row)(void *ctx, const void *record), void *ctx, struct err *ret_err)
{
    struct rows_reader rd = {.t = t, .row = row, .ctx = ctx, .scratch = a ? NULL : arena_new()};
    rd.r.text_max = SIZE_MAX;
    rd.r.any_number = true;
    rd.record = xcalloc(1, t->size);
    json_in_begin(&rd.r.in, f->json, f->json_len, a ? a : rd.scratch, ret_err);
    bool done = read_frame(&rd);
    vec_done(&rd.column);
    free(rd.record);
    arena_free(rd.scratch);
    return done;
}
