/* Private to the configuration parser: the keys of NodeName= and PartitionName= lines, and Slurm's keys that have no effect here. */
#ifndef REMUDA_MODEL_CONFIG_KEYS_H
#define REMUDA_MODEL_CONFIG_KEYS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/node.h"
#include "model/partition.h"

#include <stdbool.h>

struct node_key {
    const char *key;
    bool (*set)(struct node *n, const char *value, struct arena *a, struct err *ret_err); /* NULL: known to Slurm, no effect here */
};
extern const struct node_key node_keys[];
extern const size_t node_key_count;

struct partition_key {
    const char *key;
    bool (*set)(struct partition *p, const char *value, struct arena *a, struct err *ret_err);
};
extern const struct partition_key partition_keys[];
extern const size_t partition_key_count;

/* Slurm's cluster-wide keys that Remuda knows and has no use for. */
extern const char *const idle_keys[];
extern const size_t idle_key_count;

#endif
