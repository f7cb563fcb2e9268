#include "model/alloc.h"

#include "base/vec.h"

#include <string.h>

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

void alloc_format(const struct alloc *al, struct str *out)
{
    for (size_t i = 0; i < al->n; i++) {
        const struct alloc_node *n = &al->node[i];
        str_addf(out, "%s%s cpus=%s mem=%lld", i ? "; " : "", n->node, n->cpus, (long long)n->mem_mib);
        if (n->tasks)
            str_addf(out, " tasks=%d", n->tasks);
        if (n->task_ids)
            str_addf(out, " ids=%s", n->task_ids);
        for (size_t g = 0; g < n->ngres; g++)
            gres_add(&n->gres[g], out);
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
        if (!text_to_u64(copy, INT32_MAX, &low) || (dash && !text_to_u64(dash, INT32_MAX, &high)))
            return -1;
        if (!dash)
            high = low;
        if (high < low)
            return -1;
        count += (int64_t)(high - low) + 1;
    }
    return count;
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
    return *key && g.count >= 0;
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
        return count >= 0 && count <= INT32_MAX;
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
        return *value != '\0';
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

bool alloc_parse(const char *text, struct arena *a, struct alloc *ret, struct err *ret_err)
{
    struct span rest = span_of(text), piece;
    VEC(struct alloc_node) nodes = {0};
    bool ok = true;
    while (ok && text && span_next(&rest, ';', &piece)) {
        struct alloc_node n;
        if (!span_trim(piece).len)
            continue;
        ok = node_parse(piece, a, &n) || err_set(ret_err, ERR_INVALID, "\"%.*s\" is no allocation of a node",
                                                 (int)(piece.len < 200 ? piece.len : 200), piece.data);
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
