#include "controller/site/place.h"

#include "base/alloc.h"
#include "io/client/client.h"
#include "io/log.h"
#include "io/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LOOK_US 5000000 /* half of what commands wait for a controller that is away */

struct place_watch {
    struct controller *c;
    struct pid_file *lock;
    bool (*listen)(struct controller *c, struct err *ret_err);
    const char *socket; /* the arena's */
    struct timer *timer;
};

static void socket_keep(struct place_watch *p)
{
    struct controller *c = p->c;
    struct stat st;
    struct err err = {0};
    if (lstat(p->socket, &st) == 0 || errno != ENOENT)
        return;
    if (p->listen(c, &err))
        log_warning(c->log, "%s was removed: it is there again", p->socket);
    else
        log_error(c->log, "%s was removed: %s", p->socket, err.text);
}

static void look(void *ctx)
{
    struct place_watch *p = ctx;
    struct controller *c = p->c;
    struct err err = {0};
    if (c->stopping)
        return;
    if (pid_file_dir_gone(p->lock)) {
        log_error(c->log, "%s was removed, and the store with it", c->state_dir);
        controller_stop(c);
        return;
    }
    if (pid_file_keep(p->lock, &err))
        log_warning(c->log, "%s was removed: it is there again", p->lock->path);
    else if (err.code)
        log_error(c->log, "%s", err.text);
    socket_keep(p);
    timer_set(p->timer, LOOK_US);
}

struct place_watch *place_watch_new(struct controller *c, struct pid_file *lock,
                                    bool (*listen)(struct controller *c, struct err *ret_err))
{
    struct place_watch *p = xcalloc(1, sizeof *p);
    *p = (struct place_watch){.c = c, .lock = lock, .listen = listen};
    p->socket = state_socket_path(c->state_dir, c->arena);
    p->timer = timer_new(c->loop, look, p);
    timer_set(p->timer, LOOK_US);
    return p;
}

void place_watch_free(struct place_watch *p)
{
    if (!p)
        return;
    timer_free(p->timer);
    free(p);
}
