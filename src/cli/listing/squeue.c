/* squeue: jobs that wait or run. Filters the controller knows go with the query; the rest is done
 * here, as are sorting, expanding arrays (-r) and repeating (-i). */
#include "cli/listing/squeue.h"
#include "base/alloc.h"
#include "base/list.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/record/columns_job.h"
#include "cli/record/columns_step.h"
#include "cli/record/job_json.h"
#include "cli/table/listing.h"
#include "model/job/array.h"
#include "model/job/stopped.h"
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
/* Jobs that are over are not shown unless asked for, by id neither: pollers take an empty answer
 * for the end. */
#define STATES_DEFAULT "PENDING,RUNNING,SUSPENDED,COMPLETING,REQUEUED,SPECIAL_EXIT"
#define SORT_DEFAULT   "P,t,-p"
#define SORT_STEPS     "P,i"

/* Nothing is in an empty list: nothing is shown. */
static bool list_empty(const char *value)
{
    return value[strspn(value, ", ")] == '\0';
}

static SETTER(set_states)
{
    struct squeue *s = to;
    s->nothing |= list_empty(value);
    s->states_asked = !list_empty(value) && !text_is_nocase(value, "all");
    return list_empty(value) || listing_states("squeue", value, s->l.a, &s->query.states, ret_err);
}

/* A job in the list, its blanks taken off; the list of a step ("7.0") as one of a job. */
static bool id_add(struct squeue *s, const char *id, struct err *ret_err)
{
    struct job_ref ref = {0};
    bool ok = job_ref_parse(id, &ref, NULL) && ref.job_id > 0;
    job_ref_done(&ref);
    if (!ok && s->steps)
        return err_set(ret_err, ERR_INVALID, "Invalid job_step id: %s%s", id,
                       strchr(id, '.') ? "" : ".??");
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

static SETTER(set_jobs)
{
    struct squeue *s = to;
    s->nothing |= value && list_empty(value);
    s->jobs_asked |= !value;
    return !value || ids_add(s, value, ret_err);
}

static SETTER(set_steps)
{
    struct squeue *s = to;
    s->steps = true;
    return !value || ids_add(s, value, ret_err);
}

/* -j and -s without a list of their own take the first word, wherever it stands. */
static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct squeue *s = to;
    (void)a;
    if (s->id_words || !(s->jobs_asked || s->steps))
        return err_set(ret_err, ERR_INVALID, "Unrecognized option: %s", word);
    return ids_add(s, word, ret_err);
}

static SETTER(set_accounts)
{
    struct squeue *s = to;
    s->nothing |= list_empty(value);
    s->query.accounts = value;
    return true;
}

static SETTER(set_nodes)
{
    struct squeue *s = to;
    s->nothing |= list_empty(value);
    s->nodes = value;
    return true;
}

static SETTER(set_users)
{
    struct squeue *s = to;
    s->nothing |= list_empty(value);
    s->query.uids = listing_uids_known("squeue", value, s->l.a);
    return true;
}

static SETTER(set_me)
{
    struct squeue *s = to;
    s->query.uids = arena_printf(a, "%u", (unsigned)getuid());
    return true;
}

/* Variables with columns are for listings whose columns nothing else says; of the two the first. An
 * empty list of users or accounts is nothing shown on the command line, and no choice in a
 * variable. */
static bool variable_counts(void *ctx, const struct option_row *row, const char *value)
{
    const struct squeue *s = ctx;
    const struct listing *l = &s->l;
    bool of_columns = row->set == listing_set_format || row->set == listing_set_long_format;
    bool said =
        l->format_text || l->long_text || l->longer || s->start || s->steps || s->only_state;
    bool of_people = row->set == set_users || row->set == set_accounts;
    return !(of_columns && said) && !(of_people && !*value);
}

