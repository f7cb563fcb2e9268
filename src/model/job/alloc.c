#include "model/job/alloc.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

#define FOLD_MIN 4 /* a few nodes stay as they are */

static void gres_add(const struct alloc_gres *g, struct str *out)
{
    str_addf(out, " %s", g->kind);
    if (g->type)
        str_addf(out, ":%s", g->type);
    if (g->devices)
        str_addf(out, "=%s", g->devices);
    else
        str_addf(out, "=#%lld", (long long)g->count);
}

static void node_add(const struct alloc_node *n, int64_t ids_step, struct str *out)
{
    str_addf(out, " cpus=%s mem=%lld", n->cpus, (long long)n->mem_mib);
    if (n->tasks)
        str_addf(out, " tasks=%d", n->tasks);
    if (n->task_ids)
        str_addf(out, " ids=%s", n->task_ids);
    if (n->task_ids && ids_step)
        str_addf(out, "+%lld", (long long)ids_step);
    for (size_t g = 0; g < n->ngres; g++)
        gres_add(&n->gres[g], out);
}

static bool gres_same(const struct alloc_node *a, const struct alloc_node *b)
{
    bool same = a->ngres == b->ngres;
    for (size_t i = 0; same && i < a->ngres; i++)
        same = text_is(a->gres[i].kind, b->gres[i].kind) &&
               text_is(a->gres[i].type, b->gres[i].type) &&
               text_is(a->gres[i].devices, b->gres[i].devices) &&
               a->gres[i].count == b->gres[i].count;
    return same;
}

/* Is b's list a's with one number added to each of its numbers? */
static bool ids_step(const char *a, const char *b, int64_t *ret)
{
    bool first = true;
    *ret = 0;
    if (!a || !b)
        return !a && !b;
    while (*a && *b) {
        if (*a < '0' || *a > '9' || *b < '0' || *b > '9') {
            if (*a++ != *b++)
                return false;
            continue;
        }
        char *after_a, *after_b;
        int64_t step = -strtoll(a, &after_a, 10);
        step += strtoll(b, &after_b, 10);
        if (!first && step != *ret)
            return false;
        first = false;
        *ret = step;
        a = after_a;
        b = after_b;
    }
    return *a == *b && *ret >= 0;
}

/* The name without its number, and the number; false if it ends in none that could be counted
 * on. */
static bool name_split(const char *name, size_t *ret_prefix, uint64_t *ret_number)
{
    size_t len = strlen(name), at = len;
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    *ret_prefix = at;
    return at < len && len - at < 10 && text_to_u64(name + at, UINT32_MAX, ret_number);
}

/* "n9" and "n10", "n09" and "n10", but not "n9" and "n010". */
static bool name_follows(const char *a, const char *b)
{
    size_t prefix_a, prefix_b;
    uint64_t number_a, number_b;
    if (!name_split(a, &prefix_a, &number_a) || !name_split(b, &prefix_b, &number_b))
        return false;
    bool padded = a[prefix_a] == '0' || b[prefix_b] == '0';
    return prefix_a == prefix_b && memcmp(a, b, prefix_a) == 0 && number_b == number_a + 1 &&
           (!padded || strlen(a) == strlen(b));
}

/* How many nodes from the i-th on can be written as one. */
static size_t run_length(const struct alloc *al, size_t i, int64_t *ret_step)
{
    ASSERT(i < al->n);
    const struct alloc_node *n = al->node;
    size_t len = 1;
    for (; i + len < al->n; len++) {
        const struct alloc_node *a = &n[i + len - 1], *b = a + 1;
        int64_t step;
        if (!name_follows(a->node, b->node) || !text_is(a->cpus, b->cpus) ||
            a->mem_mib != b->mem_mib || a->tasks != b->tasks || !gres_same(a, b) ||
            !ids_step(a->task_ids, b->task_ids, &step) || (len > 1 && step != *ret_step))
            break;
        *ret_step = step;
    }
    return len;
}

void alloc_format(const struct alloc *al, struct str *out)
{
    for (size_t i = 0; i < al->n;) {
        const struct alloc_node *n = &al->node[i];
        int64_t step = 0;
        size_t run = run_length(al, i, &step), prefix = 0;
        uint64_t number;
        str_add(out, i ? "; " : "");
        if (run < FOLD_MIN) {
            str_add(out, n->node);
            node_add(n, 0, out);
            i++;
            continue;
        }
        name_split(n->node, &prefix, &number);
        const char *last = n[run - 1].node + prefix;
        str_addf(out, "%.*s[%s-%s]", (int)prefix, n->node, n->node + prefix, last);
        node_add(n, step, out);
        i += run;
    }
}

/* Members of a folded list "0-3,8"; -1 if it is none. */
static int64_t folded_count(const char *text)
{
    struct span rest = span_of(text), piece;
    int64_t count = 0;
    while (*text && span_next(&rest, ',', &piece)) {
        uint64_t low, high;
        char copy[48];
        if (!piece.len || piece.len >= sizeof copy)
            return -1;
        memcpy(copy, piece.data, piece.len);
        copy[piece.len] = '\0';
        char *dash = strchr(copy, '-');
        if (dash)
            *dash++ = '\0';
        if (!text_to_u64(copy, LIMIT_CPUS_PER_NODE, &low) ||
            (dash && !text_to_u64(dash, LIMIT_CPUS_PER_NODE, &high)))
            return -1;
        if (!dash)
            high = low;
        if (high < low)
            return -1;
        count += (int64_t)(high - low) + 1;
    }
    return count;
}

/* A list as idset_format writes it, "0-3,8" or "0-62:2", and behind one of the first kind by how
 * much it grows from node to node (ids_shifted would shift the other's step). */
