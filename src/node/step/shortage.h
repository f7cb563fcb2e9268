/* What the kernel refuses for want of room now and may grant a moment later: a process, a
 * descriptor, memory. Other jobs cause that and pass, so a step is not failed by it at once. */
#ifndef REMUDA_NODE_STEP_SHORTAGE_H
#define REMUDA_NODE_STEP_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* All that is tried from the first refusal on has this long together. */
#define SHORTAGE_PATIENCE_US INT64_C(10000000)

/* Zeros: nothing was refused. */
struct shortage {
    int64_t until_us; /* CLOCK_MONOTONIC; 0 = no refusal yet */
    int64_t nap_us;
};

/* Is the errno one of such a refusal: no process, no descriptor (of this process, of the system),
 * no memory, no buffer, no control group more? */
bool shortage_is(int why);
/* After a call that failed with errno: true, after a nap that doubles from time to time, if it is
 * worth trying again; false if it was refused for good, or has been for too long. errno stays. */
bool shortage_passes(struct shortage *s);
/* For who has other things to do meanwhile: how long to leave it, in microseconds; 0 = it is not
 * worth trying again. errno stays. */
int64_t shortage_nap_us(struct shortage *s);
/* A pipe whose ends programs do not inherit, tried for so long; false with errno. */
bool shortage_pipe(struct shortage *s, int ret_ends[2]);
/* fopen(path, "re") of a file of /proc or /sys, tried for so long: NULL with errno. The first bytes
 * are read: libc that has no memory for them reads one byte at a time, of which the kernel gives
 * some files no second. */
FILE *shortage_fopen(const char *path);
/* fork(), tried for so long. */
pid_t shortage_fork(struct shortage *s);

#endif
