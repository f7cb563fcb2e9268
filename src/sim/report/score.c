/* remuda-sim score: the scoreboard of scheduling quality, one command and one JSON. Every workload
 * is shaken (arrivals moved by up to a minute, seeded) under EASY in order of arrival and under the
 * policy in question, and what one is worth to the other is the mean over the seeds. */
#include "sim/report/score.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/str.h"
#include "sim/sim.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAKE_S 60

struct ratios {
    double slow, max, p99, area, util;
};

const char *const score_traces[3] = {"philly-2017-sep-oct", "philly-6c71a0-oct",
                                     "philly-b436b2-oct"};

bool score_trace(const struct scoring *s, const char *name, struct trace *t)
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

static void figures_add(struct score_figures *f, const struct sim_metrics *m, double fragmented,
                        double *square)
{
    f->slow += m->bsld.mean;
    *square += m->bsld.mean * m->bsld.mean;
    f->wait += m->wait.mean;
    f->max += m->wait.max;
    f->p99 += m->wait.p99;
    f->area += m->wait.area;
    f->util += m->util_to_last_submit;
    f->pass_us += m->pass_us.mean;
    f->fragmented += fragmented;
}

static void figures_mean(struct score_figures *f, double n, double square)
{
    double *all[] = {&f->slow, &f->wait, &f->max,     &f->p99,
                     &f->area, &f->util, &f->pass_us, &f->fragmented};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        *all[i] /= n;
    double variance = n > 1 ? (square - n * f->slow * f->slow) / (n - 1) : 0;
    f->slow_dev = variance > 0 ? sqrt(variance) : 0;
}

