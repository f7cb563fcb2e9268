/* sstat: what running steps have used so far, in the fields of sacct. */
#include "base/alloc.h"
#include "base/list.h"
#include "base/vec.h"
#include "cli/program/commands.h"
#include "cli/program/program.h"
#include "cli/record/columns_acct.h"
#include "cli/table/listing_command.h"
#include "model/job/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// clang-format off
#define FIELDS_DEFAULT                                                                                                                               \
    "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,"     \
    "MinCPUNode,MinCPUTask,AveCPU,NTasks,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,"             \
    "MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite"
// clang-format on

struct sstat {
    struct listing l;
    struct acct_env acct_env;
    const char *ids;
    bool all_steps, unknown; /* unknown: a job that was named is none */
    VEC(const struct job *) job;
    VEC(const struct step *) step;
};

static bool word_take(void *to, const char *word, struct arena *a, struct err *ret_err)
{
    struct sstat *s = to;
    s->ids = s->ids ? arena_printf(a, "%s,%s", s->ids, word) : word;
    return true;
}

static SETTER(set_jobs)
{
    return word_take(to, value, a, ret_err);
}

static SETTER(refuse_pids)
{
    return err_set(ret_err, ERR_UNSUPPORTED,
                   "not supported: --%s (only the nodes know process ids); %s", row->name,
                   row->why);
}

#define NO_JSON                                                                                    \
    "not supported: Slurm's sstat has no such output; -P -o prints what a program can read"
#define AT(member) offsetof(struct sstat, member)
static const struct option_row rows[] = {
    OPT_FLAG("allsteps", 'a', "all steps of the jobs, not the first alone", AT(all_steps)),
    OPT_ACCEPTED("helpformat", 'e', ARG_NONE, "names of all fields"),
    OPT_VALUE("format", 'o', "fields", "fields to show: name[%[-]width],…", listing_set_format, 0,
              .alias = "fields"),
    OPT_VALUE("jobs", 'j', "jobs", "jobs or steps: 42,43.0,44.batch", set_jobs, 0),
    LISTING_NO_JSON("json", NO_JSON),
    LISTING_NOHEADER('n', "no header"),
    LISTING_NOCONVERT("do not convert units"),
    LISTING_PARSABLE("fields separated and ended by |"),
    LISTING_PARSABLE2("fields separated by |"),
    OPT_VALUE("delimiter", 0, NULL, "instead of |", set_any_text, LISTING(delimiter)),
    OPT_REFUSED("pidformat", 'i', ARG_NONE, "process ids of the steps",
                "srun --jobid=ID --overlap ps -ef shows them", .set = refuse_pids),
    LISTING_VERBOSE,
    OPT_ACCEPTED("help", 'h', ARG_NONE, "show this help"),
    LISTING_USAGE,
    OPT_ACCEPTED("version", 'V', ARG_NONE, "show the version"),
    LISTING_NO_JSON("yaml", NO_JSON),
};
OPTION_TABLE(sstat_options, rows, .usage = "sstat [<OPTION>] -j <job(.stepid)>",
             .words = WORDS_MIXED, .word = word_take);

static void job_keep(void *ctx, const void *record)
{
    struct sstat *s = ctx;
    vec_push(&s->job, arena_dup(s->l.a, record, sizeof(struct job)));
}

static void step_keep(void *ctx, const void *record)
{
    struct sstat *s = ctx;
    vec_push(&s->step, arena_dup(s->l.a, record, sizeof(struct step)));
}

static bool rows_read(struct sstat *s, struct client *c, struct err *e)
{
    struct msg_done done = {0};
    struct msg_query jobs = {.what = QUERY_JOBS,
                             .ids = s->ids,
                             .states = "RUNNING,SUSPENDED,COMPLETING",
                             .exact = true},
                     steps = {.what = QUERY_STEPS, .ids = s->ids, .exact = true};
    struct str bare = STR_INIT;
    struct span rest = span_of(s->ids), piece;
    while (span_next(&rest, ',', &piece)) {
        const char *dot = memchr(piece.data, '.', piece.len);
        list_addf(&bare, "%.*s", (int)(dot ? dot - piece.data : (ptrdiff_t)piece.len), piece.data);
    }
    jobs.ids = arena_strdup(s->l.a, str_text(&bare));
    str_done(&bare);
    if (!client_query(c, &jobs, &job_fields, s->l.a, job_keep, s, &done, e))
        return false;
    s->unknown = done.refusal == REFUSE_INVALID_JOB_ID;
    if (s->unknown)
        program_error("sstat", "couldn't get steps for job %s", jobs.ids);
    if (done.refusal != REFUSE_NONE && done.refusal != REFUSE_INVALID_JOB_ID)
        return err_set(e, ERR_NOT_FOUND, "%s", refusal_text((enum refusal)done.refusal));
    if (done.refusal != REFUSE_NONE)
        return true;
    return client_query(c, &steps, &step_fields, s->l.a, step_keep, s, &done, e);
}

