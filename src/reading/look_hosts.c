/* CPUs and disks of the job's nodes, and what was not sampled. */
#include "base/plain.h"
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define UNUSED_PART 0.5 /* of its CPUs */
#define FEW_OF      4.0 /* CPUs; of fewer it is not worth a job */
#define FEW_PART    0.15
#define FEW_MS      INT64_C(300000)
#define FEW_PERCENT 15   /* of the job */
#define ROOM        1.2  /* what is asked for next time */
#define TOUCHED     0.01 /* of what the busiest node did */
#define UNEVEN_PART 0.5
#define AT_WORK     0.2 /* of the CPUs of the busiest node */
#define FULL        0.9
#define PSI_CPU     40.0
#define PSI_IO      30.0
#define GAP_MS      INT64_C(60000)
#define CLOCK_MS    INT64_C(120000)
#define GAP_PERCENT 5

void look_node_add(const struct look *l, const char *node, struct str *out)
{
    if (l->node.n < 2)
        return;
    str_add(out, " of ");
    str_add_plain(out, node);
}

/* ---- CPUs ---- */

struct cpus {
    double most, mean, usual, cpus; /* CPUs at work, of all nodes; usual: 98 % of the time below */
    size_t samples, nodes;
};

static void cpus_sum(const struct look *l, struct cpus *s)
{
    *s = (struct cpus){.samples = SIZE_MAX};
    for (size_t i = 0; i < l->node.n; i++) {
        const struct curve *c = l->node.v[i].cpu;
        struct figures f;
        if (!c)
            continue;
        double *v = xcalloc(c->at.n + 1, sizeof *v);
        for (size_t k = 0; k < c->at.n; k++)
            v[k] = c->at.v[k].v;
        curve_figures(c, 0, INT64_MAX, &f);
        s->usual += quantile(v, c->at.n, 98) / 100;
        s->most += f.most / 100;
        s->mean += f.mean / 100;
        s->samples = f.n < s->samples ? f.n : s->samples;
        s->nodes++;
        free(v);
    }
    s->cpus = l->job->alloc_cpus;
}

/* Of a job without GPUs: a long part of it that used few of its CPUs. */
static void few_cpus_say(struct look *l)
{
    int64_t all = l->to_ms - l->from_ms;
    double cpus = l->job->alloc_cpus;
    for (size_t p = 0; p < l->nphases && l->nphases > 1 && !l->phases_of_gpus; p++) {
        const struct stretch *s = &l->phase[p];
        int64_t ms = s->to_ms - s->from_ms;
        double used = l->phase_mean[p] / 100 * cpus;
        if (cpus < FEW_OF || ms < FEW_MS || ms * 100 < all * FEW_PERCENT || used > FEW_PART * cpus)
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        str_addf(&text, "in phase %zu (", p + 1);
        say_times(l, s->from_ms, s->to_ms + 1, &text);
        str_add(&text, ", ");
        say_span(ms, &text);
        str_addf(&text, ") %.1f of its %.0f CPUs were busy", used, cpus);
        str_add(&next, "do this part in a job of its own with fewer CPUs (--dependency=afterok), "
                       "or on all of them");
        say_found(l, FOUND_CPUS_UNUSED, &text, &next);
        return;
    }
}

static void cpus_say(struct look *l)
{
    struct cpus s;
    struct str text = STR_INIT, next = STR_INIT;
    cpus_sum(l, &s);
    int64_t need = (int64_t)(s.usual * ROOM + 0.999);
    need = need > 0 ? need : 1;
    if (l->needs_cpus || !s.nodes || s.nodes < (size_t)l->job->alloc_nodes ||
        s.samples < READING_SAMPLES || s.usual > UNUSED_PART * s.cpus || s.cpus < 2 ||
        need >= (int64_t)s.cpus) {
        few_cpus_say(l);
        return;
    }
    if (s.usual < 0.05)
        str_addf(&text, "its %.0f CPUs did next to nothing", s.cpus);
    else
        str_addf(&text, "of its %.0f CPUs at most %.1f were busy at a time", s.cpus, s.usual);
    if (s.most > s.usual * 1.5 + 0.5)
        str_addf(&text, " but for moments (%.1f)", s.most);
    str_addf(&next, "ask for fewer (-c, -n): %lld would do", (long long)need);
    say_found(l, FOUND_CPUS_UNUSED, &text, &next);
}

