/* Triggers are set and removed. Their programs run on the controller's host: so only who may do
 * anything there sets them, as in Slurm. */
#include "base/plain.h"
#include "core/record/triggers/triggers.h"
#include "core/request/request.h"
#include "model/job/array.h"

#include <string.h>

#define OF_USER_MOST  500
#define MOST          2000
#define PROGRAM_BYTES 4096

/* ---- set ---- */

static enum refusal refuse(const char **detail, enum refusal refusal, const char *why)
{
    *detail = why;
    return refusal;
}

static enum refusal asker_wrong(const struct core *c, const char **detail)
{
    const struct peer *peer = c->turn.peer;
    size_t his = 0;
    if (c->settings.word.disable_triggers)
        return refuse(detail, REFUSE_DISABLED,
                      "SlurmctldParameters=disable_triggers: no triggers are set here");
    if (!peer->is_admin || peer->is_plain)
        return refuse(detail, REFUSE_ACCESS_DENIED,
                      "programs of triggers run on the controller's host: root, SlurmUser and the "
                      "user whom the controller runs as may set them. sbatch --mail-type=, "
                      "--signal= and --dependency= tell of jobs");
    for (size_t i = 0; i < c->triggers.of.n; i++)
        his += c->triggers.of.v[i]->t.user_id == peer->uid;
    if (his >= OF_USER_MOST || c->triggers.of.n >= MOST)
        return refuse(detail, REFUSE_TOO_LARGE,
                      "a user has at most 500 triggers, and a cluster 2000: strigger --clear "
                      "removes some");
    return REFUSE_NONE;
}

static enum refusal program_wrong(const char *program, const char **detail)
{
    if (!program || program[0] != '/')
        return refuse(detail, REFUSE_BAD_MESSAGE, "the program of a trigger is a path from /");
    if (strlen(program) > PROGRAM_BYTES || !text_is_plain(program))
        return refuse(detail, REFUSE_TOO_LARGE,
                      "a program and its arguments are at most 4096 printable characters");
    return REFUSE_NONE;
}

static bool task_live(const struct core *c, const struct jobrec *r, uint64_t id, uint32_t task,
                      bool *ret_known)
{
    struct arrayrec *array = array_of(c, id);
    const struct jobrec *element = array ? map_u64_get(array->element, task) : NULL;
    bool waits = r && job_is_array(r) && idset_has(&r->pending, task);
    *ret_known =
        element || waits ||
        (array && (idset_has(&array->gone_well, task) || idset_has(&array->gone_bad, task)));
    return element ? job_live(element) : waits;
}

static bool any_live(const struct core *c, const struct jobrec *r, uint64_t id)
{
    jobrec_vec parts = {0};
    bool live = !array_over(c, id) || (r && job_live(r));
    if (r && r->j.het_job_id == id)
        components_find(c, id, &parts);
    for (size_t i = 0; i < parts.n; i++)
        live |= job_live(parts.v[i]);
    vec_done(&parts);
    return live;
}

/* The job as it is kept: by its number, and of an element by its array's. */
static enum refusal job_read(const struct core *c, const char *text, struct trigger *t,
                             const char **detail)
{
    struct job_ref ref = {0};
    struct err err = {0};
    if (!job_ref_parse(text, &ref, &err))
        return refuse(detail, REFUSE_INVALID_JOB_ID, arena_strdup(c->turn.fx->arena, err.text));
    bool plain = !ref.has_step && !ref.tasks.count;
    t->job_id = ref.job_id + (ref.het_offset > 0 ? (uint64_t)ref.het_offset : 0);
    t->task_plus1 = ref.task_id == NO_TASK ? 0 : ref.task_id + 1;
    job_ref_done(&ref);
    if (!plain)
        return refuse(detail, REFUSE_INVALID_JOB_ID,
                      "a trigger is about a job, an array or one element: 42, 42_7");
    const struct jobrec *r = job_find(c, t->job_id);
    bool known = r || array_of(c, t->job_id), live;
    if (known && !t->task_plus1 && r && r->j.array_job_id && r->j.array_job_id != r->j.id) {
        t->task_plus1 = r->j.array_task_id + 1; /* an element, by its own number */
        t->job_id = r->j.array_job_id;
    }
    if (t->task_plus1)
        live = task_live(c, job_find(c, t->job_id), t->job_id, t->task_plus1 - 1, &known);
    else
        live = known && any_live(c, r, t->job_id);
    if (!known)
        return refuse(detail, REFUSE_INVALID_JOB_ID, NULL);
    return live ? REFUSE_NONE : refuse(detail, REFUSE_ALREADY_DONE, NULL);
}

static enum refusal nodes_read(const struct core *c, const char *text, struct trigger *t,
                               const char **detail)
{
    struct hostlist list = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    struct err err = {0};
    enum refusal refusal = REFUSE_NONE;
    if (!hostlist_parse(&list, text, &err))
        refusal = refuse(detail, REFUSE_INVALID_NODE, arena_strdup(c->turn.fx->arena, err.text));
    for (size_t i = 0; i < list.n && !refusal; i++)
        if (!node_find(c, list.name[i]))
            refusal = refuse(detail, REFUSE_INVALID_NODE,
                             arena_printf(c->turn.fx->arena, "there is no node %s", list.name[i]));
    hostlist_uniq(&list);
    hostlist_fold(&list, &folded);
    t->nodes = list.n && !refusal ? arena_strdup(c->turn.fx->arena, str_text(&folded)) : NULL;
    str_done(&folded);
    hostlist_done(&list);
    return refusal;
}

