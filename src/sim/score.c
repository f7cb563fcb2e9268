/* remuda-sim score: the scoreboard of scheduling quality, one command and one JSON. Every workload is shaken (arrivals moved by up to a minute,
 * seeded) under EASY in order of arrival and under the policy in question, and what one is worth to the other is the mean over the seeds. */
#include "base/alloc.h"
#include "base/str.h"
#include "sim/metrics.h"
#include "sim/packing.h"
#include "sim/sim.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 16
#define SHAKE_S   60

struct figures {
    double slow, slow_dev, wait, max, p99, area, util, pass_us; /* means over seeds */
};

struct ratios {
    double slow, max, p99, area, util;
};

struct scoring {
    const char *folder;
    struct ref_policy policy;
    const char *settings;
    unsigned seeds;
    struct str json;
    double slow[FILES_MAX], area[FILES_MAX];
    size_t n;
    bool gates;
};

static const char *const open_traces[] = {"philly-2017-sep-oct", "philly-6c71a0-oct", "philly-b436b2-oct"};

static bool trace_open(const struct scoring *s, const char *name, struct trace *t)
{
    struct err err = {0};
    struct str path = STR_INIT;
    str_addf(&path, "%s/%s.swf.gz", s->folder, name);
    bool ok = trace_read(str_text(&path), t, &err);
    if (ok)
        trace_clean(t, t->max_procs);
    else
        fprintf(stderr, "remuda-sim score: %s\n", err.text);
    str_done(&path);
    return ok;
}

static void figures_add(struct figures *f, const struct metrics *m, double *square)
{
    f->slow += m->bsld.mean;
    *square += m->bsld.mean * m->bsld.mean;
    f->wait += m->wait.mean;
    f->max += m->wait.max;
    f->p99 += m->wait.p99;
    f->area += m->wait.area;
    f->util += m->util_to_last_submit;
    f->pass_us += m->pass_us.mean;
}

static void figures_mean(struct figures *f, double n, double square)
{
    double *all[] = {&f->slow, &f->wait, &f->max, &f->p99, &f->area, &f->util, &f->pass_us};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        *all[i] /= n;
    double variance = n > 1 ? (square - n * f->slow * f->slow) / (n - 1) : 0;
    f->slow_dev = variance > 0 ? sqrt(variance) : 0;
}

/* Seeds 1 … n; none: the file as it is. */
static bool shaken(const struct scoring *s, const char *name, const struct replay_setup *setup,
                   struct figures *ret)
{
    double square = 0;
    unsigned n = s->seeds ? s->seeds : 1;
    *ret = (struct figures){0};
    for (unsigned seed = 1; seed <= n; seed++) {
        struct trace t;
        struct replay_result r;
        struct metrics m;
        struct err err = {0};
        if (!trace_open(s, name, &t))
            return false;
        if (s->seeds)
            trace_shake(&t, seed, SHAKE_S);
        bool ok = replay_run(&t, setup, &r, &err);
        if (ok) {
            metrics_of(&t, &setup->machine, &r, &m);
            figures_add(ret, &m, &square);
            replay_done(&r);
        } else {
            fprintf(stderr, "remuda-sim score: %s: %s\n", name, err.text);
        }
        trace_done(&t);
        if (!ok)
            return false;
    }
    figures_mean(ret, n, square);
    return true;
}

static struct replay_setup setup_of(const struct scoring *s, const struct ref_policy *p,
                                    const struct trace *t)
{
    return (struct replay_setup){.machine = {.procs = t->max_procs},
                                 .policy = *p,
                                 .rule = RULE_BATCH,
                                 .settings = p == &s->policy ? s->settings : NULL};
}

/* S3 */
static bool gate(const struct ratios *r)
{
    return r->max <= 2 && r->p99 <= 1.25 && r->area <= 1.25 && r->util >= 0.995;
}

/* S2, S3 and S9 of one workload. */
static bool order_score(struct scoring *s, const char *name)
{
    struct trace t;
    struct figures easy, ours;
    if (!trace_open(s, name, &t))
        return false;
    struct replay_setup base = setup_of(s, ref_policy_named("easy"), &t), mine = setup_of(s, &s->policy, &t);
    trace_done(&t);
    if (!shaken(s, name, &base, &easy) || !shaken(s, name, &mine, &ours))
        return false;
    struct ratios r = {ours.slow / easy.slow, ours.max / easy.max, ours.p99 / easy.p99, ours.area / easy.area,
                       ours.util / easy.util};
    bool ok = gate(&r);
    s->slow[s->n] = r.slow;
    s->area[s->n++] = r.area;
    s->gates &= ok;
    printf("S2 %-20s slowdown %7.3f +- %.3f (EASY %.3f +- %.3f): %.3f of EASY's; mean wait %.0f s (%.0f)\n",
           name, ours.slow, ours.slow_dev, easy.slow, easy.slow_dev, r.slow, ours.wait, easy.wait);
    printf("S3 %-20s longest wait x %.2f, p99 x %.2f, by area x %.3f, use x %.4f: %s\n", name, r.max, r.p99,
           r.area, r.util, ok ? "holds" : "FAILS");
    printf("S9 %-20s %.1f us of CPU a pass, whole queue considered\n", name, ours.pass_us);
    fflush(stdout);
    str_addf(
        &s->json,
        "%s{\"trace\": \"%s\", \"bsld\": %.4f, \"bsld_dev\": %.4f, \"bsld_easy\": %.4f, \"ratio\": %.4f, "
        "\"max\": %.3f, \"p99\": %.3f, \"area\": %.4f, \"util\": %.5f, \"gates\": %s, \"pass_us\": %.1f}",
        s->n > 1 ? ", " : "", name, ours.slow, ours.slow_dev, easy.slow, r.slow, r.max, r.p99, r.area, r.util,
        ok ? "true" : "false", ours.pass_us);
    return true;
}

