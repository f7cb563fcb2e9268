/* Of generic resources, what is said is what was asked: "4 gpu" where no type was named, although
 * the planner tries one type after the other and mixes of them, and what a node has of any type.
 * Memory that comes
 * with the CPUs was not asked for; who reads a refusal would look for it in his script in vain. */
#include "sched/request/wording.h"

#include "base/hostlist.h"
#include "model/grammar/gres.h"

#include <string.h>

void word_amount(const struct cluster *cl, uint32_t dim, int64_t amount, struct str *out)
{
    ASSERT(dim < cl->dim.n);
    if (dim == DIM_CPU || dim == DIM_SHARE)
        str_addf(out, "%lld CPU%s", (long long)amount, amount == 1 ? "" : "s");
    else if (dim == DIM_MEM)
        str_addf(out, "%lld MiB of memory", (long long)amount);
    else if (dim >= DIM_GRES)
        str_addf(out, "%lld %s", (long long)amount, cl->dim.v[dim].label);
    else
        str_add(out, "the node to itself");
}

/* ---- types ---- */

static bool list_names(const char *text, bool gpus, const struct dim *d, struct arena *a)
{
    struct gres_list list = {0};
    if (text_empty(text) ||
        !(gpus ? gres_parse_gpus(text, a, &list, NULL) : gres_parse(text, a, &list, NULL)))
        return false;
    for (size_t i = 0; i < list.n; i++)
        if (list.item[i].type && text_is(list.item[i].kind, d->kind) &&
            gres_type_matches(list.item[i].type, d->type))
            return true;
    return false;
}

/* Does the request name the type, or a choice of types with it? */
static bool type_asked(const struct compiled *c, const struct dim *d)
{
    const struct job_request *r = c->req;
    const char *gpus[] = {r->gpus, r->gpus_per_node, r->gpus_per_task, r->gpus_per_socket};
    struct arena *a = arena_new();
    bool named = list_names(r->gres, false, d, a);
    for (size_t i = 0; i < ARRAY_LEN(gpus) && !named; i++)
        named = list_names(gpus[i], true, d, a);
    arena_free(a);
    return named;
}

const char *word_label(const struct cluster *cl, const struct compiled *c, uint32_t dim)
{
    ASSERT(dim < cl->dim.n);
    const struct dim *d = &cl->dim.v[dim];
    return text_empty(d->type) || type_asked(c, d) ? d->label : d->kind;
}

static bool any_type(const struct cluster *cl, const struct compiled *c, uint32_t dim)
{
    return dim >= DIM_GRES && dim < cl->dim.n && !type_asked(c, &cl->dim.v[dim]);
}

static bool same_kind(const struct cluster *cl, uint32_t a, uint32_t b)
{
    return a >= DIM_GRES && b >= DIM_GRES && text_is(cl->dim.v[a].kind, cl->dim.v[b].kind);
}

/* Of a mix, one amount is said: what was asked. */
static void types_join(const struct cluster *cl, const struct compiled *c, struct take *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = t->n; --k > i;)
            if (same_kind(cl, t->use[i].dim, t->use[k].dim) && any_type(cl, c, t->use[i].dim) &&
                any_type(cl, c, t->use[k].dim)) {
                t->use[i].amount += t->use[k].amount;
                memmove(&t->use[k], &t->use[k + 1], (--t->n - k) * sizeof t->use[0]);
            }
}

/* Where any type does: the one of which the group has most. */
static uint32_t dim_in(const struct cluster *cl, const struct compiled *c, const struct group *g,
                       uint32_t dim)
{
    uint32_t best = dim;
    if (!any_type(cl, c, dim))
        return dim;
    for (uint32_t d = DIM_GRES; d < g->ntotal && d < cl->dim.n; d++)
        if (text_is(cl->dim.v[d].kind, cl->dim.v[dim].kind) &&
            (best >= g->ntotal || g->total[d] > g->total[best]))
            best = d;
    return best;
}

/* What the group has to serve `dim` with, which is one that dim_in gave: where any type does, of
 * all types. *ret_mixed: it has several. */
