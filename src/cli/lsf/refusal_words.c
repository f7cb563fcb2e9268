#include "cli/lsf/refusal_words.h"

#include "base/alloc.h"
#include "model/refusal.h"

#include <string.h>

#define TOO_MANY      "Too many processors requested"
#define BAD_RESOURCES "Bad resource requirement syntax"

static const struct {
    enum refusal refusal;
    const char *words;
    bool of_queue; /* "QUEUE: WORDS" */
} refusal_words[] = {
    {REFUSE_INVALID_PARTITION, "No such queue", true},
    {REFUSE_PARTITION_ACCESS, "User cannot use the queue", true},
    {REFUSE_PARTITION_DOWN, "Queue has been closed", true},
    {REFUSE_TIME_LIMIT, "RUNLIMIT: Cannot exceed queue's hard limit(s)", false},
    {REFUSE_MEMORY, "MEMLIMIT: Cannot exceed queue's hard limit(s)", false},
    {REFUSE_NODE_MEMORY, "MEMLIMIT: Cannot exceed queue's hard limit(s)", false},
    {REFUSE_PARTITION_LIMIT, "Over some limit for queue", false},
    {REFUSE_INVALID_ARRAY, "Job array index too large", false},
    {REFUSE_TOO_MANY_CPUS, TOO_MANY, false},
    {REFUSE_NODE_CPUS, TOO_MANY, false},
    {REFUSE_NODE_CONFIG, TOO_MANY, false},
    {REFUSE_INVALID_CPU_COUNT, TOO_MANY, false},
    {REFUSE_INVALID_TASK_COUNT, TOO_MANY, false},
    {REFUSE_INVALID_NODE_COUNT, TOO_MANY, false},
    {REFUSE_GRES, BAD_RESOURCES, false},
    {REFUSE_FEATURE, BAD_RESOURCES, false},
    {REFUSE_LICENSES, BAD_RESOURCES, false},
    {REFUSE_NODE_DISK, BAD_RESOURCES, false},
    {REFUSE_NODE_SOCKETS, BAD_RESOURCES, false},
    {REFUSE_INVALID_NODE, "Bad host name, host group name or cluster name", false},
    {REFUSE_BEGIN_TIME, "Bad time specification", false},
    {REFUSE_DEPENDENCY, "Dependency condition syntax error", false},
    {REFUSE_ACCESS_DENIED, "User permission denied", false},
    {REFUSE_ACCOUNT, "User permission denied", false},
    {REFUSE_QOS, "User permission denied", false},
    {REFUSE_WCKEY, "User permission denied", false},
    {REFUSE_RESERVATION_ACCESS, "User permission denied", false},
};

/* Nodes may have the processors and lack these. */
static bool has_devices(const struct job_request *q)
{
    return !text_empty(q->gres) || !text_empty(q->gpus) || !text_empty(q->gpus_per_node) ||
           !text_empty(q->gpus_per_task) || !text_empty(q->gpus_per_socket);
}

/* "12: No matching job found", of what the controller says of a job that it does not know. */
static const char *dependency_words(const char *detail, struct arena *a)
{
    static const char job[] = "job ", unequal[] = "Dependent arrays do not have the same size";
    if (text_empty(detail))
        return NULL;
    if (text_starts(detail, unequal))
        return unequal;
    size_t digits = text_starts(detail, job) ? strspn(detail + sizeof job - 1, "0123456789") : 0;
    return digits && text_starts(detail + sizeof job - 1 + digits, " is not known")
               ? arena_printf(a, "%.*s: No matching job found", (int)digits,
                              detail + sizeof job - 1)
               : NULL;
}

const char *lsf_refusal_words(const struct job_request *q, const struct msg_done *m,
                              struct arena *a)
{
    enum refusal r = (enum refusal)m->refusal;
    if (r == REFUSE_NODE_CONFIG && has_devices(q))
        return BAD_RESOURCES;
    const char *dependency = r == REFUSE_DEPENDENCY ? dependency_words(m->detail, a) : NULL;
    if (dependency)
        return dependency;
    for (size_t i = 0; i < ARRAY_LEN(refusal_words); i++)
        if (refusal_words[i].refusal == r)
            return refusal_words[i].of_queue && q->partition
                       ? arena_printf(a, "%s: %s", q->partition, refusal_words[i].words)
                       : refusal_words[i].words;
    return refusal_text(r);
}

/* Of an element that has this said of it, the others can be what was asked for. One that runs is
 * not suspended; of one that is, but not by a person, it is said why it stays so. */
static bool is_of_its_state(const struct result *of)
{
    enum refusal r = (enum refusal)of->refusal;
    return r == REFUSE_ALREADY_DONE || r == REFUSE_JOB_FINISHED || r == REFUSE_JOB_PENDING ||
           r == REFUSE_NOT_RUNNING || (r == REFUSE_NOT_SUSPENDED && text_empty(of->detail));
}

const struct result *lsf_result_failed(const struct msg_done *m)
{
    const struct result *result = m->results.v;
    for (size_t i = 0; i < m->results.n; i++)
        if (!m->count || !is_of_its_state(&result[i]))
            return &result[i];
    return NULL;
}
