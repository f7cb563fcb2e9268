/* qstat -B, -Q, -q: the server, and its queues. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/pbs/qstat.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"

#include <stdio.h>
#include <string.h>

/* ---- counts ---- */

struct queue_counts {
    unsigned queued, running, held, waiting, exiting, begun;
};

struct queues_seen {
    struct arena *a;
    VEC(const struct job *) job;
    VEC(const struct partition *) queue;
};

static void job_keep(void *ctx, const void *record)
{
    struct queues_seen *s = ctx;
    vec_push(&s->job, (const struct job *)arena_dup(s->a, record, sizeof(struct job)));
}

static void queue_keep(void *ctx, const void *record)
{
    struct queues_seen *s = ctx;
    vec_push(&s->queue,
             (const struct partition *)arena_dup(s->a, record, sizeof(struct partition)));
}

static bool seen_read(struct client *c, struct queues_seen *s, struct err *e)
{
    struct msg_query jobs = {.what = QUERY_JOBS}, queues = {.what = QUERY_PARTITIONS};
    struct msg_done done;
    return client_query(c, &jobs, &job_fields, s->a, job_keep, s, &done, e) &&
           client_query(c, &queues, &partition_fields, s->a, queue_keep, s, &done, e);
}

static void seen_done(struct queues_seen *s)
{
    vec_done(&s->job);
    vec_done(&s->queue);
}

/* Of one queue; NULL = of all. */
static struct queue_counts counts_of(const struct queues_seen *s, const char *queue)
{
    struct queue_counts n = {0};
    for (size_t i = 0; i < s->job.n; i++) {
        const struct job *j = s->job.v[i];
        char state = pbs_job_state(j)[0];
        bool part = j->het_job_id && j->het_offset; /* of a job that counts once */
        if (part || (queue && !text_is(job_partition(j), queue)))
            continue;
        n.queued += state == 'Q';
        n.running += state == 'R' || state == 'S';
        n.exiting += state == 'E';
        n.held += state == 'H';
        n.waiting += state == 'W';
    }
    return n;
}

static unsigned all_of(const struct queue_counts *n)
{
    return n->queued + n->running + n->held + n->waiting + n->exiting;
}

static void counts_add(struct pbs_attributes *t, const struct queue_counts *n)
{
    pbs_attribute_number(t, NULL, "total_jobs", all_of(n));
    pbs_attribute_add(t, NULL, "state_count",
                      arena_printf(t->a,
                                   "Transit:0 Queued:%u Held:%u Waiting:%u Running:%u Exiting:%u "
                                   "Begun:%u ",
                                   n->queued, n->held, n->waiting, n->running, n->exiting,
                                   n->begun));
}

static int failed(const struct err *e)
{
    fprintf(stderr, "qstat: %s\n", e->text);
    return 1;
}

static struct pbs_report report_of(struct qstat *q, const char *kind, const char *title)
{
    return (struct pbs_report){.form = q->form,
                               .title = title,
                               .indent = "    ",
                               .kind = kind,
                               .element = kind,
                               .delimiter = q->delimiter,
                               .unbroken = q->unwrapped,
                               .a = q->a,
                               .out = &q->out};
}

/* ---- -B ---- */

static void server_full(struct qstat *q, const struct queues_seen *s, const struct queue_counts *n)
{
    struct pbs_attributes t = {.a = q->a};
    struct pbs_report r = report_of(q, "Server", "Server: ");
    pbs_attribute_add(&t, NULL, "server_state", "Active");
    pbs_attribute_add(&t, NULL, "server_host", pbs_server(&q->site));
    pbs_attribute_add(&t, NULL, "scheduling", "True");
    counts_add(&t, n);
    for (size_t i = 0; i < s->queue.n; i++)
        if (s->queue.v[i]->is_default)
            pbs_attribute_add(&t, NULL, "default_queue", s->queue.v[i]->name);
    pbs_attribute_add(&t, NULL, "pbs_version", PBS_VERSION_TEXT);
    pbs_report_begin(&r, pbs_server(&q->site), time_now_us());
    pbs_report_add(&r, pbs_server(&q->site), &t);
    pbs_report_end(&r);
    pbs_attributes_done(&t);
}

int qstat_server_add(struct qstat *q, struct client *c)
{
    struct queues_seen s = {.a = q->a};
    struct err e = {0};
    bool ok = seen_read(c, &s, &e);
    struct queue_counts n = counts_of(&s, NULL);
    if (ok && q->full)
        server_full(q, &s, &n);
    else if (ok)
        str_addf(&q->out,
                 "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n"
                 "---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n"
                 "%-16.16s %5d %5u %5u %5u %5u %5u %5d %5u Active\n",
                 pbs_server(&q->site), 0, all_of(&n), n.queued, n.running, n.held, n.waiting, 0,
                 n.exiting);
    seen_done(&s);
    return ok ? 0 : failed(&e);
}

/* ---- -Q and -q ---- */

static bool takes_jobs(const struct partition *p)
{
    return p->state == PART_UP || p->state == PART_DOWN;
}

static bool starts_jobs(const struct partition *p)
{
    return p->state == PART_UP || p->state == PART_DRAIN;
}

