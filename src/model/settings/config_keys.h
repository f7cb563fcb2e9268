/* The keys of NodeName= and PartitionName= lines, and Slurm's keys that have no effect here: the
 * configuration parser reads by these tables, `remuda docs` writes settings.md from them. */
#ifndef REMUDA_MODEL_CONFIG_KEYS_H
#define REMUDA_MODEL_CONFIG_KEYS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/record/node.h"
#include "model/record/partition.h"

#include <stdbool.h>

/* A NodeName line while it is read: what it says, before node_complete fills in what follows from
 * it. */
struct node_draft {
    struct node node;
    int32_t sockets_per_board;
};

/* Reads one value into the record (a struct node_draft or a struct partition). Texts are kept, not
 * copied: they live in the arena. */
typedef bool (*key_set)(void *record, const char *value, struct arena *a, struct err *ret_err);

struct line_key {
    const char *key;
    key_set set;          /* NULL: known to Slurm, no effect here */
    const char *values;   /* what may be said, in words */
    const char *standard; /* what holds where it is not said */
    const char *doc;      /* what it does, or why it has no effect */
    bool missed;          /* has no effect, and what it asks for is counted on */
};
struct line_keys {
    const struct line_key *key;
    size_t n; /* of `key` */
};
extern const struct line_keys node_keys, partition_keys;

/* State= of NodeName and DownNodes lines. */
bool node_state_set(struct node *n, const char *value, struct err *ret_err);

/* Slurm's cluster-wide keys, of any release, that have no effect in Remuda, and why. */
struct idle_key {
    const char *key;
    bool missed;     /* what it asks for is not there */
    const char *why; /* it has no effect here */
};
extern const struct idle_key idle_keys[];
extern const size_t idle_key_count;

#endif
