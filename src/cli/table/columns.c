/* A short format is split at each '%', as Slurm splits it: what stands before the first '%' is
 * printed on every line, "%%" is the same as "%", and the text after a letter up to the next '%' is
 * its suffix. */
#include "cli/table/columns.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/list.h"
#include "cli/program/localtime.h"
#include "wire/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LONG_WIDTH 20

void format_done(struct format *f)
{
    vec_done(&f->item);
    f->prefix = NULL;
}

/* ---- reading ---- */

static const struct column *column_by_letter(const struct column_table *t, char letter)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->column[i].letter == letter)
            return &t->column[i];
    return NULL;
}

const struct column *column_by_name(const struct column_table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (text_is_nocase(t->column[i].name, name))
            return &t->column[i];
    return NULL;
}

static const struct column *column_by_prefix(const struct column_table *t, const char *name)
{
    const struct column *exact = column_by_name(t, name);
    for (size_t i = 0; !exact && *name && i < t->n; i++)
        if (text_starts_nocase(t->column[i].name, name))
            return &t->column[i];
    return exact;
}

static const char *column_nearest(const struct column_table *t, const char *name)
{
    const char **names = xcalloc(t->n, sizeof *names);
    for (size_t i = 0; i < t->n; i++)
        names[i] = t->column[i].name;
    const char *near = text_nearest(name, names, t->n);
    free(names);
    return near;
}

static bool column_unknown(const struct column_table *t, const char *name, struct err *ret_err)
{
    const char *near = column_nearest(t, name);
    if (near)
        err_set(ret_err, ERR_INVALID, "Invalid field requested: \"%s\"; did you mean \"%s\"?", name,
                near);
    else
        err_set(ret_err, ERR_INVALID, "Invalid field requested: \"%s\"", name);
    return false;
}

static bool column_uncut(const struct column_table *t, const struct column *c)
{
    return c && c->letter && t->uncut && strchr(t->uncut, c->letter);
}

static void unknown_add(struct format *f, const char *line, struct arena *a)
{
    f->unknown = f->unknown ? arena_printf(a, "%s\n%s", f->unknown, line) : line;
}

/* Lower-case letters, then capitals, as Slurm's %all. */
static int letter_compare(const void *pa, const void *pb)
{
    const struct format_item *a = pa, *b = pb;
    int la = a->column->letter ^ 0x20, lb = b->column->letter ^ 0x20;
    return (la > lb) - (la < lb);
}

static void all_add(const struct column_table *t, struct format *f)
{
    size_t start = f->item.n;
    for (size_t i = 0; i < t->n; i++) {
        if (!t->column[i].letter)
            continue;
        struct format_item item = {.column = &t->column[i], .suffix = "|"};
        vec_push(&f->item, item);
    }
    if (f->item.n == start)
        return;
    qsort(f->item.v + start, f->item.n - start, sizeof f->item.v[0], letter_compare);
    f->item.v[f->item.n - 1].suffix = "";
}

#define WIDEST 100000

/* The digits at *at, which moves on; 0 = none, or too many, which is said. */
static int width_take(const char **at, const char *piece, struct format *f, struct arena *a)
{
    int width = 0;
    for (; isdigit((unsigned char)**at); (*at)++)
        if (width <= WIDEST)
            width = width * 10 + (**at - '0');
    if (width <= WIDEST)
        return width;
    unknown_add(f, arena_printf(a, "%s: no column is wider than %d", piece, WIDEST), a);
    return 0;
}

/* One piece after a '%': [[.]size]letter[suffix] */
static void short_piece(const struct column_table *t, const char *piece, struct arena *a,
                        struct format *f)
{
    struct format_item item = {0};
    const char *at = piece;
    if (*at == '.') {
        item.right = true;
        at++;
    }
    item.width = width_take(&at, piece, f, a);
    if (text_starts(at, "all")) {
        all_add(t, f);
        return;
    }
    item.column = *at ? column_by_letter(t, *at) : NULL;
    item.uncut = column_uncut(t, item.column);
    if (item.column) {
        item.suffix = arena_strdup(a, at + 1);
    } else {
        unknown_add(
            f, arena_printf(a, "Invalid %s format specification: %c", t->record, *at ? *at : '%'),
            a);
        item.suffix = arena_printf(a, "%%%s", piece);
    }
    vec_push(&f->item, item);
}

