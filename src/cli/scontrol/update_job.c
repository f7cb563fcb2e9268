/* scontrol update JobId=…: a row a key. What is more than a field taking its value has a setter. */
#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/scontrol/update.h"
#include "cli/submit/host.h"
#include "cli/table/listing.h"
#include "model/job/job_attributes.h"
#include "model/job/mail_type.h"
#include "model/limits.h"
#include "model/settings/settings_value.h"

#include <stdio.h>
#include <string.h>

/* A new name, or which jobs are meant where no JobId= is given. */
static bool job_name(struct update_change *c, const char *value, struct err *ret_err)
{
    if (c->by_name && !c->job.ids) {
        c->job.ids = arena_printf(c->s->a, "name=%s", value);
        return !text_empty(value) || err_set(ret_err, ERR_INVALID, "the name is missing");
    }
    c->spec.name = text_empty(value) ? NULL : value;
    return update_field(c, "name");
}

static bool job_user(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!c->by_name)
        fputs("scontrol: UserID= has no effect beside JobId=\n", stderr);
    return listing_uids(value, c->s->a, &c->uids, ret_err);
}

static bool job_mail_type(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!mail_types_parse(value, &c->spec.mail_types)) {
        scontrol_refuse(c->s, "Invalid MailType: %s", value);
        return err_set(ret_err, ERR_INVALID, MAIL_TYPE_WORDS " are known");
    }
    return update_field(c, "mail_types");
}

static bool job_core_spec(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!update_number(value, &c->spec.req.core_spec, ret_err))
        return false;
    if (c->spec.req.core_spec == INT32_MAX) /* it is kept as one more */
        return err_set(ret_err, ERR_INVALID, "no node has %s cores", value);
    c->spec.req.core_spec++;
    return update_field(c, "core_spec");
}

/* Switches=2, Switches=2@60: so many, and how long to wait for so few. */
static bool job_switches(struct update_change *c, const char *value, struct err *ret_err)
{
    const char *at = strchr(value, '@');
    const char *count = at ? arena_strndup(c->s->a, value, (size_t)(at - value)) : value;
    if (!update_number(count, &c->spec.req.switches, ret_err))
        return false;
    if (at && (!duration_parse(at + 1, &c->spec.req.switches_wait_us, ret_err) ||
               !update_field(c, "switches_wait_us")))
        return false;
    return update_field(c, "switches");
}

static bool job_switch_wait(struct update_change *c, const char *value, struct err *ret_err)
{
    int32_t seconds = 0;
    if (!update_number(value, &seconds, ret_err))
        return false;
    c->spec.req.switches_wait_us = seconds * USEC_PER_SEC;
    return update_field(c, "switches_wait_us");
}

/* 4, 4k (times 1024), 2m */
static bool number_k_parse(const char *text, size_t len, int32_t *ret)
{
    char digits[16];
    int64_t n, factor = 1;
    if (len && (text[len - 1] == 'k' || text[len - 1] == 'K'))
        factor = 1024;
    else if (len && (text[len - 1] == 'm' || text[len - 1] == 'M'))
        factor = INT64_C(1024) * 1024;
    len -= factor > 1;
    if (len >= sizeof digits)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    if (!text_to_i64(digits, 0, INT32_MAX / factor, &n))
        return false;
    *ret = (int32_t)(n * factor);
    return true;
}

static bool node_count_parse(const char *value, int32_t *ret_min, int32_t *ret_max,
                             struct err *ret_err)
{
    const char *dash = strchr(value, '-');
    size_t len = dash ? (size_t)(dash - value) : strlen(value);
    bool ok = number_k_parse(value, len, ret_min) &&
              (!dash || number_k_parse(dash + 1, strlen(dash + 1), ret_max));
    if (!dash)
        *ret_max = *ret_min;
    return ok || err_set(ret_err, ERR_INVALID,
                         "Invalid numeric value \"%s\" for requested node count.", value);
}

