#include "base/duration.h"
#include "base/plain.h"
#include "cli/plot/picture.h"
#include "cli/program/localtime.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV ---- */

struct row_at {
    int64_t at_ms;
    const struct series_source_key *key;
};

struct picture_rows {
    const struct curves *c;
    enum series_source source;
    VEC(struct row_at) row;
    VEC(const struct series_value *) column;
    VEC(const struct curve *) curve; /* that are not empty, by value and whose they are */
};

static int by_value(const struct series_value *x, const struct series_value *y)
{
    return (x > y) - (x < y);
}

static int by_curve(const void *va, const void *vb)
{
    const struct curve *x = *(const struct curve *const *)va, *y = *(const struct curve *const *)vb;
    int order = by_value(x->value, y->value);
    return order ? order : series_key_compare(&x->key, &y->key);
}

static int by_row(const void *va, const void *vb)
{
    const struct row_at *x = va, *y = vb;
    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms ? -1 : 1;
    return series_key_compare(x->key, y->key);
}

static bool takes(const struct picture_rows *r, const struct curve *c)
{
    return c->value->source == r->source && c->value->id != SERIES_CORE &&
           c->value->id != SERIES_TASK_CPU;
}

static void rows_find(struct picture_rows *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->c->v.n; i++) {
        const struct curve *c = r->c->v.v[i];
        for (size_t k = 0; takes(r, c) && k < c->at.n; k++)
            vec_push(&r->row, ((struct row_at){c->at.v[k].at_ms, &c->key}));
    }
    if (r->row.n)
        qsort(r->row.v, r->row.n, sizeof *r->row.v, by_row);
    for (size_t i = 0; i < r->row.n; i++)
        if (n == 0 || by_row(&r->row.v[i], &r->row.v[n - 1]) != 0)
            r->row.v[n++] = r->row.v[i];
    r->row.n = n;
}

static void columns_find(struct picture_rows *r)
{
    for (size_t i = 0; i < series_values_n; i++)
        for (size_t k = 0; k < r->c->v.n; k++)
            if (takes(r, r->c->v.v[k]) && r->c->v.v[k]->value == &series_values[i]) {
                vec_push(&r->column, &series_values[i]);
                break;
            }
}

