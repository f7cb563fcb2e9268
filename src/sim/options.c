#include "sim/options.h"

#include "base/alloc.h"
#include "sim/replay/accounting.h"
#include "sim/replay/machine.h"
#include "sim/replay/made.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool options_complain(const char *command, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "remuda-sim %s: ", command);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

void options_help(FILE *to)
{
    fputs("Workload:\n"
          "  TRACE.swf[.gz]             Standard Workload Format, plain or gzipped\n",
          to);
    made_help(to);
    fputs("  --from-sacct FILE          a site's own jobs; - is standard input. As this prints "
          "them:\n"
          "                             SLURM_TIME_FORMAT=%s sacct -aXP -S 2026-10-01 -E "
          "2026-11-01 --format=\n"
          "                             " SACCT_FORMAT "\n"
          "                             (columns in any order; JobID, Submit, ElapsedRaw and "
          "ReqCPUS are "
          "needed)\n"
          "  --from-live[=FILE]         the queue as it is now, from squeue (or from a file with "
          "its output):\n"
          "                             when would everything start, if jobs run to their limits "
          "and nothing "
          "new comes?\n"
          "  --jobs FIRST..LAST         only these, counted in order of submission\n"
          "  --shake SEED,SECONDS       move each arrival by up to so much\n"
          "  --estimates WHOSE          what the planner believes of run times: user (default), "
          "perfect, "
          "factor:N, predict\n"
          "                             (mean of the user's last two runs; what was asked, once "
          "that is "
          "outlived)\n"
          "Machine:\n"
          "  --machine N | NxM | FILE   N processors in one pool, N nodes of M, or a table of "
          "nodes (CSV: "
          "name, cpu_milli,\n"
          "                             memory_mib, gpu, model); default: the trace's MaxProcs\n"
          "  --config FILE              a remuda.conf or slurm.conf: its nodes, partitions, order, "
          "weights, "
          "preemption\n"
          "  --set KEY=VALUE            one more setting, as in remuda.conf\n"
          "Results:\n"
          "  --starts FILE              job,submit,start,end,procs,nodes,why (head, backfill or "
          "reservation)\n"
          "  --svg FILE                 a picture of use and of waiting jobs over time\n"
          "  --json                     the result as one JSON object\n"
          "  --untimed                  leave out how long passes took, the one thing that differs "
          "between "
          "runs\n",
          to);
}

/* ---- values ---- */

static bool machine_number(const char *text, struct replay_machine *m)
{
    char *end;
    long long a = strtoll(text, &end, 10), b = 0;
    if (a > 0 && *end == 'x')
        b = strtoll(end + 1, &end, 10);
    if (a <= 0 || *end || b < 0 || (strchr(text, 'x') && b == 0) || a > 1 << 24 || b > 1 << 20)
        return false;
    *m = b ? (struct replay_machine){.nodes = a, .node_procs = b, .procs = a * b}
           : (struct replay_machine){.procs = a};
    return true;
}

static bool machine_table(struct sim_options *o, const char *path)
{
    struct machine_table t;
    struct err err = {0};
    if (!machine_read(path, &t, &err))
        return options_complain(o->command, "%s", err.text);
    str_clear(&o->lines);
    machine_config(&t, &o->lines);
    o->setup.machine = (struct replay_machine){.lines = str_text(&o->lines), .path = path};
    for (size_t i = 0; i < t.node.n; i++) {
        o->setup.machine.procs += t.node.v[i].cpu_milli / 1000;
        o->setup.machine.gpus += t.node.v[i].gpus;
    }
    machine_done(&t);
    return true;
}

static bool machine_take(struct sim_options *o, const char *text)
{
    if (machine_number(text, &o->setup.machine))
        return true;
    if (strchr(text, '.') || strchr(text, '/'))
        return machine_table(o, text);
    return options_complain(
        o->command,
        "--machine=%s: a number of processors (640), nodes x processors (80x8) or a "
        "table of nodes (nodes.csv)",
        text);
}

