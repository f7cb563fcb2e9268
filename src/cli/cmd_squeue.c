/* squeue: jobs that wait or run. Filters the controller knows go with the query; the rest is done here, as are sorting, expanding arrays (-r) and repeating (-i). */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cli/columns_job.h"
#include "cli/columns_step.h"
#include "cli/commands.h"
#include "cli/job_json.h"
#include "cli/listing.h"
#include "cli/localtime.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/sort.h"
#include "model/array.h"
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FORMAT_DEFAULT "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define FORMAT_LONG    "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define FORMAT_STEPS   "%.15i %.8j %.9P %.8u %.9M %N"
#define FORMAT_START   "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
/* Jobs that are over are not shown unless asked for, by id neither: pollers take an empty answer for the end. */
#define STATES_DEFAULT "PENDING,RUNNING,SUSPENDED,COMPLETING,REQUEUED,SPECIAL_EXIT"
#define SORT_DEFAULT   "P,t,-p"

enum {
    OPT_ACCOUNT = 1,
    OPT_ALL,
    OPT_ARRAY,
    OPT_ARRAY_UNIQUE,
    OPT_CLUSTERS,
    OPT_FORMAT,
    OPT_LONG_FORMAT,
    OPT_HELP,
    OPT_HIDE,
    OPT_ITERATE,
    OPT_JOBS,
    OPT_JSON,
    OPT_LICENSES,
    OPT_LONG,
    OPT_ME,
    OPT_NAME,
    OPT_NOCONVERT,
    OPT_NODELIST,
    OPT_NOHEADER,
    OPT_PARTITION,
    OPT_PRIORITY,
    OPT_QOS,
    OPT_RESERVATION,
    OPT_SORT,
    OPT_START,
    OPT_STATES,
    OPT_STEPS,
    OPT_USAGE,
    OPT_USERS,
    OPT_VERBOSE,
    OPT_VERSION,
    OPT_YAML,
    OPT_IGNORE,
    OPT_ONLY_STATE,
    OPT_STATE_DIR,
    OPT_NOTME,
};

static const struct cli_option option_rows[] = {
    {"account", 'A', CLI_VALUE, OPT_ACCOUNT, "jobs of these accounts"},
    {"accounts", 0, CLI_VALUE, OPT_ACCOUNT, NULL},
    {"all", 'a', CLI_NONE, OPT_ALL, "jobs in hidden partitions too"},
    {"array", 'r', CLI_NONE, OPT_ARRAY, "one line for each array element"},
    {"array-unique", 0, CLI_NONE, OPT_ARRAY_UNIQUE, "one line for each pending array element"},
    {"clusters", 'M', CLI_VALUE, OPT_CLUSTERS, "cluster; only this one is known"},
    {"cluster", 0, CLI_VALUE, OPT_CLUSTERS, NULL},
    {"federation", 0, CLI_NONE, OPT_IGNORE, "there are no federations: the same as without"},
    {"format", 'o', CLI_VALUE, OPT_FORMAT, "columns by letter: \"%.18i %j %T\""},
    {"Format", 'O', CLI_VALUE, OPT_LONG_FORMAT, "columns by name: JobID:10,State"},
    {"help", 0, CLI_NONE, OPT_HELP, "this text"},
    {"hide", 0, CLI_NONE, OPT_HIDE, "no jobs in hidden partitions (the default)"},
    {"iterate", 'i', CLI_VALUE, OPT_ITERATE, "repeat every so many seconds"},
    {"jobs", 'j', CLI_ATTACHED, OPT_JOBS, "these jobs: 42,43_7"},
    {"json", 0, CLI_ATTACHED, OPT_JSON, "everything as JSON"},
    {"licenses", 'L', CLI_VALUE, OPT_LICENSES, "jobs that ask for these licences"},
    {"local", 0, CLI_NONE, OPT_IGNORE, "this cluster (the default)"},
    {"long", 'l', CLI_NONE, OPT_LONG, "more columns"},
    {"me", 0, CLI_NONE, OPT_ME, "my own jobs"},
    {"name", 'n', CLI_VALUE, OPT_NAME, "jobs of these names"},
    {"noconvert", 0, CLI_NONE, OPT_NOCONVERT, "numbers in their own unit"},
    {"nodelist", 'w', CLI_VALUE, OPT_NODELIST, "jobs on these nodes"},
    {"noheader", 'h', CLI_NONE, OPT_NOHEADER, "no header line"},
    {"only-job-state", 0, CLI_NONE, OPT_ONLY_STATE, "ids and states only"},
    {"partition", 'p', CLI_VALUE, OPT_PARTITION, "jobs in these partitions"},
    {"priority", 'P', CLI_NONE, OPT_PRIORITY, "a line for each partition a job waits in"},
    {"qos", 'q', CLI_VALUE, OPT_QOS, "jobs with these QOS"},
    {"reservation", 'R', CLI_VALUE, OPT_RESERVATION, "jobs in this reservation"},
    {"sibling", 0, CLI_NONE, OPT_IGNORE, "there are no federations: the same as without"},
    {"sort", 'S', CLI_VALUE, OPT_SORT, "sort by letters of -o, '-' before one turns it round"},
    {"start", 0, CLI_NONE, OPT_START, "when waiting jobs are planned to start"},
    {"state", 0, CLI_VALUE, OPT_STATES, NULL},
    {"states", 't', CLI_VALUE, OPT_STATES, "jobs in these states; all"},
    {"step", 0, CLI_ATTACHED, OPT_STEPS, NULL},
    {"steps", 's', CLI_ATTACHED, OPT_STEPS, "job steps"},
    {"usage", 0, CLI_NONE, OPT_USAGE, "short help"},
    {"user", 'u', CLI_VALUE, OPT_USERS, "jobs of these users"},
    {"users", 0, CLI_VALUE, OPT_USERS, NULL},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "say more"},
    {"version", 'V', CLI_NONE, OPT_VERSION, "version"},
    {"yaml", 0, CLI_ATTACHED, OPT_YAML, NULL},
};
static const struct cli_options option_table_of_squeue = {option_rows, ARRAY_LEN(option_rows), true};

