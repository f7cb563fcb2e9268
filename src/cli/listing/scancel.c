/* scancel: ends jobs and steps, or sends them a signal. Which jobs the filters mean is decided by the controller, in one request. */
#include "base/alloc.h"
#include "base/str.h"
#include "cli/program/commands.h"
#include "cli/program/options.h"
#include "cli/program/program.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/array.h"
#include "model/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_ACCOUNT = 1,
    OPT_BATCH,
    OPT_CTLD,
    OPT_CLUSTERS,
    OPT_FULL,
    OPT_HELP,
    OPT_HURRY,
    OPT_INTERACTIVE,
    OPT_NAME,
    OPT_NODELIST,
    OPT_PARTITION,
    OPT_QOS,
    OPT_QUIET,
    OPT_RESERVATION,
    OPT_SIBLING,
    OPT_SIGNAL,
    OPT_STATE,
    OPT_USAGE,
    OPT_USER,
    OPT_ME,
    OPT_VERBOSE,
    OPT_VERSION,
    OPT_WCKEY,
    OPT_CRON,
    OPT_ADMIN_COMMENT,
};

static const struct cli_option option_rows[] = {
    {"account", 'A', CLI_VALUE, OPT_ACCOUNT, "jobs of this `account`"},
    {"batch", 'b', CLI_NONE, OPT_BATCH, "signal the batch shell only"},
    {"clusters", 'M', CLI_VALUE, OPT_CLUSTERS, "`cluster`; only this one is known"},
    {"cluster", 0, CLI_VALUE, OPT_CLUSTERS, NULL},
    {"cron", 0, CLI_NONE, OPT_CRON, NULL},
    {"ctld", 'c', CLI_NONE, OPT_CTLD, "through the controller (always so)"},
    {"full", 'f', CLI_NONE, OPT_FULL, "signal the batch shell and the steps"},
    {"help", 0, CLI_NONE, OPT_HELP, "this text"},
    {"hurry", 'H', CLI_NONE, OPT_HURRY, "without staging data out (nothing is ever staged)"},
    {"interactive", 'i', CLI_NONE, OPT_INTERACTIVE, "ask for each job"},
    {"jobname", 0, CLI_VALUE, OPT_NAME, NULL},
    {"me", 0, CLI_NONE, OPT_ME, "my own jobs"},
    {"name", 'n', CLI_VALUE, OPT_NAME, "jobs of this `name`"},
    {"nodelist", 'w', CLI_VALUE, OPT_NODELIST, "jobs that use any of these `nodes`"},
    {"partition", 'p', CLI_VALUE, OPT_PARTITION, "jobs in this `partition`"},
    {"qos", 'q', CLI_VALUE, OPT_QOS, "jobs with this `QOS`"},
    {"quiet", 'Q', CLI_NONE, OPT_QUIET, "say nothing of jobs that are over"},
    {"reservation", 'R', CLI_VALUE, OPT_RESERVATION, "jobs in this `reservation`"},
    {"sibling", 0, CLI_VALUE, OPT_SIBLING, NULL},
    {"signal", 's', CLI_VALUE, OPT_SIGNAL, "send this `signal` instead of ending them"},
    {"state", 't', CLI_VALUE, OPT_STATE, "jobs in this `state`: PENDING, RUNNING, SUSPENDED"},
    {"usage", 0, CLI_NONE, OPT_USAGE, "all options in a few lines"},
    {"user", 'u', CLI_VALUE, OPT_USER, "jobs of this `user`"},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "say more"},
    {"version", 'V', CLI_NONE, OPT_VERSION, "version"},
    {"wckey", 0, CLI_VALUE, OPT_WCKEY, "jobs with this workload `key`"},
};
static const struct cli_options table = {option_rows, ARRAY_LEN(option_rows), true};

#define USAGE "scancel [OPTIONS] [job_id[_array_id][.step_id]]"

