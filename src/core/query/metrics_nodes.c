/* Nodes, the devices on them, and the partitions they are in. */
#include "core/query/metrics.h"
#include "model/env/device_out.h"
#include "model/grammar/gres.h"

#include <string.h>

#define MIB_BYTES (INT64_C(1) << 20)

static struct node_sums node_is(const struct node *n)
{
    struct node_sums is = {.all = 1,
                           .drain = n->drain,
                           .drained = n->drain && n->jobs == 0,
                           .draining = n->drain && n->jobs > 0,
                           .fail = n->fail,
                           .maint = n->maint,
                           .planned = n->planned,
                           .resv = n->reserved,
                           .completing = n->jobs_cleaning > 0,
                           .noresp = !n->responding && n->state != NODE_FUTURE};
    switch ((enum node_state)n->state) {
    case NODE_UNKNOWN: is.unknown = 1; break;
    case NODE_DOWN: is.down = 1; break;
    case NODE_FUTURE: is.future = 1; break;
    case NODE_UP:
        is.alloc = n->alloc_cpus > 0 && n->alloc_cpus >= n->cpus;
        is.mixed = n->alloc_cpus > 0 && !is.alloc;
        is.idle = n->alloc_cpus == 0;
        break;
    }
    return is;
}

static void node_sums_add(struct node_sums *to, const struct node_sums *is)
{
#define X(member, suffix, help) to->member += is->member;
    NODE_SUMS(X)
#undef X
}

/* ---- devices -------------------------------------------------------------------------------- */

static struct gpu_sums *type_sums(struct metrics *m, const char *type)
{
    const char *key;
    void **slot = map_str_slot(m->gpu_type, text_empty(type) ? "untyped" : type, true, &key);
    if (!*slot)
        *slot = arena_alloc(m->arena, sizeof(struct gpu_sums));
    return *slot;
}

static bool node_away(const struct node *n)
{
    return n->state != NODE_UP || n->drain || n->fail;
}

/* "gpu:v100:2(IDX:0-1),nic:1": counts those of the GPUs, by type. */
static int64_t used_add(struct metrics *m, const char *text, bool away)
{
    int64_t sum = 0;
    for (const char *p = text; p && *p;) {
        size_t len = strcspn(p, ",(");
        const char *last = memrchr(p, ':', len);
        int64_t count = 0;
        bool gpu = len > 4 && memcmp(p, "gpu:", 4) == 0 && last;
        for (const char *d = last ? last + 1 : p + len; d < p + len && *d >= '0' && *d <= '9'; d++)
            count = count < INT32_MAX ? count * 10 + (*d - '0') : count;
        if (gpu) {
            size_t type = last > p + 3 ? (size_t)(last - p - 4) : 0;
            struct gpu_sums *s = type_sums(m, arena_strndup(m->arena, p + 4, type));
            s->alloc += count;
            s->away_alloc += away ? count : 0;
            sum += count;
        }
        p += len;
        if (*p == '(') {
            const char *end = strchr(p, ')');
            p = end ? end + 1 : p + strlen(p);
        }
        p += *p == ',';
    }
    return sum;
}

static const struct device *device_find(const struct device_list *list, const char *kind,
                                        int32_t index)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].index == index && text_is(list->v[i].kind, kind))
            return &list->v[i];
    return NULL;
}

static void health_rows(struct metrics *m, const struct node *n, const struct device_list *known,
                        struct arena *a)
{
    struct device_entries said = {0};
    struct str labels = STR_INIT;
    if (!n->device_health || !device_entries_parse(n->device_health, a, &said))
        return;
    for (size_t i = 0; i < said.n; i++) {
        const struct device_entry *e = &said.v[i];
        const struct device *d = device_find(known, e->kind, e->index);
        str_clear(&labels);
        label_add(&labels, "node", n->name);
        label_add(&labels, "kind", e->kind);
        label_add_u64(&labels, "index", (uint64_t)(e->index < 0 ? 0 : e->index));
        label_add(&labels, "type", d ? d->type : NULL);
        label_add(&labels, "uuid", d ? d->uuid : NULL);
        label_add(&labels, "health", e->word);
        row_i64(m, ROW_DEVICE_HEALTH, &labels, 1);
    }
    str_done(&labels);
}

