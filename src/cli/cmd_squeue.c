/* squeue: jobs that wait or run. Filters the controller knows go with the query; the rest is done here, as are sorting, expanding arrays (-r) and repeating (-i). */
#include "base/alloc.h"
#include "base/vec.h"
#include "cli/columns_job.h"
#include "cli/columns_step.h"
#include "cli/commands.h"
#include "cli/job_json.h"
#include "cli/listing.h"
#include "cli/listing_command.h"
#include "cli/sort.h"
#include "model/array.h"
#include "model/limits.h"

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
    {"account", 'A', CLI_VALUE, OPT_ACCOUNT, "jobs of these accounts"},
    {"accounts", 0, CLI_VALUE, OPT_ACCOUNT, NULL},
    {"all", 'a', CLI_NONE, OPT_ALL, "jobs in hidden partitions too"},
    {"array", 'r', CLI_NONE, OPT_ARRAY, "one line for each array element"},
    {"array-unique", 0, CLI_NONE, OPT_ARRAY_UNIQUE, "one line for each pending array element"},
    {"clusters", 'M', CLI_VALUE, LISTING_CLUSTERS, "cluster; only this one is known"},
    {"cluster", 0, CLI_VALUE, LISTING_CLUSTERS, NULL},
    {"federation", 0, CLI_NONE, LISTING_NOTHING, "there are no federations: the same as without"},
    {"format", 'o', CLI_VALUE, LISTING_FORMAT, "columns by letter: \"%.18i %j %T\""},
    {"Format", 'O', CLI_VALUE, LISTING_LONG_FORMAT, "columns by name: JobID:10,State"},
    {"help", 0, CLI_NONE, LISTING_HELP, "this text"},
    {"hide", 0, CLI_NONE, OPT_HIDE, "no jobs in hidden partitions (the default)"},
    {"iterate", 'i', CLI_VALUE, LISTING_ITERATE, "repeat every so many seconds"},
    {"jobs", 'j', CLI_ATTACHED, OPT_JOBS, "these jobs: 42,43_7"},
    {"json", 0, CLI_ATTACHED, LISTING_JSON, "everything as JSON"},
    {"licenses", 'L', CLI_VALUE, OPT_LICENSES, "jobs that ask for these licences"},
    {"local", 0, CLI_NONE, LISTING_NOTHING, "this cluster (the default)"},
    {"long", 'l', CLI_NONE, LISTING_LONG, "more columns"},
    {"me", 0, CLI_NONE, OPT_ME, "my own jobs"},
    {"name", 'n', CLI_VALUE, OPT_NAME, "jobs of these names"},
    {"noconvert", 0, CLI_NONE, LISTING_NOCONVERT, "numbers in their own unit"},
    {"nodelist", 'w', CLI_VALUE, OPT_NODELIST, "jobs on these nodes"},
    {"noheader", 'h', CLI_NONE, LISTING_NOHEADER, "no header line"},
    {"only-job-state", 0, CLI_NONE, OPT_ONLY_STATE, "ids and states only"},
    {"partition", 'p', CLI_VALUE, OPT_PARTITION, "jobs in these partitions"},
    {"priority", 'P', CLI_NONE, OPT_PRIORITY, "a line for each partition a job waits in"},
    {"qos", 'q', CLI_VALUE, OPT_QOS, "jobs with these QOS"},
    {"reservation", 'R', CLI_VALUE, OPT_RESERVATION, "jobs in this reservation"},
    {"sibling", 0, CLI_NONE, LISTING_NOTHING, "there are no federations: the same as without"},
    {"sort", 'S', CLI_VALUE, OPT_SORT, "sort by letters of -o, '-' before one turns it round"},
    {"start", 0, CLI_NONE, OPT_START, "when waiting jobs are planned to start"},
    {"state", 0, CLI_VALUE, OPT_STATES, NULL},
    {"states", 't', CLI_VALUE, OPT_STATES, "jobs in these states; all"},
    {"step", 0, CLI_ATTACHED, OPT_STEPS, NULL},
    {"steps", 's', CLI_ATTACHED, OPT_STEPS, "job steps"},
    {"usage", 0, CLI_NONE, LISTING_HELP, "short help"},
    {"user", 'u', CLI_VALUE, OPT_USERS, "jobs of these users"},
    {"users", 0, CLI_VALUE, OPT_USERS, NULL},
    {"verbose", 'v', CLI_NONE, LISTING_NOTHING, "say more"},
    {"version", 'V', CLI_NONE, LISTING_VERSION, "version"},
    {"yaml", 0, CLI_ATTACHED, LISTING_YAML, NULL},
};
static const struct cli_options option_table = {option_rows, ARRAY_LEN(option_rows), true};