static int64_t has_of(const struct cluster *cl, const struct compiled *c, const struct group *g,
                      uint32_t dim, bool *ret_mixed)
{
    int64_t has = dim < g->ntotal ? g->total[dim] : 0;
    *ret_mixed = false;
    for (uint32_t d = DIM_GRES; d < g->ntotal && d < cl->dim.n; d++)
        if (d != dim && g->total[d] > 0 && !c->per_socket && same_kind(cl, d, dim) &&
            any_type(cl, c, dim)) {
            has += g->total[d];
            *ret_mixed = true;
        }
    return has;
}

/* ---- what is needed ---- */

static bool worth_saying(const struct take *t, uint32_t i)
{
    if (t->use[i].dim == DIM_JOBS)
        return false;
    return t->use[i].dim != DIM_SHARE || t->n < 2 || t->use[1].dim != DIM_CPU;
}

static void word_take(const struct cluster *cl, const struct compiled *c, const struct take *t,
                      struct str *out)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < t->n; i++)
        left += worth_saying(t, i);
    bool first = true;
    for (uint32_t i = 0; i < t->n; i++) {
        if (!worth_saying(t, i))
            continue;
        left--;
        str_add(out, first ? "" : left ? ", " : " and ");
        if (t->use[i].dim >= DIM_GRES)
            str_addf(out, "%lld %s", (long long)t->use[i].amount, word_label(cl, c, t->use[i].dim));
        else
            word_amount(cl, t->use[i].dim, t->use[i].dim == DIM_SHARE ? t->cpus : t->use[i].amount,
                        out);
        first = false;
    }
}

/* A group to speak about: one that can hold it, else the smallest of the partition. */
static const struct group *group_for(const struct cluster *cl, const struct option *o,
                                     const struct variant *v)
{
    for (size_t i = 0; i < cl->group.n; i++)
        if (bit_get(v->groups, i))
            return cl->group.v[i];
    return o->part->least;
}

static void memory_leave_out(struct take *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim == DIM_MEM)
            t->use[i] = t->use[--t->n];
}

/* What the request itself says that a node must have: who takes whole nodes takes all that is
 * there, which nobody asked for. */
static void take_asked(const struct cluster *cl, const struct compiled *c, const struct option *o,
                       const struct variant *v, const struct group *g, enum word_memory memory,
                       struct take *ret)
{
    struct option part = *o;
    part.mode.whole = false;
    demand_take(cl, c, &part, v, g, v->lay.umin, ret);
    types_join(cl, c, ret);
    if (o->mem == MEM_SHARE && (o->mode.whole || memory == MEMORY_ASKED))
        memory_leave_out(ret);
}

/* "16 tasks", "40 gpu:v100", "4 × (2 tasks and 3 gpu)": what is placed piece by piece. */
static void word_units(const struct cluster *cl, const struct compiled *c, const struct variant *v,
                       struct str *out)
{
    const struct layout *l = &v->lay;
    const char *gpu = NULL;
    for (size_t i = 0; i < v->ngres && !gpu; i++)
        if (cl->dim.v[v->gres[i].dim].is_gpu)
            gpu = word_label(cl, c, v->gres[i].dim);
    bool bundle = l->unit_tasks > 0 && l->gpu_share > 0 && gpu;
    if (l->unit_tasks == 0 && gpu)
        str_addf(out, "%d %s", l->units, gpu);
    else if (bundle)
        str_addf(out, "%d times %d task%s with %lld %s", l->units, l->unit_tasks,
                 l->unit_tasks == 1 ? "" : "s", (long long)l->unit_gpus, gpu);
    else
        str_addf(out, "%d task%s", l->units, l->units == 1 ? "" : "s");
}

/* What a node must be, beside what is taken of it. */
#define SHAPES 7
struct wording_shape {
    const char *one, *many; /* words behind a number */
    int64_t asked, has;
};

/* Sockets that a node must have, for the least that goes on one if not said. */
static int64_t sockets_asked(const struct job_request *r, const struct layout *l)
{
    int64_t tasks = l->base_tasks + (int64_t)l->unit_tasks * l->umin, on = r->ntasks_per_socket;
    int64_t spread = on > 0 && tasks > on ? (tasks + on - 1) / on : 0;
    return spread > r->sockets_per_node ? spread : r->sockets_per_node;
}

