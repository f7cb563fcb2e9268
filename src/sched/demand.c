/* Working a request out. First what does not depend on the nodes: its generic resources by kind and type, its layouts, its constraint. Then
 * for each partition an option, and in it the variants: each arm of the constraint × each choice of types for the untyped resources (all
 * nodes of a job get one type) × each layout. Last the groups of nodes on which a variant could go if they were empty. */
#include "sched/demand.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "model/gres.h"

#include <stdlib.h>
#include <string.h>

#define VARIANTS_MAX 64
#define CHOICES_MAX  16

enum gres_per { PER_NODE, PER_TASK, PER_JOB };

struct asked {
    struct gres_item item;
    enum gres_per per;
    uint32_t choice[CHOICES_MAX]; /* dimensions that can serve it, the lesser devices first */
    size_t nchoices;
};

struct work {
    const struct cluster *cl;
    const struct job_request *req;
    struct compiled *c;
    struct arena *a, *scratch; /* what stays; what is needed while working only */
    struct verdict *v;
    struct asked asked[NEEDS_MAX];
    size_t nasked;
    int64_t job_gpus, node_gpus, task_gpus;
    struct layout layout[LAYOUTS_MAX];
    size_t nlayouts;
    struct feature_arms arms, liked; /* liked: arms of --prefer */
    uint32_t numbered;
};

static bool complain(struct work *w, enum refusal r, enum job_reason reason, const char *text)
{
    if (w->v && w->v->refusal == REFUSE_NONE) {
        w->v->refusal = r;
        w->v->reason = reason;
        if (w->v->text)
            str_add(w->v->text, text);
    }
    return false;
}

/* ---- generic resources ---- */

static int64_t dim_memory(const struct cluster *cl, uint32_t dim)
{
    int64_t most = 0;
    for (size_t g = 0; g < cl->group.n; g++)
        for (size_t d = 0; d < cl->group.v[g]->ndev; d++)
            if (cl->group.v[g]->dev[d].dim == dim && cl->group.v[g]->dev[d].mem_mib > most)
                most = cl->group.v[g]->dev[d].mem_mib;
    return most;
}

static bool dim_before(const struct cluster *cl, uint32_t a, uint32_t b)
{
    int64_t ma = dim_memory(cl, a), mb = dim_memory(cl, b);
    return ma != mb ? ma < mb : strcmp(cl->dim.v[a].label, cl->dim.v[b].label) < 0;
}

static void choices_find(const struct cluster *cl, struct asked *k)
{
    for (uint32_t d = DIM_GRES; d < cl->dim.n; d++) {
        if (!text_is(cl->dim.v[d].kind, k->item.kind) || !gres_type_matches(k->item.type, cl->dim.v[d].type))
            continue;
        if (k->nchoices == CHOICES_MAX)
            break;
        size_t at = k->nchoices++;
        for (; at > 0 && dim_before(cl, d, k->choice[at - 1]); at--)
            k->choice[at] = k->choice[at - 1];
        k->choice[at] = d;
    }
}

static bool asked_add(struct work *w, const struct gres_item *item, enum gres_per per)
{
    for (size_t i = 0; i < w->nasked; i++) {
        struct asked *k = &w->asked[i];
        if (k->per != per || !text_is(k->item.kind, item->kind))
            continue;
        if (k->item.type && item->type && !text_is_nocase(k->item.type, item->type))
            continue;
        /* The same said twice (--gres=gpu:4 --gpus-per-node=4) is said once. */
        if (k->item.count != item->count)
            return complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS,
                            "two options ask for different numbers of the same resource");
        if (!k->item.type)
            k->item.type = item->type;
        return true;
    }
    if (w->nasked == NEEDS_MAX - DIM_GRES)
        return complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS,
                        "more kinds of generic resources than one request may name");
    w->asked[w->nasked++] = (struct asked){.item = *item, .per = per};
    return true;
}

static bool asked_list(struct work *w, const char *text, bool gpus, enum gres_per per, int64_t times)
{
    struct gres_list list = {0};
    struct err e = {0};
    if (text_empty(text))
        return true;
    if (!(gpus ? gres_parse_gpus(text, w->scratch, &list, &e) : gres_parse(text, w->scratch, &list, &e)))
        return complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS, e.text);
    for (size_t i = 0; i < list.n; i++) {
        list.item[i].count *= times;
        if (!asked_add(w, &list.item[i], per))
            return false;
    }
    return true;
}