struct scancel {
    struct arena *a;
    struct msg_cancel cancel;
    const char *users; /* as asked for */
    bool help, usage, version, interactive, quiet, filtered;
    int verbose;
};

/* "42", "42_7", "42_[1-3]", "42.0", also "42,43". Checked here, so that a typing error cancels nothing. */
static bool ids_add(struct scancel *s, const char *word, struct err *ret_err)
{
    struct job_ref ref;
    size_t depth = 0;
    const char *start = word;
    for (const char *at = word;; at++) {
        depth += (*at == '[') - (size_t)(*at == ']');
        if (*at && (*at != ',' || depth))
            continue;
        if (at > start) {
            const char *piece = arena_strndup(s->a, start, (size_t)(at - start));
            if (!job_ref_parse(piece, &ref, ret_err))
                return err_set(ret_err, ERR_INVALID, "Invalid job id %s", piece);
            job_ref_done(&ref);
            s->cancel.ids = listing_join(s->cancel.ids, piece, s->a);
        }
        if (!*at)
            return true;
        start = at + 1;
    }
}

static bool filter(struct scancel *s, const char **to, const char *value)
{
    *to = value;
    s->filtered = true;
    return true;
}

static bool signal_take(struct scancel *s, const char *value, struct err *ret_err)
{
    int signo;
    if (!signal_parse(value, &signo)) {
        fprintf(stderr, "Unknown job signal: %s\n", value);
        return err_set(ret_err, ERR_INVALID,
                       "\"%s\": names as USR1 or SIGUSR1 and numbers from 1 to 64 are known", value);
    }
    s->cancel.signal = signo;
    return true;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct scancel *s = ctx;
    switch (id) {
    case CLI_WORD: return ids_add(s, value, ret_err);
    case OPT_ACCOUNT: return filter(s, &s->cancel.accounts, value);
    case OPT_NAME: return filter(s, &s->cancel.names, value);
    case OPT_NODELIST: return filter(s, &s->cancel.nodes, value);
    case OPT_PARTITION: return filter(s, &s->cancel.partitions, value);
    case OPT_QOS: return filter(s, &s->cancel.qos, value);
    case OPT_RESERVATION: return filter(s, &s->cancel.reservations, value);
    case OPT_WCKEY: return filter(s, &s->cancel.wckeys, value);
    case OPT_ME:
        s->users = arena_printf(s->a, "%u", (unsigned)getuid());
        return filter(s, &s->cancel.uids, s->users);
    case OPT_USER:
        s->filtered = true;
        s->users = value;
        return listing_uids(value, s->a, &s->cancel.uids, NULL) ||
               err_set(ret_err, ERR_INVALID, "Invalid user name: %s", value);
    case OPT_STATE:
        s->filtered = true;
        return listing_states("scancel", value, s->a, &s->cancel.states, ret_err);
    case OPT_SIGNAL: return signal_take(s, value, ret_err);
    case OPT_CLUSTERS: return listing_clusters(value, ret_err);
    case OPT_SIBLING:
        return err_set(ret_err, ERR_UNSUPPORTED, "--sibling: not supported yet: there are no federations");
    case OPT_CRON:
        return err_set(ret_err, ERR_UNSUPPORTED, "--cron: not supported yet: there are no scrontab jobs");
    case OPT_BATCH: s->cancel.batch = true; break;
    case OPT_FULL: s->cancel.full = true; break;
    case OPT_HURRY: s->cancel.hurry = true; break;
    case OPT_INTERACTIVE: s->interactive = true; break;
    case OPT_QUIET: s->quiet = true; break;
    case OPT_VERBOSE: s->verbose++; break;
    case OPT_HELP: s->help = true; break;
    case OPT_USAGE: s->usage = true; break;
    case OPT_VERSION: s->version = true; break;
    }
    return true;
}