static bool is_ids(const char *text)
{
    size_t list = strspn(text, "0123456789,-:");
    const char *step = text + list + (text[list] == '+');
    bool grows = step != text + list;
    return !step[strspn(step, "0123456789")] && (list || !grows) &&
           !(grows && memchr(text, ':', list));
}

typedef VEC(struct alloc_gres) gres_vec;

static bool gres_word(char *key, const char *value, gres_vec *gres)
{
    struct alloc_gres g = {.kind = key};
    char *colon = strchr(key, ':');
    if (colon) {
        *colon = '\0';
        g.type = colon + 1;
    }
    if (*value == '#') {
        if (!text_to_i64(value + 1, 0, INT64_MAX, &g.count))
            return false;
    } else {
        g.devices = value;
        g.count = folded_count(value);
    }
    vec_push(gres, g);
    return *key && g.count >= 0 && (!g.devices || g.count <= LIMIT_CPUS_PER_NODE);
}

static bool word_parse(char *word, struct alloc_node *n, gres_vec *gres)
{
    char *equals = strchr(word, '=');
    int64_t number;
    if (!equals)
        return false;
    *equals = '\0';
    const char *value = equals + 1;
    if (text_is(word, "cpus")) {
        int64_t count = folded_count(value);
        n->cpus = value;
        n->cpu_count = (int32_t)count;
        return count >= 0 && count <= LIMIT_CPUS_PER_NODE;
    }
    if (text_is(word, "mem"))
        return text_to_i64(value, 0, INT64_MAX, &n->mem_mib);
    if (text_is(word, "tasks")) {
        bool ok = text_to_i64(value, 0, INT32_MAX, &number);
        n->tasks = ok ? (int32_t)number : 0;
        return ok;
    }
    if (text_is(word, "ids")) {
        n->task_ids = value;
        return *value && is_ids(value);
    }
    return gres_word(word, value, gres);
}

static bool node_parse(struct span text, struct arena *a, struct alloc_node *ret)
{
    struct span rest = span_trim(text), piece;
    gres_vec gres = {0};
    bool ok = true;
    *ret = (struct alloc_node){.cpus = ""};
    while (ok && span_next(&rest, ' ', &piece)) {
        if (!piece.len)
            continue;
        char *word = arena_strndup(a, piece.data, piece.len);
        if (!ret->node)
            ret->node = word;
        else
            ok = word_parse(word, ret, &gres);
    }
    ret->ngres = gres.n;
    ret->gres = arena_dup(a, gres.v, gres.n * sizeof gres.v[0]);
    vec_done(&gres);
    return ok && ret->node && !strchr(ret->node, '=');
}

/* The list with `add` added to each number; NULL where one is larger than numbers of tasks are. */
static const char *ids_shifted(const char *ids, int64_t add, struct arena *a)
{
    struct str out = STR_INIT;
    bool ok = true;
    while (ok && *ids) {
        char *after = NULL;
        int64_t id = *ids >= '0' && *ids <= '9' ? strtoll(ids, &after, 10) : 0;
        ok = id <= INT32_MAX;
        if (!after)
            str_addc(&out, *ids);
        else if (ok)
            str_add_i64(&out, id + add);
        ids = after ? after : ids + 1;
    }
    const char *kept = ok ? arena_strdup(a, str_text(&out)) : NULL;
    str_done(&out);
    return kept;
}

typedef VEC(struct alloc_node) node_vec;

/* "gpu[1-16]": each of them, like the one that was read. */
static bool nodes_unfold(const struct alloc_node *like, struct arena *a, node_vec *nodes)
{
    struct hostlist names = HOSTLIST_INIT;
    int64_t step = 0;
    const char *plus = like->task_ids ? strchr(like->task_ids, '+') : NULL;
    const char *ids =
        plus ? arena_strndup(a, like->task_ids, (size_t)(plus - like->task_ids)) : like->task_ids;
    bool ok = (!plus || (*ids && text_to_i64(plus + 1, 0, INT32_MAX, &step))) &&
              hostlist_parse(&names, like->node, NULL);
    for (size_t i = 0; ok && i < names.n; i++) {
        struct alloc_node n = *like;
        n.node = arena_strdup(a, names.name[i]);
        n.task_ids = i && step ? ids_shifted(ids, (int64_t)i * step, a) : ids;
        ok = !ids || n.task_ids;
        vec_push(nodes, n);
    }
    hostlist_done(&names);
    return ok;
}

bool alloc_parse(const char *text, struct arena *a, struct alloc *ret, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    node_vec nodes = {0};
    bool ok = true;
    while (ok && text && span_next(&rest, ';', &piece)) {
        struct alloc_node n;
        if (!span_trim(piece).len)
            continue;
        ok = node_parse(piece, a, &n) ||
             err_set(ret_err, ERR_INVALID, "\"%.*s\" is no allocation of a node",
                     (int)(piece.len < 200 ? piece.len : 200), piece.data);
        if (ok && n.node && strchr(n.node, '['))
            ok = nodes_unfold(&n, a, &nodes) ||
                 err_set(ret_err, ERR_INVALID, "\"%s\" names no nodes of an allocation", n.node);
        else
            vec_push(&nodes, n);
    }
    if (ok) {
        ret->n = nodes.n;
        ret->node = arena_dup(a, nodes.v, nodes.n * sizeof nodes.v[0]);
    }
    vec_done(&nodes);
    return ok;
}

const struct alloc_node *alloc_find(const struct alloc *al, const char *node)
{
    for (size_t i = 0; i < al->n; i++)
        if (text_is(al->node[i].node, node))
            return &al->node[i];
    return NULL;
}
