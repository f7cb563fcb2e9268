/* Working a request out. First what does not depend on the nodes: its generic resources by kind and
 * type (asked.c), its layouts, its constraint. Then for each partition an option, and in it the
 * variants (variants.c). */
#include "sched/request/demand_work.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "model/grammar/gres.h"
#include "sched/books/limits/caps.h"
#include "sched/books/limits/licences.h"
#include "sched/books/limits/qos.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

static void option_memory(const struct demand_work *w, struct option *o)
{
    const struct job_request *r = w->req;
    const struct policy *y = &w->cl->policy;
    const struct partition *p = &o->part->p;
    bool gpus = w->job_gpus + w->node_gpus + w->task_gpus > 0;
    int64_t cpu = p->def_mem_per_cpu_mib ? p->def_mem_per_cpu_mib : y->def_mem_per_cpu;
    int64_t node = p->def_mem_per_node_mib ? p->def_mem_per_node_mib : y->def_mem_per_node;
    o->max_mem_per_cpu_mib = p->max_mem_per_cpu_mib ? p->max_mem_per_cpu_mib : y->max_mem_per_cpu;
    o->max_mem_per_node_mib =
        p->max_mem_per_node_mib ? p->max_mem_per_node_mib : y->max_mem_per_node;
    o->mem = MEM_SHARE;
    if (!y->count_memory)
        o->mem = MEM_NONE;
    else if (r->mem_per_node_mib == MEM_ALL)
        o->mem = MEM_WHOLE;
    else if (r->mem_per_node_mib > 0)
        o->mem = MEM_NODE, o->mem_mib = r->mem_per_node_mib;
    else if (r->mem_per_cpu_mib > 0)
        o->mem = MEM_CPU, o->mem_mib = r->mem_per_cpu_mib;
    else if (r->mem_per_gpu_mib > 0)
        o->mem = MEM_GPU, o->mem_mib = r->mem_per_gpu_mib;
    else if (gpus && (p->def_mem_per_gpu_mib > 0 || p->def_mem_per_gpu_types))
        o->mem = MEM_GPU, o->mem_mib = p->def_mem_per_gpu_mib;
    else if (cpu > 0)
        o->mem = MEM_CPU, o->mem_mib = cpu;
    else if (node > 0)
        o->mem = MEM_NODE, o->mem_mib = node;
}

/* ---- options ---- */

static void option_never(struct option *o, enum job_reason r, const char *text)
{
    if (o->never == REASON_NONE) {
        o->never = r;
        o->never_text = text;
    }
}

/* How many nodes a job may have there; 0 = any. */
struct part_bounds {
    int32_t least, most;
};
static struct part_bounds bounds_of(const struct compiled *c, const struct partition *p)
{
    return (struct part_bounds){
        .least = qos_may_exceed(c->qos, QOS_OVER_MIN_NODES) ? 0 : p->min_nodes,
        .most = qos_may_exceed(c->qos, QOS_OVER_MAX_NODES) ? 0 : p->max_nodes};
}

static void option_limits(struct demand_work *w, struct option *o)
{
    const struct partition *p = &o->part->p;
    struct part_bounds b = bounds_of(w->c, p);
    int64_t most = p->max_time_us > 0 ? p->max_time_us : TIME_UNLIMITED;
    int64_t standard = p->default_time_us > 0 ? p->default_time_us : most;
    int64_t max = qos_may_exceed(w->c->qos, QOS_OVER_MAX_TIME) ? TIME_UNLIMITED : most;
    o->limit_us = w->req->time_limit_us > 0 ? w->req->time_limit_us : standard;
    o->limit_min_us = w->req->time_min_us > 0 && w->req->time_min_us < o->limit_us
                          ? w->req->time_min_us
                          : o->limit_us;
    if (o->limit_us > max && o->limit_min_us <= max)
        o->limit_us = max;
    o->nodes_min = w->layout[0].nmin;
    int32_t nodes_max = w->layout[0].nmax;
    for (size_t l = 1; l < w->nlayouts; l++) {
        o->nodes_min = w->layout[l].nmin < o->nodes_min ? w->layout[l].nmin : o->nodes_min;
        nodes_max = w->layout[l].nmax > nodes_max ? w->layout[l].nmax : nodes_max;
    }
    if (o->resv && resv_confines(o->resv) && !o->cut &&
        o->limit_min_us > o->resv->r.end_us - o->resv->r.start_us)
        option_never(o, REASON_RESERVATION, "its time limit is longer than its reservation");
    if (p->state == PART_DOWN || p->state == PART_INACTIVE)
        option_never(o, p->state == PART_DOWN ? REASON_PARTITION_DOWN : REASON_PARTITION_INACTIVE,
                     p->state == PART_DOWN ? "its partition is down" : "its partition is inactive");
    if (o->limit_us > max)
        option_never(o, REASON_PARTITION_TIME_LIMIT,
                     "its time limit exceeds the longest its partition allows");
    if (b.most > 0 && o->nodes_min > b.most)
        option_never(o, REASON_PARTITION_NODE_LIMIT,
                     "it asks for more nodes than its partition allows a job");
    if (b.least > 1 && nodes_max < b.least)
        option_never(o, REASON_PARTITION_NODE_LIMIT,
                     "it asks for fewer nodes than its partition's smallest job");
}