/* In Slurm's words of the job that is named. */
static bool job_refuse(struct update_change *c, const char *sentence, const char *more,
                       struct err *ret_err)
{
    scontrol_refuse(c->s, "%s for job %s", sentence, c->job.ids ? c->job.ids : "");
    return err_set(ret_err, ERR_INVALID, "%s", more);
}

/* NumNodes=2, 2-4, 2k; ALL of a running job: what it has. Of one that runs it is how many stay. */
static bool job_nodes(struct update_change *c, const char *value, struct err *ret_err)
{
    struct job_request *q = &c->spec.req;
    c->resizes = true;
    if (text_is_nocase(value, "ALL"))
        return update_field(c, "min_nodes,max_nodes,node_sizes");
    if (!node_count_parse(value, &q->min_nodes, &q->max_nodes, ret_err))
        return false;
    if (!q->min_nodes)
        return job_refuse(c, "Node count specification invalid", "a job has one node at least",
                          ret_err);
    return update_field(c, "min_nodes,max_nodes,node_sizes");
}

static bool job_partition_name(struct update_change *c, const char *value, struct err *ret_err)
{
    c->spec.req.partition = value;
    return text_empty(value) ? job_refuse(c, "Invalid partition name specified",
                                          "a job is always of one: its name is missing", ret_err)
                             : update_field(c, "partition");
}

static bool job_tasks(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!update_number(value, &c->spec.req.ntasks, ret_err))
        return scontrol_fail(c->s, "Invalid NumTasks value: %s", value), false;
    return c->spec.req.ntasks ? update_field(c, "ntasks")
                              : job_refuse(c, "Task count specification invalid",
                                           "a job has one task at least", ret_err);
}

static bool job_node_list(struct update_change *c, const char *value, struct err *ret_err)
{
    c->resizes = true;
    c->spec.req.nodelist = text_empty(value) ? NULL : value;
    return update_field(c, "nodelist");
}

/* A directory as the shell that scontrol was typed in means it. */
static bool job_work_dir(struct update_change *c, const char *value, struct err *ret_err)
{
    const char *cwd = value[0] == '/' ? "" : submit_cwd(c->s->a, ret_err);
    if (!cwd)
        return false;
    c->spec.work_dir = text_empty(value) ? NULL
                       : value[0] == '/' ? value
                                         : arena_printf(c->s->a, "%s/%s", cwd, value);
    return update_field(c, "work_dir");
}

/* NumCPUs=4, NumCPUs=4-8: the tasks that have so many. */
static bool job_cpus(struct update_change *c, const char *value, struct err *ret_err)
{
    const char *dash = strchr(value, '-');
    const char *low = dash ? arena_strndup(c->s->a, value, (size_t)(dash - value)) : value;
    int32_t most = INT32_MAX;
    if (!update_number(low, &c->cpus, ret_err) ||
        (dash && !update_number(dash + 1, &most, ret_err))) {
        scontrol_fail(c->s, "Invalid numeric value \"%s\" for NumCPUs.", value);
        return false;
    }
    if (!c->cpus)
        return err_set(ret_err, ERR_INVALID, "Invalid number: a job has one CPU at least");
    if (most < c->cpus)
        return err_set(ret_err, ERR_INVALID, "the lower number comes first: NumCPUs=%d-%d", most,
                       c->cpus);
    if (most > c->cpus && dash && !c->s->quiet)
        fprintf(stderr, "scontrol: NumCPUs=%s: it asks for %d; the larger number has no effect\n",
                value, c->cpus);
    return update_field(c, "ntasks");
}

struct per_task {
    int32_t cpus; /* 0 = no job yet */
    bool differ;
};

static void per_task_note(void *ctx, const void *record)
{
    struct per_task *p = ctx;
    const struct job *j = record;
    int32_t cpus = j->spec.req.cpus_per_task > 0 ? j->spec.req.cpus_per_task : 1;
    p->differ |= p->cpus && p->cpus != cpus;
    p->cpus = cpus;
}