/* Those that are asked for; `g` NULL = of no group. */
static size_t shapes_of(const struct compiled *c, const struct variant *v, const struct group *g,
                        struct wording_shape *ret)
{
    static const struct group nothing;
    const struct job_request *r = c->req;
    size_t n = 0;
    g = g ? g : &nothing;
    int64_t on_sockets, on_sockets_has = demand_on_sockets(c, v, g, &on_sockets);
    const struct wording_shape all[SHAPES] = {
        {"MiB of temporary disk", "MiB of temporary disk", r->tmp_disk_mib, g->tmp_disk_mib},
        {"CPU in each node", "CPUs in each node", r->min_cpus_per_node, g->cpus},
        {"core in each node, as --core-spec leaves one",
         "cores in each node, as --core-spec leaves one", r->core_spec > 1 ? r->core_spec : 0,
         g->slots},
        {"socket", "sockets", sockets_asked(r, &v->lay), g->sockets},
        {"core of each socket", "cores of each socket", r->cores_per_socket, g->cores_per_socket},
        {"thread of each core", "threads of each core",
         r->threads_per_core > 1 ? r->threads_per_core : 0, g->threads_per_core},
        {"GPU on each of its sockets", "GPUs on each of its sockets", on_sockets, on_sockets_has}};
    for (size_t i = 0; i < SHAPES; i++)
        if (all[i].asked > 0)
            ret[n++] = all[i];
    return n;
}

static void word_nodes(const struct layout *l, const char *whole, struct str *out)
{
    if (l->nmax > l->nmin)
        str_addf(out, "%d to %d %snodes", l->nmin, l->nmax, whole);
    else
        str_addf(out, "%d %snode%s", l->nmin, whole, l->nmin == 1 ? "" : "s");
}

void word_demand(const struct cluster *cl, const struct compiled *c, const struct option *o,
                 const struct variant *v, enum word_memory memory, struct str *out)
{
    const struct layout *l = &v->lay;
    const struct group *g = group_for(cl, o, v);
    const char *whole = o->mode.whole ? "whole " : "";
    struct take t = {0};
    if (g)
        take_asked(cl, c, o, v, g, memory, &t);
    if (l->units > 0) {
        word_units(cl, c, v, out);
        str_add(out, " on ");
    }
    word_nodes(l, whole, out);
    if (g && t.n > 0) {
        str_add(out, l->units > 0 ? ", each with " : " with ");
        word_take(cl, c, &t, out);
    }
    if (l->nmin > 1 && l->units == 0)
        str_add(out, " each");
    struct wording_shape shape[SHAPES];
    size_t n = shapes_of(c, v, g, shape);
    for (size_t i = 0; i < n; i++)
        str_addf(out, ", with %lld %s", (long long)shape[i].asked,
                 shape[i].asked == 1 ? shape[i].one : shape[i].many);
    if (c->req->gpu_mem_mib > 0)
        str_addf(out, ", of GPUs with at least %lld MiB", (long long)c->req->gpu_mem_mib);
    if (!text_empty(c->req->constraint))
        str_addf(out, ", with the features %.80s", c->req->constraint);
}

/* ---- what there is ---- */

/* In how many of what is asked the group fails, and those in words; *ret_short is the sum of what
 * it is short of each, in thousandths of what is asked. */
