/* The lines of sinfo: nodes of a partition grouped into lines as the columns shown demand. */
#ifndef REMUDA_CLI_RECORD_SINFO_ROWS_H
#define REMUDA_CLI_RECORD_SINFO_ROWS_H

#include "base/arena.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cli/table/columns.h"
#include "model/record/node.h"
#include "model/record/partition.h"

#include <stdbool.h>

/* Smallest and largest value in a line; shown "4", or "4+". */
struct extent {
    int64_t min, max; /* over the nodes of a row */
};

struct sinfo_tally {
    int64_t alloc, idle, other, total; /* of nodes, or of CPUs; `other`: down, drained */
};

/* One line. `node` is the first node of it; NULL in the line of a partition without (fitting)
 * nodes. */
struct sinfo_row {
    const struct partition *part;
    const struct node *node; /* one of those that it stands for */
    size_t part_order,
        /* Places of the first of them in the configuration and among the sorted node names. */
        node_order;
    struct hostlist names, hosts, addrs; /* all of them */
    struct sinfo_tally nodes, cpu;
    struct extent cpus, sockets, cores, threads, memory, disk, weight, load, free_mem;
};

struct sinfo_nodes {
    const struct node **v; /* sorted by name */
    size_t n;              /* that are shown */
};

struct sinfo_wish {
    const struct format *format; /* the columns decide what stands in one row */
    const char *sort;            /* as -S; never NULL */
    bool by_node;                /* -N: a line for each node and partition */
    bool exact;                  /* -e: no ranges */
    bool keep_empty;             /* lines for partitions none of whose nodes fits */
};

/* Letters that no column has are errors of -S. */
bool sinfo_sort_check(const char *sort, struct err *ret_err);
/* Rows in the order asked for; they and what they hold live until sinfo_rows_done. */
struct sinfo_rows {
    VEC(struct sinfo_row) row; /* owned, with their lists */
};
/* Nodes that nothing of the format tells apart share a row; they must outlive the rows. */
void sinfo_rows_make(const struct partition *const *part, size_t nparts,
                     const struct sinfo_nodes *nodes, const struct sinfo_wish *wish,
                     struct sinfo_rows *ret);
void sinfo_rows_done(struct sinfo_rows *r); /* rows and their lists; nodes are the caller's */

#endif
