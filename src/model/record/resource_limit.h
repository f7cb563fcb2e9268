/* What an association (an account, or a user in an account) or a QOS allows: one row a limit, from
 * which the words of sacctmgr, its columns, what is counted and the pages come. A limit that is not
 * set is not there; 0 is a limit. */
#ifndef REMUDA_MODEL_RESOURCE_LIMIT_H
#define REMUDA_MODEL_RESOURCE_LIMIT_H

#include "base/err.h"
#include "base/str.h"
#include "model/fields.h"
#include "model/state.h"

/* Who may carry a limit. */
enum limit_owner { OWNER_ASSOC, OWNER_QOS };
extern const struct enum_names limit_owner_names;

/* What the number is. */
enum limit_unit {
    UNIT_COUNT,        /* jobs, a priority */
    UNIT_MINUTES,      /* of wall clock */
    UNIT_TRES,         /* of each trackable resource: CPUs, MiB, devices */
    UNIT_TRES_MINUTES, /* the same × minutes */
};

/* Over what it is summed up: everything below its owner, a user (of an association: the user's
 * association itself), an account, a job, a node of a job. */
enum limit_scope { SCOPE_GROUP, SCOPE_USER, SCOPE_ACCOUNT, SCOPE_JOB, SCOPE_NODE };

/* What is held against it. */
enum limit_counts {
    COUNTS_RUNNING,  /* jobs that have resources, and what they have */
    COUNTS_ACCRUING, /* waiting jobs that age */
    COUNTS_LIVE,     /* jobs that wait or run */
    COUNTS_USED,     /* decayed use, and what running jobs may still use */
    COUNTS_PROMISED, /* what running jobs may still use by their time limits */
    COUNTS_ASKED,    /* what the job asks for */
    COUNTS_LEAST,    /* the same, from below */
    COUNTS_PRIORITY, /* the job's priority, from below, for a promise */
};

#define ON_ASSOC 1
#define ON_QOS   2
#define ON_BOTH  3

/* X(LIMIT, word of sacctmgr, further words (comma-separated), owners, unit, scope, counts, heading,
 * width of the column, doc). Words: sacctmgr(1), 25.05. */
