#include "model/job/job.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/job/array.h"
#include "model/limits.h"

static const char *const tristates[] = {[UNSET] = "unset", [YES] = "yes", [NO] = "no"};
static const char *const exclusives[] = {[EXCLUSIVE_UNSET] = "no",
                                         [EXCLUSIVE_NODE] = "node",
                                         [EXCLUSIVE_USER] = "user",
                                         [EXCLUSIVE_MCS] = "mcs",
                                         [EXCLUSIVE_TOPO] = "topo"};
static const char *const dialects[] = {
    [DIALECT_SLURM] = "slurm", [DIALECT_LSF] = "lsf", [DIALECT_PBS] = "pbs"};
static const char *const open_modes[] = {[OPEN_UNSET] = "unset",
                                         [OPEN_APPEND] = "append",
                                         [OPEN_TRUNCATE] = "truncate",
                                         [OPEN_TRUNCATE_OUTPUT] = "truncate-output",
                                         [OPEN_TRUNCATE_ERROR] = "truncate-error"};
static const char *const hints[] = {[HINT_UNSET] = "none",
                                    [HINT_COMPUTE_BOUND] = "compute_bound",
                                    [HINT_MEMORY_BOUND] = "memory_bound",
                                    [HINT_MULTITHREAD] = "multithread",
                                    [HINT_NOMULTITHREAD] = "nomultithread"};
static const char *const suspenders[] = {[SUSPENDER_PERSON] = "PERSON",
                                         [SUSPENDER_PREEMPTION] = "PREEMPTION",
                                         [SUSPENDER_GANG] = "GANG"};
const struct enum_names suspender_names = {suspenders, ARRAY_LEN(suspenders)};
const struct enum_names dialect_names = {dialects, ARRAY_LEN(dialects)};
const struct enum_names tristate_names = {tristates, ARRAY_LEN(tristates)};
const struct enum_names exclusive_names = {exclusives, ARRAY_LEN(exclusives)};
const struct enum_names open_mode_names = {open_modes, ARRAY_LEN(open_modes)};
const struct enum_names hint_names = {hints, ARRAY_LEN(hints)};

#define REQUEST_ROW(type, name, aux, doc)  FIELD_ROW_AT(struct job_request, , type, name, aux, doc)
#define SPEC_REQ_ROW(type, name, aux, doc) FIELD_ROW_AT(struct job_spec, req., type, name, aux, doc)
#define SPEC_ROW(type, name, aux, doc)     FIELD_ROW_AT(struct job_spec, , type, name, aux, doc)
#define JOB_REQ_ROW(type, name, aux, doc)  FIELD_ROW_AT(struct job, spec.req., type, name, aux, doc)
#define JOB_SPEC_ROW(type, name, aux, doc) FIELD_ROW_AT(struct job, spec., type, name, aux, doc)
#define JOB_ROW(type, name, aux, doc)      FIELD_ROW_AT(struct job, , type, name, aux, doc)
#define STEP_ROW(type, name, aux, doc)     FIELD_ROW_AT(struct step, , type, name, aux, doc)

static const struct field request_rows[] = {JOB_REQUEST_FIELDS(REQUEST_ROW)};
static const struct field spec_rows[] = {JOB_REQUEST_FIELDS(SPEC_REQ_ROW)
                                             JOB_SPEC_FIELDS(SPEC_ROW)};
static const struct field job_rows[] = {
    JOB_REQUEST_FIELDS(JOB_REQ_ROW) JOB_SPEC_FIELDS(JOB_SPEC_ROW) JOB_STATE_FIELDS(JOB_ROW)};
static const struct field step_rows[] = {STEP_FIELDS(STEP_ROW)};

const struct fields job_request_fields = {"job_request", sizeof(struct job_request), request_rows,
                                          ARRAY_LEN(request_rows)};
const struct fields job_spec_fields = {"job_spec", sizeof(struct job_spec), spec_rows,
                                       ARRAY_LEN(spec_rows)};
const struct fields job_fields = {"job", sizeof(struct job), job_rows, ARRAY_LEN(job_rows)};
const struct fields step_fields = {"step", sizeof(struct step), step_rows, ARRAY_LEN(step_rows)};

void job_array_tasks(const struct job *j, struct str *out)
{
    struct idset ids = IDSET_INIT;
    if (!text_empty(j->array_pending) &&
        idset_parse(&ids, j->array_pending, LIMIT_ARRAY_INDEX, NULL)) {
        array_format_tasks(&ids, out);
        if (j->array_limit)
            str_addf(out, "%%%u", j->array_limit);
    }
    idset_done(&ids);
}

static void pending_label(const struct job *j, struct str *out)
{
    struct idset ids = IDSET_INIT;
    str_add_u64(out, j->array_job_id);
    str_addc(out, '_');
    if (idset_parse(&ids, j->array_pending, LIMIT_ARRAY_INDEX, NULL))
        array_format_pending(&ids, j->array_limit, j->array_size == 1, out);
    idset_done(&ids);
}

const char *job_reservation(const struct job *j)
{
    bool began = j->state != JOB_PENDING && j->run_reservation;
    return !j->spec.req.reservation && began ? j->run_reservation : j->spec.req.reservation;
}

void job_label(const struct job *j, struct str *out)
{
    if (j->het_job_id) {
        str_add_u64(out, j->het_job_id);
        str_addc(out, '+');
        str_add_u64(out, j->het_offset);
    } else if (j->array_job_id && j->array_task_id != NO_TASK) {
        str_add_u64(out, j->array_job_id);
        str_addc(out, '_');
        str_add_u64(out, j->array_task_id);
    } else if (j->array_job_id && j->array_pending) {
        pending_label(j, out);
    } else {
        str_add_u64(out, j->id);
    }
}

void step_label(int64_t step_id, struct str *out)
{
    if (step_id == STEP_BATCH)
        str_add(out, "batch");
    else if (step_id == STEP_EXTERN)
        str_add(out, "extern");
    else if (step_id == STEP_INTERACTIVE)
        str_add(out, "interactive");
    else
        str_add_i64(out, step_id);
}