static double geo_mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log(v[i]);
    return n ? exp(sum / (double)n) : 0;
}

/* S6: whole nodes against a flat pool, same policy. */
static bool tax_score(struct scoring *s, const char *name, bool first)
{
    struct trace t;
    struct figures flat, nodes;
    if (!trace_open(s, name, &t))
        return false;
    struct replay_setup a = setup_of(s, &s->policy, &t), b = a;
    b.machine.nodes = t.max_nodes;
    b.machine.node_procs = t.gpus_per_node;
    trace_done(&t);
    if (!shaken(s, name, &a, &flat) || !shaken(s, name, &b, &nodes))
        return false;
    printf("S6 %-20s mean wait %.0f s in nodes, %.0f flat: x %.3f; %.1f us a pass in nodes\n", name,
           nodes.wait, flat.wait, nodes.wait / flat.wait, nodes.pass_us);
    fflush(stdout);
    str_addf(&s->json, "%s{\"trace\": \"%s\", \"tax\": %.4f, \"pass_us\": %.1f}", first ? "" : ", ", name,
             nodes.wait / flat.wait, nodes.pass_us);
    return true;
}

/* S7 */
static bool packing_score(struct scoring *s)
{
    struct packing_result best, least;
    struct err err = {0};
    struct str nodes = STR_INIT, tasks = STR_INIT;
    unsigned seeds = s->seeds ? s->seeds : 1;
    str_addf(&nodes, "%s/openb-nodes.csv.gz", s->folder);
    str_addf(&tasks, "%s/openb-pods-default.csv.gz", s->folder);
    bool ok = packing_run(str_text(&nodes), str_text(&tasks), PACK_BEST_FIT, seeds, &best, &err) &&
              packing_run(str_text(&nodes), str_text(&tasks), PACK_LEAST_LOST, seeds, &least, &err);
    str_done(&nodes);
    str_done(&tasks);
    if (!ok) {
        fprintf(stderr, "remuda-sim score: %s\n", err.text);
        return false;
    }
    printf("S7 openb                GPUs allocated at full demand: %.2f %% +- %.2f by least lost capacity, "
           "%.2f %% by best fit\n",
           least.percent, least.deviation, best.percent);
    str_addf(&s->json, "], \"S7\": {\"least_lost\": %.3f, \"deviation\": %.3f, \"best_fit\": %.3f}",
             least.percent, least.deviation, best.percent);
    return true;
}

static bool score(struct scoring *s)
{
    str_addf(&s->json, "{\"policy\": \"%s\", \"seeds\": %u, \"S2\": [", s->policy.name, s->seeds);
    for (size_t i = 0; i < ARRAY_LEN(open_traces); i++)
        if (!order_score(s, open_traces[i]))
            return false;
    double q = geo_mean(s->slow, s->n), area = geo_mean(s->area, s->n);
    s->gates &= area <= 1.10;
    printf("S2 Q over the Philly traces %.3f; S3 area-weighted wait x %.3f: gates %s\n", q, area,
           s->gates ? "hold" : "FAIL");
    str_addf(&s->json, "], \"Q_philly\": %.4f, \"area\": %.4f, \"gates\": %s, \"S6\": [", q, area,
             s->gates ? "true" : "false");
    return tax_score(s, open_traces[1], true) && tax_score(s, open_traces[2], false) && packing_score(s);
}

int sim_score(int argc, char **argv)
{
    static const struct option longs[] = {{"traces", 1, 0, 't'}, {"policy", 1, 0, 'p'}, {"seeds", 1, 0, 'n'},
                                          {"set", 1, 0, 's'},    {"json", 1, 0, 'J'},   {0}};
    const char *folder = getenv("REMUDA_TRACES"), *json = NULL;
    struct scoring s = {.folder = folder ? folder : "../shared/traces",
                        .policy = *ref_policy_named("default"),
                        .seeds = 12,
                        .gates = true};
    struct str settings = STR_INIT;
    int c;
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 't')
            s.folder = optarg;
        else if (c == 'p' && ref_policy_named(optarg))
            s.policy = *ref_policy_named(optarg);
        else if (c == 'n')
            s.seeds = (unsigned)strtoul(optarg, NULL, 10);
        else if (c == 's')
            str_addf(&settings, "%s\n", optarg);
        else if (c == 'J')
            json = optarg;
        else {
            fputs("Usage: remuda-sim score [--traces FOLDER] [--policy NAME] [--set KEY=VALUE] [--seeds N] "
                  "[--json FILE]\n"
                  "The scoreboard on the Philly traces and openb: S2 slowdown against EASY, S3 gates, S6 "
                  "placement tax,\n"
                  "S7 packing, S9 time a pass. N shaken arrivals each (12; 0 = the files as they are). S1 is "
                  "remuda-sim check.\n",
                  stderr);
            str_done(&settings);
            return 2;
        }
    }
    s.settings = settings.len ? str_text(&settings) : NULL;
    bool ok = score(&s);
    FILE *to = ok && json ? fopen(json, "w") : NULL;
    if (to) {
        fprintf(to, "%s}\n", str_text(&s.json));
        fclose(to);
    }
    str_done(&s.json);
    str_done(&settings);
    return ok && (!json || to) ? 0 : 1;
}