static bool asked_all(struct work *w)
{
    const struct job_request *r = w->req;
    int32_t sockets = r->sockets_per_node > 0 ? r->sockets_per_node : 1;
    if (!asked_list(w, r->gres, false, PER_NODE, 1) || !asked_list(w, r->gpus_per_node, true, PER_NODE, 1) ||
        !asked_list(w, r->gpus_per_socket, true, PER_NODE, sockets) ||
        !asked_list(w, r->gpus_per_task, true, PER_TASK, 1) || !asked_list(w, r->gpus, true, PER_JOB, 1))
        return false;
    bool any_gpu = false;
    for (size_t i = 0; i < w->nasked; i++)
        any_gpu |= text_is(w->asked[i].item.kind, "gpu");
    if (!any_gpu && r->ntasks_per_gpu > 0 && r->ntasks > 0) {
        int64_t gpus = (r->ntasks + r->ntasks_per_gpu - 1) / r->ntasks_per_gpu;
        if (!asked_add(w, &(struct gres_item){.kind = "gpu", .count = gpus}, PER_JOB))
            return false;
    }
    for (size_t i = 0; i < w->nasked; i++) {
        choices_find(w->cl, &w->asked[i]);
        if (!text_is(w->asked[i].item.kind, "gpu"))
            continue;
        int64_t *sum = w->asked[i].per == PER_JOB    ? &w->job_gpus
                       : w->asked[i].per == PER_TASK ? &w->task_gpus
                                                     : &w->node_gpus;
        *sum += w->asked[i].item.count;
    }
    if (w->job_gpus > INT32_MAX / 2)
        return complain(w, REFUSE_GRES, REASON_BAD_CONSTRAINTS, "more GPUs than any cluster has");
    return true;
}

/* ---- modes and memory ---- */

struct use_mode request_mode(const struct job_request *req, const struct partition *p)
{
    struct use_mode m = {0};
    int32_t count = p->share_count > 0 ? p->share_count : 4;
    m.whole = req->exclusive == EXCLUSIVE_NODE || req->exclusive == EXCLUSIVE_TOPO ||
              p->share == SHARE_EXCLUSIVE || req->core_spec > 0;
    m.user_only = !m.whole &&
                  (req->exclusive == EXCLUSIVE_USER || req->exclusive == EXCLUSIVE_MCS || p->exclusive_user);
    if (p->share == SHARE_FORCE) {
        m.whole = false;
        m.share = count > 1 ? count : 0;
    } else if (p->share == SHARE_YES && req->oversubscribe && !m.whole) {
        m.share = count;
    }
    return m;
}

static void option_memory(const struct work *w, struct option *o)
{
    const struct job_request *r = w->req;
    const struct policy *y = &w->cl->policy;
    const struct partition *p = &o->part->p;
    bool gpus = w->job_gpus + w->node_gpus + w->task_gpus > 0;
    int64_t cpu = p->def_mem_per_cpu_mib ? p->def_mem_per_cpu_mib : y->def_mem_per_cpu;
    int64_t node = p->def_mem_per_node_mib ? p->def_mem_per_node_mib : y->def_mem_per_node;
    o->max_mem_per_cpu_mib = p->max_mem_per_cpu_mib ? p->max_mem_per_cpu_mib : y->max_mem_per_cpu;
    o->max_mem_per_node_mib = p->max_mem_per_node_mib ? p->max_mem_per_node_mib : y->max_mem_per_node;
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
    else if (gpus && p->def_mem_per_gpu_mib > 0)
        o->mem = MEM_GPU, o->mem_mib = p->def_mem_per_gpu_mib;
    else if (cpu > 0)
        o->mem = MEM_CPU, o->mem_mib = cpu;
    else if (node > 0)
        o->mem = MEM_NODE, o->mem_mib = node;
}

/* ---- variants ---- */

static bool group_meets(const struct work *w, const struct group *g)
{
    const struct job_request *r = w->req;
    return (r->sockets_per_node <= 0 || g->sockets >= r->sockets_per_node) &&
           (r->cores_per_socket <= 0 || g->cores_per_socket >= r->cores_per_socket) &&
           (r->threads_per_core <= 1 || g->threads_per_core >= r->threads_per_core) &&
           (r->tmp_disk_mib <= 0 || g->tmp_disk_mib >= r->tmp_disk_mib) &&
           (r->min_cpus_per_node <= 0 || g->cpus >= r->min_cpus_per_node);
}

