/* sacct: a query over the rows the scheduler itself wrote: what it is asked, and of what time. */
#include "cli/listing/sacct.h"
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/program/commands.h"
#include "cli/program/give_out.h"
#include "cli/program/localtime.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/record/acct_json.h"
#include "cli/record/columns_acct.h"
#include "cli/record/jobstats.h"
#include "cli/table/listing.h"
#include "cli/table/listing_command.h"
#include "model/job/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIELDS_DEFAULT "jobid,jobname,partition,account,alloccpus,state,exitcode"
#define FIELDS_BRIEF   "jobid,state,exitcode"
// clang-format off
#define FIELDS_LONG                                                                                          \
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,"    \
    "maxrsstask,averss,maxpages,"                                                                            \
    "maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus,elapsed,state," \
    "exitcode,avecpufreq,"                                                                                   \
    "reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"           \
    "maxdiskreadtask,avediskread,"                                                                           \
    "maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres,alloctres,tresusageinave,"          \
    "tresusageinmax,tresusageinmaxnode,"                                                                     \
    "tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,"                \
    "tresusageoutmax,tresusageoutmaxnode,"                                                                   \
    "tresusageoutmaxtask,tresusageoutave,tresusageouttot"
// clang-format on

/* ---- options -------------------------------------------------------------------------------- */

/* The row's range; what is counted is the end of its name ("nnodes", "ncpus") without the s. */
static SETTER(set_range)
{
    struct sacct_range *ret = (struct sacct_range *)((char *)to + row->at);

    const char *dash = strchr(value, '-');
    char low[32];
    size_t len = dash ? (size_t)(dash - value) : strlen(value);
    if (len < sizeof low) {
        memcpy(low, value, len);
        low[len] = '\0';
        if (text_to_i64(low, 0, INT32_MAX, &ret->low) &&
            text_to_i64(dash ? dash + 1 : low, 1, INT32_MAX, &ret->high))
            return true;
    }
    program_error("sacct", "Invalid numeric value \"%s\" for requested %.*s range.", value,
                  (int)strlen(row->name) - 2, row->name + 1);
    return err_set(ret_err, ERR_INVALID, "a number or a range as 2-8 is expected");
}

static SETTER(set_unit)
{
    if (strlen(value) != 1 || !strchr("KMGTPkmgtp", value[0]))
        return err_set(ret_err, ERR_INVALID, "Invalid unit type '%s'. Possible options are 'KMGTP'",
                       value);
    ((struct sacct_command *)to)->l.env.unit = value[0];
    return true;
}

/* Slurm's line first. */
static SETTER(set_limit)
{
    struct size_bound *limit = (struct size_bound *)((char *)to + row->at);
    limit->given = true;
    if (duration_parse(value, &limit->us, ret_err) && limit->us)
        return true;
    fputs("sacct: fatal: Invalid time limit specification\n", stderr);
    return false;
}

static SETTER(check_whole_hetjob)
{
    bool known = !value || text_is_nocase(value, "yes") || text_is_nocase(value, "no");
    return known || err_set(ret_err, ERR_INVALID,
                            "Invalid --whole-hetjob value \"%s\". Valid values: [yes|no].", value);
}

static SETTER(set_states)
{
    struct sacct_command *s = to;
    struct span rest = span_of(value), piece;
    int32_t state;
    while (!text_is_nocase(value, "all") && span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(s->l.a, piece.data, piece.len);
        if (piece.len && !job_state_parse(word, &state))
            fprintf(stderr, "sacct: fatal: unrecognized job state value '%s'\n", word);
        if (piece.len && job_state_parse(word, &state) && state == JOB_SPECIAL_EXIT) {
            fprintf(stderr, "sacct: fatal: job state %s is not supported / accounted\n", word);
            return err_set(ret_err, ERR_INVALID,
                           "a job that was sent back with SpecialExit is PENDING here; `squeue -t "
                           "SPECIAL_EXIT` lists it");
        }
    }
    return text_empty(value) || listing_states("sacct", value, s->l.a, &s->query.states, ret_err);
}

static SETTER(set_users)
{
    struct sacct_command *s = to;
    struct err unknown = {0};
    if (text_empty(value) || listing_uids(value, s->l.a, &s->query.uids, &unknown))
        return true;
    const char *first = value;
    struct span rest = span_of(value), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *uid, *user = arena_strndup(s->l.a, piece.data, piece.len);
        if (piece.len && !listing_uids(user, s->l.a, &uid, &unknown)) {
            first = user;
            break;
        }
    }
    return err_set(ret_err, ERR_INVALID, "Invalid user id: %s", first);
}

