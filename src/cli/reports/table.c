/* The tables of sreport. A column of use is as wide as its largest number of seconds. */
#include "base/alloc.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/reports/sreport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* For "(100.00%)", as wide as Slurm has it. */
#define PERCENT_MORE 9
#define SIZE_MORE    7

static bool begins_key(const char *key, size_t least, const char *word)
{
    return key && strlen(word) >= least && text_starts_nocase(key, word);
}

static int column_find(const struct sreport_report *r, const char *word)
{
    const struct report_column *c = r->column;
    for (int i = 0; i < r->ncolumn; i++)
        if (text_is_nocase(c[i].key, word))
            return i;
    for (int i = 0; i < r->ncolumn; i++)
        if (begins_key(c[i].key, c[i].least, word) || begins_key(c[i].also, c[i].also_least, word))
            return i;
    return -1;
}

static int width_asked(const char *text, int otherwise)
{
    int64_t width;
    return text && text_to_i64(text, -1000, 1000, &width) && width ? (int)width : otherwise;
}

static void column_take(struct sreport_report *r, struct span piece)
{
    char word[64], *percent;
    snprintf(word, sizeof word, "%.*s", (int)piece.len, piece.data);
    percent = strchr(word, '%');
    if (percent)
        *percent = '\0';
    int at = column_find(r, word);
    if (at < 0) {
        fprintf(stderr, " Unknown field '%s'\n", word);
        r->s->rc = 1;
    } else if (r->nshown < (int)ARRAY_LEN(r->shown)) {
        r->shown[r->nshown] = at;
        r->width[r->nshown++] = width_asked(percent ? percent + 1 : NULL, r->column[at].width);
    }
}

/* A word that is named twice counts where it stands last. */
static bool named_again(struct span rest, struct span word)
{
    struct span piece;
    while (span_next(&rest, ',', &piece))
        if (piece.len == word.len && strncasecmp(piece.data, word.data, word.len) == 0)
            return true;
    return false;
}

void report_init(struct sreport_report *r, struct sreport *s, const struct report_column *columns,
                 int n, const char *format, const char *standard)
{
    ASSERT(n > 0 && n <= REPORT_CELLS);
    struct span rest = span_of(format ? format : standard), piece;
    *r = (struct sreport_report){.s = s, .column = columns, .ncolumn = n};
    while (span_next(&rest, ',', &piece))
        if (piece.len && !named_again(rest, piece))
            column_take(r, piece);
    if (!r->nshown && !s->rc) /* "format=": Slurm's words of it */
        column_take(r, span_of(""));
}

void report_add(struct sreport_report *r, const struct report_row *row)
{
    vec_push(&r->row, *row);
}

/* ---- cells ---------------------------------------------------------------------------------- */

static double in_unit(const struct sreport *s, int64_t seconds)
{
    static const double per[] = {1, 60, 3600};
    ASSERT((size_t)s->unit < ARRAY_LEN(per));
    return (double)seconds / per[s->unit];
}

static void use_write(const struct sreport *s, const struct report_cell *c, struct str *out)
{
    double percent = c->of ? 100.0 * (double)c->amount / (double)c->of : 0;
    if (!s->value)
        str_addf(out, "%.2f%%", percent);
    else if (s->percent)
        str_addf(out, "%.0f(%.2f%%)", in_unit(s, c->amount), percent);
    else
        str_addf(out, "%.0f", in_unit(s, c->amount));
}

static void cell_write(const struct sreport_report *r, int column, const struct report_row *row,
                       struct str *out)
{
    const struct report_cell *c = &row->cell[column];
    switch (r->column[column].kind) {
    case CELL_TEXT: str_add(out, c->text ? c->text : ""); break;
    case CELL_USE:
    case CELL_SIZE: use_write(r->s, c, out); break;
    case CELL_COUNT: str_addf(out, "%lld", (long long)c->amount); break;
    case CELL_BLANK: break;
    }
}

static int digits(int64_t n)
{
    int count = 1;
    for (; n > 9; n /= 10)
        count++;
    return count;
}

static bool is_use(enum cell_kind kind)
{
    return kind == CELL_USE || kind == CELL_SIZE || kind == CELL_BLANK;
}

static int use_width(const struct sreport_report *r, int column)
{
    const struct report_column *c = &r->column[column];
    bool both = r->s->value && r->s->percent;
    int width = !both ? c->width : c->width + (c->kind == CELL_SIZE ? SIZE_MORE : PERCENT_MORE);
    for (size_t i = 0; i < r->row.n; i++) {
        int need = digits(r->row.v[i].cell[column].amount) + (both ? PERCENT_MORE : 0);
        width = need > width ? need : width;
    }
    return width;
}

