#include "controller/disk/writer.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define HOLD_PAGES 32000 /* 125 MiB */
#define ROOM_PAGES 1000  /* 4 MiB: from there on it must fit on the disk once more */
#define PAGE_BYTES 4096
#define REST_PAGES 256000 /* 1 GiB: while it rests */
#define REST_US    USEC_PER_MIN
#define REST_TIMES 10 /* as long as readers were held */

struct writer {
    char *path;          /* NULL: of an open store (writer_of) */
    struct store *store; /* NULL = not open */
    uint64_t epoch;
    atomic_bool open, holds;
    pthread_mutex_t gate; /* either somebody reads it as it stood, or it is opened */
    size_t still;         /* readings at work that take it for a file nobody writes to */
    uint64_t read_seq;    /* while it is not open: what was read of the store */
    size_t left_pages;    /* of the log, when it was to be cut off last */
    int64_t held_us, rest_until_us;
};

struct writer *writer_new(const char *path)
{
    struct writer *w = xcalloc(1, sizeof *w);
    pthread_mutex_init(&w->gate, NULL);
    w->path = xstrdup(path);
    return w;
}

struct writer *writer_of(struct store *s, uint64_t epoch)
{
    ASSERT(s);
    struct writer *w = xcalloc(1, sizeof *w);
    pthread_mutex_init(&w->gate, NULL);
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
    pthread_mutex_destroy(&w->gate);
    free(w->path);
    free(w);
}

/* What filled the disk may be the log of the very store that was read (`read_seq`; NULL = not yet):
 * then it may be copied. ERR_DENIED: it is not any more what was read. */
static bool open_again(struct writer *w, const uint64_t *read_seq, uint64_t *ret_seq,
                       struct err *ret_err)
{
    struct store *s = store_open_sqlite(w->path, false, ret_err);
    bool took = s && store_take_epoch(s, &w->epoch, ret_seq, ret_err);
    bool same = took && (!read_seq || *ret_seq == *read_seq);
    if (took && !same)
        err_set(ret_err, ERR_DENIED, "%s was written to meanwhile", w->path);
    if (!same && s)
        store_close(s);
    if (!took && read_seq)
        store_log_free(w->path, *read_seq);
    if (!same)
        return false;
    w->store = s;
    w->open = true;
    return true;
}

bool writer_still_begin(struct writer *w)
{
    pthread_mutex_lock(&w->gate);
    bool still = !w->open;
    w->still += still;
    pthread_mutex_unlock(&w->gate);
    return still;
}

void writer_still_end(struct writer *w)
{
    pthread_mutex_lock(&w->gate);
    ASSERT(w->still > 0);
    w->still--;
    pthread_mutex_unlock(&w->gate);
}

bool writer_open(struct writer *w, uint64_t *ret_seq, struct err *ret_err)
{
    return open_again(w, NULL, ret_seq, ret_err);
}

bool writer_is_open(const struct writer *w)
{
    return w->open;
}

/* All of it may be new to the store, which then grows by as much. */
static bool has_room(const struct writer *w, size_t pages)
{
    struct statvfs disk;
    return pages < ROOM_PAGES || !w->path || statvfs(w->path, &disk) != 0 ||
           (double)disk.f_bavail * (double)disk.f_frsize >= (double)pages * PAGE_BYTES;
}

/* Unless it was to be cut off a short time ago and is not much longer: `more` pages. */
static void hold(struct writer *w, int64_t now_us, size_t pages, size_t more)
{
    if (w->holds || (pages <= more && now_us < w->rest_until_us))
        return;
    w->held_us = now_us;
    w->holds = true;
}

/* It is what is to go where the disk has no room for another commit, however short it is, or will
 * have none for what it holds: neither could be done any more. Where it has, everybody who reads
 * rests from waiting also when it was cut off: who always has one long reading at work would make
 * all others wait again and again. */
static void log_look(struct writer *w, bool committed)
{
    size_t pages = store_log_pages(w->store), more = 2 * w->left_pages;
    int64_t now_us = clock_monotonic_us();
    bool room = committed && has_room(w, pages);
    if (!pages || w->holds || (room && pages < HOLD_PAGES))
        return;
    if (room && more < REST_PAGES)
        more = REST_PAGES;
    hold(w, now_us, pages, more);
}

/* What the batch changes was read before. Readings hold a log that nobody could open, too; and who
 * reads a file for one that nobody writes to would read what was copied into it meanwhile. */
static bool open_for(struct writer *w, const struct batch *b, struct err *ret_err)
{
    uint64_t seq;
    w->read_seq = b->seq - b->gap - 1;
    pthread_mutex_lock(&w->gate);
    bool done = w->still
                    ? err_set(ret_err, ERR_UNAVAILABLE, "%s is being read as it stood", w->path)
                    : open_again(w, &w->read_seq, &seq, ret_err);
    pthread_mutex_unlock(&w->gate);
    if (!done)
        hold(w, clock_monotonic_us(), 0, 0);
    return done;
}

/* A handle that reads a log it may not change keeps those of the same process from writing: while
 * nobody reads, and the log is free, it is the time to open it. Why it is not is for the next
 * commit to say. */
static void open_alone(struct writer *w)
{
    struct err err = {0};
    uint64_t seq;
    pthread_mutex_lock(&w->gate);
    if (!w->still) {
        store_log_free(w->path, w->read_seq);
        open_again(w, &w->read_seq, &seq, &err);
    }
    pthread_mutex_unlock(&w->gate);
}

bool writer_commit(struct writer *w, struct batch *b, struct err *ret_err)
{
    ASSERT(b);
    if (!w->open && !open_for(w, b, ret_err))
        return false;
    b->epoch = w->epoch;
    bool done = b->n == 0 || store_commit(w->store, b, ret_err);
    log_look(w, done);
    return done;
}

bool writer_holds(const struct writer *w)
{
    return w->holds;
}

/* A store that is away is not to stay so for long because it is read: it may have healed. */
static int64_t rest_us(const struct writer *w, int64_t many_us)
{
    if (w->store)
        return REST_US + many_us;
    return many_us < REST_US ? many_us : REST_US;
}

void writer_shorten(struct writer *w)
{
    int64_t now_us = clock_monotonic_us(), held = w->holds ? now_us - w->held_us : 0;
    if (w->store)
        store_log_shorten(w->store);
    else
        open_alone(w);
    w->left_pages = w->store ? store_log_pages(w->store) : 0;
    w->rest_until_us = now_us + rest_us(w, REST_TIMES * held);
    w->holds = false;
}

bool writer_pack(struct writer *w, struct err *ret_err)
{
    return !w->store || store_pack(w->store, ret_err);
}

struct store *writer_store(struct writer *w)
{
    return w->store;
}
