/* Two connections as one: what comes on one end goes on at the other, each as fast as the other
 * takes it. When an end goes, the other is closed. */
#ifndef REMUDA_IO_SPLICE_H
#define REMUDA_IO_SPLICE_H

#include "io/net/conn.h"

enum splice_end { SPLICE_NEAR, SPLICE_FAR };

struct splice;

struct splice_ops {
    /* Before a frame goes on; may be NULL. */
    void (*frame)(struct splice *s, enum splice_end from, const struct frame *f);
    /* An end is gone; the other, if it is there, may be told something before it is closed. May be
     * NULL. */
    void (*gone)(struct splice *s, enum splice_end which, const struct err *why);
    /* Both are gone, and nothing of the splice is used any more: frees it. */
    void (*over)(struct splice *s);
    void (*close)(
        struct conn
            *c); /* how the other end is closed: conn_close, or conn_finish for who may take long */
};

/* Usually the first member of something larger. The ends are made by its owner, with
 * splice_conn_ops and the splice as their ctx, and put in here. */
struct splice {
    const struct splice_ops *ops;
    struct conn *end[2]; /* NULL = not there yet, or gone */
};

extern const struct conn_ops splice_conn_ops;
/* The same for bytes of which nothing need be known: splice_ops.frame is not called, and nothing
 * waits for the rest of a frame. */
extern const struct conn_ops splice_raw_conn_ops;

#endif
