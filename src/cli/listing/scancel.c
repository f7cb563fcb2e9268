/* scancel: ends jobs and steps, or sends them a signal. Which jobs the filters mean is decided by
 * the controller, in one request. */
#include "base/alloc.h"
#include "base/list.h"
#include "base/str.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/program.h"
#include "cli/record/columns_job.h"
#include "cli/table/listing.h"
#include "model/grammar/signals.h"
#include "model/job/array.h"
#include "model/limits.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scancel {
    struct arena *a;
    struct msg_cancel cancel;
    const char *users; /* as asked for */
    const char *clusters;
    bool interactive, quiet, filtered;
    bool nothing; /* a filter is empty: no job has that */
    int verbose;
};

/* "42", "42_7", "42_[1-3]", "42.0", also "42,43". Checked here, so that a typing error cancels
 * nothing. */
static bool ids_add(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct scancel *s = to;
    struct job_ref ref;
    size_t depth = 0;
    const char *start = word;
    if (!*word)
        return err_set(ret_err, ERR_INVALID, "Invalid job id ");
    for (const char *at = word;; at++) {
        depth += (*at == '[') - (size_t)(*at == ']');
        if (*at && (*at != ',' || depth))
            continue;
        if (at > start) {
            const char *piece = arena_strndup(a, start, (size_t)(at - start));
            if (!job_ref_parse(piece, &ref, ret_err))
                return err_set(ret_err, ERR_INVALID, "Invalid job id %s", piece);
            job_ref_done(&ref);
            s->cancel.ids = listing_join(s->cancel.ids, piece, a);
        }
        if (!*at)
            return true;
        start = at + 1;
    }
}

static SETTER(set_filter)
{
    struct scancel *s = to;
    s->filtered = true;
    s->nothing |= !*value;
    return set_any_text(to, row, value, env, a, ret_err);
}

static SETTER(set_signal)
{
    int signo;
    if (!signal_parse(value, &signo)) {
        plain_line("Unknown job signal: %s", value);
        return err_set(ret_err, ERR_INVALID,
                       "\"%s\": names as USR1 or SIGUSR1 and numbers from 1 to 64 are known",
                       value);
    }
    ((struct scancel *)to)->cancel.signal = signo;
    return true;
}

static SETTER(set_me)
{
    struct scancel *s = to;
    s->filtered = true;
    s->cancel.uids = s->users = arena_printf(a, "%u", (unsigned)getuid());
    return true;
}

static bool users_take(struct scancel *s, const char *users, struct err *ret_err)
{
    s->filtered = true;
    s->users = users;
    return (*users && listing_uids(users, s->a, &s->cancel.uids, NULL)) ||
           err_set(ret_err, ERR_INVALID, "Invalid user name: %s", users);
}

static SETTER(set_user)
{
    return users_take(to, value, ret_err);
}

/* `refused`: Slurm's words for what is none, which stand alone. */
static bool states_take(struct scancel *s, const char *value, const char *refused,
                        struct err *ret_err)
{
    s->filtered = true;
    if (*value && listing_states(NULL, value, s->a, &s->cancel.states, ret_err))
        return true;
    fprintf(stderr, "%s: %s\n", refused, value);
    return *value
               ? false
               : err_set(ret_err, ERR_INVALID, "a state is needed: PENDING, RUNNING, SUSPENDED, …");
}

static SETTER(set_state)
{
    return states_take(to, value, "Invalid job state specified", ret_err);
}

