/* qstat -B, -Q, -q: the server, and its queues. */
#include "base/alloc.h"
#include "base/list.h"
#include "cli/pbs/qstat.h"
#include "cli/pbs/server.h"
#include "cli/program/localtime.h"
#include "cli/record/columns_job.h"

#include <stdio.h>
#include <string.h>

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

static void server_full(struct qstat *q, const struct pbs_seen *s)
{
    struct pbs_attributes t = {.a = q->a};
    struct pbs_report r = report_of(q, "Server", "Server: ");
    pbs_server_attributes(s, &q->site, &t);
    pbs_report_begin(&r, pbs_server(&q->site), time_now_us());
    pbs_report_add(&r, pbs_server(&q->site), &t);
    pbs_report_end(&r);
    pbs_attributes_done(&t);
}

int qstat_server_add(struct qstat *q, struct client *c)
{
    struct pbs_seen s = {.a = q->a};
    struct err e = {0};
    bool ok = pbs_seen_read(c, &s, &e);
    struct pbs_counts n = pbs_counts_of(&s, NULL);
    if (ok && q->full)
        server_full(q, &s);
    else if (ok)
        str_addf(&q->out,
                 "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n"
                 "---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n"
                 "%-16.16s %5d %5u %5u %5u %5u %5u %5d %5u Active\n",
                 pbs_server(&q->site), 0, pbs_counts_all(&n), n.queued, n.running, n.held,
                 n.waiting, 0, n.exiting);
    pbs_seen_done(&s);
    return ok ? 0 : failed(&e);
}

/* ---- -Q and -q ---- */

static void queue_full(struct qstat *q, struct pbs_report *r, const struct pbs_seen *s,
                       const struct partition *p)
{
    struct pbs_attributes t = {.a = q->a};
    pbs_queue_attributes(s, p, &t);
    pbs_report_add(r, p->name, &t);
    pbs_attributes_done(&t);
}

static void queue_line(struct qstat *q, const struct partition *p, const struct pbs_counts *n)
{
    str_addf(&q->out, "%-16.16s %5d %5u %3s %3s %5u %5u %5u %5u %5d %5u Exec\n", p->name, 0,
             pbs_counts_all(n), pbs_queue_takes(p) ? "yes" : "no",
             pbs_queue_starts(p) ? "yes" : "no", n->queued, n->running, n->held, n->waiting, 0,
             n->exiting);
}

/* "Memory CPU Time Walltime Node Run Que Lm State": E or D, then R or S. */
static void limits_line(struct qstat *q, const struct partition *p, const struct pbs_counts *n)
{
    bool limited = p->max_time_us > 0 && p->max_time_us != TIME_UNLIMITED;
    const char *memory = p->max_mem_per_node_mib > 0
                             ? arena_printf(q->a, "%lldmb", (long long)p->max_mem_per_node_mib)
                             : "--";
    const char *nodes = p->max_nodes > 0 ? arena_printf(q->a, "%d", p->max_nodes) : "--";
    str_addf(&q->out, "%-16.16s %6s %8s %8s %4s %5u %5u %4s  %s %s\n", p->name, memory, "--",
             limited ? pbs_clock(p->max_time_us, q->a) : "--", nodes, n->running,
             n->queued + n->held + n->waiting, "--", pbs_queue_takes(p) ? "E" : "D",
             pbs_queue_starts(p) ? "R" : "S");
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

static void queues_print(struct qstat *q, const struct pbs_seen *s)
{
    struct pbs_report r = report_of(q, "Queue", "Queue: ");
    unsigned running = 0, queued = 0;
    size_t shown = 0;
    if (q->full)
        pbs_report_begin(&r, pbs_server(&q->site), time_now_us());
    for (size_t i = 0; i < s->queue.n; i++) {
        const struct partition *p = s->queue.v[i];
        struct pbs_counts n = pbs_counts_of(s, p->name);
        if (q->filter.queue && !list_has(q->filter.queue, p->name))
            continue;
        if (shown++ == 0 && !q->full)
            queues_head(q);
        running += n.running;
        queued += n.queued + n.held + n.waiting;
        if (q->full)
            queue_full(q, &r, s, p);
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

static int unknown_say(struct qstat *q, const struct pbs_seen *s)
{
    struct span rest = span_of(q->filter.queue), one;
    struct str known = STR_INIT;
    int status = 0;
    while (span_next(&rest, ',', &one)) {
        const char *name = arena_strndup(q->a, one.data, one.len);
        if (pbs_queue_named(s, name)) {
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
    struct pbs_seen s = {.a = q->a};
    struct err e = {0};
    bool ok = pbs_queues_read(c, &s, &e);
    int status = ok ? unknown_say(q, &s) : failed(&e);
    pbs_seen_done(&s);
    return status;
}

int qstat_queues_add(struct qstat *q, struct client *c)
{
    struct pbs_seen s = {.a = q->a};
    struct err e = {0};
    bool ok = pbs_seen_read(c, &s, &e);
    int status = ok && q->filter.queue ? unknown_say(q, &s) : 0;
    if (ok && (!status || q->filter.queue))
        queues_print(q, &s);
    pbs_seen_done(&s);
    return ok ? status : failed(&e);
}
