#include "node/daemon/series_queue.h"

#include "base/arena.h"
#include "io/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_US    INT64_C(10000000) /* what is not sent so long is kept in the file */
#define FILE_BYTES (2 * SERIES_QUEUE_BYTES + (1u << 20))

static void block_drop(struct series_queue *q, size_t i)
{
    q->bytes -= q->block.v[i].bytes.len;
    str_done(&q->block.v[i].bytes);
    vec_remove(&q->block, i);
}

/* Those that a whole block makes superfluous. */
static void pieces_drop(struct series_queue *q, const struct series_head *whole)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->block.n; i++) {
        struct waiting_block *b = &q->block.v[i];
        if (!b->head.whole && b->number == 0 && b->head.first_ms >= whole->first_ms &&
            b->head.last_ms <= whole->last_ms &&
            series_key_compare(&b->head.key, &whole->key) == 0) {
            q->bytes -= b->bytes.len;
            str_done(&b->bytes);
            continue;
        }
        q->block.v[kept++] = *b;
    }
    q->block.n = kept;
}

void series_queue_bound(struct series_queue *q)
{
    size_t gone = 0, at = 0;
    while (q->bytes > SERIES_QUEUE_BYTES && at < q->block.n) {
        if (q->block.v[at].number) {
            at++;
            continue;
        }
        block_drop(q, at);
        gone++;
    }
    if (gone && !q->drops)
        log_warning(q->log, "samples of jobs wait for the controller, and there is no more room "
                            "for them: the oldest go");
    q->drops |= gone > 0;
}

void series_queue_add(struct series_queue *q, const char *bytes, size_t len, bool in_file)
{
    struct waiting_block b = {.since_us = clock_monotonic_us(), .in_file = in_file};
    if (!series_head_read(bytes, len, &b.head, NULL))
        return;
    if (b.head.whole)
        pieces_drop(q, &b.head);
    str_addn(&b.bytes, bytes, len);
    q->bytes += len;
    vec_push(&q->block, b);
}

void series_queue_sent(struct series_queue *q, uint64_t number)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->block.n; i++) {
        struct waiting_block *b = &q->block.v[i];
        if (b->number == number) {
            q->bytes -= b->bytes.len;
            str_done(&b->bytes);
            continue;
        }
        q->block.v[kept++] = *b;
    }
    q->block.n = kept;
    q->drops = false;
}

static void file_append(struct series_queue *q, bool all)
{
    int fd = open(q->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (all ? O_TRUNC : O_APPEND),
                  0600);
    struct str out = STR_INIT;
    for (size_t i = 0; i < q->block.n; i++) {
        struct waiting_block *b = &q->block.v[i];
        if (all || !b->in_file)
            series_put(&out, &b->bytes);
        b->in_file = true;
    }
    q->file_bytes = out.len + (all ? 0 : q->file_bytes);
    const char *at = out.data;
    for (ssize_t n = 1; fd >= 0 && n > 0 && out.len > 0;) {
        n = write(fd, at, out.len); /* a full disk: they are in memory still */
        at += n > 0 ? n : 0;
        out.len -= n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    str_done(&out);
}

void series_queue_save(struct series_queue *q, bool now)
{
    int64_t since = now ? INT64_MAX : clock_monotonic_us() - KEEP_US;
    bool wanted = false;
    for (size_t i = 0; i < q->block.n; i++)
        wanted |= !q->block.v[i].in_file && q->block.v[i].since_us <= since;
    if (wanted)
        file_append(q, q->file_bytes > FILE_BYTES);
    if (q->block.n == 0 && q->file_bytes) {
        unlink(q->path);
        q->file_bytes = 0;
    }
}

void series_queue_read(struct series_queue *q)
{
    struct arena *a = arena_new();
    struct span block;
    int fd = open(q->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= 2 * FILE_BYTES) {
        char *text = arena_alloc(a, (size_t)st.st_size);
        ssize_t got = read(fd, text, (size_t)st.st_size);
        const char *at = text;
        size_t left = got > 0 ? (size_t)got : 0;
        while (series_next(&at, &left, &block))
            series_queue_add(q, block.data, block.len, true);
        q->file_bytes = (size_t)st.st_size;
        series_queue_bound(q);
        if (q->block.n)
            log_info(q->log, "%zu blocks of samples are to be sent still", q->block.n);
    }
    if (fd >= 0)
        close(fd);
    arena_free(a);
}

void series_queue_done(struct series_queue *q)
{
    while (q->block.n)
        block_drop(q, q->block.n - 1);
    vec_done(&q->block);
    free(q->path);
}