static void environment_take(struct scancel *s)
{
    const char **const filters[] = {&s->cancel.accounts, &s->cancel.names, &s->cancel.partitions,
                                    &s->cancel.qos, &s->cancel.wckeys};
    static const char *const names[] = {"SCANCEL_ACCOUNT", "SCANCEL_NAME", "SCANCEL_PARTITION", "SCANCEL_QOS",
                                        "SCANCEL_WCKEY"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!*filters[i] && getenv(names[i]))
            filter(s, filters[i], getenv(names[i]));
    s->cancel.batch |= getenv("SCANCEL_BATCH") != NULL;
    s->cancel.full |= getenv("SCANCEL_FULL") != NULL;
    s->interactive |= getenv("SCANCEL_INTERACTIVE") != NULL;
}

/* ---- -i: the jobs meant, asked for one by one ------------------------------------------------------------------------------ */

struct chosen {
    struct arena *a;
    const char *step; /* ".0": of the job, not all of it; "" = the job */
    const char *ids;
};

static void job_ask(void *ctx, const void *record)
{
    struct chosen *chosen = ctx;
    const struct job *j = record;
    struct str label = STR_INIT;
    char answer[16] = "";
    job_label(j, &label);
    str_add(&label, chosen->step);
    printf("Cancel %s_id=%s name=%s partition=%s [y/n]? ", *chosen->step ? "step" : "job", str_text(&label),
           j->spec.name ? j->spec.name : "", job_partition(j));
    fflush(stdout);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        chosen->ids = listing_join(chosen->ids, arena_strdup(chosen->a, str_text(&label)), chosen->a);
    str_done(&label);
}

/* The jobs that `ids` (NULL = all) and the filters mean. */
static bool jobs_ask(struct scancel *s, struct client *c, const char *ids, struct chosen *chosen,
                     struct err *ret_err)
{
    const struct msg_cancel *m = &s->cancel;
    struct msg_query q = {.what = QUERY_JOBS,
                          .ids = ids,
                          .uids = m->uids,
                          .states = m->states,
                          .partitions = m->partitions,
                          .names = m->names,
                          .accounts = m->accounts,
                          .qos = m->qos,
                          .nodes = m->nodes,
                          .exact = *chosen->step};
    struct msg_done done;
    return client_query(c, &q, &job_fields, s->a, job_ask, chosen, &done, ret_err);
}

/* Steps are asked about as steps. */
static bool ask(struct scancel *s, struct client *c, struct err *ret_err)
{
    struct chosen chosen = {.a = s->a, .step = ""};
    size_t depth = 0;
    bool ok = s->cancel.ids || jobs_ask(s, c, NULL, &chosen, ret_err);
    for (const char *start = s->cancel.ids, *at = start; at && ok; at++) {
        depth += (*at == '[') - (size_t)(*at == ']');
        if (*at && (*at != ',' || depth))
            continue;
        const char *ref = arena_strndup(s->a, start, (size_t)(at - start)), *dot = strchr(ref, '.');
        chosen.step = dot ? dot : "";
        ok = jobs_ask(s, c, dot ? arena_strndup(s->a, ref, (size_t)(dot - ref)) : ref, &chosen, ret_err);
        if (!*at)
            break;
        start = at + 1;
    }
    s->cancel.ids = chosen.ids;
    return ok;
}

/* ---- doing it ----------------------------------------------------------------------------------------------------------------- */

static int results_print(const struct scancel *s, const struct msg_done *done)
{
    const struct result *result = done->results.v;
    int rc = 0;
    for (size_t i = 0; i < done->results.n; i++) {
        bool over = result[i].refusal == REFUSE_INVALID_JOB_ID || result[i].refusal == REFUSE_ALREADY_DONE;
        /* A job that is over or unknown is what was wanted, unless a signal was to be delivered; of a step it is said. */
        bool asked = s->cancel.signal || s->cancel.batch || strchr(result[i].ref, '.');
        if (over && !asked && !s->verbose)
            continue;
        if (!s->quiet || !over)
            fprintf(stderr, "scancel: error: Kill job error on job %sid %s: %s\n",
                    strchr(result[i].ref, '.') ? "step " : "", result[i].ref,
                    refusal_text((enum refusal)result[i].refusal));
        if (!s->quiet && result[i].detail)
            fprintf(stderr, "scancel: error: %s\n", result[i].detail);
        if (!over || asked)
            rc = 1;
    }
    return rc;
}

