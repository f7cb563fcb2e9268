/* -o of LSF's listings: fields by name, as columns or as JSON. */
#ifndef REMUDA_CLI_LSF_FORMAT_H
#define REMUDA_CLI_LSF_FORMAT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* What a row shows; each listing has its own fields and sets what they read. */
struct lsf_row {
    const struct job *job;
    const struct past_jobs *past; /* NULL = what its steps used is not looked at */
    const void *it;               /* of other listings */
    char unit;                    /* that a size is asked for in: K, M, G, T, P, E; 0 = its own */
};

struct lsf_field {
    const char *name, *aliases;                                     /* aliases: parted by blanks */
    int width;                                                      /* its own */
    const char *(*value)(const struct lsf_row *r, struct arena *a); /* NULL or "-": none */
    bool keeps_end; /* too long: its end is shown, behind '*' */
    bool sized;     /* bytes: it heeds the row's unit */
};

struct lsf_fields {
    const struct lsf_field *field;
    size_t n;
};

/* A field of -o, as asked for. */
struct lsf_column {
    const struct lsf_field *field;
    int width;  /* 0 = as wide as what is in it */
    bool right; /* aligned */
    char unit;  /* as lsf_row has it */
};

struct lsf_format {
    VEC(struct lsf_column) column;
    const char *delimiter; /* NULL = a blank, and columns are filled */
};

/* "jobid:8 stat: job_name:-20 delimiter=','". ERR_VALUE in LSF's words. */
bool lsf_format_parse(const struct lsf_fields *t, const char *text, struct arena *a,
                      struct lsf_format *ret, struct err *ret_err);
/* The columns; their texts are the arena's. */
void lsf_format_done(struct lsf_format *f);
/* One line, with its line break, appended. */
void lsf_format_header(const struct lsf_format *f, struct str *out);
/* An empty value is shown as "-"; the last column is not filled up. */
void lsf_format_row(const struct lsf_format *f, const struct lsf_row *r, struct arena *a,
                    struct str *out);

/* The same rows as JSON: begin, each row, ids that no job has, end. */
struct lsf_json {
    struct str *out; /* appended to */
    size_t n;        /* records so far */
};
/* `counted`: "JOBS", "HOSTS", "QUEUES". */
void lsf_json_begin(struct lsf_json *t, const char *command, const char *counted, size_t n);
/* Keys in capitals; a value that is none is "". */
void lsf_json_row(struct lsf_json *t, const struct lsf_format *f, const struct lsf_row *r,
                  struct arena *a);
/* instead of a row: an id that no job has */
void lsf_json_missing(struct lsf_json *t, const char *id, struct arena *a);
void lsf_json_end(struct lsf_json *t); /* closes what lsf_json_begin opened */

#endif
