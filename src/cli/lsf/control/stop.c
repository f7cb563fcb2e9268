/* bstop and bresume: to each element of an array what fits it; elements in pieces. */
#include "cli/lsf/control.h"
#include "model/grammar/signals.h"

#include <string.h>

#define PIECE_MAX 5000u /* elements of a request: their indexes have room in it */

const char *lsf_elements_next(const struct idset *elements, uint32_t *from, struct arena *a)
{
    struct idset piece = IDSET_INIT;
    struct str text = STR_INIT;
    uint32_t at;
    bool more = *from ? idset_next(elements, *from - 1, &at) : idset_first(elements, &at);
    for (; more && piece.count < PIECE_MAX; more = idset_next(elements, at, &at)) {
        idset_add(&piece, at);
        *from = at + 1;
    }
    idset_format(&piece, &text);
    const char *kept = piece.count ? arena_printf(a, "[%s]", str_text(&text)) : NULL;
    idset_done(&piece);
    str_done(&text);
    return kept;
}

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

typedef bool (*part_deed)(const struct lsf_control *k, const char *id, const char *ref,
                          enum control_part part);

/* Elements by name become jobs of their own, so an array of which nothing else is there is named as
 * a whole. */
static bool part_do(const struct lsf_control *k, const char *id, uint64_t array,
                    const struct idset tasks[PARTS], enum control_part p, part_deed one)
{
    bool whole = p == WAITS && !tasks[RUNS].count && !tasks[SUSPENDED].count && !strchr(id, '[');
    const char *piece;
    bool ok = true;
    if (!tasks[p].count || !array || whole)
        return !tasks[p].count || one(k, id, lsf_job_ref(id, k->a), p);
    for (uint32_t from = 0; ok && (piece = lsf_elements_next(&tasks[p], &from, k->a));)
        ok = one(k, id, arena_printf(k->a, "%llu_%s", (unsigned long long)array, piece), p);
    return ok;
}

static bool parts_do(const struct lsf_control *k, const char *id, part_deed one)
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
        ok = part_do(k, id, array, tasks, (enum control_part)p, one);
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