/* -v: what is about to be done, a line for each id of the command line. */
static void intent_print(const struct scancel *s)
{
    struct span rest = span_of(s->cancel.ids), id;
    while (s->verbose && s->cancel.ids && span_next(&rest, ',', &id)) {
        bool step = memchr(id.data, '.', id.len) != NULL;
        const char *what = step              ? "step"
                           : s->cancel.full  ? "full job"
                           : s->cancel.batch ? "batch job"
                                             : "job";
        if (s->cancel.signal && s->cancel.signal != SIGKILL)
            fprintf(stderr, "scancel: Signal %d to %s %.*s\n", s->cancel.signal, what, (int)id.len, id.data);
        else
            fprintf(stderr, "scancel: Terminating %s %.*s\n", step ? "step" : "job", (int)id.len, id.data);
    }
}

/* -v: filters that no job matched, in Slurm's words. */
static void unmatched_print(const struct scancel *s)
{
    const struct msg_cancel *m = &s->cancel;
    const struct {
        const char *name, *value;
    } filters[] = {{"account", m->accounts},     {"job_name", m->names},  {"nodelist", m->nodes},
                   {"partition", m->partitions}, {"qos", m->qos},         {"reservation", m->reservations},
                   {"state", m->states},         {"user_name", s->users}, {"wckey", m->wckeys}};
    struct str text = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(filters); i++)
        if (filters[i].value)
            str_addf(&text, "%s=%s ", filters[i].name, filters[i].value);
    program_error("scancel", "No active jobs match ALL job filters, including: %s", str_text(&text));
    str_done(&text);
}

static int scancel_run(struct scancel *s)
{
    struct err err = {0};
    struct message answer;
    environment_take(s);
    if (!s->cancel.ids && !s->filtered) {
        program_error("scancel", "No job identification provided");
        return 1;
    }
    struct client *c = program_connect("scancel", state_dir_find(NULL, s->a));
    if (!c)
        return 1;
    int rc = 1;
    bool ok = !s->interactive || ask(s, c, &err);
    program_finish_first();
    if (ok && s->interactive && !s->cancel.ids)
        rc = 0;
    else if (ok && (intent_print(s), true) &&
             client_call(c, MSG_CANCEL, &s->cancel, 0, s->a, &answer, &err)) {
        const struct msg_done *done = answer.body;
        rc = results_print(s, done);
        if (s->verbose && s->filtered && !done->count)
            unmatched_print(s);
        if (done->refusal != REFUSE_NONE && !done->results.n) {
            program_error("scancel", "%s", refusal_text((enum refusal)done->refusal));
            if (done->detail)
                program_error("scancel", "%s", done->detail);
            rc = 1;
        }
    }
    if (err.code)
        program_error("scancel", "%s", err.text);
    client_close(c);
    return rc;
}

int cmd_scancel(int argc, char **argv)
{
    struct scancel s = {.a = arena_new()};
    struct err err = {0};
    int rc = 0;
    if (!cli_parse(&table, argc, argv, option_take, &s, &err)) {
        program_usage_error("scancel", &err);
        rc = 1;
    } else if (s.version) {
        puts(SLURM_VERSION_TEXT);
    } else if (s.help) {
        cli_help_print(&table, USAGE);
    } else if (s.usage) {
        cli_usage_print(&table, USAGE);
    } else {
        rc = scancel_run(&s);
    }
    arena_free(s.a);
    return rc;
}