void format_parse_short(const struct column_table *t, const char *text, struct arena *a,
                        struct format *ret)
{
    *ret = (struct format){0};
    const char *first = strchr(text, '%');
    ret->prefix = arena_strndup(a, text, first ? (size_t)(first - text) : strlen(text));
    for (const char *at = first; at && *at;) {
        at += strspn(at, "%");
        size_t len = strcspn(at, "%");
        if (len)
            short_piece(t, arena_strndup(a, at, len), a, ret);
        at += len;
    }
}

/* name[:[.][size][suffix]]; as in other formats a size below 0 is to the left. */
static void long_piece(const struct column_table *t, const char *piece, struct arena *a,
                       struct format *f)
{
    const char *colon = strchr(piece, ':');
    const char *name = colon ? arena_strndup(a, piece, (size_t)(colon - piece)) : piece;
    struct format_item item = {
        .column = column_by_name(t, name), .width = LONG_WIDTH, .suffix = ""};
    item.uncut = column_uncut(t, item.column);
    if (!item.column) {
        const char *near = column_nearest(t, name);
        const char *record = text_is(t->record, "node") ? "job" : t->record; /* sinfo's own word */
        unknown_add(f, arena_printf(a, "Invalid %s format specification: %s", record, name), a);
        if (near)
            unknown_add(f, arena_printf(a, "did you mean %s?", near), a);
    }
    if (colon) {
        const char *at = colon + 1;
        if (*at == '.') {
            item.right = true;
            at++;
        }
        at += at[strspn(at, " ")] && isdigit((unsigned char)at[strspn(at, " ")]) ? strspn(at, " ")
                                                                                 : 0;
        bool sign = (*at == '-' || *at == '+') && isdigit((unsigned char)at[1]);
        item.right &= !sign || *at != '-';
        at += sign;
        item.width = width_take(&at, piece, f, a);
        item.suffix = at;
    }
    vec_push(&f->item, item);
}

void format_parse_long(const struct column_table *t, const char *text, struct arena *a,
                       struct format *ret)
{
    struct span rest = span_of(text), piece;
    *ret = (struct format){0};
    while (span_next(&rest, ',', &piece))
        if (piece.len)
            long_piece(t, arena_strndup(a, piece.data, piece.len), a, ret);
}

bool format_parse_fields(const struct column_table *t, const char *text, struct arena *a,
                         struct format *f, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        const char *word = arena_strndup(a, piece.data, piece.len);
        const char *percent = strchr(word, '%');
        const char *name = percent ? arena_strndup(a, word, (size_t)(percent - word)) : word;
        const struct column *column = column_by_prefix(t, name);
        int64_t width = 0;
        if (!column)
            return column_unknown(t, name, ret_err);
        width = column->width ? column->width : LONG_WIDTH;
        if (percent && percent[1] && !text_to_i64(percent + 1, -WIDEST, WIDEST, &width))
            return err_set(ret_err, ERR_INVALID,
                           "\"%s\": after %% comes a width, as in %s%%20 or %s%%-20", word, name,
                           name);
        struct format_item item = {.column = column,
                                   .width = (int)(width < 0 ? -width : width),
                                   .right = width > 0,
                                   .mark_cut = true,
                                   .suffix = " "};
        vec_push(&f->item, item);
    }
    return true;
}

/* ---- what to ask for ---- */

static void fields_add(struct str *list, const char *names)
{
    struct span rest = span_of(names), piece;
    while (names && span_next(&rest, ',', &piece)) {
        if (piece.len && !list_has_span(str_text(list), piece))
            list_addf(list, "%.*s", (int)piece.len, piece.data);
    }
}

const char *format_fields(const struct format *f, const char *always, struct arena *a)
{
    struct str list = STR_INIT;
    fields_add(&list, always);
    for (size_t i = 0; i < f->item.n; i++)
        if (f->item.v[i].column)
            fields_add(&list, f->item.v[i].column->fields);
    const char *text = arena_strdup(a, str_text(&list));
    str_done(&list);
    return text;
}

/* ---- printing ---- */

static void pad(struct str *out, size_t count)
{
    static const char blanks[] = "                                                                ";
    for (; count > sizeof blanks - 1; count -= sizeof blanks - 1)
        str_addn(out, blanks, sizeof blanks - 1);
    str_addn(out, blanks, count);
}

