/* sstat: what running steps have used so far, in the fields of sacct. */
#include "base/vec.h"
#include "cli/columns_acct.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/localtime.h"
#include "cli/options.h"
#include "cli/program.h"
#include "model/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
#define FIELDS_DEFAULT                                                                                                                               \
    "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,"     \
    "MinCPUNode,MinCPUTask,AveCPU,NTasks,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,"             \
    "MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite"
// clang-format on

struct sstat {
    struct arena *a;
    struct cell_env env;
    struct acct_env acct_env;
    struct format format;
    const char *ids, *fields, *delimiter;
    char parsable; /* 'p', 'P' or 0 */
    bool noheader, all_steps, help, help_format, version;
    VEC(const struct job *) job;
    VEC(const struct step *) step;
};

enum {
    OPT_ALL = 1,
    OPT_HELPFORMAT,
    OPT_JOBS,
    OPT_NOHEADER,
    OPT_NOCONVERT,
    OPT_FORMAT,
    OPT_PARSABLE,
    OPT_PARSABLE2,
    OPT_DELIMITER,
    OPT_PIDS,
    OPT_VERBOSE,
    OPT_HELP,
    OPT_VERSION
};

static const struct cli_option options[] = {
    {"allsteps", 'a', CLI_NONE, OPT_ALL, "all steps of the jobs, not the first alone"},
    {"helpformat", 'e', CLI_NONE, OPT_HELPFORMAT, "names of all fields"},
    {"format", 'o', CLI_VALUE, OPT_FORMAT, "fields to show: name[%[-]width],…"},
    {"fields", 0, CLI_VALUE, OPT_FORMAT, NULL},
    {"jobs", 'j', CLI_VALUE, OPT_JOBS, "jobs or steps: 42,43.0,44.batch"},
    {"noheader", 'n', CLI_NONE, OPT_NOHEADER, "no header"},
    {"noconvert", 0, CLI_NONE, OPT_NOCONVERT, "do not convert units"},
    {"parsable", 'p', CLI_NONE, OPT_PARSABLE, "fields separated and ended by |"},
    {"parsable2", 'P', CLI_NONE, OPT_PARSABLE2, "fields separated by |"},
    {"delimiter", 0, CLI_VALUE, OPT_DELIMITER, "instead of |"},
    {"pidformat", 'i', CLI_NONE, OPT_PIDS, NULL},
    {"verbose", 'v', CLI_NONE, OPT_VERBOSE, "kept for compatibility: nothing more is said"},
    {"help", 'h', CLI_NONE, OPT_HELP, "show this help"},
    {"usage", 0, CLI_NONE, OPT_HELP, NULL},
    {"version", 'V', CLI_NONE, OPT_VERSION, "show the version"},
};
static const struct cli_options table = {options, sizeof options / sizeof options[0], true};

static bool option_take(void *ctx, int id, const char *value, struct err *ret_err)
{
    struct sstat *s = ctx;
    switch (id) {
    case OPT_ALL: s->all_steps = true; break;
    case OPT_HELPFORMAT: s->help_format = true; break;
    case CLI_WORD:
    case OPT_JOBS: s->ids = s->ids ? arena_printf(s->a, "%s,%s", s->ids, value) : value; break;
    case OPT_NOHEADER: s->noheader = true; break;
    case OPT_NOCONVERT: s->env.noconvert = true; break;
    case OPT_FORMAT: s->fields = value; break;
    case OPT_PARSABLE: s->parsable = 'p'; break;
    case OPT_PARSABLE2: s->parsable = 'P'; break;
    case OPT_DELIMITER: s->delimiter = value; break;
    case OPT_PIDS:
        return err_set(ret_err, ERR_UNSUPPORTED,
                       "not supported: --pidformat (only the nodes know process ids); srun --jobid=ID "
                       "--overlap ps -ef shows them");
    case OPT_HELP: s->help = true; break;
    case OPT_VERSION: s->version = true; break;
    default: break;
    }
    return true;
}

static void job_keep(void *ctx, const void *record)
{
    struct sstat *s = ctx;
    vec_push(&s->job, arena_dup(s->a, record, sizeof(struct job)));
}

static void step_keep(void *ctx, const void *record)
{
    struct sstat *s = ctx;
    vec_push(&s->step, arena_dup(s->a, record, sizeof(struct step)));
}

