/* Reads of live state. Filters are read once; each record is a copy on the stack with its computed
 * fields filled, handed to the view and forgotten. */
#include "core/query/query.h"

#include "base/list.h"
#include "core/record/private.h"
#include "core/record/triggers.h"
#include "model/gpu_idle.h"
#include "model/gres.h"
#include "model/stopped.h"

#include <string.h>

/* ---- filters -------------------------------------------------------------------------------- */

struct filter {
    const struct msg_query *q;
    struct arena *a;
    VEC(uint64_t) uid;
    uint32_t states;       /* bit a state */
    bool stopped;          /* running ones that SIGSTOP stopped, too */
    struct hostlist nodes; /* jobs on any of these */
    VEC(struct job_ref) ref;
};

static enum refusal states_read(struct filter *f, struct str *detail)
{
    struct span rest = span_of(f->q->states), piece;
    int32_t state;
    if (!f->q->states) {
        for (int s = 0; s < JOB_STATE_COUNT; s++)
            f->states |= job_state_over((enum job_state)s) ? 0 : 1u << s;
        return REFUSE_NONE;
    }
    if (text_is_nocase(f->q->states, "all")) {
        f->states = UINT32_MAX;
        return REFUSE_NONE;
    }
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(f->a, piece.data, piece.len);
        if (text_is(word, "NONE"))
            continue;
        if (!job_state_parse(word, &state)) {
            str_addf(detail, "\"%s\" is no state of a job", word);
            return REFUSE_BAD_MESSAGE;
        }
        f->stopped |= state_word_is_stopped(word);
        if (state >= 0)
            f->states |= 1u << state;
    }
    return REFUSE_NONE;
}

static enum refusal refs_read(struct filter *f, struct str *detail)
{
    struct err err = {0};
    int depth = 0;
    const char *start = f->q->ids;
    for (const char *at = start; at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at && (*at != ',' || depth > 0))
            continue;
        if (at > start) {
            struct job_ref ref;
            bool known =
                job_ref_parse(arena_strndup(f->a, start, (size_t)(at - start)), &ref, &err);
            if (!known && f->q->what != QUERY_PRIORITY) { /* sprio finds nothing by such a name */
                str_add(detail, err.text);
                return REFUSE_INVALID_JOB_ID;
            }
            ref.exact = f->q->exact;
            if (known)
                vec_push(&f->ref, ref);
        }
        if (!*at)
            break;
        start = at + 1;
    }
    return REFUSE_NONE;
}

static enum refusal filter_read(struct filter *f, const struct msg_query *q, struct str *detail)
{
    struct span rest = span_of(q->uids), piece;
    struct err err = {0};
    *f = (struct filter){.q = q, .a = arena_new()};
    while (q->uids && span_next(&rest, ',', &piece)) {
        uint64_t uid;
        if (text_to_u64(arena_strndup(f->a, piece.data, piece.len), UINT32_MAX, &uid))
            vec_push(&f->uid, uid);
    }
    if (q->nodes && !hostlist_parse(&f->nodes, q->nodes, &err)) {
        str_add(detail, err.text);
        return REFUSE_INVALID_NODE;
    }
    enum refusal refusal = states_read(f, detail);
    return refusal ? refusal : refs_read(f, detail);
}

static void filter_done(struct filter *f)
{
    for (size_t i = 0; i < f->ref.n; i++)
        job_ref_done(&f->ref.v[i]);
    vec_done(&f->ref);
    vec_done(&f->uid);
    hostlist_done(&f->nodes);
    arena_free(f->a);
}

static bool uid_fits(const struct filter *f, const struct jobrec *r)
{
    for (size_t i = 0; i < f->uid.n; i++)
        if (f->uid.v[i] == r->j.user_id)
            return true;
    return !f->q->uids;
}

static bool nodes_fit(const struct filter *f, const struct jobrec *r)
{
    struct hostlist names = HOSTLIST_INIT;
    bool found = false;
    if (!f->q->nodes)
        return true;
    if (r->j.nodes && hostlist_parse(&names, r->j.nodes, NULL))
        for (size_t i = 0; i < names.n && !found; i++)
            found = hostlist_has(&f->nodes, names.name[i]);
    hostlist_done(&names);
    return found;
}

static bool partition_fits(const struct filter *f, const struct jobrec *r)
{
    const char *wanted = f->q->partitions;
    return !wanted || (r->j.run_partition && list_has(wanted, r->j.run_partition)) ||
           (r->j.state == JOB_PENDING && list_shares(wanted, r->j.spec.req.partition));
}

