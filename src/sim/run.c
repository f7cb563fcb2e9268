/* remuda-sim run TRACE…: a workload under one policy, or several in turn. */
#include "base/alloc.h"
#include "base/str.h"
#include "sim/metrics.h"
#include "sim/sim.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

struct run_options {
    struct replay_setup setup;
    size_t first, last; /* --jobs */
    uint64_t shake_seed;
    int64_t shake_s;
    const char *starts, *policies; /* policies: names, comma-separated */
    bool json;
};

static void help(FILE *to)
{
    fputs("Usage: remuda-sim run [OPTION]… TRACE.swf[.gz]…\n"
          "Replays a workload in the Standard Workload Format through the controller's own planner.\n"
          "  --machine N | NxM          N processors in one pool, or N nodes of M; default: the trace's "
          "MaxProcs\n"
          "  --policy NAME[,NAME…]      default default; several, one after the other:\n",
          to);
    for (size_t i = 0; i < ref_policy_count; i++)
        fprintf(to, "                               %-9s %s\n", ref_policies[i].name, ref_policies[i].doc);
    fputs("  --order ORDER[,ORDER]      instead of the policy's: arrival sjf saf wfp3 f1; the second for "
          "jobs that pass\n"
          "  --backfill HOW             instead of the policy's: easy, conservative, none\n"
          "  --rule E|B                 a pass for each event, arrivals before ends; or one pass a second "
          "(default B)\n"
          "  --estimates WHOSE          user (default), perfect, factor:N\n"
          "  --set KEY=VALUE            a setting as in remuda.conf\n"
          "  --jobs FIRST..LAST         only these, counted in order of submission\n"
          "  --shake SEED,SECONDS       move each arrival by up to so much\n"
          "  --starts FILE              job,submit,start,end,procs,nodes,why\n"
          "  --json                     the result as one JSON object a line\n"
          "  --untimed                  leave out how long passes took, the one thing that differs between "
          "runs\n",
          to);
}

static bool complain(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "remuda-sim run: --%s=%s: %s\n", option, value, allowed);
    return false;
}

static bool machine_parse(const char *text, struct replay_machine *m)
{
    char *end;
    long long a = strtoll(text, &end, 10), b = 0;
    if (a > 0 && *end == 'x')
        b = strtoll(end + 1, &end, 10);
    if (a <= 0 || *end || b < 0 || (strchr(text, 'x') && b == 0))
        return complain("machine", text, "a number of processors (640) or nodes x processors (80x8)");
    *m = b ? (struct replay_machine){.nodes = a, .node_procs = b, .procs = a * b}
           : (struct replay_machine){.procs = a};
    return true;
}

static bool estimates_parse(const char *text, struct replay_setup *s)
{
    char *end;
    if (text_is(text, "user"))
        s->estimates = ESTIMATES_USER;
    else if (text_is(text, "perfect"))
        s->estimates = ESTIMATES_PERFECT;
    else if (strncmp(text, "factor:", 7) == 0 && strtod(text + 7, &end) >= 1 && !*end) {
        s->estimates = ESTIMATES_FACTOR;
        s->factor = (int64_t)(strtod(text + 7, NULL) * 1000 + 0.5);
    } else
        return complain("estimates", text, "user, perfect or factor:N with N of 1 at least");
    return true;
}

