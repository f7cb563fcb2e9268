/* A process of its own that keeps the GPUs' libraries open for the node daemon: vendors' libraries
 * start threads, hang when a device is lost, and sometimes crash. It looks at devices when it is
 * asked to, and tells by itself when one breaks. It ends with the daemon, and is started again if
 * it ends before. */
#ifndef REMUDA_NODE_HARDWARE_GPU_WATCH_H
#define REMUDA_NODE_HARDWARE_GPU_WATCH_H

#include "agent/agent.h"
#include "io/log.h"
#include "io/loop.h"
#include "node/hardware/gpu_killed.h"

#include <sys/types.h>

struct gpu_watch; /* opaque */

struct gpu_watch_ops {
    void (*looked)(void *ctx, const struct device_seen *seen,
                   size_t n); /* the answer to a look: one row for each device that was asked for */
    /* A device shows by itself how it is. */
    void (*sign)(void *ctx, const struct device_seen *seen);
    /* The libraries and their versions, when they are open: "NVML 12.560.35.03, driver
     * 560.35.03". */
    void (*library)(void *ctx, const char *text);
    /* Every second: what steps use of the GPUs, and what these do; util_known: how busy they are
     * can be told. */
    void (*used)(void *ctx, const struct gpu_used *used, size_t n, const struct gpu_now *gpus,
                 size_t ngpus, bool util_known);
    /* What gpu_watch_sample asked for, of one device: "NUMBER:VALUE …" (model/record/series.h). */
    void (*sampled)(void *ctx, int32_t index, struct span values);
    int64_t answer_us;  /* so long a look may take; 0 = 15 s */
    int64_t start_us;   /* so long nothing may be heard of a process that is starting; 0 = 120 s */
    int64_t restart_us; /* so long after its end the process is started again; 0 = 5 s */
};

/* `devices` as model/grammar/gres.h writes them, `files` as machine.device_files (NULL = not
 * known). Nothing is started before the first look. */
struct gpu_watch *gpu_watch_new(struct loop *l, struct log *log, const char *devices,
                                const char *files, const struct gpu_watch_ops *ops, void *ctx);
void gpu_watch_free(struct gpu_watch *w); /* NULL is fine */
/* Where the node's steps have their directories: said to the process when it begins. */
void gpu_watch_steps_at(struct gpu_watch *w, const char *dir);
/* The node hides GPUs from steps; the users that have some here. */
struct gpu_apart {
    const uint32_t *user;
    size_t n; /* of `user` */
};
/* Answered once, soon, even if the devices do not answer: then they are unknown (DEVICE_BLIND).
 * Only one at a time. `apart` NULL: steps can open the files of all GPUs, whatever the looks say.
 */
void gpu_watch_look(struct gpu_watch *w, const struct device_look *look, size_t n,
                    const struct gpu_apart *apart);

/* Asks what these devices (bit n: number n) do now; nothing is answered of those that cannot be
 * asked, or while the process is not there or at work. */
void gpu_watch_sample(struct gpu_watch *w, uint64_t devices);

/* Kills the process, so that nothing here has the devices open once it is gone, and starts none
 * until gpu_watch_resume; meanwhile `why` is what is said of each. */
void gpu_watch_release(struct gpu_watch *w, const char *why);
/* After a release: the process is begun anew, and what hung is tried again. Nothing where it was
 * not released. */
void gpu_watch_resume(struct gpu_watch *w);
/* No helper is to run, since gpu_watch_release. */
bool gpu_watch_is_released(const struct gpu_watch *w);
/* Those that it killed, and others that had the devices open: the caller may add to them. The
 * watch's own. */
struct gpu_killed *gpu_watch_killed(const struct gpu_watch *w);
/* These are the devices from now on: the process is started anew with them. */
void gpu_watch_devices(struct gpu_watch *w, const char *devices, const char *files);

/* The process itself: `remudad node --watch-gpus`, with descriptor 3 to the daemon. */
int gpu_watch_main(void);

#endif