struct squeue {
    struct arena *a;
    struct msg_query query;
    const char *short_format, *long_format, *sort, *reservation, *licenses, *clusters;
    const char *node_text;
    bool all, array, noheader, longer, start, steps, json, help, usage, version, noconvert, by_partition,
        want_ids, only_state;
    int64_t iterate_s;
    size_t id_words; /* ids given on the command line, repeated ones counted */
    struct format format;
    VEC(const struct job *) job;
    VEC(const struct step *) step;
    const char *hidden; /* names of hidden partitions */
};

static bool ids_add(struct squeue *s, const char *value)
{
    struct span rest = span_of(value), piece;
    while (span_next(&rest, ',', &piece))
        s->id_words += span_trim(piece).len > 0;
    s->query.ids = listing_join(s->query.ids, value, s->a);
    return true;
}

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct squeue *s = ctx;
    bool wanted_ids = s->want_ids;
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
    case OPT_CLUSTERS: s->clusters = value; return listing_clusters(value, ret_err);
    case OPT_FORMAT:
        s->short_format = value;
        s->long_format = NULL;
        break;
    case OPT_LONG_FORMAT:
        s->long_format = value;
        s->short_format = NULL;
        break;
    case OPT_HELP: s->help = true; break;
    case OPT_USAGE: s->usage = true; break;
    case OPT_VERSION: s->version = true; break;
    case OPT_ITERATE:
        return text_to_i64(value, 1, 1000000, &s->iterate_s) ||
               err_set(ret_err, ERR_INVALID, "--iterate needs a number of seconds, not \"%s\"", value);
    case OPT_JSON: s->json = true; break;
    case OPT_YAML:
        return err_set(ret_err, ERR_UNSUPPORTED, "--yaml: not supported yet; --json has the same data");
    case OPT_LICENSES: s->licenses = value; break;
    case OPT_LONG: s->longer = true; break;
    case OPT_ME: s->query.uids = arena_printf(s->a, "%u", (unsigned)getuid()); break;
    case OPT_NAME: s->query.names = value; break;
    case OPT_NOCONVERT: s->noconvert = true; break;
    case OPT_NODELIST: s->query.nodes = value; break;
    case OPT_NOHEADER: s->noheader = true; break;
    case OPT_ONLY_STATE: s->only_state = true; break;
    case OPT_PARTITION: s->query.partitions = value; break;
    case OPT_PRIORITY: s->by_partition = true; break;
    case OPT_QOS: s->query.qos = value; break;
    case OPT_RESERVATION: s->reservation = value; break;
    case OPT_SORT: s->sort = value; break;
    case OPT_START: s->start = true; break;
    case OPT_STATES: return listing_states(value, s->a, &s->query.states, ret_err);
    case OPT_USERS: return listing_uids(value, s->a, &s->query.uids, ret_err);
    }
    return true;
}

