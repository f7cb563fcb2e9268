/* How nodes are connected: the lines of topology.conf (or of remuda.conf). */
#ifndef REMUDA_MODEL_TOPOLOGY_H
#define REMUDA_MODEL_TOPOLOGY_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SwitchName=s0 Nodes=n[0-5], SwitchName=s3 Switches=s[0-2], BlockName=b1 Nodes=n[1-18] */
struct topo_row {
    const char *name;
    const char *nodes;    /* as written; NULL = not given */
    const char *switches; /* children */
    bool block;           /* of blocks; else a switch */
};
struct topology {
    struct topo_row *row;
    size_t n; /* in the order of the file */
    /* BlockSizes=18,36: nodes of a block, and of groups of consecutive blocks. */
    const char *block_sizes;
};

/* Are children named that there are, is no switch below itself, is each node below one leaf only?
 * ERR_INVALID says what is wrong, *ret_wrong of which row. */
bool topology_check(const struct topology *t, size_t *ret_wrong, struct err *ret_err);
/* Levels of a tree: 0 of a leaf. */
int topology_level(const struct topology *t, const struct topo_row *row);
/* All nodes below, folded, appended. */
struct str;
void topology_nodes(const struct topology *t, const struct topo_row *row, struct str *out);
/* "s3.s0.n1" and "switch.switch.node", NULL without a topology. */
const char *topology_address(const struct topology *t, const char *node, struct arena *a);
/* "switch.switch.node": what its path is made of; NULL = not in it */
const char *topology_pattern(const struct topology *t, const char *node, struct arena *a);
/* NULL = no switch or block of that name. */
const struct topo_row *topology_find(const struct topology *t, const char *name);

#endif
