/* Memory of the job's nodes and GPUs: what grows, and what is full. */
#include "base/plain.h"
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

/* Of what the job may have on a node, as a factor: */
#define MEM_FULL   0.95
#define MEM_BEYOND 1.05
#define OUT_SEEN   0.5 /* below that the samples missed what it ran out by */
#define MEM_SPARE  1.5 /* what is advised, of what it needed */
/* It used no more than this part, and so much is over: */
#define UNUSED_PART  0.2
#define UNUSED_LEAST 16384.0 /* MiB, of each node */
#define GPU_FULL     0.97    /* of the device's memory */
#define PSI_MEM      20.0    /* percent of the time */
#define SWAP_LEAST   100.0   /* MiB; and this part of what is resident: */
#define SWAP_PART    0.05
/* What grows has so many samples over so long a time, in so many parts, ends so much higher, also
 * as a part of where it began, and still rises in the second half by that part of the whole. */
#define GROW_SAMPLES 60u
#define GROW_MS      INT64_C(300000)
#define GROW_PARTS   8u
#define GROW_LEAST   64.0 /* MiB */
#define GROW_PART    0.1
#define GROW_LATE    0.3
#define HOUR_MS      3600000.0

struct growth {
    double from, to, per_hour; /* MiB */
};

/* All of it; no samples where there is no curve. */
static struct figures figures_of(const struct curve *c)
{
    struct figures f = {0};
    if (c)
        curve_figures(c, 0, INT64_MAX, &f);
    return f;
}

/* Of a job of several nodes: which it is about. */
static void on_node_add(const struct look *l, const struct look_node *n, struct str *text)
{
    if (l->node.n < 2)
        return;
    str_add(text, " on ");
    str_add_plain(text, n->name);
}

/* What to ask for where so much was needed. */
static void more_add(double mib, struct str *next)
{
    str_addf(next, "ask for more (--mem=%.0fM)", mib * MEM_SPARE);
}

/* Steady: the medians of equal parts rise, all but one, none by half of the whole at once or back
 * by a tenth, and go on rising. The first quarter is left out: there data and models are loaded. */
static bool grows(const struct curve *c, struct growth *ret)
{
    size_t skip = c ? c->at.n / 4 : 0, n = c ? c->at.n - skip : 0, rising = 0;
    double middle[GROW_PARTS];
    if (n < GROW_SAMPLES || c->at.v[c->at.n - 1].at_ms - c->at.v[skip].at_ms < GROW_MS)
        return false;
    double *v = xcalloc(n, sizeof *v);
    for (size_t p = 0; p < GROW_PARTS; p++) {
        size_t from = n * p / GROW_PARTS, to = n * (p + 1) / GROW_PARTS;
        for (size_t i = from; i < to; i++)
            v[i - from] = c->at.v[skip + i].v;
        middle[p] = quantile(v, to - from, 50);
    }
    free(v);
    double more = middle[GROW_PARTS - 1] - middle[0],
           late = middle[GROW_PARTS - 1] - middle[GROW_PARTS / 2];
    for (size_t p = 1; p < GROW_PARTS; p++) {
        rising += middle[p] > middle[p - 1];
        if (middle[p] - middle[p - 1] > more / 2 || middle[p - 1] - middle[p] > more / 10)
            return false;
    }
    double hours = (double)(c->at.v[c->at.n - 1].at_ms - c->at.v[skip].at_ms) / HOUR_MS *
                   (GROW_PARTS - 1) / GROW_PARTS;
    *ret = (struct growth){middle[0], middle[GROW_PARTS - 1], more / hours};
    return rising + 1 >= GROW_PARTS - 1 && more >= GROW_LEAST && more >= GROW_PART * middle[0] &&
           late >= GROW_LATE * more;
}

static void growth_add(const struct growth *g, struct str *text)
{
    str_add(text, " grew steadily, from ");
    say_mib(g->from, text);
    str_add(text, " to ");
    say_mib(g->to, text);
    str_add(text, ", ");
    say_mib(g->per_hour, text);
    str_add(text, " an hour");
}

