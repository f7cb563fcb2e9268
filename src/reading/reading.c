#include "reading/reading.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "model/job/alloc.h"
#include "model/job/job_counts.h"
#include "reading/look.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
#define X(kind, word) word,
    FINDINGS(X)
#undef X
};

const char *finding_word(enum finding_kind kind)
{
    ASSERT((size_t)kind < ARRAY_LEN(words));
    return words[kind];
}

/* ---- what is read ---- */

#define CURVES_MOST   4096u
#define CELLS_LEAST   200
#define CELLS_MOST    20000
#define OF_A_NODE     8  /* curves */
#define CLOSE_LEAST   20 /* samples, */
#define CLOSE_PERCENT 5
#define OF_A_GPU      12

bool reading_wants(const struct series_value *v)
{
    static const uint16_t wanted[] = {
        SERIES_GPU_UTIL,    SERIES_GPU_SM,        SERIES_GPU_MEM, SERIES_GPU_POWER,
        SERIES_GPU_TEMP,    SERIES_GPU_SM_CLOCK,  SERIES_GPU_ECC, SERIES_CPU,
        SERIES_RSS,         SERIES_SWAP,          SERIES_READ,    SERIES_WRITE,
        SERIES_PSI_CPU,     SERIES_PSI_MEM,       SERIES_PSI_IO,  SERIES_GPU_THROTTLE,
        SERIES_TASK_CPU,    SERIES_GPU_MEM_TOTAL, SERIES_GPU_XID, SERIES_GPU_ENCODER,
        SERIES_GPU_DECODER,
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i] == v->id)
            return true;
    return false;
}

void reading_bound(struct curves *c, const struct job *j, int64_t now_us, size_t samples)
{
    int64_t end_us = j->end_us && j->end_us < now_us ? j->end_us : now_us,
            span_ms = j->start_us && end_us > j->start_us ? (end_us - j->start_us) / 1000 : 0,
            nodes = j->alloc_nodes > 0 ? j->alloc_nodes : 1,
            ranks = j->alloc_cpus < CURVES_OF_RANKS ? j->alloc_cpus : CURVES_OF_RANKS,
            curves = nodes * OF_A_NODE + job_gpus_held(j->alloc_gres) * (int64_t)OF_A_GPU + ranks;
    curves = curves < CURVES_MOST ? curves : CURVES_MOST;
    int64_t cells = (int64_t)samples / curves;
    cells = cells < CELLS_LEAST ? CELLS_LEAST : cells > CELLS_MOST ? CELLS_MOST : cells;
    c->wants = reading_wants;
    c->most = CURVES_MOST;
    c->cell_ms = span_ms / cells > 2000 ? span_ms / cells : 0;
}

/* ---- put together ---- */

static struct look_gpu *gpu_of(struct look *l, const struct curve *c)
{
    for (size_t i = l->gpu.n; i-- > 0;)
        if (l->gpu.v[i].number == c->key.device && !strcmp(l->gpu.v[i].node, c->key.node))
            return &l->gpu.v[i];
    vec_push(&l->gpu, ((struct look_gpu){.node = c->key.node, .number = c->key.device}));
    return &l->gpu.v[l->gpu.n - 1];
}

static struct look_node *node_of(struct look *l, const char *name)
{
    for (size_t i = l->node.n; i-- > 0;)
        if (!strcmp(l->node.v[i].name, name))
            return &l->node.v[i];
    vec_push(&l->node, ((struct look_node){.name = name}));
    return &l->node.v[l->node.n - 1];
}

const struct look_node *look_node_of(const struct look *l, const char *name)
{
    for (size_t i = 0; i < l->node.n; i++)
        if (!strcmp(l->node.v[i].name, name))
            return &l->node.v[i];
    return NULL;
}

static void device_curve(struct look *l, const struct curve *c)
{
    struct look_gpu *g = gpu_of(l, c);
    switch (c->value->id) {
    case SERIES_GPU_UTIL: g->util = c; return;
    case SERIES_GPU_SM: g->sm = c; return;
    case SERIES_GPU_MEM: g->mem = c; return;
    case SERIES_GPU_THROTTLE: g->throttle = c; return;
    case SERIES_GPU_SM_CLOCK: g->clock = c; return;
    case SERIES_GPU_TEMP: g->temp = c; return;
    case SERIES_GPU_POWER: g->power = c; return;
    case SERIES_GPU_ECC: g->ecc = c; return;
    case SERIES_GPU_XID: g->xid = c; return;
    case SERIES_GPU_MEM_TOTAL: g->mem_total = c; return;
    case SERIES_GPU_ENCODER: g->enc = c; return;
    case SERIES_GPU_DECODER: g->dec = c; return;
    }
}

static void node_curve(struct look *l, const struct curve *c)
{
    struct look_node *n = node_of(l, c->key.node);
    switch (c->value->id) {
    case SERIES_CPU: n->cpu = c; return;
    case SERIES_RSS: n->rss = c; return;
    case SERIES_SWAP: n->swap = c; return;
    case SERIES_READ: n->read = c; return;
    case SERIES_WRITE: n->write = c; return;
    case SERIES_PSI_CPU: n->psi_cpu = c; return;
    case SERIES_PSI_MEM: n->psi_mem = c; return;
    case SERIES_PSI_IO: n->psi_io = c; return;
    }
}