static void queue_full(struct qstat *q, struct pbs_report *r, const struct partition *p,
                       const struct queue_counts *n)
{
    struct pbs_attributes t = {.a = q->a};
    pbs_attribute_add(&t, NULL, "queue_type", "Execution");
    pbs_attribute_number(&t, NULL, "Priority", p->priority_tier);
    counts_add(&t, n);
    if (p->max_time_us > 0 && p->max_time_us != TIME_UNLIMITED)
        pbs_attribute_add(&t, "resources_max", "walltime", pbs_clock(p->max_time_us, q->a));
    if (p->max_nodes > 0)
        pbs_attribute_number(&t, "resources_max", "nodect", p->max_nodes);
    if (p->default_time_us > 0 && p->default_time_us != TIME_UNLIMITED)
        pbs_attribute_add(&t, "resources_default", "walltime", pbs_clock(p->default_time_us, q->a));
    pbs_attribute_add(&t, NULL, "acl_groups", p->allow_groups);
    pbs_attribute_add(&t, NULL, "enabled", takes_jobs(p) ? "True" : "False");
    pbs_attribute_add(&t, NULL, "started", starts_jobs(p) ? "True" : "False");
    pbs_report_add(r, p->name, &t);
    pbs_attributes_done(&t);
}

static void queue_line(struct qstat *q, const struct partition *p, const struct queue_counts *n)
{
    str_addf(&q->out, "%-16.16s %5d %5u %3s %3s %5u %5u %5u %5u %5d %5u Exec\n", p->name, 0,
             all_of(n), takes_jobs(p) ? "yes" : "no", starts_jobs(p) ? "yes" : "no", n->queued,
             n->running, n->held, n->waiting, 0, n->exiting);
}

/* "Memory CPU Time Walltime Node Run Que Lm State": E or D, then R or S. */
static void limits_line(struct qstat *q, const struct partition *p, const struct queue_counts *n)
{
    bool limited = p->max_time_us > 0 && p->max_time_us != TIME_UNLIMITED;
    const char *memory = p->max_mem_per_node_mib > 0
                             ? arena_printf(q->a, "%lldmb", (long long)p->max_mem_per_node_mib)
                             : "--";
    const char *nodes = p->max_nodes > 0 ? arena_printf(q->a, "%d", p->max_nodes) : "--";
    str_addf(&q->out, "%-16.16s %6s %8s %8s %4s %5u %5u %4s  %s %s\n", p->name, memory, "--",
             limited ? pbs_clock(p->max_time_us, q->a) : "--", nodes, n->running,
             n->queued + n->held + n->waiting, "--", takes_jobs(p) ? "E" : "D",
             starts_jobs(p) ? "R" : "S");
}

static void queues_head(struct qstat *q)
{
    if (q->queue_limits)
        str_addf(&q->out,
                 "\nserver: %s\n\n"
                 "Queue            Memory CPU Time Walltime Node   Run   Que   Lm  State\n"
                 "---------------- ------ -------- -------- ---- ----- ----- ----  -----\n",
                 pbs_server(&q->site));
    else
        str_add(&q->out,
                "Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n"
                "---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n");
}

static void queues_print(struct qstat *q, const struct queues_seen *s)
{
    struct pbs_report r = report_of(q, "Queue", "Queue: ");
    unsigned running = 0, queued = 0;
    size_t shown = 0;
    if (q->full)
        pbs_report_begin(&r, pbs_server(&q->site), time_now_us());
    for (size_t i = 0; i < s->queue.n; i++) {
        const struct partition *p = s->queue.v[i];
        struct queue_counts n = counts_of(s, p->name);
        if (q->filter.queue && !list_has(q->filter.queue, p->name))
            continue;
        if (shown++ == 0 && !q->full)
            queues_head(q);
        running += n.running;
        queued += n.queued + n.held + n.waiting;
        if (q->full)
            queue_full(q, &r, p, &n);
        else if (q->queue_limits)
            limits_line(q, p, &n);
        else
            queue_line(q, p, &n);
    }
    if (q->full)
        pbs_report_end(&r);
    else if (q->queue_limits && shown)
        str_addf(&q->out, "%47s----- -----\n%47s%5u %5u\n", "", "", running, queued);
}

static bool queue_is(const struct queues_seen *s, const char *name)
{
    for (size_t i = 0; i < s->queue.n; i++)
        if (text_is(s->queue.v[i]->name, name))
            return true;
    return false;
}

static int unknown_say(struct qstat *q, const struct queues_seen *s)
{
    struct span rest = span_of(q->filter.queue), one;
    struct str known = STR_INIT;
    int status = 0;
    while (span_next(&rest, ',', &one)) {
        const char *name = arena_strndup(q->a, one.data, one.len);
        if (queue_is(s, name)) {
            list_addf(&known, "%s", name);
            continue;
        }
        fprintf(stderr, "qstat: Unknown queue %s\n", name);
        status = PBS_UNKNOWN_QUEUE;
    }
    q->filter.queue = known.len ? arena_strdup(q->a, str_text(&known)) : NULL;
    str_done(&known);
    return status;
}

int qstat_queues_known(struct qstat *q, struct client *c)
{
    struct msg_query queues = {.what = QUERY_PARTITIONS};
    struct queues_seen s = {.a = q->a};
    struct msg_done done;
    struct err e = {0};
    bool ok = client_query(c, &queues, &partition_fields, q->a, queue_keep, &s, &done, &e);
    int status = ok ? unknown_say(q, &s) : failed(&e);
    seen_done(&s);
    return status;
}

int qstat_queues_add(struct qstat *q, struct client *c)
{
    struct queues_seen s = {.a = q->a};
    struct err e = {0};
    bool ok = seen_read(c, &s, &e);
    int status = ok && q->filter.queue ? unknown_say(q, &s) : 0;
    if (ok && (!status || q->filter.queue))
        queues_print(q, &s);
    seen_done(&s);
    return ok ? status : failed(&e);
}
