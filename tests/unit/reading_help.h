/* Curves of jobs as nodes would have sent them, written as texts. */
#ifndef REMUDA_TESTS_READING_HELP_H
#define REMUDA_TESTS_READING_HELP_H

#include "reading/curves.h"

#define BEGAN_MS INT64_C(1790000000000) /* 2026-09-21 14:13:20 UTC */

/* From -1 to 1, even on all machines. */
double noise(size_t i, unsigned salt);

/* Samples of one value, at_ms[i] each: packed as a node packs them, and taken as the controller's
 * answer is. */
void curve_put(struct curves *c, const struct series_source_key *key, uint16_t id, uint32_t index,
               const int64_t *at_ms, const double *v, size_t n, int64_t gap_ms);

/* A curve by its text, such as "0 util: 3(90~4*60 5*8) 0*100": three times 60 samples of 90, more
 * or less 4, and 8 of 5, then 100 of nothing. "10>90*20" goes up, "-*30" did not come, "+60s" and
 * "-60s" set the node's clock. Before the colon: "0 util" of GPU 0, "cpu" of the job, "rank3
 * taskcpu" of a rank; "n2/" before that is another node than gpu7. Returns how many samples there
 * were, those that did not come among them. */
size_t curve_of_text(struct curves *c, const char *text, int64_t gap_ms, unsigned salt);

#endif
