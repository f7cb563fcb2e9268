/* CPUs and disks of the job's nodes, and what was not sampled. */
#include "base/plain.h"
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define UNUSED_PART 0.5  /* of its CPUs */
#define ROOM        1.2  /* what is asked for next time */
#define TOUCHED     0.01 /* of what the busiest node did */
#define UNEVEN_PART 0.5
#define AT_WORK     0.2 /* of the CPUs of the busiest node */
#define FULL        0.9
#define PSI_CPU     40.0
#define PSI_IO      30.0
#define GAP_MS      INT64_C(60000)
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

static void cpus_say(struct look *l)
{
    struct cpus s;
    struct str text = STR_INIT, next = STR_INIT;
    cpus_sum(l, &s);
    int64_t need = (int64_t)(s.usual * ROOM + 0.999);
    need = need > 0 ? need : 1;
    if (l->needs_cpus || !s.nodes || s.nodes < (size_t)l->job->alloc_nodes ||
        s.samples < READING_SAMPLES || s.usual > UNUSED_PART * s.cpus || s.cpus < 2 ||
        need >= (int64_t)s.cpus)
        return;
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
            say_mib(read / 1024, &text);
            str_add(&text, "/s, wrote ");
            say_mib(write / 1024, &text);
            str_add(&text, "/s");
        }
        look_node_add(l, n->name, &text);
        str_add(&next, "copy the data to the node's own disk first ($TMPDIR), or into fewer, "
                       "larger files");
        say_found(l, FOUND_DISKS, &text, &next);
        return;
    }
}

/* ---- what is not known ---- */

static void gap_say(struct look *l)
{
    struct stretch longest = {0};
    int64_t all = 0;
    const char *node = NULL;
    for (size_t i = 0; i < l->gpu.n + l->node.n; i++) {
        bool gpu = i < l->gpu.n;
        const struct curve *c = gpu ? l->gpu.v[i].work : l->node.v[i - l->gpu.n].cpu;
        int64_t sum = 0;
        struct stretch most = {0};
        for (size_t k = 1; c && k < c->at.n; k++) {
            int64_t from = c->at.v[k - 1].at_ms, to = c->at.v[k].at_ms;
            if (to - from <= 5 * c->gap_ms || to - from < GAP_MS)
                continue;
            sum += to - from;
            if (to - from > most.to_ms - most.from_ms)
                most = (struct stretch){from, to};
        }
        if (sum > all) {
            all = sum;
            longest = most;
            node = c->key.node;
        }
    }
    if (!node || all * 100 < (l->to_ms - l->from_ms) * GAP_PERCENT ||
        l->to->samples < READING_SAMPLES)
        return;
    struct str text = STR_INIT;
    str_add(&text, "nothing is known of ");
    say_span(all, &text);
    str_add(&text, " on ");
    str_add_plain(&text, node);
    str_add(&text, ", most of it ");
    say_times(l, longest.from_ms, longest.to_ms, &text);
    str_add(&text, ": no samples came");
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