static int by_moment(const void *va, const void *vb)
{
    const struct moment *x = va, *y = vb;
    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

static const struct moment *moment_of(const struct picture_rows *r, const struct row_at *row,
                                      const struct series_value *v)
{
    const struct moment wanted = {.at_ms = row->at_ms};
    const struct curve like = {.value = v, .key = *row->key}, *key = &like;
    const struct curve *const *c =
        r->curve.n ? bsearch(&key, r->curve.v, r->curve.n, sizeof r->curve.v[0], by_curve) : NULL;
    return c ? bsearch(&wanted, (*c)->at.v, (*c)->at.n, sizeof *(*c)->at.v, by_moment) : NULL;
}

static void curves_find(struct picture_rows *r)
{
    for (size_t i = 0; i < r->c->v.n; i++)
        if (takes(r, r->c->v.v[i]) && r->c->v.v[i]->at.n)
            vec_push(&r->curve, r->c->v.v[i]);
    if (r->curve.n)
        qsort(r->curve.v, r->curve.n, sizeof r->curve.v[0], by_curve);
}

static void cell_write(const struct series_value *v, const struct moment *m, bool units,
                       struct str *out)
{
    bool bits = v->join == SERIES_BITS;
    const char *unit = units && *v->unit && v->unit[0] != 'C' && !bits ? v->unit : "";
    if (!m)
        str_add(out, ", [N/A]");
    else if (bits)
        str_addf(out, ", 0x%016llX", (unsigned long long)m->v);
    else
        str_addf(out, ", %.*f%s%s",
                 v->id == SERIES_GPU_POWER ? 2
                 : v->scale > 1            ? 1
                                           : 0,
                 m->v, *unit ? " " : "", unit);
}

/* "gpu7, 0, a100": names have no comma in them. */
static void source_write(const struct series_source_key *key, enum series_source source,
                         struct str *out)
{
    struct str name = STR_INIT;
    str_add(out, ", ");
    str_add_plain(out, key->node);
    str_add(out, ", ");
    if (source == SERIES_DEVICE) {
        str_addf(out, "%d, ", key->device);
        str_add_plain(&name, key->name);
        str_addn(out, name.data ? name.data : "", strcspn(str_text(&name), " ,"));
    } else {
        step_label(key->step_id, out);
    }
    str_done(&name);
}

void picture_csv(const struct curves *c, bool units, struct str *out)
{
    struct picture_rows r = {.c = c, .source = SERIES_STEP};
    for (size_t i = 0; i < c->v.n; i++)
        if (c->v.v[i]->value->source == SERIES_DEVICE)
            r.source = SERIES_DEVICE;
    rows_find(&r);
    columns_find(&r);
    curves_find(&r);
    str_addf(out, "timestamp, node, %s", r.source == SERIES_DEVICE ? "index, name" : "step");
    for (size_t i = 0; i < r.column.n; i++)
        str_addf(out, ", %s", r.column.v[i]->title);
    str_addc(out, '\n');
    for (size_t i = 0; i < r.row.n; i++) {
        const struct row_at *row = &r.row.v[i];
        civil_format(row->at_ms * 1000, row->at_ms * 1000, "%Y/%m/%d %H:%M:%S", &civil_local, out);
        str_addf(out, ".%03d", (int)(row->at_ms % 1000));
        source_write(row->key, r.source, out);
        for (size_t k = 0; k < r.column.n; k++)
            cell_write(r.column.v[k], moment_of(&r, row, r.column.v[k]), units, out);
        str_addc(out, '\n');
    }
    vec_done(&r.row);
    vec_done(&r.column);
    vec_done(&r.curve);
}

/* ---- JSON ---- */

static void curve_json(struct json_out *o, const struct curve *c)
{
    struct str step = STR_INIT;
    json_object(o);
    json_key_text(o, "value", c->value->word);
    json_key_text(o, "unit", c->value->unit);
    json_key_text(o, "node", c->key.node);
    if (c->value->source == SERIES_DEVICE) {
        json_key_i64(o, "gpu", c->key.device);
        json_key_text(o, "name", c->key.name);
    } else if (!c->of_job) {
        step_label(c->key.step_id, &step);
        json_key_text(o, "step", str_text(&step));
    }
    if (c->value->id == SERIES_CORE)
        json_key_i64(o, "cpu", c->index);
    if (c->value->id == SERIES_TASK_CPU)
        json_key_i64(o, "task", c->index);
    json_key(o, "interval_s");
    json_double(o, (double)c->gap_ms / 1000);
    json_key(o, "samples");
    json_array(o);
    for (size_t i = 0; i < c->at.n; i++) {
        json_array(o);
        json_double(o, (double)c->at.v[i].at_ms / 1000);
        json_double(o, c->at.v[i].v);
        json_array_end(o);
    }
    json_array_end(o);
    json_object_end(o);
    str_done(&step);
}

void picture_json(const struct curves *c, const struct job *j, struct str *out)
{
    struct json_out o;
    json_begin(&o, out, false);
    json_object(&o);
    json_key_i64(&o, "job_id", (int64_t)j->id);
    json_key_i64(&o, "restarts", j->restarts);
    json_key_text(&o, "user", j->user_name);
    json_key_text(&o, "name", j->spec.name);
    json_key_i64(&o, "start", j->start_us / USEC_PER_SEC);
    json_key_i64(&o, "end", j->end_us / USEC_PER_SEC);
    json_key(&o, "series");
    json_array(&o);
    for (size_t i = 0; i < c->v.n; i++)
        curve_json(&o, c->v.v[i]);
    json_array_end(&o);
    json_object_end(&o);
    str_addc(out, '\n');
}