static bool state_fits(const struct filter *f, const struct job *j)
{
    return (f->states >> j->state & 1) || (f->stopped && job_is_stopped(j));
}

static bool job_fits(const struct filter *f, const struct jobrec *r)
{
    const struct msg_query *q = f->q;
    const struct job_spec *s = &r->j.spec;
    return state_fits(f, &r->j) && uid_fits(f, r) && (!q->names || list_has(q->names, s->name)) &&
           (!q->accounts || list_has(q->accounts, s->req.account)) &&
           (!q->qos || list_has(q->qos, s->req.qos)) && partition_fits(f, r) && nodes_fit(f, r);
}

/* ---- jobs and steps ------------------------------------------------------------------------- */

/* When the limit ends the job if nothing changes: time suspended does not count, that of the
 * suspension at hand neither. */
static int64_t expected_end(const struct job *j, int64_t now_us)
{
    if (!j->limit_us || j->limit_us == TIME_UNLIMITED)
        return 0;
    return time_add(
        time_add(j->start_us, j->limit_us),
        time_add(j->suspended_us, j->state == JOB_SUSPENDED ? now_us - j->suspend_us : 0));
}

static void gpu_idle_fill(const struct core *c, const struct jobrec *r, struct job *j,
                          struct str *next)
{
    struct gpu_idle p;
    int64_t gpus;
    if (j->state != JOB_RUNNING || !job_has_gpus(r))
        return;
    j->gpu_idle_us = job_gpus_idle(c, r, 0, &gpus);
    j->gpu_idle_us = j->gpu_idle_us > 0 ? j->gpu_idle_us : 0;
    gpu_idle_policy(c, r, &p, NULL);
    if (j->gpu_idle_us && p.stages && gpu_idle_say(c, r, next))
        j->gpu_idle_next = str_text(next);
}

static void job_show(const struct core *c, const struct jobrec *r, const struct msg_query *q,
                     int64_t now_us, struct part_cpus *known, const struct view *v)
{
    struct job j = r->j;
    struct plan_wait wait;
    struct str next = STR_INIT;
    if (j.state == JOB_PENDING) {
        j.reason = pending_reason(c, r, now_us, &wait);
        /* A sentence kept in the record tells of what holds the job; of a former run's end it says
         * nothing that still matters. */
        if (wait.detail || !j.spec.hold)
            j.reason_detail = wait.detail;
        j.away_nodes = wait.away_nodes;
        /* As in Slurm the begin time stands for the start of a job that is not planned yet. */
        j.planned_us =
            wait.planned_us || j.spec.begin_us <= now_us ? wait.planned_us : j.spec.begin_us;
        j.planned_nodes = wait.planned_nodes;
        j.priority = r->j.spec.hold ? 0 : wait.priority ? wait.priority : 1;
        if (r->waiting)
            j.evaluated_us = now_us;
        pending_complete(c, known, &j);
    } else if (j.state == JOB_RUNNING || j.state == JOB_SUSPENDED) {
        j.end_us = expected_end(&j, now_us);
        if (j.preempt_end_us && (!j.end_us || j.preempt_end_us < j.end_us))
            j.end_us = j.preempt_end_us;
        if (!q->fields || list_has(q->fields, "gpu_idle_us"))
            gpu_idle_fill(c, r, &j, &next);
    }
    v->row(v->ctx, &j);
    str_done(&next);
}

static void step_show(const struct jobrec *r, const struct step *s, const struct view *v)
{
    struct step copy = *s;
    copy.key_hash = 0;
    copy.user_name = r->j.user_name;
    copy.user_id = r->j.user_id;
    copy.array_job_id = r->j.array_task_id != NO_TASK ? r->j.array_job_id : 0;
    copy.array_task_id = r->j.array_task_id;
    copy.partition = r->j.run_partition;
    v->row(v->ctx, &copy);
}

struct show {
    const struct core *c;
    const struct peer *peer;
    const struct filter *f;
    const struct view *v;
    int64_t now_us;
    enum query_what what; /* of jobs: themselves, their steps, their priorities */
    struct part_cpus *known;
    struct str *detail;
};

/* An element that was cancelled before it ran is no job that anybody saw: as in Slurm it is listed
 * no more, and accounting alone remembers it. */
static bool never_was(const struct jobrec *r)
{
    return r->j.array_job_id && r->j.id != r->j.array_job_id && r->j.state == JOB_CANCELLED &&
           !r->j.start_us && !r->j.attempt;
}