static bool is_there(const struct core *c, const struct trigger *t)
{
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        const struct trigger *o = &c->triggers.of.v[i]->t;
        if (o->user_id == t->user_id && o->events == t->events && o->job_id == t->job_id &&
            o->task_plus1 == t->task_plus1 && text_is(o->nodes, t->nodes) &&
            o->offset == t->offset && o->permanent == t->permanent &&
            text_is(o->program, t->program))
            return true;
    }
    return false;
}

static enum refusal trigger_wrong(const struct core *c, const struct msg_set_trigger *m,
                                  struct trigger *t, const char **detail)
{
    enum refusal refusal = asker_wrong(c, detail);
    if (!refusal)
        refusal = program_wrong(m->program, detail);
    if (!refusal && !m->events)
        refusal = refuse(detail, REFUSE_BAD_MESSAGE, "a trigger of no event");
    if (!refusal && !text_empty(m->job) && !text_empty(m->nodes))
        refusal =
            refuse(detail, REFUSE_BAD_MESSAGE, "a trigger is about a job or about nodes, not both");
    if (!refusal && m->events & TRIGGER_JOB_BITS && text_empty(m->job))
        refusal = refuse(detail, REFUSE_BAD_MESSAGE, "fini and time are events of a job: --jobid");
    if (!refusal && !text_empty(m->job))
        refusal = job_read(c, m->job, t, detail);
    if (!refusal && !text_empty(m->nodes))
        refusal = nodes_read(c, m->nodes, t, detail);
    if (!refusal && is_there(c, t))
        refusal = refuse(detail, REFUSE_TRIGGER_DUPLICATE, NULL);
    return refusal;
}

/* Limits may be nearer than what the jobs' timers are set to. */
static void jobs_tell(struct core *c, const struct trigger *t)
{
    struct map_walk w = {0};
    while (t->events & TRIGGER_BIT(TIME) && map_u64_next(c->jobs.by_id, &w))
        if (trigger_of_job(t, w.value))
            timer_arm(c, w.value);
}

void req_set_trigger(struct core *c, const struct msg_set_trigger *m)
{
    ASSERT(c->turn.peer);
    const struct peer *peer = c->turn.peer;
    const char *detail = NULL;
    struct trigger t = {.user_id = peer->uid,
                        .group_id = peer->gid,
                        .user_name = peer->user,
                        .events = m->events,
                        .offset = m->offset,
                        .permanent = m->permanent,
                        .program = m->program};
    enum refusal refusal = trigger_wrong(c, m, &t, &detail);
    struct msg_done done = {.refusal = refusal, .detail = detail};
    if (!refusal) {
        done.count = trigger_add(c, &t);
        jobs_tell(c, &t);
    }
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
}

/* ---- clear ---- */

static bool is_meant(const struct trigger *t, const struct msg_clear_trigger *m,
                     const struct job_ref *ref)
{
    uint64_t job = ref->job_id + (ref->het_offset > 0 ? (uint64_t)ref->het_offset : 0);
    return (!m->id || t->id == m->id) && (!m->user_plus1 || t->user_id == m->user_plus1 - 1) &&
           (text_empty(m->job) ||
            (t->job_id == job && (ref->task_id == NO_TASK || t->task_plus1 == ref->task_id + 1)));
}

void req_clear_trigger(struct core *c, const struct msg_clear_trigger *m)
{
    ASSERT(c->turn.peer);
    struct job_ref ref = {.task_id = NO_TASK};
    struct err err = {0};
    uint64_t gone = 0, others = 0;
    bool any = m->id || m->user_plus1 || !text_empty(m->job);
    bool admin = peer_administers(c, c->turn.peer);
    if (!any || (!text_empty(m->job) && !job_ref_parse(m->job, &ref, &err))) {
        reply_done(c, any ? REFUSE_INVALID_JOB_ID : REFUSE_BAD_MESSAGE,
                   any ? err.text : "which triggers? --id, --jobid or --user says");
        return;
    }
    for (size_t i = c->triggers.of.n; i-- > 0;) {
        struct triggerrec *t = c->triggers.of.v[i];
        if (!is_meant(&t->t, m, &ref))
            continue;
        bool may = admin || t->t.user_id == c->turn.peer->uid;
        others += !may;
        gone += may;
        if (may)
            trigger_remove(c, t);
    }
    job_ref_done(&ref);
    struct msg_done done = {.count = gone};
    if (!gone) {
        done.refusal = others ? REFUSE_ACCESS_DENIED : REFUSE_TRIGGER_NONE;
        done.detail = others
                          ? "only who set a trigger, and administrators, may remove it"
                          : "there is no such trigger: strigger --get shows those that there are";
    }
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
}
