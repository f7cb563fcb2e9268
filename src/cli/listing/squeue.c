/* squeue: jobs that wait or run. Filters the controller knows go with the query; the rest is done here, as are sorting, expanding arrays (-r) and repeating (-i). */
#include "cli/listing/squeue.h"
#include "base/alloc.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/record/columns_job.h"
#include "cli/record/columns_step.h"
#include "cli/record/job_json.h"
#include "cli/table/listing.h"
#include "model/array.h"
#include "model/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_DEFAULT "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define FORMAT_LONG    "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define FORMAT_STEPS   "%.15i %.8j %.9P %.8u %.9M %N"
#define FORMAT_STATES  "%.18i %T"
#define FORMAT_START   "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
/* Jobs that are over are not shown unless asked for, by id neither: pollers take an empty answer for the end. */
#define STATES_DEFAULT "PENDING,RUNNING,SUSPENDED,COMPLETING,REQUEUED,SPECIAL_EXIT"
#define SORT_DEFAULT   "P,t,-p"
#define SORT_STEPS     "P,i"

enum {
    OPT_ACCOUNT = LISTING_OWN,
    OPT_ALL,
    OPT_ARRAY,
    OPT_ARRAY_UNIQUE,
    OPT_HIDE,
    OPT_JOBS,
    OPT_LICENSES,
    OPT_ME,
    OPT_NAME,
    OPT_NODELIST,
    OPT_PARTITION,
    OPT_PRIORITY,
    OPT_QOS,
    OPT_RESERVATION,
    OPT_SORT,
    OPT_START,
    OPT_STATES,
    OPT_STEPS,
    OPT_USERS,
    OPT_ONLY_STATE,
};

static const struct cli_option option_rows[] = {
    {"account", 'A', CLI_VALUE, OPT_ACCOUNT, "jobs of these `accounts`"},
    {"accounts", 0, CLI_VALUE, OPT_ACCOUNT, NULL},
    {"all", 'a', CLI_NONE, OPT_ALL, "jobs in hidden partitions too"},
    {"array", 'r', CLI_NONE, OPT_ARRAY, "one line for each array element"},
    {"array-unique", 0, CLI_NONE, OPT_ARRAY_UNIQUE, "one line for each pending array element"},
    {"clusters", 'M', CLI_VALUE, LISTING_CLUSTERS, "`cluster`; only this one is known"},
    {"cluster", 0, CLI_VALUE, LISTING_CLUSTERS, NULL},
    {"federation", 0, CLI_NONE, LISTING_NOTHING, "there are no federations: the same as without"},
    {"format", 'o', CLI_VALUE, LISTING_FORMAT, "`columns` by letter: \"%.18i %j %T\""},
    {"Format", 'O', CLI_VALUE, LISTING_LONG_FORMAT, "`columns` by name: JobID:10,State"},
    {"help", 0, CLI_NONE, LISTING_HELP, "this text"},
    {"hide", 0, CLI_NONE, OPT_HIDE, "no jobs in hidden partitions (the default)"},
    {"iterate", 'i', CLI_VALUE, LISTING_ITERATE, "repeat every so many `seconds`"},
    {"jobs", 'j', CLI_ATTACHED, OPT_JOBS, "these `jobs`: 42,43_7"},
    {"json", 0, CLI_ATTACHED, LISTING_JSON, "everything as JSON"},
    {"licenses", 'L', CLI_VALUE, OPT_LICENSES, "jobs that ask for these `licences`"},
    {"local", 0, CLI_NONE, LISTING_NOTHING, "this cluster (the default)"},
    {"long", 'l', CLI_NONE, LISTING_LONG, "more columns"},
    {"me", 0, CLI_NONE, OPT_ME, "my own jobs"},
    {"name", 'n', CLI_VALUE, OPT_NAME, "jobs of these `names`"},
    {"noconvert", 0, CLI_NONE, LISTING_NOCONVERT, "numbers in their own unit"},
    {"nodelist", 'w', CLI_VALUE, OPT_NODELIST, "jobs on these `nodes`"},
    {"noheader", 'h', CLI_NONE, LISTING_NOHEADER, "no header line"},
    {"only-job-state", 0, CLI_NONE, OPT_ONLY_STATE, "ids and states only"},
    {"nodes", 0, CLI_VALUE, OPT_NODELIST, NULL},
    {"partitions", 0, CLI_VALUE, OPT_PARTITION, NULL},
    {"partition", 'p', CLI_VALUE, OPT_PARTITION, "jobs in these `partitions`"},
    {"priority", 'P', CLI_NONE, OPT_PRIORITY, "a line for each partition a job waits in"},
    {"qos", 'q', CLI_VALUE, OPT_QOS, "jobs with these `QOS`"},
    {"reservation", 'R', CLI_VALUE, OPT_RESERVATION, "jobs in this `reservation`"},
    {"sibling", 0, CLI_NONE, LISTING_NOTHING, "there are no federations: the same as without"},
    {"sort", 'S', CLI_VALUE, OPT_SORT, "sort by `letters` of -o, '-' before one turns it round"},
    {"start", 0, CLI_NONE, OPT_START, "when waiting jobs are planned to start"},
    {"state", 0, CLI_VALUE, OPT_STATES, NULL},
    {"states", 't', CLI_VALUE, OPT_STATES, "jobs in these `states`; all"},
    {"step", 0, CLI_ATTACHED, OPT_STEPS, NULL},
    {"steps", 's', CLI_ATTACHED, OPT_STEPS, "job steps"},
    {"usage", 0, CLI_NONE, LISTING_USAGE, "all options in a few lines"},
    {"user", 'u', CLI_VALUE, OPT_USERS, "jobs of these `users`"},
    {"users", 0, CLI_VALUE, OPT_USERS, NULL},
    {"verbose", 'v', CLI_NONE, LISTING_VERBOSE, "say more"},
    {"version", 'V', CLI_NONE, LISTING_VERSION, "version"},
    {"yaml", 0, CLI_ATTACHED, LISTING_YAML, NULL},
};
static const struct cli_options option_table = {option_rows, ARRAY_LEN(option_rows), true};