/* Of several numbers of nodes those go that the partition does not allow; if it allows none, the
 * option is never. */
static void variants_drop(struct part_bounds b, struct option *o)
{
    size_t kept = 0;
    for (size_t i = 0; i < o->nvariants; i++) {
        const struct layout *l = &o->variant[i].lay;
        if ((b.most == 0 || l->nmin <= b.most) && l->nmax >= b.least)
            o->variant[kept++] = o->variant[i];
    }
    o->nvariants = kept;
}

/* A partition's MinNodes and MaxNodes narrow what the job leaves open. */
static void layouts_narrow(struct part_bounds b, struct option *o)
{
    for (size_t i = 0; i < o->nvariants; i++) {
        struct layout *l = &o->variant[i].lay;
        if (b.most > 0 && l->nmax > b.most && l->nmin <= b.most)
            l->nmax = b.most;
        if (b.least > l->nmin && l->nmax >= b.least)
            l->nmin = b.least;
    }
}

/* May a job of this reservation get less than its limit, which ends with the reservation? Not what
 * says how much it needs at least, nor what fits into the next time of one that comes again. */
static bool may_cut(const struct job_request *req, const struct reservation *r)
{
    if (req->time_limit_us <= 0)
        return true;
    bool fits = req->time_limit_us <= r->end_us - r->start_us;
    return req->time_min_us <= 0 && !((r->flags & RESV_RECURRING) && fits);
}

static void variants_of(struct demand_work *w, struct option *o, const struct demand_arm *arm)
{
    struct serving chosen[NEEDS_MAX];
    if (w->types != TYPES_MIXED)
        demand_variants(w, o, arm, chosen, 0);
    if (w->types != TYPES_ONE)
        demand_mixes(w, o, arm);
}

/* Room for one more. Lists may name the same again and again, so what is made is counted, not what
 * is named. */
static struct option *option_next(struct demand_work *w)
{
    struct compiled *c = w->c;
    if (c->n == w->room) {
        struct option *former = c->option;
        w->room = w->room ? 2 * w->room : 1;
        c->option = arena_alloc(w->a, w->room * sizeof c->option[0]);
        if (former)
            memcpy(c->option, former, c->n * sizeof c->option[0]);
    }
    return &c->option[c->n++];
}

