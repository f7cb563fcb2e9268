/* Two nodes share a line if all cells that must not differ are equal. So a line is found by the
 * text of these cells (its key): no column needs to know about grouping beyond saying what it
 * allows (columns_node.h). Cells of one node alone are printed for the key, then the node is merged
 * into its line. */
#include "cli/record/sinfo_rows.h"

#include "base/alloc.h"
#include "base/map.h"
#include "cli/record/columns_node.h"
#include "cli/record/node_words.h"
#include "cli/table/listing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- one node as a line of its own ---------------------------------------------------------- */

static void tally_node(struct sinfo_row *r, const struct node *n)
{
    int64_t used = n->alloc_cpus > 0 ? n->alloc_cpus : 0, rest = n->cpus - used;
    r->nodes.total++;
    r->cpu.total += n->cpus;
    r->cpu.alloc += used;
    if (node_out(n)) {
        r->nodes.other++;
        r->cpu.other += rest;
    } else {
        r->cpu.idle += rest;
        if (node_busy(n))
            r->nodes.alloc++;
        else
            r->nodes.idle++;
    }
}

static void extent_grow(struct extent *e, bool first, int64_t value)
{
    if (first || value < e->min)
        e->min = value;
    if (first || value > e->max)
        e->max = value;
}

static void host_add(struct hostlist *h, const char *name)
{
    if (!h->n || !text_is(h->name[h->n - 1], name))
        hostlist_add(h, name);
}

static void row_add(struct sinfo_row *r, const struct node *n)
{
    bool first = !r->node;
    if (first)
        r->node = n;
    hostlist_add(&r->names, n->name);
    host_add(&r->hosts, text_empty(n->hostname) ? n->name : n->hostname);
    host_add(&r->addrs, text_empty(n->addr) ? n->name : n->addr);
    tally_node(r, n);
    extent_grow(&r->cpus, first, n->cpus);
    extent_grow(&r->sockets, first, n->sockets);
    extent_grow(&r->cores, first, n->cores_per_socket);
    extent_grow(&r->threads, first, n->threads_per_core);
    extent_grow(&r->memory, first, n->memory_mib);
    extent_grow(&r->disk, first, n->tmp_disk_mib);
    extent_grow(&r->weight, first, n->weight);
    extent_grow(&r->load, first, n->load_centi);
    extent_grow(&r->free_mem, first, n->free_mem_mib);
}

static void row_finish(struct sinfo_row *r)
{
    hostlist_sort(&r->names);
    hostlist_sort(&r->hosts);
    hostlist_uniq(&r->hosts);
    hostlist_sort(&r->addrs);
    hostlist_uniq(&r->addrs);
}

static void row_done(struct sinfo_row *r)
{
    hostlist_done(&r->names);
    hostlist_done(&r->hosts);
    hostlist_done(&r->addrs);
}

void sinfo_rows_done(struct sinfo_rows *rows)
{
    for (size_t i = 0; i < rows->row.n; i++)
        row_done(&rows->row.v[i]);
    vec_done(&rows->row);
}

/* ---- grouping ------------------------------------------------------------------------------- */

struct grouping {
    const struct sinfo_wish *wish;
    struct cell_env env;
    bool by_partition;
    struct arena *a;
    struct map_str *row_of; /* key → index of its row (size_t, in the arena) */
    /* Key and node name: a node is in a line once, however many of its partitions fit. */
    struct map_str *seen;
    struct sinfo_rows *rows;
};

static bool demands_partition(const struct format *f)
{
    for (size_t i = 0; i < f->item.n; i++)
        if (f->item.v[i].column && node_column_names_partition(f->item.v[i].column))
            return true;
    return false;
}

static void key_make(const struct grouping *g, const struct sinfo_row *alone, struct str *key)
{
    const struct format *f = g->wish->format;
    if (g->by_partition || g->wish->by_node)
        str_add(key, alone->part->name);
    if (g->wish->by_node)
        str_addf(key, "\x1f%s", alone->node->name);
    for (size_t i = 0; i < f->item.n; i++) {
        if (!f->item.v[i].column)
            continue;
        enum merge merge = node_column_merge(f->item.v[i].column);
        if (merge == MERGE_ALWAYS || (merge == MERGE_RANGE && !g->wish->exact))
            continue;
        str_addc(key, '\x1f');
        f->item.v[i].column->print(&g->env, alone, key);
    }
}

