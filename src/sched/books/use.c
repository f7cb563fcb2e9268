/* Running work: what it holds, down to CPU numbers and device indexes. Each change recounts the
 * nodes it touches. */
#include "sched/books/use.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "model/limits.h"
#include "sched/books/limits/caps.h"
#include "sched/books/limits/licences.h"
#include "sched/books/limits/people.h"
#include "sched/books/ranges.h"
#include "sched/books/run_pack.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"
#include "sched/books/unproven.h"

#include <stdlib.h>
#include <string.h>

/* Members of a folded list, ascending; the caller frees. */
static int32_t *folded_members(const char *text, size_t *ret_n)
{
    struct idset set = IDSET_INIT;
    int32_t *v = NULL;
    *ret_n = 0;
    if (!text_empty(text) && idset_parse(&set, text, INT32_MAX, NULL)) {
        uint32_t id;
        v = xcalloc(set.count + 1, sizeof v[0]);
        for (bool more = idset_first(&set, &id); more; more = idset_next(&set, id, &id))
            v[(*ret_n)++] = (int32_t)id;
    }
    idset_done(&set);
    return v;
}

static void hold_gres(struct cluster *cl, struct hold *h, const struct alloc_node *an)
{
    h->gres = xcalloc(an->ngres + 1, sizeof h->gres[0]);
    for (size_t i = 0; i < an->ngres; i++) {
        struct held_gres *g = &h->gres[h->ngres++];
        g->dim = cluster_dim(cl, an->gres[i].kind, an->gres[i].type);
        g->count = g->back = an->gres[i].count;
        g->index = folded_members(an->gres[i].devices, &g->nindex);
    }
}

static void hold_free(struct hold *h)
{
    for (size_t i = 0; i < h->ngres; i++)
        free(h->gres[i].index);
    free(h->gres);
    free(h->cpu);
}

void run_free(struct cluster *cl, struct run *r)
{
    ASSERT(r->nheld <= r->nholds);
    for (size_t i = 0; i < r->nholds; i++)
        hold_free(&r->hold[i]);
    intern_drop(cl->text, r->partition);
    intern_drop(cl->text, r->qos_name);
    run_pack_free(r);
    free(r->hold);
    free(r->lic);
    free(r->cap);
    free(r);
}

static void run_licences(struct cluster *cl, struct run *r, const char *text)
{
    if (text_empty(text))
        return;
    struct arena *a = arena_new();
    struct licence_list list;
    const char *wrong; /* one that the cluster has no more, or not so many of: not counted */
    (void)licences_find(cl, text, a, &list, &wrong);
    r->nlic = list.n;
    r->lic = xmemdup(list.v, (list.n + 1) * sizeof list.v[0]);
    for (size_t i = 0; i < r->nlic; i++)
        cl->lic.v[r->lic[i].lic].used += r->lic[i].count;
    arena_free(a);
}

