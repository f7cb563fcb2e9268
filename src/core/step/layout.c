/* From what a step wants and what is there to a layout, in three moves: how many tasks each node
 * can take at most; which nodes are chosen; how the tasks are dealt out.
 *
 * The same function answers two questions. With rooms as if no other step ran it says whether the
 * step can ever run in its job (a refusal); with what is free now, whether it can run at once (or
 * waits). CPUs are given as whole cores, lowest first, so that steps do not share cores; a step
 * that is not `exact` gets all CPUs of its job on its nodes. Dealing out is in step/deal.c. */
#include "core/step/layout.h"
#include "base/amount.h"

#include "base/alloc.h"
#include "core/step/cores.h"
#include "core/step/deal.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_gpu(const char *kind)
{
    return text_is(kind, "gpu");
}

/* ---- what a node has ------------------------------------------------------------------------ */

static int64_t cpus_there(const struct step_want *w, const struct step_room *r)
{
    struct idset cpus = IDSET_INIT;
    if (!w->exact)
        return (int64_t)r->free.count < r->held->cpu_count ? 0 : r->held->cpu_count;
    if (step_threads_of(r) == 1)
        return (int64_t)r->free.count;
    step_cores_take(r, INT64_MAX, &cpus);
    int64_t n = (int64_t)cpus.count;
    idset_done(&cpus);
    return n;
}

static int64_t gres_there(const struct step_room *r, const char *kind, const char *type)
{
    int64_t sum = 0;
    for (size_t g = 0; g < r->held->ngres; g++)
        if (text_is(r->held->gres[g].kind, kind) &&
            (!type || gres_type_matches(type, r->held->gres[g].type)))
            sum += r->held->gres[g].devices ? (int64_t)r->device[g].count : r->count[g];
    return sum;
}

/* ---- how many tasks it can take ------------------------------------------------------------- */

static int64_t capped(struct dealing *d, int64_t cap, int64_t limit, enum refusal cause,
                      int64_t has, int64_t wants)
{
    if (limit >= cap || limit >= d->w->ntasks)
        return least(cap, limit);
    d->cause = cause;
    d->cause_has = has;
    d->cause_wants = wants;
    return most(limit, 0);
}

static int64_t gres_cap(struct dealing *d, const struct step_room *r, int64_t cap)
{
    const struct step_want *w = d->w;
    int64_t gpus = 0;
    for (size_t i = 0; i < w->nneed; i++) {
        const struct gres_need *need = &w->need[i];
        int64_t there = gres_there(r, need->kind, need->type);
        int64_t lump = most(need->per_node, need->total > 0 ? 1 : 0);
        if (lump > there)
            cap = capped(d, cap, 0, REFUSE_GRES, there, lump);
        else if (need->per_task)
            cap = capped(d, cap, (there - need->per_node) / need->per_task, REFUSE_GRES, there,
                         amount_times(need->per_task, w->ntasks));
        if (is_gpu(need->kind))
            gpus += need->per_node ? need->per_node : there;
    }
    if (w->per_gpu && gpus)
        cap = capped(d, cap, amount_times(gpus, w->per_gpu), REFUSE_INVALID_TASK_COUNT,
                     amount_times(gpus, w->per_gpu), w->ntasks);
    return cap;
}

static int64_t mem_cap(struct dealing *d, const struct step_room *r, int64_t cap)
{
    const struct step_want *w = d->w;
    int64_t cpt = most(w->cpus_per_task, 1);
    if (w->mem_node_mib > r->mem_mib)
        return capped(d, cap, 0, REFUSE_MEMORY, r->mem_mib, w->mem_node_mib);
    if (w->mem_cpu_mib > 0)
        return capped(d, cap, r->mem_mib / amount_times(w->mem_cpu_mib, cpt), REFUSE_MEMORY,
                      r->mem_mib, amount_times(amount_times(w->mem_cpu_mib, cpt), w->ntasks));
    return cap;
}

/* As many as Slurm's MaxTasksPerNode may be. With --overcommit nothing else bounds them, and the
 * node's daemon writes down where each of them runs. */
#define TASKS_PER_NODE 65533

static int32_t node_cap(struct dealing *d, size_t i)
{
    const struct step_want *w = d->w;
    const struct step_room *r = &d->room[i];
    if (!w->allowed[i] || r->unusable)
        return 0;
    int64_t cpus = cpus_there(w, r), cpt = most(w->cpus_per_task, 1), cap = TASKS_PER_NODE;
    cap = capped(d, cap, w->overcommit && cpus ? TASKS_PER_NODE : cpus / cpt, REFUSE_TOO_MANY_CPUS,
                 cpus, cpt * w->ntasks);
    if (w->per_node)
        cap = least(cap, w->per_node);
    if (w->per_core || w->per_socket)
        cap = least(cap, step_cores_hold(w, r, cap));
    cap = mem_cap(d, r, cap);
    return (int32_t)gres_cap(d, r, cap);
}