/* With --gpu-mem: have the node's devices of the types chosen so much memory? */
static bool devices_meet(const struct work *w, const struct variant *v, const struct group *g)
{
    for (size_t i = 0; w->req->gpu_mem_mib > 0 && i < v->ngres; i++)
        for (size_t d = 0; d < g->ndev; d++)
            if (g->dev[d].dim == v->gres[i].dim && text_is(w->cl->dim.v[v->gres[i].dim].kind, "gpu") &&
                g->dev[d].mem_mib < w->req->gpu_mem_mib)
                return false;
    return true;
}

static uint64_t *arm_groups(const struct work *w, const struct feature_expr *e)
{
    uint64_t *bits = arena_alloc(w->a, BIT_WORDS(w->cl->group.n + 1) * sizeof *bits);
    for (size_t g = 0; g < w->cl->group.n; g++)
        if (feature_holds(e, w->cl->group.v[g]->features))
            bit_set(bits, g);
    return bits;
}

static void variant_cpus(const struct work *w, const struct option *o, struct variant *v)
{
    const struct job_request *r = w->req;
    int32_t each = r->cpus_per_task > 0 ? r->cpus_per_task : 1;
    int64_t per_gpu = r->cpus_per_gpu > 0    ? r->cpus_per_gpu
                      : r->cpus_per_task > 0 ? 0
                                             : o->part->p.def_cpu_per_gpu;
    int64_t base = (int64_t)v->lay.base_tasks * each, unit = (int64_t)v->lay.unit_tasks * each;
    if (r->overcommit) {
        base = v->lay.base_tasks > 0 || v->lay.unit_tasks > 0 ? 1 : 0;
        unit = 0;
    }
    base = base > v->lay.base_gpus * per_gpu ? base : v->lay.base_gpus * per_gpu;
    unit = unit > v->lay.unit_gpus * per_gpu ? unit : v->lay.unit_gpus * per_gpu;
    v->base_cpus = base > INT32_MAX / 4 ? INT32_MAX / 4 : (int32_t)base;
    v->unit_cpus = unit > INT32_MAX / 4 ? INT32_MAX / 4 : (int32_t)unit;
}

static void variant_gres(const struct work *w, const uint32_t *chosen, struct variant *v)
{
    for (size_t i = 0; i < w->nasked; i++) {
        const struct asked *k = &w->asked[i];
        struct need_gres add = {.dim = chosen[i]};
        if (k->per == PER_NODE && v->lay.units == 0)
            add.unit = k->item.count;
        else if (k->per == PER_NODE)
            add.base = k->item.count;
        else if (k->per == PER_TASK)
            add.base = k->item.count * v->lay.base_tasks, add.unit = k->item.count * v->lay.unit_tasks;
        else if (v->lay.gpu_share > 0)
            add.unit = (k->item.count + v->lay.gpu_share - 1) / v->lay.gpu_share;
        size_t at = 0;
        while (at < v->ngres && v->gres[at].dim != add.dim)
            at++;
        if (at == v->ngres)
            v->gres[v->ngres++] = (struct need_gres){.dim = add.dim};
        v->gres[at].base += add.base;
        v->gres[at].unit += add.unit;
    }
}

static bool groups_find(struct work *w, struct option *o, struct variant *v, const struct feature_arm *arm)
{
    const struct cluster *cl = w->cl;
    bool any = false;
    v->groups = arena_alloc(w->a, BIT_WORDS(cl->group.n + 1) * sizeof v->groups[0]);
    for (size_t i = 0; i < cl->group.n; i++) {
        const struct group *g = cl->group.v[i];
        struct take t;
        if (!bit_get(g->parts, o->part->idx) || !group_meets(w, g) || !feature_arm_holds(arm, g->features) ||
            !devices_meet(w, v, g) || !demand_take(cl, w->c, o, v, g, v->lay.umin, &t))
            continue;
        bit_set(v->groups, i);
        any = true;
    }
    return any;
}

static void variant_screen(const struct work *w, const struct option *o, struct variant *v)
{
    int64_t cpus = INT64_MAX, mem = INT64_MAX, gres = INT64_MAX;
    v->screen.dim = v->ngres > 0 && !o->mode.whole ? v->gres[0].dim : DIM_CPU;
    for (size_t g = 0; g < w->cl->group.n; g++) {
        struct take t;
        if (!bit_get(v->groups, g))
            continue;
        demand_take(w->cl, w->c, o, v, w->cl->group.v[g], v->lay.umin, &t);
        cpus = t.cpus < cpus ? t.cpus : cpus;
        mem = t.mem_mib < mem ? t.mem_mib : mem;
    }
    if (v->screen.dim != DIM_CPU)
        gres = v->gres[0].base + v->gres[0].unit * v->lay.umin;
    v->screen.cpu = o->mode.share ? 0 : bucket_of(w->cl, DIM_CPU, cpus);
    v->screen.mem = bucket_of(w->cl, DIM_MEM, mem);
    v->screen.gres = v->screen.dim == DIM_CPU ? 0 : bucket_of(w->cl, v->screen.dim, gres);
}