static void record_show(const struct show *x, const struct jobrec *r, const struct job_ref *ref)
{
    if (!job_fits(x->f, r) || never_was(r) ||
        !may_see_job(x->c, x->peer, r->j.user_id, r->j.spec.req.account))
        return;
    if (x->what == QUERY_JOBS)
        job_show(x->c, r, x->f->q, x->now_us, x->known, x->v);
    if (x->what == QUERY_PRIORITY)
        priority_show(x->c, r, x->f->q, x->now_us, x->v);
    if (x->what != QUERY_STEPS)
        return;
    for (size_t i = 0; i < r->step.n; i++)
        if ((!ref || !ref->has_step || ref->step_id == r->step.v[i]->s.step_id) &&
            step_live(r->step.v[i]))
            step_show(r, &r->step.v[i]->s, x->v);
    for (size_t i = 0; i < step_queue_count(r); i++)
        if (!ref || !ref->has_step || ref->step_id == step_queue_at(r, i)->step_id)
            step_show(r, step_queue_at(r, i), x->v);
}

static void ref_show(const struct show *x, const struct job_ref *ref, const jobrec_vec *jobs,
                     struct map_u64 *shown)
{
    for (size_t k = 0; k < jobs->n; k++) {
        struct jobrec *r = jobs->v[k];
        /* A step reference names a part of its job: another of the same job is no repetition. */
        if (x->what != QUERY_STEPS && map_u64_get(shown, r->j.id))
            continue;
        map_u64_put(shown, r->j.id, r);
        record_show(x, r, ref);
    }
}

/* What is hidden is not there. */
static size_t jobs_seen(const struct show *x, jobrec_vec *jobs)
{
    size_t n = 0;
    for (size_t i = 0; i < jobs->n; i++)
        if (may_see_job(x->c, x->peer, jobs->v[i]->j.user_id, jobs->v[i]->j.spec.req.account))
            jobs->v[n++] = jobs->v[i];
    jobs->n = n;
    return n;
}

/* Each record once, however often it is named: all waiting elements of an array are one. */
static enum refusal refs_show(const struct show *x)
{
    struct map_u64 *shown = map_u64_new();
    size_t found = 0, work = 0;
    for (size_t i = 0; i < x->f->ref.n; i++) {
        jobrec_vec jobs = {0};
        work += ref_work(x->c, &x->f->ref.v[i]);
        if (work > refs_work_most(x->c)) {
            map_u64_free(shown);
            str_add(x->detail, REFS_WORK_TEXT);
            return REFUSE_TOO_LARGE;
        }
        /* Nothing is split: resolving without `split` changes nothing. */
        (void)ref_resolve((struct core *)(uintptr_t)x->c, &x->f->ref.v[i], false, &jobs);
        found += jobs_seen(x, &jobs);
        ref_show(x, &x->f->ref.v[i], &jobs, shown);
        vec_done(&jobs);
    }
    map_u64_free(shown);
    return found || x->f->ref.n != 1 || x->what == QUERY_PRIORITY ? REFUSE_NONE
                                                                  : REFUSE_INVALID_JOB_ID;
}

static enum refusal jobs_show(const struct core *c, const struct msg_query *q,
                              const struct peer *peer, int64_t now_us, const struct view *v,
                              struct str *detail, struct query_at *at, size_t most)
{
    struct filter f;
    enum refusal refusal = filter_read(&f, q, detail);
    /* A job asked for by its id is shown as long as it is in memory. */
    if (q->ids && !q->states)
        f.states = UINT32_MAX;
    struct part_cpus known = {0};
    struct show x = {.c = c,
                     .peer = peer,
                     .f = &f,
                     .v = v,
                     .now_us = now_us,
                     .what = (enum query_what)q->what,
                     .known = &known,
                     .detail = detail};
    if (!refusal && q->ids)
        refusal = refs_show(&x);
    else
        for (at->more = !refusal; at->more && most; most--)
            if ((at->more = map_u64_next(c->jobs.by_id, &at->walk)))
                record_show(&x, at->walk.value, NULL);
    part_cpus_done(&known);
    filter_done(&f);
    return refusal;
}

/* ---- nodes and partitions ------------------------------------------------------------------- */

struct node_view {
    int64_t now_us;
    const struct core *c;
    struct str *partitions; /* of each node */
    bool *wanted;           /* each node */
};

/* Adds the partition's name to each of its nodes; with `among`, those of the partitions in that
 * list are wanted. */
static void partition_note(struct node_view *nv, const struct partition *p, const char *among)
{
    struct hostlist names = HOSTLIST_INIT;
    bool chosen = among && list_has(among, p->name);
    if (p->nodes)
        hostlist_parse(&names, p->nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(nv->c, names.name[i]);
        if (!n)
            continue;
        struct str *list = &nv->partitions[n->index];
        list_addf(list, "%s", p->name);
        nv->wanted[n->index] |= chosen;
    }
    hostlist_done(&names);
}

