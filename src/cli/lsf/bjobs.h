/* Inside cli/lsf/: everything about one job, for bjobs and bhist. */
#ifndef REMUDA_CLI_LSF_BJOBS_H
#define REMUDA_CLI_LSF_BJOBS_H

#include "cli/lsf/format.h"
#include "cli/lsf/jobs.h"
#include "cli/reports/efficiency.h"

/* The fields of bjobs -o. */
extern const struct lsf_fields lsf_job_fields;

/* "2.5 Gbytes" */
const char *lsf_size(int64_t bytes, struct arena *a);
/* The same in a unit of K, M, G, T, P, E: "2560.0 Mbytes"; 0 chooses. */
const char *lsf_size_in(int64_t bytes, char unit, struct arena *a);
/* What the job asks for as -R has it: "select[gpu32gb] rusage[mem=4096.00] span[hosts=1]"; NULL =
 * nothing. */
const char *lsf_resources_text(const struct job *j, struct arena *a);

/* Paragraphs of bjobs -l, bhist -l and bacct -l. */
struct lsf_long {
    const struct past_jobs *past; /* what steps used, for the parts that tell it */
    bool unbroken;                /* -UF */
    struct arena *a;              /* of the texts */
    struct str *out;              /* appended to */
};
/* bjobs -l: one job. */
void lsf_long_print(const struct lsf_long *l, const struct job *j);
/* "Tue May  6 15:45:10" */
const char *lsf_date(int64_t us, struct arena *a);
/* Appends `text`, broken after 79 columns and indented from its second line on; with `unbroken` as
 * one line. */
void lsf_long_paragraph(const struct lsf_long *l, const char *text);
/* Its parts. */
void lsf_long_head(const struct lsf_long *l, const struct job *j);
/* When and from where it was submitted, with its files, begin, dependency, tasks and resources. */
void lsf_long_submitted(const struct lsf_long *l, const struct job *j);
/* How it ended, with the CPU time in seconds; nothing of one that is not over. */
void lsf_long_ended(const struct lsf_long *l, const struct job *j);

#endif
