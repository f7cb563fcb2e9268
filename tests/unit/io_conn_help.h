/* Two ends of a connection on one loop. */
#ifndef REMUDA_TESTS_IO_CONN_HELP_H
#define REMUDA_TESTS_IO_CONN_HELP_H

#include "io_help.h"

#include "io/client/client.h"
#include "io/net/conn.h"
#include "io/net/link.h"
#include "io/net/listen.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- one end is a conn, the other a plain socket
 * -------------------------------------------------------------------- */

struct side {
    struct world *world;
    struct conn *conn;
    int peer; /* the plain end */
    int frames, closed, drained, garbage;
    int stop_at; /* frames after which the loop stops */
    uint64_t last_id;
    struct err why;
    bool pause_each;
};

static inline uint64_t frame_job_id(struct world *w, const struct frame *f)
{
    struct message m;
    struct err err = {0};
    if (!wire_decode(f, w->arena, &m, &err))
        fail_msg("%s", err.text);
    assert_int_equal(m.kind, MSG_WAIT_JOB);
    return ((const struct msg_wait_job *)m.body)->job_id;
}

static inline void side_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct side *s = ctx;
    (void)c;
    s->closed++;
    s->why = *why;
    loop_stop(s->world->loop);
}

#endif