/* `drawn`: the reservation draws the job, which did not ask for it. */
static void option_make(struct demand_work *w, struct spart *part, const struct sresv *resv,
                        bool drawn)
{
    struct option *o = option_next(w);
    w->drawn = drawn;
    *o = (struct option){.part = part,
                         .place = w->place,
                         .resv = resv,
                         .cut = resv && !drawn && may_cut(w->req, &resv->r),
                         .serve = part->idx + (resv ? resv->number * (uint32_t)w->cl->part.n : 0),
                         .tier = part->p.priority_tier,
                         .job_factor =
                             part->p.priority_job_factor > 0 ? part->p.priority_job_factor : 1,
                         .mode = request_mode(w->req, &part->p)};
    option_memory(w, o);
    option_limits(w, o);
    /* What --prefer likes is tried before what --constraint allows without it. */
    for (size_t l = 0; l < w->liked.n && w->tried <= ALTERNATIVES_MAX; l++)
        for (size_t i = 0; i < w->arms.n; i++) {
            struct demand_arm both;
            if (demand_arm_join(w, &w->arms.v[i], &w->liked.v[l], &both))
                variants_of(w, o, &both);
        }
    for (size_t i = 0; i < w->arms.n; i++)
        variants_of(w, o, &w->arms.v[i]);
    if ((w->sizes.n || w->types != TYPES_ONE) && o->never == REASON_NONE)
        variants_drop(bounds_of(w->c, &part->p), o);
    layouts_narrow(bounds_of(w->c, &part->p), o);
    if (o->nvariants > 0)
        o->wish = &o->variant[0];
    if (o->nvariants == 0)
        option_never(o, REASON_BAD_CONSTRAINTS,
                     "no node of its partition could hold what it asks for, even empty");
}

/* An option for each reservation of the list, of those that there are. One that draws the job is
 * none where it cannot hold it: the job does not wait for it. */
static void reservations_of(struct demand_work *w, struct spart *part, const char *list, bool drawn)
{
    struct span rest = span_of(list ? list : ""), piece;
    size_t before = w->c->n;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        const struct sresv *s =
            cluster_resv(w->cl, arena_strndup(w->scratch, piece.data, piece.len));
        bool again = false;
        for (size_t i = before; s && i < w->c->n; i++)
            again |= w->c->option[i].resv == s;
        if (s && !again)
            option_make(w, part, s, drawn);
        if (s && !again && drawn && w->c->option[w->c->n - 1].never != REASON_NONE)
            w->c->n--;
    }
}

/* Inside what draws it first: that is kept for it anyway. */
static void reservations_make(struct demand_work *w, struct spart *part)
{
    if (!text_empty(w->req->reservation)) {
        reservations_of(w, part, w->req->reservation, false);
        return;
    }
    reservations_of(w, part, w->magnets, true);
    option_make(w, part, NULL, false);
}

static void options_each(struct demand_work *w)
{
    struct span rest = span_of(w->req->partition ? w->req->partition : ""), piece;
    w->c->n = 0;
    w->numbered = w->asked_for = 0;
    w->crowded = false;
    for (w->place = 0; w->tried <= ALTERNATIVES_MAX && span_next(&rest, ',', &piece); w->place++) {
        piece = span_trim(piece);
        struct spart *part =
            piece.len ? cluster_part(w->cl, arena_strndup(w->scratch, piece.data, piece.len))
                      : NULL;
        bool again = !part;
        for (size_t i = 0; part && i < w->c->n; i++)
            again |= w->c->option[i].part == part;
        if (!again)
            reservations_make(w, part);
    }
}

static bool any_possible(const struct demand_work *w)
{
    bool any = false;
    for (size_t i = 0; i < w->c->n && !any; i++)
        any = w->c->option[i].never == REASON_NONE &&
              demand_possible(w->cl, w->c, &w->c->option[i], false);
    return any;
}

/* Types are mixed where no type alone could ever do: so who can get GPUs that are alike does, and
 * waits for them if he must. Of what cannot be had either way both are told. */
static void options_make(struct demand_work *w)
{
    options_each(w);
    if (w->tried > ALTERNATIVES_MAX || !demand_may_mix(w) || any_possible(w))
        return;
    w->types = TYPES_MIXED;
    options_each(w);
    for (size_t i = 0; i < w->c->n; i++)
        w->c->mixes |= w->c->option[i].nvariants > 0;
    if (any_possible(w))
        return;
    w->types = TYPES_BOTH;
    options_each(w);
}

/* ---- node lists and licences ---- */

static bool names_to_nodes(struct demand_work *w, const char *text, const char *what, u32_vec *ret)
{
    struct hostlist h = HOSTLIST_INIT;
    struct err e = {0};
    bool ok = hostlist_parse(&h, text, &e) ||
              demand_complain(w, REFUSE_INVALID_NODE, REASON_BAD_CONSTRAINTS, e.text);
    for (size_t i = 0; ok && i < h.n; i++) {
        const struct snode *n = cluster_node(w->cl, h.name[i]);
        if (n)
            vec_push(ret, n->idx);
        else if (text_is(what, "nodelist"))
            ok = demand_complain(
                w, REFUSE_INVALID_NODE, REASON_BAD_CONSTRAINTS,
                arena_printf(w->a, "there is no node %.100s in this cluster", h.name[i]));
    }
    hostlist_done(&h);
    return ok;
}

