/* Curves of a job out of loads, and what is read of them. */
#ifndef REMUDA_TESTS_READING_CURVES_H
#define REMUDA_TESTS_READING_CURVES_H

#include "reading_loads.h"

struct part {
    const char *node;
    int32_t device; /* SERIES_OF_STEP */
    uint16_t id;
    shape_fn shape;
    size_t gap_from, gap_to; /* samples that did not come */
    uint32_t rank;           /* of TASK_CPU; of step 0, 1000 more of step 1, … */
    size_t lost_every;       /* each such sample did not come; 0 = none */
    size_t step_at;          /* from this sample on the node's clock is */
    int64_t step_ms;         /* so much ahead, or behind */
};

#define STEP SERIES_OF_STEP

static inline void part_add(struct curves *c, const struct part *p, size_t n, int64_t gap_ms)
{
    struct series_source_key key = {
        .job_id = 7,
        .attempt = 1,
        .step_id = p->device < 0 && p->id != SERIES_TASK_CPU ? -1 : (int64_t)p->rank / 1000,
        .device = p->device};
    strcpy(key.node, p->node);
    int64_t *at_ms = xcalloc(n + 1, sizeof *at_ms);
    double *v = xcalloc(n + 1, sizeof *v);
    size_t came = 0;
    for (size_t i = 0; i < n; i++) {
        bool lost = p->lost_every && noise(i, 50) < 2.0 / (double)p->lost_every - 1;
        v[came] = p->shape(i);
        at_ms[came] = BEGAN_MS + (int64_t)i * gap_ms + (i >= p->step_at ? p->step_ms : 0);
        came += !lost && (i < p->gap_from || i >= p->gap_to);
    }
    curve_put(c, &key, p->id, p->rank % 1000, at_ms, v, came, gap_ms);
    free(at_ms);
    free(v);
}

/* ---- the table ---- */

#define A(device, value, shape)                                                                    \
    {                                                                                              \
        "gpu7", device, SERIES_##value, shape, 0, 0, 0, 0, 0, 0                                    \
    }

struct profile {
    const char *what;
    struct part part[16];
    size_t n;
    int32_t cpus, nodes;
    int64_t mem_mib;
    const char *found;   /* words of all findings, in their order */
    const char *says[6]; /* all of these are in the text */
    enum job_state state;
    int64_t gap_ms; /* 0 = GAP_MS */
};

static inline void words_of(const struct reading *r, struct str *out)
{
    for (size_t i = 0; i < r->found.n; i++)
        str_addf(out, "%s%s", i ? " " : "", finding_word(r->found.v[i].kind));
}

static inline void profile_read(const struct profile *p, int64_t gap_ms, bool bound,
                                struct reading *r)
{
    struct curves c = {0};
    struct job j = {.alloc_cpus = p->cpus,
                    .alloc_nodes = p->nodes ? p->nodes : 1,
                    .alloc_mem_mib = p->mem_mib,
                    .state = p->state,
                    .start_us = BEGAN_MS * 1000,
                    .end_us = (BEGAN_MS + (int64_t)p->n * gap_ms) * 1000};
    if (bound)
        reading_bound(&c, &j, j.end_us, 1u << 20);
    for (size_t i = 0; i < ARRAY_LEN(p->part) && p->part[i].node; i++)
        part_add(&c, &p->part[i], p->n, gap_ms);
    curves_order(&c);
    reading_make(&c, &j, &civil_utc, r);
    curves_done(&c);
}

/* The guide's exercise with other numbers, and profiles of which nothing is to be said. */
static struct {
    size_t epoch, stands;
    double level, noise;
    unsigned salt;
} made;

static inline void read_made(shape_fn shape, size_t n, int64_t gap_ms, struct str *words,
                             struct str *text)
{
    struct reading r;
    struct profile p = {.part = {A(0, GPU_UTIL, shape), A(STEP, CPU, one_cpu)}, .n = n, .cpus = 1};
    profile_read(&p, gap_ms, made.salt % 2, &r);
    words_of(&r, words);
    reading_write(&r, text);
    reading_done(&r);
}

/* ---- rows of the tables ---- */

#define B(device, value, shape)                                                                    \
    {                                                                                              \
        "gpu8", device, SERIES_##value, shape, 0, 0, 0, 0, 0, 0                                    \
    }

#define RANK(rank, shape)                                                                          \
    {                                                                                              \
        "gpu7", STEP, SERIES_TASK_CPU, shape, 0, 0, rank, 0, 0, 0                                  \
    }

/* Are the findings those that it must have, whole, and its sentences there? Else says what was
 * wrong. `bound`: read within a bound, too. */
static inline bool profile_is_read(const struct profile *p, bool bound)
{
    struct reading r;
    struct str words = STR_INIT, text = STR_INIT;
    profile_read(p, p->gap_ms ? p->gap_ms : GAP_MS, bound, &r);
    words_of(&r, &words);
    reading_write(&r, &text);
    bool ok = text_is(str_text(&words), p->found);
    for (size_t i = 0; i < ARRAY_LEN(p->says) && p->says[i]; i++)
        ok = ok && strstr(str_text(&text), p->says[i]);
    if (!ok)
        print_error("%s: [%s], wanted [%s]\n%s\n", p->what, str_text(&words), p->found,
                    str_text(&text));
    str_done(&words);
    str_done(&text);
    reading_done(&r);
    return ok;
}

#endif