void cluster_start(struct cluster *cl, uint64_t job_id, const struct job_request *req, uint32_t uid,
                   const char *partition, const struct alloc *al, int64_t start_us, int64_t end_us)
{
    ASSERT(job_id && al->n > 0);
    ASSERT(end_us == TIME_UNLIMITED || end_us >= start_us);
    CHECK(!map_u64_get(cl->run.by_job, job_id));
    cluster_settle(cl);
    struct run *r = xcalloc(1, sizeof *r);
    const struct spart *part = partition ? cluster_part(cl, partition) : NULL;
    struct use_mode mode = request_mode(req, part ? &part->p : &(struct partition){0});
    *r = (struct run){.job_id = job_id,
                      .uid = uid,
                      .partition = intern_take(cl->text, partition),
                      .start_us = start_us,
                      .end_us = end_us,
                      .whole = mode.whole,
                      .shares = mode.share > 0,
                      .user_only = mode.user_only};
    r->hold = xcalloc(al->n + 1, sizeof r->hold[0]);
    for (size_t i = 0; i < al->n; i++) {
        struct snode *n = cluster_node(cl, al->node[i].node);
        if (!n) /* the node was taken out of the configuration meanwhile: nothing to count there */
            continue;
        struct hold *h = &r->hold[r->nholds++];
        *h = (struct hold){.run = r, .node = n, .mem_mib = al->node[i].mem_mib};
        h->cpu = folded_members(al->node[i].cpus, &h->ncpu);
        hold_gres(cl, h, &al->node[i]);
    }
    r->nheld = r->nholds;
    map_u64_put(cl->run.by_job, job_id, r);
    r->place = cl->run.n;
    vec_push(&cl->run, r);
    cluster_settle(cl); /* a gres nobody has any more made a dimension */
    for (size_t i = 0; i < r->nholds; i++) {
        struct hold *h = &r->hold[i];
        hold_expect_free(h->node, h);
        vec_push(&h->node->hold, h);
        node_recount(cl, h->node);
    }
    person_run(cl, r);
    run_licences(cl, r, req->licenses);
    cluster_run_qos(cl, job_id, req->qos);
}

void cluster_run_het(struct cluster *cl, uint64_t job_id, uint64_t het_job_id)
{
    struct run *r = map_u64_get(cl->run.by_job, job_id);
    if (r)
        r->het = het_job_id;
}

static struct run *run_get(const struct cluster *cl, uint64_t job_id)
{
    return map_u64_get(cl->run.by_job, job_id);
}

void cluster_set_end(struct cluster *cl, uint64_t job_id, int64_t end_us)
{
    struct run *r = run_get(cl, job_id);
    if (r)
        r->end_us = end_us;
}

static void run_licences_back(struct cluster *cl, const struct run *r)
{
    for (size_t i = 0; i < r->nlic; i++)
        cl->lic.v[r->lic[i].lic].used -= r->lic[i].count;
}

void cluster_run_licences(struct cluster *cl, uint64_t job_id, const char *licences)
{
    struct run *r = run_get(cl, job_id);
    if (!r)
        return;
    cluster_settle(cl);
    run_licences_back(cl, r);
    free(r->lic);
    r->lic = NULL;
    r->nlic = 0;
    run_licences(cl, r, licences);
    caps_recount(cl, r);
    run_pack_drop(r);
}

void cluster_suspend(struct cluster *cl, uint64_t job_id, bool suspended)
{
    struct run *r = run_get(cl, job_id);
    if (!r || (r->suspended == suspended && !r->yields))
        return;
    cluster_settle(cl);
    r->suspended = suspended;
    r->was_suspended = true;
    r->yields = false;
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released)
            node_recount(cl, r->hold[i].node);
}

void cluster_ending(struct cluster *cl, uint64_t job_id, uint64_t for_job, int64_t end_us)
{
    ASSERT(end_us >= 0);
    struct run *r = run_get(cl, job_id);
    if (!r)
        return;
    r->ending = true;
    r->for_job = for_job ? for_job : r->for_job;
    r->end_us = end_us < r->end_us ? end_us : r->end_us;
}

void cluster_yield(struct cluster *cl, uint64_t job_id, int64_t now_us)
{
    struct run *r = run_get(cl, job_id);
    if (!r)
        return;
    cluster_suspend(cl, job_id, true);
    r->yields = true;
    r->yielded_us = now_us;
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released)
            node_recount(cl, r->hold[i].node);
}

static void hold_release(struct cluster *cl, struct hold *h)
{
    ASSERT(h->run->nheld > 0 || h->released);
    struct snode *n = h->node;
    if (h->released)
        return;
    ASSERT(h->node->hold.n > 0 && h->run->nheld <= h->run->nholds);
    for (size_t i = 0; i < n->hold.n; i++)
        if (n->hold.v[i] == h) {
            vec_remove(&n->hold, i);
            break;
        }
    node_recount(cl, n);
    unproven_freed(n, h);
    run_pack_drop(h->run);
    h->released = true;
    h->run->nheld--;
    caps_recount(cl, h->run);
}

