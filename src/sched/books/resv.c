#include "sched/books/resv.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

static void resv_free(struct sresv *s)
{
    arena_free(s->arena);
    vec_done(&s->part);
    free(s->nodes);
    free(s);
}

void resvs_free(struct cluster *cl)
{
    for (size_t i = 0; i < cl->resv.n; i++)
        if (cl->resv.v[i])
            resv_free(cl->resv.v[i]);
    vec_done(&cl->resv);
    arena_free(cl->local.arena);
}

void cluster_set_zone(struct cluster *cl, const char *zone)
{
    struct arena *a = arena_new();
    struct zone z;
    if (!zone_parse(zone, a, &z, NULL))
        z = (struct zone){0};
    arena_free(cl->local.arena);
    cl->local.arena = a;
    cl->local.zone = z;
    cl->derived.stale = true;
}

const struct zone *cluster_zone(const struct cluster *cl)
{
    return &cl->local.zone;
}

void cluster_put_reservation(struct cluster *cl, const struct reservation *r)
{
    ASSERT(!text_empty(r->name));
    struct sresv *s = cluster_resv(cl, r->name);
    if (!s) {
        s = xcalloc(1, sizeof *s);
        size_t at = 0; /* a place that is free again */
        while (at < cl->resv.n && cl->resv.v[at])
            at++;
        if (at == cl->resv.n)
            vec_push(&cl->resv, s);
        cl->resv.v[at] = s;
        s->number = (uint32_t)at + 1;
    }
    struct arena *a = arena_new();
    record_copy(&reservation_fields, &s->r, r, a);
    if (s->arena)
        arena_free(s->arena);
    s->arena = a;
    s->made = false;
    cl->derived.resv_stale = true;
}

bool cluster_knows_reservation(const struct cluster *cl, const struct reservation *r)
{
    const struct sresv *s = cluster_resv(cl, r->name);
    return s && record_equal(&reservation_fields, &s->r, r);
}

void cluster_remove_reservation(struct cluster *cl, const char *name)
{
    struct sresv *s = cluster_resv(cl, name);
    struct map_walk walk = {0};
    if (!s)
        return;
    while (map_u64_next(cl->run.by_job, &walk)) {
        struct run *r = walk.value;
        if (r->resv == s->number)
            r->resv = 0;
    }
    cl->resv.v[s->number - 1] = NULL;
    resv_free(s);
    cl->derived.resv_stale = true;
}

void cluster_run_inside(struct cluster *cl, uint64_t job_id, const char *reservation)
{
    struct run *r = map_u64_get(cl->run.by_job, job_id);
    const struct sresv *s = cluster_resv(cl, reservation);
    if (r)
        r->resv = s ? s->number : 0;
}

/* ---- what it keeps ---- */

static int part_order(const void *a, const void *b)
{
    const struct rpart *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static void use_word(struct cluster *cl, char *word, struct rpart *p)
{
    char *equals = strchr(word, '='), *colon;
    int64_t amount;
    if (!equals || p->n == NEEDS_MAX - 1 || !text_to_i64(equals + 1, 0, INT64_MAX / 4, &amount))
        return;
    *equals = '\0';
    if (text_is(word, "cpu")) {
        p->use[p->n++] = (struct use){DIM_CPU, amount};
        if (cl->policy.share_max > 1)
            p->use[p->n++] = (struct use){DIM_SHARE, amount * cl->policy.share_max};
        return;
    }
    uint32_t dim = DIM_MEM;
    if (!text_is(word, "mem")) {
        colon = strchr(word, ':');
        if (colon)
            *colon++ = '\0';
        dim = cluster_dim(cl, word, colon);
    }
    p->use[p->n++] = (struct use){dim, amount};
}

/* "n1 cpu=4 mem=1000 gpu:a100=2;n2 cpu=4" */
static void holds_read(struct cluster *cl, struct sresv *s)
{
    struct span rest = span_of(s->r.holds), node, word;
    while (span_next(&rest, ';', &node)) {
        struct rpart p = {.node = UINT32_MAX};
        struct span words = node;
        for (bool first = true; span_next(&words, ' ', &word); first = false) {
            char *text = xstrndup(word.data, word.len);
            const struct snode *n = first ? cluster_node(cl, text) : NULL;
            if (n)
                p.node = n->idx;
            else if (!first)
                use_word(cl, text, &p);
            free(text);
        }
        if (p.node != UINT32_MAX)
            vec_push(&s->part, p);
    }
}

static void nodes_read(const struct cluster *cl, struct sresv *s)
{
    struct hostlist names = HOSTLIST_INIT;
    if (!text_empty(s->r.nodes) && hostlist_parse(&names, s->r.nodes, NULL))
        for (size_t i = 0; i < names.n; i++) {
            const struct snode *n = cluster_node(cl, names.name[i]);
            if (n)
                vec_push(&s->part, ((struct rpart){.node = n->idx, .whole = true}));
        }
    hostlist_done(&names);
}

static void licences_read(const struct cluster *cl, struct sresv *s)
{
    struct span rest = span_of(s->r.licenses ? s->r.licenses : ""), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        char *name = xstrndup(piece.data, piece.len), *colon = strpbrk(name, ":=");
        int64_t count = 1;
        if (colon) {
            *colon = '\0';
            if (!text_to_i64(colon + 1, 0, INT32_MAX, &count))
                count = 0;
        }
        ptrdiff_t lic = cluster_licence(cl, name);
        if (lic >= 0)
            vec_push(&s->part, ((struct rpart){.node = (uint32_t)(cl->node.n + (size_t)lic),
                                               .n = 1,
                                               .use = {{DIM_CPU, count}}}));
        free(name);
    }
}

