/* The parts of the scoreboard that stand alone: exactness, the four logs of SC '15, packing,
 * promises. */
#include "base/alloc.h"
#include "sim/check.h"
#include "sim/replay/packing.h"
#include "sim/report/score.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool file_there(const struct scoring *s, const char *name, struct str *path)
{
    str_clear(path);
    str_addf(path, "%s/%s", s->folder, name);
    return access(str_text(path), R_OK) == 0;
}

/* ---- S1 ---- */

static void sum(struct exactness *all, struct exactness e)
{
    all->n += e.n;
    all->failed += e.failed;
}

static struct exactness conformance(const struct scoring *s)
{
    struct exactness all = {0};
    struct str path = STR_INIT;
    glob_t found = {0};
    str_addf(&path, "%s/conformance/m*.swf", s->folder);
    if (glob(str_text(&path), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct str table = STR_INIT;
            str_addn(&table, found.gl_pathv[i], strlen(found.gl_pathv[i]) - 4);
            str_add(&table, ".expected.csv");
            sum(&all, exactness_of(found.gl_pathv[i], str_text(&table), false, NULL));
            str_done(&table);
        }
    globfree(&found);
    str_done(&path);
    return all;
}

/* Tables of starts, or rows of reference.csv, for a trace. */
static struct exactness trace_exactness(const struct scoring *s, const char *name, bool reference,
                                        const char *only)
{
    struct exactness e = {0};
    struct str trace = STR_INIT, table = STR_INIT;
    str_addf(&trace, "%s/%s.swf.gz", s->folder, name);
    if (reference)
        str_addf(&table, "%s/expected/reference.csv", s->folder);
    else
        str_addf(&table, "%s/expected/%s.csv.gz", s->folder, name);
    e = exactness_of(str_text(&trace), str_text(&table), reference, only);
    str_done(&trace);
    str_done(&table);
    return e;
}

bool score_exactness(struct scoring *s)
{
    static const char *const rest =
        "E-cons-user,E-cons-perfect,E-sjbf-perfect"; /* what the tables of starts do not hold */
    struct exactness small = conformance(s), columns = {0}, rows = {0};
    for (size_t i = 1; i < 3; i++) {
        sum(&columns, trace_exactness(s, score_traces[i], false, NULL));
        sum(&rows, trace_exactness(s, score_traces[i], true, rest));
    }
    /* Conservative plans of the large one take minutes, and EASY in one order stands for the
     * others; all of them: remuda-sim check --reference. */
    sum(&rows, trace_exactness(s, score_traces[0], true,
                               "E-easy-perfect,B-wfp3-user,B-sjf-user,B-f1-perfect"));
    unsigned n = small.n + columns.n + rows.n, failed = small.failed + columns.failed + rows.failed;
    printf("S1 exactness            %u of %u schedules equal to the second: conformance %u of %u, "
           "virtual "
           "clusters %u of %u, reference.csv %u of %u\n",
           n - failed, n, small.n - small.failed, small.n, columns.n - columns.failed, columns.n,
           rows.n - rows.failed, rows.n);
    score_part(s, "S1");
    str_addf(&s->json, "{\"equal\": %u, \"compared\": %u}", n - failed, n);
    return true;
}

/* ---- S4 ---- */

/* The policy against EASY, both under rule E, on those of the four logs of SC '15 that somebody has
 * fetched. */
bool score_sc15(struct scoring *s)
{
    static const char *const logs[] = {"KTH-SP2", "CTC-SP2", "SDSC-SP2", "SDSC-BLUE"};
    double ratio[4];
    struct str name = STR_INIT, missing = STR_INIT;
    size_t n = 0;
    bool ok = true;
    score_part(s, "S4");
    str_add(&s->json, "{");
    for (size_t i = 0; ok && i < ARRAY_LEN(logs); i++) {
        struct trace t;
        struct score_figures easy, ours;
        struct str file = STR_INIT;
        str_addf(&file, "%s.swf.gz", logs[i]);
        bool there = file_there(s, str_text(&file), &name);
        str_done(&file);
        if (!there) {
            str_addf(&missing, "%s%s.swf.gz", missing.len ? ", " : "", logs[i]);
            continue;
        }
        ok = score_trace(s, logs[i], &t);
        if (!ok)
            break;
        struct replay_setup base = score_setup(s, ref_policy_named("easy"), &t),
                            mine = score_setup(s, &s->policy, &t);
        base.rule = mine.rule = RULE_EVENT;
        trace_done(&t);
        ok = score_shaken(s, logs[i], &base, &easy) && score_shaken(s, logs[i], &mine, &ours);
        ratio[n] = ok ? ours.slow / easy.slow : 1;
        printf("S4 %-20s slowdown %7.3f +- %.3f (EASY %.3f): %.3f of EASY's\n", logs[i], ours.slow,
               ours.slow_dev, easy.slow, ratio[n]);
        str_addf(&s->json, "%s\"%s\": %.4f", n ? ", " : "", logs[i], ratio[n]);
        n++;
    }
    if (missing.len)
        printf("S4 %s: not in %s (no licence text comes with them; shared/traces/README.md says "
               "where they "
               "are)\n",
               str_text(&missing), s->folder);
    if (n > 0)
        printf("S4 Q over %zu of the four logs of SC '15, rule E: %.3f\n", n, geo_mean(ratio, n));
    str_add(&s->json, "}");
    str_done(&name);
    str_done(&missing);
    return ok;
}

/* ---- S7 ---- */

bool score_packing(struct scoring *s)
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
    printf("S7 openb                GPUs allocated at full demand: %.2f %% +- %.2f by least lost "
           "capacity, "
           "%.2f %% +- %.2f by best fit\n",
           least.percent, least.deviation, best.percent, best.deviation);
    score_part(s, "S7");
    str_addf(&s->json, "{\"least_lost\": %.3f, \"deviation\": %.3f, \"best_fit\": %.3f}",
             least.percent, least.deviation, best.percent);
    return true;
}

