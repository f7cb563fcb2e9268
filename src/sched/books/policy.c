/* Settings to policy: the words of slurm.conf read once. */
#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/state.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

/* Licences keep their place in the table, because running work refers to it; one that is gone has
 * none in all. */
static void licence_set(struct cluster *cl, const char *name, int64_t total)
{
    ptrdiff_t at = cluster_licence(cl, name);
    if (at < 0) {
        struct licence l = {.name = xstrdup(name)};
        vec_push(&cl->lic, l);
        at = (ptrdiff_t)cl->lic.n - 1;
        vec_push(&cl->lic.named, (uint32_t)at);
    }
    cl->lic.v[at].total = total;
}

static void licences_set(struct cluster *cl, const char *text)
{
    struct span rest = span_of(text ? text : ""), piece;
    for (size_t i = 0; i < cl->lic.named.n; i++)
        cl->lic.v[cl->lic.named.v[i]].total = 0;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        char *name = xstrndup(piece.data, piece.len), *colon = strchr(name, ':');
        int64_t total = 1;
        if (colon) {
            *colon = '\0';
            if (!text_to_i64(colon + 1, 0, INT32_MAX, &total))
                total = 0;
        }
        licence_set(cl, name, total);
        free(name);
    }
}

static enum preempt_mode preempt_mode_of(const struct setting_words *w)
{
    if (w->preempt_suspend)
        return PREEMPT_SUSPEND;
    if (w->preempt_requeue)
        return PREEMPT_REQUEUE;
    if (w->preempt_cancel)
        return PREEMPT_CANCEL;
    return PREEMPT_OFF; /* GANG alone: jobs that share take turns, but none gives way */
}

static void priority_flags_set(struct policy *p, const struct settings *s)
{
    const struct setting_words *w = &s->word;
    tres_weights_parse(s->priority_weight_tres, &p->tres, NULL);
    p->favor_small = s->priority_favor_small;
    p->size_by_time = w->size_by_time;
    p->part_as_is = w->no_normal_all || w->no_normal_part;
    p->tres_as_is = w->no_normal_all || w->no_normal_tres;
    p->increase_only = w->increase_only;
    p->max_tres = w->max_tres;
}

enum preempt_mode cluster_preempt_mode(const struct cluster *cl)
{
    return cl->policy.preempt_mode;
}

#define AGE_BOUND_S   180000 /* 50 hours */
#define PROMISES_MOST 100

/* A slurm.conf that weighs factors means the multifactor priority, whether or not it names it. */
static bool weighs(const struct settings *s)
{
    struct settings usual;
    settings_default(&usual);
    return s->priority_weight_age != usual.priority_weight_age ||
           s->priority_weight_fairshare != usual.priority_weight_fairshare ||
           s->priority_weight_job_size != usual.priority_weight_job_size ||
           s->priority_weight_partition != usual.priority_weight_partition ||
           s->priority_weight_qos != usual.priority_weight_qos ||
           !text_empty(s->priority_weight_tres) || !text_empty(s->priority_flags) ||
           s->priority_weight_assoc != usual.priority_weight_assoc ||
           s->priority_favor_small != usual.priority_favor_small;
}

static void order_set(struct policy *p, const struct settings *s)
{
    const struct setting_words *w = &s->word;
    bool ageing = w->priority_ageing && !weighs(s);
    p->order = ageing ? ORDER_AGEING : ORDER_PRIORITY;
    p->age_bound_us = (w->age_bound_s >= 0 ? w->age_bound_s : AGE_BOUND_S) * USEC_PER_SEC;
    if (w->order >= 0)
        p->order = (enum sched_order)w->order;
    p->backfill = w->sched_builtin ? BACKFILL_NONE : BACKFILL_EASY;
    if (w->backfill >= 0)
        p->backfill = (enum sched_backfill)w->backfill;
    if (w->promises >= 0)
        p->promise_to = (enum sched_promises)w->promises;
    p->promise_most = w->promises_max >= 0 ? (uint32_t)w->promises_max : PROMISES_MOST;
}

void cluster_set_hook(struct cluster *cl, const struct order_hook *hook)
{
    cl->hook = *hook;
}

void cluster_set_policy(struct cluster *cl, const struct settings *s)
{
    struct policy *p = &cl->policy;
    const struct setting_words *w = &s->word;
    *p = (struct policy){
        .weight_age = s->priority_weight_age,
        .weight_size = s->priority_weight_job_size,
        .weight_part = s->priority_weight_partition,
        .weight_qos = s->priority_weight_qos,
        .weight_assoc = s->priority_weight_assoc,
        .weight_fair = s->priority_weight_fairshare,
        .max_age_us = s->priority_max_age_us > 0 ? s->priority_max_age_us : 1,
        .fifo = w->priority_basic,
        .by_thread = w->cr_cpu || w->cr_cpu_memory,
        .count_memory = text_empty(s->select_type_parameters) || w->cr_core_memory ||
                        w->cr_cpu_memory || w->cr_memory || w->cr_socket_memory,
        .def_mem_per_cpu = s->def_mem_per_cpu_mib,
        .def_mem_per_node = s->def_mem_per_node_mib,
        .max_mem_per_cpu = s->max_mem_per_cpu_mib,
        .max_mem_per_node = s->max_mem_per_node_mib,
        .grace_us = s->kill_wait_us > 0 ? s->kill_wait_us : USEC_PER_SEC,
        .limits = (enum limit_policy)s->enforce_part_limits,
        .max_switch_wait_us =
            (w->max_switch_wait_s >= 0 ? w->max_switch_wait_s : 300) * USEC_PER_SEC,
        .topo_optional = w->topo_optional,
        .promises = w->bf_max_job_test > 0 ? (uint32_t)w->bf_max_job_test : 0,
        .preempt_tier = w->preempt_by_tier,
        .preempt_qos = w->preempt_by_qos,
        .preempt_mode = preempt_mode_of(w),
        .preempt_exempt_us = s->preempt_exempt_us,
        .preempt_youngest = w->preempt_youngest || w->sched_preempt_youngest,
        .share_max = 1,
    };
    order_set(p, s);
    priority_flags_set(p, s);
    licences_set(cl, s->licenses);
    /* Slots may be cut differently now: the keys of the groups say how. */
    for (size_t i = 0; i < cl->node.n; i++) {
        free(cl->node.v[i]->base_key);
        cl->node.v[i]->base_key = node_key(cl, cl->node.v[i]->cfg);
    }
    cl->derived.stale = true;
}
