/* bjobs -o, bhosts -o, bqueues -o: fields by name. A bare name is as wide as what stands in it;
 * "name:" has the field's own width, "name:W" cuts at W, and "-" before the number aligns to the
 * right. Behind another colon stands the unit of a size. */
#include "cli/lsf/format.h"
#include "wire/utf8.h"

#include <string.h>

/* ---- parsing ---- */

static const struct lsf_field *field_find(const struct lsf_fields *t, struct span name)
{
    for (size_t i = 0; i < t->n; i++) {
        struct span rest = span_of(t->field[i].aliases), alias;
        if (span_is_nocase(name, t->field[i].name))
            return &t->field[i];
        while (span_next(&rest, ' ', &alias))
            if (alias.len && alias.len == name.len &&
                strncasecmp(alias.data, name.data, name.len) == 0)
                return &t->field[i];
    }
    return NULL;
}

/* "G", "GB"; "S" is the unit that fits. */
static bool unit_parse(struct span column, struct span text, struct lsf_column *ret, struct err *e)
{
    static const char units[] = "KMGTPES";
    char letter = text.data[0] >= 'a' ? (char)(text.data[0] - 32) : text.data[0];
    bool bytes = text.len == 2 && (text.data[1] == 'B' || text.data[1] == 'b');
    if (!ret->field->sized)
        return err_set(e, ERR_VALUE,
                       "<%.*s> in the format string asks for a unit, which only sizes have.",
                       (int)column.len, column.data);
    if (!strchr(units, letter) || (text.len > 1 && !bytes))
        return err_set(e, ERR_VALUE,
                       "<%.*s> in the format string is not a valid unit: K, M, G, T, P, E and S "
                       "are.",
                       (int)column.len, column.data);
    ret->unit = letter == 'S' ? 0 : letter;
    return true;
}

static bool column_parse(const struct lsf_fields *t, struct span text, struct arena *a,
                         struct lsf_column *ret, struct err *e)
{
    struct span rest = text, name, width;
    span_next(&rest, ':', &name);
    bool sized = name.len < text.len;
    *ret = (struct lsf_column){.field = field_find(t, name)};
    if (!ret->field)
        return err_set(e, ERR_VALUE, "<%.*s> in the format string is not a valid field name.",
                       (int)name.len, name.data);
    if (!sized)
        return true;
    int64_t n;
    ret->width = ret->field->width;
    bool has_width = span_next(&rest, ':', &width);
    if (rest.len && !unit_parse(text, rest, ret, e))
        return false;
    if (!has_width || !width.len)
        return true;
    ret->right = width.data[0] == '-';
    const char *digits = arena_strndup(a, width.data + ret->right, width.len - ret->right);
    if (*digits && !text_to_i64(digits, 1, 4096, &n))
        return err_set(e, ERR_VALUE, "<%.*s> in the format string is not a valid width.",
                       (int)text.len, text.data);
    ret->width = *digits ? (int)n : ret->field->width;
    return true;
}

/* Off the end: delimiter='c' or delimiter="c". */
static struct span delimiter_take(struct span text, struct arena *a, struct lsf_format *ret)
{
    const char *at = memmem(text.data, text.len, "delimiter=", 10);
    if (!at)
        return text;
    struct span value = {at + 10, text.len - (size_t)(at + 10 - text.data)};
    size_t quote = value.len && strchr("'\"", value.data[0]) ? 1 : 0;
    size_t end = quote;
    while (end < value.len && (quote ? value.data[end] != value.data[0] : value.data[end] != ' '))
        end++;
    ret->delimiter = arena_strndup(a, value.data + quote, end - quote);
    return (struct span){text.data, (size_t)(at - text.data)};
}

bool lsf_format_parse(const struct lsf_fields *t, const char *text, struct arena *a,
                      struct lsf_format *ret, struct err *ret_err)
{
    struct span rest = delimiter_take(span_of(text), a, ret), one;
    while (span_next(&rest, ' ', &one)) {
        struct lsf_column column;
        one = span_trim(one);
        if (!one.len)
            continue;
        if (!column_parse(t, one, a, &column, ret_err))
            return false;
        vec_push(&ret->column, column);
    }
    return ret->column.n || err_set(ret_err, ERR_VALUE, "No field is given in the format string.");
}