static bool backfill_parse(const char *text, struct ref_policy *p)
{
    static const char *const names[] = {
        [REF_EASY] = "easy", [REF_NONE] = "none", [REF_CONSERVATIVE] = "conservative"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (text_is(text, names[i])) {
            p->backfill = (enum ref_backfill)i;
            return true;
        }
    return complain("backfill", text, "easy, conservative or none");
}

static bool order_parse(const char *text, struct ref_policy *p)
{
    char *names = xstrdup(text), *comma = strchr(names, ',');
    if (comma)
        *comma = '\0';
    bool ok = ref_order_named(names, &p->order) && p->order != REF_DAEMON;
    p->passing = p->order;
    if (ok && comma)
        ok = ref_order_named(comma + 1, &p->passing) && p->passing != REF_DAEMON;
    free(names);
    return ok || complain("order", text,
                          "arrival, sjf, saf, wfp3 or f1, and after a comma the order of those that pass");
}

static bool policies_known(const char *names)
{
    char *copy = xstrdup(names), *rest = copy, *name;
    bool ok = true;
    while (ok && (name = strsep(&rest, ",")))
        ok = ref_policy_named(name) || complain("policy", name, "see remuda-sim run --help for the names");
    free(copy);
    return ok;
}

static bool range_parse(const char *text, struct run_options *o)
{
    char *end;
    long long first = strtoll(text, &end, 10), last = 0;
    if (first > 0 && strncmp(end, "..", 2) == 0)
        last = strtoll(end + 2, &end, 10);
    if (first <= 0 || last < first || *end)
        return complain("jobs", text, "FIRST..LAST, counted from 1");
    o->first = (size_t)first;
    o->last = (size_t)last;
    return true;
}

static bool shake_parse(const char *text, struct run_options *o)
{
    char *end;
    o->shake_seed = strtoull(text, &end, 10);
    o->shake_s = *end == ',' ? strtoll(end + 1, &end, 10) : -1;
    return (o->shake_s >= 0 && !*end) || complain("shake", text, "SEED,SECONDS");
}

/* ---- one result ---- */

static void people(const struct trace *t, const struct replay_setup *s, const struct replay_result *r,
                   const struct metrics *m)
{
    printf("%s: %zu jobs on %lld processors%s; dropped %llu that did not run, %llu without processors, %llu "
           "before time 0, %llu too wide\n",
           t->name, t->job.n, (long long)s->machine.procs, s->machine.nodes ? " in nodes" : "",
           (unsigned long long)t->dropped.run0, (unsigned long long)t->dropped.procs0,
           (unsigned long long)t->dropped.submit0, (unsigned long long)t->dropped.wide);
    printf("  policy %s, rule %s\n", s->policy.name, s->rule == RULE_EVENT ? "E" : "B");
    printf("  wait      mean %.1f s, median %.0f, p95 %.0f, p99 %.0f, longest %.0f; by area %.0f\n",
           m->wait.mean, m->wait.p50, m->wait.p95, m->wait.p99, m->wait.max, m->wait.area);
    printf("  slowdown  mean %.3f, p95 %.1f, p99 %.1f; worst user %.2f\n", m->bsld.mean, m->bsld.p95,
           m->bsld.p99, m->bsld.worst_user);
    printf("  use       %.4f, to the last submission %.4f; makespan %lld s\n", m->util,
           m->util_to_last_submit, (long long)m->makespan);
    printf("  passes    %llu; queue of %llu at most\n", (unsigned long long)r->passes,
           (unsigned long long)r->max_queue);
    if (!s->untimed)
        printf("  a pass    mean %.1f us, p99 %.1f, longest %.1f\n", m->pass_us.mean, m->pass_us.p99,
               m->pass_us.max);
    printf("  schedule  %s\n", m->schedule);
}

static bool starts_write(const char *path, const struct trace *t, const struct replay_result *r)
{
    FILE *to = fopen(path, "w");
    if (!to) {
        fprintf(stderr, "remuda-sim run: %s: %m\n", path);
        return false;
    }
    starts_csv(to, t, r);
    return fclose(to) == 0;
}

static bool replay_one(const struct trace *t, const struct run_options *o, struct replay_result *r)
{
    struct err err = {0};
    struct metrics m;
    if (!replay_run(t, &o->setup, r, &err)) {
        fprintf(stderr, "remuda-sim run: %s: %s\n", t->name, err.text);
        return false;
    }
    metrics_of(t, &o->setup.machine, r, &m);
    if (o->json) {
        metrics_json(stdout, t, &o->setup, r, &m);
        putchar('\n');
    } else {
        people(t, &o->setup, r, &m);
    }
    return !o->starts || starts_write(o->starts, t, r);
}

static bool trace_prepare(const char *path, struct run_options *o, struct trace *t)
{
    struct err err = {0};
    struct replay_machine *m = &o->setup.machine;
    if (!trace_read(path, t, &err)) {
        fprintf(stderr, "remuda-sim run: %s\n", err.text);
        return false;
    }
    if (m->procs == 0)
        m->procs = t->max_procs;
    if (m->procs == 0) {
        fprintf(stderr, "remuda-sim run: %s does not say MaxProcs: give --machine\n", path);
        trace_done(t);
        return false;
    }
    trace_clean(t, m->procs);
    if (o->last)
        trace_keep(t, o->first, o->last);
    if (o->shake_s)
        trace_shake(t, o->shake_seed, o->shake_s);
    return true;
}

static bool run_policy(const struct trace *t, const struct run_options *o)
{
    struct replay_result r;
    bool ok = replay_one(t, o, &r);
    if (ok)
        replay_done(&r);
    return ok;
}

/* Several policies one after the other, on the same jobs. */
static bool run_trace(const char *path, struct run_options o)
{
    struct trace t;
    if (!trace_prepare(path, &o, &t))
        return false;
    bool ok = true, several = o.policies && strchr(o.policies, ',');
    char *names = xstrdup(several ? o.policies : ""), *rest = names, *name;
    if (!several)
        ok = run_policy(&t, &o);
    while (several && ok && (name = strsep(&rest, ","))) {
        o.setup.policy = *ref_policy_named(name);
        ok = run_policy(&t, &o);
    }
    free(names);
    trace_done(&t);
    return ok;
}

int sim_run(int argc, char **argv)
{
    static const struct option longs[] = {
        {"machine", 1, 0, 'm'}, {"policy", 1, 0, 'p'},    {"order", 1, 0, 'o'},  {"backfill", 1, 0, 'b'},
        {"rule", 1, 0, 'r'},    {"estimates", 1, 0, 'e'}, {"set", 1, 0, 's'},    {"jobs", 1, 0, 'j'},
        {"shake", 1, 0, 'k'},   {"starts", 1, 0, 'S'}, {"json", 0, 0, 'J'},    {"untimed", 0, 0, 'u'},   {"help", 0, 0, 'h'},   {0},
    };
    struct run_options o = {.setup = {.policy = *ref_policy_named("default"), .rule = RULE_BATCH}};
    struct str settings = STR_INIT;
    bool ok = true;
    int c;
    while (ok && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
        switch (c) {
        case 'm':
            ok = machine_parse(optarg, &o.setup.machine);
            break;
        case 'p':
            o.policies = optarg;
            ok = policies_known(optarg);
            if (ok)
                o.setup.policy = *ref_policy_named(strchr(optarg, ',') ? "default" : optarg);
            break;
        case 'o':
            ok = order_parse(optarg, &o.setup.policy);
            break;
        case 'b':
            ok = backfill_parse(optarg, &o.setup.policy);
            break;
        case 'r':
            ok = text_is(optarg, "E") || text_is(optarg, "B") || complain("rule", optarg, "E or B");
            o.setup.rule = text_is(optarg, "E") ? RULE_EVENT : RULE_BATCH;
            break;
        case 'e':
            ok = estimates_parse(optarg, &o.setup);
            break;
        case 's':
            str_addf(&settings, "%s\n", optarg);
            break;
        case 'j':
            ok = range_parse(optarg, &o);
            break;
        case 'k':
            ok = shake_parse(optarg, &o);
            break;
        case 'S':
            o.starts = optarg;
            break;
        case 'J':
            o.json = true;
            break;
        case 'u':
            o.setup.untimed = true;
            break;
        default:
            help(c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
    o.setup.settings = settings.len ? str_text(&settings) : NULL;
    if (ok && optind == argc) {
        help(stderr);
        ok = false;
    }
    for (int i = optind; ok && i < argc; i++)
        ok = run_trace(argv[i], o);
    str_done(&settings);
    return ok ? 0 : 1;
}
