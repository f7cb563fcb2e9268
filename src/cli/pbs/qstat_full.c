/* qstat -f: "    name = value" lines, broken behind a comma at 78 columns with a tab; and the same
 * as JSON. */
#include "base/alloc.h"
#include "cli/pbs/qstat.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"

#include <string.h>
#include <time.h>

#define WIDTH 78

/* ---- values ---- */

int32_t qstat_cpus(const struct job *j)
{
    if (j->alloc_cpus > 0)
        return j->alloc_cpus;
    int32_t each = j->spec.req.cpus_per_task > 0 ? j->spec.req.cpus_per_task : 1;
    return lsf_job_slots(j) * each;
}

const char *qstat_exec_host(const struct job *j, const struct dialect_site *site, struct arena *a)
{
    struct lsf_host *host;
    struct str text = STR_INIT;
    size_t n = lsf_job_hosts(j, a, &host);
    for (size_t i = 0; i < n; i++) {
        str_addf(&text, "%s%s/0", i ? "+" : "", host[i].name);
        if (host[i].slots > 1 && site->torque)
            str_addf(&text, "-%d", host[i].slots - 1);
        else if (host[i].slots > 1)
            str_addf(&text, "*%d", host[i].slots);
    }
    const char *kept = n ? arena_strdup(a, str_text(&text)) : NULL;
    str_done(&text);
    return kept;
}

static const char *date(int64_t us, struct arena *a)
{
    struct str text = STR_INIT;
    if (us <= 0)
        return NULL;
    civil_format(us, us, "%a %b %e %H:%M:%S %Y", &civil_local, &text);
    const char *kept = arena_strdup(a, str_text(&text));
    str_done(&text);
    return kept;
}