#define AT(member) offsetof(struct squeue, member)
static const struct option_row rows[] = {
    OPT_VALUE("account", 'A', "accounts", "jobs of these accounts", set_accounts, 0,
              .alias = "accounts", .env = {"SQUEUE_ACCOUNT"}),
    OPT_FLAG("all", 'a', "jobs in hidden partitions too", AT(all), .env = {"SQUEUE_ALL"}),
    OPT_FLAG("array", 'r', "one line for each array element", AT(array), .env = {"SQUEUE_ARRAY"}),
    OPT_NO_EFFECT("array-unique", 0, ARG_NONE, "one line for each pending array element",
                  .why = "waiting elements are one line anyway"),
    LISTING_CLUSTERS,
    LISTING_FEDERATION("federation"),
    OPT_VALUE("format", 'o', "columns", "columns by letter: \"%.18i %j %T\"", listing_set_format, 0,
              .env = {"SQUEUE_FORMAT"}),
    OPT_VALUE("Format", 'O', "columns", "columns by name: JobID:10,State", listing_set_long_format,
              0, .env = {"SQUEUE_FORMAT2"}),
    LISTING_HELP(0),
    {.name = "hide",
     .doc = "no jobs in hidden partitions (the default)",
     .set = unset_flag,
     .at = AT(all)},
    LISTING_ITERATE,
    {.name = "jobs",
     .letter = 'j',
     .arg = ARG_NEXT,
     .metavar = "jobs",
     .doc = "these jobs: 42,43_7",
     .set = set_jobs},
    LISTING_JSON,
    OPT_VALUE("licenses", 'L', "licences", "jobs that ask for these licences", set_any_text,
              AT(licenses), .env = {"SQUEUE_LICENSES"}),
    LISTING_LOCAL,
    LISTING_LONG("more columns"),
    {.name = "me", .doc = "my own jobs", .set = set_me},
    OPT_VALUE("name", 'n', "names", "jobs of these names", set_any_text, AT(query.names),
              .env = {"SQUEUE_NAMES"}),
    LISTING_NOCONVERT("numbers in their own unit"),
    OPT_VALUE("nodelist", 'w', "nodes", "jobs on these nodes", set_nodes, 0, .alias = "nodes"),
    LISTING_NOHEADER('h', "no header line"),
    OPT_FLAG("only-job-state", 0, "ids and states only", AT(only_state)),
    OPT_VALUE("partition", 'p', "partitions", "jobs in these partitions", set_any_text,
              AT(query.partitions), .alias = "partitions", .env = {"SQUEUE_PARTITION"}),
    OPT_FLAG("priority", 'P', "a line for each partition a job waits in", AT(by_partition),
             .env = {"SQUEUE_PRIORITY"}),
    OPT_VALUE("qos", 'q', "QOS", "jobs with these QOS", set_any_text, AT(query.qos),
              .env = {"SQUEUE_QOS"}),
    OPT_VALUE("reservation", 'R', "reservation", "jobs in this reservation", set_any_text,
              AT(reservation)),
    LISTING_FEDERATION("sibling"),
    OPT_VALUE("sort", 'S', "letters", "sort by letters of -o, '-' before one turns it round",
              set_any_text, AT(sort), .env = {"SQUEUE_SORT"}),
    OPT_FLAG("start", 0, "when waiting jobs are planned to start", AT(start)),
    OPT_VALUE("states", 't', "states", "jobs in these states; all", set_states, 0, .alias = "state",
              .env = {"SQUEUE_STATES"}),
    {.name = "steps",
     .alias = "step",
     .letter = 's',
     .arg = ARG_NEXT,
     .doc = "job steps",
     .set = set_steps},
    LISTING_USAGE,
    OPT_VALUE("user", 'u', "users", "jobs of these users", set_users, 0, .alias = "users",
              .env = {"SQUEUE_USERS"}, .rival = "me"),
    LISTING_VERBOSE,
    LISTING_VERSION,
    LISTING_YAML,
};
OPTION_TABLE(squeue_options, rows, .usage = "squeue [OPTIONS]", .letters_equals = true,
             .words = WORDS_MIXED, .word = word_take, .variables_as_are = true);

/* ---- reading -------------------------------------------------------------------------------- */

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
    /* The controller counts them among those that run; who asks for these in Slurm does not see
     * them. */
    if (s->states_asked && job_is_stopped(j) && !list_has(s->query.states, STATE_STOPPED))
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
static bool refused(struct squeue *s, struct client *c, const struct msg_done *done,
                    struct err *ret_err)
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
    if (!client_query(c, &q, &step_fields, s->l.round, step_keep, s, &done, ret_err))
        return false;
    /* Of a step that is gone there is nothing to show. */
    return done.refusal == REFUSE_INVALID_JOB_ID || !refused(s, c, &done, ret_err);
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
    if (!s->all &&
        !client_query(c, &parts, &partition_fields, s->l.round, hidden_note, s, &done, ret_err))
        return false;
    s->query.what = QUERY_JOBS;
    if (!s->query.states)
        s->query.states = STATES_DEFAULT;
    return client_query(c, &s->query, &job_fields, s->l.round, job_keep, s, &done, ret_err) &&
           !refused(s, c, &done, ret_err);
}

/* ---- showing -------------------------------------------------------------------------------- */

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
    s->steps = s->steps && !l->json; /* --json shows jobs */
    l->asks = s->steps ? "slurm_get_job_steps error" : NULL;
    const struct column_table *table = s->steps ? &step_columns : &job_columns;
    if (l->long_text)
        format_parse_long(table, l->long_text, l->a, &l->format);
    else
        format_parse_short(table, l->format_text ? l->format_text : format_standard(s), l->a,
                           &l->format);
    return true;
}

#define STEP_ALWAYS "job_id,step_id"
#define JOB_ALWAYS                                                                                 \
    "id,array_job_id,array_task_id,array_pending,array_limit,array_size,state,partition,run_"      \
    "partition,"                                                                                   \
    "priority,stopped_us,"                                                                         \
    "reservation,run_reservation,licenses"

static bool rows_sorted(struct squeue *s, const struct sort *sort, struct client *c,
                        struct err *ret_err)
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
        job_json_print(s->job.v, s->job.n, "squeue", s->l.json);
    else if (ok)
        squeue_rows_print(s);
    sort_done(&sort);
    return ok;
}

static const struct listing_command command = {
    .name = "squeue",
    .options = &squeue_options,
    .echoes = true,
    .one_format = true,
    .dated = true,
    .variable_counts = variable_counts,
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
