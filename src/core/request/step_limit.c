/* StepId=: a step's limit, or that of all that run; the script, whose limit is the job's, is none
 * of them. Who may end a step may let it end sooner; only operators give it more time. */
#include "core/request/request.h"

static bool is_meant(const struct steprec *st, const struct job_ref *ref)
{
    return step_live(st) && st->s.step_id >= 0 && (!ref->has_step || st->s.step_id == ref->step_id);
}

static enum refusal one_update(struct core *c, struct jobrec *r, const struct job_ref *ref,
                               int64_t limit_us, const char **detail)
{
    enum refusal refusal = REFUSE_INVALID_JOB_ID;
    if (!may_manage(c, r))
        return REFUSE_ACCESS_DENIED;
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        if (!is_meant(st, ref))
            continue;
        if (!peer_directs(c, r) && limit_us > (st->s.limit_us ? st->s.limit_us : r->j.limit_us)) {
            *detail = "only operators may raise the limit of a running step";
            return REFUSE_ACCESS_DENIED;
        }
        step_limit_set(c, r, st, limit_us);
        refusal = REFUSE_NONE;
    }
    return refusal;
}

enum refusal step_limits_update(struct core *c, const struct msg_update_job *m, const char **detail)
{
    ASSERT(m->step_limit_us);
    struct job_ref ref = {0};
    jobrec_vec jobs = {0};
    enum refusal refusal = REFUSE_NONE;
    bool any = false;
    if (!job_ref_parse(m->ids ? m->ids : "", &ref, NULL)) {
        job_ref_done(&ref);
        return REFUSE_INVALID_JOB_ID;
    }
    ref.exact = ref.has_step; /* a step is one record's */
    if (ref_work(c, &ref) > refs_work_most(c))
        refusal = REFUSE_TOO_LARGE;
    else
        ref_resolve(c, &ref, false, &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        enum refusal one = job_live(jobs.v[i])
                               ? one_update(c, jobs.v[i], &ref, m->step_limit_us, detail)
                               : REFUSE_INVALID_JOB_ID;
        any |= one == REFUSE_NONE;
        if (one && one != REFUSE_INVALID_JOB_ID) /* others of the array may have no such step */
            refusal = one;
    }
    vec_done(&jobs);
    job_ref_done(&ref);
    return refusal || any ? refusal : REFUSE_INVALID_JOB_ID;
}