/* What it has on each node, where that can be known; else its part, if nodes are equal. */
static void nodes_have(struct look *l)
{
    const struct job *j = l->job;
    struct arena *a = arena_new();
    struct alloc al = {0};
    bool known = j->alloc && alloc_parse(j->alloc, a, &al, NULL);
    int32_t nodes = j->alloc_nodes > 0 ? j->alloc_nodes : 1;
    for (size_t i = 0; i < l->node.n; i++) {
        struct look_node *n = &l->node.v[i];
        const struct alloc_node *has = known ? alloc_find(&al, n->name) : NULL;
        n->cpus = has ? has->cpu_count : (double)j->alloc_cpus / nodes;
        n->mem_mib = has ? (double)has->mem_mib : (double)j->alloc_mem_mib / nodes;
    }
    arena_free(a);
}

double look_near(const struct curve *c, size_t *at, int64_t ms)
{
    if (!c || !c->at.n)
        return -1;
    while (*at + 1 < c->at.n && c->at.v[*at + 1].at_ms <= ms)
        ++*at;
    return c->at.v[*at].v;
}

static bool was_touched(const struct curve *c)
{
    struct figures f = {0};
    if (c)
        curve_figures(c, 0, INT64_MAX, &f);
    return f.n && f.most > LOOK_TOUCHED;
}

/* The duty cycle is of kernels alone: who encodes or decodes is at work as well. */
static struct curve *with_video(const struct look_gpu *g)
{
    struct curve *made = xmemdup(g->util, sizeof *made);
    size_t enc_at = 0, dec_at = 0;
    made->at.v = xmemdup(g->util->at.v, g->util->at.n * sizeof *g->util->at.v);
    made->at.cap = made->at.n;
    for (size_t i = 0; i < made->at.n; i++) {
        struct moment *m = &made->at.v[i];
        double enc = look_near(g->enc, &enc_at, m->at_ms),
               dec = look_near(g->dec, &dec_at, m->at_ms);
        m->v = enc > m->v ? enc : m->v;
        m->v = dec > m->v ? dec : m->v;
    }
    return made;
}

static void works_of(struct look_gpu *g)
{
    if (g->util && g->util->at.n && (was_touched(g->enc) || was_touched(g->dec)))
        g->made = with_video(g);
    g->work = g->made ? g->made : g->util ? g->util : g->sm;
    if (g->work)
        curve_figures(g->work, 0, INT64_MAX, &g->f);
    if (g->sm)
        curve_figures(g->sm, 0, INT64_MAX, &g->sm_f);
}

static void curves_look(struct look *l)
{
    for (size_t i = 0; i < l->curves->v.n; i++) {
        const struct curve *c = l->curves->v.v[i];
        l->to->samples = c->at.n > l->to->samples ? c->at.n : l->to->samples;
        if (c->value->source == SERIES_DEVICE)
            device_curve(l, c);
        else if (c->of_job)
            node_curve(l, c);
    }
    for (size_t i = 0; i < l->gpu.n; i++)
        works_of(&l->gpu.v[i]);
    nodes_have(l);
}

/* A clock that was set back gives a part of the samples the times of others, among which they are
 * put: closer than any are taken. */
static const struct curve *closer_than_taken(const struct look *l)
{
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct curve *c = l->gpu.v[i].work;
        size_t close = 0;
        for (size_t k = 1; c && k < c->at.n; k++)
            close += (c->at.v[k].at_ms - c->at.v[k - 1].at_ms) * 4 < c->gap_ms * 3;
        if (close >= CLOSE_LEAST && close * 100 >= c->at.n * CLOSE_PERCENT)
            return c;
    }
    return NULL;
}

static int by_weight(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

void reading_make(struct curves *c, const struct job *j, const struct civil_zone *zone,
                  struct reading *ret)
{
    struct look l = {.curves = c, .job = j, .zone = zone, .to = ret};
    *ret = (struct reading){0};
    curves_join_steps(c);
    curves_know_job(c, j);
    if (curves_span(c, &l.from_ms, &l.to_ms)) {
        curves_look(&l);
        l.set_back = closer_than_taken(&l);
        look_phases(&l);
        look_gpus(&l);
        look_hosts(&l);
        look_ranks(&l);
    }
    if (ret->found.n)
        qsort(ret->found.v, ret->found.n, sizeof *ret->found.v, by_weight);
    for (size_t i = 0; i < l.gpu.n; i++) {
        for (size_t k = 0; k < l.nphases; k++)
            dips_done(&l.gpu.v[i].dips[k]);
        if (l.gpu.v[i].made)
            vec_done(&l.gpu.v[i].made->at);
        free(l.gpu.v[i].made);
    }
    vec_done(&l.gpu);
    vec_done(&l.node);
}

void reading_done(struct reading *r)
{
    for (size_t i = 0; i < r->found.n; i++) {
        free(r->found.v[i].text);
        free(r->found.v[i].next);
    }
    vec_done(&r->found);
}

void reading_write(const struct reading *r, struct str *out)
{
    for (size_t i = 0; i < r->found.n; i++) {
        const struct finding *f = &r->found.v[i];
        str_addf(out, "%s%s%s\n", f->text, f->next ? ": " : "", f->next ? f->next : "");
    }
}