/* A reservation with PART_NODES follows its partition. */
static void part_follow(struct cluster *cl, struct sresv *s)
{
    const struct spart *p = cluster_part(cl, s->r.partition ? s->r.partition : "");
    for (size_t i = 0; p && i < p->node.n; i++)
        vec_push(&s->part, ((struct rpart){.node = p->node.v[i]->idx, .whole = true}));
}

static void resv_make(struct cluster *cl, struct sresv *s)
{
    vec_clear(&s->part);
    s->made = true;
    if (s->r.flags & RESV_PART_NODES)
        part_follow(cl, s);
    else if (!text_empty(s->r.holds))
        holds_read(cl, s);
    else
        nodes_read(cl, s);
    licences_read(cl, s);
    if (s->part.n > 1)
        qsort(s->part.v, s->part.n, sizeof s->part.v[0], part_order);
    free(s->nodes);
    s->nodes = NULL;
    if (s->r.flags & (RESV_FLEX | RESV_ANY_NODES))
        return;
    s->nodes = xcalloc(BIT_WORDS(cl->node.n) + 1, sizeof s->nodes[0]);
    for (size_t i = 0; i < s->part.n; i++)
        if (s->part.v[i].node < cl->node.n)
            bit_set(s->nodes, s->part.v[i].node);
}

void resv_settle(struct cluster *cl, bool all)
{
    for (size_t i = 0; i < cl->resv.n; i++)
        if (cl->resv.v[i] && (all || !cl->resv.v[i]->made))
            resv_make(cl, cl->resv.v[i]);
}

/* ---- when ---- */

#define HORIZON_US (400 * USEC_PER_DAY)

size_t resv_windows(const struct cluster *cl, const struct reservation *r, int64_t now_us,
                    struct window ret[WINDOWS_MAX])
{
    ASSERT(r->start_us <= r->end_us);
    int64_t start = r->start_us, length = r->end_us - r->start_us;
    size_t n = 0;
    while (n < WINDOWS_MAX && start < now_us + HORIZON_US) {
        if (start + length > now_us)
            ret[n++] = (struct window){start, start + length};
        start = resv_next_start(r, start, &cl->local.zone);
        if (start == INT64_MAX)
            break;
    }
    return n;
}

static bool keeps_of(const struct sresv *s, uint32_t node)
{
    const struct rpart key = {.node = node};
    return s->part.n && bsearch(&key, s->part.v, s->part.n, sizeof key, part_order);
}

bool resv_keeps_now(const struct cluster *cl, uint32_t node, int64_t now_us,
                    const struct sresv *but)
{
    ASSERT(node < cl->node.n);
    for (size_t i = 0; i < cl->resv.n; i++) {
        const struct sresv *s = cl->resv.v[i];
        if (s && s != but && resv_is_on(&s->r, now_us) && keeps_of(s, node))
            return true;
    }
    return false;
}

/* Of several that keep a node the one is named that began first: where a table has them says
 * nothing, and is another after a restart. */
static bool began_before(const struct reservation *a, const struct reservation *b)
{
    return a->start_us != b->start_us ? a->start_us < b->start_us : strcmp(a->name, b->name) < 0;
}

void cluster_node_kept(struct cluster *cl, const char *node, int64_t now_us, struct node_kept *ret)
{
    cluster_settle(cl);
    const struct snode *n = cluster_node(cl, node);
    const struct sresv *named = NULL;
    *ret = (struct node_kept){0};
    for (size_t i = 0; n && i < cl->resv.n; i++) {
        const struct sresv *s = cl->resv.v[i];
        if (!s || !resv_is_on(&s->r, now_us) || !keeps_of(s, n->idx))
            continue;
        if (!named || began_before(&s->r, &named->r))
            named = s;
        ret->reservation = named->r.name;
        ret->maint |= (s->r.flags & RESV_MAINT) != 0;
    }
}