void format_cell(const struct format_item *item, const char *text, size_t len, struct str *out)
{
    ASSERT(item->width >= 0);
    size_t want = (size_t)item->width, width = utf8_width(text, len);
    if (!want || width == want) {
        str_addn(out, text, len);
    } else if (width > want) {
        bool mark = item->mark_cut && want > 0;
        str_addn(out, text, utf8_bytes(text, len, want - mark));
        if (mark)
            str_addc(out, '+');
    } else {
        if (item->right)
            pad(out, want - width);
        str_addn(out, text, len);
        if (!item->right)
            pad(out, want - width);
    }
}

void format_print_header(const struct format *f, struct str *out)
{
    str_add(out, f->prefix);
    for (size_t i = 0; i < f->item.n; i++) {
        const struct column *c = f->item.v[i].column;
        const char *header = !c ? "" : c->header ? c->header : c->name;
        struct format_item plain = f->item.v[i];
        plain.mark_cut = false; /* cells alone are marked where they are cut */
        if (c)
            format_cell(&plain, header, strlen(header), out);
        str_add(out, f->item.v[i].suffix);
    }
    str_addc(out, '\n');
}

/* A fraction with an exponent: six digits behind the point, or fewer where they have room. */
static void exponent_add(const char *text, int width, struct str *out)
{
    char said[64];
    int digits = width < 6 ? 6 : width - 6;
    snprintf(said, sizeof said, "%.*e", digits, strtod(text, NULL));
    str_add(out, said);
}

/* A cell of the fields format that has no room, where it is not simply cut and marked. False: it
 * is. */
static bool cell_kept(const struct format_item *item, const struct str *cell, struct str *out)
{
    bool number = isdigit((unsigned char)*str_text(cell)) || *str_text(cell) == '-';
    char cut = item->column->letter;
    if (!item->mark_cut || !cut || utf8_width(cell->data, cell->len) <= (size_t)item->width)
        return false;
    if (cut == CUT_PLAIN)
        str_addn(out, str_text(cell), utf8_bytes(str_text(cell), cell->len, (size_t)item->width));
    else if (!number)
        return false;
    else if (cut == CUT_EXPONENT)
        exponent_add(str_text(cell), item->width, out);
    else
        str_addn(out, str_text(cell), cell->len);
    return true;
}

void format_print_row(const struct format *f, const struct cell_env *env, const void *record,
                      struct str *out)
{
    struct str cell = STR_INIT;
    str_add(out, f->prefix);
    for (size_t i = 0; i < f->item.n; i++) {
        const struct format_item *item = &f->item.v[i];
        if (item->column && item->width) {
            str_clear(&cell);
            item->column->print(env, record, &cell);
            bool whole = item->uncut && item->right && isdigit((unsigned char)*str_text(&cell));
            if (whole && cell.len > (size_t)item->width)
                str_addn(out, str_text(&cell), cell.len);
            else if (!cell_kept(item, &cell, out))
                format_cell(item, str_text(&cell), cell.len, out);
        } else if (item->column) {
            item->column->print(env, record, out);
        }
        str_add(out, item->suffix);
    }
    str_addc(out, '\n');
    str_done(&cell);
}

void cell_text(const char *text, const char *if_empty, struct str *out)
{
    str_add(out, text_empty(text) ? if_empty : text);
}

void cell_time(const struct cell_env *env, int64_t us, const char *if_zero, struct str *out)
{
    if (us)
        civil_format(us, env->now_us, env->time_format, &civil_local, out);
    else
        str_add(out, if_zero);
}

const char *cell_time_text(const struct cell_env *env, int64_t us, const char *if_zero,
                           struct arena *a)
{
    struct str s = STR_INIT;
    cell_time(env, us, if_zero, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

void format_print_parsable(const struct format *f, const struct cell_env *env, const void *record,
                           const char *delimiter, bool trailing, struct str *out)
{
    delimiter = delimiter ? delimiter : "|";
    for (size_t i = 0; i < f->item.n; i++) {
        const struct column *c = f->item.v[i].column;
        if (i)
            str_add(out, delimiter);
        if (record)
            c->print(env, record, out);
        else
            str_add(out, c->name);
    }
    if (trailing)
        str_add(out, delimiter);
    str_addc(out, '\n');
}

void format_print_ruled_header(const struct format *f, struct str *out)
{
    format_print_header(f, out);
    for (size_t i = 0; i < f->item.n; i++) {
        for (int w = 0; w < f->item.v[i].width; w++)
            str_addc(out, '-');
        str_addc(out, ' ');
    }
    str_addc(out, '\n');
}
