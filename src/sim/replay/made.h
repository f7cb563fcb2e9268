/* Workloads that are made, not read: the model of Lublin and Feitelson with users, limits, arrays
 * and weeks on top; a mix as GPU clusters have it; and streams made against an order.
 *
 * A workload is named "made:KIND[,key=value]…"; the same name gives the same jobs. */
#ifndef REMUDA_SIM_MADE_H
#define REMUDA_SIM_MADE_H

#include "base/rng.h"
#include "sim/replay/trace.h"

#include <stdio.h>

/* How users choose limits. HABITS: round values; a user always gives the same, or twice to five
 * times the run, or ten times too much. */
enum made_limits { LIMITS_HABITS, LIMITS_EXACT, LIMITS_DAY, LIMITS_INVERSE, LIMITS_WEEK };

struct made_options {
    int64_t procs, jobs, seed, users;
    double load; /* work asked for ÷ what the machine can do until the last submission */
    enum made_limits limits;
};

struct made_kind {
    const char *name, *doc;
    struct made_options usual;
    void (*fill)(const struct made_options *o, struct rng *r, struct trace *t);
};
extern const struct made_kind made_streams[]; /* made_streams.c; the last has no name */

bool made_named(const char *path); /* is it the name of such a workload? */
/* The jobs of queue 1 are those that a stream is about; the others are of queue 0. */
bool made_read(const char *path, struct trace *ret, struct err *ret_err);
void made_help(FILE *to); /* the kinds, for --help */

/* ---- for kinds ---- */

/* Users by Zipf: user k of `users` has 1/k of what the first has. */
int64_t made_user(struct rng *r, int64_t users);
/* A limit of at least `run` seconds where the user knows; the job is cut at it. */
int64_t made_limit(const struct made_options *o, struct rng *r, int64_t user, int64_t run);
int64_t made_round(int64_t seconds); /* up to a value that people write */
/* One job; what runs past its limit is cut. */
void made_job(struct trace *t, int64_t submit, int64_t procs, int64_t run, int64_t limit,
              int64_t user, bool watched);

#endif
