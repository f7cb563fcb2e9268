/* A shepherd's connection to a command (srun, sattach): connects, proves itself, carries messages.
 * Never blocks but while connecting. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_STREAM_H
#define REMUDA_NODE_SHEPHERD_TASKS_STREAM_H

#include "base/arena.h"
#include "base/str.h"
#include "io/net/tls.h"
#include "model/message.h"
#include "node/shepherd/linger.h"
#include "node/step/plan.h"
#include "wire/framed.h"

#include <stdbool.h>
#include <stddef.h>

#define STREAM_HIGH_BYTES (512u << 10) /* above this, the tasks are not read */

/* Of one message: of who says what runs (script and environment are 16 MiB together), and of who
 * only shows his half of the secret and sends input, which is granted in less. All of it is kept
 * in memory that is nobody's. */
#define STREAM_FRAME_BYTES   (24u << 20)
#define FOLLOWER_FRAME_BYTES (1u << 20)

#define STREAMS_MAX 9 /* of a step: the command's, then those of sattach */

struct stream {
    int fd;      /* -1 = gone */
    bool proved; /* the other end knows the secret */
    bool begun;  /* it was told what came before; for loop.c */
    /* Small messages wait for stream_flush: the other end wakes up once for several. */
    bool held;
    char *proof; /* what it has to show; owned */
    struct framed way;
    size_t went;                /* bytes that the socket took, since that was asked */
    bool more;                  /* stream_read was not done with what it had read */
    size_t frame_max;           /* a longer one closes it */
    struct tls_context *secret; /* of another host; NULL = plain */
    struct tls *tls;
    /* All was sent; since then, of what the other end still says: so much was dropped. */
    bool leaves;
    size_t dropped;
    int arriving;          /* what another host does not have yet */
    int64_t arrives_by_us; /* CLOCK_MONOTONIC */
};

/* For at most within_us tries each of the blank-separated addresses ("@name", "tls:1.2.3.4:port",
 * "1.2.3.4:port" without encryption) and says hello. False with errno if none takes us. Of a Unix
 * socket the other end must be the job's owner or root. No message of more than frame_max bytes is
 * taken. */
bool stream_connect(struct stream *s, const struct step_plan *p, const char *addresses,
                    const char *key, int64_t pid, size_t frame_max, int64_t within_us);
/* Tells a command that wants to see the step that as many as may do so already, without waiting. */
void stream_refuse(const struct step_plan *p, const char *addresses, const char *key,
                   int64_t within_us);
/* What was not sent is lost; nothing where it is closed. */
void stream_close(struct stream *s);

/* Appends one message and, unless it is held and little, writes what goes. */
void stream_send(struct stream *s, enum message_kind kind, const void *body);
/* Bytes, those that are sealed already among them; 0 where it is closed. */
size_t stream_unsent(const struct stream *s);
/* As far as the socket takes it, without waiting. */
void stream_flush(struct stream *s);
/* Writes all that is unsent, as long as `l` has time, and closes each when another host has it
 * all. */
void streams_finish(struct stream *s, size_t n, struct lingering *l);

/* Reads some of what came and calls take for each message (of a peer that has proved itself, or
 * whose STREAM_TASKS does so), for some ms at most, however much is said: with s->more it is to be
 * called again though nothing comes. Closes the stream when the other end is gone or talks
 * nonsense. */
void stream_read(struct stream *s, void (*take)(void *ctx, const struct message *m), void *ctx);

#endif
