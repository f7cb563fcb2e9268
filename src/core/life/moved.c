/* What a running job has beside its nodes becomes another: licences (scontrol update Licences=)
 * and the reservation that it runs in (ReservationName=). Both hold at once, for the planner,
 * limits and the end of the job, and for its next run.
 *
 * As in Slurm an operator may give more licences than are free, for he knows what the job really
 * uses; its owner may give some back, not only all of them. Into a reservation a job is moved by
 * whoever may use it; unlike in Slurm only if it runs on that reservation's nodes. */
#include "base/list.h"
#include "core/life/life.h"

#include <string.h>

static enum refusal refuse(enum refusal refusal, const char *sentence, const char **detail)
{
    *detail = sentence;
    return refusal;
}

enum refusal job_licences_check(struct core *c, const struct jobrec *r, const char *to,
                                const char **detail)
{
    struct str why = STR_INIT;
    ASSERT(c->turn.peer);
    enum refusal refusal = sched_check_licences(c->cluster, to, &why);
    if (refusal)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    if (refusal || peer_operates(c, c->turn.peer) ||
        cluster_licences_within(c->cluster, to, r->j.spec.req.licenses))
        return refusal;
    return refuse(REFUSE_ACCESS_DENIED,
                  "only operators may give a running job more licences; you may give some back",
                  detail);
}

void job_licences_tell(struct core *c, const struct jobrec *r)
{
    ASSERT(cluster_is_running(c->cluster, r->j.id));
    cluster_run_licences(c->cluster, r->j.id, r->j.spec.req.licenses);
}

/* ---- reservations --------------------------------------------------------------------------- */

static const char *resv_nodes(const struct core *c, const struct reservation *v)
{
    const struct partrec *p = v->partition ? part_find(c, v->partition) : NULL;
    if (v->flags & (RESV_FLEX | RESV_ANY_NODES))
        return NULL;
    return (v->flags & RESV_PART_NODES) && p ? p->p.nodes : v->nodes;
}

/* The first of its nodes that the list lacks; NULL = it lacks none. */
static const char *node_outside(const struct core *c, const struct jobrec *r, const char *nodes)
{
    struct hostlist have = HOSTLIST_INIT;
    const char *outside = NULL;
    (void)hostlist_parse(&have, nodes, NULL); /* a list that cannot be read has none */
    for (size_t i = 0; i < r->hold.n && !outside; i++) {
        const struct node_hold *h = &r->hold.v[i];
        const char *name = c->node.v[h->node]->n.name;
        if (!h->leaving && !h->released && !hostlist_has(&have, name))
            outside = name;
    }
    hostlist_done(&have);
    return outside;
}

static enum refusal resv_holds_job(struct core *c, const struct jobrec *r,
                                   const struct reservation *v, const char **detail)
{
    struct arena *a = c->turn.fx->arena;
    const char *nodes = resv_nodes(c, v), *outside = nodes ? node_outside(c, r, nodes) : NULL;
    if (v->end_us <= c->turn.now_us)
        return refuse(REFUSE_RESERVATION, "its time is over, and its jobs end with it", detail);
    if (v->partition && !text_is(v->partition, r->j.run_partition))
        return refuse(REFUSE_RESERVATION,
                      arena_printf(a,
                                   "the reservation %s is in partition %s, and the job runs in %s",
                                   v->name, v->partition, r->j.run_partition),
                      detail);
    if (outside)
        return refuse(REFUSE_RESERVATION,
                      arena_printf(a, "the job runs on %s, which the reservation %s does not have",
                                   outside, v->name),
                      detail);
    return REFUSE_NONE;
}

enum refusal job_resv_check(struct core *c, const struct jobrec *r, const struct job_request *to,
                            const char *groups, const char **detail)
{
    struct str why = STR_INIT;
    if (text_empty(to->reservation))
        return REFUSE_NONE;
    if (strchr(to->reservation, ','))
        return refuse(REFUSE_RESERVATION, "a running job is in one reservation: name one", detail);
    enum refusal refusal = resv_check(c, to, r->j.user_name, groups, &why);
    if (refusal)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    const struct resvrec *v = refusal ? NULL : resv_find(c, to->reservation);
    if (!refusal && !v)
        return refuse(REFUSE_RESERVATION, "no reservation has a name with blanks around it",
                      detail);
    return refusal ? refusal : resv_holds_job(c, r, &v->r, detail);
}

void resv_end_tell(struct core *c, struct jobrec *r)
{
    int64_t end = job_limit_end(c, r), with = resv_job_end(c, r);
    end = with < end ? with : end;
    cluster_set_end(c->cluster, r->j.id, end == INT64_MAX ? TIME_UNLIMITED : end);
    timer_arm(c, r);
}

/* The former reservation may have cut the limit that was asked for (and nothing else did). Whole it
 * may reach into what is promised to others, so that an operator alone gives it back. */
static void limit_whole(struct core *c, struct jobrec *r)
{
    const struct job_spec *s = &r->j.spec;
    if (!peer_operates(c, c->turn.peer) || s->req.time_min_us || s->deadline_us ||
        r->j.limit_us >= s->req.time_limit_us)
        return;
    r->j.limit_us = s->req.time_limit_us;
    job_limit_changed(c, r);
}

void job_resv_take(struct core *c, struct jobrec *r)
{
    const char *to = r->j.spec.req.reservation;
    struct resvrec *left = r->j.run_reservation ? resv_find(c, r->j.run_reservation) : NULL;
    to = text_empty(to) ? NULL : to;
    ASSERT(!to || resv_find(c, to));
    if (text_is(to, r->j.run_reservation))
        return;
    if (left && (left->r.flags & RESV_PURGE_COMP)) { /* it was used until now */
        int64_t idle = time_add(c->turn.now_us, left->r.purge_us);
        left->look_us = idle < left->r.end_us ? idle : left->r.end_us;
    }
    text_set(c, &r->j.run_reservation, to);
    cluster_run_inside(c->cluster, r->j.id, to);
    if (left)
        limit_whole(c, r);
    resv_end_tell(c, r);
    c->planning.refit = true; /* with REPLACE other nodes take the place of those that jobs have */
}