static void run_over(struct cluster *cl, struct run *r)
{
    run_licences_back(cl, r);
    for (size_t i = 0; i < r->ncap; i++)
        cl->lic.v[r->cap[i].lic].used -= r->cap[i].count;
    person_run_over(r);
    map_u64_del(cl->run.by_job, r->job_id);
    cl->run.v[r->place] = cl->run.v[--cl->run.n];
    cl->run.v[r->place]->place = r->place;
    run_free(cl, r);
}

void cluster_release_node(struct cluster *cl, uint64_t job_id, const char *node)
{
    struct run *r = run_get(cl, job_id);
    if (!r)
        return;
    cluster_settle(cl);
    for (size_t i = 0; i < r->nholds; i++)
        if (strcmp(r->hold[i].node->name, node) == 0)
            hold_release(cl, &r->hold[i]);
    if (r->nheld == 0)
        run_over(cl, r);
}

void cluster_release(struct cluster *cl, uint64_t job_id)
{
    struct run *r = run_get(cl, job_id);
    if (!r)
        return;
    cluster_settle(cl);
    for (size_t i = 0; i < r->nholds; i++)
        hold_release(cl, &r->hold[i]);
    run_over(cl, r);
}

bool cluster_is_running(const struct cluster *cl, uint64_t job_id)
{
    return run_get(cl, job_id) != NULL;
}

/* ---- showing ---- */

/* "gpu:v100:2(IDX:0-1)" of one dimension. */
static void use_text(const struct cluster *cl, const struct snode *n, uint32_t dim, int64_t used,
                     struct str *out)
{
    struct ranges r = {0};
    bool numbered = false;
    for (size_t d = 0; d < n->group->ndev; d++) {
        bool of_it = n->group->dev[d].dim == dim;
        numbered |= of_it;
        if (of_it && n->dev_job[d] && n->dev_job[d] != DEVICE_OUT)
            ranges_add(&r, n->group->dev[d].index);
        used -= of_it && n->dev_job[d] == DEVICE_OUT;
    }
    ranges_flush(&r);
    list_addf(out, "%s:%lld", cl->dim.v[dim].label, (long long)used);
    if (numbered)
        str_addf(out, "(IDX:%s)", r.text.len ? str_text(&r.text) : "N/A");
    str_done(&r.text);
}

void cluster_node_use(struct cluster *cl, const char *name, struct node_use *ret, struct str *gres)
{
    cluster_settle(cl);
    const struct snode *n = cluster_node(cl, name);
    *ret = (struct node_use){0};
    if (!n)
        return;
    const int64_t *row = node_free(cl, n);
    ret->cpus = (int32_t)(n->group->cpus - row[DIM_CPU]);
    ret->mem_mib = n->group->mem_mib - row[DIM_MEM];
    ret->jobs = (int32_t)n->hold.n;
    ret->planned = n->planned;
    struct str text = STR_INIT;
    for (uint32_t d = DIM_GRES; gres && d < n->group->ntotal; d++)
        if (n->group->total[d] > 0)
            use_text(cl, n, d, n->group->total[d] - row[d], &text);
    if (gres)
        str_add(gres, str_text(&text));
    str_done(&text);
}

void cluster_node_free_gres(struct cluster *cl, const char *name, struct str *out)
{
    cluster_settle(cl);
    const struct snode *n = cluster_node(cl, name);
    const int64_t *row = n ? node_free(cl, n) : NULL;
    for (uint32_t d = DIM_GRES; n && d < n->group->ntotal; d++)
        if (n->group->total[d] > 0 && row[d] > 0)
            list_addf(out, "%s:%lld", cl->dim.v[d].label, (long long)row[d]);
}
