/* The report that LSF writes at the end of a job's output. What is known when the job starts is put
 * together by the node daemon; its shepherd, which knows how it ended, writes the whole. */
#ifndef REMUDA_MODEL_LSF_REPORT_H
#define REMUDA_MODEL_LSF_REPORT_H

#include "base/str.h"
#include "model/env/job_env.h"

#include <stdbool.h>
#include <stdint.h>

/* How it ended. */
struct lsf_report_end {
    /* Local dates as ctime(3) has them, without newline: "Sat Feb  5 22:03:10 2022". */
    const char *submitted, *started, *terminated;
    int64_t submit_us, start_us, end_us; /* wall clock */
    int32_t status;                      /* wait status of the script */
    const char *term;   /* "TERM_OWNER: job killed by owner."; NULL = it ended by itself */
    int64_t cpu_us;     /* CPU time of all its processes */
    int64_t max_bytes;  /* largest resident set; 0 = not known */
    int64_t mem_mib;    /* memory it had here; 0 = not known */
    struct span script; /* as submitted */
};

/* What is known at the start, as lines "name value"; appended. `e` as for job_env_batch. */
void lsf_report_begin(const struct job_env *e, struct str *out);
/* When it was submitted, µs, of what lsf_report_begin wrote; 0 = it does not say. */
int64_t lsf_report_submitted(const char *begun);
/* The report; appended. */
void lsf_report_write(const char *begun, const struct lsf_report_end *end, struct str *out);

#endif