/* Of each type: how many there are, are had by jobs, could be had, and could not, and why. */
static void gpus_sum(struct metrics *m, const struct node *n, const struct device_list *known,
                     const struct gres_list *gres, struct arena *a)
{
    struct device_outs outs = {0};
    device_outs_parse(n->devices_out, a, &outs);
    for (size_t i = 0; i < gres->n; i++) {
        const struct gres_item *item = &gres->item[i];
        if (!text_is(item->kind, "gpu"))
            continue;
        struct gpu_sums *s = type_sums(m, item->type);
        int64_t broken = 0;
        for (size_t k = 0; k < outs.n; k++) {
            const struct device *d = device_find(known, outs.v[k].kind, outs.v[k].index);
            broken += d && text_is(d->kind, "gpu") && text_is(d->type, item->type);
        }
        s->all += item->count;
        s->broken += broken;
        if (node_away(n))
            s->away += item->count - broken;
    }
}

/* ---- a node --------------------------------------------------------------------------------- */

static void node_rows(struct metrics *m, const struct node *n, int64_t gpus, int64_t gpus_alloc)
{
    struct str labels = STR_INIT;
    int64_t effective = n->memory_mib - n->memory_spec_mib;
    label_add(&labels, "node", n->name);
    row_i64(m, ROW_NODE_CPUS, &labels, n->cpus);
    row_i64(m, ROW_NODE_CPUS_ALLOC, &labels, n->alloc_cpus);
    row_i64(m, ROW_NODE_CPUS_EFFECTIVE, &labels, n->cpus);
    row_i64(m, ROW_NODE_CPUS_IDLE, &labels, n->cpus > n->alloc_cpus ? n->cpus - n->alloc_cpus : 0);
    row_i64(m, ROW_NODE_GPUS, &labels, gpus);
    row_i64(m, ROW_NODE_GPUS_ALLOC, &labels, gpus_alloc);
    row_i64(m, ROW_NODE_MEM, &labels, n->memory_mib * MIB_BYTES);
    row_i64(m, ROW_NODE_MEM_ALLOC, &labels, n->alloc_mem_mib * MIB_BYTES);
    row_i64(m, ROW_NODE_MEM_EFFECTIVE, &labels, (effective > 0 ? effective : 0) * MIB_BYTES);
    if (n->free_mem_mib > 0)
        row_i64(m, ROW_NODE_MEM_FREE, &labels, n->free_mem_mib * MIB_BYTES);
    str_done(&labels);
}

void metrics_node(struct metrics *m, const struct core *c, const struct noderec *r, int64_t now_us)
{
    struct node n = r->n;
    struct str used = STR_INIT;
    struct arena *a = arena_new();
    struct device_list known = {0};
    struct gres_list gres = {0};
    node_complete(c, r, now_us, &n, &used);
    if (n.devices)
        devices_parse(n.devices, a, &known, NULL);
    if (n.gres)
        gres_parse(n.gres, a, &gres, NULL);
    struct node_figure f = {.is = node_is(&n), .cpus = n.cpus, .gpus = gres_count(&gres, "gpu")};
    int64_t gpus_alloc = used_add(m, n.alloc_gres, node_away(&n));
    node_sums_add(&m->nodes, &f.is);
    gpus_sum(m, &n, &known, &gres, a);
    if (metrics_want(m, METRICS_NODES)) {
        node_rows(m, &n, f.gpus, gpus_alloc);
        health_rows(m, &n, &known, a);
    }
    while (m->node.n <= r->index)
        vec_push(&m->node, (struct node_figure){0});
    m->node.v[r->index] = f;
    str_done(&used);
    arena_free(a);
}

/* ---- a partition ---------------------------------------------------------------------------- */

bool metrics_partition(struct metrics *m, const struct core *c, const struct partition *p,
                       size_t *most)
{
    struct part_sums *s = metrics_part_sums(m, p->name);
    if (m->member == 0 && m->members.n == 0 && p->nodes)
        hostlist_parse(&m->members, p->nodes, NULL);
    for (; m->member < m->members.n && *most; m->member++, --*most) {
        const struct noderec *n = node_find(c, m->members.name[m->member]);
        if (!n || n->index >= m->node.n)
            continue;
        const struct node_figure *f = &m->node.v[n->index];
        node_sums_add(&s->nodes, &f->is);
        s->cpus += f->cpus;
        s->gpus += f->gpus;
    }
    if (m->member < m->members.n)
        return true;
    hostlist_done(&m->members);
    m->members = HOSTLIST_INIT;
    m->member = 0;
    return false;
}
