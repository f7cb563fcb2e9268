#include "store/file/pages.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_HEAD       100u
#define FILE_CHANGES    24u /* in the head: how many there were; */
#define FILE_PAGES      28u /* pages, if that was written */
#define FILE_VALID_FOR  92u /* at that change */
#define LOG_HEAD        32u
#define FRAME_HEAD      24u
#define USUAL_SIZE      4096u /* what SQLite makes since 2016, and so all of ours */
#define LOG_MAGIC       UINT32_C(0x377f0682)
#define PAYLOAD_MAX     (256u << 20) /* more than any row of ours */
#define TYPE_FIRST_TEXT 12

struct pages {
    int fd, log;
    size_t size, usable;
    uint32_t count, in_file;
    bool log_cut;
    struct map_u64 *frame; /* page → place of its newest image in the log, plus 1 */
};

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static bool size_is_good(size_t size)
{
    return size >= 512 && size <= PAGE_SIZE_MAX && (size & (size - 1)) == 0;
}

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
    size_t got = 0;
    while (got < len) {
        ssize_t n = pread(fd, (char *)to + got, len - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* ---- the log ---- */

struct log_read {
    struct pages *p;
    uint8_t *data;
    bool big; /* its sums are of big-endian words */
    uint32_t salt[2];
    uint32_t sum[2]; /* of the frame before, as that says itself */
    bool sum_known;
};

static void sum_add(const struct log_read *r, const uint8_t *data, size_t len, uint32_t sum[2])
{
    for (size_t i = 0; i + 8 <= len; i += 8) {
        uint32_t a = get32(data + i), b = get32(data + i + 4);
        sum[0] += (r->big ? a : __builtin_bswap32(a)) + sum[1];
        sum[1] += (r->big ? b : __builtin_bswap32(b)) + sum[0];
    }
}

/* A frame is good if its sum follows from what the one before says of itself: so one that was
 * damaged costs itself and, at most, the next. */
static bool frame_is_good(struct log_read *r, const uint8_t *head)
{
    uint32_t sum[2] = {r->sum[0], r->sum[1]};
    bool known = r->sum_known && get32(head + 8) == r->salt[0] && get32(head + 12) == r->salt[1];
    sum_add(r, head, 8, sum);
    sum_add(r, r->data, r->p->size, sum);
    r->sum[0] = get32(head + 16);
    r->sum[1] = get32(head + 20);
    r->sum_known = true;
    return known && sum[0] == r->sum[0] && sum[1] == r->sum[1];
}

/* What the log's own head says; where that is lost, its first frame has the salts. */
static bool log_begin(struct log_read *r)
{
    uint8_t head[LOG_HEAD], first[FRAME_HEAD];
    struct pages *p = r->p;
    if (!read_at(p->log, head, sizeof head, 0))
        return false;
    size_t size = get32(head + 8);
    bool good = (get32(head) & ~1u) == LOG_MAGIC && size_is_good(size) && size == p->size;
    r->big = good && get32(head) & 1;
    if (good) {
        sum_add(r, head, 24, r->sum);
        good = r->sum[0] == get32(head + 24) && r->sum[1] == get32(head + 28);
        memcpy(r->salt, (uint32_t[]){get32(head + 16), get32(head + 20)}, sizeof r->salt);
    }
    if (!good && !read_at(p->log, first, sizeof first, LOG_HEAD))
        return false;
    if (!good)
        memcpy(r->salt, (uint32_t[]){get32(first + 8), get32(first + 12)}, sizeof r->salt);
    r->sum_known = good;
    return true;
}

/* Frames count up to the last that ends a commit. */
static void log_take(struct pages *p)
{
    struct log_read r = {.p = p, .data = xmalloc(PAGE_SIZE_MAX)};
    struct map_u64 *open = map_u64_new();
    uint8_t head[FRAME_HEAD];
    bool ok = log_begin(&r), broken = !r.sum_known;
    for (uint64_t i = 0; ok; i++) {
        uint64_t at = LOG_HEAD + i * (FRAME_HEAD + p->size);
        if (!read_at(p->log, head, sizeof head, at) ||
            !read_at(p->log, r.data, p->size, at + FRAME_HEAD))
            break;
        bool good = frame_is_good(&r, head) && get32(head) != 0;
        broken |= !good;
        if (!good)
            continue;
        p->log_cut |= broken && get32(head + 4);
        /* A place is a number, not a pointer: none is ever followed. */
        map_u64_put(open, get32(head),
                    (void *)(uintptr_t)(i + 1)); // NOLINT(performance-no-int-to-ptr)
        struct map_walk w = {0};
        while (get32(head + 4) && map_u64_next(open, &w)) {
            map_u64_put(p->frame, w.key, w.value);
            p->count = w.key > p->count ? (uint32_t)w.key : p->count;
            map_u64_del(open, w.key);
        }
    }
    map_u64_free(open);
    free(r.data);
}

/* ---- the file ---- */

static void log_open(struct pages *p, const char *path)
{
    struct str name = STR_INIT;
    char *real = realpath(path, NULL); /* a log lies where a link leads to */
    str_addf(&name, "%s-wal", real ? real : path);
    p->log = open(str_text(&name), O_RDONLY | O_CLOEXEC);
    str_done(&name);
    free(real);
    if (p->log >= 0)
        log_take(p);
}

struct pages *pages_open(const char *path, bool use_log, struct err *ret_err)
{
    uint8_t head[FILE_HEAD] = {0};
    struct stat st;
    struct pages *p = xcalloc(1, sizeof *p);
    *p = (struct pages){
        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .log = -1, .frame = map_u64_new()};
    bool there = p->fd >= 0 && fstat(p->fd, &st) == 0;
    if (!there || !S_ISREG(st.st_mode)) {
        err_set(ret_err, ERR_UNAVAILABLE, "cannot read %s: %s", path,
                there ? "it is no file" : strerrordesc_np(errno));
        pages_close(p);
        return NULL;
    }
    bool known = read_at(p->fd, head, sizeof head, 0) && memcmp(head, "SQLite format 3", 16) == 0;
    p->size = known ? get16(head + 16) : USUAL_SIZE;
    p->size = p->size == 1 ? PAGE_SIZE_MAX : p->size;
    if (!size_is_good(p->size))
        p->size = USUAL_SIZE;
    p->usable = p->size - (known && head[20] < 32 ? head[20] : 0);
    p->count = p->in_file = (uint32_t)((uint64_t)st.st_size / p->size);
    if (use_log)
        log_open(p, path);
    return p;
}

void pages_close(struct pages *p)
{
    if (p->fd >= 0)
        close(p->fd);
    if (p->log >= 0)
        close(p->log);
    map_u64_free(p->frame);
    free(p);
}

uint32_t pages_count(const struct pages *p)
{
    return p->count;
}

bool pages_log_is_cut(const struct pages *p)
{
    return p->log_cut;
}

uint32_t pages_in_log(const struct pages *p)
{
    return (uint32_t)map_u64_count(p->frame);
}

/* A copy of the log into the file that was interrupted leaves it short, too: the log has it all. */
bool pages_are_cut(struct pages *p)
{
    uint8_t head[FILE_HEAD];
    if (!read_at(p->fd, head, sizeof head, 0) || memcmp(head, "SQLite format 3", 16) != 0 ||
        get32(head + FILE_CHANGES) != get32(head + FILE_VALID_FOR))
        return false;
    for (uint32_t n = p->in_file + 1; n <= get32(head + FILE_PAGES); n++)
        if (!map_u64_get(p->frame, n))
            return true;
    return false;
}

size_t pages_size(const struct pages *p)
{
    return p->size;
}

bool page_read(struct pages *p, uint32_t number, uint8_t *to)
{
    if (number == 0 || number > p->count)
        return false;
    uintptr_t frame = (uintptr_t)map_u64_get(p->frame, number);
    if (frame)
        return read_at(p->log, to, p->size,
                       LOG_HEAD + (frame - 1) * (FRAME_HEAD + p->size) + FRAME_HEAD);
    return read_at(p->fd, to, p->size, (uint64_t)(number - 1) * p->size);
}

/* ---- pages of trees ---- */

static bool is_leaf(enum page_kind kind)
{
    return kind == PAGE_INDEX_LEAF || kind == PAGE_TABLE_LEAF;
}

/* Where the places of a page's cells are listed, after its header's beginning. */
static size_t cell_list(enum page_kind kind)
{
    return is_leaf(kind) ? 8 : 12;
}

bool tree_page_parse(const struct pages *p, uint32_t number, const uint8_t *data,
                     struct tree_page *ret)
{
    static const enum page_kind kinds[256] = {[2] = PAGE_INDEX_INNER,
                                              [5] = PAGE_TABLE_INNER,
                                              [10] = PAGE_INDEX_LEAF,
                                              [13] = PAGE_TABLE_LEAF};
    size_t head = number == 1 ? FILE_HEAD : 0;
    *ret = (struct tree_page){.kind = kinds[data[head]], .data = data, .head = head};
    if (ret->kind == PAGE_OTHER)
        return false;
    ret->cells = get16(data + head + 3);
    return head + cell_list(ret->kind) + 2 * (size_t)ret->cells <= p->usable;
}

/* Where cell i lies; 0: outside. */
static size_t cell_place(const struct pages *p, const struct tree_page *page, unsigned i)
{
    size_t cells = page->head + cell_list(page->kind),
           at = get16(page->data + cells + 2 * (size_t)i);
    return at >= cells + 2 * (size_t)page->cells && at + 4 <= p->usable ? at : 0;
}

uint32_t tree_page_below(const struct pages *p, const struct tree_page *page, unsigned i)
{
    if (is_leaf(page->kind))
        return 0;
    size_t at = i < page->cells ? cell_place(p, page, i) : page->head + 8;
    uint32_t below = at ? get32(page->data + at) : 0;
    return below <= p->count ? below : 0;
}

/* ---- rows ---- */

struct pages_reader {
    const uint8_t *at, *end;
};

static bool varint(struct pages_reader *r, uint64_t *ret)
{
    uint64_t n = 0;
    for (int i = 0; i < 9; i++) {
        if (r->at == r->end)
            return false;
        uint8_t byte = *r->at++;
        if (i == 8) {
            n = n << 8 | byte;
            break;
        }
        n = n << 7 | (byte & 0x7f);
        if (!(byte & 0x80))
            break;
    }
    *ret = n;
    return true;
}

/* How much of a payload lies on the page itself. */
static size_t local_size(const struct pages *p, enum page_kind kind, size_t payload)
{
    size_t u = p->usable, least = (u - 12) * 32 / 255 - 23;
    size_t most = kind == PAGE_TABLE_LEAF ? u - 35 : (u - 12) * 64 / 255 - 23;
    size_t k = least + (payload - least) % (u - 4);
    if (payload <= most)
        return payload;
    return k <= most ? k : least;
}

/* A page that was lost is often one of zeros, and none of ours is: the end of a script would
 * silently be. */
static bool is_zero(const uint8_t *data, size_t len)
{
    return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

static bool overflow_read(struct pages *p, uint32_t number, uint8_t *to, size_t len)
{
    uint8_t *page = xmalloc(PAGE_SIZE_MAX);
    bool ok = true;
    while (len && (ok = page_read(p, number, page) && !is_zero(page, p->usable))) {
        size_t n = len < p->usable - 4 ? len : p->usable - 4;
        memcpy(to, page + 4, n);
        to += n;
        len -= n;
        number = get32(page);
    }
    free(page);
    return ok;
}

static size_t type_size(uint64_t type)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    return type < ARRAY_LEN(sizes) ? sizes[type] : (size_t)((type - TYPE_FIRST_TEXT) / 2);
}

static struct value value_of(uint64_t type, const uint8_t *data)
{
    size_t len = type_size(type);
    if (type >= TYPE_FIRST_TEXT)
        return (struct value){.type = type & 1 ? VALUE_TEXT : VALUE_BLOB, .data = data, .len = len};
    if (type == 0)
        return (struct value){.type = VALUE_NULL};
    if (type == 7)
        return (struct value){.type = VALUE_REAL};
    uint64_t n = len && data[0] & 0x80 ? UINT64_MAX : 0;
    n = type == 9 ? 1 : n;
    for (size_t i = 0; i < len; i++)
        n = n << 8 | data[i];
    return (struct value){.type = VALUE_INT, .number = (int64_t)n};
}

/* A head of types, then the values. */
static bool record_parse(const uint8_t *data, size_t len, struct cell *ret)
{
    struct pages_reader r = {data, data + len};
    uint64_t head, type;
    if (!varint(&r, &head) || head > len || (size_t)(r.at - data) > head)
        return false;
    const uint8_t *value = data + head;
    for (r.end = data + head; r.at < r.end;) {
        if (ret->n == VALUES_MAX || !varint(&r, &type) || type == 10 || type == 11 ||
            type > 2 * (uint64_t)PAYLOAD_MAX || type_size(type) > (size_t)(data + len - value))
            return false;
        ret->value[ret->n++] = value_of(type, value);
        value += type_size(type);
    }
    return ret->n && value == data + len;
}

bool cell_parse(struct pages *p, const struct tree_page *page, unsigned i, struct arena *a,
                struct cell *ret)
{
    size_t at = cell_place(p, page, i);
    uint64_t size, rowid = 0;
    ret->n = 0;
    if (at == 0)
        return false;
    struct pages_reader r = {page->data + at + (is_leaf(page->kind) ? 0 : 4),
                             page->data + p->usable};
    if (!varint(&r, &size) || size == 0 || size > PAYLOAD_MAX ||
        (page->kind == PAGE_TABLE_LEAF && !varint(&r, &rowid)))
        return false;
    size_t local = local_size(p, page->kind, size);
    if (local + (local < size ? 4u : 0u) > (size_t)(r.end - r.at))
        return false;
    /* Not more memory than the file has room for. */
    if (local < size && (size - local) / (p->usable - 4) > p->count)
        return false;
    uint8_t *data = arena_alloc(a, size);
    memcpy(data, r.at, local);
    ret->rowid = (int64_t)rowid;
    return (local == size || overflow_read(p, get32(r.at + local), data + local, size - local)) &&
           record_parse(data, size, ret);
}