/* ---- which nodes ---------------------------------------------------------------------------- */

static int64_t room_for(const struct dealing *d)
{
    int64_t sum = 0;
    for (size_t i = 0; i < d->n; i++)
        sum += d->chosen[i] ? d->cap[i] : 0;
    return sum;
}

/* Returns how many tasks it has room for. */
static int32_t choose(struct dealing *d, size_t i, int32_t *count)
{
    d->chosen[i] = true;
    (*count)++;
    return d->cap[i];
}

struct roomy {
    int32_t cap;
    size_t node;
};

/* The smallest first, the later of two equal ones. */
static int by_room(const void *va, const void *vb)
{
    const struct roomy *a = va, *b = vb;
    if (a->cap != b->cap)
        return a->cap < b->cap ? -1 : 1;
    return (a->node < b->node) - (a->node > b->node);
}

/* The smallest chosen one gives way to the largest that is not, until the tasks fit. */
static bool roomier_chosen(struct dealing *d, int64_t room)
{
    struct roomy *out = arena_alloc(d->a, d->n * sizeof *out),
                 *in = arena_alloc(d->a, d->n * sizeof *in);
    size_t nout = 0, nin = 0;
    for (size_t i = 0; i < d->n; i++)
        if (!d->chosen[i])
            in[nin++] = (struct roomy){d->cap[i], i};
        else if (!d->w->must[i])
            out[nout++] = (struct roomy){d->cap[i], i};
    qsort(out, nout, sizeof *out, by_room);
    qsort(in, nin, sizeof *in, by_room);
    for (size_t i = 0; i < nout && i < nin && room < d->w->ntasks; i++) {
        const struct roomy *largest = &in[nin - 1 - i];
        if (largest->cap <= out[i].cap)
            return false;
        d->chosen[out[i].node] = false;
        d->chosen[largest->node] = true;
        room += largest->cap - out[i].cap;
    }
    return room >= d->w->ntasks;
}

/* Those that must be; then in order, as many as may be (Slurm gives a step as many of a range as it
 * can), but beside named ones only those that the tasks need, where nothing says how many; if the
 * tasks do not fit then, the roomiest instead. */
static bool nodes_choose(struct dealing *d)
{
    const struct step_want *w = d->w;
    int32_t count = 0;
    int64_t room = 0;
    for (size_t i = 0; i < d->n; i++)
        if (w->must[i]) {
            if (d->cap[i] <= 0)
                return false;
            room += choose(d, i, &count);
        }
    bool as_needed = count && !w->min_nodes;
    for (size_t i = 0; i < d->n && count < w->max_nodes; i++)
        if (!d->chosen[i] && d->cap[i] > 0 && (!as_needed || room < w->ntasks))
            room += choose(d, i, &count);
    if (room >= w->ntasks)
        return count > 0 && count >= w->min_nodes;
    return roomier_chosen(d, room);
}

/* ---- taking --------------------------------------------------------------------------------- */

/* Of tasks, which may be many thousands on each node: with steps ("0-62:2"). */
static const char *tasks_text(struct arena *a, const struct idset *ids)
{
    struct str text = STR_INIT;
    idset_format(ids, &text);
    const char *copy = arena_strdup(a, str_text(&text));
    str_done(&text);
    return copy;
}

/* Of CPUs and devices, as allocations of jobs have them: "0-3,8,10", without steps. */
static const char *ids_text(struct arena *a, const struct idset *ids)
{
    struct str text = STR_INIT;
    uint32_t first, last, next;
    for (bool any = idset_first(ids, &first); any; first = next) {
        for (last = first; (any = idset_next(ids, last, &next)) && next == last + 1; last = next)
            ;
        str_addf(&text, "%s%u", text.len ? "," : "", first);
        if (last != first)
            str_addf(&text, "%c%u", last == first + 1 ? ',' : '-', last);
    }
    const char *copy = arena_strdup(a, str_text(&text));
    str_done(&text);
    return copy;
}