/* Seeds 1 … n; none: the file as it is. */
bool score_shaken(const struct scoring *s, const char *name, const struct replay_setup *setup,
                  struct score_figures *ret)
{
    double square = 0;
    unsigned n = s->seeds ? s->seeds : 1;
    *ret = (struct score_figures){0};
    for (unsigned seed = 1; seed <= n; seed++) {
        struct trace t;
        struct replay_result r;
        struct sim_metrics m;
        struct err err = {0};
        if (!score_trace(s, name, &t))
            return false;
        if (s->seeds)
            trace_shake(&t, seed, SHAKE_S);
        bool ok = replay_run(&t, setup, &r, &err);
        if (ok) {
            metrics_of(&t, &setup->machine, &r, &m);
            figures_add(ret, &m, r.fragmented, &square);
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

struct replay_setup score_setup(const struct scoring *s, const struct ref_policy *p,
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

static const char *word(bool ok)
{
    return ok ? "pass" : "FAIL";
}

/* S2, S3 and S9 of one workload. */
static bool order_score(struct scoring *s, const char *name)
{
    struct trace t;
    struct score_figures easy, ours;
    if (!score_trace(s, name, &t))
        return false;
    struct replay_setup base = score_setup(s, ref_policy_named("easy"), &t),
                        mine = score_setup(s, &s->policy, &t);
    trace_done(&t);
    if (!score_shaken(s, name, &base, &easy) || !score_shaken(s, name, &mine, &ours))
        return false;
    struct ratios r = {ours.slow / easy.slow, ours.max / easy.max, ours.p99 / easy.p99,
                       ours.area / easy.area, ours.util / easy.util};
    bool ok = gate(&r);
    s->slow[s->n] = r.slow;
    s->area[s->n++] = r.area;
    s->gates &= ok;
    printf("S2 %-20s slowdown %7.3f +- %.3f (EASY %.3f +- %.3f): %.3f of EASY's; mean wait %.0f s "
           "(%.0f)\n",
           name, ours.slow, ours.slow_dev, easy.slow, easy.slow_dev, r.slow, ours.wait, easy.wait);
    printf("S3 %-20s longest wait x %.2f %s, p99 x %.2f %s, by area x %.3f %s, use x %.4f %s: "
           "%s\n",
           name, r.max, word(r.max <= 2), r.p99, word(r.p99 <= 1.25), r.area, word(r.area <= 1.25),
           r.util, word(r.util >= 0.995), ok ? "holds" : "FAILS");
    printf("S9 %-20s %.1f us of CPU a pass, whole queue considered\n", name, ours.pass_us);
    fflush(stdout);
    str_addf(&s->json,
             "%s{\"trace\": \"%s\", \"bsld\": %.4f, \"bsld_dev\": %.4f, \"bsld_easy\": %.4f, "
             "\"ratio\": %.4f, "
             "\"max\": %.3f, \"p99\": %.3f, \"area\": %.4f, \"util\": %.5f, \"gates\": %s, "
             "\"pass_us\": %.1f}",
             s->n > 1 ? ", " : "", name, ours.slow, ours.slow_dev, easy.slow, r.slow, r.max, r.p99,
             r.area, r.util, ok ? "true" : "false", ours.pass_us);
    return true;
}

double geo_mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        ASSERT(v[i] > 0);
        sum += log(v[i]);
    }
    return n ? exp(sum / (double)n) : 0;
}

/* S6: whole nodes against a flat pool, same policy. */
static bool tax_score(struct scoring *s, const char *name, bool first)
{
    struct trace t;
    struct score_figures flat, nodes;
    if (!score_trace(s, name, &t))
        return false;
    struct replay_setup a = score_setup(s, &s->policy, &t), b = a;
    b.machine.nodes = t.max_nodes;
    b.machine.node_procs = t.gpus_per_node;
    trace_done(&t);
    if (!score_shaken(s, name, &a, &flat) || !score_shaken(s, name, &b, &nodes))
        return false;
    printf("S6 %-20s mean wait %.0f s in nodes, %.0f flat: x %.3f; %.1f us a pass in nodes; of "
           "what was idle "
           "while jobs waited %.1f %% on "
           "nodes partly busy\n",
           name, nodes.wait, flat.wait, nodes.wait / flat.wait, nodes.pass_us,
           100 * nodes.fragmented);
    fflush(stdout);
    str_addf(&s->json,
             "%s{\"trace\": \"%s\", \"tax\": %.4f, \"fragmented\": %.4f, \"pass_us\": %.1f}",
             first ? "" : ", ", name, nodes.wait / flat.wait, nodes.fragmented, nodes.pass_us);
    return true;
}

/* S2, S3 and S9 of all. */
static bool orders_score(struct scoring *s)
{
    score_part(s, "S2");
    str_add(&s->json, "[");
    for (size_t i = 0; i < ARRAY_LEN(score_traces); i++)
        if (!order_score(s, score_traces[i]))
            return false;
    double q = geo_mean(s->slow, s->n), area = geo_mean(s->area, s->n);
    s->gates &= area <= 1.10;
    printf("S2 Q over the Philly traces %.3f; S3 area-weighted wait x %.3f: gates %s\n", q, area,
           s->gates ? "hold" : "FAIL");
    str_addf(&s->json, "], \"Q_philly\": %.4f, \"area\": %.4f, \"gates\": %s", q, area,
             s->gates ? "true" : "false");
    return true;
}

static bool taxes_score(struct scoring *s)
{
    score_part(s, "S6");
    str_add(&s->json, "[");
    bool ok = tax_score(s, score_traces[1], true) && tax_score(s, score_traces[2], false);
    str_add(&s->json, "]");
    return ok;
}

void score_part(struct scoring *s, const char *name)
{
    str_addf(&s->json, ", \"%s\": ", name);
}

static const struct score_part {
    const char *name;
    bool (*score)(struct scoring *s);
} parts[] = {{"S1", score_exactness}, {"S2", orders_score},  {"S4", score_sc15},
             {"S6", taxes_score},     {"S7", score_packing}, {"S8", score_promises},
             {"S10", score_made},     {"S11", score_streams}};

static bool wanted(const struct scoring *s, const char *name)
{
    return !s->only || list_has(s->only, name);
}

static bool only_known(const char *only)
{
    struct span rest = span_of(only), piece;
    while (span_next(&rest, ',', &piece)) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            known |= span_is(piece, parts[i].name);
        if (!known) {
            fprintf(stderr,
                    "remuda-sim score: --only=%s: S1, S2 (with S3 and S9), S4, S6, S7, S8, S10 "
                    "and S11 are scored here, comma-separated\n",
                    only);
            return false;
        }
    }
    return true;
}

static bool score(struct scoring *s)
{
    bool ok = true;
    str_addf(&s->json, "{\"policy\": \"%s\", \"seeds\": %u", s->policy.name, s->seeds);
    if (s->nworkloads > 0)
        return score_workloads(s);
    for (size_t i = 0; ok && i < ARRAY_LEN(parts); i++)
        ok = !wanted(s, parts[i].name) || parts[i].score(s);
    return ok;
}

static void help(FILE *to)
{
    fputs("Usage: remuda-sim score [OPTION]…\n"
          "The scoreboard on the Philly traces and openb: S1 exactness, S2 slowdown against EASY, "
          "S3 gates, "
          "S4 the logs of\n"
          "SC '15 where they are, S6 placement tax, S7 packing, S8 promises, S9 time a pass,\n"
          "S10 gates on workloads that are made, S11 on streams made against an order.\n"
          "  --traces FOLDER   default $REMUDA_TRACES or ../shared/traces\n"
          "  --policy NAME     default default (remuda-sim run --help)\n"
          "  --set KEY=VALUE   a setting as in remuda.conf\n"
          "  --only S2,S7      these only (all take a quarter of an hour)\n"
          "  --workload FILE   instead: the gates on this trace, or made workload; up to 16 times\n"
          "  --seeds N         shaken arrivals for S2, S4, S6 and orders of arrival for S7 (12; 0 "
          "= the "
          "files as they are)\n"
          "  --json FILE       the result as a JSON object; - is standard output\n",
          to);
}

static bool json_write(const struct scoring *s, const char *path)
{
    FILE *to = text_is(path, "-") ? stdout : fopen(path, "w");
    if (!to) {
        fprintf(stderr, "remuda-sim score: %s: %m\n", path);
        return false;
    }
    fprintf(to, "%s}\n", str_text(&s->json));
    return to == stdout || fclose(to) == 0;
}

int sim_score(int argc, char **argv)
{
    static const struct option longs[] = {
        {"traces", 1, 0, 't'}, {"policy", 1, 0, 'p'}, {"seeds", 1, 0, 'n'},
        {"set", 1, 0, 's'},    {"only", 1, 0, 'o'},   {"workload", 1, 0, 'w'},
        {"json", 1, 0, 'J'},   {"help", 0, 0, 'h'},   {0}};
    const char *folder = getenv("REMUDA_TRACES"), *json = NULL;
    struct scoring s = {.folder = folder ? folder : "../shared/traces",
                        .policy = *ref_policy_named("default"),
                        .seeds = 12,
                        .gates = true};
    struct str settings = STR_INIT;
    int64_t seeds;
    int c, status = -1;
    while (status < 0 && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (c == 't')
            s.folder = optarg;
        else if (c == 'p' && ref_policy_named(optarg))
            s.policy = *ref_policy_named(optarg);
        else if (c == 'n' && text_to_i64(optarg, 0, 10000, &seeds))
            s.seeds = (unsigned)seeds;
        else if (c == 's')
            str_addf(&settings, "%s\n", optarg);
        else if (c == 'o' && only_known(optarg))
            s.only = optarg;
        else if (c == 'w' && s.nworkloads < FILES_MAX)
            s.workload[s.nworkloads++] = optarg;
        else if (c == 'J')
            json = optarg;
        else
            status = c == 'h' ? 0 : 2;
    }
    if (status >= 0 || optind < argc) {
        help(status == 0 ? stdout : stderr);
        status = status < 0 ? 2 : status;
    }
    s.settings = settings.len ? str_text(&settings) : NULL;
    if (status < 0)
        status = score(&s) && (!json || json_write(&s, json)) ? 0 : 1;
    str_done(&s.json);
    str_done(&settings);
    return status;
}
