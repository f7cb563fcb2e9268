/* remuda-sim compare: the same jobs under two policies or configurations, beside each other. */
#include "base/alloc.h"
#include "base/str.h"
#include "sim/options.h"
#include "sim/report/report.h"
#include "sim/report/svg.h"
#include "sim/sim.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

struct side {
    const char *what;
    struct replay_setup setup;
    struct site site;
    struct str settings;
    struct report_run run;
};

static void help(FILE *to)
{
    fputs("Usage: remuda-sim compare [OPTION]… --a WHAT --b WHAT TRACE.swf[.gz] | --from-sacct "
          "FILE | "
          "--from-live[=FILE]\n"
          "Replays the same jobs twice and prints both results beside each other: who waits less, "
          "who waits "
          "more.\n"
          "  --a WHAT, --b WHAT         a remuda.conf or slurm.conf; or the name of a policy "
          "(remuda-sim run "
          "--help), or settings\n"
          "                             ('SchedulerParameters=order=sjf'), on the machine that "
          "--config, "
          "--machine, the other side\n"
          "                             or the trace describes. Without --a: --config as it is\n",
          to);
    options_help(to);
    fputs("Examples:\n"
          "  sacct … | remuda-sim compare --from-sacct - --a /etc/slurm/slurm.conf --b trial.conf "
          "--svg "
          "both.svg\n"
          "  remuda-sim compare --from-live --config remuda.conf --b "
          "'PriorityType=priority/multifactor'\n",
          to);
}

static bool is_config(const char *what)
{
    return what && !ref_policy_named(what) && access(what, R_OK) == 0;
}

/* A policy, or settings, on the machine that `setup` has. */
static bool side_words(const struct sim_options *o, struct side *s)
{
    const struct ref_policy *p = ref_policy_named(s->what);
    if (p) {
        s->setup.policy = *p;
        return true;
    }
    const char *names[64];
    if (!strchr(s->what, '=')) {
        for (size_t i = 0; i < ref_policy_count; i++)
            names[i] = ref_policies[i].name;
        const char *near = text_nearest(s->what, names, ref_policy_count);
        return options_complain(
            o->command, "'%s' is neither a configuration file nor a policy nor KEY=VALUE%s%s%s",
            s->what, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    str_addf(&s->settings, "%s%s\n", o->setup.settings ? o->setup.settings : "", s->what);
    s->setup.settings = str_text(&s->settings);
    return true;
}

static bool sides_open(struct sim_options *o, struct side *a, struct side *b)
{
    const char *base = o->nconfigs          ? o->config[0]
                       : is_config(a->what) ? a->what
                       : is_config(b->what) ? b->what
                                            : NULL;
    struct side *side[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        struct side *s = side[i];
        bool own = is_config(s->what);
        s->setup = o->setup;
        if (!machine_open(o, own ? s->what : base, &s->site, &s->setup))
            return false;
        if (s->what && !own && !side_words(o, s))
            return false;
        s->setup.name = s->what                 ? s->what
                        : s->setup.machine.path ? s->setup.machine.path
                                                : s->setup.policy.name;
    }
    return true;
}

static bool side_run(const struct sim_options *o, const struct trace *t, struct side *s)
{
    struct err err = {0};
    s->run = (struct report_run){.name = s->setup.name, .setup = &s->setup};
    if (!replay_run(t, &s->setup, &s->run.result, &err))
        return options_complain(o->command, "%s: %s", s->setup.name, err.text);
    metrics_of(t, &s->setup.machine, &s->run.result, &s->run.m);
    return true;
}

static bool tell(const struct sim_options *o, const struct trace *t, const struct side *a,
                 const struct side *b)
{
    struct report_run recorded = {.name = "as it ran"};
    const struct report_run *columns[] = {&a->run, &b->run};
    struct err err = {0};
    bool known = recorded_result(t, &recorded.result);
    if (known)
        metrics_of(t, &a->setup.machine, &recorded.result, &recorded.m);
    if (o->json) {
        report_compare_json(stdout, t, known ? &recorded : NULL, &a->run, &b->run);
    } else {
        report_workload(stdout, t, &a->setup.machine);
        report_compare(stdout, t, known ? &recorded : NULL, &a->run, &b->run);
    }
    replay_done(&recorded.result);
    return !o->svg || svg_write(o->svg, t, columns, 2, &err) ||
           options_complain(o->command, "%s", err.text);
}

static bool sides_run(const struct sim_options *o, const char *path, struct side *a, struct side *b)
{
    struct trace t;
    struct replay_machine *larger =
        a->setup.machine.procs >= b->setup.machine.procs ? &a->setup.machine : &b->setup.machine;
    if (!workload_open(o, path, larger, &t))
        return false;
    if (a->setup.machine.procs == 0 || b->setup.machine.procs == 0)
        a->setup.machine.procs = b->setup.machine.procs = larger->procs;
    bool ok = side_run(o, &t, a) && side_run(o, &t, b) && tell(o, &t, a, b);
    replay_done(&a->run.result);
    replay_done(&b->run.result);
    trace_done(&t);
    return ok;
}

bool compare_run(struct sim_options *o, int argc, char **argv)
{
    struct side a = {.what = o->a}, b = {.what = o->b};
    if (o->nconfigs == 2 && !o->a && !o->b) {
        a.what = o->config[0];
        b.what = o->config[1];
    }
    if (!b.what || (!a.what && o->nconfigs == 0))
        return options_complain(o->command, "two sides are needed: --a WHAT and --b WHAT, or "
                                            "--config FILE and --b WHAT, or --config twice");
    if (argc - optind > 1 || o->starts)
        return options_complain(o->command, o->starts ? "--starts goes with remuda-sim run"
                                                      : "one trace at a time");
    bool ok = sides_open(o, &a, &b) && sides_run(o, optind < argc ? argv[optind] : NULL, &a, &b);
    site_done(&a.site);
    site_done(&b.site);
    str_done(&a.settings);
    str_done(&b.settings);
    return ok;
}

int sim_compare(int argc, char **argv)
{
    struct sim_options o;
    int status = options_parse(argc, argv, "compare", help, &o);
    if (status < 0)
        status = compare_run(&o, argc, argv) ? 0 : 1;
    options_done(&o);
    return status;
}
