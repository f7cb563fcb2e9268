/* Inside cli/lsf/: what bjobs shows in formats of the user's own. */
#ifndef REMUDA_CLI_LSF_BJOBS_H
#define REMUDA_CLI_LSF_BJOBS_H

#include "cli/lsf/jobs.h"

struct lsf_field {
    const char *name, *aliases;                                 /* aliases: parted by blanks */
    int width;                                                  /* its own */
    const char *(*value)(const struct job *j, struct arena *a); /* NULL or "-": none */
    bool keeps_end; /* too long: its end is shown, behind '*' */
};
/* By name or alias, in any letter case; NULL if there is none. */
const struct lsf_field *lsf_field_find(struct span name);

/* A field of -o, as asked for. */
struct lsf_column {
    const struct lsf_field *field;
    int width;  /* 0 = as wide as what is in it */
    bool right; /* aligned */
};

struct lsf_format {
    VEC(struct lsf_column) column;
    const char *delimiter; /* NULL = a blank, and columns are filled */
};

/* "jobid:8 stat: job_name:-20 delimiter=','". ERR_VALUE in LSF's words. */
bool lsf_format_parse(const char *text, struct arena *a, struct lsf_format *ret,
                      struct err *ret_err);
void lsf_format_done(struct lsf_format *f);
void lsf_format_header(const struct lsf_format *f, struct str *out);
void lsf_format_row(const struct lsf_format *f, const struct job *j, struct arena *a,
                    struct str *out);
/* All of them as JSON; `missing`: ids that no job has. */
void lsf_format_json(const struct lsf_format *f, const struct lsf_job_list *l, struct arena *a,
                     struct str *out);

/* bjobs -l: one job, with the line of dashes between two. */
void lsf_long_print(const struct job *j, struct arena *a, struct str *out);

#endif
