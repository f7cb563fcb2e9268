/* Machines as tables of nodes: CSV, its columns name (or sn), cpu_milli, memory_mib, gpu and model
 * in any order. */
#ifndef REMUDA_SIM_MACHINE_H
#define REMUDA_SIM_MACHINE_H

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct machine_node {
    char *name, *model; /* model of its GPUs; NULL = none given */
    int64_t cpu_milli, memory_mib;
    int32_t gpus;
};

struct machine_table {
    VEC(struct machine_node) node;
};

/* ERR names file, line and what is wrong there. */
bool machine_read(const char *path, struct machine_table *ret, struct err *ret_err);
void machine_done(struct machine_table *t); /* names, list */

/* The same as NodeName lines of remuda.conf; a model is the type of the node's GPUs. */
void machine_config(const struct machine_table *t, struct str *out);

#endif
