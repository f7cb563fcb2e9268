/* What is known of one device's health: one state, moved only by signs. A sign is what a library's
 * answer, a look or an event means; which answer is which sign is said in one table a library
 * (node/hardware/nvidia/nvml_code.c for NVIDIA's). Unknown is never clean, one failure is no
 * suspicion, and what is broken is well again by itself only where its library says so. */
#ifndef REMUDA_AGENT_HEALTH_H
#define REMUDA_AGENT_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, word, meaning) */
// clang-format off
#define DEVICE_HEALTHS(X)                                                                                    \
    X(UNKNOWN, "unknown", "nothing shows yet that it may be given")                                          \
    X(CLEAN, "clean", "it is well, nobody is on it, and its memory is back")                                 \
    X(IN_USE, "in use", "a job has it")                                                                      \
    X(HELD, "held", "it is well, but something that is no job's keeps it")                                   \
    X(SUSPECT, "suspect", "its library failed more than once to answer for it; it is asked on")              \
    X(BROKEN, "broken", "it does not work until it is reset or exchanged")                                   \
    X(GONE, "gone", "it is not there any more")

/* The words go from the process that asks the libraries to the node's daemon. */
#define DEVICE_SIGNS(X)                                                                                      \
    X(CLEAN, "clean", "a look found it well, nobody on it, and its memory back")                             \
    X(SHARED, "shared", "a look found nobody on it but steps that go on")                                    \
    X(HELD, "held", "a look found it well, and something on it")                                             \
    X(WELL, "well", "its library answers for it again, and has nothing against it")                          \
    X(DOUBT, "doubt", "its library did not answer for it, in a way that may pass")                           \
    X(BLIND, "blind", "it cannot be asked: no driver, no permission, a library that is not there or hangs")  \
    X(RESET, "reset", "it does not work until it is reset; its library says when that has been done")        \
    X(BROKEN, "broken", "it does not work; an operator says when it is to be tried again")                   \
    X(LOST, "lost", "it is gone from its bus; an operator says when it is to be tried again")                \
    X(ABSENT, "absent", "its library does not know it (any more); it comes back by itself if it does")
// clang-format on

enum device_health {
#define X(name, word, meaning) HEALTH_##name,
    DEVICE_HEALTHS(X)
#undef X
};
enum device_sign {
#define X(name, word, meaning) DEVICE_##name,
    DEVICE_SIGNS(X)
#undef X
};
#define DEVICE_SIGNS_N ((int)DEVICE_ABSENT + 1)
#define DOUBTS_MAX     2u /* so many in a row make it suspect */

struct health {
    enum device_health state; /* the worst that stands */
    bool returns;             /* broken or gone: its library says when it is well again */
    uint32_t doubts;          /* in a row */
};

/* True if the state changed. */
bool health_note(struct health *h, enum device_sign sign);
/* Broken or gone until an operator wants it tried again. */
bool health_is_failed(const struct health *h);
/* It may be given to nobody now, whatever is found on it: suspect, broken or gone. */
bool health_is_ill(const struct health *h);
const char *health_word(enum device_health state);   /* as it stands in frames */
const char *device_sign_word(enum device_sign sign); /* likewise */

#endif
