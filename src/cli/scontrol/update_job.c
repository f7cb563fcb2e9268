/* scontrol update JobId=…: one setter a key. */
#include "base/alloc.h"
#include "base/civil.h"
#include "base/duration.h"
#include "cli/program/localtime.h"
#include "cli/scontrol/update.h"
#include "cli/table/listing.h"
#include "model/gres.h"
#include "model/mail_type.h"
#include "model/settings_value.h"

#include <stdio.h>
#include <string.h>

// clang-format off
#define JOB_TEXT(key, member, name)                                                                          \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)                          \
    {                                                                                                        \
        (void)ret_err;                                                                                       \
        c->spec.member = text_empty(value) ? NULL : value;                                                   \
        return update_field(c, name);                                                                        \
    }
// clang-format on
#define JOB_NUMBER(key, member, name)                                                                        \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)                          \
    {                                                                                                        \
        return update_number(value, &c->spec.member, ret_err) && update_field(c, name);                      \
    }
#define JOB_MIB(key, member, name)                                                                           \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)                          \
    {                                                                                                        \
        return size_parse_mib(value, &c->spec.member, ret_err) && update_field(c, name);                     \
    }
// clang-format off
#define JOB_TIME(key, member, name)                                                                          \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)                          \
    {                                                                                                        \
        return civil_parse(value, time_now_us(), &civil_local, true, &c->spec.member, ret_err) &&            \
               update_field(c, name);                                                                        \
    }
// clang-format on

JOB_TEXT(comment, comment, "comment")
JOB_TEXT(account, req.account, "account")
JOB_TEXT(qos, req.qos, "qos")
JOB_TEXT(partition, req.partition, "partition")
JOB_TEXT(reservations, req.reservation, "reservation")
JOB_TEXT(features, req.constraint, "constraint")
JOB_TEXT(prefer, req.prefer, "prefer")
JOB_TEXT(nodelist, req.nodelist, "nodelist")
JOB_TEXT(exclude, req.exclude, "exclude")
JOB_TEXT(licenses, req.licenses, "licenses")
JOB_TEXT(dependency, dependency, "dependency")
JOB_TEXT(wckey, wckey, "wckey")
JOB_TEXT(work_dir, work_dir, "work_dir")
JOB_TEXT(std_out, std_out, "std_out")
JOB_TEXT(std_err, std_err, "std_err")
JOB_TEXT(std_in, std_in, "std_in")
JOB_TEXT(mail_user, mail_user, "mail_user")
JOB_TEXT(extra, extra, "extra")
JOB_NUMBER(tasks, req.ntasks, "ntasks")
JOB_NUMBER(cpus_per_task, req.cpus_per_task, "cpus_per_task")
JOB_NUMBER(per_node, req.ntasks_per_node, "ntasks_per_node")
JOB_NUMBER(min_cpus_node, req.min_cpus_per_node, "min_cpus_per_node")
JOB_NUMBER(cores, req.cores_per_socket, "cores_per_socket")
JOB_NUMBER(sockets, req.sockets_per_node, "sockets_per_node")
JOB_NUMBER(threads, req.threads_per_core, "threads_per_core")
/* One of the two rules holds: the other is taken back. */
JOB_MIB(mem_node, req.mem_per_node_mib, "mem_per_node_mib,mem_per_cpu_mib")
JOB_MIB(mem_cpu, req.mem_per_cpu_mib, "mem_per_cpu_mib,mem_per_node_mib")
JOB_MIB(tmp_disk, req.tmp_disk_mib, "tmp_disk_mib")
JOB_TIME(start, begin_us, "begin_us")
JOB_TIME(deadline, deadline_us, "deadline_us")

/* A new name, or which jobs are meant where no JobId= is given. */
static bool job_name(struct change *c, const char *value, struct err *ret_err)
{
    if (c->by_name && !c->job.ids) {
        c->job.ids = arena_printf(c->s->a, "name=%s", value);
        return !text_empty(value) || err_set(ret_err, ERR_INVALID, "the name is missing");
    }
    c->spec.name = text_empty(value) ? NULL : value;
    return update_field(c, "name");
}

