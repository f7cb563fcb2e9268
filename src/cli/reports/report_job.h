/* remuda report JOB: what one job did, in a picture and in sentences. */
#ifndef REMUDA_CLI_REPORTS_REPORT_JOB_H
#define REMUDA_CLI_REPORTS_REPORT_JOB_H

#include "cli/reports/seen.h"
#include "cli/table/json_form.h"
#include "io/client/client.h"
#include "reading/chart.h"

/* The word of a command line that names the job which is looked at; *job NULL: none was named. */
bool report_job_read(const char **job, const char *word, struct arena *a, struct err *ret_err);

/* Jobs, array elements and components that the reference names; attempt 0: each one's last run.
 * false with ret_err, also where there is none. */
bool report_jobs(struct client *c, const char *job, uint32_t attempt, enum json_form form,
                 struct err *ret_err);

/* ---- also for mails ---- */

/* The value that shows best what GPUs did: of instances, and of GPUs that were busy and had no
 * work, their SM activity; 0 = there is none. */
uint16_t report_gpu_value(const struct seen *s);
/* Is it that, or what CPUs did? */
bool report_is_drawn(uint16_t gpu_value, const struct curve *one);
/* Those, a few of many, as high as is good. */
void report_charts_write(const struct seen *s, struct chart_style style, struct str *out);

#endif
