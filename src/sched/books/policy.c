/* Settings to policy: the words of slurm.conf read once. */
#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/state.h"

#include <stdlib.h>
#include <string.h>

/* Value of key=… in a comma-separated list of parameters, or -1. */
static int64_t parameter(const char *list, const char *key)
{
    struct span rest = span_of(list ? list : ""), piece;
    size_t len = strlen(key);
    int64_t value = -1;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len > len && strncmp(piece.data, key, len) == 0 && piece.data[len] == '=') {
            char *text = xstrndup(piece.data + len + 1, piece.len - len - 1);
            if (!text_to_i64(text, 0, INT32_MAX, &value))
                value = -1;
            free(text);
        }
    }
    return value;
}

static bool listed(const char *list, const char *word)
{
    struct span rest = span_of(list ? list : ""), piece;
    while (span_next(&rest, ',', &piece))
        if (span_is_nocase(span_trim(piece), word))
            return true;
    return false;
}

/* Licences keep their place in the table, because running work refers to it; one that is gone has none in all. */
static void licence_set(struct cluster *cl, const char *name, int64_t total)
{
    ptrdiff_t at = cluster_licence(cl, name);
    if (at < 0) {
        struct licence l = {.name = xstrdup(name)};
        vec_push(&cl->lic, l);
        at = (ptrdiff_t)cl->lic.n - 1;
    }
    cl->lic.v[at].total = total;
}

static void licences_set(struct cluster *cl, const char *text)
{
    struct span rest = span_of(text ? text : ""), piece;
    for (size_t i = 0; i < cl->lic.n; i++)
        cl->lic.v[i].total = 0;
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

static enum preempt_mode preempt_mode_of(const char *text)
{
    if (listed(text, "SUSPEND"))
        return PREEMPT_SUSPEND;
    if (listed(text, "REQUEUE"))
        return PREEMPT_REQUEUE;
    if (listed(text, "CANCEL"))
        return PREEMPT_CANCEL;
    return PREEMPT_OFF; /* GANG alone: jobs that share take turns, but none gives way */
}

static void priority_flags_set(struct policy *p, const struct settings *s)
{
    const char *flags = s->priority_flags;
    bool all = listed(flags, "NO_NORMAL_ALL");
    tres_weights_parse(s->priority_weight_tres, &p->tres, NULL);
    p->favor_small = s->priority_favor_small;
    p->size_by_time = listed(flags, "SMALL_RELATIVE_TO_TIME");
    p->part_as_is = all || listed(flags, "NO_NORMAL_PART");
    p->tres_as_is = all || listed(flags, "NO_NORMAL_TRES");
    p->increase_only = listed(flags, "INCR_ONLY");
}

enum preempt_mode cluster_preempt_mode(const struct cluster *cl)
{
    return cl->policy.preempt_mode;
}

/* The word behind key= in a list of parameters, or NULL; in the arena of the caller's stack: at most 31 bytes. */
static const char *parameter_word(const char *list, const char *key, char word[32])
{
    struct span rest = span_of(list ? list : ""), piece;
    size_t len = strlen(key);
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len <= len || piece.len - len > 31 || strncmp(piece.data, key, len) != 0 ||
            piece.data[len] != '=')
            continue;
        memcpy(word, piece.data + len + 1, piece.len - len - 1);
        word[piece.len - len - 1] = '\0';
        return word;
    }
    return NULL;
}

#define AGE_BOUND_S   172800 /* two days */
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
           s->priority_weight_qos != usual.priority_weight_qos || !text_empty(s->priority_weight_tres) ||
           !text_empty(s->priority_flags) || s->priority_weight_assoc != usual.priority_weight_assoc ||
           s->priority_favor_small != usual.priority_favor_small;
}

static void order_set(struct policy *p, const struct settings *s)
{
    char word[32];
    int64_t bound = parameter(s->sched_parameters, "age_bound");
    bool ageing = text_is(s->priority_type, "priority/ageing") && !weighs(s);
    p->order = ageing ? ORDER_AGEING : ORDER_PRIORITY;
    p->age_bound_us = (bound >= 0 ? bound : AGE_BOUND_S) * USEC_PER_SEC;
    const char *order = parameter_word(s->sched_parameters, "order", word);
    if (order)
        order_named(order, &p->order);
    p->backfill = text_is(s->scheduler_type, "sched/builtin") ? BACKFILL_NONE : BACKFILL_EASY;
    const char *backfill = parameter_word(s->sched_parameters, "backfill", word);
    if (backfill)
        backfill_named(backfill, &p->backfill);
    const char *promises = parameter_word(s->sched_parameters, "promises", word);
    if (promises)
        promises_named(promises, &p->promise_to);
    int64_t most = parameter(s->sched_parameters, "promises_max");
    p->promise_most = most >= 0 ? (uint32_t)most : PROMISES_MOST;
}

