/* GPUs that are never high, and GPUs that fall, with what they wait for. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define LOW            50.0 /* never above that */
#define CPUS_FULL      0.75
#define PRESSURE       20.0
#define WRITES_KIB     10240.0
#define LITTLE_MORE    1.2
#define STALL_MS       10000
#define STALLS_PERCENT 10
#define RARE_PERCENT   10    /* of the time */
#define BATCHES_MS     60000 /* what comes more often is no epoch */
#define WAITS_LEAST    20
#define WAITS_PERCENT  20
#define ONE_AT_A_TIME  130.0 /* percent, of all */
#define TURNS          30.0  /* busier while the other stands */

/* ---- what it waits for ---- */

struct dip_cause {
    bool cpus, disks, writes, one_cpu;
    double used, has, write_kib, wait;
};

static void means_of(const struct curve *c, const struct dips *d, double *within, double *beside)
{
    struct figures f;
    *within = *beside = -1;
    if (!c)
        return;
    if (d && dips_means(c, d, within, beside))
        return;
    curve_figures(c, 0, INT64_MAX, &f);
    *within = *beside = f.n ? f.mean : -1;
}

/* They take little of the time between the first and the last. */
static bool are_rare(const struct dips *d)
{
    return d && d->at.n &&
           d->total_ms * 100 < (d->at.v[d->at.n - 1].to_ms - d->at.v[0].from_ms) * RARE_PERCENT;
}

static void cause_find(const struct look *l, const struct look_gpu *g, const struct dips *d,
                       struct dip_cause *ret)
{
    const struct look_node *n = look_node_of(l, g->node);
    double within, beside;
    *ret = (struct dip_cause){0};
    if (!n)
        return;
    means_of(n->cpu, d, &within, &beside);
    ret->used = within / 100;
    ret->has = n->cpus;
    ret->cpus = within >= 0 && n->cpus > 0 && ret->used >= CPUS_FULL * n->cpus;
    ret->one_cpu = within >= 0 && n->cpus >= 2 && ret->used > 0.8 && ret->used < 1.3;
    bool always = beside >= 0 && within < LITTLE_MORE * beside; /* full beside the dips as well */
    means_of(n->psi_io, d, &within, &beside);
    ret->disks = within >= PRESSURE;
    ret->wait = within;
    means_of(n->write, d, &within, &beside);
    ret->writes = d && within >= WRITES_KIB && within > 3 * beside;
    ret->write_kib = within;
    if ((ret->writes || are_rare(d)) && always) /* what is so all the time is not why it falls */
        ret->cpus = ret->one_cpu = false;
}

/* "; 5.2 of its 6 CPUs were full meanwhile", and what follows from it. */
static void cause_say(const struct dip_cause *c, bool dips, struct str *text, struct str *next)
{
    const char *when = dips ? " meanwhile" : "";
    if (c->cpus) {
        str_add(text, c->has > 1 ? "; " : "; its CPU was full");
        if (c->has > 1) {
            say_number(c->used < c->has ? c->used : c->has, text);
            str_addf(text, " of its %.0f CPUs were full", c->has);
        }
        str_add(text, when);
        str_add(next, "ask for more CPUs (-c) or more loader workers");
    } else if (c->writes) {
        str_addf(text, "; it wrote ");
        say_mib(c->write_kib / 1024, text);
        str_addf(text, "/s%s", when);
        if (c->disks)
            str_addf(text, ", and waited for disks in %.0f %% of the time", c->wait);
        str_add(next, "write checkpoints beside the training (asynchronously), or less often");
    } else if (c->disks) {
        str_addf(text, "; it waited for disks in %.0f %% of the time%s", c->wait, when);
        str_add(next, "copy the data to the node's own disk first ($TMPDIR), or into fewer, "
                      "larger files");
    } else if (c->one_cpu) {
        str_add(text, "; ");
        say_number(c->used, text);
        str_addf(text, " of its %.0f CPUs was busy%s", c->has, when);
        str_add(next, "more loader workers (num_workers), so that batches are made by all CPUs");
    } else {
        str_add(next, dips ? "see what the program does there: validation, checkpoints, loader "
                             "workers that are started anew (persistent_workers)"
                           : "larger batches, or more loader workers, if it waits for data");
    }
}

/* ---- low, and dips ---- */

bool look_is_low(const struct look_gpu *g)
{
    return g->work && !g->unused && !g->hangs && g->f.n >= READING_SAMPLES && g->f.most < LOW;
}

static size_t dips_phase(const struct look *l, const struct look_gpu *g)
{
    for (size_t p = 0; p < l->nphases; p++)
        if (g->work && !g->unused && !g->hangs && g->dips[p].every_ms)
            return p;
    return l->nphases;
}

