/* Jobs under limits of accounts and QOS: how one is set, and what is said of a job that it holds. */
#ifndef REMUDA_TESTS_CORE_LIMITS_HELP_H
#define REMUDA_TESTS_CORE_LIMITS_HELP_H

#include "core_tree.h"

/* ---- what runs ------------------------------------------------------------------------------ */

/* The first job takes all that is allowed, the second waits for `word`; the third is somebody else's
 * (or of another account) whom the limit does not concern, NULL = it concerns all. */
static const struct {
    const char *on, *limit, *lifted;
    int32_t cpus;
    const char *second; /* user:account */
    const char *third;
    const char *word;
} running[] = {
    {"physics", "GrpJobs=1", "GrpJobs=-1", 1, "bob:physics", "alice:chem", "AssocGrpJobsLimit"},
    {"physics", "GrpTRES=cpu=4", "GrpTRES=cpu=-1", 4, "bob:physics", "alice:chem",
     "AssocGrpCpuLimit"},
    {"physics", "GrpTRES=mem=150", "GrpTRES=mem=-1", 1, "bob:physics", "alice:chem",
     "AssocGrpMemLimit"},
    {"physics", "GrpTRES=node=1", "GrpTRES=node=-1", 8, "bob:physics", "alice:chem",
     "AssocGrpNodeLimit"},
    {"physics", "GrpTRES=billing=4", "GrpTRES=billing=-1", 4, "bob:physics", "alice:chem",
     "AssocGrpBilling"},
    {"root", "GrpTRES=cpu=4", "GrpTRES=cpu=-1", 4, "bob:physics", NULL, "AssocGrpCpuLimit"},
    {"physics", "MaxJobs=1", "MaxJobs=-1", 1, "alice:physics", "bob:physics", "AssocMaxJobsLimit"},
    {"physics/alice", "MaxJobs=1", "MaxJobs=-1", 1, "alice:physics", "alice:chem",
     "AssocMaxJobsLimit"},
    {"qos test", "GrpJobs=1", "GrpJobs=-1", 1, "bob:physics", NULL, "QOSGrpJobsLimit"},
    {"qos test", "GrpTRES=cpu=4", "GrpTRES=cpu=-1", 4, "bob:physics", NULL, "QOSGrpCpuLimit"},
    {"qos test", "MaxJobsPerUser=1", "MaxJobsPerUser=-1", 1, "alice:chem", "bob:physics",
     "QOSMaxJobsPerUserLimit"},
    {"qos test", "MaxJobsPerUser=1@daily:20-8", "MaxJobsPerUser=-1", 1, "alice:chem", "bob:physics",
     "QOSMaxJobsPerUserLimit"},
    {"qos test", "MaxJobsPerAccount=1", "MaxJobsPerAccount=-1", 1, "bob:physics", "alice:chem",
     "MaxJobsPerAccount"},
    {"qos test", "MaxTRESPerUser=cpu=4", "MaxTRESPerUser=cpu=-1", 4, "alice:chem", "bob:physics",
     "QOSMaxCpuPerUserLimit"},
    {"qos test", "MaxTRESPerUser=billing=4", "MaxTRESPerUser=billing=-1", 4, "alice:chem",
     "bob:physics", "QOSMaxBillingPerUser"},
    {"qos test", "MaxTRESPerAccount=cpu=4", "MaxTRESPerAccount=cpu=-1", 4, "bob:physics",
     "alice:chem", "MaxCpuPerAccount"},
};

/* ---- what a job asks for -------------------------------------------------------------------- */

static const struct {
    const char *on, *limit, *lifted, *word;
} asked[] = {
    {"qos test", "MaxTRESPerJob=cpu=2", "MaxTRESPerJob=cpu=-1", "QOSMaxCpuPerJobLimit"},
    {"qos test", "MaxTRESPerJob=mem=50", "MaxTRESPerJob=mem=-1", "QOSMaxMemoryPerJob"},
    {"qos test", "MinTRESPerJob=cpu=5", "MinTRESPerJob=cpu=-1", "QOSMinCpuNotSatisfied"},
    {"qos test", "MaxWall=5", "MaxWall=-1", "QOSMaxWallDurationPerJobLimit"},
    {"qos test", "MaxTRESMins=cpu=39", "MaxTRESMins=cpu=-1", "QOSMaxCpuMinutesPerJobLimit"},
    {"qos test", "MaxTRESPerNode=cpu=3", "MaxTRESPerNode=cpu=-1", "QOSMaxCpuPerNode"},
    {"physics", "MaxTRESPerJob=cpu=2", "MaxTRESPerJob=cpu=-1", "AssocMaxCpuPerJobLimit"},
    {"physics", "MaxWall=5", "MaxWall=-1", "AssocMaxWallDurationPerJobLimit"},
    {"physics/alice", "MaxTRESMins=cpu=39", "MaxTRESMins=cpu=-1", "AssocMaxCpuMinutesPerJobLimit"},
};

/* What a job exceeds by itself it is told when it comes; with DenyOnLimit it is not taken, also for
 * what counts for all together. Others that run there are no reason to refuse it. */
static const struct {
    const char *on, *limit;
    bool refused;
} alone[] = {
    {"qos test", "GrpTRES=cpu=3", true},
    {"qos test", "GrpTRES=cpu=4", false},
    {"qos test", "GrpTRES=billing=3", true},
    {"qos test", "MaxTRESPerUser=node=0", true},
    {"physics", "GrpTRES=mem=50", true},
    {"physics", "GrpJobs=0", true},
    {"qos test", "GrpTRESMins=cpu=39", true},
    {"qos test", "GrpTRESMins=cpu=40", false},
    {"physics", "GrpTRESRunMins=cpu=39", true},
    {"physics", "GrpWall=9", true},
    {"qos test", "GrpTRES=cpu=3@daily:20-8", false},
};

/* ---- how many there are --------------------------------------------------------------------- */

static const struct {
    const char *on, *limit, *second, *free_for;
} there[] = {
    {"physics", "GrpSubmitJobs=2", "bob:physics", "alice:chem"},
    {"physics", "MaxSubmitJobs=2", "alice:physics", "bob:physics"},
    {"physics/alice", "MaxSubmitJobs=2", "alice:physics", "alice:chem"},
    {"qos test", "GrpSubmitJobs=2", "bob:physics", NULL},
    {"qos test", "MaxSubmitJobsPerUser=2", "alice:chem", "bob:physics"},
    {"qos test", "MaxSubmitJobsPerAccount=2", "bob:physics", "alice:chem"},
};

/* ---- choosing ---- */

static inline void refused(const char *account, const char *qos, enum refusal why,
                           const char *names)
{
    assert_int_equal(submit(job_of(1, account, qos)), 0);
    assert_int_equal(refusal(), why);
    assert_non_null(strstr(answer()->detail, names));
}

#endif
