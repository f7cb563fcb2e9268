/* What the files of the scoreboard share. */
#ifndef REMUDA_SIM_SCORE_H
#define REMUDA_SIM_SCORE_H

#include "sim/report/metrics.h"

#define FILES_MAX 16

struct score_figures {
    double slow, slow_dev, wait, max, p99, area, util, pass_us, fragmented; /* means over seeds */
};

struct scoring {
    const char *folder, *only; /* only: parts to score, "S2,S6"; NULL = all */
    struct ref_policy policy;
    const char *settings;
    const char *workload[FILES_MAX]; /* only the gates of these: files, or made */
    size_t nworkloads;
    unsigned seeds;
    struct str json;
    double slow[FILES_MAX], area[FILES_MAX];
    size_t n;
    bool gates;
};

extern const char *const score_traces[3]; /* the open ones, the large one first */

/* Opened and cleaned; says what is wrong. */
bool score_trace(const struct scoring *s, const char *name, struct trace *t);
/* On a flat pool of the trace's size, rule B. */
struct replay_setup score_setup(const struct scoring *s, const struct ref_policy *p,
                                const struct trace *t);
/* Means over arrivals shaken with seeds 1 … n; n 0: the file as it is. */
bool score_shaken(const struct scoring *s, const char *name, const struct replay_setup *setup,
                  struct score_figures *ret);
double geo_mean(const double *v, size_t n); /* of what is above 0; 0 of nothing */
/* Begins a part of the JSON object: ", \"S2\": ". */
void score_part(struct scoring *s, const char *name);

/* ---- score_parts.c ---- */
bool score_exactness(struct scoring *s); /* S1 */
bool score_sc15(struct scoring *s);      /* S4 */
bool score_packing(struct scoring *s);   /* S7 */
bool score_promises(struct scoring *s);  /* S8 */

/* ---- score_made.c ---- */
bool score_made(struct scoring *s); /* S10: logs that are made */
/* s->workload: each against its references */
bool score_workloads(struct scoring *s);
bool score_streams(struct scoring *s); /* S11: streams made against an order */

#endif