bool update_job_cpus(struct update_change *c, struct err *ret_err)
{
    struct msg_query q = {
        .what = QUERY_JOBS, .ids = c->job.ids, .states = "all", .fields = "cpus_per_task"};
    struct per_task each = {0};
    struct msg_done done = {0};
    bool given = listing_has(c->fields, "cpus_per_task");
    struct client *client = given ? NULL : scontrol_connect(c->s, "slurm_update error");
    if (given)
        each.cpus = c->spec.req.cpus_per_task;
    else if (!client)
        return false;
    else if (!client_query(client, &q, &job_fields, c->s->a, per_task_note, &each, &done, NULL))
        each.cpus = 1; /* of none that is known, which the update says */
    each.cpus = each.cpus > 0 ? each.cpus : 1;
    if (each.differ)
        return err_set(ret_err, ERR_INVALID,
                       "the tasks of these jobs have different numbers of CPUs: NumTasks= says it");
    int32_t less = c->cpus / each.cpus * each.cpus;
    if (less < c->cpus)
        return err_set(
            ret_err, ERR_INVALID,
            "Invalid NumCPUs value: %d; each of its tasks has %d CPUs: %d is the nearest", c->cpus,
            each.cpus, less ? less : each.cpus);
    c->spec.req.ntasks = c->cpus / each.cpus;
    return true;
}

/* TimeLimit=1:00:00, TimeLimit=+30, TimeLimit+=30, TimeLimit-=10 */
static bool job_limit(struct update_change *c, const char *value, struct err *ret_err)
{
    int64_t us = 0;
    bool before = value[0] == '+' || value[0] == '-';
    char sign = before ? value[0] : c->sign;
    c->sign = '\0';
    if (sign) {
        if (!duration_parse(value + before, &us, ret_err))
            return false;
        c->job.time_limit_add_us = sign == '+' ? us : -us;
        return true;
    }
    if (!duration_parse(value, &us, ret_err))
        return false;
    c->spec.req.time_limit_us = us ? us : TIME_UNLIMITED;
    return update_field(c, "time_limit_us");
}

static bool job_end_time(struct update_change *c, const char *value, struct err *ret_err)
{
    return civil_parse(value, time_now_us(), &civil_local, true, &c->job.end_us, ret_err);
}

/* What is added to a priority or taken off it; "" is 0. */
static bool factor_read(struct update_change *c, const char *key, const char *value, int32_t *ret,
                        struct err *ret_err)
{
    int64_t n = 0;
    bool number = text_empty(value) || text_to_i64(value, INT64_MIN, INT64_MAX, &n);
    if (number && n >= -LIMIT_NICE && n <= LIMIT_NICE) {
        *ret = (int32_t)n;
        return true;
    }
    if (number)
        scontrol_fail(c->s, "%s value out of range (+/- %d). Value ignored", key, LIMIT_NICE);
    return err_set(ret_err, ERR_INVALID, "a number from -%d to %d is expected, not \"%.40s\"",
                   LIMIT_NICE, LIMIT_NICE, value);
}

static bool job_site_factor(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!factor_read(c, "SiteFactor", value, &c->spec.site_factor, ret_err))
        return false;
    return update_field(c, "site_factor");
}

/* 0 is all memory of each node, as with --mem and --mem-per-cpu. */
static bool memory_read(struct update_change *c, const char *value, int64_t *mib,
                        struct err *ret_err)
{
    if (!size_parse_mib(value, mib, ret_err))
        return false;
    if (*mib == 0)
        c->spec.req.mem_per_node_mib = MEM_ALL;
    return update_field(c, "mem_per_node_mib,mem_per_cpu_mib");
}

static bool job_memory_of_node(struct update_change *c, const char *value, struct err *ret_err)
{
    return memory_read(c, value, &c->spec.req.mem_per_node_mib, ret_err);
}

static bool job_memory_of_cpu(struct update_change *c, const char *value, struct err *ret_err)
{
    return memory_read(c, value, &c->spec.req.mem_per_cpu_mib, ret_err);
}