static SETTER(set_groups)
{
    struct span rest = span_of(value), piece;
    uint64_t gid;
    while (span_next(&rest, ',', &piece)) {
        const char *name = arena_strndup(a, piece.data, piece.len);
        if (piece.len && !group_by_name(name) && !text_to_u64(name, UINT32_MAX, &gid))
            return err_set(ret_err, ERR_INVALID, "Invalid group id: %s", name);
    }
    ((struct sacct_command *)to)->groups = value;
    return true;
}

/* A list that grows each time. */
static SETTER(set_joined)
{
    const char **list = (const char **)((char *)to + row->at);
    *list = listing_join(*list, value, a);
    return true;
}

/* Slurm's line where a word of the list is none; an empty list is none. */
static SETTER(set_reasons)
{
    struct span rest = span_of(value), piece;
    int32_t reason;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(a, piece.data, piece.len);
        if (piece.len && !enum_value(&job_reason_names, word, &reason)) {
            plain_line("sacct: fatal: unrecognized job reason value '%s'", word);
            return err_set(ret_err, ERR_INVALID, "a reason is as %s", "Priority or Resources");
        }
    }
    ((struct sacct_command *)to)->reasons = *value ? value : NULL;
    return true;
}

static SETTER(set_job_flags)
{
    struct span rest = span_of(value), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(a, piece.data, piece.len);
        if (piece.len && !listing_has("SchedSubmit,SchedMain,SchedBackfill", word))
            return err_set(ret_err, ERR_INVALID, "str_2_job_flags: Invalid job flag %s", word);
    }
    ((struct sacct_command *)to)->flags = *value ? value : NULL;
    return true;
}

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sacct_command *s = to;
    s->unknown = arena_printf(a, "%s%s\n", s->unknown ? s->unknown : "", word);
    return true;
}

static SETTER(set_brief)
{
    ((struct sacct_command *)to)->fields = FIELDS_BRIEF;
    return true;
}

static SETTER(set_long)
{
    ((struct sacct_command *)to)->fields = FIELDS_LONG;
    return true;
}

/* SACCT_FORMAT is for listings whose fields nothing else says. */
static bool variable_counts(void *ctx, const struct option_row *row, const char *value)
{
    return !((const struct sacct_command *)ctx)->fields;
}

