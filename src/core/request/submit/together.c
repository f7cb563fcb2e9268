/* What the components of one job ask for together, which each alone may. */
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/limits.h"
#include "core/record/record.h"
#include "core/request/request.h"

#include "base/alloc.h"

#include <stdlib.h>

/* Licences that there are never as many of. */
static enum refusal licences_check(const struct core *c, const struct jobrec *r, size_t n,
                                   struct str *why)
{
    const char **licences = xcalloc(n, sizeof *licences);
    for (size_t i = 0; i < n; i++)
        licences[i] = r[i].j.spec.req.licenses;
    enum refusal refusal = sched_check_together(c->cluster, licences, n, why);
    free(licences);
    return refusal;
}

/* A limit that they can never keep: with DenyOnLimit they are not taken, else they wait. */
static enum refusal limits_refuse(const struct core *c, const struct jobrec *r, size_t n,
                                  struct str *why, struct str *warning)
{
    const struct jobrec **each = xcalloc(n, sizeof *each);
    struct str detail = STR_INIT;
    bool deny = false;
    for (size_t i = 0; i < n; i++) {
        const struct qosrec *q = qos_find(c, r[i].j.spec.req.qos);
        deny |= q && (q->q.flags & QOS_DENY_ON_LIMIT);
        each[i] = &r[i];
    }
    enum job_reason bar = enforces_limits(c) ? limits_together(c, each, n, &detail) : REASON_NONE;
    deny &= bar != REASON_NONE;
    if (bar != REASON_NONE && (deny || warning))
        str_addf(deny ? why : warning, "%s%s", deny ? "" : "it will wait: ", str_text(&detail));
    str_done(&detail);
    free(each);
    return deny ? REFUSE_PARTITION_LIMIT : REFUSE_NONE;
}

enum refusal submit_together_check(const struct core *c, const struct jobrec *r, size_t n,
                                   struct str *why, struct str *warning)
{
    if (n < 2)
        return REFUSE_NONE;
    enum refusal refusal = licences_check(c, r, n, why);
    return refusal ? refusal : limits_refuse(c, r, n, why, warning);
}

enum refusal components_together_check(const struct core *c, const jobrec_vec *of,
                                       const struct job_spec *const *as, struct str *why)
{
    ASSERT(as || !of->n);
    struct jobrec *trial = xcalloc(of->n + 1, sizeof *trial);
    for (size_t i = 0; i < of->n; i++)
        trial[i] = (struct jobrec){.j = {.user_name = of->v[i]->j.user_name, .spec = *as[i]}};
    enum refusal refusal = submit_together_check(c, trial, of->n, why, NULL);
    free(trial);
    return refusal;
}

enum refusal update_together_check(const struct core *c, const struct jobrec *r,
                                   const struct job_spec *changed, struct str *why)
{
    ASSERT(job_find(c, r->j.id) && changed);
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id)
        return REFUSE_NONE;
    components_find(c, r->j.het_job_id, &jobs);
    const struct job_spec **as = xcalloc(jobs.n + 1, sizeof *as);
    for (size_t i = 0; i < jobs.n; i++)
        as[i] = jobs.v[i] == r ? changed : &jobs.v[i]->j.spec;
    enum refusal refusal = components_together_check(c, &jobs, as, why);
    free(as);
    vec_done(&jobs);
    return refusal;
}

void components_look(struct core *c, const struct jobrec *r)
{
    ASSERT(job_find(c, r->j.id));
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id)
        return;
    components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.v[i] != r)
            eligible_update(c, jobs.v[i]);
    vec_done(&jobs);
}
