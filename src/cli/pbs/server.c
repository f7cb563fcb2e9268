#include "cli/pbs/server.h"

#include "base/alloc.h"
#include "cli/record/columns_job.h"

/* ---- reading ---- */

static void job_keep(void *ctx, const void *record)
{
    struct pbs_seen *s = ctx;
    vec_push(&s->job, (const struct job *)arena_dup(s->a, record, sizeof(struct job)));
}

static void queue_keep(void *ctx, const void *record)
{
    struct pbs_seen *s = ctx;
    vec_push(&s->queue,
             (const struct partition *)arena_dup(s->a, record, sizeof(struct partition)));
}

bool pbs_queues_read(struct client *c, struct pbs_seen *s, struct err *ret_err)
{
    struct msg_query queues = {.what = QUERY_PARTITIONS};
    struct msg_done done;
    return client_query(c, &queues, &partition_fields, s->a, queue_keep, s, &done, ret_err);
}

bool pbs_seen_read(struct client *c, struct pbs_seen *s, struct err *ret_err)
{
    struct msg_query jobs = {.what = QUERY_JOBS};
    struct msg_done done;
    return client_query(c, &jobs, &job_fields, s->a, job_keep, s, &done, ret_err) &&
           pbs_queues_read(c, s, ret_err);
}

void pbs_seen_done(struct pbs_seen *s)
{
    vec_done(&s->job);
    vec_done(&s->queue);
}

const struct partition *pbs_queue_named(const struct pbs_seen *s, const char *name)
{
    for (size_t i = 0; i < s->queue.n; i++)
        if (text_is(s->queue.v[i]->name, name))
            return s->queue.v[i];
    return NULL;
}

/* ---- counts ---- */

struct pbs_counts pbs_counts_of(const struct pbs_seen *s, const char *queue)
{
    struct pbs_counts n = {0};
    for (size_t i = 0; i < s->job.n; i++) {
        const struct job *j = s->job.v[i];
        char state = pbs_job_state(j)[0];
        bool part = j->het_job_id && j->het_offset; /* of a job that counts once */
        if (part || (queue && !job_in_partitions(j, queue)))
            continue;
        n.queued += state == 'Q';
        n.running += state == 'R' || state == 'S';
        n.exiting += state == 'E';
        n.held += state == 'H';
        n.waiting += state == 'W';
    }
    return n;
}

unsigned pbs_counts_all(const struct pbs_counts *n)
{
    return n->queued + n->running + n->held + n->waiting + n->exiting;
}

/* ---- attributes ---- */

bool pbs_queue_takes(const struct partition *p)
{
    return p->state == PART_UP || p->state == PART_DOWN;
}

bool pbs_queue_starts(const struct partition *p)
{
    return p->state == PART_UP || p->state == PART_DRAIN;
}

static void counts_add(struct pbs_attributes *t, const struct pbs_counts *n)
{
    pbs_attribute_number(t, NULL, "total_jobs", pbs_counts_all(n));
    pbs_attribute_add(t, NULL, "state_count",
                      arena_printf(t->a,
                                   "Transit:0 Queued:%u Held:%u Waiting:%u Running:%u Exiting:%u "
                                   "Begun:%u ",
                                   n->queued, n->held, n->waiting, n->running, n->exiting,
                                   n->begun));
}

void pbs_server_attributes(const struct pbs_seen *s, const struct dialect_site *site,
                           struct pbs_attributes *t)
{
    struct pbs_counts n = pbs_counts_of(s, NULL);
    pbs_attribute_add(t, NULL, "server_state", "Active");
    pbs_attribute_add(t, NULL, "server_host", pbs_server(site));
    pbs_attribute_add(t, NULL, "scheduling", "True");
    counts_add(t, &n);
    for (size_t i = 0; i < s->queue.n; i++)
        if (s->queue.v[i]->is_default)
            pbs_attribute_add(t, NULL, "default_queue", s->queue.v[i]->name);
    pbs_attribute_add(t, NULL, "pbs_version", PBS_VERSION_TEXT);
}

void pbs_queue_attributes(const struct pbs_seen *s, const struct partition *p,
                          struct pbs_attributes *t)
{
    struct pbs_counts n = pbs_counts_of(s, p->name);
    bool limited = p->max_time_us > 0 && p->max_time_us != TIME_UNLIMITED;
    bool preset = p->default_time_us > 0 && p->default_time_us != TIME_UNLIMITED;
    pbs_attribute_add(t, NULL, "queue_type", "Execution");
    pbs_attribute_number(t, NULL, "Priority", p->priority_tier);
    counts_add(t, &n);
    if (limited)
        pbs_attribute_add(t, "resources_max", "walltime", pbs_clock(p->max_time_us, t->a));
    if (p->max_nodes > 0)
        pbs_attribute_number(t, "resources_max", "nodect", p->max_nodes);
    if (preset)
        pbs_attribute_add(t, "resources_default", "walltime", pbs_clock(p->default_time_us, t->a));
    pbs_attribute_add(t, NULL, "acl_groups", p->allow_groups);
    pbs_attribute_add(t, NULL, "enabled", pbs_queue_takes(p) ? "True" : "False");
    pbs_attribute_add(t, NULL, "started", pbs_queue_starts(p) ? "True" : "False");
}
