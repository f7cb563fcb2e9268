/* Generic resources as people write them: "gpu:v100:2,gpu:a100:1,nic". Also the short forms of
 * --gpus ("v100:2", "3"). */
#ifndef REMUDA_MODEL_GRES_H
#define REMUDA_MODEL_GRES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gres_item {
    const char *kind; /* "gpu" */
    /* NULL = any; alternatives as "a100|a40" (our addition); compared without letter case. */
    const char *type;
    int64_t count; /* 0 and more */
};

struct gres_list {
    struct gres_item *item;
    size_t n; /* in the order of the text */
};

/* All counts of a list together, 1T: what all nodes of a cluster have of it is a 63-bit number. */
#define GRES_COUNT_MAX (INT64_C(1) << 40)

/* --gres and Gres=: kind[[:type]:count],…; "none" and "" give an empty list; "gres/gpu:2" and
 * "gres:gpu:2" are accepted; counts may carry K, M, G. Equal kind and type are added up. Everything
 * lives in the arena. */
bool gres_parse(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err);
/* The same of what a node is said to have: no type is one that nobody can ask for ("a100|a40"). */
bool gres_parse_node(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err);
/* --gpus and its relatives: [type:]count,… all of kind "gpu". */
bool gres_parse_gpus(const char *text, struct arena *a, struct gres_list *ret, struct err *ret_err);
/* A list that a job asks with: of equal kind and type the last counts, as in Slurm, and *text
 * becomes a list without the others. Kind NULL or, for --gpus and its relatives, "gpu". */
bool gres_last_counts(const char **text, const char *kind, struct arena *a, struct err *ret_err);
/* --gres and Gres= of a job, as its record has them: of equal kinds the last counts, the prefix
 * "gres:" or "gres/" of the first is left out, and *text is NULL where nothing is asked ("none",
 * "gpu:0", ""). In the arena or a part of *text. ERR_INVALID, ERR_LIMIT: what is wrong. */
bool gres_asked(const char **text, struct arena *a, struct err *ret_err);
void gres_format(const struct gres_list *list, struct str *out);    /* "gpu:v100:2,nic:1" */
int64_t gres_count(const struct gres_list *list, const char *kind); /* of all types */
/* ",gres/gpu=4,gres/gpu:v100=4" appended: the sum of each kind, then each type. */
void gres_list_tres(const struct gres_list *list, struct str *out);
/* The same of the text of a node's Gres=, or of several nodes' with commas between; what cannot be
 * read is left out. */
void gres_text_tres(const char *text, struct str *out);
/* Can people ask for a kind of that name and, if not NULL, for a type of it of that name? What a
 * node has may be called otherwise ("Tesla V100"). */
bool gres_can_be_asked(const char *kind, const char *type);
/* Asked NULL = any; "a|b"; letter case ignored. */
bool gres_type_matches(const char *asked, const char *has);

/* Devices as node.devices carries them: "gpu:v100:0:16384:0-7:GPU-uuid;gpu:v100:1:16384:8-15:"
 * (kind:type:index:memory MiB:CPUs:uuid,
 * separated by ';'; empty parts allowed), where more is known followed by
 *   "|pci=0000:3b:00.0|numa=0|links=1+2|via=NVML 12.1". */
struct device {
    const char *kind, *type; /* type NULL = untyped */
    /* As the node numbers it (what CUDA_VISIBLE_DEVICES would say with all of them visible) */
    int32_t index;
    int64_t mem_mib;  /* 0 = unknown */
    const char *cpus; /* CPUs near it, folded; NULL = all */
    const char *uuid; /* NULL = none */
    const char *pci;  /* address; NULL = not known */
    const char *numa; /* number of its memory node; NULL = not known */
    /* Indexes of devices that it has a fast connection to (NVLink, XGMI): "1+2"; NULL = none. */
    const char *links;
    /* What told of it, with version: "NVML 12.560.35.03, driver 560.35.03"; NULL = not said. */
    const char *via;
};
struct device_list {
    struct device *v;
    size_t n; /* in the order of the text */
};
/* What devices_format writes; ERR_INVALID names the piece, or the device that is named twice: each
 * is once in a list, by its kind and index. */
bool devices_parse(const char *text, struct arena *a, struct device_list *ret, struct err *ret_err);
/* "gpu:v100:0:16384:0-7:UUID|pci=…", joined by ';' */
void devices_format(const struct device_list *list, struct str *out);
/* "3=MIG-a,4=MIG-b": what a device must be called by where its number does not do; of number 3
 * "MIG-a". Empty: its number does. */
struct span device_name_of(const char *names, uint32_t index);

#endif
