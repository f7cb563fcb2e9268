/* Devices of a node that nobody may be given, and why, as node.devices_out carries them in one line
 * of text:
 *   "gpu:2:unproven:1790000000000000:process 4711 (python) still holds
 *     it;gpu:5:failed:1790000000000000:XID 79: the GPU is gone"
 * A kind that is no device is "process": its number is the id of a process that outlives SIGKILL,
 * and the reason begins with "job 7 step 0:". unproven: it was given back, and nothing has shown
 * yet that it is clean; it comes back by itself. failed: it is broken, until an operator says
 * otherwise. */
#ifndef REMUDA_MODEL_DEVICE_OUT_H
#define REMUDA_MODEL_DEVICE_OUT_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_WHY_BYTES 240u /* a reason is cut to fit */

struct device_out {
    const char *kind; /* "gpu" */
    int32_t index;    /* as the node numbers it */
    bool failed;      /* else it is unproven */
    int64_t since_us; /* wall clock */
    const char *why;  /* never NULL */
};

/* What both texts are made of: "gpu:2:WORD:1790000000000000:process 4711 (python) still holds
 * it". */
struct device_entry {
    const char *kind, *word, *why; /* none is NULL */
    int32_t index;                 /* as the node numbers it */
    int64_t since_us;
};
struct device_entries {
    struct device_entry *v; /* in the arena */
    size_t n;
};
/* node.device_health: each device with the word of its health (agent/health.h), since when it is
 * so, and the evidence, which may be empty. The rest as device_outs_parse and device_out_format do
 * it. */
bool device_entries_parse(const char *text, struct arena *a, struct device_entries *ret);
/* Appended, ';' between entries; what of `why` would end one is made harmless. */
void device_entry_format(const struct device_entry *d, struct str *out);
/* NULL = not in it */
const struct device_entry *device_entries_find(const struct device_entries *list, const char *kind,
                                               int32_t index);

/* A process that cannot be killed, and no device. */
bool device_out_is_process(const struct device_out *d);

struct device_outs {
    struct device_out *v; /* in the arena */
    size_t n;
};

/* NULL is an empty list. Everything lives in the arena. False if it is no such text. */
bool device_outs_parse(const char *text, struct arena *a, struct device_outs *ret);
/* Appends one, after a ';' if there is something already. */
void device_out_format(const struct device_out *d, struct str *out);
/* NULL = not in it */
const struct device_out *device_outs_find(const struct device_outs *list, const char *kind,
                                          int32_t index);
/* For people: "gpu 2 is not used: process 4711 (python) still holds it", "process 4711 cannot be
 * killed: …"; several separated by "; ". `failed_only`: of these alone. */
void device_outs_say(const struct device_outs *list, bool failed_only, struct str *out);

#endif
