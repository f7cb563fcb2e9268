/* An administrator who resets a GPU or changes its instances needs every process gone that has the
 * devices open, also the daemon's own. `remuda gpus release` on the node leaves a file in the
 * node's directory that says who and when, and sends SIGUSR1; the daemon kills its processes and,
 * when they are gone, adds a line that says so. A process that the driver keeps has the devices
 * open still: which it is, is a line too. The file stands over restarts, until `remuda gpus
 * resume`. A daemon of an earlier release would be ended by the signal: this one says in a file of
 * its own that it is not. */
#include "base/alloc.h"
#include "io/files.h"
#include "io/log.h"
#include "io/process/spawn.h"
#include "model/protocol.h"
#include "node/daemon/daemon.h"
#include "node/hardware/gpu_time.h"
#include "node/hardware/gpu_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void node_gpus_releasable(const struct node_daemon *d)
{
    struct err err = {0};
    char text[64];
    const char *path =
        arena_printf(d->arena, "%s/nodes/%s/protocol", d->options.state_dir, d->options.name);
    int n = snprintf(text, sizeof text, "%ld %d\n", (long)getpid(), PROTOCOL_NOW);
    if (!file_write_atomic(path, text, (size_t)n, 0644, &err))
        log_error(d->log, "%s", err.text);
}

#define LATE_US  INT64_C(15000000)
#define TOLD_MAX 16

struct gpu_letting {
    struct node_daemon *d;
    struct timer *late;
};

static const char *file_path(const struct node_daemon *d, char path[4352])
{
    snprintf(path, 4352, "%s/nodes/%s/gpus-released", d->options.state_dir, d->options.name);
    return path;
}

/* Nothing where it was taken away since. */
static void line_add(const struct node_daemon *d, const char *line)
{
    char path[4352];
    FILE *f = fopen(file_path(d, path), "r+e");
    if (f && fseek(f, 0, SEEK_END) == 0)
        fprintf(f, "%s\n", line);
    if (f)
        fclose(f);
}

void node_gpus_release_end(struct node_daemon *d)
{
    struct gpu_letting *l = d->letting;
    if (!l)
        return;
    gpu_killed_on_none(gpu_watch_killed(d->gpus), NULL, NULL);
    timer_free(l->late);
    free(l);
    d->letting = NULL;
}

static void all_gone(void *ctx)
{
    struct node_daemon *d = ctx;
    node_gpus_release_end(d);
    line_add(d, "let go");
}

static void late(void *ctx)
{
    const struct gpu_letting *l = ctx;
    pid_t pid[TOLD_MAX];
    char line[96];
    size_t n = gpu_killed_pids(gpu_watch_killed(l->d->gpus), pid, TOLD_MAX);
    for (size_t i = 0; i < n; i++) {
        snprintf(line, sizeof line, "process %ld still has them open", (long)pid[i]);
        log_error(l->d->log, "the GPUs are not let go of: %s", line);
        line_add(l->d, line);
    }
}

static void release(struct node_daemon *d, const char *why)
{
    struct gpu_killed *killed = gpu_watch_killed(d->gpus);
    pid_t finds = d->find ? spawn_pid(d->find) : 0;
    gpu_watch_release(d->gpus, why);
    log_info(d->log, "the GPUs are let go of: %s", why);
    if (d->find) {
        spawn_free(d->find);
        gpu_killed_add(killed, finds);
    }
    d->find = NULL;
    d->find_again = false;
    if (gpu_killed_left(killed) == 0) {
        node_gpus_release_end(d);
        line_add(d, "let go");
        return;
    }
    if (!d->letting) {
        d->letting = xcalloc(1, sizeof *d->letting);
        *d->letting = (struct gpu_letting){d, timer_new(d->loop, late, d->letting)};
    }
    gpu_killed_on_none(killed, all_gone, d);
    timer_set(d->letting->late, gpu_time(LATE_US));
}

void node_gpus_release(void *ctx)
{
    struct node_daemon *d = ctx;
    char path[4352], who[128] = "", why[256];
    FILE *f = fopen(file_path(d, path), "re");
    if (!f) {
        bool was_released = gpu_watch_is_released(d->gpus);
        node_gpus_release_end(d);
        gpu_watch_resume(d->gpus);
        if (was_released) /* they may be others */
            node_devices_find(d, false, NULL);
        return;
    }
    if (fgets(who, sizeof who, f))
        who[strcspn(who, "\n")] = '\0';
    fclose(f);
    snprintf(why, sizeof why, "released %s, `remuda gpus resume` on that node takes them up again",
             who);
    release(d, why);
}