/* The environment stands in for options that were not given. */
static bool environment_take(struct squeue *s, struct err *ret_err)
{
    const char *value;
    if (!s->short_format && !s->long_format && !s->longer && !s->start && !s->steps) {
        s->short_format = getenv("SQUEUE_FORMAT");
        if (!s->short_format)
            s->long_format = getenv("SQUEUE_FORMAT2");
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
        !listing_states(value, s->a, &s->query.states, ret_err))
        return false;
    return s->query.uids || !(value = getenv("SQUEUE_USERS")) ||
           listing_uids(value, s->a, &s->query.uids, ret_err);
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
    vec_push(&s->job, arena_dup(s->a, j, sizeof *j));
}

static void step_keep(void *ctx, const void *record)
{
    struct squeue *s = ctx;
    vec_push(&s->step, arena_dup(s->a, record, sizeof(struct step)));
}

static void hidden_note(void *ctx, const void *record)
{
    struct squeue *s = ctx;
    const struct partition *p = record;
    if (p->hidden)
        s->hidden = listing_join(s->hidden, p->name, s->a);
}

static bool refused(const struct msg_done *done, struct err *ret_err)
{
    if (done->refusal == REFUSE_NONE)
        return true;
    return err_set(ret_err, ERR_INVALID, "%s", refusal_text((enum refusal)done->refusal));
}

static bool rows_read(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct msg_done done = {0};
    struct msg_query parts = {.what = QUERY_PARTITIONS, .fields = "name,hidden"};
    if (s->steps) {
        s->query.what = QUERY_STEPS;
        return client_query(c, &s->query, &step_fields, s->a, step_keep, s, &done, ret_err) &&
               refused(&done, ret_err);
    }
    if (!s->all && !client_query(c, &parts, &partition_fields, s->a, hidden_note, s, &done, ret_err))
        return false;
    s->query.what = QUERY_JOBS;
    if (!s->query.states)
        s->query.states = STATES_DEFAULT;
    if (!client_query(c, &s->query, &job_fields, s->a, job_keep, s, &done, ret_err))
        return false;
    /* An unknown id is an error only if it was the only one asked for. */
    return s->id_words > 1 && done.refusal == REFUSE_INVALID_JOB_ID ? true : refused(&done, ret_err);
}

/* ---- showing -------------------------------------------------------------------------------------------------------------- */

/* A pending array as its elements: the same record with each index in turn. */
static void array_rows(struct squeue *s, const struct job *j, const struct cell_env *env, struct str *out)
{
    struct idset ids = IDSET_INIT;
    struct job element = *j;
    uint32_t id;
    if (!idset_parse(&ids, j->array_pending, LIMIT_ARRAY_INDEX, NULL))
        return;
    for (bool more = idset_first(&ids, &id); more; more = idset_next(&ids, id, &id)) {
        element.array_task_id = id;
        format_print_row(&s->format, env, &element, out);
        if (out->len > 60000)
            listing_flush(out);
    }
    idset_done(&ids);
}

/* -P: a line for each partition a waiting job may start in. */
static void partition_rows(struct squeue *s, const struct job *j, const struct cell_env *env, struct str *out)
{
    struct span rest = span_of(j->spec.req.partition), piece;
    struct job one = *j;
    while (span_next(&rest, ',', &piece)) {
        one.spec.req.partition = arena_strndup(s->a, piece.data, piece.len);
        format_print_row(&s->format, env, &one, out);
    }
}

static void job_rows(struct squeue *s, const struct job *j, const struct cell_env *env, struct str *out)
{
    if (s->array && j->array_pending && j->array_task_id == NO_TASK)
        array_rows(s, j, env, out);
    else if (s->by_partition && j->state == JOB_PENDING && j->spec.req.partition)
        partition_rows(s, j, env, out);
    else
        format_print_row(&s->format, env, j, out);
}