/* Data is loaded anew where an epoch begins; what is written is a checkpoint. */
static const char *dips_are(const struct dip_cause *c, int64_t every_ms)
{
    if (every_ms < BATCHES_MS && !c->writes)
        return c->cpus || c->disks || c->one_cpu ? ": input stalls" : ", as between batches";
    if (c->cpus || c->one_cpu || (c->disks && !c->writes))
        return c->writes ? ": input stalls or checkpoints between epochs"
                         : ": input stalls between epochs";
    return c->writes ? ": checkpoints" : ", as between epochs or for checkpoints";
}

static void dips_say(const struct look *l, const struct look_gpu *g, size_t p,
                     const struct dip_cause *c, struct str *text)
{
    const struct dips *d = &g->dips[p];
    if (l->nphases > 1) {
        str_addf(text, " in phase %zu (", p + 1);
        say_times(l, l->phase[p].from_ms, l->phase[p].to_ms + 1, text);
        str_addc(text, ')');
    }
    str_addf(text, " it fell to %.0f %% every ", d->low);
    say_span(d->every_ms, text);
    str_add(text, " for ");
    say_span(d->for_ms, text);
    str_addf(text, ", %zu times%s", d->at.n, dips_are(c, d->every_ms));
}

static void low_figures(const struct look *l, const bool *mark, struct str *text)
{
    double most = 0, mean = 0;
    size_t n = 0;
    for (size_t i = 0; i < l->gpu.n; i++)
        if (mark[i]) {
            most = l->gpu.v[i].f.most > most ? l->gpu.v[i].f.most : most;
            mean += l->gpu.v[i].f.mean;
            n++;
        }
    str_addf(text, " %s never above 50 %% (%.0f %% at most, %.0f %% in the mean)",
             n > 1 ? "were" : "was", most, mean / (double)n);
}

/* While the first stands, another of them works, which stands when it works. */
static bool take_turns(const struct look *l, size_t first, size_t p, const bool *mark)
{
    double within, beside;
    for (size_t i = 0; i < l->gpu.n; i++)
        if (i != first && mark[i] && l->gpu.v[i].work &&
            dips_means(l->gpu.v[i].work, &l->gpu.v[first].dips[p], &within, &beside) &&
            within > beside + TURNS)
            return true;
    return false;
}

/* All of them together do about as much as one could. */
static bool one_at_a_time(const struct look *l, const bool *mark)
{
    double all = 0;
    for (size_t i = 0; i < l->gpu.n; i++)
        all += mark[i] ? l->gpu.v[i].f.mean : 0;
    return all < ONE_AT_A_TIME;
}

static void turns_say(struct look *l, const struct dips *d, const bool *mark)
{
    struct str text = STR_INIT, next = STR_INIT;
    say_gpus(l, mark, &text);
    str_addf(&text, "%s each fell to %.0f %% every ", one_at_a_time(l, mark) ? " took turns:" : ":",
             d->low);
    say_span(d->every_ms, &text);
    str_add(&text, " for ");
    say_span(d->for_ms, &text);
    str_addf(&text, ", %zu times, while another worked", d->at.n);
    str_add(&next, one_at_a_time(l, mark)
                       ? LOOK_TURNS_NEXT
                       : "stages of a pipeline that wait for each other: more and smaller "
                         "micro-batches, and stages that have as much to do as the others");
    say_found(l, FOUND_GPU_DIPS, &text, &next);
}

/* Of the GPUs that are like this one, which is the first of them. */
static void group_say(struct look *l, size_t first, const bool *mark)
{
    const struct look_gpu *g = &l->gpu.v[first];
    bool low = look_is_low(g);
    size_t p = dips_phase(l, g);
    bool dips = p < l->nphases;
    if (dips && !low && take_turns(l, first, p, mark)) {
        turns_say(l, &g->dips[p], mark);
        return;
    }
    struct str text = STR_INIT, next = STR_INIT;
    struct dip_cause c;
    cause_find(l, g, dips ? &g->dips[p] : NULL, &c);
    say_gpus(l, mark, &text);
    if (low)
        low_figures(l, mark, &text);
    if (dips) {
        str_add(&text, low ? ";" : ":");
        dips_say(l, g, p, &c, &text);
    }
    l->needs_cpus = l->needs_cpus || c.cpus || c.one_cpu;
    cause_say(&c, dips, &text, &next);
    say_found(l, low ? FOUND_GPU_LOW : FOUND_GPU_DIPS, &text, &next);
}