void node_complete(const struct core *c, const struct noderec *n, int64_t now_us, struct node *copy,
                   struct str *gres)
{
    struct node_use use = {0};
    cluster_node_use(c->cluster, n->n.name, &use, gres);
    copy->alloc_cpus = use.cpus;
    copy->alloc_mem_mib = use.mem_mib;
    copy->alloc_gres = gres->len ? str_text(gres) : NULL;
    copy->planned = use.planned;
    resv_mark_node(c, copy, now_us);
    copy->jobs = (int32_t)n->job.n;
    for (size_t i = 0; i < n->job.n; i++) {
        const struct jobrec *r = job_find(c, n->job.v[i]);
        copy->jobs_cleaning += r && (r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED);
    }
}

static void node_show(const struct node_view *nv, const struct noderec *n, const struct view *v)
{
    struct node copy = n->n;
    struct str gres = STR_INIT;
    node_complete(nv->c, n, nv->now_us, &copy, &gres);
    copy.partitions = nv->partitions[n->index].len ? str_text(&nv->partitions[n->index]) : NULL;
    v->row(v->ctx, &copy);
    str_done(&gres);
}

/* Narrows down to the nodes named; each name must be there. */
static enum refusal names_choose(struct node_view *nv, const char *wanted, bool also_by_partition,
                                 struct str *detail)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    bool *named = xcalloc(nv->c->node.n + 1, sizeof *named);
    enum refusal refusal = hostlist_parse(&names, wanted, &err) ? REFUSE_NONE : REFUSE_INVALID_NODE;
    if (refusal)
        str_add(detail, err.text);
    for (size_t i = 0; !refusal && i < names.n; i++) {
        const struct noderec *n = node_find(nv->c, names.name[i]);
        if (n && node_shown(n)) {
            named[n->index] = true;
            continue;
        }
        str_addf(detail, "there is no node %s", names.name[i]);
        refusal = REFUSE_INVALID_NODE;
    }
    for (size_t i = 0; i < nv->c->node.n; i++)
        nv->wanted[i] = named[i] && (!also_by_partition || nv->wanted[i]);
    free(named);
    hostlist_done(&names);
    return refusal;
}

static enum refusal nodes_show(const struct core *c, const struct msg_query *q, int64_t now_us,
                               const struct view *v, struct str *detail)
{
    const char *named = q->names ? q->names : q->nodes;
    struct node_view nv = {.c = c,
                           .now_us = now_us,
                           .partitions = xcalloc(c->node.n + 1, sizeof(struct str)),
                           .wanted = xcalloc(c->node.n + 1, sizeof(bool))};
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < c->node.n; i++)
        nv.wanted[i] = !q->partitions;
    for (size_t i = 0; i < c->part.n; i++)
        partition_note(&nv, &c->part.v[i]->p, q->partitions);
    if (named)
        refusal = names_choose(&nv, named, q->partitions != NULL, detail);
    for (size_t i = 0; i < c->node.n; i++) {
        if (!refusal && nv.wanted[i] && node_shown(c->node.v[i]))
            node_show(&nv, c->node.v[i], v);
        str_done(&nv.partitions[i]);
    }
    free(nv.partitions);
    free(nv.wanted);
    return refusal;
}

static void partition_show(const struct core *c, const struct partrec *p, const struct view *v)
{
    struct partition copy = p->p;
    struct hostlist names = HOSTLIST_INIT;
    struct str tres = STR_INIT, gres = STR_INIT;
    int64_t memory = 0;
    if (p->p.nodes)
        hostlist_parse(&names, p->p.nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        if (!n)
            continue;
        copy.total_nodes++;
        copy.total_cpus += n->n.cpus;
        memory += n->n.memory_mib;
        if (!text_empty(n->n.gres))
            list_addf(&gres, "%s", n->n.gres);
    }
    str_addf(&tres, "cpu=%d,mem=%lldM,node=%d,billing=%d", copy.total_cpus, (long long)memory,
             copy.total_nodes, copy.total_cpus);
    gres_text_tres(str_text(&gres), &tres);
    copy.tres = str_text(&tres);
    if (copy.preempt_mode == PREEMPT_UNSET)
        copy.preempt_mode = cluster_preempt_mode(c->cluster);
    v->row(v->ctx, &copy);
    str_done(&tres);
    str_done(&gres);
    hostlist_done(&names);
}