static bool rows_read(struct sstat *s, struct client *c, struct err *e)
{
    struct msg_done done = {0};
    struct msg_query jobs = {.what = QUERY_JOBS, .ids = s->ids, .states = "RUNNING,SUSPENDED,COMPLETING"},
                     steps = {.what = QUERY_STEPS, .ids = s->ids};
    struct str bare = STR_INIT;
    struct span rest = span_of(s->ids), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *dot = memchr(piece.data, '.', piece.len);
        str_addf(&bare, "%s%.*s", bare.len ? "," : "", (int)(dot ? dot - piece.data : (ptrdiff_t)piece.len),
                 piece.data);
    }
    jobs.ids = arena_strdup(s->a, str_text(&bare));
    str_done(&bare);
    if (!client_query(c, &jobs, &job_fields, s->a, job_keep, s, &done, e))
        return false;
    if (done.refusal != REFUSE_NONE)
        return err_set(e, ERR_NOT_FOUND, "%s", refusal_text((enum refusal)done.refusal));
    return client_query(c, &steps, &step_fields, s->a, step_keep, s, &done, e);
}

static const struct job *job_of(const struct sstat *s, uint64_t id)
{
    for (size_t i = 0; i < s->job.n; i++)
        if (s->job.v[i]->id == id)
            return s->job.v[i];
    return NULL;
}

/* Of a job named without a step, the first srun step stands for it, else the batch script. */
static bool is_shown(const struct sstat *s, const struct step *step)
{
    struct span rest = span_of(s->ids), piece;
    while (span_next(&rest, ',', &piece)) {
        struct job_ref ref;
        if (!job_ref_parse(arena_strndup(s->a, piece.data, piece.len), &ref, NULL))
            continue;
        bool exact = ref.has_step;
        job_ref_done(&ref);
        if (exact)
            return true; /* the controller gave what was named */
    }
    for (size_t i = 0; !s->all_steps && i < s->step.n; i++) {
        const struct step *other = s->step.v[i];
        if (other->job_id == step->job_id && other->step_id >= 0 &&
            (step->step_id < 0 || other->step_id < step->step_id))
            return false;
    }
    return true;
}

static void rows_print(struct sstat *s)
{
    struct str out = STR_INIT;
    if (!s->noheader && s->parsable)
        format_print_parsable(&s->format, &s->env, NULL, s->delimiter, s->parsable == 'p', &out);
    else if (!s->noheader)
        format_print_ruled_header(&s->format, &out);
    for (size_t i = 0; i < s->step.n; i++) {
        struct acct_row row = {job_of(s, s->step.v[i]->job_id), s->step.v[i]};
        if (!row.job || !is_shown(s, row.step))
            continue;
        if (s->parsable)
            format_print_parsable(&s->format, &s->env, &row, s->delimiter, s->parsable == 'p', &out);
        else
            format_print_row(&s->format, &s->env, &row, &out);
    }
    listing_flush(&out);
    str_done(&out);
}

static bool sstat_run(struct sstat *s, struct err *e)
{
    if (!s->ids)
        return err_set(e, ERR_INVALID, "You didn't give me any jobs to stat. Name them: sstat -j 42");
    s->env.now_us = time_now_us();
    s->env.time_format = getenv("SLURM_TIME_FORMAT");
    s->env.more = &s->acct_env;
    if (!format_parse_fields(&acct_columns, s->fields ? s->fields : FIELDS_DEFAULT, s->a, &s->format, e))
        return false;
    struct client *c = program_connect("sstat", state_dir_find(NULL, s->a));
    bool ok = c && rows_read(s, c, e);
    if (ok)
        rows_print(s);
    client_close(c);
    return ok;
}

int cmd_sstat(int argc, char **argv)
{
    struct sstat s = {.a = arena_new()};
    struct err err = {0};
    bool ok = cli_parse(&table, argc, argv, option_take, &s, &err);
    if (ok && s.version)
        puts(SLURM_VERSION_TEXT);
    else if (ok && s.help)
        cli_help_print(&table, "sstat [OPTIONS] -j job[.step],…");
    else if (ok && s.help_format)
        acct_help_format_print();
    else if (ok)
        ok = sstat_run(&s, &err);
    if (!ok && err.code)
        program_error("sstat", "%s", err.text);
    format_done(&s.format);
    vec_done(&s.job);
    vec_done(&s.step);
    arena_free(s.a);
    return ok ? 0 : 1;
}
