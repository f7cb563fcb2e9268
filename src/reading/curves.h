/* The series of a job, fetched and put together: a curve for each value of each device and step. */
#ifndef REMUDA_READING_CURVES_H
#define REMUDA_READING_CURVES_H

#include "base/arena.h"
#include "base/vec.h"
#include "model/job/job.h"
#include "model/record/series.h"
#include "wire/series.h"

struct moment {
    int64_t at_ms; /* of the epoch */
    double v;      /* in the unit of its value */
};

struct curve {
    const struct series_value *value;
    struct series_source_key key; /* texts as the node gave them: no letters for a terminal */
    bool of_job;                  /* the sum of the job's steps on the node */
    uint32_t index;               /* of a core */
    int64_t gap_ms;               /* so far apart are its samples, as was asked for */
    VEC(struct moment) at;        /* in order, each time once */
    double has;                   /* the most that it can be, in its unit; 0 = not known */
    size_t in_cell;               /* samples that the last of them was made of */
};

#define CURVES_OF_RANKS 512

struct curves {
    VEC(struct curve *) v; /* by node, steps before devices, in the order of values */
    char *warning;         /* what could not be read; NULL = nothing */
    /* Set before anything is added, so that a long job of many nodes has its bounds. */
    bool (*wants)(const struct series_value *v); /* the others are left out; NULL = all */
    int64_t cell_ms; /* the samples of such a time become one, as their value is joined; 0 = each */
    size_t most;     /* curves; 0 = no bound, else CURVES_OF_RANKS of tasks as well */
    size_t ranks;    /* that there are of them */
    bool cut;        /* there were more */
};

void curves_done(struct curves *c); /* all samples; empty again */
/* Adds the samples of blocks, one after another as series_next() takes them. Sorted and each time
 * once after curves_order(). */
void curves_take(struct curves *c, const char *blocks, size_t len);
void curves_order(struct curves *c); /* after the last sample: by source and by time */
/* Both. */
void curves_add(struct curves *c, const char *blocks, size_t len);
/* Of values that steps have for themselves, a curve for all steps of a job on a node: their sum; of
 * what is the node's, one of them. The steps' own go. */
void curves_join_steps(struct curves *c);
/* Keeps those for which keep() is true. */
void curves_keep(struct curves *c, bool (*keep)(void *ctx, const struct curve *c), void *ctx);

/* How much there is of what curves use: of GPUs their memory, where that was sampled; */
void curves_know_memory(struct curves *c);
/* of a job on one node its CPUs and memory, after curves_join_steps(). */
void curves_know_job(struct curves *c, const struct job *j);

struct figures {
    size_t n;                       /* samples that are known */
    double least, most, mean, last; /* in the value's unit */
};
/* Of the samples from from_ms to to_ms; n 0: there is none. */
void curve_figures(const struct curve *c, int64_t from_ms, int64_t to_ms, struct figures *ret);
/* The time of the first and last sample of all; false if there is none. */
bool curves_span(const struct curves *c, int64_t *ret_from_ms, int64_t *ret_to_ms);

/* "gpu7 GPU 0", "gpu7 step 0", "gpu7"; plain. */
void curve_name(const struct curve *c, struct str *out);

#endif
