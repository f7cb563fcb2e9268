/* What the series of a job say, in sentences with numbers and the next step: of what was not used,
 * stood still, grew, was held back. Nothing is said of what is well, or not known. docs/pictures.md
 * says how each is found. */
#ifndef REMUDA_READING_READING_H
#define REMUDA_READING_READING_H

#include "base/calendar/civil.h"
#include "model/job/job.h"
#include "reading/dips.h"

#define READING_SAMPLES 30 /* of fewer nothing is said */
#define READING_PHASES  6

/* X(KIND, word) */
#define FINDINGS(X)                                                                                \
    X(PHASES, "phases")                                                                            \
    X(GPU_UNUSED, "gpu-unused")                                                                    \
    X(GPU_LOW, "gpu-low")                                                                          \
    X(GPU_DIPS, "gpu-dips")                                                                        \
    X(GPU_STALLS, "gpu-stalls")                                                                    \
    X(GPU_HANG, "gpu-hang")                                                                        \
    X(GPU_THIN, "gpu-thin")                                                                        \
    X(GPU_IDLE, "gpu-idle")                                                                        \
    X(GPU_UNEVEN, "gpu-uneven")                                                                    \
    X(GPU_HEAT, "gpu-heat")                                                                        \
    X(GPU_POWER, "gpu-power")                                                                      \
    X(GPU_ECC, "gpu-ecc")                                                                          \
    X(GPU_XID, "gpu-errors")                                                                       \
    X(GPU_FULL, "gpu-memory-full")                                                                 \
    X(GPU_GROWS, "gpu-memory-grows")                                                               \
    X(CPUS_UNUSED, "cpus-unused")                                                                  \
    X(CPUS_SHORT, "cpus-short")                                                                    \
    X(NODES_UNEVEN, "nodes-uneven")                                                                \
    X(RANKS_UNEVEN, "ranks-uneven")                                                                \
    X(MEM_GROWS, "memory-grows")                                                                   \
    X(MEM_FULL, "memory-full")                                                                     \
    X(MEM_UNUSED, "memory-unused")                                                                 \
    X(SWAPS, "swaps")                                                                              \
    X(DISKS, "disks")                                                                              \
    X(GAP, "gap")

enum finding_kind {
#define X(kind, word) FOUND_##kind,
    FINDINGS(X)
#undef X
};
const char *finding_word(enum finding_kind kind); /* as --json has it */

struct finding {
    enum finding_kind kind;
    char *text; /* a sentence without its stop: "GPU 0 was never above 50 % …" */
    char *next; /* what to do; NULL = nothing */
};

struct reading {
    VEC(struct finding) found;            /* what matters most first */
    size_t samples;                       /* most of a curve */
    struct stretch phase[READING_PHASES]; /* in order of time, without gaps */
    size_t nphases;                       /* 0 = it had one */
};

/* The values that it looks at (curves.wants). */
bool reading_wants(const struct series_value *v);
/* How fine curves are put together of a job's run for that many samples in all (16 bytes each). */
void reading_bound(struct curves *c, const struct job *j, int64_t now_us, size_t samples);

/* The curves are joined by it (curves_join_steps). */
void reading_make(struct curves *c, const struct job *j, const struct civil_zone *zone,
                  struct reading *ret);
void reading_done(struct reading *r); /* findings and their texts */
/* A line each: "SENTENCE: NEXT". Plain. */
void reading_write(const struct reading *r, struct str *out);

#endif