static bool estimates_take(struct sim_options *o, const char *text)
{
    static const char *const names[] = {[ESTIMATES_USER] = "user",
                                        [ESTIMATES_PERFECT] = "perfect",
                                        [ESTIMATES_PREDICT] = "predict"};
    char *end;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i] && text_is(text, names[i])) {
            o->setup.estimates = (enum estimates)i;
            return true;
        }
    if (strncmp(text, "factor:", 7) == 0 && strtod(text + 7, &end) >= 1 && !*end &&
        strtod(text + 7, NULL) <= 1e6) {
        o->setup.estimates = ESTIMATES_FACTOR;
        o->setup.factor = (int64_t)(strtod(text + 7, NULL) * 1000 + 0.5);
        return true;
    }
    return options_complain(
        o->command, "--estimates=%s: user, perfect, predict or factor:N with N of 1 at least",
        text);
}

static bool backfill_take(struct sim_options *o, const char *text)
{
    static const char *const names[] = {
        [REF_EASY] = "easy", [REF_NONE] = "none", [REF_CONSERVATIVE] = "conservative"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (text_is(text, names[i])) {
            o->setup.policy.backfill = (enum ref_backfill)i;
            return true;
        }
    return options_complain(o->command, "--backfill=%s: easy, conservative or none", text);
}

static bool order_take(struct sim_options *o, const char *text)
{
    struct ref_policy *p = &o->setup.policy;
    char *names = xstrdup(text), *comma = strchr(names, ',');
    if (comma)
        *comma = '\0';
    bool ok = ref_order_named(names, &p->order) && p->order != REF_DAEMON;
    p->passing = p->order;
    if (ok && comma)
        ok = ref_order_named(comma + 1, &p->passing) && p->passing != REF_DAEMON;
    free(names);
    return ok || options_complain(o->command,
                                  "--order=%s: arrival, sjf, saf, wfp3 or f1, and after a comma "
                                  "the order of those that pass",
                                  text);
}

static bool policies_take(struct sim_options *o, const char *names)
{
    char *copy = xstrdup(names), *rest = copy, *name;
    bool ok = true;
    while (ok && (name = strsep(&rest, ",")))
        ok = ref_policy_named(name) ||
             options_complain(o->command, "--policy=%s: remuda-sim run --help has the names", name);
    free(copy);
    o->policies = names;
    if (ok)
        o->setup.policy = *ref_policy_named(strchr(names, ',') ? "default" : names);
    return ok;
}

static bool range_take(struct sim_options *o, const char *text)
{
    char *end;
    long long first = strtoll(text, &end, 10), last = 0;
    if (first > 0 && strncmp(end, "..", 2) == 0)
        last = strtoll(end + 2, &end, 10);
    if (first <= 0 || last < first || *end)
        return options_complain(o->command, "--jobs=%s: FIRST..LAST, counted from 1", text);
    o->first = (size_t)first;
    o->last = (size_t)last;
    return true;
}

static bool shake_take(struct sim_options *o, const char *text)
{
    char *end;
    o->shake_seed = strtoull(text, &end, 10);
    o->shake_s = *end == ',' ? strtoll(end + 1, &end, 10) : -1;
    return (o->shake_s >= 0 && !*end) ||
           options_complain(o->command, "--shake=%s: SEED,SECONDS", text);
}

static bool depth_take(struct sim_options *o, const char *text)
{
    int64_t n;
    if (!text_to_i64(text, 1, INT32_MAX, &n))
        return options_complain(
            o->command, "--depth=%s: how many of the waiting jobs a pass considers, 1 at least",
            text);
    o->setup.depth = (size_t)n;
    return true;
}

static bool choice_take(struct sim_options *o, const char *text)
{
    for (size_t i = NODES_BEST_FIT; i <= NODES_WORST_FIT; i++)
        if (text_is(text, node_choice_names[i])) {
            o->setup.node_choice = (enum node_choice)i;
            return true;
        }
    return options_complain(
        o->command, "--nodes=%s: best-fit (the daemon's), least-lost, first-fit or worst-fit",
        text);
}

static bool config_take(struct sim_options *o, const char *text)
{
    if (o->nconfigs == CONFIGS_MAX)
        return options_complain(o->command, "--config is given more than twice");
    o->config[o->nconfigs++] = text;
    return true;
}

static bool rule_take(struct sim_options *o, const char *text)
{
    o->setup.rule = text_is(text, "E") ? RULE_EVENT : RULE_BATCH;
    return text_is(text, "E") || text_is(text, "B") ||
           options_complain(o->command, "--rule=%s: E or B", text);
}

/* ---- the command line ---- */

static const struct option longs[] = {
    {"machine", 1, 0, 'm'},    {"policy", 1, 0, 'p'},
    {"order", 1, 0, 'o'},      {"backfill", 1, 0, 'b'},
    {"rule", 1, 0, 'r'},       {"depth", 1, 0, 'd'},
    {"nodes", 1, 0, 'n'},      {"estimates", 1, 0, 'e'},
    {"set", 1, 0, 's'},        {"jobs", 1, 0, 'j'},
    {"shake", 1, 0, 'k'},      {"starts", 1, 0, 'S'},
    {"svg", 1, 0, 'g'},        {"json", 0, 0, 'J'},
    {"untimed", 0, 0, 'u'},    {"config", 1, 0, 'c'},
    {"a", 1, 0, 'A'},          {"b", 1, 0, 'B'},
    {"from-sacct", 1, 0, 'f'}, {"from-live", 2, 0, 'l'},
    {"help", 0, 0, 'h'},       {0},
};

static bool option_take(struct sim_options *o, int c, const char *value)
{
    switch (c) {
    case 'm': return machine_take(o, value);
    case 'p': o->policy_given = true; return policies_take(o, value);
    case 'o': o->policy_given = true; return order_take(o, value);
    case 'b': o->policy_given = true; return backfill_take(o, value);
    case 'r': return rule_take(o, value);
    case 'd': return depth_take(o, value);
    case 'n': return choice_take(o, value);
    case 'e': return estimates_take(o, value);
    case 'j': return range_take(o, value);
    case 'k': return shake_take(o, value);
    case 'c': return config_take(o, value);
    default: break;
    }
    return true;
}

/* Those that only keep their value. */
static void option_keep(struct sim_options *o, int c, const char *value)
{
    const struct {
        int c;
        const char **at;
    } texts[] = {{'S', &o->starts}, {'g', &o->svg},   {'A', &o->a},
                 {'B', &o->b},      {'f', &o->sacct}, {'l', &o->live_path}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].c == c)
            *texts[i].at = value;
    if (c == 's')
        str_addf(&o->settings, "%s\n", value);
    o->json |= c == 'J';
    o->live |= c == 'l';
    o->setup.untimed |= c == 'u';
}

