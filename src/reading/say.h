/* Words of the sentences. */
#ifndef REMUDA_READING_SAY_H
#define REMUDA_READING_SAY_H

#include "base/str.h"
#include "reading/look.h"

/* "20 s", "2 min 41 s", "3 h 5 min", "2 d 4 h" */
void say_span(int64_t ms, struct str *out);
/* "12:04 to 12:31"; with seconds where it is short, with the date where the job ran for days. */
void say_times(const struct look *l, int64_t from_ms, int64_t to_ms, struct str *out);
/* As fine as a stretch of that length has it: of several beside each other the shortest. */
void say_times_like(const struct look *l, int64_t from_ms, int64_t to_ms, int64_t span_ms,
                    struct str *out);
/* "GPU 0", "GPUs 0-3", "gpu7 GPUs 0-3, gpu8 GPU 1 and 12 more nodes": those for which the flag is
 * set in `mark`. */
void say_gpus(const struct look *l, const bool *mark, struct str *out);
/* "12.5 GiB" of MiB. */
void say_mib(double mib, struct str *out);
/* "3.1", "12": a digit where that says something. */
void say_number(double v, struct str *out);

/* A finding; the texts are taken. */
void say_found(struct look *l, enum finding_kind kind, struct str *text, struct str *next);

#endif
