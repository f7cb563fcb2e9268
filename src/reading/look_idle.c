/* GPUs that nobody used: never, for long, or for most of the time. */
#include "base/plain.h"
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS     INT64_C(60000)
#define HELD_MIB      2048.0 /* of its memory: more than a driver has for itself */
#define LITTLE        10.0   /* in the mean */
#define STANDS        60     /* percent of the samples below LITTLE, */
#define STANDS_MEAN   45.0   /* of one that is no busier in the mean */
#define IDLE_MS       (10 * MINUTE_MS)
#define IDLE_PERCENT  15   /* of the job */
#define CPUS_IDLE     5.0  /* percent of one CPU */
#define CPUS_FULL     0.75 /* of those it has */
#define SUSPENDED     80   /* percent of a time in which neither GPUs nor CPUs did anything */
#define TURNS_PERCENT 85   /* of the samples one of them at work at most, */
#define TURNS_LEAST   50   /* and in so many of them one */

/* ---- never touched ---- */

static double most_of(const struct curve *c)
{
    struct figures f = {0};
    if (c)
        curve_figures(c, 0, INT64_MAX, &f);
    return f.n ? f.most : 0;
}

/* Its memory was in use: the program found it. */
static void held_only_say(struct look *l)
{
    bool *mark = marks_new(l);
    double most = 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        double held = most_of(l->gpu.v[i].mem);
        mark[i] = l->gpu.v[i].unused && held >= HELD_MIB;
        most = mark[i] && held > most ? held : most;
    }
    size_t n = marks_count(l, mark);
    if (n) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_add(&text,
                n > 1 ? " were never at work, with up to " : " was never at work, with up to ");
        say_mib(most, &text);
        str_addf(&text, " of %s memory in use", n > 1 ? "their" : "its");
        str_add(&next, "a server that nobody asked, or a notebook: end it when nobody needs it; "
                       "else see what the program waited for");
        say_found(l, FOUND_GPU_UNUSED, &text, &next);
    }
    free(mark);
}

/* Each marked GPU is on a node none of whose GPUs was used, while those of others were. */
static size_t whole_nodes(const struct look *l, const bool *mark)
{
    size_t nodes = 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        bool first = true;
        for (size_t k = 0; mark[i] && k < l->gpu.n; k++) {
            bool same = !strcmp(l->gpu.v[i].node, l->gpu.v[k].node);
            if (same && !mark[k])
                return 0;
            first = first && !(same && k < i);
        }
        nodes += mark[i] && first;
    }
    return nodes;
}

void look_unused(struct look *l)
{
    bool *mark = marks_new(l);
    struct str text = STR_INIT, next = STR_INIT;
    for (size_t i = 0; i < l->gpu.n; i++)
        mark[i] = l->gpu.v[i].unused && most_of(l->gpu.v[i].mem) < HELD_MIB;
    size_t n = marks_count(l, mark), left = l->gpu.n - n, nodes = whole_nodes(l, mark);
    if (n) {
        say_gpus(l, mark, &text);
        str_addf(&text, n > 1 ? " were never used" : " was never used");
        if (!left)
            str_add(&next, "ask for no GPU, or see why the program does not find it (a CUDA build "
                           "of the library? the device moved to?)");
        else if (nodes && (size_t)l->job->alloc_nodes > nodes)
            str_addf(&next,
                     "start the program on each node (srun, torchrun --nnodes=%d), or ask for %zu "
                     "node%s (-N)",
                     (int)l->job->alloc_nodes, (size_t)l->job->alloc_nodes - nodes,
                     (size_t)l->job->alloc_nodes - nodes > 1 ? "s" : "");
        else
            str_addf(&next, "ask for %zu GPU%s, or see that the program uses all of them", left,
                     left > 1 ? "s" : "");
        say_found(l, FOUND_GPU_UNUSED, &text, &next);
    }
    free(mark);
    held_only_say(l);
}

/* ---- idle for long ---- */

struct idle {
    struct stretch longest;
    size_t times; /* for IDLE_MS or longer */
    int64_t all_ms;
};

static void idle_take(struct idle *d, const struct stretch *s)
{
    int64_t ms = s->to_ms - s->from_ms;
    if (ms > d->longest.to_ms - d->longest.from_ms)
        d->longest = *s;
    d->times += ms >= IDLE_MS;
    d->all_ms += ms >= IDLE_MS ? ms : 0;
}

