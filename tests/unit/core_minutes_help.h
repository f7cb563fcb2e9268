/* Accounts whose minutes are bounded, and jobs that use them up. */
#ifndef REMUDA_TESTS_CORE_MINUTES_HELP_H
#define REMUDA_TESTS_CORE_MINUTES_HELP_H

#include "core_tree.h"

#include "base/alloc.h"

#include <stdlib.h>

#define MINUTES_OF(enforce, more)                                                                  \
    CONF "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\nAccountingStorageEnforce=" enforce        \
         "\n" more
#define SAFE MINUTES_OF("safe,qos", "")

static inline void minutes_open(const char *conf)
{
    world_open(conf, 4);
    the_tree();
    am_alice();
}

static inline struct job_spec job_for(int32_t cpus, int64_t minutes, const char *account,
                                      const char *qos)
{
    struct job_spec s = job_of(cpus, account, qos);
    s.req.time_limit_us = minutes * MIN;
    return s;
}

static const char *waits_for(uint64_t id)
{
    assert_int_equal(state(id), JOB_PENDING);
    return enum_name(&job_reason_names, job(id)->reason);
}

/* ---- each of them --------------------------------------------------------------------------- */

/* Two jobs of 4 CPUs and 10 minutes: the limit lets one of them run. With `safe` the first takes its
 * whole time from what may be used; what it did not use is there again when it has ended. */
static const struct {
    const char *on, *limit, *lifted, *word;
    const char *free_for; /* who is not concerned */
} cases[] = {
    {"physics", "GrpTRESMins=cpu=60", "GrpTRESMins=cpu=-1", "AssocGrpCPUMinutesLimit", "chem"},
    {"physics/alice", "GrpTRESMins=node=15", "GrpTRESMins=node=-1", "AssocGrpNodeMinutes", "chem"},
    {"root", "GrpTRESMins=billing=60", "GrpTRESMins=billing=-1", "AssocGrpBillingMinutes", NULL},
    {"qos test", "GrpTRESMins=cpu=60", "GrpTRESMins=cpu=-1", "QOSGrpCPUMinutesLimit", NULL},
    {"physics", "GrpWall=15", "GrpWall=-1", "AssocGrpWallLimit", "chem"},
    {"qos test", "GrpWall=15", "GrpWall=-1", "QOSGrpWallLimit", NULL},
    {"physics", "GrpTRESRunMins=cpu=60", "GrpTRESRunMins=cpu=-1", "AssocGrpCPURunMinutesLimit",
     "chem"},
    {"qos test", "GrpTRESRunMins=cpu=60", "GrpTRESRunMins=cpu=-1", "QOSGrpCPURunMinutesLimit",
     NULL},
    {"qos test", "MaxTRESRunMinsPerUser=cpu=60", "MaxTRESRunMinsPerUser=cpu=-1",
     "QOSGrpCPURunMinutesLimit", NULL},
    {"qos test", "MaxTRESRunMinsPerAccount=cpu=60", "MaxTRESRunMinsPerAccount=cpu=-1",
     "QOSGrpCPURunMinutesLimit", "chem"},
};

/* Of licences: who asks for none is not concerned. */
static const struct {
    const char *on, *limit, *lifted, *word;
} licences[] = {
    {"physics", "GrpTRESMins=license/matlab=30", "GrpTRESMins=license/matlab=-1",
     "AssocGrpLicenseMinutes"},
    {"physics", "GrpTRESRunMins=license/matlab=30", "GrpTRESRunMins=license/matlab=-1",
     "AssocGrpLicenseRunMinutes"},
    {"qos test", "GrpTRESMins=license/matlab=30", "GrpTRESMins=license/matlab=-1",
     "QOSGrpLicenseMinutes"},
    {"qos test", "MaxTRESRunMinsPerUser=license/matlab=30",
     "MaxTRESRunMinsPerUser=license/matlab=-1", "QOSGrpLicenseRunMinutes"},
};

#endif
