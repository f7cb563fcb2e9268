/* rows_writer appends frames to `buf`; when that has grown past ANSWER_MEMORY_BYTES it is appended
 * to the file and cleared. It is given in whole frames through a window, because other messages may
 * be sent between two pieces. */
#include "controller/answer.h"

#include "base/alloc.h"
#include "base/map.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (512u << 10)
#define KEEP_LEAST (64u << 10) /* in memory, whatever the others have */

/* Of one user. Answers are made on several threads. */
struct room {
    uint32_t payer;
    size_t answers;
    _Atomic size_t memory, disk;
};

struct answer_rooms {
    struct map_u64 *by_payer;
    size_t disk_most;
};

struct answer {
    char *dir;
    uint64_t seq;
    const struct fields *t; /* NULL = no rows */
    char *wanted;
    struct rows_writer *writer;
    struct str buf;    /* made and not in the file: its end */
    struct str window; /* of what is being given */
    size_t used;       /* bytes of the window that were given */
    uint64_t rows;
    size_t taken; /* bytes that rows became */
    int fd;       /* -1 = all is in memory */
    off_t file_len, file_read;
    bool too_large, unread; /* unread: because of others that nobody reads */
    struct answer_rooms *rooms;
    struct room *room;   /* NULL: nobody's */
    size_t memory, disk; /* as the room was told */
};

/* ---- rooms ---- */

struct answer_rooms *answer_rooms_new(size_t disk_most)
{
    struct answer_rooms *all = xcalloc(1, sizeof *all);
    all->by_payer = map_u64_new();
    all->disk_most = disk_most;
    return all;
}

void answer_rooms_free(struct answer_rooms *all)
{
    if (!all)
        return;
    CHECK(map_u64_count(all->by_payer) == 0);
    map_u64_free(all->by_payer);
    free(all);
}

void answer_of(struct answer *a, struct answer_rooms *all, const struct peer *peer)
{
    ASSERT(!a->room);
    uint32_t payer = peer_payer(peer);
    struct room *r = map_u64_get(all->by_payer, payer);
    if (!r) {
        r = xcalloc(1, sizeof *r);
        r->payer = payer;
        map_u64_put(all->by_payer, payer, r);
    }
    r->answers++;
    a->rooms = all;
    a->room = r;
}

/* What it has now is what the room knows of. */
static void room_tell(struct answer *a, size_t memory, size_t disk)
{
    if (!a->room)
        return;
    atomic_fetch_add(&a->room->memory, memory - a->memory);
    atomic_fetch_add(&a->room->disk, disk - a->disk);
    a->memory = memory;
    a->disk = disk;
}

static void room_note(struct answer *a)
{
    room_tell(a, a->buf.len + a->window.len, (size_t)a->file_len);
}

static void room_leave(struct answer *a)
{
    if (!a->room)
        return;
    room_tell(a, 0, 0);
    if (--a->room->answers)
        return;
    map_u64_del(a->rooms->by_payer, a->room->payer);
    free(a->room);
}

/* In memory, of rows that come. */
static size_t keep_most(const struct answer *a)
{
    return a->room && atomic_load(&a->room->memory) > ANSWERS_MEMORY_BYTES ? KEEP_LEAST
                                                                           : ANSWER_MEMORY_BYTES;
}

static bool room_is_full(const struct answer *a)
{
    return a->room && atomic_load(&a->room->disk) - a->disk > a->rooms->disk_most;
}

struct answer *answer_new(const char *dir, uint64_t seq, const struct fields *t, const char *wanted)
{
    ASSERT(dir && t);
    struct answer *a = xcalloc(1, sizeof *a);
    a->dir = xstrdup(dir);
    a->seq = seq;
    a->fd = -1;
    a->t = t;
    a->wanted = xstrdup(wanted);
    return a;
}

void answer_free(struct answer *a)
{
    if (!a)
        return;
    if (a->writer)
        rows_writer_end(a->writer);
    room_leave(a);
    if (a->fd >= 0)
        close(a->fd);
    str_done(&a->buf);
    str_done(&a->window);
    free(a->dir);
    free(a->wanted);
    free(a);
}

/* ---- making ---- */