void cluster_policy_check(const struct settings *s, struct str *warnings)
{
    char word[32];
    enum sched_order order;
    enum sched_backfill backfill;
    const char *value = parameter_word(s->sched_parameters, "order", word);
    if (value && !order_named(value, &order))
        str_addf(warnings,
                 "SchedulerParameters: order=%s has no effect; priority, arrival, sjf, saf, wfp and ageing "
                 "are known",
                 value);
    value = parameter_word(s->sched_parameters, "backfill", word);
    if (value && !backfill_named(value, &backfill))
        str_addf(warnings, "%sSchedulerParameters: backfill=%s has no effect; easy and none are known",
                 warnings->len ? "; " : "", value);
    enum sched_promises promises;
    value = parameter_word(s->sched_parameters, "promises", word);
    if (value && !promises_named(value, &promises))
        str_addf(warnings, "%sSchedulerParameters: promises=%s has no effect; head, aged and all are known",
                 warnings->len ? "; " : "", value);
}

void cluster_set_hook(struct cluster *cl, const struct order_hook *hook)
{
    cl->hook = *hook;
}

void cluster_set_policy(struct cluster *cl, const struct settings *s)
{
    struct policy *p = &cl->policy;
    bool multifactor = !s->priority_type || !text_is(s->priority_type, "priority/basic");
    int64_t tests = parameter(s->sched_parameters, "bf_max_job_test");
    int64_t switch_wait = parameter(s->sched_parameters, "max_switch_wait");
    *p = (struct policy){
        .weight_age = s->priority_weight_age,
        .weight_size = s->priority_weight_job_size,
        .weight_part = s->priority_weight_partition,
        .weight_fair = s->priority_weight_fairshare,
        .max_age_us = s->priority_max_age_us > 0 ? s->priority_max_age_us : 1,
        .fifo = !multifactor,
        .by_thread =
            listed(s->select_type_parameters, "CR_CPU") || listed(s->select_type_parameters, "CR_CPU_Memory"),
        .count_memory = text_empty(s->select_type_parameters) ||
                        listed(s->select_type_parameters, "CR_Core_Memory") ||
                        listed(s->select_type_parameters, "CR_CPU_Memory") ||
                        listed(s->select_type_parameters, "CR_Memory") ||
                        listed(s->select_type_parameters, "CR_Socket_Memory"),
        .def_mem_per_cpu = s->def_mem_per_cpu_mib,
        .def_mem_per_node = s->def_mem_per_node_mib,
        .max_mem_per_cpu = s->max_mem_per_cpu_mib,
        .max_mem_per_node = s->max_mem_per_node_mib,
        .grace_us = s->kill_wait_us > 0 ? s->kill_wait_us : USEC_PER_SEC,
        .limits = (enum limit_policy)s->enforce_part_limits,
        .max_switch_wait_us = (switch_wait >= 0 ? switch_wait : 300) * USEC_PER_SEC,
        .topo_optional = listed(s->topology_param, "TopoOptional"),
        .promises = tests > 0 ? (uint32_t)tests : 0,
        .preempt_tier = text_is(s->preempt_type, "preempt/partition_prio"),
        .preempt_mode = preempt_mode_of(s->preempt_mode),
        .preempt_exempt_us = s->preempt_exempt_us,
        .preempt_youngest = listed(s->preempt_parameters, "youngest_first"),
        .share_max = 1,
    };
    if (text_empty(s->select_type_parameters))
        p->by_thread = false;
    order_set(p, s);
    priority_flags_set(p, s);
    licences_set(cl, s->licenses);
    /* Slots may be cut differently now: the keys of the groups say how. */
    for (size_t i = 0; i < cl->node.n; i++) {
        free(cl->node.v[i]->base_key);
        cl->node.v[i]->base_key = node_key(cl, cl->node.v[i]->cfg);
    }
    cl->unsettled = true;
}