// clang-format off
#define RESOURCE_LIMITS(X)                                                                                   \
    X(GRP_JOBS, "GrpJobs", "", BOTH, COUNT, GROUP, RUNNING, "GrpJobs", 7, "jobs that run")                   \
    X(GRP_JOBS_ACCRUE, "GrpJobsAccrue", "", BOTH, COUNT, GROUP, ACCRUING, "GrpJobsAccrue", 13,               \
      "waiting jobs that gain priority by age")                                                              \
    X(GRP_SUBMIT, "GrpSubmitJobs", "GrpSubmit", BOTH, COUNT, GROUP, LIVE, "GrpSubmit", 9,                    \
      "jobs that wait or run")                                                                               \
    X(GRP_TRES, "GrpTRES", "", BOTH, TRES, GROUP, RUNNING, "GrpTRES", 13, "resources that run jobs have")    \
    X(GRP_TRES_MINS, "GrpTRESMins", "", BOTH, TRES_MINUTES, GROUP, USED, "GrpTRESMins", 13,                  \
      "resources × minutes, used and still to be used")                                                      \
    X(GRP_TRES_RUN_MINS, "GrpTRESRunMins", "", BOTH, TRES_MINUTES, GROUP, PROMISED, "GrpTRESRunMins", 15,    \
      "resources × minutes that running jobs may still use by their limits")                                 \
    X(GRP_WALL, "GrpWall", "", BOTH, MINUTES, GROUP, USED, "GrpWall", 11, "wall clock time used")            \
    X(MAX_JOBS, "MaxJobs", "", ASSOC, COUNT, USER, RUNNING, "MaxJobs", 7, "jobs of each user that run")      \
    X(MAX_JOBS_ACCRUE, "MaxJobsAccrue", "", ASSOC, COUNT, USER, ACCRUING, "MaxJobsAccrue", 13,               \
      "waiting jobs of each user that gain priority by age")                                                 \
    X(MAX_SUBMIT, "MaxSubmitJobs", "MaxSubmit", ASSOC, COUNT, USER, LIVE, "MaxSubmit", 9,                    \
      "jobs of each user that wait or run")                                                                  \
    X(MAX_JOBS_PER_USER, "MaxJobsPerUser", "MaxJobs,MaxJobsPU", QOS, COUNT, USER, RUNNING, "MaxJobsPU", 9,   \
      "jobs of each user that run")                                                                          \
    X(MAX_JOBS_PER_ACCOUNT, "MaxJobsPerAccount", "MaxJobsPA", QOS, COUNT, ACCOUNT, RUNNING, "MaxJobsPA", 9,  \
      "jobs of each account that run")                                                                       \
    X(MAX_JOBS_ACCRUE_PER_USER, "MaxJobsAccruePerUser", "MaxJobsAccruePU", QOS, COUNT, USER, ACCRUING,       \
      "MaxJobsAccruePU", 15, "waiting jobs of each user that gain priority by age")                          \
    X(MAX_JOBS_ACCRUE_PER_ACCOUNT, "MaxJobsAccruePerAccount", "MaxJobsAccruePA", QOS, COUNT, ACCOUNT,        \
      ACCRUING, "MaxJobsAccruePA", 15, "waiting jobs of each account that gain priority by age")             \
    X(MAX_SUBMIT_PER_USER, "MaxSubmitJobsPerUser", "MaxSubmitJobs,MaxSubmitPerUser,MaxSubmitPU,MaxSubmitJobsPU", QOS, COUNT, \
      USER, LIVE, "MaxSubmitPU", 11, "jobs of each user that wait or run")                                   \
    X(MAX_SUBMIT_PER_ACCOUNT, "MaxSubmitJobsPerAccount", "MaxSubmitPerAccount,MaxSubmitPA,MaxSubmitJobsPA", QOS, COUNT,      \
      ACCOUNT, LIVE, "MaxSubmitPA", 11, "jobs of each account that wait or run")                             \
    X(MAX_TRES, "MaxTRESPerJob", "MaxTRES,MaxTRESPJ", BOTH, TRES, JOB, ASKED, "MaxTRES", 13,                 \
      "resources of a job")                                                                                  \
    X(MAX_TRES_PER_NODE, "MaxTRESPerNode", "MaxTRESPN", BOTH, TRES, NODE, ASKED, "MaxTRESPerNode", 14,       \
      "resources of a job on each of its nodes")                                                             \
    X(MAX_TRES_PER_USER, "MaxTRESPerUser", "MaxTRESPU", QOS, TRES, USER, RUNNING, "MaxTRESPU", 13,           \
      "resources that each user's running jobs have")                                                        \
    X(MAX_TRES_PER_ACCOUNT, "MaxTRESPerAccount", "MaxTRESPA", QOS, TRES, ACCOUNT, RUNNING, "MaxTRESPA", 13,  \
      "resources that each account's running jobs have")                                                     \
    X(MAX_TRES_MINS, "MaxTRESMinsPerJob", "MaxTRESMins,MaxTRESMinsPJ", BOTH, TRES_MINUTES, JOB, ASKED,       \
      "MaxTRESMins", 13, "resources × minutes of a job's limit")                                             \
    X(MAX_TRES_RUN_MINS_PER_USER, "MaxTRESRunMinsPerUser", "MaxTRESRunMinsPU", QOS, TRES_MINUTES, USER,      \
      PROMISED, "MaxTRESRunMinsPU", 15, "resources × minutes that each user's running jobs may still use")   \
    X(MAX_TRES_RUN_MINS_PER_ACCOUNT, "MaxTRESRunMinsPerAccount", "MaxTRESRunMinsPA", QOS, TRES_MINUTES,      \
      ACCOUNT, PROMISED, "MaxTRESRunMinsPA", 15,                                                             \
      "resources × minutes that each account's running jobs may still use")                                  \
    X(MAX_WALL, "MaxWallDurationPerJob", "MaxWall", BOTH, MINUTES, JOB, ASKED, "MaxWall", 11,                \
      "time limit of a job")                                                                                 \
    X(MIN_TRES, "MinTRESPerJob", "MinTRES", QOS, TRES, JOB, LEAST, "MinTRES", 13,                            \
      "resources that a job must have at least")                                                             \
    X(MIN_PRIO, "MinPrioThreshold", "MinPrioThresh", BOTH, COUNT, JOB, PRIORITY, "MinPrioThresh", 13,        \
      "priority without which no start is kept for a job")