int options_parse(int argc, char **argv, const char *command, void (*help)(FILE *),
                  struct sim_options *ret)
{
    int c;
    *ret = (struct sim_options){
        .command = command, .setup = {.policy = *ref_policy_named("default"), .rule = RULE_BATCH}};
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (c == 'h' || c == '?') {
            if (c == 'h')
                help(stdout);
            else
                options_complain(command, "--help lists the options");
            return c == 'h' ? 0 : 2;
        }
        if (!option_take(ret, c, optarg))
            return 2;
        option_keep(ret, c, optarg);
    }
    ret->setup.settings = ret->settings.len ? str_text(&ret->settings) : NULL;
    bool own = ret->sacct || ret->live;
    if (ret->sacct && ret->live)
        return options_complain(command,
                                "--from-sacct and --from-live are two workloads: give one"),
               2;
    if (own == (optind < argc))
        return options_complain(command,
                                own ? "a trace and a site's own jobs are two workloads: give one"
                                    : "what is to be replayed? A trace (FILE.swf), --from-sacct "
                                      "FILE or --from-live; --help tells more"),
               2;
    if (ret->nconfigs && (ret->setup.machine.procs || ret->setup.machine.lines))
        return options_complain(command,
                                "--machine and --config both say what the machine is: give one"),
               2;
    return -1;
}

