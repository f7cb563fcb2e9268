#include "model/settings/topology.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/map.h"
#include "base/str.h"

#include <string.h>

#define DEPTH_MAX 16
#define WAYS_MAX  10000 /* down from a switch: more rows than any machine room has, each once */

const struct topo_row *topology_find(const struct topology *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (text_is(t->row[i].name, name))
            return &t->row[i];
    return NULL;
}

/* *ways counts the ways down: of switches below several others, level by level, there are as
 * many as there are ways to draw lines. */
static bool collect(const struct topology *t, const struct topo_row *row, int depth, int *ways,
                    struct hostlist *out)
{
    ASSERT(depth >= 0);
    struct hostlist children = HOSTLIST_INIT;
    bool ok = depth < DEPTH_MAX && ++*ways <= WAYS_MAX;
    if (ok && row->nodes)
        ok = hostlist_parse(out, row->nodes, NULL);
    if (ok && row->switches && hostlist_parse(&children, row->switches, NULL))
        for (size_t i = 0; ok && i < children.n; i++) {
            const struct topo_row *child = topology_find(t, children.name[i]);
            ok = !child || collect(t, child, depth + 1, ways, out);
        }
    hostlist_done(&children);
    return ok;
}

void topology_nodes(const struct topology *t, const struct topo_row *row, struct str *out)
{
    struct hostlist names = HOSTLIST_INIT;
    int ways = 0;
    collect(t, row, 0, &ways, &names);
    hostlist_sort(&names);
    hostlist_fold(&names, out);
    hostlist_done(&names);
}

int topology_level(const struct topology *t, const struct topo_row *row)
{
    struct hostlist children = HOSTLIST_INIT;
    int level = 0;
    if (row->switches && hostlist_parse(&children, row->switches, NULL))
        for (size_t i = 0; i < children.n; i++) {
            const struct topo_row *child = topology_find(t, children.name[i]);
            int below = child ? topology_level(t, child) : 0;
            level = below + 1 > level ? below + 1 : level;
        }
    hostlist_done(&children);
    return level;
}

static bool row_check(const struct topology *t, const struct topo_row *row, struct map_str *leaf_of,
                      struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    const char *list = row->nodes ? row->nodes : row->switches;
    bool ok = true;
    if (!list || (row->nodes && row->switches))
        ok = err_set(ret_err, ERR_INVALID, "%s needs Nodes= or Switches=, one of them", row->name);
    ok = ok && hostlist_parse(&names, list, ret_err);
    for (size_t i = 0; ok && i < names.n; i++) {
        const struct topo_row *other = row->nodes ? map_str_get(leaf_of, names.name[i]) : NULL;
        if (other)
            ok = err_set(ret_err, ERR_INVALID, "node %s is below %s and below %s", names.name[i],
                         other->name, row->name);
        else if (row->nodes)
            map_str_put(leaf_of, names.name[i], (void *)(uintptr_t)row);
        else if (!topology_find(t, names.name[i]))
            ok = err_set(ret_err, ERR_INVALID, "%s names the switch %s, which no line describes",
                         row->name, names.name[i]);
    }
    hostlist_done(&names);
    if (ok && row->switches) {
        struct hostlist all = HOSTLIST_INIT;
        int ways = 0;
        ok = collect(t, row, 0, &ways, &all) ||
             err_set(ret_err, ERR_INVALID,
                     "%s is below itself, or more than %d levels high, or reaches switches by more "
                     "than %d ways",
                     row->name, DEPTH_MAX, WAYS_MAX);
        hostlist_done(&all);
    }
    return ok;
}

bool topology_check(const struct topology *t, size_t *ret_wrong, struct err *ret_err)
{
    struct map_str *leaf_of = map_str_new();
    bool ok = true;
    for (size_t i = 0; ok && i < t->n; i++) {
        *ret_wrong = i;
        ok = row_check(t, &t->row[i], leaf_of, ret_err);
        if (ok && topology_find(t, t->row[i].name) != &t->row[i])
            ok = err_set(ret_err, ERR_INVALID, "%s is described twice", t->row[i].name);
    }
    map_str_free(leaf_of);
    return ok;
}

/* ---- addresses ---- */

static bool below(const struct topo_row *row, bool nodes, const char *name)
{
    const char *list = nodes ? row->nodes : row->switches;
    return list && hostlist_text_has(list, name);
}

static const struct topo_row *parent_of(const struct topology *t, bool node, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (below(&t->row[i], node, name))
            return &t->row[i];
    return NULL;
}

static const char *path(const struct topology *t, const char *node, bool names, struct arena *a)
{
    const struct topo_row *row = t->n > 0 ? parent_of(t, true, node) : NULL;
    const char *text = names ? node : "node";
    if (!row)
        return NULL;
    for (int depth = 0; row && depth < DEPTH_MAX; depth++) {
        text = arena_printf(a, "%s.%s", names ? row->name : row->block ? "block" : "switch", text);
        row = parent_of(t, false, row->name);
    }
    return text;
}

const char *topology_address(const struct topology *t, const char *node, struct arena *a)
{
    return path(t, node, true, a);
}

const char *topology_pattern(const struct topology *t, const char *node, struct arena *a)
{
    return path(t, node, false, a);
}
