/* Blocks of samples that wait to be sent, in memory and, after some seconds, in a file, from which
 * the next daemon takes them. */
#ifndef REMUDA_NODE_DAEMON_SERIES_QUEUE_H
#define REMUDA_NODE_DAEMON_SERIES_QUEUE_H

#include "base/str.h"
#include "base/vec.h"
#include "io/log.h"
#include "wire/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIES_QUEUE_BYTES (8u << 20) /* beyond these the oldest go */

struct waiting_block {
    struct str bytes;
    struct series_head head;
    int64_t since_us; /* monotonic */
    uint64_t number;  /* of the frame that has it; 0 = none yet */
    bool in_file;     /* memory has only its head */
};

struct series_queue {
    struct log *log;
    char *path;                      /* of the file; owned */
    VEC(struct waiting_block) block; /* the oldest first */
    size_t bytes, file_bytes;        /* in memory, and in the file */
    bool drops;                      /* the oldest went, and it was said */
    bool full;                       /* the disk does not take them, and it was said */
};

/* A block behind the others, copied. One that is whole takes the place of its pieces that wait. */
void series_queue_add(struct series_queue *q, const char *bytes, size_t len, bool in_file);
/* The oldest go until the others have room; those under way stay. */
void series_queue_bound(struct series_queue *q);
/* The frame of that number has arrived. */
void series_queue_sent(struct series_queue *q, uint64_t number);
/* Into the file what has waited long enough, with `now` all; no file where nothing waits. */
void series_queue_save(struct series_queue *q, bool now);
/* From the file what an earlier daemon could not send. */
void series_queue_read(struct series_queue *q);
void series_queue_done(struct series_queue *q); /* unsent blocks go; files stay */

#endif