#define AT(member) offsetof(struct scancel, member)
static const struct option_row option_rows[] = {
    OPT_VALUE("account", 'A', "account", "jobs of this account", set_filter, AT(cancel.accounts),
              .env = {"SCANCEL_ACCOUNT"}),
    OPT_FLAG("batch", 'b', "signal the batch shell only", AT(cancel.batch)),
    OPT_VALUE("clusters", 'M', "cluster", "cluster; only this one is known", set_any_text,
              AT(clusters), .alias = "cluster"),
    OPT_FLAG("cron", 0, "jobs of scrontab, too, which takes their lines out of the table",
             AT(cancel.cron)),
    OPT_NO_EFFECT("ctld", 'c', ARG_NONE, "through the controller (always so)"),
    OPT_FLAG("full", 'f', "signal the batch shell and the steps", AT(cancel.full)),
    OPT_ACCEPTED("help", 0, ARG_NONE, "this text"),
    OPT_FLAG("hurry", 'H', "without staging data out (nothing is ever staged)", AT(cancel.hurry)),
    OPT_FLAG("interactive", 'i', "ask for each job", AT(interactive)),
    {.name = "me", .doc = "my own jobs", .set = set_me},
    OPT_VALUE("name", 'n', "name", "jobs of this name", set_filter, AT(cancel.names),
              .alias = "jobname", .env = {"SCANCEL_NAME"}),
    OPT_VALUE("nodelist", 'w', "nodes", "jobs that use any of these nodes", set_filter,
              AT(cancel.nodes)),
    OPT_VALUE("partition", 'p', "partition", "jobs in this partition", set_filter,
              AT(cancel.partitions), .env = {"SCANCEL_PARTITION"}),
    OPT_VALUE("qos", 'q', "QOS", "jobs with this QOS", set_filter, AT(cancel.qos),
              .env = {"SCANCEL_QOS"}),
    OPT_FLAG("quiet", 'Q', "say nothing of jobs that are over", AT(quiet)),
    OPT_VALUE("reservation", 'R', "reservation", "jobs in this reservation", set_filter,
              AT(cancel.reservations)),
    OPT_REFUSED("sibling", 0, ARG_REQUIRED, "the job's part on one cluster of a federation",
                "not supported yet: there are no federations"),
    OPT_VALUE("signal", 's', "signal", "send this signal instead of ending them", set_signal, 0),
    OPT_VALUE("state", 't', "state", "jobs in this state: PENDING, RUNNING, SUSPENDED", set_state,
              0),
    OPT_ACCEPTED("usage", 0, ARG_NONE, "all options in a few lines"),
    OPT_VALUE("user", 'u', "user", "jobs of this user", set_user, 0),
    {.name = "verbose", .letter = 'v', .doc = "say more", .set = set_count, .at = AT(verbose)},
    OPT_ACCEPTED("version", 'V', ARG_NONE, "version"),
    OPT_VALUE("wckey", 0, "key", "jobs with this workload key", set_filter, AT(cancel.wckeys),
              .env = {"SCANCEL_WCKEY"}),
};
OPTION_TABLE(scancel_options, option_rows,
             .usage = "scancel [OPTIONS] [job_id[_array_id][.step_id]]", .words = WORDS_MIXED,
             .word = ids_add, .variables_as_are = true);

/* SCANCEL_BATCH and the like: t, true, f or false. */
static bool flag_given(const char *name)
{
    const char *value = getenv(name);
    if (!value || text_is_nocase(value, "f") || text_is_nocase(value, "false"))
        return false;
    if (text_is_nocase(value, "t") || text_is_nocase(value, "true"))
        return true;
    program_error("scancel", "Unrecognized %s value: %s", name, value);
    return false;
}

/* What Slurm reads in a way of its own. Variables choose among the jobs that are named, too. */
static bool variables_take(struct scancel *s, struct err *ret_err)
{
    const char *states = getenv("SCANCEL_STATE"), *users = getenv("SCANCEL_USER");
    s->cancel.batch |= flag_given("SCANCEL_BATCH");
    s->cancel.full |= flag_given("SCANCEL_FULL");
    s->interactive |= flag_given("SCANCEL_INTERACTIVE");
    s->verbose += flag_given("SCANCEL_VERBOSE");
    return (!states || s->cancel.states ||
            states_take(s, states, "Unrecognized SCANCEL_STATE value", ret_err)) &&
           (!users || s->users || users_take(s, users, ret_err));
}

static bool cluster_check(const struct scancel *s, struct err *ret_err)
{
    const char *asked = s->clusters ? s->clusters : getenv("SLURM_CLUSTERS");
    if (text_empty(asked))
        return true;
    return listing_cluster_check("scancel", asked, "--cluster",
                                 cluster_name(state_dir_find(NULL, s->a), s->a), ret_err);
}

/* ---- -i: the jobs meant, asked for one by one ----------------------------------------------- */

struct chosen {
    const struct msg_cancel *asks;
    const char *step; /* ".0": of the job, not all of it; "" = the job */
    struct str ids;   /* as a list */
};

static bool passes(const char *filter, const char *word)
{
    return !filter || (word && list_has(filter, word));
}

/* A name has commas, as "lr=0.1,bs=32"; a query asks for lists of names. */
static const char *name_of_query(const struct msg_cancel *m)
{
    return m->names && strchr(m->names, ',') ? NULL : m->names;
}