static void variant_add(struct work *w, struct option *o, const struct layout *lay,
                        const struct feature_arm *arm, const uint32_t *chosen)
{
    if (o->nvariants == VARIANTS_MAX)
        return;
    struct variant v = {.lay = *lay};
    variant_cpus(w, o, &v);
    variant_gres(w, chosen, &v);
    bool any = groups_find(w, o, &v, arm);
    variant_screen(w, o, &v);
    if (!o->wish && !any)
        o->wish = arena_dup(w->a, &v, sizeof v);
    if (!any)
        return;
    for (size_t i = 0; i < arm->ncount; i++)
        v.count[v.ncount++] = (struct count_need){arm_groups(w, arm->count[i].expr), arm->count[i].nodes};
    v.one = arena_alloc(w->a, (w->cl->group.n + 1) * sizeof v.one[0]);
    v.number = w->numbered++;
    if ((o->nvariants & (o->nvariants - 1)) == 0) { /* 0, 1, 2, 4, …: it is full */
        struct variant *more = arena_alloc(w->a, (o->nvariants ? 2 * o->nvariants : 1) * sizeof more[0]);
        if (o->nvariants)
            memcpy(more, o->variant, o->nvariants * sizeof more[0]);
        o->variant = more;
    }
    o->variant[o->nvariants++] = v;
}

/* Resources of one kind that are asked untyped take the same type; two with different types keep theirs. */
static bool choice_allowed(const struct work *w, const uint32_t *chosen, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (text_is(w->asked[k].item.kind, w->asked[i].item.kind) && chosen[k] != chosen[i] &&
            (text_empty(w->asked[k].item.type) || text_empty(w->asked[i].item.type)))
            return false;
    return true;
}

static void variants_choose(struct work *w, struct option *o, const struct feature_arm *arm, uint32_t *chosen,
                            size_t i)
{
    if (i == w->nasked) {
        for (size_t l = 0; l < w->nlayouts; l++)
            variant_add(w, o, &w->layout[l], arm, chosen);
        return;
    }
    for (size_t k = 0; k < w->asked[i].nchoices; k++) {
        chosen[i] = w->asked[i].choice[k];
        if (choice_allowed(w, chosen, i))
            variants_choose(w, o, arm, chosen, i + 1);
    }
}

/* ---- options ---- */

static void option_never(struct option *o, enum job_reason r, const char *text)
{
    if (o->never == REASON_NONE) {
        o->never = r;
        o->never_text = text;
    }
}

static void option_limits(struct work *w, struct option *o)
{
    const struct partition *p = &o->part->p;
    int64_t max = p->max_time_us > 0 ? p->max_time_us : TIME_UNLIMITED;
    int64_t standard = p->default_time_us > 0 ? p->default_time_us : max;
    o->limit_us = w->req->time_limit_us > 0 ? w->req->time_limit_us : standard;
    o->limit_min_us =
        w->req->time_min_us > 0 && w->req->time_min_us < o->limit_us ? w->req->time_min_us : o->limit_us;
    if (o->limit_us > max && o->limit_min_us <= max)
        o->limit_us = max;
    o->nodes_min = w->nlayouts > 0 ? w->layout[0].nmin : 1;
    if (o->resv && resv_confines(o->resv) && !o->cut &&
        o->limit_min_us > o->resv->r.end_us - o->resv->r.start_us)
        option_never(o, REASON_RESERVATION, "its time limit is longer than its reservation");
    if (p->state == PART_DOWN || p->state == PART_INACTIVE)
        option_never(o, p->state == PART_DOWN ? REASON_PARTITION_DOWN : REASON_PARTITION_INACTIVE,
                     p->state == PART_DOWN ? "its partition is down" : "its partition is inactive");
    if (o->limit_us > max)
        option_never(o, REASON_PARTITION_TIME_LIMIT,
                     "its time limit exceeds the longest its partition allows");
    if (p->max_nodes > 0 && o->nodes_min > p->max_nodes)
        option_never(o, REASON_PARTITION_NODE_LIMIT,
                     "it asks for more nodes than its partition allows a job");
    for (size_t l = 0; l < w->nlayouts; l++)
        if (p->min_nodes > 1 && w->layout[l].nmax < p->min_nodes)
            option_never(o, REASON_PARTITION_NODE_LIMIT,
                         "it asks for fewer nodes than its partition's smallest job");
}