static struct idle idle_find(const struct curve *c)
{
    struct idle d = {0};
    struct stretch now = {0};
    for (size_t i = 0; i < c->at.n; i++) {
        bool idle = c->at.v[i].v <= LOOK_TOUCHED,
             gap = i && c->at.v[i].at_ms - c->at.v[i - 1].at_ms > 3 * c->gap_ms;
        if (now.from_ms && (!idle || gap)) {
            idle_take(&d, &now);
            now.from_ms = 0;
        }
        if (idle && !now.from_ms)
            now.from_ms = c->at.v[i].at_ms;
        if (idle)
            now.to_ms = c->at.v[i].at_ms;
    }
    if (now.from_ms)
        idle_take(&d, &now);
    return d;
}

static double work_of(const struct look_gpu *g, int64_t from_ms, int64_t to_ms, bool most)
{
    struct figures f = {0};
    if (g->work)
        curve_figures(g->work, from_ms, to_ms, &f);
    return !f.n ? 0 : most ? f.most : f.mean;
}

/* Another GPU of the job was at work then: not one that waited, busy, for this one. */
static bool others_work(const struct look *l, const bool *mark, const struct stretch *s)
{
    for (size_t i = 0; i < l->gpu.n; i++)
        if (!mark[i] && !l->gpu.v[i].hangs &&
            work_of(&l->gpu.v[i], s->from_ms, s->to_ms, false) >= LITTLE)
            return true;
    return false;
}

static bool cpus_idle(const struct look *l, const struct stretch *s)
{
    size_t known = 0;
    for (size_t i = 0; i < l->node.n; i++) {
        struct figures f = {0};
        if (l->node.v[i].cpu)
            curve_figures(l->node.v[i].cpu, s->from_ms, s->to_ms, &f);
        if (f.n && f.mean >= CPUS_IDLE)
            return false;
        known += f.n > 0;
    }
    return known > 0;
}

static const char *idle_next(const struct look *l, const struct look_gpu *g, const struct idle *d,
                             bool beside, bool nothing)
{
    const struct stretch *s = &d->longest;
    bool ends = l->to_ms - s->to_ms < MINUTE_MS;
    if (beside)
        return "see why the program did not use it then, or ask for fewer GPUs";
    if (d->times > 1)
        return "a server that nobody asks, or a notebook: end it, or take a part of a GPU; else "
               "what needs no GPU can be a job of its own";
    if (nothing && ends)
        return "see the end of its output: it waited for what did not come, or was done and did "
               "not end";
    if (nothing)
        return "see what it waited for: a lock, a file, the network, an input";
    if (ends)
        return "end the job when its GPU work is done, or do the rest in a job without GPUs "
               "(--dependency=afterok)";
    if (work_of(g, l->from_ms, s->from_ms - 1, true) < LITTLE)
        return "prepare data in a job without GPUs, and start this one after it "
               "(--dependency=afterok)";
    return "see what the program did then; what needs no GPU can be a job of its own";
}

/* Long enough to be told; what comes regularly, as dips, is told with those. */
static bool is_long(const struct look *l, const struct look_gpu *g, const struct idle *d)
{
    int64_t ms = d->longest.to_ms - d->longest.from_ms;
    bool regular = false;
    for (size_t p = 0; p < l->nphases; p++)
        regular = regular || g->dips[p].every_ms;
    return ms >= IDLE_MS &&
           (regular ? ms : d->all_ms) * 100 >= (l->to_ms - l->from_ms) * IDLE_PERCENT;
}

static bool was_suspended(const struct look *l, const struct stretch *s)
{
    return l->job->suspended_us / 1000 * 100 >= (s->to_ms - s->from_ms) * SUSPENDED &&
           cpus_idle(l, s);
}

void look_idle(struct look *l)
{
    bool *mark = marks_new(l);
    const struct look_gpu *of = NULL;
    struct idle first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        if (!g->work || g->unused || g->late || g->f.n < READING_SAMPLES)
            continue;
        struct idle d = idle_find(g->work);
        g->idled = is_long(l, g, &d);
        mark[i] = g->idled && !was_suspended(l, &d.longest);
        if (mark[i] && !of) {
            first = d;
            of = g;
        }
    }
    if (of) {
        struct str text = STR_INIT, next = STR_INIT;
        bool beside = others_work(l, mark, &first.longest), nothing = cpus_idle(l, &first.longest);
        say_gpus(l, mark, &text);
        str_add(&text, " did nothing ");
        if (first.times > 1) {
            str_addf(&text, "%zu times for 10 min or longer, ", first.times);
            say_span(first.all_ms, &text);
            str_add(&text, " in all, the longest ");
        }
        str_add(&text, "from ");
        say_times(l, first.longest.from_ms, first.longest.to_ms, &text);
        str_add(&text, ", ");
        say_span(first.longest.to_ms - first.longest.from_ms, &text);
        str_add(&text, beside ? ", while others worked" : nothing ? ", nor did its CPUs" : "");
        str_add(&next, idle_next(l, of, &first, beside, nothing));
        say_found(l, FOUND_GPU_IDLE, &text, &next);
    }
    free(mark);
}