static int u32_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool node_lists(struct demand_work *w)
{
    u32_vec list = {0};
    bool ok = true;
    size_t nodes = w->cl->node.n;
    if (!text_empty(w->req->exclude)) {
        ok = names_to_nodes(w, w->req->exclude, "exclude", &list);
        w->c->allowed = arena_alloc(w->a, BIT_WORDS(nodes + 1) * sizeof w->c->allowed[0]);
        memset(w->c->allowed, 0xff, BIT_WORDS(nodes + 1) * sizeof w->c->allowed[0]);
        for (size_t i = 0; i < list.n; i++)
            bit_clear(w->c->allowed, list.v[i]);
        vec_clear(&list);
    }
    if (ok && !text_empty(w->req->nodelist)) {
        ok = names_to_nodes(w, w->req->nodelist, "nodelist", &list);
        if (list.n > 1)
            qsort(list.v, list.n, sizeof list.v[0], u32_order);
        w->c->must = arena_alloc(w->a, (list.n + 1) * sizeof list.v[0]);
        for (size_t i = 0; i < list.n; i++)
            if (i == 0 || list.v[i] != list.v[i - 1])
                w->c->must[w->c->nmust++] = list.v[i];
        for (size_t i = 0; ok && w->c->allowed && i < w->c->nmust; i++)
            if (!bit_get(w->c->allowed, w->c->must[i]))
                ok = demand_complain(w, REFUSE_INVALID_NODE, REASON_BAD_CONSTRAINTS,
                                     arena_printf(w->a,
                                                  "node %s is asked for (-w) and excluded (-x)",
                                                  w->cl->node.v[w->c->must[i]]->name));
    }
    vec_done(&list);
    return ok;
}

static bool licences_take(struct demand_work *w)
{
    struct licence_list list;
    const char *wrong;
    bool ok = licences_find(w->cl, w->req->licenses, w->a, &list, &wrong) ||
              demand_complain(w, REFUSE_LICENSES, REASON_LICENSES, wrong);
    w->c->lic = list.v;
    w->c->nlic = list.n;
    return ok;
}

/* -w names more nodes than -N asks: as many as named, as Slurm does. */
static void layouts_hold_list(struct demand_work *w)
{
    int32_t named = (int32_t)w->c->nmust;
    for (size_t l = 0; l < w->nlayouts; l++) {
        struct layout *lay = &w->layout[l];
        if (named <= lay->nmin)
            continue;
        bool pieces = lay->units > 0;
        if (pieces && named > lay->units)
            continue;
        lay->nmin = named;
        if (lay->nmax < named)
            lay->nmax = named;
        if (pieces && lay->umax > lay->units - (named - 1))
            lay->umax = lay->units - (named - 1);
    }
}

/* Counts of features say how many nodes a job has that says nothing of it, as in Slurm. */
static void layouts_hold_counts(struct demand_work *w)
{
    const struct job_request *r = w->req;
    int32_t nodes = w->arms.nodes;
    if (r->min_nodes > 0 || r->max_nodes > 0 || r->ntasks > 0 || w->sizes.n)
        return;
    for (size_t l = 0; l < w->nlayouts; l++)
        if (w->layout[l].units == 0 && w->layout[l].nmax < nodes)
            w->layout[l].nmin = w->layout[l].nmax = nodes;
}

/* The layouts of one range of numbers: what its tasks or GPUs make fewer nodes of is none of
 * them. */
static void layouts_of_size(struct demand_work *w, int32_t low, int32_t high)
{
    struct job_request one = *w->req;
    struct layout found[LAYOUTS_MAX];
    one.min_nodes = low;
    one.max_nodes = high;
    size_t n = low <= high
                   ? demand_layouts(&one, w->job_gpus, w->node_gpus, w->task_gpus, found, NULL)
                   : 0;
    for (size_t i = 0; i < n; i++)
        if (found[i].nmin >= low && found[i].nmax <= high && found[i].nmax >= (int32_t)w->c->nmust)
            w->layout[w->nlayouts++] = found[i];
}

