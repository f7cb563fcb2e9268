/* Jobs as if they were submitted, planned once, and gone again: --test-only, and whether
 * --immediate has a chance. What the planner would be told of them is what it is told of those that
 * wait (record/eligible.c), so limits, reservations that draw them and their place in the order
 * count. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"
#include "core/record/accounts/minutes.h"
#include "core/request/request.h"
#include "sched/answer/submitted.h"

#include <stdlib.h>

/* A limit that would keep one of them from the planner; false: none. */
static bool is_barred(const struct core *c, const struct jobrec *r, size_t n, struct arena *a,
                      const char **ret_why)
{
    for (size_t i = 0; i < n; i++) {
        struct str detail = STR_INIT;
        enum job_reason bar = minutes_or_limits_bar(c, &r[i], NULL, &detail);
        *ret_why = arena_strdup(a, detail.len ? str_text(&detail) : job_reason_sentence(bar));
        str_done(&detail);
        if (bar != REASON_NONE)
            return true;
    }
    return false;
}

/* What it asks for, where nobody has chosen its CPUs yet. */
static int32_t cpus_asked(const struct job_request *r)
{
    int32_t tasks = r->ntasks ? r->ntasks : 1;
    return tasks * (r->cpus_per_task ? r->cpus_per_task : 1);
}

/* Of all components: their nodes, CPUs and partitions together, and when the last can start. */
static void starts_sum(const struct jobrec *r, const struct submitted_start *start, size_t n,
                       struct arena *a, struct msg_submitted *ret)
{
    struct str nodes = STR_INIT, parts = STR_INIT;
    struct hostlist names = HOSTLIST_INIT;
    bool planned = true;
    for (size_t i = 0; i < n; i++) {
        const struct job_spec *spec = &r[i].j.spec;
        const char *part = start[i].partition ? start[i].partition : spec->req.partition;
        int64_t at = start[i].start_us > spec->begin_us ? start[i].start_us : spec->begin_us;
        planned &= start[i].start_us > 0;
        ret->planned_us = at > ret->planned_us ? at : ret->planned_us;
        ret->cpus += start[i].cpus ? start[i].cpus : cpus_asked(&spec->req);
        if (start[i].nodes)
            (void)hostlist_parse(&names, start[i].nodes, NULL);
        if (!list_has(str_text(&parts), part))
            list_addf(&parts, "%s", part);
        if (start[i].why && !ret->warning)
            ret->warning = start[i].why;
    }
    if (!planned)
        ret->planned_us = 0;
    hostlist_uniq(&names);
    hostlist_fold(&names, &nodes);
    ret->nodes = nodes.len ? arena_strdup(a, str_text(&nodes)) : NULL;
    ret->partition = arena_strdup(a, str_text(&parts));
    str_done(&nodes);
    hostlist_done(&names);
    str_done(&parts);
}

void submission_try(struct core *c, const struct jobrec *r, size_t n, bool now_only,
                    struct msg_submitted *ret)
{
    ASSERT(n > 0);
    struct arena *a = c->turn.fx->arena;
    struct waiting *w = xcalloc(n, sizeof *w);
    struct submitted_start *start = xcalloc(n, sizeof *start);
    for (size_t i = 0; i < n; i++) {
        w[i] = planner_told(c, &r[i], 1);
        w[i].het_job_id = n > 1 ? r[0].j.id : 0;
        w[i].het_size = n > 1 ? (uint32_t)n : 0;
    }
    if (!is_barred(c, r, n, a, &ret->warning)) {
        ret->warning = NULL;
        sched_submitted(c->cluster, c->plan, w, n, c->turn.now_us, now_only, a, start);
    }
    starts_sum(r, start, n, a, ret);
    ret->job_id = r[0].j.id;
    free(start);
    free(w);
}