static double mean_of(const struct curve *c)
{
    struct figures f = {0};
    if (c)
        curve_figures(c, 0, INT64_MAX, &f);
    return f.n >= READING_SAMPLES ? f.mean : -1;
}

static void cpus_short_say(struct look *l)
{
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        double waits = mean_of(n->psi_cpu), used = mean_of(n->cpu) / 100;
        if (waits < PSI_CPU || n->cpus <= 0 || used < FULL * n->cpus)
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        str_addf(&text, "its %.0f CPUs", n->cpus);
        look_node_add(l, n->name, &text);
        str_addf(&text, " were full, and what it runs waited for one in %.0f %% of the time",
                 waits);
        str_add(&next, "more CPUs (-c), or fewer threads and workers (OMP_NUM_THREADS)");
        say_found(l, FOUND_CPUS_SHORT, &text, &next);
        return;
    }
}

/* ---- nodes beside each other ---- */

static double busiest(const struct look *l, double *ret_cpus)
{
    double most = -1;
    *ret_cpus = 0;
    for (size_t i = 0; i < l->node.n; i++) {
        double mean = mean_of(l->node.v[i].cpu);
        if (mean > most) {
            most = mean;
            *ret_cpus = l->node.v[i].cpus;
        }
    }
    return most / 100;
}

/* Nodes whose GPUs are compared are not compared by their CPUs. */
static void nodes_say(struct look *l)
{
    double cpus, most = busiest(l, &cpus), sum = 0;
    const char *first = NULL;
    size_t low = 0, none = 0;
    for (size_t i = 0; i < l->node.n; i++) {
        double mean = mean_of(l->node.v[i].cpu) / 100;
        if (mean < 0 || mean >= UNEVEN_PART * most)
            continue;
        first = first ? first : l->node.v[i].name;
        none += mean < TOUCHED * most;
        sum += mean;
        low++;
    }
    if (l->node.n < 2 || l->gpu.n || !low || most < AT_WORK * cpus || most < 0.5)
        return;
    struct str text = STR_INIT, next = STR_INIT;
    str_add_plain(&text, first);
    if (low > 1)
        str_addf(&text, " and %zu more node%s", low - 1, low > 2 ? "s" : "");
    if (none == low) {
        str_addf(&text, " did nothing, while the busiest node used %.1f CPUs", most);
        str_add(&next, "start the program on each node with srun, or ask for one node (-N 1)");
    } else {
        str_addf(&text, " used %.1f CPUs in the mean, the busiest node %.1f", sum / (double)low,
                 most);
        str_add(&next, "the work is not shared evenly between the nodes");
    }
    say_found(l, FOUND_NODES_UNEVEN, &text, &next);
}

/* ---- disks ---- */

static void rate_add(double kib, struct str *text)
{
    if (kib < 1)
        str_add(text, "nothing");
    else if (kib < 1000)
        str_addf(text, "%.0f KiB/s", kib);
    else {
        say_mib(kib / 1024, text);
        str_add(text, "/s");
    }
}

static void disks_say(struct look *l)
{
    for (size_t i = 0; i < l->node.n; i++) {
        const struct look_node *n = &l->node.v[i];
        double waits = mean_of(n->psi_io), read = mean_of(n->read), write = mean_of(n->write);
        if (waits < PSI_IO)
            continue;
        struct str text = STR_INIT, next = STR_INIT;
        str_addf(&text, "it waited for disks in %.0f %% of the time", waits);
        if (read >= 0 && write >= 0) {
            str_add(&text, ", and read ");
            rate_add(read, &text);
            str_add(&text, ", wrote ");
            rate_add(write, &text);
        }
        look_node_add(l, n->name, &text);
        str_add(&next, "copy the data to the node's own disk first ($TMPDIR), or into fewer, "
                       "larger files");
        say_found(l, FOUND_DISKS, &text, &next);
        return;
    }
}

/* ---- what is not known ---- */

struct gap {
    struct stretch longest;
    int64_t all_ms;
    const struct curve *of;
};