static bool job_user(struct change *c, const char *value, struct err *ret_err)
{
    if (!c->by_name)
        fputs("scontrol: UserID= has no effect beside JobId=\n", stderr);
    return listing_uids(value, c->s->a, &c->uids, ret_err);
}

static bool job_mail_type(struct change *c, const char *value, struct err *ret_err)
{
    if (!mail_types_parse(value, &c->spec.mail_types)) {
        scontrol_refuse(c->s, "Invalid MailType: %s", value);
        return err_set(ret_err, ERR_INVALID, MAIL_TYPE_WORDS " are known");
    }
    return update_field(c, "mail_types");
}

static bool job_core_spec(struct change *c, const char *value, struct err *ret_err)
{
    if (!update_number(value, &c->spec.req.core_spec, ret_err))
        return false;
    c->spec.req.core_spec++;
    return update_field(c, "core_spec");
}

static bool job_delay_boot(struct change *c, const char *value, struct err *ret_err)
{
    return duration_parse(value, &c->spec.delay_boot_us, ret_err) && update_field(c, "delay_boot_us");
}

static bool job_reboot(struct change *c, const char *value, struct err *ret_err)
{
    return setting_parse_bool(value, &c->spec.reboot, ret_err) && update_field(c, "reboot");
}

/* Switches=2, Switches=2@60: so many, and how long to wait for so few. */
static bool job_switches(struct change *c, const char *value, struct err *ret_err)
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

static bool job_switch_wait(struct change *c, const char *value, struct err *ret_err)
{
    int32_t seconds = 0;
    if (!update_number(value, &seconds, ret_err))
        return false;
    c->spec.req.switches_wait_us = seconds * USEC_PER_SEC;
    return update_field(c, "switches_wait_us");
}