static void job_ask(void *ctx, const void *record)
{
    struct chosen *chosen = ctx;
    const struct job *j = record;
    struct str label = STR_INIT;
    /* A query knows no such conditions. */
    if (!passes(chosen->asks->wckeys, j->spec.wckey) ||
        !passes(chosen->asks->reservations, j->spec.req.reservation) ||
        (!name_of_query(chosen->asks) && chosen->asks->names &&
         !text_is(j->spec.name, chosen->asks->names)))
        return;
    char answer[16] = "";
    job_label(j, &label);
    str_add(&label, chosen->step);
    printf("Cancel %s_id=%s name=%s partition=%s [y/n]? ", *chosen->step ? "step" : "job",
           str_text(&label), j->spec.name ? j->spec.name : "", job_partition(j));
    fflush(stdout);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        list_addf(&chosen->ids, "%s", str_text(&label));
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
                          .names = name_of_query(m),
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
    struct chosen chosen = {.asks = &s->cancel, .step = ""};
    size_t depth = 0;
    bool ok = s->cancel.ids || jobs_ask(s, c, NULL, &chosen, ret_err);
    for (const char *start = s->cancel.ids, *at = start; at && ok; at++) {
        depth += (*at == '[') - (size_t)(*at == ']');
        if (*at && (*at != ',' || depth))
            continue;
        const char *ref = arena_strndup(s->a, start, (size_t)(at - start)), *dot = strchr(ref, '.');
        chosen.step = dot ? dot : "";
        ok = jobs_ask(s, c, dot ? arena_strndup(s->a, ref, (size_t)(dot - ref)) : ref, &chosen,
                      ret_err);
        if (!*at)
            break;
        start = at + 1;
    }
    s->cancel.ids = chosen.ids.len ? arena_strdup(s->a, str_text(&chosen.ids)) : NULL;
    str_done(&chosen.ids);
    return ok;
}

/* ---- doing it ------------------------------------------------------------------------------- */

/* Of elements there is nothing any more that could hear a signal: Slurm knows no such job then. */
static const char *text_of(const struct scancel *s, const struct result *r)
{
    bool signal = s->cancel.signal && s->cancel.signal != SIGKILL;
    bool element = r->elements || (strchr(r->ref, '_') && !strchr(r->ref, '.'));
    if (element && signal && r->refusal == REFUSE_ALREADY_DONE)
        return refusal_text(REFUSE_INVALID_JOB_ID);
    return r->refusal == REFUSE_SCRIPT ? "Job script not specified"
                                       : refusal_text((enum refusal)r->refusal);
}

/* Elements that were named are told of one by one. */
static void error_print(const struct scancel *s, const struct result *r, bool of_step)
{
    const char *bracket = r->elements ? strchr(r->ref, '[') : NULL, *what = of_step ? "step " : "";
    struct idset of = IDSET_INIT;
    uint32_t id;
    if (!bracket || !idset_parse(&of, r->elements, LIMIT_ARRAY_INDEX, NULL))
        fprintf(stderr, "scancel: error: Kill job error on job %sid %s: %s\n", what, r->ref,
                text_of(s, r));
    for (bool more = idset_first(&of, &id); more; more = idset_next(&of, id, &id))
        fprintf(stderr, "scancel: error: Kill job error on job %sid %.*s%u: %s\n", what,
                (int)(bracket - r->ref), r->ref, id, text_of(s, r));
    idset_done(&of);
}

/* Slurm ends with the low byte of its number for what was refused. */
static int exit_of(int32_t refusal, bool of_step)
{
    switch (refusal) {
    case REFUSE_ACCESS_DENIED: return of_step ? 218 : 210;
    case REFUSE_SCRIPT: return 217;
    case REFUSE_NOT_RUNNING: return 228; /* a signal for a job that waits */
    case REFUSE_NOT_WHOLE_HET: return 60;
    default: return 1;
    }
}

static int results_print(const struct scancel *s, const struct msg_done *done)
{
    const struct result *result = done->results.v;
    int rc = 0;
    for (size_t i = 0; i < done->results.n; i++) {
        bool over =
            result[i].refusal == REFUSE_INVALID_JOB_ID || result[i].refusal == REFUSE_ALREADY_DONE;
        /* A job that is over or unknown is what was wanted, unless a signal was to be delivered; of
         * a step it is said. */
        bool of_step = strchr(result[i].ref, '.') != NULL;
        bool asked = s->cancel.signal || s->cancel.batch || of_step;
        if (over && !asked && !s->verbose)
            continue;
        if (!s->quiet || !over)
            error_print(s, &result[i], of_step);
        if (!s->quiet && result[i].detail)
            fprintf(stderr, "scancel: error: %s\n", result[i].detail);
        if (!over || asked)
            rc = exit_of((int32_t)result[i].refusal, of_step);
    }
    return rc;
}