static struct sinfo_row *row_of_key(struct grouping *g, const char *key,
                                    const struct sinfo_row *alone)
{
    size_t *index = map_str_get(g->row_of, key);
    if (!index) {
        struct sinfo_row row = {
            .part = alone->part, .part_order = alone->part_order, .node_order = alone->node_order};
        index = arena_dup(g->a, &g->rows->row.n, sizeof *index);
        vec_push(&g->rows->row, row);
        map_str_put(g->row_of, key, index);
    }
    return &g->rows->row.v[*index];
}

static void node_group(struct grouping *g, const struct partition *p, size_t part_order,
                       const struct node *n, size_t node_order)
{
    struct sinfo_row alone = {.part = p, .part_order = part_order, .node_order = node_order};
    struct str key = STR_INIT;
    row_add(&alone, n);
    key_make(g, &alone, &key);
    struct sinfo_row *row = row_of_key(g, str_text(&key), &alone);
    str_addf(&key, "\x1f\x1f%s", n->name);
    if (!map_str_get(g->seen, str_text(&key))) {
        map_str_put(g->seen, str_text(&key), g);
        row_add(row, n);
    }
    str_done(&key);
    row_done(&alone);
}

static void partition_group(struct grouping *g, const struct partition *p, size_t order,
                            const struct sinfo_nodes *nodes)
{
    struct hostlist names = HOSTLIST_INIT;
    struct map_str *member = map_str_new();
    size_t found = 0;
    if (!text_empty(p->nodes))
        hostlist_parse(&names, p->nodes, NULL);
    for (size_t i = 0; i < names.n; i++)
        map_str_put(member, names.name[i], g);
    for (size_t i = 0; i < nodes->n; i++)
        if (map_str_get(member, nodes->v[i]->name)) {
            node_group(g, p, order, nodes->v[i], i);
            found++;
        }
    if (!found && g->by_partition && g->wish->keep_empty) {
        struct sinfo_row empty = {.part = p, .part_order = order};
        vec_push(&g->rows->row, empty);
    }
    map_str_free(member);
    hostlist_done(&names);
}

/* ---- order ---------------------------------------------------------------------------------- */

struct order_key {
    const struct column *column;
    bool down, as_configured;
};

static const struct column *column_of(char letter)
{
    for (size_t i = 0; i < node_columns.n; i++)
        if (letter && node_columns.column[i].letter == letter)
            return &node_columns.column[i];
    return NULL;
}

static size_t order_read(const char *sort, struct order_key *key, size_t max, char *ret_bad)
{
    ASSERT(max > 0);
    struct order_key next = {0};
    size_t n = 0;
    for (const char *at = sort; *at; at++) {
        if (*at == ',' || *at == '+' || *at == ' ')
            continue;
        next.down |= *at == '-';
        next.as_configured |= *at == '#';
        if (*at == '-' || *at == '#')
            continue;
        next.column = column_of(*at);
        if (!next.column)
            *ret_bad = *at;
        else if (n < max)
            key[n++] = next;
        next = (struct order_key){0};
    }
    return n;
}

#define ORDER_MAX 32

bool sinfo_sort_check(const char *sort, struct err *ret_err)
{
    struct order_key key[ORDER_MAX];
    char bad = '\0';
    order_read(sort, key, ORDER_MAX, &bad);
    return !bad ||
           err_set(ret_err, ERR_INVALID,
                   "Invalid sort specification: %c; -S takes letters of -o, as in \"#P,-t\"", bad);
}

/* Slurm's states as they rank: flags before bases, of these FUTURE, MIXED, ALLOCATED, IDLE,
 * DOWN. */
static int64_t state_rank(const struct node *n)
{
    static const char *const bases[] = {"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "MIXED", "FUTURE"};
    int64_t rank = 0;
    if (!n)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(bases); i++)
        if (node_base_is(n, bases[i]))
            rank = (int64_t)i;
    const bool flags[] = {n->reserved, n->drain,  n->jobs_cleaning > 0, !n->responding, n->fail,
                          n->maint,    n->planned};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        rank |= (int64_t)flags[i] << (4 + i);
    return rank;
}

