/* Why a job waits, in a sentence with counts. Worked out when somebody asks, from the cluster as it
 * is then. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/answer/capped.h"
#include "sched/answer/hours.h"
#include "sched/answer/rank.h"
#include "sched/books/classes.h"
#include "sched/books/limits/caps.h"
#include "sched/books/settle.h"
#include "sched/pass/pass.h"
#include "sched/pass/priority.h"
#include "sched/request/wording.h"

#include <stdlib.h>
#include <string.h>

/* Where the nodes of the partition stand for an option. */
struct explain_tally {
    int32_t nodes, never, excluded, reserved, away, fit, no_cpu, no_mem, no_gres, alone, taken;
    struct hostlist away_names;
    const char *away_reason;
};

/* The variant whose demand the sentence names: the first that the group can hold at all. */
static struct variant *variant_for(const struct option *o, const struct group *g)
{
    for (size_t i = 0; i < o->nvariants; i++)
        if (bit_get(o->variant[i].groups, g->idx))
            return &o->variant[i];
    return NULL;
}

static void tally_lack(const struct cluster *cl, const struct compiled *c, const struct option *o,
                       struct variant *v, const struct snode *n, struct explain_tally *t)
{
    const int64_t *row = node_free(cl, n);
    const struct take *take = take_least(cl, c, o, v, n->group);
    bool gres = false, mem = false, cpu = false, jobs = false, whole = false;
    for (uint32_t i = 0; i < take->n; i++) {
        bool lacks = row[take->use[i].dim] < take->use[i].amount;
        gres |= lacks && take->use[i].dim >= DIM_GRES;
        mem |= lacks && take->use[i].dim == DIM_MEM;
        jobs |= lacks && take->use[i].dim == DIM_JOBS;
        whole |= take->use[i].dim == DIM_JOBS && take->use[i].amount > 1;
        cpu |= lacks && (take->use[i].dim == DIM_CPU || take->use[i].dim == DIM_SHARE);
    }
    if (gres)
        t->no_gres++;
    else if (cpu && !jobs)
        t->no_cpu++;
    else if (mem && !jobs)
        t->no_mem++;
    else if (jobs && whole)
        t->alone++;
    else if (jobs)
        t->taken++;
    else
        t->fit++;
}

static void tally_nodes(const struct cluster *cl, const struct compiled *c, const struct option *o,
                        int64_t now_us, struct explain_tally *t)
{
    for (size_t i = 0; i < o->part->node.n; i++) {
        const struct snode *n = o->part->node.v[i];
        struct variant *v = variant_for(o, n->group);
        t->nodes++;
        if (!v) {
            t->never++;
        } else if (!demand_admits(c, o, n->idx)) {
            t->excluded++;
        } else if (!n->up) {
            t->away++;
            hostlist_add(&t->away_names, n->name);
            if (!text_empty(n->cfg->reason))
                t->away_reason = n->cfg->reason;
        } else if (resv_keeps_now(cl, n->idx, now_us, o->resv)) {
            t->reserved++;
        } else {
            tally_lack(cl, c, o, v, n, t);
        }
    }
}

static void clause(struct str *s, int32_t count, const char *what)
{
    if (count > 0)
        str_addf(s, ", %d %s", count, what);
}

static void tally_text(const struct option *o, struct explain_tally *t, struct str *s)
{
    str_addf(s, ": of %d node%s of partition %s, %d %s that free now", t->nodes,
             t->nodes == 1 ? "" : "s", o->part->p.name, t->fit, t->fit == 1 ? "has" : "have");
    clause(s, t->no_gres,
           t->no_gres == 1 ? "has too few free devices" : "have too few free devices");
    clause(s, t->no_cpu, t->no_cpu == 1 ? "has too few free CPUs" : "have too few free CPUs");
    clause(s, t->no_mem,
           t->no_mem == 1 ? "has too little free memory" : "have too little free memory");
    clause(s, t->alone,
           t->alone == 1 ? "serves other jobs while whole nodes are needed"
                         : "serve other jobs while whole nodes are needed");
    clause(s, t->taken,
           t->taken == 1 ? "serves a job that has it to itself"
                         : "serve jobs that have them to themselves");
    clause(s, t->reserved, t->reserved == 1 ? "is reserved for others" : "are reserved for others");
    clause(s, t->excluded, t->excluded == 1 ? "is excluded by the job" : "are excluded by the job");
    if (t->away > 0) {
        struct str names = STR_INIT;
        hostlist_sort(&t->away_names);
        hostlist_fold(&t->away_names, &names);
        str_addf(s, ", %d %s down or drained (%.120s%s%.120s)", t->away,
                 t->away == 1 ? "is" : "are", str_text(&names), t->away_reason ? ": " : "",
                 t->away_reason ? t->away_reason : "");
        str_done(&names);
    }
    clause(s, t->never, "could not hold it even empty");
}

static void licences_text(const struct cluster *cl, const struct compiled *c,
                          const struct option *o, const struct class_note *note, int64_t now_us,
                          struct str *s)
{
    for (size_t i = 0; i < c->nlic; i++) {
        const struct licence *l = &cl->lic.v[c->lic[i].lic];
        int64_t takes;
        if (!use_concerns(&c->lic[i], o) || !capped_by(cl, note, &c->lic[i], now_us, &takes))
            continue;
        str_add(s, s->len ? "; " : "");
        if (is_cap(l))
            cap_say(cl, &c->lic[i], takes, s);
        else
            str_addf(s, "needs %lld of the licence %s: %lld of %lld are free",
                     (long long)c->lic[i].count, l->name, (long long)(l->total - l->used),
                     (long long)l->total);
    }
}