static void gap_take(struct gap *g, const struct curve *c, int64_t from_ms, int64_t to_ms)
{
    if (to_ms - from_ms <= 5 * c->gap_ms || to_ms - from_ms < GAP_MS)
        return;
    g->all_ms += to_ms - from_ms;
    if (to_ms - from_ms > g->longest.to_ms - g->longest.from_ms)
        g->longest = (struct stretch){from_ms, to_ms};
}

/* Of a GPU until the end of its job as well: a step may have ended before. */
static struct gap gap_of(const struct look *l, const struct curve *c, bool gpu)
{
    struct gap g = {.of = c};
    for (size_t k = 1; k < c->at.n; k++)
        gap_take(&g, c, c->at.v[k - 1].at_ms, c->at.v[k].at_ms);
    if (gpu && c->at.n && job_state_over((enum job_state)l->job->state))
        gap_take(&g, c, c->at.v[c->at.n - 1].at_ms, l->job->end_us / 1000);
    return g;
}

/* Samples have the time of their node: those of a time in which the job did not run. */
static bool clock_say(struct look *l)
{
    const struct job *j = l->job;
    int64_t start_ms = j->start_us / 1000, end_ms = j->end_us / 1000;
    if (job_state_over((enum job_state)j->state) && end_ms - start_ms < GAP_MS)
        return false;
    for (size_t i = 0; i < l->node.n; i++) {
        const struct curve *c = l->node.v[i].cpu;
        if (!c || !c->at.n || !start_ms)
            continue;
        int64_t from_ms = c->at.v[0].at_ms, to_ms = c->at.v[c->at.n - 1].at_ms;
        if (from_ms >= start_ms - CLOCK_MS &&
            (!job_state_over((enum job_state)j->state) || to_ms <= end_ms + CLOCK_MS))
            continue;
        struct str text = STR_INIT;
        str_add(&text, "the clock of ");
        str_add_plain(&text, l->node.v[i].name);
        str_add(&text, " was wrong, or was set meanwhile: by it samples came from ");
        say_times(l, from_ms, to_ms, &text);
        str_add(&text, ", and the job began at ");
        civil_format(j->start_us, j->start_us, "%H:%M", l->zone, &text);
        str_add(&text, "; times that are named here may be wrong");
        say_found(l, FOUND_GAP, &text, NULL);
        return true;
    }
    if (l->set_back) {
        struct str text = STR_INIT;
        str_add(&text, "the clock of ");
        str_add_plain(&text, l->set_back->key.node);
        str_add(&text,
                " was set back meanwhile: times of samples are mixed, and what came when is not "
                "told");
        say_found(l, FOUND_GAP, &text, NULL);
    }
    return l->set_back != NULL;
}

static void gap_say(struct look *l)
{
    struct gap most = {0};
    for (size_t i = 0; i < l->gpu.n + l->node.n; i++) {
        bool gpu = i < l->gpu.n;
        const struct curve *c = gpu ? l->gpu.v[i].work : l->node.v[i - l->gpu.n].cpu;
        struct gap g = {0};
        if (c)
            g = gap_of(l, c, gpu);
        most = g.all_ms > most.all_ms ? g : most;
    }
    if (l->to->samples < READING_SAMPLES || clock_say(l) || !most.of ||
        most.all_ms * 100 < (l->to_ms - l->from_ms) * GAP_PERCENT)
        return;
    struct str text = STR_INIT;
    bool gpu = most.of->value->source == SERIES_DEVICE,
         one = most.all_ms == most.longest.to_ms - most.longest.from_ms;
    str_add(&text, "nothing is known of ");
    if (gpu)
        str_addf(&text, "GPU %d of ", most.of->key.device);
    str_add_plain(&text, most.of->key.node);
    str_add(&text, one ? " from " : " for ");
    if (!one) {
        say_span(most.all_ms, &text);
        str_add(&text, ", the longest from ");
    }
    say_times(l, most.longest.from_ms, most.longest.to_ms, &text);
    if (one) {
        str_add(&text, ", ");
        say_span(most.all_ms, &text);
    }
    str_add(&text, gpu ? ": no samples came" : ": no samples came, or no step ran");
    say_found(l, FOUND_GAP, &text, NULL);
}

void look_hosts(struct look *l)
{
    cpus_say(l);
    cpus_short_say(l);
    nodes_say(l);
    look_memory(l);
    disks_say(l);
    gap_say(l);
}