/* ---- S8 ---- */

static int double_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct errors {
    double median, p90, waited; /* seconds; waited: mean wait of those that were told a start */
    size_t n;
};

/* How far off the first planned start of each job was that did not start at once. */
static struct errors errors_of(const struct trace *t, const struct replay_result *r)
{
    double *off = xcalloc(t->job.n + 1, sizeof off[0]);
    struct errors e = {0};
    for (size_t i = 0; i < t->job.n; i++) {
        const struct replayed *j = &r->job[i];
        if (j->first_planned == 0)
            continue;
        off[e.n++] = (double)llabs(j->start - j->first_planned);
        e.waited += (double)(j->start - t->job.v[i].submit);
    }
    qsort(off, e.n, sizeof off[0], double_order);
    if (e.n) {
        e.median = off[e.n / 2];
        e.p90 = off[e.n * 9 / 10];
        e.waited /= (double)e.n;
    }
    free(off);
    return e;
}

static bool promise_row(struct scoring *s, const char *name, const struct ref_policy *p,
                        enum estimates estimates, bool foresee, bool first)
{
    static const char *const words[] = {[ESTIMATES_USER] = "user", [ESTIMATES_PERFECT] = "perfect"};
    struct trace t;
    struct replay_result r;
    struct err err = {0};
    if (!score_trace(s, name, &t))
        return false;
    struct replay_setup setup = score_setup(s, p, &t);
    setup.estimates = estimates;
    setup.foresee = foresee;
    setup.untimed = true;
    if (!replay_run(&t, &setup, &r, &err)) {
        fprintf(stderr, "remuda-sim score: %s: %s\n", name, err.text);
        trace_done(&t);
        return false;
    }
    struct errors e = errors_of(&t, &r);
    printf("S8 %-20s %-8s %-8s estimates: %llu promises, %llu moved later", name, p->name,
           words[estimates], (unsigned long long)r.promises, (unsigned long long)r.moved_later);
    if (foresee)
        printf("; first planned start off by %.0f s (median), %.0f s (p90), after a mean wait of "
               "%.0f s",
               e.median, e.p90, e.waited);
    putchar('\n');
    fflush(stdout);
    str_addf(&s->json,
             "%s{\"trace\": \"%s\", \"policy\": \"%s\", \"estimates\": \"%s\", \"promises\": %llu, "
             "\"moved_later\": %llu",
             first ? "" : ", ", name, p->name, words[estimates], (unsigned long long)r.promises,
             (unsigned long long)r.moved_later);
    if (foresee)
        str_addf(&s->json, ", \"told\": %zu, \"median_s\": %.0f, \"p90_s\": %.0f", e.n, e.median,
                 e.p90);
    str_add(&s->json, "}");
    replay_done(&r);
    trace_done(&t);
    return true;
}

/* Forecasts of the large trace would take minutes: its promises are counted, its planned starts are
 * not asked for. */
bool score_promises(struct scoring *s)
{
    const struct ref_policy *easy = ref_policy_named("easy");
    bool ok = true;
    score_part(s, "S8");
    str_add(&s->json, "[");
    for (size_t k = 1; ok && k <= 3; k++) { /* the large one last */
        size_t i = k % 3;
        ok = promise_row(s, score_traces[i], easy, ESTIMATES_PERFECT, false, k == 1) &&
             promise_row(s, score_traces[i], &s->policy, ESTIMATES_PERFECT, i > 0, false) &&
             promise_row(s, score_traces[i], &s->policy, ESTIMATES_USER, i > 0, false);
    }
    str_add(&s->json, "]");
    return ok;
}