static bool number_of(const struct sinfo_row *r, char letter, int64_t *ret)
{
    switch (letter) {
    case 't':
    case 'T': *ret = state_rank(r->node); return true;
    case 'N': *ret = (int64_t)r->node_order; return true;
    case 'c': *ret = r->cpus.min; return true;
    case 'd': *ret = r->disk.min; return true;
    case 'D': *ret = r->nodes.total; return true;
    case 'A':
    case 'F': *ret = r->nodes.alloc; return true;
    case 'C': *ret = r->cpu.alloc; return true;
    case 'e': *ret = r->free_mem.min; return true;
    case 'I': *ret = r->part->priority_job_factor; return true;
    case 'l': *ret = r->part->max_time_us ? r->part->max_time_us : INT64_MAX; return true;
    case 'L': *ret = r->part->default_time_us; return true;
    case 'm': *ret = r->memory.min; return true;
    case 'O': *ret = r->load.min; return true;
    case 'p': *ret = r->part->priority_tier; return true;
    case 's': *ret = r->part->max_nodes ? r->part->max_nodes : INT32_MAX; return true;
    case 'H': *ret = r->node ? r->node->reason_us : 0; return true;
    case 'w': *ret = r->weight.min; return true;
    case 'X': *ret = r->sockets.min; return true;
    case 'Y': *ret = r->cores.min; return true;
    case 'Z': *ret = r->threads.min; return true;
    }
    return false;
}

struct ordering {
    struct order_key key[ORDER_MAX];
    size_t n;
    struct cell_env env;
};

static int text_order(const struct ordering *o, const struct column *c, const struct sinfo_row *a,
                      const struct sinfo_row *b)
{
    struct str ta = STR_INIT, tb = STR_INIT;
    c->print(&o->env, a, &ta);
    c->print(&o->env, b, &tb);
    int order = strcmp(str_text(&ta), str_text(&tb));
    str_done(&ta);
    str_done(&tb);
    return order;
}

static int row_compare(const void *pa, const void *pb, void *ctx)
{
    const struct sinfo_row *a = pa, *b = pb;
    const struct ordering *o = ctx;
    for (size_t i = 0; i < o->n; i++) {
        const struct order_key *key = &o->key[i];
        int64_t na, nb;
        int order;
        if (key->as_configured && node_column_names_partition(key->column))
            order = (a->part_order > b->part_order) - (a->part_order < b->part_order);
        else if (number_of(a, key->column->letter, &na) && number_of(b, key->column->letter, &nb))
            order = (na > nb) - (na < nb);
        else
            order = text_order(o, key->column, a, b);
        if (order)
            return key->down ? -order : order;
    }
    if (a->part_order != b->part_order)
        return a->part_order < b->part_order ? -1 : 1;
    return (a->node_order > b->node_order) - (a->node_order < b->node_order);
}

static void rows_sort(struct sinfo_rows *rows, const char *sort)
{
    struct ordering o = {.env = listing_env()};
    char bad = '\0';
    o.n = order_read(sort, o.key, ORDER_MAX, &bad);
    if (rows->row.n > 1)
        qsort_r(rows->row.v, rows->row.n, sizeof rows->row.v[0], row_compare, &o);
}

void sinfo_rows_make(const struct partition *const *part, size_t nparts,
                     const struct sinfo_nodes *nodes, const struct sinfo_wish *wish,
                     struct sinfo_rows *ret)
{
    struct grouping g = {
        .wish = wish, .env = listing_env(), .by_partition = demands_partition(wish->format)};
    *ret = (struct sinfo_rows){0};
    g.rows = ret;
    g.a = arena_new();
    g.row_of = map_str_new();
    g.seen = map_str_new();
    for (size_t i = 0; i < nparts; i++)
        partition_group(&g, part[i], i, nodes);
    for (size_t i = 0; i < ret->row.n; i++)
        row_finish(&ret->row.v[i]);
    rows_sort(ret, wish->sort);
    arena_free(g.a);
    map_str_free(g.row_of);
    map_str_free(g.seen);
}