/* Nothing is in an empty list: nothing is shown. */
static bool list_empty(const char *value)
{
    return value[strspn(value, ", ")] == '\0';
}

static bool states_take(struct squeue *s, const char *value, struct err *ret_err)
{
    s->nothing |= list_empty(value);
    return list_empty(value) || listing_states("squeue", value, s->l.a, &s->query.states, ret_err);
}

/* A job in the list, its blanks taken off; the list of a step ("7.0") as one of a job. */
static bool id_add(struct squeue *s, const char *id, struct err *ret_err)
{
    struct job_ref ref = {0};
    bool ok = job_ref_parse(id, &ref, NULL) && ref.job_id > 0;
    job_ref_done(&ref);
    if (!ok)
        return err_set(ret_err, ERR_INVALID, "Invalid job id: %s", id);
    s->id_words++;
    s->query.ids = listing_join(s->query.ids, id, s->l.a);
    return true;
}

static bool ids_add(struct squeue *s, const char *value, struct err *ret_err)
{
    int depth = 0;
    const char *start = value;
    for (const char *at = value;; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at && (*at != ',' || depth > 0))
            continue;
        struct span piece = span_trim((struct span){start, (size_t)(at - start)});
        if (piece.len && !id_add(s, arena_strndup(s->l.a, piece.data, piece.len), ret_err))
            return false;
        if (!*at)
            return true;
        start = at + 1;
    }
}

static bool option_is_list(int id)
{
    return id == OPT_ACCOUNT || id == OPT_JOBS || id == OPT_NODELIST || id == OPT_USERS;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct squeue *s = ctx;
    if (value && option_is_list(id))
        s->nothing |= list_empty(value);
    bool wanted_ids = s->want_ids && (s->l.last_option == OPT_JOBS || s->l.last_option == OPT_STEPS);
    s->want_ids = false;
    switch (id) {
    case CLI_WORD:
        /* -j 42: the argument of -j is optional, so the id may be the next word. */
        s->nothing |= wanted_ids && list_empty(value);
        if (!wanted_ids)
            return err_set(ret_err, ERR_INVALID, "Unrecognized option: %s", value);
        return ids_add(s, value, ret_err);
    case OPT_JOBS: s->want_ids = !value; return !value || ids_add(s, value, ret_err);
    case OPT_STEPS:
        s->steps = true;
        s->want_ids = !value;
        return !value || ids_add(s, value, ret_err);
    case OPT_ACCOUNT: s->query.accounts = value; break;
    case OPT_ALL: s->all = true; break;
    case OPT_HIDE: s->all = false; break;
    case OPT_ARRAY: s->array = true; break;
    case OPT_ARRAY_UNIQUE: break; /* waiting elements are one line anyway */
    case OPT_LICENSES: s->licenses = value; break;
    case OPT_ME: s->query.uids = arena_printf(s->l.a, "%u", (unsigned)getuid()); break;
    case OPT_NAME: s->query.names = value; break;
    case OPT_NODELIST: s->nodes = value; break;
    case OPT_ONLY_STATE: s->only_state = true; break;
    case OPT_PARTITION: s->query.partitions = value; break;
    case OPT_PRIORITY: s->by_partition = true; break;
    case OPT_QOS: s->query.qos = value; break;
    case OPT_RESERVATION: s->reservation = value; break;
    case OPT_SORT: s->sort = value; break;
    case OPT_START: s->start = true; break;
    case OPT_STATES: return states_take(s, value, ret_err);
    case OPT_USERS: s->query.uids = listing_uids_known("squeue", value, s->l.a); break;
    }
    return true;
}

