#include "controller/disk/reader.h"

#include "base/alloc.h"

#include <time.h>

#define TRIES 5 /* the writer may be trying to open it just now */

static struct store *still_open(const char *path, struct err *ret_err)
{
    struct store *s = NULL;
    for (int i = 0; i < TRIES && !s; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        s = store_open_still(path, ret_err);
    }
    return s;
}

struct store *reader_begin(struct reader *r, struct err *ret_err)
{
    ASSERT(r->path && r->writer);
    r->still = writer_still_begin(r->writer);
    if (r->still)
        r->store = still_open(r->path, ret_err);
    else if (!r->store)
        r->store = store_open_sqlite(r->path, true, ret_err);
    if (!r->store)
        reader_end(r);
    return r->store;
}

void reader_end(struct reader *r)
{
    if (!r->still)
        return;
    r->still = false;
    reader_done(r);
    writer_still_end(r->writer);
}

void reader_done(struct reader *r)
{
    if (r->store)
        store_close(r->store);
    r->store = NULL;
}
