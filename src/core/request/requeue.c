/* A job is sent back to the queue by hand. */
#include "core/request/request.h"

/* A component goes back with its leader, and may be there first; any other job that waits is where
 * it was to go. */
static enum refusal requeue_waiting(struct core *c, struct jobrec *r, bool hold,
                                    const char **detail)
{
    const struct jobrec *leader = job_find(c, leader_of(r));
    if (!leader || leader == r || leader->j.state == JOB_PENDING) {
        *detail = hold ? "the job is pending already; `scontrol hold` holds it"
                       : "the job is pending already";
        return REFUSE_JOB_PENDING;
    }
    if (!hold && r->j.spec.hold && !r->j.admin_hold && r->j.reason == REASON_MAX_REQUEUE) {
        hold_end(c, r); /* who sends the job back has looked, as for its leader */
        eligible_update(c, r);
        job_save(c, r);
    }
    if (hold && !r->j.spec.hold) {
        hold_write(c, r, true);
        r->j.reason = REASON_REQUEUED_HELD;
        eligible_update(c, r);
        job_save(c, r);
    }
    return REFUSE_NONE;
}

/* Why it will be held, told from a hold that it had while it ran. */
static void held_why(struct jobrec *r, bool hold)
{
    if (hold)
        r->j.reason = REASON_REQUEUED_HELD;
}

/* Its former run stays on the disk with all of its texts. */
static bool run_fits(struct core *c, const struct jobrec *r, const char **detail)
{
    struct str why = STR_INIT;
    uint64_t bytes = row_short(&r->j.spec) + texts_long(&r->j.spec);
    bool fits = !r->j.start_us || user_room_disk_fits(c, r->j.user_id, bytes, &why);
    if (!fits)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return fits;
}

/* Of components that ended at different times a restart finds the later ones alone; without the
 * others none runs. */
static bool is_whole(const struct core *c, const struct jobrec *r)
{
    jobrec_vec jobs = {0};
    struct str set = STR_INIT;
    if (!r->j.het_job_id || !r->j.het_set)
        return true;
    components_find(c, r->j.het_job_id, &jobs);
    if (jobs.n)
        str_addf(&set, "%llu-%llu", (unsigned long long)r->j.het_job_id,
                 (unsigned long long)jobs.v[jobs.n - 1]->j.id);
    bool whole = text_is(str_text(&set), r->j.het_set);
    str_done(&set);
    vec_done(&jobs);
    return whole;
}

enum refusal job_requeue(struct core *c, struct jobrec *r, bool hold, bool special,
                         const char **detail)
{
    ASSERT(job_find(c, r->j.id) == r);
    if (!r->j.spec.batch) {
        *detail =
            "only batch jobs can be requeued: an interactive allocation ends with its command";
        return REFUSE_NOT_REQUEUABLE;
    }
    if (!job_may_requeue(c, r)) {
        *detail = r->j.spec.requeue == NO ? "it was submitted with --no-requeue; `scontrol update "
                                            "JobId=… Requeue=1` allows it"
                                          : "JobRequeue=0 forbids it; `scontrol update JobId=… "
                                            "Requeue=1` allows it for a job";
        return REFUSE_DISABLED;
    }
    if (!is_whole(c, r)) {
        *detail = "components of it have been over for so long that they are forgotten, and none "
                  "runs without the others: submit it again";
        return REFUSE_NOT_REQUEUABLE;
    }
    if (!run_fits(c, r, detail))
        return REFUSE_TOO_LARGE;
    if (r->j.state != JOB_PENDING)
        requeue_forgive(c, r);
    switch ((enum job_state)r->j.state) {
    case JOB_PENDING: return requeue_waiting(c, r, hold, detail);
    case JOB_RUNNING:
    case JOB_SUSPENDED:
        r->j.requeue_pending = true;
        r->j.hold_after_requeue |= hold; /* Priority=0 of a running job holds it, too */
        job_end(c, r, special ? JOB_SPECIAL_EXIT : JOB_REQUEUED,
                hold ? REASON_REQUEUED_HELD : REASON_NONE, c->settings.kill_wait_us,
                "DUE TO JOB REQUEUE");
        return REFUSE_NONE;
    case JOB_COMPLETING:
        /* It is ending anyway: it goes back instead of taking its end state. */
        r->j.requeue_pending = true;
        r->j.hold_after_requeue |= hold || r->j.admin_hold;
        held_why(r, hold);
        job_move_ending(c, r, JOB_REQUEUED,
                        special ? JOB_SPECIAL_EXIT : (enum job_state)r->j.end_state);
        job_save(c, r);
        return REFUSE_NONE;
    case JOB_REQUEUED:
        r->j.hold_after_requeue |= hold;
        held_why(r, hold);
        job_save(c, r);
        return REFUSE_NONE;
    case JOB_SPECIAL_EXIT: return REFUSE_NONE;
    case JOB_COMPLETED:
    case JOB_CANCELLED:
    case JOB_FAILED:
    case JOB_TIMEOUT:
    case JOB_NODE_FAIL:
    case JOB_PREEMPTED:
    case JOB_BOOT_FAIL:
    case JOB_DEADLINE:
    case JOB_OUT_OF_MEMORY:
    case JOB_RESIZING:
        r->j.hold_after_requeue |= hold || r->j.admin_hold;
        held_why(r, hold);
        back_to_pending(c, r, (enum job_state)r->j.state, special);
        return REFUSE_NONE;
    case JOB_STATE_COUNT: break;
    }
    return REFUSE_NOT_RUNNING;
}
