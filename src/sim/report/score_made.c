/* S10 and S11 of the scoreboard: workloads that are made, gate by gate, against EASY by arrival in
 * the same run. A stream made against an order is judged by the wait of those whom it is about. */
#include "base/alloc.h"
#include "sim/replay/made.h"
#include "sim/report/score.h"
#include "sim/report/streams.h"

#include <string.h>

enum of_kind { CPU_LOG, GPU_LOG, WRONG_LIMITS, KINDS };

static const struct made_log {
    enum of_kind kind;
    const char *path;
} logs[] = {
    {CPU_LOG, "made:all,procs=100,load=0.6,seed=11"},
    {CPU_LOG, "made:all,procs=128,load=0.7,seed=12"},
    {CPU_LOG, "made:all,procs=256,load=0.8,seed=13"},
    {CPU_LOG, "made:batch,procs=128,load=0.7,seed=14"},
    {CPU_LOG, "made:batch,procs=338,load=0.8,seed=15"},
    {CPU_LOG, "made:batch,procs=1024,load=0.9,seed=16"},
    {CPU_LOG, "made:all,procs=512,load=1.1,seed=17"},
    {CPU_LOG, "made:batch,procs=10000,load=0.9,seed=18"},
    {GPU_LOG, "made:gpu,procs=64,load=0.85,seed=21"},
    {GPU_LOG, "made:gpu,procs=256,load=0.85,seed=22"},
    {GPU_LOG, "made:gpu,procs=512,load=0.95,seed=23"},
    {WRONG_LIMITS, "made:all,load=0.7,seed=31,limits=day"},
    {WRONG_LIMITS, "made:all,load=0.7,seed=31,limits=inverse"},
    {WRONG_LIMITS, "made:all,load=0.7,seed=31,limits=week"},
};

/* ---- one run ---- */

/* `alone`: without the jobs that the stream is not about. */
static bool made_play(const struct scoring *s, const char *path, const struct ref_policy *policy,
                      bool alone, struct made_outcome *ret)
{
    struct trace t;
    struct replay_result r;
    struct err err = {0};
    *ret = (struct made_outcome){0};
    bool made = made_named(path);
    if (made ? !made_read(path, &t, &err) : !trace_read(path, &t, &err)) {
        fprintf(stderr, "remuda-sim score: %s\n", err.text);
        return false;
    }
    if (!made)
        trace_clean(&t, t.max_procs);
    if (alone)
        watched_keep(&t);
    struct replay_setup setup = score_setup(s, policy, &t);
    bool ok = replay_run(&t, &setup, &r, &err);
    if (ok) {
        made_outcome(&t, &setup.machine, &r, ret);
        replay_done(&r);
    } else {
        fprintf(stderr, "remuda-sim score: %s: %s\n", path, err.text);
    }
    trace_done(&t);
    return ok;
}

/* ---- gates ---- */

struct gate_row {
    const char *name;
    double got, least, most;
};

/* "p99 x 0.38 pass"; true if all hold. */
static bool gates_print(struct scoring *s, const char *part, const char *path,
                        const struct gate_row *g, size_t n, double slow)
{
    ASSERT(s->json.len > 0);
    bool all = true;
    printf("%s %-42s slowdown x %.3f", part, path + (made_named(path) ? strlen("made:") : 0), slow);
    str_addf(&s->json, "%s{\"workload\": \"%s\", \"slowdown\": %.4f",
             s->json.data[s->json.len - 1] == '[' ? "" : ", ", path, slow);
    for (size_t i = 0; i < n; i++) {
        bool ok = g[i].got <= g[i].most && g[i].got >= g[i].least;
        printf(", %s %.3f %s", g[i].name, g[i].got, ok ? "pass" : "FAIL");
        str_addf(&s->json, ", \"%s\": %.4f, \"%s passes\": %s", g[i].name, g[i].got, g[i].name,
                 ok ? "true" : "false");
        all &= ok;
    }
    str_add(&s->json, "}");
    printf("\n");
    fflush(stdout);
    return all;
}