static int group_fails(const struct cluster *cl, const struct compiled *c, const struct option *o,
                       const struct variant *v, const struct group *g, int64_t *ret_short,
                       struct str *words)
{
    struct take t;
    int fails = 0;
    int64_t lacking = 0;
    demand_take(cl, c, o, v, g, v->lay.umin, &t);
    types_join(cl, c, &t);
    if (o->mem == MEM_SHARE)
        memory_leave_out(&t);
    for (uint32_t i = 0; i < t.n; i++) {
        uint32_t dim = dim_in(cl, c, g, t.use[i].dim);
        bool mixed;
        int64_t has = has_of(cl, c, g, dim, &mixed);
        if (has >= t.use[i].amount || dim == DIM_SHARE)
            continue;
        lacking += 1000 - has * 1000 / t.use[i].amount;
        if (words) {
            str_add(words, fails ? ", " : " with ");
            if (has == 0 && dim >= DIM_GRES)
                str_addf(words, "no %s", word_label(cl, c, dim));
            else if (mixed)
                str_addf(words, "%lld %s", (long long)has, cl->dim.v[dim].kind);
            else
                word_amount(cl, dim, has, words);
            str_addf(words, " (%lld asked)", (long long)t.use[i].amount);
        }
        fails++;
    }
    struct wording_shape shape[SHAPES];
    size_t n = shapes_of(c, v, g, shape);
    for (size_t i = 0; i < n; i++) {
        if (shape[i].has >= shape[i].asked)
            continue;
        lacking += 1000 - shape[i].has * 1000 / shape[i].asked;
        if (words)
            str_addf(words, "%s%lld %s (%lld asked)", fails ? ", " : " with ",
                     (long long)shape[i].has, shape[i].has == 1 ? shape[i].one : shape[i].many,
                     (long long)shape[i].asked);
        fails++;
    }
    *ret_short = lacking;
    return fails;
}

/* Of the nodes that hold a piece: so much of a dimension in all. */
static int64_t there_is(const struct compiled *c, const struct option *o, const struct variant *v,
                        uint32_t dim)
{
    int64_t sum = 0;
    for (size_t i = 0; i < o->part->node.n; i++) {
        const struct snode *n = o->part->node.v[i];
        if (bit_get(v->groups, n->group->idx) &&
            (option_allows(c, o, n->idx / 64) >> (n->idx % 64) & 1))
            sum += n->group->total[dim];
    }
    return sum;
}

void word_room(const struct cluster *cl, const struct compiled *c, const struct option *o,
               const struct variant *v, const struct demand_room *room, struct str *out)
{
    str_addf(out, " has room for %lld of them", (long long)room->units);
    if (room->nodes > v->lay.nmax) {
        str_addf(out, " on %d node%s", v->lay.nmax, v->lay.nmax == 1 ? "" : "s");
        return;
    }
    str_addf(out, ": %lld such node%s with ", (long long)room->nodes, room->nodes == 1 ? "" : "s");
    word_amount(cl, DIM_CPU, there_is(c, o, v, DIM_CPU), out);
    for (size_t i = 0; i < v->ngres; i++) {
        str_add(out, i + 1 < v->ngres ? ", " : " and ");
        word_amount(cl, v->gres[i].dim, there_is(c, o, v, v->gres[i].dim), out);
    }
    str_add(out, room->nodes == 1 ? "" : " in all");
    if (room->types)
        word_one_type(cl, c, v, out);
}

void word_one_type(const struct cluster *cl, const struct compiled *c, const struct variant *v,
                   struct str *out)
{
    str_addf(out, " (all %s of a job are of one type%s)", cl->dim.v[v->gres[0].dim].kind,
             c->mixes ? ", or each node gives as many of each" : "");
}

void word_lacks(const struct cluster *cl, const struct compiled *c, const struct option *o,
                const struct group *g, struct str *out)
{
    int64_t lacking;
    if (!o->wish)
        return;
    if (group_fails(cl, c, o, o->wish, g, &lacking, NULL) > 0)
        group_fails(cl, c, o, o->wish, g, &lacking, out);
    else if (!text_empty(c->req->constraint))
        str_addf(out, " with the features %.200s",
                 text_empty(g->features) ? "(none)" : g->features);
}

/* --gpu-mem: the most that a GPU of the group has. False: it has none, or they have enough. */
static bool gpu_memory_lacks(const struct cluster *cl, const struct compiled *c,
                             const struct group *g, struct str *out)
{
    int64_t most = -1;
    for (size_t d = 0; d < g->ndev; d++)
        if (text_is(cl->dim.v[g->dev[d].dim].kind, "gpu") && g->dev[d].mem_mib > most)
            most = g->dev[d].mem_mib;
    if (most < 0 || most >= c->req->gpu_mem_mib)
        return false;
    if (most)
        str_addf(out, " with GPUs of %lld MiB (%lld asked)", (long long)most,
                 (long long)c->req->gpu_mem_mib);
    else
        str_addf(out, " with GPUs of unknown memory (%lld MiB asked)",
                 (long long)c->req->gpu_mem_mib);
    return true;
}