/* The environment stands in for options that were not given. */
static bool environment_take(struct squeue *s, struct err *ret_err)
{
    const char *value;
    struct listing *l = &s->l;
    if (!l->format_text && !l->long_text && !l->longer && !s->start && !s->steps && !s->only_state) {
        l->format_text = getenv("SQUEUE_FORMAT");
        if (!l->format_text)
            l->long_text = getenv("SQUEUE_FORMAT2");
    }
    if (!s->sort)
        s->sort = getenv("SQUEUE_SORT");
    if (!s->query.accounts)
        s->query.accounts = getenv("SQUEUE_ACCOUNT");
    if (!s->query.names)
        s->query.names = getenv("SQUEUE_NAMES");
    if (!s->query.partitions)
        s->query.partitions = getenv("SQUEUE_PARTITION");
    if (!s->query.qos)
        s->query.qos = getenv("SQUEUE_QOS");
    if (!s->licenses)
        s->licenses = getenv("SQUEUE_LICENSES");
    s->all |= getenv("SQUEUE_ALL") != NULL;
    s->array |= getenv("SQUEUE_ARRAY") != NULL;
    s->by_partition |= getenv("SQUEUE_PRIORITY") != NULL;
    if (!s->query.states && (value = getenv("SQUEUE_STATES")) && !states_take(s, value, ret_err))
        return false;
    if (!s->query.uids && (value = getenv("SQUEUE_USERS")))
        s->query.uids = listing_uids_known("squeue", value, s->l.a);
    return true;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static void job_keep(void *ctx, const void *record)
{
    struct squeue *s = ctx;
    const struct job *j = record;
    if (s->reservation && !text_is(s->reservation, job_reservation(j)))
        return;
    if (s->licenses && !(j->spec.req.licenses && strstr(j->spec.req.licenses, s->licenses)))
        return;
    if (s->start && j->state != JOB_PENDING)
        return;
    if (!s->all && s->hidden && listing_has(s->hidden, job_partition(j)))
        return;
    vec_push(&s->job, arena_dup(s->l.round, j, sizeof *j));
}

static void step_keep(void *ctx, const void *record)
{
    struct squeue *s = ctx;
    vec_push(&s->step, arena_dup(s->l.round, record, sizeof(struct step)));
}

static void hidden_note(void *ctx, const void *record)
{
    struct squeue *s = ctx;
    const struct partition *p = record;
    if (p->hidden)
        s->hidden = listing_join(s->hidden, p->name, s->l.round);
}

static void nothing_keep(void *ctx, const void *record)
{
    (void)ctx;
    (void)record;
}

/* "7_3" where there is 7, but no such element: nothing to show, and no mistake. */
static bool element_of_a_job(struct squeue *s, struct client *c)
{
    struct msg_query q = {.what = QUERY_JOBS, .fields = "id", .states = "all"};
    struct msg_done done = {0};
    struct err err = {0};
    size_t digits = strspn(s->query.ids, "0123456789");
    if (s->query.ids[digits] != '_' && s->query.ids[digits] != '+')
        return false;
    q.ids = arena_strndup(s->l.round, s->query.ids, digits);
    return client_query(c, &q, &job_fields, s->l.round, nothing_keep, s, &done, &err) &&
           done.refusal == REFUSE_NONE;
}

/* An unknown id is said as Slurm says it, and is an error only if it was the only one asked for. */
static bool refused(struct squeue *s, struct client *c, const struct msg_done *done, struct err *ret_err)
{
    const char *text = refusal_text((enum refusal)done->refusal);
    if (done->refusal == REFUSE_NONE)
        return false;
    if (done->refusal != REFUSE_INVALID_JOB_ID)
        return !err_set(ret_err, ERR_INVALID, "%s", text);
    if (s->id_words > 1 || element_of_a_job(s, c))
        return false;
    fprintf(stderr, "slurm_load_jobs error: %s\n", text);
    return true;
}

/* A step has no account and no state to choose it by here; it is chosen by its name. */
static bool steps_read(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query q = s->query;
    q.what = QUERY_STEPS;
    q.accounts = q.states = q.names = q.qos = NULL;
    return client_query(c, &q, &step_fields, s->l.round, step_keep, s, &done, ret_err) &&
           !refused(s, c, &done, ret_err);
}

static bool rows_read(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query parts = {.what = QUERY_PARTITIONS, .fields = "name,hidden"};
    if (s->nothing && !s->l.json)
        return true;
    if (s->nodes && *s->nodes && !squeue_nodes_resolve(s, c, ret_err))
        return false;
    if (s->steps)
        return steps_read(s, c, ret_err);
    if (!s->all && !client_query(c, &parts, &partition_fields, s->l.round, hidden_note, s, &done, ret_err))
        return false;
    s->query.what = QUERY_JOBS;
    if (!s->query.states)
        s->query.states = STATES_DEFAULT;
    return client_query(c, &s->query, &job_fields, s->l.round, job_keep, s, &done, ret_err) &&
           !refused(s, c, &done, ret_err);
}

/* ---- showing -------------------------------------------------------------------------------------------------------------- */

static const char *format_standard(const struct squeue *s)
{
    if (s->steps)
        return FORMAT_STEPS;
    if (s->only_state)
        return FORMAT_STATES;
    return s->start ? FORMAT_START : s->l.longer ? FORMAT_LONG : FORMAT_DEFAULT;
}

static bool prepare(void *ctx, struct err *ret_err)
{
    struct squeue *s = ctx;
    struct listing *l = &s->l;
    if (!environment_take(s, ret_err))
        return false;
    s->steps = s->steps && !l->json; /* --json shows jobs */
    const struct column_table *table = s->steps ? &step_columns : &job_columns;
    if (l->long_text)
        format_parse_long(table, l->long_text, l->a, &l->format);
    else
        format_parse_short(table, l->format_text ? l->format_text : format_standard(s), l->a, &l->format);
    return true;
}

#define STEP_ALWAYS "job_id,step_id"
#define JOB_ALWAYS                                                                                           \
    "id,array_job_id,array_task_id,array_pending,array_limit,state,partition,run_partition,priority,"        \
    "reservation,run_reservation,licenses"

static bool rows_sorted(struct squeue *s, const struct sort *sort, struct client *c, struct err *ret_err)
{
    if (!rows_read(s, c, ret_err))
        return false;
    if (s->steps) {
        sort_steps(sort, s->step.v, s->step.n);
        return true;
    }
    squeue_narrow_arrays(s);
    if (s->by_partition && !s->l.json && !squeue_by_partition(s, c, ret_err))
        return false;
    sort_jobs(sort, s->job.v, s->job.n);
    return true;
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct squeue *s = ctx;
    struct sort sort = {0};
    vec_clear(&s->job);
    vec_clear(&s->step);
    s->hidden = NULL;
    const char *order = s->sort ? s->sort : s->steps ? SORT_STEPS : s->start ? "S" : SORT_DEFAULT;
    if (!sort_parse(s->steps ? &step_columns : &job_columns, order, &sort, ret_err))
        return false;
    const char *always = sort_fields(&sort, s->steps ? STEP_ALWAYS : JOB_ALWAYS, s->l.round);
    s->query.fields = s->l.json ? NULL : format_fields(&s->l.format, always, s->l.round);
    bool ok = rows_sorted(s, &sort, c, ret_err);
    if (ok && s->l.json)
        job_json_print(s->job.v, s->job.n, "squeue");
    else if (ok)
        squeue_rows_print(s);
    sort_done(&sort);
    return ok;
}

static const struct listing_command command = {
    .name = "squeue",
    .usage = "squeue [OPTIONS]",
    .options = &option_table,
    .echoes = true,
    .one_format = true,
    .dated = true,
    .option = option_take,
    .prepare = prepare,
    .show = show,
};

int cmd_squeue(int argc, char **argv)
{
    struct squeue s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    vec_done(&s.job);
    vec_done(&s.step);
    listing_done(&s.l);
    return status;
}