/* A partition's MinNodes and MaxNodes narrow what the job leaves open. */
static void layouts_narrow(const struct partition *p, struct option *o)
{
    for (size_t i = 0; i < o->nvariants; i++) {
        struct layout *l = &o->variant[i].lay;
        if (p->max_nodes > 0 && l->nmax > p->max_nodes && l->nmin <= p->max_nodes)
            l->nmax = p->max_nodes;
        if (p->min_nodes > l->nmin && l->nmax >= p->min_nodes)
            l->nmin = p->min_nodes;
    }
}

/* What --prefer likes is tried before what --constraint allows without it. */
static bool arm_join(struct feature_arm *to, const struct feature_arm *more)
{
    if (to->nall + more->nall > FEATURE_COUNTS_MAX || to->ncount + more->ncount > FEATURE_COUNTS_MAX)
        return false;
    for (size_t i = 0; i < more->nall; i++)
        to->all[to->nall++] = more->all[i];
    for (size_t i = 0; i < more->ncount; i++)
        to->count[to->ncount++] = more->count[i];
    return true;
}

static void option_make(struct work *w, struct spart *part, const struct sresv *resv)
{
    struct option *o = &w->c->option[w->c->n++];
    uint32_t chosen[NEEDS_MAX];
    *o = (struct option){.part = part,
                         .resv = resv,
                         .cut = resv && w->req->time_limit_us <= 0,
                         .serve = part->idx + (resv ? resv->number * (uint32_t)w->cl->part.n : 0),
                         .tier = part->p.priority_tier > 0 ? part->p.priority_tier : 1,
                         .job_factor = part->p.priority_job_factor > 0 ? part->p.priority_job_factor : 1,
                         .mode = request_mode(w->req, &part->p)};
    option_memory(w, o);
    option_limits(w, o);
    for (size_t l = 0; l < w->liked.n; l++)
        for (size_t i = 0; i < w->arms.n; i++) {
            struct feature_arm both = w->arms.arm[i];
            if (arm_join(&both, &w->liked.arm[l]))
                variants_choose(w, o, &both, chosen, 0);
        }
    for (size_t i = 0; i < w->arms.n; i++)
        variants_choose(w, o, &w->arms.arm[i], chosen, 0);
    layouts_narrow(&part->p, o);
    if (o->nvariants > 0)
        o->wish = &o->variant[0];
    if (o->nvariants == 0)
        option_never(o, REASON_BAD_CONSTRAINTS,
                     "no node of its partition could hold what it asks for, even empty");
}

static size_t reservations_named(const struct work *w)
{
    size_t names = 1;
    for (const char *at = w->req->reservation; at && (at = strchr(at, ',')); at++)
        names++;
    return names;
}

/* An option for each reservation of the job, of those that there are. */
static void reservations_make(struct work *w, struct spart *part)
{
    struct span rest = span_of(w->req->reservation ? w->req->reservation : ""), piece;
    size_t before = w->c->n;
    if (text_empty(w->req->reservation)) {
        option_make(w, part, NULL);
        return;
    }
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        const struct sresv *s = cluster_resv(w->cl, arena_strndup(w->scratch, piece.data, piece.len));
        bool again = false;
        for (size_t i = before; s && i < w->c->n; i++)
            again |= w->c->option[i].resv == s;
        if (s && !again)
            option_make(w, part, s);
    }
}

static void options_make(struct work *w)
{
    struct span rest = span_of(w->req->partition ? w->req->partition : ""), piece;
    size_t names = 1;
    for (const char *at = rest.data; (at = strchr(at, ',')); at++)
        names++;
    w->c->option = arena_alloc(w->a, names * reservations_named(w) * sizeof w->c->option[0]);
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        struct spart *part =
            piece.len ? cluster_part(w->cl, arena_strndup(w->a, piece.data, piece.len)) : NULL;
        bool again = !part;
        for (size_t i = 0; part && i < w->c->n; i++)
            again |= w->c->option[i].part == part;
        if (!again)
            reservations_make(w, part);
    }
}