#define AT(member) offsetof(struct sacct_command, member)
static const struct option_row option_rows[] = {
    OPT_VALUE("accounts", 'A', "accounts", "jobs charged to these accounts", set_joined,
              AT(query.accounts), .alias = "account"),
    OPT_NO_EFFECT("allclusters", 'L', ARG_NONE, "all clusters (there is one)"),
    OPT_FLAG("allocations", 'X', "jobs only, no steps", AT(allocations)),
    OPT_FLAG("allusers", 'a', "jobs of all users", AT(all_users)),
    OPT_NO_EFFECT("array", 0, ARG_NONE, "one line for each array element"),
    OPT_REFUSED("associations", 'x', ARG_REQUIRED, "jobs of these associations",
                "not supported yet; --accounts and --user choose jobs"),
    OPT_FLAG("batch-script", 'B', "the batch script of a job (with -j)", AT(batch_script)),
    {.name = "brief", .letter = 'b', .doc = "id, state and exit code", .set = set_brief},
    LISTING_CLUSTERS_GIVEN(.env = {NULL}),
    OPT_REFUSED("completion", 'c', ARG_NONE, "what the job completion log has",
                "there is no separate completion log; sacct without it shows everything"),
    OPT_VALUE("constraints", 'C', "features", "jobs that asked for these features", set_any_text,
              AT(constraints)),
    OPT_VALUE("delimiter", 0, "text", "text between fields, with -p and -P", set_any_text,
              LISTING(delimiter)),
    OPT_FLAG("duplicates", 'D', "former runs of requeued jobs too", AT(query.duplicates)),
    OPT_VALUE("endtime", 'E', "time", "jobs alive before this time", set_any_text, AT(end_text)),
    OPT_REFUSED("env-vars", 0, ARG_NONE, "the environment of a job",
                "not supported yet: environments are not given out"),
    OPT_NO_EFFECT("expand-patterns", 0, ARG_NONE,
                  "file names with their patterns replaced (StdOut always is)"),
    LISTING_FEDERATION("federation"),
    OPT_REFUSED("file", 'f', ARG_REQUIRED, "accounting from a file",
                "there is no accounting file; the store is remuda.db, readable with sqlite3"),
    OPT_VALUE("flags", 'F', "flags", "jobs started by: SchedSubmit, SchedMain, SchedBackfill",
              set_job_flags, AT(flags)),
    OPT_VALUE("format", 'o', "fields", "fields: JobID,State%20,Elapsed", set_joined, AT(fields),
              .alias = "fields", .env = {"SACCT_FORMAT"}),
    OPT_VALUE("gid", 'g', "groups", "jobs of these groups", set_groups, 0, .alias = "group"),
    LISTING_HELP('h'),
    OPT_ACCEPTED("helpformat", 'e', ARG_NONE, "all fields"),
    OPT_VALUE("jobs", 'j', "jobs", "these jobs and steps: 42,43_7,44.batch", set_joined,
              AT(query.ids)),
    LISTING_JSON,
    LISTING_LOCAL,
    {.name = "long", .letter = 'l', .doc = "many fields", .set = set_long},
    OPT_VALUE("name", 0, "names", "jobs of these names", set_joined, AT(query.names)),
    OPT_VALUE("ncpus", 'I', "count", "jobs with this count of CPUs: 4 or 2-8", set_range, AT(cpus)),
    OPT_VALUE("nnodes", 'i', "count", "jobs on this count of nodes: 4 or 2-8", set_range,
              AT(nodes)),
    LISTING_NOCONVERT("sizes in their own unit"),
    OPT_VALUE("nodelist", 'N', "nodes", "jobs that ran on any of these nodes", set_any_text,
              AT(query.nodes)),
    LISTING_NOHEADER('n', "no header"),
    LISTING_PARSABLE("fields separated by '|', one at the end too"),
    LISTING_PARSABLE2("fields separated by '|'"),
    OPT_VALUE("partition", 'r', "partitions", "jobs in these partitions", set_joined,
              AT(query.partitions)),
    OPT_VALUE("qos", 'q', "QOS", "jobs with these QOS", set_joined, AT(query.qos)),
    OPT_VALUE("reason", 'R', "reasons", "jobs with these reasons", set_reasons, AT(reasons)),
    OPT_VALUE("starttime", 'S', "time", "jobs alive after this time", set_any_text, AT(start_text)),
    OPT_VALUE("state", 's', "states", "jobs in these states", set_states, 0),
    OPT_VALUE("timelimit-max", 'K', "time", "jobs with a limit of at most this time", set_limit,
              AT(limit_max)),
    OPT_VALUE("timelimit-min", 'k', "time", "jobs with this time limit, or at least this with -K",
              set_limit, AT(limit_min)),
    OPT_FLAG("truncate", 'T', "cut start and end to -S and -E", AT(truncate)),
    OPT_VALUE("uid", 'u', "users", "jobs of these users", set_users, 0, .alias = "user"),
    OPT_VALUE("units", 0, "unit", "sizes in this unit: K, M, G, T or P", set_unit, 0),
    LISTING_USAGE,
    OPT_NO_EFFECT("use-local-uid", 0, ARG_NONE,
                  "names of users as this machine knows them (always so)", .hidden = true),
    LISTING_VERBOSE,
    LISTING_VERSION,
    OPT_VALUE("wckeys", 'W', "keys", "jobs with these workload keys", set_any_text, AT(wckeys)),
    {.name = "whole-hetjob",
     .arg = ARG_OPTIONAL,
     .support = SUPPORT_NO_EFFECT,
     .set = check_whole_hetjob,
     .doc = "all components of heterogeneous jobs",
     .hidden = true},
    LISTING_YAML,
};
OPTION_TABLE(sacct_options, option_rows, .usage = "sacct [<OPTION>]", .variables_as_are = true,
             .words = WORDS_MIXED, .word = word_take);

/* Slurm's line first. */
static bool time_take(const char *text, int64_t now, int64_t *ret, struct err *ret_err)
{
    if (civil_parse(text, now, &civil_local, false, ret, ret_err))
        return true;
    if (ret_err->lead[0])
        fprintf(stderr, "%s\n", ret_err->lead);
    return false;
}

static bool window_check(const struct sacct_command *s, struct err *ret_err)
{
    if (s->query.from_us <= s->query.to_us)
        return true;
    return err_set(ret_err, ERR_INVALID, "Start time (%s) requested is after end time (%s).",
                   cell_time_text(&s->l.env, s->query.from_us, "", s->l.a),
                   cell_time_text(&s->l.env, s->query.to_us, "", s->l.a));
}

/* The default time window: sacct(1), DEFAULT TIME WINDOW. */
static bool window_set(struct sacct_command *s, struct err *ret_err)
{
    int64_t now = s->l.env.now_us;
    s->query.to_us = now;
    if (s->end_text && !time_take(s->end_text, now, &s->query.to_us, ret_err))
        return false;
    /* Points in time are written in whole seconds: all of that second counts. */
    if (s->end_text)
        s->query.to_us += USEC_PER_SEC - 1;
    if (s->start_text) {
        if (!time_take(s->start_text, now, &s->query.from_us, ret_err))
            return false;
        /* Who names states and a start without an end asks what was in them then. */
        if (s->query.states && !s->end_text)
            s->query.to_us = s->query.from_us + USEC_PER_SEC;
        return window_check(s, ret_err);
    }
    if (s->query.ids) {
        s->query.from_us = 0;
        return true;
    }
    if (s->query.states)
        s->query.from_us = now;
    else if (!civil_parse("today", now, &civil_local, false, &s->query.from_us, ret_err))
        return false;
    if (!s->end_text)
        s->query.to_us = now + USEC_PER_SEC;
    return window_check(s, ret_err);
}

