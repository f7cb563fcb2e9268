/* What the node daemon tells a shepherd: one real-time signal with 64 bits of data. Such signals
 * queue, need no file and no socket, and reach a shepherd whichever daemon started it. */
#ifndef REMUDA_NODE_STEP_COMMAND_H
#define REMUDA_NODE_STEP_COMMAND_H

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define COMMAND_SIGNAL SIGRTMIN

enum command_op {
    COMMAND_TERMINATE = 1, /* TERM, then KILL */
    COMMAND_KILL = 2,
    /* Their files are the shepherd's, once it has the signal, and it removes them. */
    COMMAND_FOLLOW = 3, /* the step's file "follow" says whom */
    COMMAND_TELL = 4    /* the step's file "tell" is a line for its error output */
};

/* Usual endings of the line in the job's error file; WHY_FILE: the text is in the step's file
 * "why". X(code, text) */
// clang-format off
/* The file "tell" begins with this and enum notify_streams in one byte, where it is not for the
 * error output alone; a line of people has no such bytes. */
#define TELL_MARK '\x10'

#define COMMAND_WHYS(X)                                                                                      \
    X(NONE, "")                                                                                              \
    X(TIME_LIMIT, "DUE TO TIME LIMIT")                                                                       \
    X(PREEMPTION, "DUE TO PREEMPTION")                                                                       \
    X(NODE_FAILURE, "DUE TO NODE FAILURE")                                                                   \
    X(REQUEUE, "DUE TO JOB REQUEUE")
// clang-format on
enum command_why {
#define X(code, text) WHY_##code,
    COMMAND_WHYS(X)
#undef X
        WHY_FILE
};

struct step_command {
    enum command_op op;
    enum command_why why; /* TERMINATE */
    int64_t kill_wait_ms; /* TERMINATE: between SIGTERM and SIGKILL */
    int signal;           /* KILL: what to send */
    bool batch;           /* KILL: to the batch shell alone, not to what it started */
    bool of_job;          /* everybody in the job is told */
};

/* Has it a file that the shepherd removes when it has read it, before which no other may come? */
static inline bool command_has_turn(enum command_op op)
{
    return op == COMMAND_FOLLOW || op == COMMAND_TELL;
}

static inline uint64_t command_pack(const struct step_command *c)
{
    return (uint64_t)c->op | (uint64_t)c->why << 8 | (uint64_t)(uint8_t)c->signal << 16 |
           (uint64_t)c->batch << 24 | (uint64_t)c->of_job << 25 | (uint64_t)c->kill_wait_ms << 32;
}

static inline struct step_command command_unpack(uint64_t packed)
{
    return (struct step_command){
        .op = (enum command_op)(packed & 0xff),
        .why = (enum command_why)((packed >> 8) & 0xff),
        .signal = (int)((packed >> 16) & 0xff),
        .batch = (packed >> 24) & 1,
        .of_job = (packed >> 25) & 1,
        .kill_wait_ms = (int64_t)(packed >> 32),
    };
}

/* As sigqueue(3) carries it. */
static inline union sigval command_value(const struct step_command *c)
{
    uint64_t packed = command_pack(c);
    union sigval v;
    static_assert(sizeof v == sizeof packed, "commands need 64 bits with a signal");
    memcpy(&v, &packed, sizeof v);
    return v;
}

static inline struct step_command command_of_value(union sigval v)
{
    uint64_t packed;
    memcpy(&packed, &v, sizeof packed);
    return command_unpack(packed);
}

#endif
