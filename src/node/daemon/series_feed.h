/* Series of what runs here (model/record/series.h): takes samples from shepherds and from the
 * process that watches the GPUs, makes blocks of them, and sends these to the controller until it
 * has them on its disk. What it cannot send it keeps, SERIES_QUEUE_BYTES of it, after some seconds
 * in NODE_DIR/series.unsent, from where the next daemon takes it; then the oldest goes. */
#ifndef REMUDA_NODE_DAEMON_SERIES_FEED_H
#define REMUDA_NODE_DAEMON_SERIES_FEED_H

#include "base/str.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/net/link.h"
#include "node/hardware/gpu_watch.h"

struct series_feed; /* opaque */

/* `gpus` is asked for samples of the devices of steps that are sampled; NULL = there are none. */
struct series_feed *series_feed_new(struct loop *l, struct log *log, const char *node,
                                    const char *node_dir, struct gpu_watch *gpus);
void series_feed_free(struct series_feed *f); /* what is not sent is kept; NULL is fine */
/* "type uuid" of the device of that number is its name from now on. */
void series_feed_devices(struct series_feed *f, const char *devices);

/* A shepherd's line (shepherd/watch/series.h) without its first word. */
void series_feed_line(struct series_feed *f, struct span line, bool gpus_too);
/* What gpu_watch_sample asked for. */
void series_feed_sampled(struct series_feed *f, int32_t index, struct span values);

/* The controller takes series from now on by this link; NULL: not any more. */
void series_feed_link(struct series_feed *f, struct link *k);
/* The frame of that number is on its disk. */
void series_feed_kept(struct series_feed *f, uint64_t number);

#endif