/* What is told of a group when it is named as the nearest. */
static void nearest_tell(const struct cluster *cl, const struct compiled *c, const struct option *o,
                         const struct group *g, int64_t lacking, struct str *out)
{
    if (lacking > 0 || !text_empty(c->req->constraint))
        word_lacks(cl, c, o, g, out);
    else if (gpu_memory_lacks(cl, c, g, out))
        return;
    else if (!text_empty(g->features))
        str_addf(out, " with the features %.200s", g->features);
}

#define NEAREST_NAMED 64

static bool is_allowed(const struct compiled *c, const struct option *o, const struct snode *n)
{
    return (option_allows(c, o, n->idx / 64) >> (n->idx % 64) & 1) != 0;
}

/* Of which nodes it is said what they lack: those that were asked for by name, where that is why;
 * of the others those that were not excluded. */
enum nearest_of { OF_NAMED, OF_ALLOWED, OF_ALL };

static bool nearest_counts(const struct compiled *c, const struct option *o, enum nearest_of of,
                           const struct snode *n)
{
    return of == OF_ALL || (of == OF_NAMED ? demand_names(c, n->idx) : is_allowed(c, o, n));
}

static enum nearest_of nearest_of(const struct cluster *cl, const struct compiled *c,
                                  const struct option *o)
{
    bool allowed = false;
    int64_t lacking;
    for (size_t i = 0; i < o->part->node.n; i++) {
        const struct snode *n = o->part->node.v[i];
        allowed |= is_allowed(c, o, n);
        if (demand_names(c, n->idx) && group_fails(cl, c, o, o->wish, n->group, &lacking, NULL) > 0)
            return OF_NAMED;
    }
    return allowed ? OF_ALLOWED : OF_ALL;
}

bool word_nearest_is_named(const struct cluster *cl, const struct compiled *c,
                           const struct option *o)
{
    return o->wish && nearest_of(cl, c, o) == OF_NAMED;
}

void word_nearest(const struct cluster *cl, const struct compiled *c, const struct option *o,
                  struct str *out)
{
    const struct group *best = NULL, *before = NULL;
    int64_t least = 0, lacking = 0;
    if (!o->wish)
        return;
    enum nearest_of of = nearest_of(cl, c, o);
    for (size_t i = 0; i < o->part->node.n; i++) {
        const struct snode *n = o->part->node.v[i];
        if (!nearest_counts(c, o, of, n) || n->group == before)
            continue;
        before = n->group;
        group_fails(cl, c, o, o->wish, before, &lacking, NULL);
        if (!best || lacking < least)
            best = before, least = lacking;
    }
    if (!best)
        return;
    struct hostlist names = HOSTLIST_INIT;
    struct str said = STR_INIT, same = STR_INIT;
    before = NULL;
    nearest_tell(cl, c, o, best, least, &said);
    for (size_t i = 0; i < o->part->node.n && names.n < NEAREST_NAMED; i++) {
        const struct snode *n = o->part->node.v[i];
        if (!nearest_counts(c, o, of, n))
            continue;
        if (n->group != before) {
            str_clear(&same);
            group_fails(cl, c, o, o->wish, n->group, &lacking, NULL);
            nearest_tell(cl, c, o, n->group, lacking, &same);
            before = n->group;
        }
        if (lacking == least && text_is(str_text(&same), str_text(&said)))
            hostlist_add(&names, n->name);
    }
    hostlist_sort(&names);
    if (of == OF_NAMED)
        str_add(out, names.n == 1 ? "the one asked for is " : "the ones asked for are ");
    else
        str_add(out, names.n == 1 ? "the nearest is " : "the nearest are ");
    hostlist_fold(&names, out);
    str_add(out, str_text(&said));
    if (of == OF_ALL && (c->req->exclude || c->req->reservation))
        str_addf(out, ", which %s",
                 c->req->exclude ? "--exclude leaves out" : "its reservation does not have");
    hostlist_done(&names);
    str_done(&said);
    str_done(&same);
}