/* ---- for most of the time ---- */

struct look_standing {
    double percent, else_mean; /* of the samples; work in the others */
    double cpus, has;          /* at work while it stands; 0 = not known */
};

static void standing_find(const struct look *l, const struct look_gpu *g, struct look_standing *s)
{
    const struct look_node *node = look_node_of(l, g->node);
    size_t stands = 0, cpus = 0, at = 0, n = g->work->at.n;
    *s = (struct look_standing){0};
    for (size_t i = 0; i < n; i++) {
        const struct moment *m = &g->work->at.v[i];
        if (m->v >= LITTLE) {
            s->else_mean += m->v;
            continue;
        }
        double cpu = node ? look_near(node->cpu, &at, m->at_ms) : -1;
        stands++;
        s->cpus += cpu > 0 ? cpu / 100 : 0;
        cpus += cpu >= 0;
    }
    s->percent = n ? 100.0 * (double)stands / (double)n : 0;
    s->else_mean = n > stands ? s->else_mean / (double)(n - stands) : 0;
    s->cpus = cpus ? s->cpus / (double)cpus : 0;
    s->has = cpus && node ? node->cpus : 0;
}

/* One of them works, and the others stand. */
static bool take_turns(const struct look *l, const bool *mark)
{
    size_t *at = xcalloc(l->gpu.n, sizeof *at), first = 0, alone = 0, several = 0;
    while (!mark[first])
        first++;
    const struct curve *c = l->gpu.v[first].work;
    for (size_t i = 0; i < c->at.n; i++) {
        size_t busy = 0;
        for (size_t k = 0; k < l->gpu.n; k++)
            busy += mark[k] && look_near(l->gpu.v[k].work, &at[k], c->at.v[i].at_ms) >= LITTLE;
        alone += busy == 1;
        several += busy > 1;
    }
    free(at);
    return marks_count(l, mark) > 1 && several * 100 <= c->at.n * (100 - TURNS_PERCENT) &&
           alone * 100 >= c->at.n * TURNS_LEAST;
}

static void little_next(struct look *l, const struct look_standing *s, struct str *text,
                        struct str *next)
{
    if (s->has >= 2 && s->cpus >= CPUS_FULL * s->has) {
        str_add(text, "; ");
        say_number(s->cpus < s->has ? s->cpus : s->has, text);
        str_addf(text, " of its %.0f CPUs were full while it stood", s->has);
        str_add(next, "more CPUs for what they do meanwhile (-c), both at the same time, or a part "
                      "of a GPU (an MIG instance or a shard)");
        l->needs_cpus = true;
    } else if (s->has >= 2 && s->cpus > 0.8 && s->cpus < 1.3) {
        str_add(text, "; ");
        say_number(s->cpus, text);
        str_addf(text, " of its %.0f CPUs was busy while it stood", s->has);
        str_add(next, "do that part on all its CPUs (processes, workers), or take a part of a GPU "
                      "(an MIG instance or a shard)");
        l->needs_cpus = true;
    } else {
        str_add(next, "a part of a GPU would do (an MIG instance or a shard, where the site has "
                      "them)");
    }
}

/* Short bursts, and nothing between. */
void look_little(struct look *l)
{
    bool *mark = marks_new(l);
    double mean = 0;
    struct look_standing s = {0}, first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        if (!g->work || g->unused || g->hangs || g->late || look_is_low(g) ||
            g->f.n < READING_SAMPLES || g->f.mean >= STANDS_MEAN)
            continue;
        standing_find(l, g, &s);
        mark[i] = g->f.mean < LITTLE || (s.percent >= STANDS && !g->idled);
        mean += mark[i] ? g->f.mean : 0;
        if (mark[i] && first.percent <= 0)
            first = s;
    }
    size_t n = marks_count(l, mark);
    if (n && take_turns(l, mark)) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text,
                 " took turns: each was busy %.0f %% in the mean, and stood while another "
                 "worked",
                 mean / (double)n);
        str_add(&next, LOOK_TURNS_NEXT);
        say_found(l, FOUND_GPU_DIPS, &text, &next);
    } else if (n) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        if (mean / (double)n < LITTLE) {
            str_addf(&text, " %s busy in ", n > 1 ? "were" : "was");
            say_number(mean / (double)n, &text);
            str_add(&text, " % of the time, in bursts");
        } else {
            str_addf(&text, " stood in %.0f %% of the time, and %s busy %.0f %% else",
                     first.percent, n > 1 ? "were" : "was", first.else_mean);
        }
        little_next(l, &first, &text, &next);
        say_found(l, FOUND_GPU_LOW, &text, &next);
    }
    free(mark);
}