/* ---- node lists and licences ---- */

static bool names_to_nodes(struct work *w, const char *text, const char *what, u32_vec *ret)
{
    struct hostlist h = HOSTLIST_INIT;
    struct err e = {0};
    bool ok =
        hostlist_parse(&h, text, &e) || complain(w, REFUSE_INVALID_NODE, REASON_BAD_CONSTRAINTS, e.text);
    for (size_t i = 0; ok && i < h.n; i++) {
        const struct snode *n = cluster_node(w->cl, h.name[i]);
        if (n)
            vec_push(ret, n->idx);
        else if (text_is(what, "nodelist"))
            ok = complain(w, REFUSE_INVALID_NODE, REASON_BAD_CONSTRAINTS,
                          arena_printf(w->a, "there is no node %s in this cluster", h.name[i]));
    }
    hostlist_done(&h);
    return ok;
}

static int u32_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool node_lists(struct work *w)
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
    }
    vec_done(&list);
    return ok;
}

static bool licences_find(struct work *w)
{
    struct span rest = span_of(w->req->licenses ? w->req->licenses : ""), piece;
    w->c->lic = arena_alloc(w->a, (w->cl->lic.n + 1) * sizeof w->c->lic[0]);
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (!piece.len)
            continue;
        char *name = arena_strndup(w->a, piece.data, piece.len), *colon = strchr(name, ':');
        int64_t count = 1;
        if (colon) {
            *colon = '\0';
            if (!text_to_i64(colon + 1, 1, INT32_MAX, &count))
                return complain(w, REFUSE_LICENSES, REASON_LICENSES,
                                "a licence is written name or name:count");
        }
        ptrdiff_t lic = cluster_licence(w->cl, name);
        if (lic < 0 || w->cl->lic.v[lic].total < count)
            return complain(
                w, REFUSE_LICENSES, REASON_LICENSES,
                lic < 0 ? arena_printf(w->a, "this cluster has no licence named %s", name)
                        : arena_printf(w->a, "%lld of the licence %s were asked for; there are %lld in all",
                                       (long long)count, name, (long long)w->cl->lic.v[lic].total));
        size_t at = 0;
        while (at < w->c->nlic && w->c->lic[at].lic != (uint32_t)lic)
            at++;
        if (at == w->c->nlic)
            w->c->lic[w->c->nlic++] = (struct lic_use){.lic = (uint32_t)lic};
        w->c->lic[at].count += count;
    }
    return true;
}

/* -w names more nodes than -N asks: as many as named, as Slurm does. */
static void layouts_hold_list(struct work *w)
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

static bool work_all(struct work *w)
{
    struct err e = {0};
    if (!asked_all(w))
        return false;
    w->nlayouts = demand_layouts(w->req, w->job_gpus, w->node_gpus, w->task_gpus, w->layout, w->v);
    if (w->nlayouts == 0)
        return false;
    if (!feature_parse(w->req->constraint, w->scratch, &w->arms, &e))
        return complain(w, REFUSE_FEATURE, REASON_BAD_CONSTRAINTS, e.text);
    if (!text_empty(w->req->prefer) && !feature_parse(w->req->prefer, w->scratch, &w->liked, &e))
        return complain(w, REFUSE_FEATURE, REASON_BAD_CONSTRAINTS, e.text);
    if (!node_lists(w) || !licences_find(w))
        return false;
    layouts_hold_list(w);
    options_make(w);
    return true;
}

struct compiled *demand_compile(const struct cluster *cl, const struct job_request *req, struct verdict *v)
{
    cluster_settle(cl);
    struct arena *a = arena_new();
    struct compiled *c = arena_alloc(a, sizeof *c);
    c->arena = a;
    c->req = req;
    c->gpu_mem_mib = req->gpu_mem_mib;
    c->sockets = req->ntasks_per_socket > 0 || !text_empty(req->gpus_per_socket);
    struct work w = {.cl = cl, .req = req, .c = c, .a = a, .v = v, .scratch = arena_new()};
    if (!work_all(&w))
        c->n = 0;
    arena_free(w.scratch);
    return c;
}

void demand_free(struct compiled *c)
{
    if (c)
        arena_free(c->arena);
}

struct compiled *demand_of(const struct cluster *cl, struct sclass *k)
{
    if (k->made && k->made_version == cl->version)
        return k->made;
    demand_free(k->made);
    k->made = demand_compile(cl, &k->req, NULL);
    k->made_version = cl->version;
    return k->made;
}