static bool job_gres(struct change *c, const char *value, struct err *ret_err)
{
    bool ok = gres_last_counts(&value, NULL, c->s->a, ret_err);
    c->spec.req.gres = text_empty(value) ? NULL : value;
    return ok && update_field(c, "gres");
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

static bool node_count_parse(const char *value, int32_t *ret_min, int32_t *ret_max, struct err *ret_err)
{
    const char *dash = strchr(value, '-');
    size_t len = dash ? (size_t)(dash - value) : strlen(value);
    bool ok =
        number_k_parse(value, len, ret_min) && (!dash || number_k_parse(dash + 1, strlen(dash + 1), ret_max));
    if (!dash)
        *ret_max = *ret_min;
    return ok ||
           err_set(ret_err, ERR_INVALID, "Invalid numeric value \"%s\" for requested node count.", value);
}

/* NumNodes=2, 2-4, 2k; ALL of a running job: what it has. Of one that runs it is how many stay. */
static bool job_nodes(struct change *c, const char *value, struct err *ret_err)
{
    struct job_request *q = &c->spec.req;
    c->resizes = true;
    if (text_is_nocase(value, "ALL"))
        return update_field(c, "min_nodes,max_nodes,node_sizes");
    if (!node_count_parse(value, &q->min_nodes, &q->max_nodes, ret_err))
        return false;
    if (!q->min_nodes)
        return err_set(ret_err, ERR_INVALID, "Node count specification invalid");
    return update_field(c, "min_nodes,max_nodes,node_sizes");
}

static bool job_node_list(struct change *c, const char *value, struct err *ret_err)
{
    c->resizes = true;
    return job_nodelist(c, value, ret_err);
}

/* NumCPUs=4 of a job of one-CPU tasks: so many tasks. */
static bool job_cpus(struct change *c, const char *value, struct err *ret_err)
{
    const char *dash = strchr(value, '-');
    const char *low = dash ? arena_strndup(c->s->a, value, (size_t)(dash - value)) : value;
    return update_number(low, &c->spec.req.ntasks, ret_err) && update_field(c, "ntasks");
}

/* TimeLimit=1:00:00, TimeLimit=+30, TimeLimit+=30, TimeLimit-=10 */
static bool job_limit(struct change *c, const char *value, struct err *ret_err)
{
    int64_t us = 0;
    char sign = value[0];
    if (sign == '+' || sign == '-') {
        if (!duration_parse(value + 1, &us, ret_err))
            return false;
        c->job.time_limit_add_us = sign == '+' ? us : -us;
        return true;
    }
    if (!duration_parse(value, &us, ret_err))
        return false;
    c->spec.req.time_limit_us = us ? us : TIME_UNLIMITED;
    return update_field(c, "time_limit_us");
}

static bool job_time_min(struct change *c, const char *value, struct err *ret_err)
{
    return duration_parse(value, &c->spec.req.time_min_us, ret_err) && update_field(c, "time_min_us");
}

static bool job_end_time(struct change *c, const char *value, struct err *ret_err)
{
    return civil_parse(value, time_now_us(), &civil_local, true, &c->job.end_us, ret_err);
}

static bool job_site_factor(struct change *c, const char *value, struct err *ret_err)
{
    int64_t n;
    if (!text_to_i64(value, -INT32_MAX, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "SiteFactor= takes a whole number, not \"%.40s\"", value);
    c->spec.site_factor = (int32_t)n;
    return update_field(c, "site_factor");
}

static bool job_nice(struct change *c, const char *value, struct err *ret_err)
{
    int64_t n = 100;
    if (!text_empty(value) && !text_to_i64(value, -2147483645, 2147483645, &n))
        return err_set(ret_err, ERR_INVALID,
                       "a number from -2147483645 to 2147483645 is expected, not \"%s\"", value);
    c->spec.nice = (int32_t)n;
    return update_field(c, "nice");
}

/* Priority=0 holds, as in Slurm. */
static bool job_priority(struct change *c, const char *value, struct err *ret_err)
{
    if (!text_to_u64(value, UINT32_MAX, &c->spec.priority_asked))
        return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%s\"", value);
    c->spec.hold = c->spec.priority_asked == 0;
    return update_field(c, "priority_asked,hold");
}

static bool job_requeue(struct change *c, const char *value, struct err *ret_err)
{
    bool yes;
    if (!setting_parse_bool(value, &yes, ret_err))
        return false;
    c->spec.requeue = yes ? YES : NO;
    return update_field(c, "requeue");
}

static bool job_contiguous(struct change *c, const char *value, struct err *ret_err)
{
    return setting_parse_bool(value, &c->spec.req.contiguous, ret_err) && update_field(c, "contiguous");
}

static bool job_oversubscribe(struct change *c, const char *value, struct err *ret_err)
{
    bool shares;
    if (!setting_parse_bool(value, &shares, ret_err))
        return false;
    c->spec.req.oversubscribe = shares;
    c->spec.req.exclusive = shares ? EXCLUSIVE_UNSET : EXCLUSIVE_NODE;
    return update_field(c, "oversubscribe,exclusive");
}

static bool job_admin_comment(struct change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->job.admin_comment = value;
    return true;
}

static bool job_throttle(struct change *c, const char *value, struct err *ret_err)
{
    int32_t n = 0;
    if (!update_number(value, &n, ret_err))
        return false;
    c->job.array_limit_plus1 = (uint32_t)n + 1;
    return true;
}

static bool job_ids(struct change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->job.ids = listing_join(c->job.ids, value, c->s->a);
    return true;
}

const struct key update_job_keys[] = {
    {"JobId", job_ids, SAID_NOTHING},
    {"UserID", job_user, SAID_NOTHING},
    {"Account", job_account, SAID_NOTHING},
    {"AdminComment", job_admin_comment, SAID_NOTHING},
    {"ArrayTaskThrottle", job_throttle, SAID_NOTHING},
    {"BurstBuffer", NULL, SAID_NOTHING},
    {"Clusters", NULL, SAID_NOTHING},
    {"ClusterFeatures", NULL, SAID_NOTHING},
    {"Comment", job_comment, SAID_NOTHING},
    {"Contiguous", job_contiguous, SAID_VALUE},
    {"CoreSpec", job_core_spec, SAID_VALUE},
    {"CPUs/Task", job_cpus_per_task, SAID_NOTHING},
    {"CpusPerTask", job_cpus_per_task, SAID_VALUE},
    {"Deadline", job_deadline, SAID_TIME},
    {"DelayBoot", job_delay_boot, SAID_KEY},
    {"Dependency", job_dependency, SAID_NOTHING},
    {"EligibleTime", job_start, SAID_TIME},
    {"EndTime", job_end_time, SAID_TIME},
    {"ExcNodeList", job_exclude, SAID_NOTHING},
    {"Extra", job_extra, SAID_NOTHING},
    {"Features", job_features, SAID_NOTHING},
    {"Gres", job_gres, SAID_NOTHING},
    {"JobName", job_name, SAID_NOTHING},
    {"Name", job_name, SAID_NOTHING},
    {"Licenses", job_licenses, SAID_NOTHING},
    {"IRequeue", job_requeue, SAID_NOTHING},
    {"MailType", job_mail_type, SAID_NOTHING},
    {"MailUser", job_mail_user, SAID_NOTHING},
    {"MCSLabel", NULL, SAID_NOTHING},
    {"MinCPUsNode", job_min_cpus_node, SAID_VALUE},
    {"MinMemoryCPU", job_mem_cpu, SAID_VALUE},
    {"MinMemoryNode", job_mem_node, SAID_VALUE},
    {"MinTmpDiskNode", job_tmp_disk, SAID_VALUE},
    {"Nice", job_nice, SAID_NOTHING},
    {"SiteFactor", job_site_factor, SAID_NOTHING},
    {"Network", NULL, SAID_NOTHING},
    {"NodeList", job_node_list, SAID_NOTHING},
    {"NtasksPerNode", job_per_node, SAID_NOTHING},
    {"TasksPerNode", job_per_node, SAID_VALUE},
    {"NumCPUs", job_cpus, SAID_VALUE},
    {"NumNodes", job_nodes, SAID_NOTHING},
    {"NumTasks", job_tasks, SAID_VALUE},
    {"OverSubscribe", job_oversubscribe, SAID_VALUE},
    {"Shared", job_oversubscribe, SAID_NOTHING},
    {"Partition", job_partition, SAID_NOTHING},
    {"Prefer", job_prefer, SAID_NOTHING},
    {"Priority", job_priority, SAID_VALUE},
    {"QOS", job_qos, SAID_NOTHING},
    {"ReqNodeList", job_node_list, SAID_NOTHING},
    {"ReqNodes", job_nodes, SAID_NOTHING},
    {"ReqCPUs", job_cpus, SAID_NOTHING},
    {"ReqCores", job_cores, SAID_VALUE},
    {"ReqProcs", job_tasks, SAID_NOTHING},
    {"ReqSockets", job_sockets, SAID_VALUE},
    {"ReqThreads", job_threads, SAID_VALUE},
    {"Reboot", job_reboot, SAID_NOTHING},
    {"Requeue", job_requeue, SAID_VALUE},
    {"ReservationName", job_reservations, SAID_NOTHING},
    {"StartTime", job_start, SAID_TIME},
    {"StdErr", job_std_err, SAID_NOTHING},
    {"StdIn", job_std_in, SAID_NOTHING},
    {"StdOut", job_std_out, SAID_NOTHING},
    {"Switches", job_switches, SAID_NOTHING},
    {"wait-for-switch", job_switch_wait, SAID_VALUE},
    {"ThreadSpec", NULL, SAID_NOTHING},
    {"TimeLimit", job_limit, SAID_KEY},
    {"TimeMin", job_time_min, SAID_KEY},
    {"TresPerNode", job_gres, SAID_NOTHING},
    {"WCKey", job_wckey, SAID_NOTHING},
    {"WorkDir", job_work_dir, SAID_NOTHING},
};
const size_t update_job_key_count = ARRAY_LEN(update_job_keys);