static enum refusal partitions_show(const struct core *c, const struct msg_query *q,
                                    const struct view *v, struct str *detail)
{
    size_t shown = 0;
    for (size_t i = 0; i < c->part.n; i++)
        if (!q->names || list_has(q->names, c->part.v[i]->p.name)) {
            partition_show(c, c->part.v[i], v);
            shown++;
        }
    if (shown || !q->names)
        return REFUSE_NONE;
    str_addf(detail, "there is no partition %s", q->names);
    return REFUSE_INVALID_PARTITION;
}

struct resv_sight {
    const struct core *c;
    const struct peer *peer;
    const struct view *v;
    size_t shown;
};

static void resv_seen(void *ctx, const void *record)
{
    struct resv_sight *s = ctx;
    if (!may_see_reservation(s->c, s->peer, record))
        return;
    s->v->row(s->v->ctx, record);
    s->shown++;
}

static enum refusal reservations_show(const struct core *c, const struct msg_query *q,
                                      const struct peer *peer, int64_t now_us, const struct view *v,
                                      struct str *detail)
{
    struct resv_sight s = {c, peer, v, 0};
    size_t unseen;
    resv_show(c, q, now_us, &(struct view){resv_seen, &s}, &unseen);
    if (s.shown || !q->names)
        return REFUSE_NONE;
    str_addf(detail, "there is no reservation %s", q->names);
    return REFUSE_RESERVATION;
}

enum refusal core_query(const struct core *c, const struct msg_query *q, const struct peer *peer,
                        int64_t now_us, const struct view *v, struct str *detail)
{
    struct query_at at = {0};
    return core_query_part(c, q, peer, now_us, v, detail, &at, SIZE_MAX);
}

/* Kinds of records that are hidden as a whole; of others the rows are. */
static bool is_private(const struct core *c, enum query_what what, const struct peer *peer)
{
    if (what == QUERY_NODES || what == QUERY_HOSTS)
        return !may_see_nodes(c, peer);
    return what == QUERY_PARTITIONS && !may_see_partitions(c, peer);
}

enum refusal core_query_part(const struct core *c, const struct msg_query *q,
                             const struct peer *peer, int64_t now_us, const struct view *v,
                             struct str *detail, struct query_at *at, size_t most)
{
    at->more = false;
    if (is_private(c, (enum query_what)q->what, peer)) {
        str_add(detail, "PrivateData: this is for operators");
        return REFUSE_ACCESS_DENIED;
    }
    switch ((enum query_what)q->what) {
    case QUERY_JOBS:
    case QUERY_STEPS:
    case QUERY_PRIORITY: return jobs_show(c, q, peer, now_us, v, detail, at, most);
    case QUERY_NODES: return nodes_show(c, q, now_us, v, detail);
    case QUERY_PARTITIONS: return partitions_show(c, q, v, detail);
    case QUERY_RESERVATIONS: return reservations_show(c, q, peer, now_us, v, detail);
    case QUERY_STATUS: query_status(c, peer, v); return REFUSE_NONE;
    case QUERY_SHARES: return query_shares(c, q, peer, v);
    case QUERY_DIAG: return query_diag(c, now_us, v);
    case QUERY_TOKENS:
        if (!peer || !peer->is_admin) {
            str_add(detail, "only administrators may see the tokens");
            return REFUSE_ACCESS_DENIED;
        }
        tokens_show(c, v);
        return REFUSE_NONE;
    case QUERY_HOSTS: hosts_show(c, v); return REFUSE_NONE;
    case QUERY_TRIGGERS:
        if (c->settings.word.private_jobs && !peer_operates(c, peer)) {
            str_add(detail, "PrivateData: this is for operators");
            return REFUSE_ACCESS_DENIED;
        }
        triggers_show(c, v);
        return REFUSE_NONE;
    case QUERY_ACCOUNTS:
    case QUERY_ACCOUNT_USERS:
    case QUERY_ASSOCS:
    case QUERY_QOS:
    case QUERY_LIMITS:
    case QUERY_WCKEYS:
    case QUERY_TRES: return query_accounts(c, q, peer, v, at, most);
    case QUERY_LIMIT_USE: return query_limit_use(c, peer, v);
    case QUERY_FAIR_SHARES: return query_fair_shares(c, peer, now_us, v);
    case QUERY_IN_USE: return query_in_use(c, peer, now_us, v);
    case QUERY_TRANSACTIONS:
    case QUERY_USED:
    case QUERY_NODE_SPELLS:
    case QUERY_PAST_RESERVATIONS:
    case QUERY_SETTINGS:
    case QUERY_HISTORY: break;
    }
    str_add(detail, "the controller's machine does not answer this query");
    return REFUSE_BAD_MESSAGE;
}
