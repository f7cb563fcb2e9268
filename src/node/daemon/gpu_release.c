/* An administrator who resets a GPU or changes its instances needs every process gone that has the
 * devices open, also the daemon's own. `remuda gpus release` on the node leaves a file in the
 * node's directory that says who and when, and sends SIGUSR1; the daemon ends its process and adds
 * a line that says so. The file stands over restarts, until `remuda gpus resume`. A daemon of an
 * earlier release would be ended by the signal: this one says in a file of its own that it is
 * not. */
#include "io/files.h"
#include "io/log.h"
#include "model/protocol.h"
#include "node/daemon/daemon.h"
#include "node/hardware/gpu_watch.h"

#include <stdio.h>
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

void node_gpus_release(void *ctx)
{
    struct node_daemon *d = ctx;
    char path[4352], who[128] = "", why[256];
    snprintf(path, sizeof path, "%s/nodes/%s/gpus-released", d->options.state_dir, d->options.name);
    FILE *f = fopen(path, "r+e");
    if (!f) {
        bool was_released = gpu_watch_is_released(d->gpus);
        gpu_watch_resume(d->gpus);
        if (was_released) /* they may be others */
            node_devices_find(d, false, NULL);
        return;
    }
    if (fgets(who, sizeof who, f))
        who[strcspn(who, "\n")] = '\0';
    snprintf(why, sizeof why, "released %s, `remuda gpus resume` on that node takes them up again",
             who);
    gpu_watch_release(d->gpus, why);
    log_info(d->log, "the GPUs are let go of: %s", why);
    if (fseek(f, 0, SEEK_END) == 0)
        fputs("let go\n", f);
    fclose(f);
}