static bool ran_out(const struct look *l)
{
    return l->job->oom || l->job->state == JOB_OUT_OF_MEMORY;
}

static void memory_grows_say(struct look *l)
{
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        struct growth g;
        if (!grows(n->rss, &g))
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        str_add(&text, "its memory");
        on_node_add(l, n, &text);
        growth_add(&g, &text);
        if (n->mem_mib > g.to && !ran_out(l)) {
            str_add(&text, "; at that rate its ");
            say_mib(n->mem_mib, &text);
            str_add(&text, " last another ");
            say_span((int64_t)((n->mem_mib - g.to) / g.per_hour * HOUR_MS), &text);
        }
        str_add(&next, "a leak, or something that is kept from each round: losses with their "
                       "graphs (use loss.item()), caches, lists of results");
        say_found(l, FOUND_MEM_GROWS, &text, &next);
        return;
    }
}

static void gpu_grows_say(struct look *l)
{
    bool *mark = marks_new(l);
    struct growth g, first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        mark[i] = grows(l->gpu.v[i].mem, &g);
        if (mark[i] && first.to <= 0)
            first = g;
    }
    if (marks_count(l, mark)) {
        struct str text = STR_INIT, next = STR_INIT;
        str_add(&text, "the memory in use of ");
        say_gpus(l, mark, &text);
        growth_add(&first, &text);
        str_add(&next, "tensors are kept from each round (losses with their graphs: use "
                       "loss.item()), or batches get larger");
        say_found(l, FOUND_GPU_GROWS, &text, &next);
    }
    free(mark);
}

/* It is certain that it ran out; samples may have come before what it asked for at once. */
static void memory_out_say(struct look *l)
{
    const struct look_node *of = NULL;
    struct str text = STR_INIT, next = STR_INIT;
    double most = -1;
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        struct figures f = figures_of(n->rss);
        if (n->mem_mib > 0 && f.n && f.most > most) {
            most = f.most;
            of = n;
        }
    }
    if (!of)
        return;
    bool seen = most >= OUT_SEEN * of->mem_mib;
    str_add(&text, seen ? "it ran out of memory: " : "it ran out of memory: its samples saw ");
    say_mib(seen && most > of->mem_mib ? of->mem_mib : most, &text);
    str_add(&text, " of ");
    say_mib(of->mem_mib, &text);
    look_node_add(l, of->name, &text);
    str_add(&text, seen ? "" : " at most, so that what it asked for at the end came at once");
    more_add(most > of->mem_mib ? most : of->mem_mib, &next);
    if (!seen)
        str_add(&next, ", or see what it reads or makes as a whole there");
    say_found(l, FOUND_MEM_FULL, &text, &next);
}

static void memory_full_say(struct look *l)
{
    if (ran_out(l)) {
        memory_out_say(l);
        return;
    }
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        struct figures f = figures_of(n->rss);
        if (n->mem_mib <= 0 || f.n < READING_SAMPLES || f.most < MEM_FULL * n->mem_mib)
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        bool beyond = f.most > MEM_BEYOND * n->mem_mib; /* where nothing holds it to its memory */
        str_add(&text, beyond ? "it used more memory than it had asked for: "
                              : "its memory was nearly full: ");
        say_mib(f.most, &text);
        str_add(&text, beyond ? ", asked were " : " of ");
        say_mib(n->mem_mib, &text);
        look_node_add(l, n->name, &text);
        more_add(f.most > n->mem_mib ? f.most : n->mem_mib, &next);
        say_found(l, FOUND_MEM_FULL, &text, &next);
        return;
    }
}

/* Reclaimed again and again: page cache counts as well, and the resident part alone may look
 * well. */
static void memory_waits_say(struct look *l)
{
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        struct figures f = figures_of(n->psi_mem), rss = figures_of(n->rss);
        if (f.n < READING_SAMPLES || f.mean < PSI_MEM || n->mem_mib <= 0)
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        str_addf(&text, "it waited for memory in %.0f %% of the time", f.mean);
        look_node_add(l, n->name, &text);
        str_add(&text, ", with up to ");
        say_mib(rss.most, &text);
        str_add(&text, " of ");
        say_mib(n->mem_mib, &text);
        str_add(&text, " in use beside the page cache");
        more_add(n->mem_mib, &next);
        say_found(l, FOUND_MEM_FULL, &text, &next);
        return;
    }
}