static void cpus_give(struct dealing *d, size_t i, int64_t gpus, struct alloc_node *to)
{
    const struct step_want *w = d->w;
    const struct step_room *r = &d->room[i];
    struct idset cpus = IDSET_INIT;
    to->cpus = r->held->cpus;
    to->cpu_count = r->held->cpu_count;
    if (!w->exact)
        return;
    int64_t wanted = most(w->cpus_per_task, 1) * d->tasks[i];
    if (w->per_core || w->per_socket)
        step_cores_deal(w, r, d->tasks[i], &cpus);
    step_cores_take(r, most(wanted, gpus * w->cpus_per_gpu), &cpus);
    to->cpus = ids_text(d->a, &cpus);
    to->cpu_count = (int32_t)cpus.count;
    idset_done(&cpus);
}

static void gres_put(struct alloc_node *to, const struct alloc_gres *of, int64_t count,
                     const char *devices)
{
    to->gres[to->ngres++] =
        (struct alloc_gres){.kind = of->kind, .type = of->type, .count = count, .devices = devices};
}

/* `count` of kind and type, lowest devices first; several needs of one kind may come to the same
 * devices only once. */
static void gres_give(struct dealing *d, const struct step_room *r, struct idset *taken,
                      const struct gres_need *need, int64_t count, struct alloc_node *to)
{
    for (size_t g = 0; g < r->held->ngres && count > 0; g++) {
        const struct alloc_gres *of = &r->held->gres[g];
        struct idset now = IDSET_INIT;
        uint32_t id;
        if (!text_is(of->kind, need->kind) ||
            (need->type && !gres_type_matches(need->type, of->type)))
            continue;
        if (!of->devices) {
            int64_t n = least(count, r->count[g]);
            if (n > 0)
                gres_put(to, of, n, NULL);
            count -= n;
            continue;
        }
        for (bool more = idset_first(&r->device[g], &id); more && count > 0;
             more = idset_next(&r->device[g], id, &id))
            if (!idset_has(&taken[g], id)) {
                idset_add(&taken[g], id);
                idset_add(&now, id);
                count--;
            }
        if (now.count)
            gres_put(to, of, (int64_t)now.count, ids_text(d->a, &now));
        idset_done(&now);
    }
}

/* GPUs of the whole step, dealt one to each node in turn. share[need * n + node] */
static bool totals_deal(struct dealing *d, int64_t *share)
{
    const struct step_want *w = d->w;
    for (size_t k = 0; k < w->nneed; k++) {
        int64_t rest = w->need[k].total;
        bool moved = true;
        for (size_t i = 0; i < d->n; i++)
            share[k * d->n + i] =
                d->chosen[i] ? w->need[k].per_node + w->need[k].per_task * d->tasks[i] : 0;
        while (rest > 0 && moved) {
            moved = false;
            for (size_t i = 0; i < d->n && rest > 0; i++)
                if (d->chosen[i] && share[k * d->n + i] <
                                        gres_there(&d->room[i], w->need[k].kind, w->need[k].type)) {
                    share[k * d->n + i]++;
                    rest--;
                    moved = true;
                }
        }
        if (rest > 0) {
            d->cause = REFUSE_GRES;
            d->cause_wants = w->need[k].total;
            d->cause_has = w->need[k].total - rest;
            return false;
        }
    }
    return true;
}

static int64_t gpus_on(const struct dealing *d, const int64_t *share, size_t i)
{
    int64_t sum = 0;
    for (size_t k = 0; k < d->w->nneed; k++)
        sum += is_gpu(d->w->need[k].kind) ? share[k * d->n + i] : 0;
    return sum;
}

static void node_give(struct dealing *d, size_t i, const int64_t *share, const struct idset *ids,
                      struct alloc_node *to)
{
    const struct step_want *w = d->w;
    const struct step_room *r = &d->room[i];
    int64_t gpus = gpus_on(d, share, i);
    *to = (struct alloc_node){
        .node = r->held->node, .tasks = d->tasks[i], .task_ids = tasks_text(d->a, ids)};
    cpus_give(d, i, gpus, to);
    to->mem_mib = w->mem_node_mib + amount_times(w->mem_cpu_mib, to->cpu_count) +
                  amount_times(w->mem_gpu_mib, gpus);
    if (!to->mem_mib)
        to->mem_mib = r->held->mem_mib;
    /* CPUs come in whole cores, which a memory for each may not pay for. */
    else if (to->mem_mib > r->mem_mib)
        to->mem_mib = r->mem_mib;
    if (!w->nneed && (w->shares & SHARES_GRES) && !w->no_gres) {
        to->gres = r->held->gres;
        to->ngres = r->held->ngres;
        return;
    }
    struct idset *taken = arena_alloc(d->a, (r->held->ngres + 1) * sizeof *taken);
    memset(taken, 0, (r->held->ngres + 1) * sizeof *taken);
    to->gres = arena_alloc(d->a, (w->nneed * r->held->ngres + 1) * sizeof *to->gres);
    for (size_t k = 0; k < w->nneed; k++)
        gres_give(d, r, taken, &w->need[k], share[k * d->n + i], to);
    for (size_t g = 0; g < r->held->ngres; g++)
        idset_done(&taken[g]);
}