static const struct job *job_of(const struct sstat *s, uint64_t id)
{
    for (size_t i = 0; i < s->job.n; i++)
        if (s->job.v[i]->id == id)
            return s->job.v[i];
    return NULL;
}

/* Of a job named without a step, the first srun step stands for it; the batch script has to be
 * named. */
static bool is_shown(const struct sstat *s, const struct step *step)
{
    struct span rest = span_of(s->ids), piece;
    while (span_next(&rest, ',', &piece)) {
        struct job_ref ref;
        if (!job_ref_parse(arena_strndup(s->l.a, piece.data, piece.len), &ref, NULL))
            continue;
        bool exact = ref.has_step;
        job_ref_done(&ref);
        if (exact)
            return true; /* the controller gave what was named */
    }
    if (step->step_id < 0 && !s->all_steps)
        return false;
    for (size_t i = 0; !s->all_steps && i < s->step.n; i++) {
        const struct step *other = s->step.v[i];
        if (other->job_id == step->job_id && other->step_id >= 0 && other->step_id < step->step_id)
            return false;
    }
    return true;
}

static bool is_named(const struct sstat *s, const struct step *step, const struct job_ref *ref)
{
    const struct job *j = job_of(s, step->job_id);
    if (!j || step->step_id != ref->step_id)
        return false;
    if (ref->task_id != NO_TASK)
        return j->array_job_id == ref->job_id && j->array_task_id == ref->task_id;
    return j->id == ref->job_id + (ref->het_offset > 0 ? (uint64_t)ref->het_offset : 0);
}

static bool has_step(const struct sstat *s, const struct job_ref *ref)
{
    for (size_t i = 0; i < s->step.n; i++) {
        const struct job *j = job_of(s, s->step.v[i]->job_id);
        if (j && (j->id == ref->job_id || j->array_job_id == ref->job_id ||
                  j->het_job_id == ref->job_id))
            return true;
    }
    return false;
}

/* A step that was named and does not run is said, and a job of which none runs. */
static void missing_say(const struct sstat *s)
{
    struct span rest = span_of(s->ids), piece;
    while (span_next(&rest, ',', &piece)) {
        struct job_ref ref;
        const char *name = arena_strndup(s->l.a, piece.data, piece.len);
        if (!job_ref_parse(name, &ref, NULL))
            continue;
        bool found = !ref.has_step;
        if (found && !s->unknown && !has_step(s, &ref))
            program_error("sstat", "No steps running for job %llu", (unsigned long long)ref.job_id);
        for (size_t i = 0; !found && i < s->step.n; i++)
            found = is_named(s, s->step.v[i], &ref);
        if (!found)
            program_error("sstat", "StepId=%s not found running.", name);
        job_ref_done(&ref);
    }
}