/* Of a job that said how much it wants: what it got by default it has not asked for. */
static void memory_unused_say(struct look *l)
{
    const struct job *j = l->job;
    double used = 0, most = 0;
    for (size_t i = 0; i < l->node.n; i++) {
        struct figures f = figures_of(l->node.v[i].rss);
        if (f.n < READING_SAMPLES)
            return;
        used += f.most;
        most = f.most > most ? f.most : most;
    }
    bool asked = j->spec.req.mem_per_node_mib > 0 || j->spec.req.mem_per_cpu_mib > 0 ||
                 j->spec.req.mem_per_gpu_mib > 0;
    if (!asked || ran_out(l) || l->node.n < (size_t)j->alloc_nodes ||
        used > UNUSED_PART * (double)j->alloc_mem_mib ||
        (double)j->alloc_mem_mib - used < UNUSED_LEAST * (double)l->node.n)
        return;
    struct str text = STR_INIT, next = STR_INIT;
    str_add(&text, "of its ");
    say_mib((double)j->alloc_mem_mib, &text);
    str_add(&text, " of memory ");
    say_mib(used, &text);
    str_add(&text, " were used at most, page cache apart");
    double need = most * MEM_SPARE < 1024 ? 1024 : most * MEM_SPARE;
    str_addf(&next, "ask for less (--mem=%lldG%s): others could run there",
             (long long)((need + 1023) / 1024), l->node.n > 1 ? " on each node" : "");
    say_found(l, FOUND_MEM_UNUSED, &text, &next);
}

/* A job that failed when the memory of a GPU was full. Who reserves all of it at first, and has it
 * for most of the time, did not fail of that. */
static void gpu_full_say(struct look *l)
{
    bool *mark = marks_new(l);
    double most = 0, has = 0;
    for (size_t i = 0; i < l->gpu.n && l->job->state == JOB_FAILED; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        struct figures total = figures_of(g->mem_total);
        size_t full = 0;
        if (!g->mem || !g->mem_total)
            continue;
        for (size_t k = 0; k < g->mem->at.n && total.most > 0; k++) {
            full += g->mem->at.v[k].v >= GPU_FULL * total.most;
            most = g->mem->at.v[k].v >= GPU_FULL * total.most && g->mem->at.v[k].v > most
                       ? g->mem->at.v[k].v
                       : most;
        }
        mark[i] = full && full * 2 < g->mem->at.n;
        has = mark[i] ? total.most : has;
    }
    if (marks_count(l, mark)) {
        struct str text = STR_INIT, next = STR_INIT;
        str_add(&text, "it failed, and the memory of ");
        say_gpus(l, mark, &text);
        str_add(&text, " had been nearly full: ");
        say_mib(most, &text);
        str_add(&text, " of ");
        say_mib(has, &text);
        str_add(&next, "see whether its output says out of memory; then smaller batches, lower "
                       "precision, activations that are computed again (checkpointing), or a GPU "
                       "with more (--gpus with its type)");
        say_found(l, FOUND_GPU_FULL, &text, &next);
    }
    free(mark);
}

static void swaps_say(struct look *l)
{
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        struct figures f = figures_of(n->swap), rss = figures_of(n->rss);
        if (f.n < READING_SAMPLES || f.most < SWAP_LEAST || f.most < SWAP_PART * rss.most)
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        str_add(&text, "it had up to ");
        say_mib(f.most, &text);
        str_add(&text, " swapped out");
        on_node_add(l, n, &text);
        str_add(&next, "ask for more memory (--mem)");
        say_found(l, FOUND_SWAPS, &text, &next);
        return;
    }
}

void look_memory(struct look *l)
{
    memory_grows_say(l);
    gpu_grows_say(l);
    gpu_full_say(l);
    memory_full_say(l);
    memory_waits_say(l);
    memory_unused_say(l);
    swaps_say(l);
}
