/* The answer of `remuda why` in words. */
#ifndef REMUDA_CLI_RECORD_WHY_TEXT_H
#define REMUDA_CLI_RECORD_WHY_TEXT_H

#include "base/str.h"
#include "model/job/job.h"
#include "model/record/why.h"

/* Everything about one job, ended by a newline. Times are local; those of today are without their
 * date. */
void why_text(const struct why *w, int64_t now_us, struct str *out);
/* One line a job, and a heading before the first. */
void why_heading(struct str *out);
/* One job, one line: reason, rank, planned start, how sure that is. */
void why_line(const struct why *w, int64_t now_us, struct str *out);
/* What is known of a job that left the controller's memory. */
void why_from_history(const struct job *j, struct why *ret, struct str *label);

#endif
