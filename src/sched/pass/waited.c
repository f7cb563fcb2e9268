/* No pass walks the jobs. A class keeps a short log of its causes: an entry when a pass finds
 * another one than before. A job is in its class from the time it came, so its own share is read
 * off the log when it leaves. Whether a job waits for resources or for those before it differs
 * within a class: the few jobs that are next in their partition (pass.h: head) have the time of
 * that counted on themselves; the rest of the class's time in the queue is waiting for priority.
 *
 * After a restart of the controller what is found while nodes are not back yet (pass.h: returned)
 * would name that moment as the cause of all that was not counted before; the first cause is the
 * one that is found then. */
#include "sched/pass/waited.h"

#include "base/alloc.h"
#include "sched/pass/pass.h"

#include <string.h>

/* Entries of a class's log; then the second oldest goes, and its time counts under the oldest. */
#define CAUSES_MAX 32

static enum job_reason cause_of(enum job_reason reason)
{
    return reason == REASON_RESOURCES ? REASON_PRIORITY : reason;
}

void waited_pass_begins(struct plan_private *v, const struct cluster *cl, int64_t now_us)
{
    for (size_t i = 0; i < v->head.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, v->head.v[i]);
        if (!j || !j->head_from_us)
            continue;
        j->head_us += now_us - j->head_from_us;
        j->head_from_us = 0;
    }
}

static void cause_log(struct sclass *k, enum job_reason cause, int64_t now_us, bool returned)
{
    if (k->cause.n > 0 ? k->cause.v[k->cause.n - 1].reason == cause : !returned)
        return;
    if (k->cause.n == CAUSES_MAX)
        vec_remove(&k->cause, 1);
    struct cause one = {.since_us = now_us, .reason = cause};
    vec_push(&k->cause, one);
}

void waited_pass_found(struct plan_private *v, const struct cluster *cl)
{
    for (size_t i = 0; i < v->note.n; i++) {
        struct sclass *k = i < cl->klass.n ? cl->klass.v[i] : NULL;
        if (k && v->note.v[i].serial == k->serial)
            cause_log(k, cause_of(v->note.v[i].reason), v->now_us, v->returned);
    }
    for (size_t i = 0; i < v->head.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, v->head.v[i]);
        const struct sclass *k = j ? j->lane->klass : NULL;
        if (!k || k->cause.n == 0)
            continue;
        j->head_from_us = v->now_us;
        j->head_first |= k->cause.n == 1 && k->cause.v[0].since_us == v->now_us;
    }
}

void sched_waited(const struct cluster *cl, uint64_t job_id, int64_t from_us, int64_t until_us,
                  struct waited *ret)
{
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    memset(ret, 0, sizeof *ret);
    if (until_us <= from_us)
        return;
    if (!j || j->lane->klass->cause.n == 0) {
        ret->us[REASON_PRIORITY] = until_us - from_us;
        return;
    }
    const struct sclass *k = j->lane->klass;
    for (size_t i = 0; i < k->cause.n; i++) {
        int64_t begin =
            i > 0 && k->cause.v[i].since_us > from_us ? k->cause.v[i].since_us : from_us;
        int64_t end = i + 1 < k->cause.n && k->cause.v[i + 1].since_us < until_us
                          ? k->cause.v[i + 1].since_us
                          : until_us;
        if (end > begin)
            ret->us[k->cause.v[i].reason] += end - begin;
    }
    int64_t head = j->head_us +
                   (j->head_from_us && until_us > j->head_from_us ? until_us - j->head_from_us : 0);
    if (j->head_first && k->cause.v[0].since_us > from_us)
        head += k->cause.v[0].since_us - from_us;
    head = head < ret->us[REASON_PRIORITY] ? head : ret->us[REASON_PRIORITY];
    ret->us[REASON_RESOURCES] += head;
    ret->us[REASON_PRIORITY] -= head;
}

void sched_waited_counted(struct cluster *cl, uint64_t job_id, int64_t at_us)
{
    struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    if (!j)
        return;
    j->head_us = 0;
    j->head_first = false;
    if (j->head_from_us)
        j->head_from_us = at_us;
}