/* -v: what is about to be done, a line for each id of the command line. */
static void intent_print(const struct scancel *s)
{
    struct span rest = span_of(s->cancel.ids), id;
    while (s->verbose && !s->quiet && s->cancel.ids && span_next(&rest, ',', &id)) {
        bool step = memchr(id.data, '.', id.len) != NULL;
        const char *what = step              ? "step"
                           : s->cancel.full  ? "full job"
                           : s->cancel.batch ? "batch job"
                                             : "job";
        if (s->cancel.signal && s->cancel.signal != SIGKILL)
            fprintf(stderr, "scancel: Signal %d to %s %.*s\n", s->cancel.signal, what, (int)id.len,
                    id.data);
        else
            fprintf(stderr, "scancel: Terminating %s %.*s\n", step ? "step" : "job", (int)id.len,
                    id.data);
    }
}

/* -v: filters that no job matched, in Slurm's words. */
static void unmatched_print(const struct scancel *s)
{
    const struct msg_cancel *m = &s->cancel;
    const struct {
        const char *name, *value;
    } filters[] = {
        {"account", m->accounts},     {"job_name", m->names},  {"nodelist", m->nodes},
        {"partition", m->partitions}, {"qos", m->qos},         {"reservation", m->reservations},
        {"state", m->states},         {"user_name", s->users}, {"wckey", m->wckeys}};
    struct str text = STR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(filters); i++)
        if (filters[i].value)
            str_addf(&text, "%s=%s ", filters[i].name, filters[i].value);
    program_error("scancel", "No active jobs match ALL job filters, including: %s",
                  str_text(&text));
    str_done(&text);
}

/* No controller. Whole jobs that are named are asked for as they stand; for all else Slurm looks
 * jobs up first. */
#define EXIT_AWAY 8

static int away_say(const struct scancel *s, const char *where)
{
    const struct msg_cancel *m = &s->cancel;
    bool named = m->ids && !s->filtered && !s->interactive && !m->signal && !m->batch && !m->full &&
                 !strchr(m->ids, '.');
    const char *why = refusal_text(REFUSE_NO_CONTROLLER);
    struct span rest = span_of(m->ids), id;
    while (named && !s->quiet && span_next(&rest, ',', &id))
        program_error("scancel", "Kill job error on job id %.*s: %s", (int)id.len, id.data, why);
    if (!named)
        fprintf(stderr, "slurm_load_jobs error: %s\n", why);
    if (!named || !s->quiet)
        program_error("scancel", "%s", where);
    return named ? EXIT_AWAY : 1;
}

static int scancel_run(struct scancel *s)
{
    struct err err = {0};
    struct message answer;
    if (!cluster_check(s, &err) || !variables_take(s, &err)) {
        program_error("scancel", "%s", err.text);
        return 1;
    }
    if (!s->cancel.ids && !s->filtered) {
        program_error("scancel", "No job identification provided");
        return 1;
    }
    if (s->nothing)
        return 0;
    struct client *c = cluster_reach(state_dir_find(NULL, s->a), &err);
    if (!c)
        return away_say(s, err.text);
    int rc = 1;
    bool ok = !s->interactive || ask(s, c, &err);
    program_finish_first();
    if (ok && s->interactive && !s->cancel.ids)
        rc = 0;
    else if (ok && (intent_print(s), true) &&
             client_call(c, MSG_CANCEL, &s->cancel, 0, s->a, &answer, &err)) {
        const struct msg_done *done = answer.body;
        rc = results_print(s, done);
        if (s->verbose && s->filtered && !done->count && !done->results.n)
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
    struct option_line line = {.table = &scancel_options, .to = &s, .a = s.a};
    struct err err = {0};
    int rc = 0;
    if (!option_line_read(&line, argc, argv, &err)) {
        program_usage_error("scancel", &err);
        rc = 1;
    } else if (!program_information(&line)) {
        option_line_read_variables(&line, getenv, NULL);
        rc = scancel_run(&s);
    }
    arena_free(s.a);
    return rc;
}
