#include "node/daemon/series_queue.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_US    INT64_C(10000000) /* what is not sent so long is kept in the file */
#define FILE_BYTES (2 * SERIES_QUEUE_BYTES + (1u << 20))

static void block_drop(struct series_queue *q, size_t i)
{
    ASSERT(i < q->block.n && q->bytes >= q->block.v[i].bytes.len);
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

/* All of it, or the file is as it was: what is behind half a block could not be read. */
static bool bytes_append(int fd, const struct str *out, size_t before)
{
    const char *at = out->data;
    size_t left = out->len;
    ssize_t n = 1;
    while (left > 0 && (n = write(fd, at, left)) > 0) {
        at += n;
        left -= (size_t)n;
    }
    if (!left)
        return true;
    int why = n < 0 ? errno : ENOSPC;
    (void)!ftruncate(fd, (off_t)before);
    errno = why;
    return false;
}

/* Those that are not in the file yet; with `all` those that wait, in a new file in its place. What
 * the disk does not take is in memory still and is tried again. */
static bool file_append(struct series_queue *q, bool all)
{
    struct str out = STR_INIT, path = STR_INIT;
    str_addf(&path, "%s%s", q->path, all ? ".new" : "");
    for (size_t i = 0; i < q->block.n; i++)
        if (all || !q->block.v[i].in_file)
            series_put(&out, &q->block.v[i].bytes);
    size_t before = all ? 0 : q->file_bytes;
    int fd = open(str_text(&path),
                  O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (all ? O_TRUNC : O_APPEND), 0600);
    bool kept = fd >= 0 && bytes_append(fd, &out, before) &&
                (!all || rename(str_text(&path), q->path) == 0);
    int why = errno;
    for (size_t i = 0; kept && i < q->block.n; i++)
        q->block.v[i].in_file = true;
    if (kept)
        q->file_bytes = before + out.len;
    else if (all)
        unlink(str_text(&path));
    if (fd >= 0)
        close(fd);
    str_done(&path);
    str_done(&out);
    errno = why;
    return kept;
}

void series_queue_save(struct series_queue *q, bool now)
{
    int64_t since = now ? INT64_MAX : clock_monotonic_us() - KEEP_US;
    bool wanted = false;
    for (size_t i = 0; i < q->block.n; i++)
        wanted |= !q->block.v[i].in_file && q->block.v[i].since_us <= since;
    bool kept = !wanted || file_append(q, q->file_bytes > FILE_BYTES);
    if (!kept && !q->full)
        log_warning(q->log,
                    "samples of jobs that wait for the controller cannot be kept in %s: %s. They "
                    "are in memory meanwhile",
                    q->path, strerror(errno));
    q->full = !kept;
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