void options_done(struct sim_options *o)
{
    str_done(&o->settings);
    str_done(&o->lines);
}

/* ---- the workload ---- */

static bool workload_read(const struct sim_options *o, const char *path, struct trace *ret,
                          struct err *ret_err)
{
    if (o->sacct)
        return sacct_read(o->sacct, ret, ret_err);
    if (o->live)
        return squeue_read(o->live_path, (int64_t)time(NULL), ret, ret_err);
    return made_named(path) ? made_read(path, ret, ret_err) : trace_read(path, ret, ret_err);
}

bool workload_open(const struct sim_options *o, const char *path, struct replay_machine *machine,
                   struct trace *ret)
{
    struct err err = {0};
    if (!workload_read(o, path, ret, &err))
        return options_complain(o->command, "%s", err.text);
    if (machine->procs == 0)
        machine->procs = ret->max_procs;
    if (machine->procs == 0) {
        options_complain(
            o->command, "%s does not say how large the machine is: give --config FILE or --machine",
            ret->name);
        trace_done(ret);
        return false;
    }
    trace_clean(ret, machine->procs);
    if (o->last)
        trace_keep(ret, o->first, o->last);
    if (o->shake_s)
        trace_shake(ret, o->shake_seed, o->shake_s);
    if (ret->job.n > 0)
        return true;
    options_complain(
        o->command,
        "%s: no job is left to replay (%llu did not run, %llu have no processors, %llu are too "
        "wide, %llu have not ended or are held)",
        ret->name, (unsigned long long)ret->dropped.run0, (unsigned long long)ret->dropped.procs0,
        (unsigned long long)ret->dropped.wide, (unsigned long long)ret->dropped.still);
    trace_done(ret);
    return false;
}

/* ---- the machine ---- */

/* FOLDER[/below]/remuda.conf if it can be read; owned by the caller. */
static char *conf_in(const char *folder, const char *below)
{
    struct str path = STR_INIT;
    if (folder)
        str_addf(&path, "%s%s/remuda.conf", folder, below);
    if (!folder || access(str_text(&path), R_OK) != 0)
        str_clear(&path);
    char *found = path.len ? xstrdup(str_text(&path)) : NULL;
    str_done(&path);
    return found;
}

/* Where the running cluster has its configuration: as the environment says, as Slurm's scontrol
 * says, or where `remuda up` puts it. */
static char *live_config(void)
{
    const char *named = getenv("SLURM_CONF");
    char line[4096], path[4096] = "", *state = named ? NULL : conf_in(getenv("REMUDA_STATE"), "");
    FILE *from = named || state ? NULL : popen("scontrol show config 2>/dev/null", "r");
    while (from && fgets(line, sizeof line, from))
        (void)sscanf(line, " SLURM_CONF = %4095[^\n]", path);
    if (from)
        pclose(from);
    if (named || state || *path)
        return state ? state : xstrdup(named ? named : path);
    state = conf_in("/var/lib/remuda", "");
    return state ? state : conf_in(getenv("HOME"), "/.local/state/remuda");
}

static bool config_open(const struct sim_options *o, const char *path, struct site *site,
                        struct replay_setup *setup)
{
    static const struct ref_policy configured = {
        .name = "configured", .order = REF_DAEMON, .passing = REF_DAEMON, .backfill = REF_EASY};
    struct err err = {0};
    if (!site_read(path, site, &setup->machine, NULL, &err))
        return options_complain(o->command, "%s", err.text);
    if (!o->policy_given)
        setup->policy = configured;
    return true;
}

bool machine_open(const struct sim_options *o, const char *config, struct site *site,
                  struct replay_setup *setup)
{
    if (config)
        return config_open(o, config, site, setup);
    if (!o->live || setup->machine.procs)
        return true;
    char *path = live_config();
    bool ok = path ? config_open(o, path, site, setup)
                   : options_complain(
                         o->command,
                         "where is the configuration of the running cluster? Give --config FILE");
    free(path);
    return ok;
}
