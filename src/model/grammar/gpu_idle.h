/* GpuIdle: what is done about jobs that have GPUs and do not use them, and when. */
#ifndef REMUDA_MODEL_GPU_IDLE_H
#define REMUDA_MODEL_GPU_IDLE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they come; the last two exclude each other. X(STAGE, word, doc) */
// clang-format off
#define GPU_IDLE_STAGES(X)                                                                         \
    X(WARN, "warn", "a line in its error output says so")                                          \
    X(NOTIFY, "notify", "the same, and its user gets a mail")                                      \
    X(REQUEUE, "requeue", "it goes back to waiting; where it may not be requeued, it is cancelled") \
    X(CANCEL, "cancel", "it is cancelled")
/* Other times. X(member, word, default, doc) */
#define GPU_IDLE_TIMES(X)                                                                          \
    X(grace_us, "grace", 10 * USEC_PER_MIN, "what its GPUs do so long after a start does not count") \
    X(interactive_us, "interactive", 60 * USEC_PER_MIN, "each stage comes so much later for a job without a script (salloc, srun)")
// clang-format on
enum gpu_idle_stage_number {
#define X(stage, word, doc) GPU_IDLE_NUMBER_##stage,
    GPU_IDLE_STAGES(X)
#undef X
        GPU_IDLE_STAGE_COUNT
};
/* Bits of job.gpu_idle_told. */
enum gpu_idle_stage {
#define X(stage, word, doc) GPU_IDLE_##stage = 1 << GPU_IDLE_NUMBER_##stage,
    GPU_IDLE_STAGES(X)
#undef X
};
#define GPU_IDLE_ENDS ((uint32_t)GPU_IDLE_REQUEUE | (uint32_t)GPU_IDLE_CANCEL)

struct gpu_idle {
    uint32_t stages;                        /* bits: those that there are; 0 = nothing is done */
    int64_t after_us[GPU_IDLE_STAGE_COUNT]; /* so long idle */
#define X(member, word, standard, doc) int64_t member;
    GPU_IDLE_TIMES(X)
#undef X
    struct span exempt[16]; /* accounts whose jobs are left alone; in the text that was read */
    size_t nexempt;         /* of `exempt` */
};

/* "warn:30m,notify:1h,cancel:2h,grace:10m,interactive:1h,exempt:astro,exempt:teaching" (units s m h
 * d), or none. Who is ended is told before: that is insisted on. */
bool gpu_idle_parse(const char *text, struct gpu_idle *ret, struct err *ret_err);
/* "" beyond the last stage. */
const char *gpu_idle_word(enum gpu_idle_stage_number stage);
/* The stage that ends a job; GPU_IDLE_STAGE_COUNT = none does. */
enum gpu_idle_stage_number gpu_idle_end(const struct gpu_idle *p);

#endif