static void must_text(const struct cluster *cl, const struct compiled *c, struct str *s)
{
    struct hostlist down = HOSTLIST_INIT;
    for (size_t i = 0; i < c->nmust; i++)
        if (!cl->node.v[c->must[i]]->up)
            hostlist_add(&down, cl->node.v[c->must[i]]->name);
    if (down.n > 0) {
        str_add(s, "; of the nodes it names, ");
        hostlist_fold(&down, s);
        str_add(s, down.n == 1 ? " is down or drained" : " are down or drained");
    }
    hostlist_done(&down);
}

const char *explain_class(const struct cluster *cl, const struct wjob *j, const struct compiled *c,
                          struct option *o, const struct class_note *note, int64_t now_us,
                          struct arena *a, const char **ret_away)
{
    ASSERT(note->reason < REASON_COUNT);
    struct str away = STR_INIT;
    struct str s = STR_INIT;
    struct explain_tally t = {0};
    if (note->reason == o->never && o->never_text) {
        str_add(&s, o->never_text);
    } else if (o->wish) {
        licences_text(cl, c, o, note, now_us, &s);
        const char *hours = hours_bar(cl, j, o, now_us, a);
        str_add(&s, hours && s.len ? "; " : "");
        str_add(&s, hours ? hours : "");
        str_add(&s, s.len ? "; needs " : "needs ");
        word_demand(cl, c, o, o->nvariants ? &o->variant[0] : o->wish, MEMORY_ALL, &s);
        tally_nodes(cl, c, o, now_us, &t);
        tally_text(o, &t, &s);
        must_text(cl, c, &s);
    }
    char *text = arena_strdup(a, str_text(&s));
    hostlist_fold(&t.away_names, &away);
    *ret_away = away.len ? arena_strdup(a, str_text(&away)) : NULL;
    str_done(&away);
    hostlist_done(&t.away_names);
    str_done(&s);
    return text;
}

/* ---- questions about a job ---- */

static bool listed(const uint64_t *v, size_t n, uint64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == id)
            return true;
    return false;
}

static const char *planned_names(const struct plan_private *v, const struct cluster *cl,
                                 struct planned *f)
{
    if (f->names || v->version != cl->derived.version || f->nnodes == 0)
        return f->names;
    struct hostlist h = HOSTLIST_INIT;
    struct str s = STR_INIT;
    for (uint32_t i = 0; i < f->nnodes; i++)
        hostlist_add(&h, cl->node.v[f->node[i]]->name);
    hostlist_fold(&h, &s);
    f->names = str_take(&s);
    hostlist_done(&h);
    return f->names;
}

/* NULL: it yields to nobody. */
static const char *yields_text(const struct plan_private *v, const struct cluster *cl,
                               const struct wjob *j)
{
    for (size_t i = 0; j->w.person && i < v->yields.n; i++)
        if (v->yields.v[i].job_id == j->w.job_id)
            return arena_printf(
                v->arena,
                "its user holds %lld %% of the cluster, so while job %llu of another user waits it "
                "starts only if it ends before that one is to start, or asks for less than twice "
                "its time limit",
                (long long)(v->yields.v[i].part * 100 / FACTOR_ONE),
                (unsigned long long)v->yields.v[i].to);
    return NULL;
}

static void reason_of(struct plan_private *v, const struct cluster *cl, const struct wjob *j,
                      struct plan_wait *ret)
{
    struct compiled *c = demand_of(cl, j->lane->klass);
    struct class_note *n = plan_note(v, j->lane->klass);
    ret->reason = n ? n->reason : REASON_PRIORITY;
    if (listed(v->late.v, v->late.n, j->w.job_id)) {
        ret->reason = REASON_DEADLINE;
        ret->detail = "cannot end before its deadline any more";
        return;
    }
    const char *yields = yields_text(v, cl, j);
    if (yields) {
        ret->reason = REASON_PRIORITY;
        ret->detail = yields;
        return;
    }
    bool head = listed(v->head.v, v->head.n, j->w.job_id);
    if (ret->reason == REASON_RESOURCES && !head)
        ret->reason = REASON_PRIORITY;
    if (n && !n->detailed && c->n > 0) {
        n->detail = explain_class(cl, j, c, &c->option[0], n, v->now_us, v->arena, &n->away);
        n->detailed = true;
    }
    ret->detail = n ? n->detail : NULL;
    ret->away_nodes = n && ret->reason == REASON_REQ_NODE_NOT_AVAIL ? n->away : NULL;
}

bool plan_wait_of(const struct plan *p, struct cluster *cl, uint64_t job_id, struct plan_wait *ret)
{
    cluster_settle(cl);
    struct plan_private *v = p->priv;
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    *ret = (struct plan_wait){0};
    if (!j || j->serial > v->serial)
        return false;
    reason_of(v, cl, j, ret);
    int32_t tier;
    uint64_t best;
    rank_standing(cl, j, v->now_us, &tier, &best);
    ret->priority = best / PRIORITY_ONE;
    ret->rank = rank_of(v, cl, j, tier, best);
    struct planned *f = map_u64_get(v->planned, job_id);
    if (f) {
        ret->planned_us = f->start_us > v->now_us ? f->start_us : v->now_us;
        ret->planned_nodes = planned_names(v, cl, f);
    }
    return true;
}