// clang-format on

enum resource_limit {
#define X(limit, ...) LIMIT_##limit,
    RESOURCE_LIMITS(X)
#undef X
        RESOURCE_LIMIT_COUNT
};
extern const struct enum_names resource_limit_names;

struct resource_limit_row {
    const char *word, *others; /* of sacctmgr */
    uint32_t owners;           /* ON_ bits */
    enum limit_unit unit;      /* how its value is written */
    enum limit_scope scope;    /* whose jobs are counted together */
    enum limit_counts counts;  /* what of them */
    const char *heading;       /* of sacctmgr's listings */
    int width;
    const char *doc;
};
extern const struct resource_limit_row resource_limit_table[RESOURCE_LIMIT_COUNT];

/* The limit that this owner calls so, any letter case; abbreviations of at least `least` letters as
 * sacctmgr takes them. False: none. */
bool resource_limit_find(const char *word, enum limit_owner owner, size_t least,
                         enum resource_limit *ret);

/* A limit that is set. */
// clang-format off
#define LIMIT_FIELDS(X)                                                                                      \
    X(TEXT, id, 0, "its key: assoc/12/GrpTRES/cpu")                                                          \
    X(ENUM, owner, &limit_owner_names, "kind of its owner")                                                  \
    X(U32, owner_id, 0, "number of the association or QOS")                                                  \
    X(ENUM, what, &resource_limit_names, "which limit")                                                      \
    X(TEXT, tres, 0, "of which resource: cpu, mem, node, gres/gpu:v100, license/x; NULL = it counts none")   \
    X(TEXT, hours, 0, "when it holds, as TimeWindows= writes it: weekdays 08:00-18:00; NULL = always")       \
    X(I64, value, &range_limit, "how much: jobs, CPUs, MiB, devices, minutes; in a change −1 = no limit any more")
// clang-format on
struct limit {
    LIMIT_FIELDS(FIELD_MEMBER)
};
extern const struct fields limit_fields;

/* Its key, from its other fields. */
void limit_id_add(const struct limit *l, struct str *out);
/* of its row in the store: owner, kind, resource */
const char *limit_id(const struct limit *l, struct arena *a);
/* Can it be bound to hours? Those on what runs can: a start within them is bound by it, and what
 * began before goes on. */
bool resource_limit_takes_hours(enum resource_limit what);
/* Why a job waits that it keeps waiting; NONE: it keeps none waiting. */
enum job_reason resource_limit_reason(enum limit_owner owner, enum resource_limit what,
                                      const char *tres);

/* "cpu=4,gres/gpu:v100=2,mem=100G" of the limit to a list of records (in the arena; without ids and
 * owners). Sizes of memory take K to P, MiB without. A value of −1 unsets. ERR_INVALID names the
 * resource. `known` says whether there is such a resource; NULL = all are. */
typedef bool (*tres_known)(void *ctx, const char *tres);
bool limits_parse(enum resource_limit what, const char *text, tres_known known, void *ctx,
                  struct arena *a, struct record_list *ret, struct err *ret_err);

/* Order of Slurm's numbers of resources: cpu, mem, energy, node, billing, fs, vmem, pages, then
 * by name. */
int tres_compare(const char *a, const char *b);

#endif