static const char *duration(int64_t us, struct arena *a)
{
    long long s = us / USEC_PER_SEC;
    return us < 0 ? NULL : arena_printf(a, "%02lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

static const char *path_of(const struct job *j, const char *pattern, struct arena *a)
{
    struct str text = STR_INIT;
    if (!pattern)
        return NULL;
    job_cell_path(j, pattern, &text);
    const char *kept =
        arena_printf(a, "%s:%s", j->spec.alloc_host ? j->spec.alloc_host : "", str_text(&text));
    str_done(&text);
    return kept;
}

/* ---- attributes ---- */

/* Attributes of one group follow each other: "resources_used.cput". */
struct attribute {
    const char *group, *name, *value;
    bool number;
};

struct attributes {
    struct arena *a;
    VEC(struct attribute) v;
};

static void add(struct attributes *t, const char *group, const char *name, const char *value)
{
    struct attribute one = {group, name, value, false};
    if (!text_empty(value))
        vec_push(&t->v, one);
}

static void add_number(struct attributes *t, const char *group, const char *name, int64_t n)
{
    struct attribute one = {group, name, arena_printf(t->a, "%lld", (long long)n), true};
    vec_push(&t->v, one);
}

static void used_add(struct attributes *t, const struct job *j)
{
    const char *group = "resources_used";
    if (lsf_job_is_pending(j))
        return;
    int64_t cpu = j->cpu_user_us + j->cpu_system_us;
    add(t, group, "cput", duration(cpu, t->a));
    add_number(t, group, "ncpus", qstat_cpus(j));
    add(t, group, "walltime", duration(job_elapsed_us(j, time_now_us()), t->a));
}

static void asked_add(struct attributes *t, const struct job *j)
{
    const char *group = "Resource_List";
    int64_t limit = job_limit_us(j);
    struct lsf_host *host;
    size_t n = lsf_job_hosts(j, t->a, &host);
    if (j->alloc_mem_mib > 0)
        add(t, group, "mem", arena_printf(t->a, "%lldmb", (long long)j->alloc_mem_mib));
    add_number(t, group, "ncpus", qstat_cpus(j));
    add_number(t, group, "nodect",
               n                           ? (int64_t)n
               : j->spec.req.min_nodes > 0 ? j->spec.req.min_nodes
                                           : 1);
    if (limit > 0 && limit != TIME_UNLIMITED)
        add(t, group, "walltime", duration(limit, t->a));
}

static void attributes_make(const struct qstat *q, const struct qstat_row *r, struct attributes *t)
{
    const struct job *j = r->job;
    const char *host = j->spec.alloc_host ? j->spec.alloc_host : pbs_server(&q->site);
    add(t, NULL, "Job_Name", j->spec.name);
    add(t, NULL, "Job_Owner", arena_printf(t->a, "%s@%s", j->user_name, host));
    used_add(t, j);
    add(t, NULL, "job_state", r->state);
    add(t, NULL, "queue", job_partition(j));
    add(t, NULL, "server", pbs_server(&q->site));
    add(t, NULL, "Account_Name", j->spec.req.account);
    add(t, NULL, "ctime", date(j->submit_us, t->a));
    add(t, NULL, "depend", j->spec.dependency);
    add(t, NULL, "Error_Path",
        path_of(j, j->spec.std_err ? j->spec.std_err : j->spec.std_out, t->a));
    add(t, NULL, "exec_host", qstat_exec_host(j, &q->site, t->a));
    add(t, NULL, "Hold_Types", text_is(r->state, "H") && !j->priority ? "u" : "n");
    add(t, NULL, "Join_Path", j->spec.std_err ? "n" : "oe");
    add(t, NULL, "mtime", date(j->changed_us, t->a));
    add(t, NULL, "Output_Path", path_of(j, j->spec.std_out, t->a));
    add_number(t, NULL, "Priority", 0);
    add(t, NULL, "qtime", date(j->submit_us, t->a));
    add(t, NULL, "Rerunable", j->spec.requeue == NO ? "False" : "True");
    asked_add(t, j);
    if (!lsf_job_is_pending(j))
        add(t, NULL, "stime", date(j->start_us, t->a));
    add(t, NULL, "etime", date(j->eligible_us, t->a));
    add(t, NULL, "project", j->spec.project);
    if (lsf_job_is_pending(j))
        add(t, NULL, "comment", lsf_pending_reason(j, t->a));
    if (lsf_job_is_over(j) && !r->array)
        add_number(t, NULL, q->site.torque ? "exit_status" : "Exit_status",
                   pbs_exit_status(j, &q->site));
    if (r->array) {
        add(t, NULL, "array", "True");
        add(t, NULL, "array_indices_submitted", j->spec.array);
    }
}

/* ---- text ---- */

/* Broken behind the last comma that fits; where there is none in time, it stays whole. */
static void wrapped_add(struct str *out, const char *line, bool whole)
{
    size_t room = WIDTH;
    while (!whole && strlen(line) > room) {
        size_t at = room;
        while (at > 0 && line[at - 1] != ',')
            at--;
        if (at == 0)
            break;
        str_addn(out, line, at);
        str_add(out, "\n\t");
        line += at;
        room = WIDTH - 8;
    }
    str_addf(out, "%s\n", line);
}

void qstat_full_add(struct qstat *q, const struct qstat_row *r)
{
    struct attributes t = {.a = q->a};
    attributes_make(q, r, &t);
    str_addf(&q->out, "Job Id: %s\n", r->id);
    for (size_t i = 0; i < t.v.n; i++) {
        const struct attribute *one = &t.v.v[i];
        const char *line =
            one->group ? arena_printf(q->a, "    %s.%s = %s", one->group, one->name, one->value)
                       : arena_printf(q->a, "    %s = %s", one->name, one->value);
        wrapped_add(&q->out, line, q->unwrapped);
    }
    str_addc(&q->out, '\n');
    vec_done(&t.v);
}

/* ---- JSON ---- */

static void json_text(struct str *out, const char *text)
{
    str_addc(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < 32)
            str_addf(out, "\\u%04x", c);
        else
            str_addc(out, *text);
    }
    str_addc(out, '"');
}

static void json_value(struct str *out, const struct attribute *one)
{
    if (one->number)
        str_add(out, one->value);
    else
        json_text(out, one->value);
}

static void json_job(struct qstat *q, const struct qstat_row *r)
{
    struct attributes t = {.a = q->a};
    const char *group = NULL;
    attributes_make(q, r, &t);
    str_add(&q->out, "        ");
    json_text(&q->out, r->id);
    str_add(&q->out, ":{");
    for (size_t i = 0; i < t.v.n; i++) {
        const struct attribute *one = &t.v.v[i];
        bool leaves = group && !text_is(group, one->group);
        bool enters = one->group && !text_is(group, one->group);
        if (leaves)
            str_add(&q->out, "\n            }");
        str_add(&q->out, i && (leaves || !enters || !group) ? ",\n" : "\n");
        if (enters)
            str_addf(&q->out, "            \"%s\":{\n", one->group);
        str_add(&q->out, one->group ? "                " : "            ");
        json_text(&q->out, one->name);
        str_addc(&q->out, ':');
        json_value(&q->out, one);
        group = one->group;
    }
    str_add(&q->out, group ? "\n            }\n        }" : "\n        }");
    vec_done(&t.v);
}

void qstat_json_add(struct qstat *q)
{
    str_addf(&q->out,
             "{\n    \"timestamp\":%lld,\n    \"pbs_version\":\"20.0.0\",\n    \"pbs_server\":",
             (long long)(time_now_us() / USEC_PER_SEC));
    json_text(&q->out, pbs_server(&q->site));
    str_add(&q->out, ",\n    \"Jobs\":{");
    for (size_t i = 0; i < q->row.n; i++) {
        str_add(&q->out, i ? ",\n" : "\n");
        json_job(q, &q->row.v[i]);
    }
    str_add(&q->out, q->row.n ? "\n    }\n}\n" : "}\n}\n");
}

/* ---- the server and its queues ---- */

struct queue_counts {
    struct qstat *q;
    const char *name;
    unsigned queued, running, held, waiting;
};

static void job_count(void *ctx, const void *record)
{
    struct queue_counts *n = ctx;
    const struct job *j = record;
    char state = pbs_job_state(j)[0];
    if (n->name && !text_is(job_partition(j), n->name))
        return;
    n->queued += state == 'Q';
    n->running += state == 'R' || state == 'E' || state == 'S';
    n->held += state == 'H';
    n->waiting += state == 'W';
}

int qstat_server_add(struct qstat *q, struct client *c)
{
    struct queue_counts n = {.q = q};
    struct msg_query jobs = {.what = QUERY_JOBS};
    struct msg_done done;
    struct err e = {0};
    bool ok = client_query(c, &jobs, &job_fields, q->a, job_count, &n, &done, &e);
    unsigned all = n.queued + n.running + n.held + n.waiting;
    if (q->full)
        str_addf(&q->out,
                 "Server: %s\n    server_state = Active\n    total_jobs = %u\n    pbs_version = "
                 "20.0.0\n\n",
                 pbs_server(&q->site), all);
    else
        str_addf(&q->out,
                 "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n"
                 "---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n"
                 "%-16.16s %5d %5u %5u %5u %5u %5u %5d %5d Active\n",
                 pbs_server(&q->site), 0, all, n.queued, n.running, n.held, n.waiting, 0, 0);
    return ok ? 0 : 1;
}

struct queues {
    struct arena *a;
    VEC(const struct partition *) v;
};

static void queue_keep(void *ctx, const void *record)
{
    struct queues *t = ctx;
    vec_push(&t->v, (const struct partition *)arena_dup(t->a, record, sizeof(struct partition)));
}

int qstat_queues_add(struct qstat *q, struct client *c)
{
    struct queues t = {.a = q->a};
    struct msg_query partitions = {.what = QUERY_PARTITIONS}, jobs = {.what = QUERY_JOBS};
    struct msg_done done;
    struct err e = {0};
    bool ok = client_query(c, &partitions, &partition_fields, q->a, queue_keep, &t, &done, &e);
    str_add(&q->out,
            "Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n"
            "---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n");
    for (size_t i = 0; ok && i < t.v.n; i++) {
        const struct partition *p = t.v.v[i];
        struct queue_counts n = {.q = q, .name = p->name};
        ok = client_query(c, &jobs, &job_fields, q->a, job_count, &n, &done, &e);
        str_addf(&q->out, "%-16.16s %5d %5u %3s %3s %5u %5u %5u %5u %5d %5d Exec\n", p->name, 0,
                 n.queued + n.running + n.held + n.waiting,
                 p->state == PART_UP || p->state == PART_DOWN ? "yes" : "no",
                 p->state == PART_UP || p->state == PART_DRAIN ? "yes" : "no", n.queued, n.running,
                 n.held, n.waiting, 0, 0);
    }
    vec_done(&t.v);
    return ok ? 0 : 1;
}