static bool job_nice(struct update_change *c, const char *value, struct err *ret_err)
{
    return factor_read(c, "Nice", value, &c->spec.nice, ret_err) && update_field(c, "nice");
}

/* Priority=0 holds, as in Slurm. */
static bool job_priority(struct update_change *c, const char *value, struct err *ret_err)
{
    if (!text_to_u64(value, UINT32_MAX, &c->spec.priority_asked))
        return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%s\"", value);
    c->spec.hold = c->spec.priority_asked == 0;
    return update_field(c, "priority_asked,hold");
}

static bool job_requeue(struct update_change *c, const char *value, struct err *ret_err)
{
    bool yes;
    if (!setting_parse_bool(value, &yes, ret_err))
        return false;
    c->spec.requeue = yes ? YES : NO;
    return update_field(c, "requeue");
}

static bool job_oversubscribe(struct update_change *c, const char *value, struct err *ret_err)
{
    bool shares;
    if (!setting_parse_bool(value, &shares, ret_err))
        return false;
    c->spec.req.oversubscribe = shares;
    c->spec.req.exclusive = shares ? EXCLUSIVE_UNSET : EXCLUSIVE_NODE;
    return update_field(c, "oversubscribe,exclusive");
}

static bool job_shared(struct update_change *c, const char *value, struct err *ret_err)
{
    if (job_oversubscribe(c, value, ret_err))
        return true;
    scontrol_fail(c->s, "Invalid OverSubscribe value: %s", value);
    return false;
}

static bool job_admin_comment(struct update_change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->job.admin_comment = value;
    return true;
}

static bool job_throttle(struct update_change *c, const char *value, struct err *ret_err)
{
    int32_t n = 0;
    if (!update_number(value, &n, ret_err))
        return false;
    c->job.array_limit_plus1 = (uint32_t)n + 1;
    return true;
}

static bool job_ids(struct update_change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->job.ids = listing_join(c->job.ids, value, c->s->a);
    return true;
}

