/* What is said between the daemon and the process that watches the GPUs, as the daemon writes and
 * reads it: lines of text on a socket pair. To the process, first "steps DIRECTORY", "device INDEX
 * UUID PCI HANGS FILES" for each device ("-" = not known) and "begin", then for each look "look
 * INDEX USE JOB UID FROM STEPS" for each device (STEPS: "7.1.0+7.1.batch" that may hold it, as
 * their directories are called, or "7.1.*", all of that run; "-" = none), where steps that do not
 * have them cannot open the files of some of these GPUs "apart INDEX …" with these and "users UID
 * …", who has steps here, and "go"; and "sample INDEX …", answered by "sampled INDEX NUMBER:VALUE
 * …" for each that can be. From it: "at INDEX" when it begins to ask for a device (-1: to open a
 * library), "ready" after the start, "library TEXT", "seen INDEX USE SIGN WHY" for each that was to
 * be looked at and "done"; at any time "sign INDEX SIGN WHY", "note TEXT" for the log, and every
 * second "used STEP PERCENT BYTES MJ" for each step that computes and "gpu …" for each device
 * (gpu_usage.h), then "usage 1" (0: percents are not known). */
#ifndef REMUDA_NODE_HARDWARE_GPU_LINES_H
#define REMUDA_NODE_HARDWARE_GPU_LINES_H

#include "agent/agent.h"
#include "base/arena.h"
#include "base/str.h"

#define GPU_USED_MAX         4096 /* steps, or devices, in one answer */
#define GPU_USED_PERCENT_MAX 6400 /* of 64 devices */

/* Appends the line "look …" of a device. */
void gpu_look_say(const struct device_look *look, struct str *out);
/* Appends the lines "apart …" and "users …"; nothing where no look is `apart`. */
void gpu_apart_say(const struct device_look *look, size_t n, const uint32_t *users, size_t nusers,
                   struct str *out);

/* A number that a line has as a word; 0 for what is none. */
int64_t gpu_number(struct span word);
/* What stands behind "used" and "gpu". What a library says may be anything: what is out of bounds
 * counts as not told. False: the line is none. */
bool gpu_used_parse(struct span line, struct gpu_used *ret);
/* What stands behind "now"; a figure that is none, or beyond its bound, is not known (-1). False:
 * no index, or cut off. */
bool gpu_now_parse(struct span line, struct gpu_now *ret);
/* What stands behind "seen", and behind "sign", which has no use. ret->why is the arena's. */
bool gpu_seen_parse(struct span line, bool has_use, struct arena *a, struct device_seen *ret);

#endif
