/* Where the tasks of an MPI program are: "NODE 0-3,8", a line for each node, in the order of the
 * nodes (stream_tasks.mpi_map). */
#ifndef REMUDA_AGENT_PMI_MAP_H
#define REMUDA_AGENT_PMI_MAP_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define PMI_RANKS_MAX (1 << 20) /* tasks of one program */

/* Nodes in it; with `ret` also, for each of the `size` ranks, the number of its node (the caller
 * frees it). False: it is no map, or some rank is nowhere, or twice. */
bool pmi_map_read(const char *map, int32_t size, int32_t **ret, int32_t *ret_nodes);
/* The same as PMI writes it: "(vector,(0,2,4),(2,1,2))", blocks of first node, nodes, ranks on
 * each. */
void pmi_map_vector(const int32_t *node_of, int32_t size, struct str *out);

#endif