static int nameless_file(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    char *path = xasprintf("%s/answer.XXXXXX", dir);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

/* Moves what is in memory to the file; when that fails (the disk is full) it stays in memory, up
 * to a bound. */
static void answer_spill(struct answer *a)
{
    if (a->fd < 0)
        a->fd = nameless_file(a->dir);
    size_t done = 0;
    while (a->fd >= 0 && done < a->buf.len) {
        ssize_t n = pwrite(a->fd, a->buf.data + done, a->buf.len - done, a->file_len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
        a->file_len += n;
    }
    memmove(a->buf.data, a->buf.data + done, a->buf.len - done);
    str_cut(&a->buf, a->buf.len - done);
}

/* The writer's last frame is open until it ends. */
static void writer_end(struct answer *a)
{
    if (a->writer)
        rows_writer_end(a->writer);
    a->writer = NULL;
}

/* Only why is said. */
static void rows_drop(struct answer *a)
{
    str_done(&a->buf);
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    a->file_len = 0;
    room_note(a);
}

void answer_row(struct answer *a, const void *record)
{
    ASSERT(record);
    if (a->too_large)
        return;
    if (!a->writer)
        a->writer = rows_writer_new(a->t, a->wanted, a->seq, &a->buf);
    size_t before = a->buf.len;
    rows_writer_add(a->writer, record);
    a->taken += a->buf.len - before;
    a->rows++;
    if (a->buf.len >= a->memory + KEEP_LEAST)
        room_note(a);
    if (a->buf.len < keep_most(a))
        return;
    writer_end(a);
    answer_spill(a);
    room_note(a);
    a->unread = room_is_full(a);
    a->too_large = a->unread || a->buf.len > ANSWER_BYTES_MAX;
    if (a->unread)
        rows_drop(a);
}

void answer_row_callback(void *answer, const void *record)
{
    answer_row(answer, record);
}

void answer_end(struct answer *a, enum refusal refusal, const char *detail)
{
    ASSERT(refusal < REFUSAL_COUNT);
    writer_end(a);
    struct msg_done done = {.refusal = (int32_t)refusal, .detail = detail, .count = a->rows};
    if (a->too_large) {
        done.refusal = REFUSE_BUSY;
        done.detail =
            a->unread
                ? "answers to you of more than 1 GiB wait on the controller's disk, and nobody "
                  "reads them: read them or end these commands first"
                : "the answer is too large to keep in memory and its disk is full; ask for less, "
                  "or free "
                  "space in the state directory";
    }
    struct message m = {.kind = MSG_DONE, .seq = a->seq, .body = &done};
    wire_encode(&m, &a->buf);
    if (a->fd >= 0)
        answer_spill(a);
    room_note(a);
}

const size_t *answer_taken(const struct answer *a)
{
    return &a->taken;
}

uint64_t answer_rows(const struct answer *a)
{
    return a->rows;
}

/* ---- giving ---- */

/* Frames at the start of the window, up to max; 0 if none is whole. */
static size_t whole_frames(const struct answer *a, size_t max, struct err *ret_err)
{
    size_t len = 0, have = a->window.len - a->used;
    while (len < max && len < have) {
        struct frame f;
        ssize_t n = frame_take(a->window.data + a->used + len, have - len, &f, ret_err);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    return len;
}

static void window_compact(struct answer *a)
{
    if (a->used == 0)
        return;
    memmove(a->window.data, a->window.data + a->used, a->window.len - a->used);
    str_cut(&a->window, a->window.len - a->used);
    a->used = 0;
}

/* First what the file holds, then what stayed in memory. */
static bool window_fill(struct answer *a, struct err *ret_err)
{
    window_compact(a);
    for (size_t got = 0; got < READ_BYTES && a->file_read < a->file_len;) {
        str_reserve(&a->window, READ_BYTES);
        ssize_t n = pread(a->fd, a->window.data + a->window.len, READ_BYTES - got, a->file_read);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(ret_err, ERR_UNAVAILABLE, "cannot read the answer back: %s",
                           n < 0 ? strerror(errno) : "it was cut");
        a->window.len += (size_t)n;
        a->file_read += n;
        got += (size_t)n;
    }
    if (a->file_read == a->file_len) {
        str_addn(&a->window, a->buf.data, a->buf.len);
        str_done(&a->buf);
    }
    return true;
}

bool answer_next(struct answer *a, size_t max, const char **ret_data, size_t *ret_len,
                 struct err *ret_err)
{
    ASSERT(max > 0);
    while ((*ret_len = whole_frames(a, max, ret_err)) == 0) {
        if (a->file_read == a->file_len && a->buf.len == 0)
            return false;
        if (!window_fill(a, ret_err))
            return false;
    }
    room_note(a);
    *ret_data = a->window.data + a->used;
    a->used += *ret_len;
    return true;
}
