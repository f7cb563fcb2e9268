/* remuda top: what is known of the cluster at a moment, and the screen that shows it. */
#ifndef REMUDA_CLI_PLOT_TOP_H
#define REMUDA_CLI_PLOT_TOP_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "io/client/client.h"
#include "model/job/job.h"
#include "model/record/node.h"

#define TOP_NOT_KNOWN (-1.0)

struct top_gpu {
    int32_t index;         /* as the node numbers it */
    bool out;              /* nobody may be given it */
    bool taken;            /* somebody has it */
    bool away;             /* nobody has it, and its node takes no jobs */
    const struct job *job; /* whose it is; NULL = nobody's, or of somebody who is not shown */
    double busy;           /* percent, or TOP_NOT_KNOWN */
};

struct top_job;
struct top_node {
    const struct node *n;
    struct top_gpu *gpu;       /* in the order of their numbers */
    size_t ngpus, taken, free; /* all; with a job; without one */
    double busy, known;        /* sum of those of which it is known, and how many these are */
    VEC(struct top_job *) job; /* that have something of it */
};
struct top_job {
    const struct job *j;
    int32_t gpus;       /* that it has on all its nodes */
    double busy, known; /* sum of percents, and how many GPUs told one */
    bool first;         /* its samples are asked for before others' */
    bool asked;         /* they were, in this look */
};

struct top {
    struct arena *a;             /* of this look */
    VEC(struct top_node *) node; /* sorted as the view says */
    VEC(struct top_job *) job;   /* likewise */
    uint64_t waiting;            /* jobs */
    struct map_str *busy;        /* "node/GPU" → when, and how busy; kept from look to look */
    size_t next;                 /* job whose samples are asked for next */
};

/* It can be given new jobs. */
bool top_takes_jobs(const struct node *n);

void top_done(struct top *t); /* Ends a look that is under way; the lists. */
/* Looks anew. Samples are asked for of at most `most` jobs: those that choose(ctx, t) marks as
 * first, then the others in turn. choose NULL: all are others. */
bool top_read(struct top *t, struct client *c, size_t most,
              void (*choose)(void *ctx, struct top *t), void *ctx, struct err *ret_err);

/* ---- the screen ---- */

enum top_sort { TOP_BY_NAME, TOP_BY_BUSY, TOP_BY_FREE, TOP_BY_LOAD };
#define TOP_SORTS 4

struct top_view {
    int width, height; /* height 0: all rows, and no keys */
    bool utf8, colour;
    bool jobs; /* else nodes */
    enum top_sort sort;
    size_t first, at;    /* first row shown; the one that is chosen */
    const char *message; /* the last line, instead of keys; NULL = none */
};

/* Sorts what is shown; keeps `at` and `first` where there are rows. Returns how many rows there
 * are. */
size_t top_arrange(struct top *t, struct top_view *v);
/* How many rows fit. */
size_t top_rows(const struct top_view *v);
/* Appends one screen; with v->height every line of it is written, so that no older one shines
 * through. */
void top_draw(const struct top *t, const struct top_view *v, struct str *out);

#endif
