/* Columns: the single description of everything a listing can show, and the three ways Slurm's
 * users ask for them:
 *   short   "%.18i %9P text"          squeue -o, sinfo -o
 *   long    "JobID:10,State:.12,…"    squeue -O, sinfo -O
 *   fields  "JobID,State%20,user%-8"  sacct --format, sstat, sacctmgr
 * A format becomes a list of items; a row is printed item by item. */
#ifndef REMUDA_CLI_TABLE_COLUMNS_H
#define REMUDA_CLI_TABLE_COLUMNS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a cell may need to know besides its record; fixed for one listing. */
struct cell_env {
    int64_t now_us;          /* the same for all rows of a listing */
    const char *time_format; /* SLURM_TIME_FORMAT, or NULL */
    char unit;               /* --units: one of KMGTP, 0 = as it fits */
    bool noconvert;          /* sizes as they are: 2048M and not 2G */
    size_t bits_shown;       /* SLURM_BITSTR_LEN: characters of an array's indexes; 0 = all */
    const char *cluster;     /* name of the cluster; NULL = nobody asked */
    const void *more;        /* the command's own */
};

/* In tables of the fields format alone the letter of a column says what becomes of a cell that has
 * no room, as in Slurm; 0: it is a text, and ends in '+'. */
#define CUT_PLAIN    'm' /* a moment: what has room */
#define CUT_NEVER    'n' /* a number or a span of time would lie: it is whole */
#define CUT_EXPONENT 'e' /* a fraction: with an exponent, and as many digits as have room */

struct column {
    /* Long name, as in -O or --format; letter case of the header line of sacct. */
    const char *name;
    char letter;        /* of the short format; 0 = none; CUT_… */
    const char *header; /* of short and long formats; NULL = name */
    int width;          /* of the fields format; negative = left-justified; 0 = 20 */
    const char *fields; /* record fields it reads, comma-separated */
    /* appends the cell, not cut */
    void (*print)(const struct cell_env *env, const void *record, struct str *out);
};

struct column_table {
    const struct column *column;
    size_t n;           /* of `column` */
    const char *record; /* "job", for messages */
    /* Letters of columns whose spans of time are never cut to a width on the right, as in Slurm,
     * though words there are; NULL = none. */
    const char *uncut;
};

struct format_item {
    const struct column *column; /* NULL = there is none such: the suffix is all */
    int width;                   /* 0 = whatever is needed */
    bool right;                  /* right-justified */
    bool uncut;                  /* a span of time too long is printed whole, if on the right */
    bool mark_cut;               /* of the fields format: cut as its column says (sacct) */
    const char *suffix;          /* printed after the cell */
};

struct format {
    const char *prefix; /* printed before each row, the header too */
    /* Letters and names that are none, a sentence a line; NULL = all are known. */
    const char *unknown;
    VEC(struct format_item) item; /* in the order they are shown */
};
void format_done(struct format *f); /* columns; texts are the arena's */

/* In any letter case; NULL = there is none. */
const struct column *column_by_name(const struct column_table *t, const char *name);

/* "%[[.]size]type[suffix]…", with the rules of spec/clients.md edges 1 and 2. An unknown letter is
 * printed as it stands, as Slurm does, and named in ret->unknown. */
void format_parse_short(const struct column_table *t, const char *text, struct arena *a,
                        struct format *ret);
/* "name[:[.][size][suffix]],…", edge 3; names in any letter case; a trailing comma is fine. Unknown
 * names: ret->unknown. */
void format_parse_long(const struct column_table *t, const char *text, struct arena *a,
                       struct format *ret);
/* "name[%[-]size],…": any letter case, prefixes resolve to the first column of the table that
 * starts so. Adds to *f. */
bool format_parse_fields(const struct column_table *t, const char *text, struct arena *a,
                         struct format *f, struct err *ret_err);

/* Names of the record fields that the items read, comma-separated, each once; what a query asks
 * for. */
const char *format_fields(const struct format *f, const char *always, struct arena *a);

/* Appends the line of headers, each as wide as its column. */
void format_print_header(const struct format *f, struct str *out);
/* With its line break; a cell is cut to its width, but a number that would lie is not. */
void format_print_row(const struct format *f, const struct cell_env *env, const void *record,
                      struct str *out);
/* Pads or cuts a text to an item's width; appended. */
void format_cell(const struct format_item *item, const char *text, size_t len, struct str *out);

/* ---- cells that many columns share ---- */

/* if_empty stands for NULL and "". */
void cell_text(const char *text, const char *if_empty, struct str *out);
/* Local time in the form that SLURM_TIME_FORMAT asks for; 0 prints if_zero ("Unknown", "N/A"). */
void cell_time(const struct cell_env *env, int64_t us, const char *if_zero, struct str *out);
/* The same as a text in the arena. */
const char *cell_time_text(const struct cell_env *env, int64_t us, const char *if_zero,
                           struct arena *a);

/* The row with its cells as they are, between delimiters (NULL = "|"); `trailing`: one after the
 * last, too. NULL record = the names. */
void format_print_parsable(const struct format *f, const struct cell_env *env, const void *record,
                           const char *delimiter, bool trailing, struct str *out);
/* The header and a line of dashes below it. */
void format_print_ruled_header(const struct format *f, struct str *out);

#endif