static double over(double a, double b)
{
    return b > 0 ? a / b : a > 0 ? 1000 : 1;
}

#define ANY (-1e18)

static bool log_score(struct scoring *s, const struct made_log *l, double *ret_slow, bool *ret_ok)
{
    struct made_outcome easy, ours;
    if (!made_play(s, l->path, ref_policy_named("easy"), false, &easy) ||
        !made_play(s, l->path, &s->policy, false, &ours))
        return false;
    *ret_slow = ours.all.bsld.mean / easy.all.bsld.mean;
    const struct gate_row g[] = {{"longest", over(ours.all.wait.max, easy.all.wait.max), ANY, 2},
                                 {"p99", over(ours.all.wait.p99, easy.all.wait.p99), ANY, 1.25},
                                 {"area", over(ours.all.wait.area, easy.all.wait.area), ANY, 1.25},
                                 {"slowdown gate", *ret_slow, ANY, 1}};
    size_t n = ARRAY_LEN(g) - (l->kind != WRONG_LIMITS);
    *ret_ok = gates_print(s, "S10", l->path, g, n, *ret_slow);
    return true;
}

bool score_made(struct scoring *s)
{
    double slow[KINDS][ARRAY_LEN(logs)];
    size_t n[KINDS] = {0}, failed = 0;
    score_part(s, "S10");
    str_add(&s->json, "[");
    for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
        bool ok;
        enum of_kind k = logs[i].kind;
        if (!log_score(s, &logs[i], &slow[k][n[k]], &ok))
            return false;
        n[k]++;
        failed += !ok;
    }
    str_add(&s->json, "]");
    double cpu = geo_mean(slow[CPU_LOG], n[CPU_LOG]), gpu = geo_mean(slow[GPU_LOG], n[GPU_LOG]);
    printf("S10 slowdown, geometric mean: CPU machines x %.3f %s, GPU machines x %.3f %s; gates "
           "hold on %zu of %zu\n",
           cpu, cpu <= 0.50 ? "pass" : "FAIL", gpu, gpu <= 0.13 ? "pass" : "FAIL",
           ARRAY_LEN(logs) - failed, ARRAY_LEN(logs));
    return true;
}

static bool stream_score(struct scoring *s, const struct made_against *a, bool *ret_ok)
{
    struct made_outcome easy, ours, alone = {0};
    if (!made_play(s, a->path, ref_policy_named("easy"), false, &easy) ||
        !made_play(s, a->path, &s->policy, false, &ours))
        return false;
    if (a->kind == STREAM_OTHERS && !made_play(s, a->path, &s->policy, true, &alone))
        return false;
    double slow = ours.all.bsld.mean / easy.all.bsld.mean;
    struct stream_gate gate = stream_gate(a->kind, &ours, &easy, &alone);
    const struct gate_row g = {gate.name, gate.got, ANY, gate.most};
    *ret_ok = gates_print(s, "S11", a->path, &g, 1, slow);
    return true;
}

bool score_workloads(struct scoring *s)
{
    score_part(s, "workloads");
    str_add(&s->json, "[");
    for (size_t i = 0; i < s->nworkloads; i++) {
        const struct made_against *stream = made_against_of(s->workload[i]);
        double slow;
        bool ok;
        if (stream ? !stream_score(s, &(struct made_against){stream->kind, s->workload[i]}, &ok)
                   : !log_score(s, &(struct made_log){CPU_LOG, s->workload[i]}, &slow, &ok))
            return false;
    }
    str_add(&s->json, "]");
    return true;
}

bool score_streams(struct scoring *s)
{
    size_t failed = 0;
    score_part(s, "S11");
    str_add(&s->json, "[");
    for (size_t i = 0; i < made_against_count; i++) {
        bool ok;
        if (!stream_score(s, &made_against[i], &ok))
            return false;
        failed += !ok;
    }
    str_add(&s->json, "]");
    printf("S11 gates hold on %zu of %zu streams\n", made_against_count - failed,
           made_against_count);
    return true;
}