struct squeue {
    struct listing l;
    struct msg_query query;
    const char *sort, *reservation, *licenses;
    bool all, array, start, steps, by_partition, want_ids, only_state;
    size_t id_words; /* ids given on the command line, repeated ones counted */
    VEC(const struct job *) job;
    VEC(const struct step *) step;
    const char *hidden; /* names of hidden partitions */
};

static bool ids_add(struct squeue *s, const char *value)
{
    struct span rest = span_of(value), piece;
    while (span_next(&rest, ',', &piece))
        s->id_words += span_trim(piece).len > 0;
    s->query.ids = listing_join(s->query.ids, value, s->l.a);
    return true;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct squeue *s = ctx;
    bool wanted_ids = s->want_ids && (s->l.last_option == OPT_JOBS || s->l.last_option == OPT_STEPS);
    s->want_ids = false;
    switch (id) {
    case CLI_WORD:
        /* -j 42: the argument of -j is optional, so the id may be the next word. */
        if (!wanted_ids)
            return err_set(ret_err, ERR_INVALID, "Unrecognized option: %s", value);
        return ids_add(s, value);
    case OPT_JOBS: s->want_ids = !value; return value ? ids_add(s, value) : true;
    case OPT_STEPS:
        s->steps = true;
        s->want_ids = !value;
        return value ? ids_add(s, value) : true;
    case OPT_ACCOUNT: s->query.accounts = value; break;
    case OPT_ALL: s->all = true; break;
    case OPT_HIDE: s->all = false; break;
    case OPT_ARRAY:
    case OPT_ARRAY_UNIQUE: s->array = true; break;
    case OPT_LICENSES: s->licenses = value; break;
    case OPT_ME: s->query.uids = arena_printf(s->l.a, "%u", (unsigned)getuid()); break;
    case OPT_NAME: s->query.names = value; break;
    case OPT_NODELIST: s->query.nodes = value; break;
    case OPT_ONLY_STATE: s->only_state = true; break;
    case OPT_PARTITION: s->query.partitions = value; break;
    case OPT_PRIORITY: s->by_partition = true; break;
    case OPT_QOS: s->query.qos = value; break;
    case OPT_RESERVATION: s->reservation = value; break;
    case OPT_SORT: s->sort = value; break;
    case OPT_START: s->start = true; break;
    case OPT_STATES: return listing_states(value, s->l.a, &s->query.states, ret_err);
    case OPT_USERS: return listing_uids(value, s->l.a, &s->query.uids, ret_err);
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
    s->array |= getenv("SQUEUE_ARRAY") != NULL || getenv("SQUEUE_ARRAY_UNIQUE") != NULL;
    s->by_partition |= getenv("SQUEUE_PRIORITY") != NULL;
    if (!s->query.states && (value = getenv("SQUEUE_STATES")) &&
        !listing_states(value, s->l.a, &s->query.states, ret_err))
        return false;
    return s->query.uids || !(value = getenv("SQUEUE_USERS")) ||
           listing_uids(value, s->l.a, &s->query.uids, ret_err);
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static void job_keep(void *ctx, const void *record)
{
    struct squeue *s = ctx;
    const struct job *j = record;
    if (s->reservation && !text_is(s->reservation, j->spec.req.reservation))
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

/* An unknown id is said as Slurm says it, and is an error only if it was the only one asked for. */
static bool refused(const struct squeue *s, const struct msg_done *done, struct err *ret_err)
{
    const char *text = refusal_text((enum refusal)done->refusal);
    if (done->refusal == REFUSE_NONE || (s->id_words > 1 && done->refusal == REFUSE_INVALID_JOB_ID))
        return false;
    if (done->refusal == REFUSE_INVALID_JOB_ID)
        fprintf(stderr, "slurm_load_jobs error: %s\n", text);
    else
        err_set(ret_err, ERR_INVALID, "%s", text);
    return true;
}

static bool rows_read(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query parts = {.what = QUERY_PARTITIONS, .fields = "name,hidden"};
    if (s->steps) {
        s->query.what = QUERY_STEPS;
        return client_query(c, &s->query, &step_fields, s->l.round, step_keep, s, &done, ret_err) &&
               !refused(s, &done, ret_err);
    }
    if (!s->all && !client_query(c, &parts, &partition_fields, s->l.round, hidden_note, s, &done, ret_err))
        return false;
    s->query.what = QUERY_JOBS;
    if (!s->query.states)
        s->query.states = STATES_DEFAULT;
    return client_query(c, &s->query, &job_fields, s->l.round, job_keep, s, &done, ret_err) &&
           !refused(s, &done, ret_err);
}

/* ---- showing -------------------------------------------------------------------------------------------------------------- */

/* A pending array as its elements: the same record with each index in turn. */
static void array_rows(struct squeue *s, const struct job *j)
{
    struct idset ids = IDSET_INIT;
    struct job element = *j;
    uint32_t id;
    if (!idset_parse(&ids, j->array_pending, LIMIT_ARRAY_INDEX, NULL))
        return;
    for (bool more = idset_first(&ids, &id); more; more = idset_next(&ids, id, &id)) {
        element.array_task_id = id;
        listing_row(&s->l, &element);
    }
    idset_done(&ids);
}

/* -P: a line for each partition a waiting job may start in. */
static void partition_rows(struct squeue *s, const struct job *j)
{
    struct span rest = span_of(j->spec.req.partition), piece;
    struct job one = *j;
    while (span_next(&rest, ',', &piece)) {
        one.spec.req.partition = arena_strndup(s->l.round, piece.data, piece.len);
        listing_row(&s->l, &one);
    }
}

static void job_rows(struct squeue *s, const struct job *j)
{
    if (s->array && j->array_pending && j->array_task_id == NO_TASK)
        array_rows(s, j);
    else if (s->by_partition && j->state == JOB_PENDING && j->spec.req.partition)
        partition_rows(s, j);
    else
        listing_row(&s->l, j);
}

static void rows_print(struct squeue *s)
{
    listing_begin(&s->l);
    for (size_t i = 0; i < s->job.n; i++)
        job_rows(s, s->job.v[i]);
    for (size_t i = 0; i < s->step.n; i++)
        listing_row(&s->l, s->step.v[i]);
    listing_end(&s->l);
}

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
        return format_parse_long(table, l->long_text, l->a, &l->format, ret_err);
    return format_parse_short(table, l->format_text ? l->format_text : format_standard(s), l->a, &l->format,
                              ret_err);
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct squeue *s = ctx;
    struct sort sort = {0};
    vec_clear(&s->job);
    vec_clear(&s->step);
    s->hidden = NULL;
    const char *order = s->sort ? s->sort : s->start ? "S" : SORT_DEFAULT;
    if (!s->steps && !sort_parse(&job_columns, order, &sort, ret_err))
        return false;
    s->query.fields =
        s->l.json
            ? NULL
            : format_fields(&s->l.format,
                            sort_fields(&sort,
                                        s->steps
                                            ? "job_id,step_id"
                                            : "id,array_job_id,array_task_id,array_pending,array_limit,state,"
                                              "partition,run_partition,priority,reservation,licenses",
                                        s->l.round),
                            s->l.round);
    bool ok = rows_read(s, c, ret_err);
    if (ok && !s->steps)
        sort_jobs(&sort, s->job.v, s->job.n);
    if (ok && s->l.json)
        job_json_print(s->job.v, s->job.n, "squeue");
    else if (ok)
        rows_print(s);
    sort_done(&sort);
    return ok;
}

static const struct listing_command command = {
    .name = "squeue",
    .usage = "squeue [OPTIONS]",
    .options = &option_table,
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