static void groups_say(struct look *l)
{
    bool *done = marks_new(l), *mark = marks_new(l);
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        size_t p = dips_phase(l, g);
        if (done[i] || (!look_is_low(g) && p == l->nphases))
            continue;
        for (size_t k = i; k < l->gpu.n; k++) {
            mark[k] = !done[k] && look_is_low(&l->gpu.v[k]) == look_is_low(g) &&
                      dips_phase(l, &l->gpu.v[k]) == p;
            done[k] = done[k] || mark[k];
        }
        group_say(l, i, mark);
        memset(mark, 0, l->gpu.n * sizeof *mark);
    }
    free(done);
    free(mark);
}

/* ---- stood still now and then ---- */

static bool is_stalling(const struct look *l, const struct look_gpu *g, size_t p, size_t *ret_n)
{
    const struct dips *d = &g->dips[p];
    int64_t all = 0, least = 3 * (g->work ? g->work->gap_ms : 0);
    least = least > STALL_MS ? least : STALL_MS;
    *ret_n = 0;
    for (size_t i = 0; i < d->at.n; i++)
        if (d->at.v[i].to_ms - d->at.v[i].from_ms >= least) {
            all += d->at.v[i].to_ms - d->at.v[i].from_ms;
            ++*ret_n;
        }
    return !d->every_ms && *ret_n >= 3 &&
           all * 100 >= (l->phase[p].to_ms - l->phase[p].from_ms) * STALLS_PERCENT;
}

static void stalls_say(struct look *l)
{
    for (size_t p = 0; p < l->nphases; p++) {
        bool *mark = marks_new(l);
        const struct look_gpu *first = NULL;
        size_t times = 0, n;
        for (size_t i = 0; i < l->gpu.n; i++) {
            const struct look_gpu *g = &l->gpu.v[i];
            mark[i] = g->work && !g->unused && !g->hangs && is_stalling(l, g, p, &n);
            if (mark[i] && !first) {
                first = g;
                times = n;
            }
        }
        if (first) {
            const struct dips *d = &first->dips[p];
            struct str text = STR_INIT, next = STR_INIT;
            struct dip_cause c;
            say_gpus(l, mark, &text);
            str_addf(&text, " stood still %zu times, ", times);
            say_span(d->total_ms, &text);
            str_add(&text, " in all, the longest ");
            say_times(l, d->longest.from_ms, d->longest.to_ms, &text);
            cause_find(l, first, d, &c);
            l->needs_cpus = l->needs_cpus || c.cpus || c.one_cpu;
            cause_say(&c, true, &text, &next);
            if (!c.cpus && !c.writes && !c.disks && !c.one_cpu)
                str_add(&next, "; of a server: whether nobody asked");
            say_found(l, FOUND_GPU_STALLS, &text, &next);
        }
        free(mark);
    }
}

/* Very many short ones, as where each third batch is waited for. Only with a cause: what a load is
 * like is no finding. */
static bool is_waiting(const struct look *l, const struct look_gpu *g, struct dip_cause *ret)
{
    const struct dips *d = &g->dips[0];
    size_t n;
    if (!g->work || g->unused || g->hangs || look_is_low(g) || dips_phase(l, g) < l->nphases ||
        is_stalling(l, g, 0, &n) || d->at.n < WAITS_LEAST ||
        d->total_ms * 100 < (l->to_ms - l->from_ms) * WAITS_PERCENT)
        return false;
    cause_find(l, g, d, ret);
    return ret->disks || (ret->has >= 2 && (ret->cpus || ret->one_cpu));
}

static void waits_say(struct look *l)
{
    bool *mark = marks_new(l);
    const struct look_gpu *first = NULL;
    struct dip_cause c, cause = {0};
    for (size_t i = 0; i < l->gpu.n && l->nphases == 1; i++) {
        mark[i] = is_waiting(l, &l->gpu.v[i], &c);
        if (mark[i] && !first) {
            first = &l->gpu.v[i];
            cause = c;
        }
    }
    if (first) {
        const struct dips *d = &first->dips[0];
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text, " waited in %.0f %% of the time, %zu times for ",
                 100.0 * (double)d->total_ms / (double)(l->to_ms - l->from_ms), d->at.n);
        say_span(d->total_ms / (int64_t)d->at.n, &text);
        str_add(&text, " or so");
        l->needs_cpus = l->needs_cpus || cause.cpus || cause.one_cpu;
        cause_say(&cause, true, &text, &next);
        say_found(l, FOUND_GPU_STALLS, &text, &next);
    }
    free(mark);
}

void look_dips(struct look *l)
{
    groups_say(l);
    stalls_say(l);
    waits_say(l);
}