/* Variants are tried in order: most nodes first, fewest with --use-min-nodes. */
static bool layouts_of_sizes(struct demand_work *w)
{
    struct err e = {0};
    const struct job_request *r = w->req;
    if (!node_sizes_parse(r->node_sizes, &w->sizes, &e))
        return demand_complain(w, REFUSE_INVALID_NODE_COUNT, REASON_BAD_CONSTRAINTS,
                               arena_printf(w->a, "--nodes=%.100s: %s", r->node_sizes, e.text));
    for (size_t i = 0; i < w->sizes.n; i++) {
        const struct node_size *s = &w->sizes.range[r->use_min_nodes ? i : w->sizes.n - 1 - i];
        layouts_of_size(w, s->low > r->min_nodes ? s->low : r->min_nodes,
                        r->max_nodes == 0 || s->high < r->max_nodes ? s->high : r->max_nodes);
    }
    return w->nlayouts > 0 ||
           demand_complain(
               w, REFUSE_INVALID_NODE_COUNT, REASON_BAD_CONSTRAINTS,
               arena_printf(
                   w->a, "--nodes=%s: its tasks, GPUs or --nodelist go with none of these numbers",
                   r->node_sizes));
}

static bool layouts_make(struct demand_work *w)
{
    if (!text_empty(w->req->node_sizes))
        return layouts_of_sizes(w);
    w->nlayouts = demand_layouts(w->req, w->job_gpus, w->node_gpus, w->task_gpus, w->layout, w->v);
    return w->nlayouts > 0;
}

static bool too_many(struct demand_work *w, const char *of, int most)
{
    return demand_complain(
        w, REFUSE_NODE_CONFIG, REASON_BAD_CONSTRAINTS,
        arena_printf(w->a,
                     "its partitions, numbers of nodes, features and types of resources make more "
                     "alternatives %s: %d at most, each with each counted; name fewer of them",
                     of, most));
}

static bool work_all(struct demand_work *w)
{
    if (!demand_asked(w) || !node_lists(w) || !layouts_make(w) || !demand_arms(w))
        return false;
    if (!licences_take(w))
        return false;
    layouts_hold_list(w);
    layouts_hold_counts(w);
    w->nlayouts = demand_tasks_bounded(w->layout, w->nlayouts, w->v);
    if (w->nlayouts == 0)
        return false;
    options_make(w);
    if (w->crowded && w->v)
        return too_many(w, "that nodes could hold than can be tried", VARIANTS_ALL_MAX);
    /* Of a job that was taken before, the first ones are tried. */
    return w->tried <= ALTERNATIVES_MAX || !w->v ||
           too_many(w, "than can be considered", ALTERNATIVES_MAX);
}

static struct compiled *compile(const struct cluster *cl, const struct job_request *req,
                                const char *magnets, struct verdict *v)
{
    CHECK(!cl->derived.stale);
    struct arena *a = arena_new();
    struct compiled *c = arena_alloc(a, sizeof *c);
    c->arena = a;
    c->req = req;
    c->qos = qos_get(cl, req->qos);
    c->gpu_mem_mib = req->gpu_mem_mib;
    c->per_socket = demand_per_socket(cl, req, a);
    struct demand_work w = {
        .cl = cl, .req = req, .magnets = magnets, .c = c, .a = a, .v = v, .scratch = arena_new()};
    if (!work_all(&w))
        c->n = 0;
    arena_free(w.scratch);
    return c;
}

struct compiled *demand_compile(const struct cluster *cl, const struct job_request *req,
                                struct verdict *v)
{
    return compile(cl, req, NULL, v);
}

void demand_free(struct compiled *c)
{
    if (c)
        arena_free(c->arena);
}

struct compiled *demand_unchosen(const struct cluster *cl, struct sclass *k)
{
    ASSERT(!cl->derived.stale);
    if (k->made && k->made_version == cl->derived.version)
        return k->made;
    demand_free(k->made);
    k->made = compile(cl, &k->req, k->magnets, NULL);
    k->made_arena = k->made->arena;
    k->made->caps = &k->cap_set;
    k->made_version = cl->derived.version;
    return k->made;
}