static void rows_print(struct squeue *s)
{
    struct cell_env env = listing_env();
    struct str out = STR_INIT;
    env.noconvert = s->noconvert;
    if (s->iterate_s || (s->longer && !s->noheader)) {
        time_t now = (time_t)(env.now_us / USEC_PER_SEC);
        char date[64];
        struct tm local;
        localtime_r(&now, &local);
        strftime(date, sizeof date, "%a %b %d %H:%M:%S %Y", &local);
        str_addf(&out, "%s\n", date);
    }
    if (!s->noheader)
        format_print_header(&s->format, &out);
    for (size_t i = 0; i < s->job.n; i++) {
        job_rows(s, s->job.v[i], &env, &out);
        if (out.len > 60000)
            listing_flush(&out);
    }
    for (size_t i = 0; i < s->step.n; i++)
        format_print_row(&s->format, &env, s->step.v[i], &out);
    listing_flush(&out);
    str_done(&out);
}

static bool format_choose(struct squeue *s, struct err *ret_err)
{
    const struct column_table *table = s->steps ? &step_columns : &job_columns;
    const char *text = s->short_format;
    if (s->long_format)
        return format_parse_long(table, s->long_format, s->a, &s->format, ret_err);
    if (!text)
        text = s->steps ? FORMAT_STEPS : s->start ? FORMAT_START : s->longer ? FORMAT_LONG : FORMAT_DEFAULT;
    return format_parse_short(table, text, s->a, &s->format, ret_err);
}

static bool show_once(struct squeue *s, struct client *c, struct err *ret_err)
{
    struct sort sort = {0};
    vec_clear(&s->job);
    vec_clear(&s->step);
    const char *order = s->sort ? s->sort : s->start ? "S" : SORT_DEFAULT;
    if (!s->steps && !sort_parse(&job_columns, order, &sort, ret_err))
        return false;
    s->query.fields =
        s->json ? NULL
                : format_fields(
                      &s->format,
                      sort_fields(&sort,
                                  s->steps ? "job_id,step_id"
                                           : "id,array_job_id,array_task_id,array_pending,array_limit,state,"
                                             "partition,run_partition,priority,reservation,licenses",
                                  s->a),
                      s->a);
    bool ok = rows_read(s, c, ret_err);
    if (ok && !s->steps)
        sort_jobs(&sort, s->job.v, s->job.n);
    if (ok && s->json)
        job_json_print(s->job.v, s->job.n, "squeue");
    else if (ok)
        rows_print(s);
    sort_done(&sort);
    return ok;
}

static bool squeue_run(struct squeue *s, struct err *ret_err)
{
    if (!environment_take(s, ret_err) || !format_choose(s, ret_err))
        return false;
    struct client *c = program_connect("squeue", state_dir_find(NULL, s->a));
    if (!c)
        return false;
    bool ok = true;
    for (bool again = true; ok && again; again = s->iterate_s > 0) {
        ok = show_once(s, c, ret_err);
        if (ok && s->iterate_s) {
            fflush(stdout);
            sleep((unsigned)s->iterate_s);
            putchar('\n');
        }
    }
    client_close(c);
    return ok;
}

int cmd_squeue(int argc, char **argv)
{
    struct squeue s = {.a = arena_new()};
    struct err err = {0};
    bool ok = cli_parse(&option_table_of_squeue, argc, argv, option_take, &s, &err);
    if (ok && s.version)
        puts(SLURM_VERSION_TEXT);
    else if (ok && (s.help || s.usage))
        cli_help_print(&option_table_of_squeue, "squeue [OPTIONS]");
    else if (ok)
        ok = squeue_run(&s, &err);
    if (!ok && text_is(err.text, refusal_text(REFUSE_INVALID_JOB_ID)))
        fprintf(stderr, "slurm_load_jobs error: %s\n", err.text);
    else if (!ok && err.code)
        program_error("squeue", "%s", err.text);
    format_done(&s.format);
    vec_done(&s.job);
    vec_done(&s.step);
    arena_free(s.a);
    return ok ? 0 : 1;
}
