#include "agent/pmi_map.h"

#include "base/alloc.h"
#include "base/idset.h"

#include <stdlib.h>
#include <string.h>

/* False: one is too high, or another node has it. */
static bool ranks_place(const char *ranks, int32_t node, int32_t size, int32_t *node_of,
                        int32_t *placed)
{
    struct idset set = IDSET_INIT;
    uint32_t id = 0;
    bool ok = idset_parse(&set, ranks, (uint32_t)size - 1, NULL);
    for (bool more = ok && idset_first(&set, &id); more && ok; more = idset_next(&set, id, &id)) {
        ok = node_of[id] < 0;
        node_of[id] = node;
        ++*placed;
    }
    idset_done(&set);
    return ok;
}

bool pmi_map_read(const char *map, int32_t size, int32_t **ret, int32_t *ret_nodes)
{
    struct span rest = span_of(map), line, name;
    int32_t nodes = 0, placed = 0;
    bool ok = size > 0 && size <= PMI_RANKS_MAX;
    int32_t *node_of = ok ? xcalloc((size_t)size, sizeof *node_of) : NULL;
    for (int32_t i = 0; ok && i < size; i++)
        node_of[i] = -1;
    while (ok && span_next(&rest, '\n', &line)) {
        if (!line.len)
            continue;
        ok = span_next(&line, ' ', &name) && name.len > 0 && line.len > 0;
        struct str ranks = STR_INIT;
        str_addn(&ranks, line.data, line.len);
        ok = ok && ranks_place(str_text(&ranks), nodes++, size, node_of, &placed);
        str_done(&ranks);
    }
    ok = ok && placed == size;
    *ret_nodes = nodes;
    *ret = ok ? node_of : NULL;
    if (!ok)
        free(node_of);
    return ok;
}

void pmi_map_vector(const int32_t *node_of, int32_t size, struct str *out)
{
    int32_t first = 0, nodes = 0, each = 0;
    str_add(out, "(vector");
    for (int32_t i = 0, n; i < size; i += n) {
        for (n = 1; i + n < size && node_of[i + n] == node_of[i]; n++)
            ;
        if (nodes && n == each && node_of[i] == first + nodes) {
            nodes++;
            continue;
        }
        if (nodes)
            str_addf(out, ",(%d,%d,%d)", first, nodes, each);
        first = node_of[i];
        nodes = 1;
        each = n;
    }
    if (nodes)
        str_addf(out, ",(%d,%d,%d)", first, nodes, each);
    str_addc(out, ')');
}
