/* A handle that reads the store beside its writer; of one thread. While there is no writer
 * (writer.h) each reading opens it anew: how it may be read changes when the writer comes. */
#ifndef REMUDA_CONTROLLER_READER_H
#define REMUDA_CONTROLLER_READER_H

#include "controller/disk/writer.h"

struct reader {
    const char *path;      /* of the store; borrowed */
    struct writer *writer; /* whose epoch it must be; borrowed */
    struct store *store;   /* NULL = not open */
    bool still;            /* a whole answer sees one moment */
};

/* The store, open; NULL with ret_err. */
struct store *reader_begin(struct reader *r, struct err *ret_err);
/* After each reading. The store stays open for the next, unless there is none to write to: then it
 * was opened as it stood. */
void reader_end(struct reader *r);
void reader_done(struct reader *r); /* closes the handle, if one is open */

#endif