static const struct update_key keys[] = {
    {"JobId", job_ids, SAID_NOTHING, NULL},
    {"UserID", job_user, SAID_NOTHING, NULL},
    {"Account", NULL, SAID_NOTHING, "account"},
    {"AdminComment", job_admin_comment, SAID_NOTHING, NULL},
    {"ArrayTaskThrottle", job_throttle, SAID_KEY, NULL},
    {"BurstBuffer", NULL, SAID_NOTHING, NULL},
    {"Clusters", NULL, SAID_NOTHING, NULL},
    {"ClusterFeatures", NULL, SAID_NOTHING, NULL},
    {"Comment", NULL, SAID_NOTHING, "comment"},
    {"Contiguous", NULL, SAID_VALUE, "contiguous"},
    {"CoreSpec", job_core_spec, SAID_VALUE, NULL},
    {"CPUs/Task", NULL, SAID_NOTHING, "cpus_per_task"},
    {"CPUsPerTask", NULL, SAID_VALUE, "cpus_per_task"},
    {"Deadline", NULL, SAID_TIME, "deadline_us"},
    {"DelayBoot", NULL, SAID_KEY, "delay_boot_us"},
    {"Dependency", NULL, SAID_NOTHING, "dependency"},
    {"EligibleTime", NULL, SAID_TIME, "begin_us"},
    {"EndTime", job_end_time, SAID_TIME, NULL},
    {"ExcNodeList", NULL, SAID_NOTHING, "exclude"},
    {"Extra", NULL, SAID_NOTHING, "extra"},
    {"Features", NULL, SAID_NOTHING, "constraint"},
    {"Gres", update_job_gres, SAID_NOTHING, NULL},
    {"JobName", job_name, SAID_NOTHING, NULL},
    {"Name", job_name, SAID_NOTHING, NULL},
    {"Licenses", NULL, SAID_NOTHING, "licenses"},
    {"IRequeue", job_requeue, SAID_NOTHING, NULL},
    {"MailType", job_mail_type, SAID_NOTHING, NULL},
    {"MailUser", NULL, SAID_NOTHING, "mail_user"},
    {"MCSLabel", NULL, SAID_NOTHING, NULL},
    {"MinCPUsNode", NULL, SAID_VALUE, "min_cpus_per_node"},
    {"MinMemoryCPU", job_memory_of_cpu, SAID_VALUE, NULL},
    {"MinMemoryNode", job_memory_of_node, SAID_VALUE, NULL},
    {"MinTmpDiskNode", NULL, SAID_VALUE, "tmp_disk_mib"},
    {"Nice", job_nice, SAID_NOTHING, NULL},
    {"SiteFactor", job_site_factor, SAID_NOTHING, NULL},
    {"Network", NULL, SAID_NOTHING, NULL},
    {"NodeList", job_node_list, SAID_NOTHING, NULL},
    {"TasksPerNode", NULL, SAID_VALUE, "ntasks_per_node"},
    {"NumCPUs", job_cpus, SAID_VALUE, NULL},
    {"NumNodes", job_nodes, SAID_NOTHING, NULL},
    {"NumTasks", job_tasks, SAID_NOTHING, NULL},
    {"OverSubscribe", job_oversubscribe, SAID_VALUE, NULL},
    {"Shared", job_shared, SAID_NOTHING, NULL},
    {"Partition", job_partition_name, SAID_NOTHING, NULL},
    {"Prefer", NULL, SAID_NOTHING, "prefer"},
    {"Priority", job_priority, SAID_VALUE, NULL},
    {"QOS", NULL, SAID_NOTHING, "qos"},
    {"ReqNodeList", job_node_list, SAID_NOTHING, NULL},
    {"ReqNodes", job_nodes, SAID_NOTHING, NULL},
    {"ReqCPUs", job_cpus, SAID_NOTHING, NULL},
    {"ReqCores", NULL, SAID_VALUE, "cores_per_socket"},
    {"ReqProcs", NULL, SAID_NOTHING, "ntasks"},
    {"ReqSockets", NULL, SAID_VALUE, "sockets_per_node"},
    {"ReqThreads", NULL, SAID_VALUE, "threads_per_core"},
    {"reboot", NULL, SAID_VALUE, "reboot"},
    {"Requeue", job_requeue, SAID_VALUE, NULL},
    {"ReservationName", NULL, SAID_NOTHING, "reservation"},
    {"StartTime", NULL, SAID_TIME, "begin_us"},
    {"StdErr", NULL, SAID_NOTHING, "std_err"},
    {"StdIn", NULL, SAID_NOTHING, "std_in"},
    {"StdOut", NULL, SAID_NOTHING, "std_out"},
    {"Switches", job_switches, SAID_NOTHING, NULL},
    {"wait-for-switch", job_switch_wait, SAID_VALUE, NULL},
    {"ThreadSpec", NULL, SAID_NOTHING, NULL},
    {"TimeLimit", job_limit, SAID_KEY, NULL},
    {"TimeMin", NULL, SAID_KEY, "time_min_us"},
    {"CpusPerTres", update_job_cpus_per_gpu, SAID_NOTHING, NULL},
    {"MemPerTres", update_job_mem_per_gpu, SAID_NOTHING, NULL},
    {"TresPerJob", update_job_gpus, SAID_NOTHING, NULL},
    {"TresPerNode", update_job_gres, SAID_NOTHING, NULL},
    {"TresPerSocket", update_job_gpus_per_socket, SAID_NOTHING, NULL},
    {"TresPerTask", update_job_gpus_per_task, SAID_NOTHING, NULL},
    {"WorkDir", job_work_dir, SAID_NOTHING, NULL},
#define X(member, name, ...) {name, NULL, SAID_NOTHING, #member},
    JOB_ATTRIBUTES(X)
#undef X
};
const struct key_table update_job_keys = {keys, ARRAY_LEN(keys), &job_spec_fields,
                                          offsetof(struct update_change, spec)};
