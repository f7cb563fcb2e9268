/* remuda-sim run: a workload under one policy, or several in turn. */
#include "base/alloc.h"
#include "base/str.h"
#include "sim/options.h"
#include "sim/report/report.h"
#include "sim/report/svg.h"
#include "sim/sim.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static void help(FILE *to)
{
    fputs(
        "Usage: remuda-sim run [OPTION]… TRACE.swf[.gz]… | --from-sacct FILE | --from-live[=FILE]\n"
        "Replays a workload through the controller's own planner. (Two configurations beside each "
        "other: "
        "remuda-sim compare.)\n"
        "Policy:\n"
        "  --policy NAME[,NAME…]      several: one after the other. Default: default, or as "
        "--config says\n",
        to);
    for (size_t i = 0; i < ref_policy_count; i++)
        fprintf(to, "                               %-9s %s\n", ref_policies[i].name,
                ref_policies[i].doc);
    fputs(
        "  --order ORDER[,ORDER]      instead of the policy's: arrival sjf saf wfp3 f1; the second "
        "for "
        "jobs that pass\n"
        "  --backfill HOW             instead of the policy's: easy, conservative, none\n"
        "  --depth N                  a pass considers only the first N waiting jobs (to show what "
        "such "
        "caps cost)\n"
        "  --nodes CHOICE             of nodes that would do: best-fit (the daemon's), least-lost, "
        "first-fit, worst-fit\n"
        "  --rule E|B                 a pass for each event, arrivals before ends; or one pass a "
        "second "
        "(default B)\n",
        to);
    options_help(to);
}

static bool starts_write(const struct sim_options *o, const struct trace *t,
                         const struct replay_result *r)
{
    FILE *to = fopen(o->starts, "w");
    if (!to)
        return options_complain(o->command, "%s: %m", o->starts);
    starts_csv(to, t, r);
    return fclose(to) == 0;
}

static bool files_write(const struct sim_options *o, const struct trace *t,
                        const struct report_run *r)
{
    struct err err = {0};
    if (o->starts && !starts_write(o, t, &r->result))
        return false;
    return !o->svg || svg_write(o->svg, t, &r, 1, &err) ||
           options_complain(o->command, "%s", err.text);
}

static bool run_one(const struct trace *t, const struct sim_options *o,
                    const struct replay_setup *setup)
{
    struct report_run r = {.name = setup->policy.name, .setup = setup};
    struct err err = {0};
    if (!replay_run(t, setup, &r.result, &err))
        return options_complain(o->command, "%s: %s", t->name, err.text);
    metrics_of(t, &setup->machine, &r.result, &r.m);
    if (o->json) {
        metrics_json(stdout, t, setup, &r.result, &r.m);
        putchar('\n');
    } else {
        report_workload(stdout, t, &setup->machine);
        report_run(stdout, t, &r);
    }
    bool ok = files_write(o, t, &r);
    replay_done(&r.result);
    return ok;
}

/* Several policies one after the other, on the same jobs. */
static bool run_workload(const struct sim_options *o, struct replay_setup setup, const char *path)
{
    struct trace t;
    if (!workload_open(o, path, &setup.machine, &t))
        return false;
    bool ok = true, several = o->policies && strchr(o->policies, ',');
    char *names = xstrdup(several ? o->policies : ""), *rest = names, *name;
    if (!several)
        ok = run_one(&t, o, &setup);
    while (several && ok && (name = strsep(&rest, ","))) {
        setup.policy = *ref_policy_named(name);
        ok = run_one(&t, o, &setup);
    }
    free(names);
    trace_done(&t);
    return ok;
}

static bool run_all(struct sim_options *o, int argc, char **argv)
{
    struct site site = {0};
    bool ok = machine_open(o, o->nconfigs ? o->config[0] : NULL, &site, &o->setup);
    if (ok && optind == argc)
        ok = run_workload(o, o->setup, NULL);
    for (int i = optind; ok && i < argc; i++)
        ok = run_workload(o, o->setup, argv[i]);
    site_done(&site);
    return ok;
}

int sim_run(int argc, char **argv)
{
    struct sim_options o;
    int status = options_parse(argc, argv, "run", help, &o);
    if (status < 0 && (o.a || o.b)) {
        options_complain("run", "--a and --b go with remuda-sim compare");
        status = 2;
    }
    if (status < 0 && o.nconfigs == 2)
        status = compare_run(&o, argc, argv) ? 0 : 1;
    if (status < 0)
        status = run_all(&o, argc, argv) ? 0 : 1;
    options_done(&o);
    return status;
}
