#include "controller/disk/writer.h"

#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>

struct writer {
    char *path;
    struct store *store; /* NULL = not open */
    uint64_t epoch;
    atomic_bool open;
};

struct writer *writer_new(const char *path)
{
    struct writer *w = xcalloc(1, sizeof *w);
    w->path = xstrdup(path);
    return w;
}

struct writer *writer_of(struct store *s, uint64_t epoch)
{
    ASSERT(s);
    struct writer *w = xcalloc(1, sizeof *w);
    w->store = s;
    w->epoch = epoch;
    w->open = true;
    return w;
}

void writer_free(struct writer *w)
{
    if (!w)
        return;
    if (w->store)
        store_close(w->store);
    free(w->path);
    free(w);
}

/* What filled the disk may be the log of the very store that was read (`read_seq`; NULL = not yet):
 * then it may be copied. */
static bool open_again(struct writer *w, const uint64_t *read_seq, uint64_t *ret_seq,
                       struct err *ret_err)
{
    uint64_t last;
    struct store *s = store_open_sqlite(w->path, false, ret_err);
    if (!s)
        return false;
    if (!store_take_epoch(s, &w->epoch, ret_seq, ret_err)) {
        if (read_seq && store_last(s, &last, NULL) && last == *read_seq)
            store_log_shorten(s);
        store_close(s);
        return false;
    }
    w->store = s;
    w->open = true;
    return true;
}

bool writer_open(struct writer *w, uint64_t *ret_seq, struct err *ret_err)
{
    return open_again(w, NULL, ret_seq, ret_err);
}

bool writer_is_open(const struct writer *w)
{
    return w->open;
}

/* What the batch changes was read before. */
static bool open_for(struct writer *w, const struct batch *b, struct err *ret_err)
{
    uint64_t seq, read_seq = b->seq - 1;
    if (!open_again(w, &read_seq, &seq, ret_err))
        return false;
    return seq + 1 == b->seq ||
           err_set(ret_err, ERR_DENIED, "%s was written to meanwhile", w->path);
}

bool writer_commit(struct writer *w, struct batch *b, struct err *ret_err)
{
    ASSERT(b);
    if (!w->open && !open_for(w, b, ret_err))
        return false;
    b->epoch = w->epoch;
    return store_commit(w->store, b, ret_err);
}

bool writer_pack(struct writer *w, struct err *ret_err)
{
    return !w->store || store_pack(w->store, ret_err);
}

struct store *writer_store(struct writer *w)
{
    return w->store;
}
