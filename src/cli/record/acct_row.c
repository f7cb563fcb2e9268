/* When a line of sacct began and ended, and how. */
#include "base/duration.h"
#include "cli/record/acct_cells.h"
#include "cli/record/columns_job.h"
#include "model/job/job_counts.h"

#include "base/alloc.h"

static int64_t clip(int64_t us, int64_t low, int64_t high)
{
    if (!us)
        return 0;
    return low && us < low ? low : high && us > high ? high : us;
}

static int64_t truncated(const struct cell_env *env, int64_t us)
{
    const struct acct_env *more = env->more;
    return more ? clip(us, more->from_us, more->to_us) : us;
}

static int64_t start_of(const struct acct_row *row)
{
    if (row->step)
        return row->step->start_us;
    return row->job->resize_us ? row->job->resize_us : row->job->start_us;
}

/* 0 while it goes on. */
static int64_t end_of(const struct acct_row *row)
{
    if (row->step)
        return row->step->end_us;
    enum job_state state = row->job->state;
    bool over = job_state_over(state) || state == JOB_COMPLETING || state == JOB_REQUEUED;
    return over ? row->job->end_us : 0;
}

int64_t acct_start_us(const struct cell_env *env, const struct acct_row *row)
{
    return truncated(env, start_of(row));
}

int64_t acct_end_us(const struct cell_env *env, const struct acct_row *row)
{
    return truncated(env, end_of(row));
}

int64_t acct_suspended_us(const struct cell_env *env, const struct acct_row *row)
{
    if (row->step && !row->job)
        return row->step->suspended_us;
    return row->step ? step_suspended_us(row->step, row->job, env->now_us)
                     : job_part_suspended_us(row->job, env->now_us);
}

int64_t acct_elapsed_us(const struct cell_env *env, const struct acct_row *row)
{
    int64_t start = acct_start_us(env, row),
            end = truncated(env, end_of(row) ? end_of(row) : env->now_us);
    return whole_seconds_ran(start, end, acct_suspended_us(env, row));
}

bool acct_step_is_of(const struct step *step, const struct job *j)
{
    /* Of one that was sent back and waits they are the former run's, which has a row of its own. */
    if (step->job_id != j->id || step->attempt != j->attempt || !j->start_us)
        return false;
    /* One that was queued and never began is of the part that it ended in, or waits in. */
    int64_t at_us = step->start_us ? step->start_us : step->end_us ? step->end_us : INT64_MAX;
    if (j->state == JOB_RESIZING)
        return at_us >= j->start_us && at_us < j->end_us;
    return at_us >= j->resize_us;
}

size_t acct_steps_of(const struct step *const *step, size_t n, const struct job *j)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct step *at = step[mid];
        bool before = at->job_id != j->id ? at->job_id < j->id : at->attempt < j->attempt;
        if (before)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

enum job_state acct_state(const struct acct_row *row)
{
    ASSERT(row->step || row->job);
    bool stopped = row->job && row->job->state == JOB_SUSPENDED;
    if (row->step && row->step->state == JOB_RUNNING && stopped)
        return JOB_SUSPENDED;
    if (row->step)
        return (enum job_state)row->step->state;
    if (row->job->state == JOB_SPECIAL_EXIT) /* squeue's word: sacct(1) knows none for it */
        return JOB_PENDING;
    bool ending = row->job->state == JOB_COMPLETING;
    return (enum job_state)(ending ? row->job->end_state : row->job->state);
}

int32_t acct_job_exit(const struct job *j)
{
    switch ((enum job_state)(j->state == JOB_COMPLETING ? j->end_state : j->state)) {
    case JOB_CANCELLED:
    case JOB_TIMEOUT:
    case JOB_DEADLINE:
    case JOB_PREEMPTED:
    case JOB_NODE_FAIL:
    case JOB_REQUEUED: return 0;
    case JOB_PENDING:
    case JOB_RUNNING:
    case JOB_SUSPENDED:
    case JOB_COMPLETING:
    case JOB_RESIZING:
    case JOB_COMPLETED:
    case JOB_FAILED:
    case JOB_SPECIAL_EXIT:
    case JOB_BOOT_FAIL:
    case JOB_OUT_OF_MEMORY:
    case JOB_STATE_COUNT: break;
    }
    return j->exit_status;
}
