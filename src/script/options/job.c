/* Options that say what the job is: its name, who pays, how it is queued. */
#include "script/options/values.h"

#include "base/alloc.h"
#include "model/job/array.h"
#include "model/job/job_attributes.h"
#include "model/job/mail_type.h"
#include "model/limits.h"

#include <string.h>

JOB_SETTER(set_array)
{
    struct idset ids = IDSET_INIT;
    uint32_t limit;
    bool ok = array_parse(value, LIMIT_ARRAY_INDEX, &ids, &limit, ret_err);
    idset_done(&ids);
    return ok ? set_text(o, row, value, env, a, ret_err)
              : value_refused(row, value, ret_err, "Invalid job array specification");
}

/* Slurm passes over the empty words of a list. */
JOB_SETTER(set_partitions)
{
    struct span rest = span_of(value), name;
    const char *names = NULL;
    while (value && span_next(&rest, ',', &name))
        if (name.len)
            names = names ? arena_printf(a, "%s,%.*s", names, (int)name.len, name.data)
                          : arena_strndup(a, name.data, name.len);
    return set_text(o, row, names ? names : value, env, a, ret_err);
}

JOB_SETTER(set_nice)
{
    int64_t nice = 100;
    if (!text_empty(value) && !value_number(row, value, -LIMIT_NICE, LIMIT_NICE, &nice, ret_err))
        return value_lead(row, value, ret_err, "a whole number is allowed",
                          "Invalid --nice value, out of range (+/- %d)", LIMIT_NICE);
    o->spec.nice = (int32_t)nice;
    return true;
}

JOB_SETTER(set_priority)
{
    int64_t priority = PRIORITY_TOP;
    if (!text_is_nocase(value, "TOP") &&
        !value_number(row, value, 0, PRIORITY_TOP, &priority, ret_err))
        return value_lead(row, value, ret_err, "a whole number below 4294967294 is allowed, or TOP",
                          "Priority must be %s", value[0] == '-' ? ">= 0" : "< 4294967294");
    o->spec.hold = o->spec.hold || priority == 0;
    o->spec.priority_asked = (uint64_t)priority;
    return true;
}

JOB_SETTER(set_requeue)
{
    o->spec.requeue = YES;
    return true;
}

JOB_SETTER(set_no_requeue)
{
    o->spec.requeue = NO;
    return true;
}

/* -k, --no-kill[=off]; SBATCH_NO_KILL may hold what enables a flag. */
JOB_SETTER(set_no_kill)
{
    bool off = text_is_nocase(value, "off") || text_is_nocase(value, "no");
    bool on = text_empty(value) || text_is_nocase(value, "set") || text_is_nocase(value, "yes") ||
              text_is(value, "1");
    if (!off && !on)
        return value_refuse(row, value, ret_err, "only \"off\" is allowed, attached");
    o->spec.no_kill = on;
    return true;
}

JOB_SETTER(set_mail_type)
{
    return mail_types_parse(value, &o->spec.mail_types) ||
           value_refuse(row, value, ret_err, MAIL_TYPE_WORDS " are allowed");
}

const struct option_row options_job[] = {
    {.name = "account",
     .letter = 'A',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("ACCOUNT"),
     .metavar = "name",
     .doc = "charge the job to this account",
     .set = set_text,
     .at = AT(spec.req.account)},
    {.name = "array",
     .letter = 'a',
     .arg = ARG_REQUIRED,
     .commands = CMD_SBATCH,
     .env = {"SBATCH_ARRAY_INX"},
     .metavar = "indexes",
     .doc = "a job for each index: 0-15:4,20%5 (%5: five at once)",
     .set = set_array,
     .at = AT(spec.array)},
    {.name = "comment",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "text",
     .doc = "a comment kept with the job",
     .set = set_text,
     .at = AT(spec.comment)},
    {.name = "extra",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "text",
     .doc = "free text kept with the job",
     .set = set_text,
     .at = AT(spec.extra)},
    {.name = "hold",
     .letter = 'H',
     .arg = ARG_NONE,
     .commands = CMD_ALL,
     .doc = "submit held; scontrol release lets it go",
     .set = set_flag,
     .at = AT(spec.hold)},
    {.name = "job-name",
     .letter = 'J',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = {"SBATCH_JOB_NAME", "SALLOC_JOB_NAME", "SLURM_JOB_NAME"},
     .metavar = "name",
     .doc = "name of the job",
     .set = set_text,
     .at = AT(spec.name)},
    {.name = "licenses",
     .letter = 'L',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "names",
     .doc = "licences: name[:count],…",
     .set = set_text,
     .at = AT(spec.req.licenses),
     .component = true},
    {.name = "mail-type",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "types",
     .doc = "mail at BEGIN, END, FAIL, REQUEUE, TIME_LIMIT …, ALL or NONE",
     .set = set_mail_type},
    {.name = "mail-user",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "user",
     .doc = "who gets the mail",
     .set = set_text,
     .at = AT(spec.mail_user)},
    {.name = "nice",
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .metavar = "n",
     .doc = "lower the priority by n (100)",
     .set = set_nice},
    {.name = "no-kill",
     .letter = 'k',
     .arg = ARG_OPTIONAL,
     .commands = CMD_ALL,
     .env = ENV3("NO_KILL"),
     .metavar = "off",
     .doc = "go on when one of the job's nodes fails",
     .set = set_no_kill},
    {.name = "no-requeue",
     .arg = ARG_NONE,
     .commands = CMD_SBATCH,
     .env = {"SBATCH_NO_REQUEUE"},
     .doc = "never put the job back into the queue",
     .set = set_no_requeue,
     .rival = "requeue"},
    {.name = "partition",
     .letter = 'p',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("PARTITION"),
     .metavar = "names",
     .doc = "partitions the job may run in",
     .set = set_partitions,
     .at = AT(spec.req.partition),
     .component = true},
    {.name = "priority",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .metavar = "n",
     .doc = "priority (operators); TOP = first of all",
     .set = set_priority},
    {.name = "qos",
     .letter = 'q',
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("QOS"),
     .metavar = "name",
     .doc = "quality of service",
     .set = set_text,
     .at = AT(spec.req.qos)},
    {.name = "requeue",
     .arg = ARG_NONE,
     .commands = CMD_SBATCH,
     .env = {"SBATCH_REQUEUE"},
     .doc = "put the job back into the queue when a node fails or it is preempted",
     .set = set_requeue,
     .rival = "no-requeue",
     .newer = "expedite"},
    {.name = "reservation",
     .arg = ARG_REQUIRED,
     .commands = CMD_ALL,
     .env = ENV3("RESERVATION"),
     .metavar = "names",
     .doc = "run in this reservation",
     .set = set_text,
     .at = AT(spec.req.reservation)},
#define X(member, name_, letter_, header_, width_, json_, metavar_, doc_)                          \
    {.name = json_,                                                                                \
     .arg = ARG_REQUIRED,                                                                          \
     .commands = CMD_ALL,                                                                          \
     .env = ENV3(header_),                                                                         \
     .metavar = metavar_,                                                                          \
     .doc = doc_,                                                                                  \
     .set = set_text,                                                                              \
     .at = AT(spec.member)},
    JOB_ATTRIBUTES(X)
#undef X
};
const size_t options_job_n = ARRAY_LEN(options_job);
