#include "agent/report.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void reports_init(struct reports *r, uint64_t first_seq)
{
    memset(r, 0, sizeof *r);
    r->next_seq = first_seq ? first_seq : 1;
}

void report_free(struct report *p)
{
    if (!p)
        return;
    free((char *)p->msg.detail);
    free(p->node);
    free(p);
}

void reports_done(struct reports *r)
{
    for (struct report *p = r->first, *next; p; p = next) {
        next = p->next;
        report_free(p);
    }
}

static void gpu_usage_fill(struct step *u, const struct held_step *s)
{
    u->gpu_samples = s->gpu.samples;
    u->gpu_util_samples = s->gpu.util_samples;
    u->gpu_util_max = s->gpu.util_max;
    u->gpu_util_ave = s->gpu.util_samples ? (int32_t)(s->gpu.util_sum / s->gpu.util_samples) : 0;
    u->gpu_util_tot = u->gpu_util_min = u->gpu_util_ave;
    u->gpu_mem_max_bytes = u->gpu_mem_tot_bytes = u->gpu_mem_min_bytes = s->gpu.mem_max_bytes;
    u->gpu_mem_ave_bytes = s->gpu.samples ? s->gpu.mem_sum_kib / s->gpu.samples * 1024 : 0;
}

/* Most, least and mean of the tasks here. */
static void tasks_fill(struct step *u, const struct note *n)
{
    u->max_rss_task = (int32_t)n->rss_task;
    u->ave_rss_bytes = n->ave_rss_bytes;
    u->max_vm_task = (int32_t)n->vm_task;
    u->ave_vm_bytes = n->ave_vm_bytes;
    u->max_pages_task = (int32_t)n->pages_task;
    u->ave_pages = n->ave_pages;
    u->read_max_bytes = n->read_max_bytes;
    u->read_max_task = (int32_t)n->read_task;
    u->write_max_bytes = n->write_max_bytes;
    u->write_max_task = (int32_t)n->write_task;
    u->min_cpu_us = n->min_cpu_us;
    u->min_cpu_task = (int32_t)n->cpu_task;
    u->ave_cpu_us = n->ave_cpu_us;
}

/* Where the tasks' own figures are not known, the step here is one task: most, least and mean are
 * the same figure. */
static void usage_fill(struct report *p, const struct held_step *s, const struct note *n,
                       const char *node)
{
    int64_t cpu_us = n->cpu_user_us + n->cpu_system_us;
    p->node = xstrdup(node);
    p->usage = (struct step){
        .job_id = s->job_id,
        .attempt = s->attempt,
        .step_id = s->step_id,
        .start_us = n->start_us,
        .suspended_us = n->suspended_us,
        .cpu_user_us = n->cpu_user_us,
        .cpu_system_us = n->cpu_system_us,
        .max_rss_bytes = n->max_rss_bytes,
        .ave_rss_bytes = n->max_rss_bytes,
        .max_rss_node = p->node,
        .max_vm_bytes = n->max_vm_bytes,
        .ave_vm_bytes = n->max_vm_bytes,
        .max_pages = n->max_pages,
        .ave_pages = n->max_pages,
        .read_bytes = n->read_bytes,
        .read_max_bytes = n->read_bytes,
        .write_bytes = n->write_bytes,
        .write_max_bytes = n->write_bytes,
        .min_cpu_us = cpu_us,
        .ave_cpu_us = cpu_us,
        .energy_mj = n->energy_mj + s->gpu.energy_mj,
        .cpu_khz = n->cpu_khz,
    };
    if (n->tasks)
        tasks_fill(&p->usage, n);
    gpu_usage_fill(&p->usage, s);
    p->msg.usage = (struct record_list){&p->usage, 1};
}

struct report *report_make(enum report_kind kind, const struct held_step *s, const struct note *n,
                           const char *node, int64_t now_us)
{
    ASSERT(s->job_id);
    static const struct note nothing;
    struct report *p = xcalloc(1, sizeof *p);
    n = n ? n : &nothing;
    p->msg.kind = kind;
    p->msg.job_id = s->job_id;
    p->msg.attempt = s->attempt;
    p->msg.step_id = s->step_id;
    p->msg.at_us = n->at_us ? n->at_us : now_us;
    switch (kind) {
    case REPORT_EXITED:
        p->msg.exit_status = (int32_t)n->status;
        p->msg.oom = n->oom;
        if (n->detail[0])
            p->msg.detail = xstrdup(n->detail);
        usage_fill(p, s, n, node);
        p->usage.end_us = p->msg.at_us;
        p->usage.exit_status = p->msg.exit_status;
        p->usage.oom = p->msg.oom;
        break;
    case REPORT_USAGE: usage_fill(p, s, n, node); break;
    case REPORT_FAILED:
        p->msg.retry = n->retry;
        p->msg.prolog = n->prolog;
        p->msg.gone = s->lost && !s->found; /* of what was found it is not known how far it was */
        p->msg.unfit = n->unfit;
        p->msg.had = s->had;
        p->msg.detail = xstrdup(n->detail);
        break;
    case REPORT_STARTED:
    case REPORT_RELEASED:
    case REPORT_LOST: break;
    }
    return p;
}

void reports_add(struct reports *r, struct report *p)
{
    ASSERT(!p->next);
    p->msg.seq = r->next_seq++;
    if (r->last)
        r->last->next = p;
    else
        r->first = p;
    r->last = p;
    r->n++;
}

/* Acknowledgements come in the order of the reports, so the first one is nearly always it. */
struct report *reports_take(struct reports *r, uint64_t seq)
{
    struct report *before = NULL, *p = r->first;
    while (p && p->msg.seq != seq) {
        before = p;
        p = p->next;
    }
    if (!p)
        return NULL;
    if (before)
        before->next = p->next;
    else
        r->first = p->next;
    if (r->last == p)
        r->last = before;
    r->n--;
    p->next = NULL;
    return p;
}
