/* A reservation that is being chosen for: what was asked, who could be taken, what was. Inside of
 * resv_choose.c, which begins and ends it. */
#ifndef REMUDA_SCHED_WORLD_RESV_CHOOSING_H
#define REMUDA_SCHED_WORLD_RESV_CHOOSING_H

#include "base/str.h"
#include "model/grammar/gres.h"
#include "sched/books/feature.h"
#include "sched/world/resv_view.h"

struct resv_candidate {
    uint32_t node;
    bool had; /* it was its before */
    uint64_t key;
};

struct choosing {
    struct world *w;
    const struct cluster *cl;
    struct reservation *r; /* filled in when all are chosen */
    struct arena *a;
    struct str *detail;
    struct viewpoint view;          /* as a reservation sees nodes */
    struct window win[WINDOWS_MAX]; /* every time it is to be active */
    size_t nwin;
    VEC(struct resv_candidate) cand; /* that could serve */
    bool named, partial;
    struct feature_arms arms;
    struct gres_list gres;
    int64_t cores[64]; /* of the nodes in order, or in all */
    size_t ncores;
    int64_t *row;         /* scratch: free over all its times */
    VEC(uint32_t) chosen; /* numbers of nodes */
    struct str holds;     /* what it keeps, as text */
    int64_t core_sum, cpu_sum;
};

/* ---- resv_choosing.c ---- */
/* Says why, and returns it. */
enum refusal choosing_refuse(struct choosing *k, enum refusal r, const char *text);
/* What is free on the node in all its times; good until the next look. Jobs on a node that it had
 * before may be its own. */
const int64_t *choosing_room(struct choosing *k, const struct resv_candidate *c);
/* Is all of the node free? */
bool choosing_whole_free(struct choosing *k, const struct resv_candidate *c);
/* These nodes are not to be had, by whose fault, and which flag would not mind. */
enum refusal choosing_busy(struct choosing *k, const u32_vec *nodes);
/* So many of what was asked for are not there in that time. */
enum refusal choosing_too_few(struct choosing *k, const char *what, int64_t asked, int64_t found);
/* The node is the reservation's, with so many of its CPUs. */
void choosing_add(struct choosing *k, uint32_t node, int64_t cpus);

/* ---- resv_parts.c ---- */
/* Parts of nodes: cores and devices, as many on each of a number of nodes, or as much as there is
 * on each until it is enough. Fills chosen and holds. */
enum refusal choosing_parts(struct choosing *k);

#endif
