/* bstop and bresume: to each element of an array what fits it. */
#include "base/idset.h"
#include "cli/lsf/control.h"
#include "model/grammar/signals.h"

/* What elements of an array are: to each what fits it. */
enum control_part { WAITS, RUNS, SUSPENDED, PARTS };

/* By a signal to all of it a job that runs is stopped, as LSF does it: it keeps what it holds. */
static bool signal_send(const struct lsf_control *k, const char *id, const char *ref, int signo)
{
    struct msg_cancel m = {.ids = ref, .signal = signo, .full = true};
    return lsf_control_ask(k, id, MSG_CANCEL, &m);
}

static bool action_send(const struct lsf_control *k, const char *id, const char *ref,
                        enum job_action action)
{
    struct msg_job_control m = {.action = action, .ids = ref};
    return lsf_control_ask(k, id, MSG_JOB_CONTROL, &m);
}

static bool part_stop(const struct lsf_control *k, const char *id, const char *ref,
                      enum control_part part)
{
    if (part == WAITS)
        return action_send(k, id, ref, ACTION_UHOLD);
    return part == SUSPENDED || signal_send(k, id, ref, SIGNAL_STOP);
}

/* Whoever suspended it with `scontrol suspend` lets it go on the same way. */
static bool part_resume(const struct lsf_control *k, const char *id, const char *ref,
                        enum control_part part)
{
    if (part == WAITS)
        return action_send(k, id, ref, ACTION_RELEASE);
    return part == SUSPENDED ? action_send(k, id, ref, ACTION_RESUME)
                             : signal_send(k, id, ref, SIGNAL_CONT);
}

static const char *part_ref(const struct lsf_control *k, uint64_t array, const struct idset *tasks)
{
    struct str text = STR_INIT;
    str_addf(&text, "%llu_[", (unsigned long long)array);
    idset_format(tasks, &text);
    str_addc(&text, ']');
    const char *kept = arena_strdup(k->a, str_text(&text));
    str_done(&text);
    return kept;
}

static bool parts_do(const struct lsf_control *k, const char *id,
                     bool (*one)(const struct lsf_control *k, const char *id, const char *ref,
                                 enum control_part part))
{
    struct lsf_filter wanted = {0};
    struct lsf_job_list l = {0};
    struct idset tasks[PARTS] = {0};
    struct err e = {0};
    uint64_t array = 0;
    bool live = false;
    vec_push(&wanted.ids, id);
    bool ok = lsf_jobs_read(k->client, &wanted, k->a, &l, &e);
    for (size_t i = 0; i < l.job.n; i++) {
        const struct job *j = l.job.v[i];
        if (lsf_job_is_over(j))
            continue;
        live = true;
        array = j->array_job_id;
        idset_add(&tasks[lsf_job_is_pending(j)       ? WAITS
                         : j->state == JOB_SUSPENDED ? SUSPENDED
                                                     : RUNS],
                  array ? j->array_task_id : 0);
    }
    if (!ok || !live)
        ok = lsf_control_problem(id, !ok        ? e.text
                                     : !l.job.n ? "No matching job found"
                                                : "Job has already finished");
    for (int p = 0; ok && p < PARTS; p++)
        if (tasks[p].count)
            ok = one(k, id, array ? part_ref(k, array, &tasks[p]) : lsf_job_ref(id, k->a),
                     (enum control_part)p);
    for (int p = 0; p < PARTS; p++)
        idset_done(&tasks[p]);
    lsf_filter_done(&wanted);
    lsf_job_list_done(&l);
    return ok;
}

bool lsf_stop_one(const struct lsf_control *k, const char *id)
{
    if (!parts_do(k, id, part_stop))
        return false;
    lsf_done_print(id, "stopped");
    return true;
}

bool lsf_resume_one(const struct lsf_control *k, const char *id)
{
    if (!parts_do(k, id, part_resume))
        return false;
    lsf_done_print(id, "resumed");
    return true;
}