/* Slurm's own names, in its order: programs look for what they need among them. */
static void fields_print(void)
{
    static const char *const names[] = {"AveCPU",
                                        "AveCPUFreq",
                                        "AveDiskRead",
                                        "AveDiskWrite",
                                        "AvePages",
                                        "AveRSS",
                                        "AveVMSize",
                                        "ConsumedEnergy",
                                        "ConsumedEnergyRaw",
                                        "JobID",
                                        "MaxDiskRead",
                                        "MaxDiskReadNode",
                                        "MaxDiskReadTask",
                                        "MaxDiskWrite",
                                        "MaxDiskWriteNode",
                                        "MaxDiskWriteTask",
                                        "MaxPages",
                                        "MaxPagesNode",
                                        "MaxPagesTask",
                                        "MaxRSS",
                                        "MaxRSSNode",
                                        "MaxRSSTask",
                                        "MaxVMSize",
                                        "MaxVMSizeNode",
                                        "MaxVMSizeTask",
                                        "MinCPU",
                                        "MinCPUNode",
                                        "MinCPUTask",
                                        "Nodelist",
                                        "NTasks",
                                        "ReqCPUFreq",
                                        "ReqCPUFreqMin",
                                        "ReqCPUFreqMax",
                                        "ReqCPUFreqGov",
                                        "TRESUsageInAve",
                                        "TRESUsageInMax",
                                        "TRESUsageInMaxNode",
                                        "TRESUsageInMaxTask",
                                        "TRESUsageInMin",
                                        "TRESUsageInMinNode",
                                        "TRESUsageInMinTask",
                                        "TRESUsageInTot",
                                        "TRESUsageOutAve",
                                        "TRESUsageOutMax",
                                        "TRESUsageOutMaxNode",
                                        "TRESUsageOutMaxTask",
                                        "TRESUsageOutMin",
                                        "TRESUsageOutMinNode",
                                        "TRESUsageOutMinTask",
                                        "TRESUsageOutTot"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        printf("%-19s%s", names[i], i % 4 == 3 || i + 1 == ARRAY_LEN(names) ? "\n" : " ");
}

static bool ids_check(const struct sstat *s)
{
    struct span rest = span_of(s->ids), piece;
    while (span_next(&rest, ',', &piece)) {
        struct job_ref ref = {0};
        const char *word = arena_strndup(s->l.a, piece.data, piece.len);
        bool ok = !piece.len || job_ref_parse(word, &ref, NULL);
        job_ref_done(&ref);
        if (!ok) {
            fprintf(stderr, "sstat: fatal: Bad job/step specified: %s\n", word);
            return false;
        }
    }
    return true;
}

/* What a step uses is its owner's to see. */
static bool is_mine(const struct step *step)
{
    if (getuid() == 0 || step->user_id == getuid())
        return true;
    struct str label = STR_INIT;
    step_label(step->step_id, &label);
    program_error("sstat", "problem getting step_layout for StepId=%llu.%s: Invalid user id",
                  (unsigned long long)step->job_id, str_text(&label));
    str_done(&label);
    return false;
}

static bool prepare(void *ctx, struct err *e)
{
    struct sstat *s = ctx;
    struct listing *l = &s->l;
    if (text_empty(s->ids))
        return err_set(e, ERR_INVALID, "You didn't give me any jobs to stat.");
    l->env.more = &s->acct_env;
    return ids_check(s) &&
           format_parse_fields(&acct_columns, l->format_text ? l->format_text : FIELDS_DEFAULT,
                               l->a, &l->format, e);
}

static bool show(void *ctx, struct client *c, struct err *e)
{
    struct sstat *s = ctx;
    if (!rows_read(s, c, e))
        return false;
    listing_begin(&s->l);
    for (size_t i = 0; i < s->step.n; i++) {
        struct acct_row row = {job_of(s, s->step.v[i]->job_id), s->step.v[i]};
        if (row.job && is_shown(s, row.step) && is_mine(row.step))
            listing_row(&s->l, &row);
    }
    listing_end(&s->l);
    missing_say(s);
    return true;
}

/* No controller: Slurm asks node daemons and prints the table all the same. */
static void show_away(void *ctx)
{
    struct sstat *s = ctx;
    struct span rest = span_of(s->ids), piece;
    listing_begin(&s->l);
    listing_end(&s->l);
    fflush(stdout);
    while (span_next(&rest, ',', &piece))
        program_error("sstat", "couldn't get steps for job %.*s",
                      (int)strcspn(arena_strndup(s->l.a, piece.data, piece.len), "."), piece.data);
}

static const struct listing_command command = {
    .name = "sstat",
    .options = &sstat_options,
    .ruled = true,
    .prepare = prepare,
    .show_away = show_away,
    .show = show,
    .formats = fields_print,
};

int cmd_sstat(int argc, char **argv)
{
    struct sstat s = {0};
    int status = listing_main(&s.l, &command, &s, argc, argv);
    vec_done(&s.job);
    vec_done(&s.step);
    listing_done(&s.l);
    return status;
}