static const char *moment(int64_t us, struct arena *a)
{
    char text[64];
    struct tm tm;
    if (us == 0)
        return "Epoch 0";
    local_time((time_t)(us / USEC_PER_SEC), &tm);
    strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &tm);
    return arena_strdup(a, text);
}

static void window_say(const struct sacct_command *s)
{
    fprintf(stderr, "sacct: Jobs %s in the time window from %s to %s\n",
            s->query.states ? s->query.states : "Eligible", moment(s->query.from_us, s->l.a),
            moment(s->query.to_us + 1, s->l.a));
}

/* Slurm names the number where what stands behind it is wrong. */
static void id_refuse(const char *word)
{
    size_t n = strspn(word, "0123456789");
    const char *what = n && word[n] == '_'   ? "job array element"
                       : n && word[n] == '.' ? "step"
                                             : NULL;
    if (what)
        plain_line("sacct: fatal: Bad %s specified: %.*s", what, (int)n, word);
    else
        plain_line("sacct: fatal: Bad job/step specified: %s", word);
}

static bool words_refuse(const char *words)
{
    struct span rest = span_of(words), piece;
    program_error("sacct", "Unknown arguments:");
    while (span_next(&rest, '\n', &piece))
        if (piece.len)
            program_error("sacct", " %.*s", (int)piece.len, piece.data);
    return false;
}

static bool ids_check(const char *ids, struct arena *a)
{
    struct span rest = span_of(ids), piece;
    struct job_ref ref;
    while (ids && !strchr(ids, '[') && span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        const char *word = arena_strndup(a, piece.data, piece.len);
        if (!job_ref_parse(word, &ref, NULL)) {
            id_refuse(word);
            return false;
        }
        job_ref_done(&ref);
    }
    return true;
}

static const char *all_fields(struct arena *a)
{
    struct str all = STR_INIT;
    for (size_t i = 0; i < acct_columns_listed; i++)
        str_addf(&all, "%s%s", i ? "," : "", acct_columns.column[i].name);
    const char *fields = arena_strdup(a, str_text(&all));
    str_done(&all);
    return fields;
}

static bool prepare(void *ctx, struct err *ret_err)
{
    struct sacct_command *s = ctx;
    struct listing *l = &s->l;
    const char *fields = s->fields;
    if (s->unknown)
        return words_refuse(s->unknown);
    if (text_is_nocase(fields, "ALL"))
        fields = all_fields(l->a);
    if (!format_parse_fields(&acct_columns, fields ? fields : FIELDS_DEFAULT, l->a, &l->format,
                             ret_err) ||
        !window_set(s, ret_err) || !ids_check(s->query.ids, l->a))
        return false;
    if (l->verbose)
        window_say(s);
    if (!s->query.uids && !s->all_users && !s->query.ids && getuid() != 0)
        s->query.uids = arena_printf(l->a, "%u", (unsigned)getuid());
    if (s->truncate)
        s->acct_env = (struct acct_env){.from_us = s->query.from_us, .to_us = s->query.to_us};
    l->env.more = &s->acct_env;
    return true;
}

static bool show(void *ctx, struct client *c, struct err *ret_err)
{
    struct sacct_command *s = ctx;
    if (!sacct_rows_read(s, c, ret_err) || !sacct_known_read(s, c, ret_err))
        return false;
    if (s->batch_script)
        return sacct_scripts_print(s, c, ret_err);
    s->summary = (struct jobstats){s->step.v, s->step.n, s->node.v, s->node.n};
    s->acct_env.jobstats = s->jobstats ? &s->summary : NULL;
    if (s->l.json)
        acct_json_print(s->job.v, s->job.n, s->step.v, s->step.n, &s->l.env, s->l.json);
    else
        sacct_rows_print(s);
    return true;
}

static const struct listing_command command = {
    .name = "sacct",
    .options = &sacct_options,
    .ruled = true,
    .variable_counts = variable_counts,
    .prepare = prepare,
    .show = show,
    .formats = acct_help_format_print,
};

int cmd_sacct(int argc, char **argv)
{
    struct sacct_command s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    sacct_known_free(&s);
    vec_done(&s.job);
    vec_done(&s.step);
    vec_done(&s.node);
    listing_done(&s.l);
    return status;
}