/* What only the finished deal shows: GPUs of the step as a whole, CPUs and memory for them. */
static bool rest_fits(struct dealing *d, int64_t *share)
{
    const struct step_want *w = d->w;
    if (!totals_deal(d, share))
        return false;
    for (size_t i = 0; i < d->n; i++) {
        int64_t gpus = gpus_on(d, share, i);
        if (d->chosen[i] && w->cpus_per_gpu * gpus > cpus_there(w, &d->room[i])) {
            d->cause = REFUSE_TOO_MANY_CPUS;
            d->cause_wants = w->cpus_per_gpu * gpus;
            d->cause_has = cpus_there(w, &d->room[i]);
            return false;
        }
        if (d->chosen[i] && amount_times(w->mem_gpu_mib, gpus) > d->room[i].mem_mib) {
            d->cause = REFUSE_MEMORY;
            d->cause_wants = amount_times(w->mem_gpu_mib, gpus);
            d->cause_has = d->room[i].mem_mib;
            return false;
        }
    }
    return true;
}

/* ---- all together --------------------------------------------------------------------------- */

static enum refusal why_not(const struct dealing *d)
{
    const struct step_want *w = d->w;
    unsigned long long id = w->job_id;
    if (d->cause == REFUSE_GRES)
        str_addf(d->detail,
                 "job %llu has %lld of the generic resources the step asks for on a node, which "
                 "needs %lld",
                 id, (long long)d->cause_has, (long long)d->cause_wants);
    else if (d->cause == REFUSE_MEMORY)
        str_addf(d->detail, "job %llu has %lld MiB on a node; the step needs %lld", id,
                 (long long)d->cause_has, (long long)d->cause_wants);
    else if (d->cause == REFUSE_INVALID_TASK_COUNT)
        str_addf(d->detail,
                 "%d tasks are asked for; --ntasks-per-gpu=%d allows %lld on a node of job %llu",
                 w->ntasks, w->per_gpu, (long long)d->cause_has, id);
    else
        str_addf(d->detail,
                 "%d task%s of %d CPU%s on %d node%s: job %llu has room for %lld on the nodes it "
                 "may use",
                 w->ntasks, w->ntasks == 1 ? "" : "s", (int)most(w->cpus_per_task, 1),
                 w->cpus_per_task > 1 ? "s" : "", w->min_nodes ? w->min_nodes : w->max_nodes,
                 (w->min_nodes ? w->min_nodes : w->max_nodes) == 1 ? "" : "s", id,
                 (long long)room_for(d));
    return d->cause ? d->cause : REFUSE_TOO_MANY_CPUS;
}

static void give(struct dealing *d, const int64_t *share, const struct idset *ids,
                 struct alloc *ret)
{
    ret->node = arena_alloc(d->a, (d->n + 1) * sizeof *ret->node);
    ret->n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->tasks[i] > 0)
            node_give(d, i, share, &ids[i], &ret->node[ret->n++]);
}

enum refusal step_layout(const struct step_want *want, const struct step_room *room, size_t n,
                         struct arena *a, struct alloc *ret, struct str *detail)
{
    struct dealing d = {.w = want, .room = room, .n = n, .a = a, .detail = detail};
    struct idset *ids = xcalloc(n + 1, sizeof *ids);
    int64_t *share = arena_alloc(a, (want->nneed * n + 1) * sizeof *share);
    d.cap = xcalloc(n + 1, sizeof *d.cap);
    d.tasks = xcalloc(n + 1, sizeof *d.tasks);
    d.chosen = xcalloc(n + 1, sizeof *d.chosen);
    for (size_t i = 0; i < n; i++)
        d.cap[i] = node_cap(&d, i);
    bool fits = want->spread == SPREAD_ARBITRARY ? step_told_fits(&d) : nodes_choose(&d);
    if (fits) {
        step_deal(&d, ids);
        fits = rest_fits(&d, share);
    }
    if (fits)
        give(&d, share, ids, ret);
    enum refusal refusal = fits ? REFUSE_NONE : why_not(&d);
    for (size_t i = 0; i < n; i++)
        idset_done(&ids[i]);
    free(ids);
    free(d.cap);
    free(d.tasks);
    free(d.chosen);
    return refusal;
}