/* Letters of UTF-8, not bytes. */
static size_t letters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void padded(const char *text, int width, bool mark, struct str *out)
{
    size_t room = (size_t)abs(width), len = letters(text);
    for (size_t i = len; width > 0 && i < room; i++)
        str_addc(out, ' ');
    size_t keep = len > room && mark ? room - 1 : room, n = 0;
    for (const char *at = text; *at; at++) {
        n += ((unsigned char)*at & 0xc0) != 0x80;
        if (n > keep)
            break;
        str_addc(out, *at);
    }
    if (len > room && mark)
        str_addc(out, '+');
    for (size_t i = len; width < 0 && i < room; i++)
        str_addc(out, ' ');
    str_addc(out, ' ');
}

/* ---- printing ------------------------------------------------------------------------------- */

static void rule(void)
{
    puts("----------------------------------------"
         "----------------------------------------");
}

static void line_end(const struct sreport_report *r, struct str *line)
{
    if (r->s->parsable == 'P' && line->len)
        str_cut(line, line->len - 1);
    puts(str_text(line));
    str_clear(line);
}

static void header_print(const struct sreport_report *r)
{
    struct str line = STR_INIT;
    for (int i = 0; i < r->nshown; i++) {
        const char *header = r->column[r->shown[i]].header;
        if (r->s->parsable)
            str_addf(&line, "%s|", header);
        else
            padded(header, r->width[i], false, &line);
    }
    line_end(r, &line);
    for (int i = 0; i < r->nshown && !r->s->parsable; i++) {
        for (int k = 0; k < abs(r->width[i]); k++)
            str_addc(&line, '-');
        str_addc(&line, ' ');
    }
    if (!r->s->parsable)
        line_end(r, &line);
    str_done(&line);
}

static void row_print(const struct sreport_report *r, const struct report_row *row)
{
    struct str line = STR_INIT, cell = STR_INIT;
    for (int i = 0; i < r->nshown; i++) {
        str_clear(&cell);
        cell_write(r, r->shown[i], row, &cell);
        if (r->s->parsable)
            str_addf(&line, "%s|", str_text(&cell));
        else
            padded(str_text(&cell), r->width[i], true, &line);
    }
    line_end(r, &line);
    str_done(&line);
    str_done(&cell);
}

const char *unit_words(const struct sreport *s)
{
    static const char *const name[] = {"Seconds", "Minutes", "Hours"};
    if (!s->value)
        return "Percentage of Total";
    return s->percent ? arena_printf(s->a, "%s/Percentage of Total", name[s->unit]) : name[s->unit];
}

static void title_print(const struct sreport_report *r, const char *title,
                        const struct sreport_asked *k, bool seconds, const char *unit_line)
{
    struct str from = STR_INIT, to = STR_INIT;
    civil_format_iso(k->from_us, &civil_local, &from);
    civil_format_iso(k->to_us - USEC_PER_SEC, &civil_local, &to);
    rule();
    printf("%s %s - %s", title, str_text(&from), str_text(&to));
    if (seconds)
        printf(" (%lld secs)", (long long)((k->to_us - k->from_us) / USEC_PER_SEC));
    putchar('\n');
    if (unit_line)
        puts(unit_line);
    else if (!r->s->value)
        printf("Usage reported in %s\n", unit_words(r->s));
    else
        printf("Usage reported in %s %s\n", k->one_tres ? "CPU" : "TRES", unit_words(r->s));
    rule();
    str_done(&from);
    str_done(&to);
}

void report_print(struct sreport_report *r, const char *title, const struct sreport_asked *k,
                  bool seconds, const char *unit_line)
{
    if (asked_elsewhere(r->s, k)) {
        program_error("sreport", "clusters: this one is %s; of others nothing is known here",
                      r->s->cluster);
        r->row.n = 0;
    }
    for (int i = 0; i < r->nshown; i++)
        if (is_use(r->column[r->shown[i]].kind))
            r->width[i] = use_width(r, r->shown[i]);
    if (!r->s->noheader) {
        title_print(r, title, k, seconds, unit_line);
        header_print(r);
    }
    for (size_t i = 0; i < r->row.n; i++)
        row_print(r, &r->row.v[i]);
    vec_done(&r->row);
}