void lsf_format_done(struct lsf_format *f)
{
    vec_done(&f->column);
}

/* ---- printing ---- */

static void cell_add(const struct lsf_format *f, size_t i, const char *text, bool last,
                     struct str *out)
{
    const struct lsf_column *c = &f->column.v[i];
    size_t len = strlen(text), width = (size_t)c->width, all = utf8_width(text, len);
    if (i)
        str_add(out, f->delimiter ? f->delimiter : " ");
    if (f->delimiter || !width) {
        str_add(out, text);
        return;
    }
    if (all > width && c->field->keeps_end) {
        str_addf(out, "*%s", text + utf8_bytes(text, len, all - width + 1));
        return;
    }
    int blanks = all < width ? (int)(width - all) : 0;
    str_addf(out, "%*s", c->right ? blanks : 0, "");
    str_addn(out, text, utf8_bytes(text, len, width));
    str_addf(out, "%*s", c->right || last ? 0 : blanks, "");
}

static const char *upper(const char *text, struct arena *a)
{
    char *copy = arena_strdup(a, text);
    for (char *c = copy; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 32);
    return copy;
}

void lsf_format_header(const struct lsf_format *f, struct str *out)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < f->column.n; i++)
        cell_add(f, i, upper(f->column.v[i].field->name, a), i + 1 == f->column.n, out);
    str_addc(out, '\n');
    arena_free(a);
}

static const char *value_of(const struct lsf_column *c, const struct lsf_row *r, struct arena *a)
{
    struct lsf_row in_unit = *r;
    in_unit.unit = c->unit;
    return c->field->value(&in_unit, a);
}

void lsf_format_row(const struct lsf_format *f, const struct lsf_row *r, struct arena *a,
                    struct str *out)
{
    for (size_t i = 0; i < f->column.n; i++) {
        const char *value = value_of(&f->column.v[i], r, a);
        cell_add(f, i, text_empty(value) ? "-" : value, i + 1 == f->column.n, out);
    }
    str_addc(out, '\n');
}

static void json_text(const char *text, struct str *out)
{
    str_addc(out, '"');
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < 32)
            str_addf(out, "\\u%04x", c);
        else
            str_addc(out, *text);
    }
    str_addc(out, '"');
}

static void json_sep(struct lsf_json *t)
{
    str_add(t->out, t->n++ ? ",\n" : "");
}

void lsf_json_begin(struct lsf_json *t, const char *command, const char *counted, size_t n)
{
    str_addf(t->out, "{\n  \"COMMAND\":\"%s\",\n  \"%s\":%zu,\n  \"RECORDS\":[\n", command, counted,
             n);
}

void lsf_json_row(struct lsf_json *t, const struct lsf_format *f, const struct lsf_row *r,
                  struct arena *a)
{
    json_sep(t);
    str_add(t->out, "    {\n");
    for (size_t i = 0; i < f->column.n; i++) {
        const char *value = value_of(&f->column.v[i], r, a);
        str_add(t->out, "      ");
        json_text(upper(f->column.v[i].field->name, a), t->out);
        str_addc(t->out, ':');
        json_text(text_is(value, "-") ? "" : value, t->out);
        str_add(t->out, i + 1 < f->column.n ? ",\n" : "\n");
    }
    str_add(t->out, "    }");
}

void lsf_json_missing(struct lsf_json *t, const char *id, struct arena *a)
{
    json_sep(t);
    str_add(t->out, "    {\n      \"JOBID\":");
    json_text(id, t->out);
    str_add(t->out, ",\n      \"ERROR\":");
    json_text(arena_printf(a, "Job <%s> is not found", id), t->out);
    str_add(t->out, "\n    }");
}

void lsf_json_end(struct lsf_json *t)
{
    str_add(t->out, t->n ? "\n  ]\n}\n" : "  ]\n}\n");
}
