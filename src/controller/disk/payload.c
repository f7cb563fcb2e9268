/* A cache by age: entries hang in a ring, newest first; what is used again moves to the front.
 * Reads go one after another on a thread with its own read-only handle, opened with the first
 * read. */
#include "controller/disk/payload.h"

#include "base/alloc.h"
#include "base/map.h"
#include "controller/disk/reader.h"
#include "io/work.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_OVERHEAD 256 /* bytes of the map and of malloc for each entry, about */

struct payload_entry {
    struct payload payload; /* its bytes follow the struct */
    size_t size;
    struct payload_entry *next, *prev;
};

struct payloads {
    struct controller *c;
    struct worker *worker; /* NULL until needed */
    struct reader reader;  /* the worker's */
    struct map_u64 *by_job;
    struct payload_entry ring;
    size_t bytes;
};

struct payloads *payloads_new(struct controller *c, const char *store_path, struct writer *writer)
{
    struct payloads *p = xcalloc(1, sizeof *p);
    p->c = c;
    p->reader = (struct reader){.path = store_path, .writer = writer};
    p->by_job = map_u64_new();
    p->ring.next = p->ring.prev = &p->ring;
    return p;
}

static void entry_unlink(struct payload_entry *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

static void entry_front(struct payloads *p, struct payload_entry *e)
{
    e->prev = &p->ring;
    e->next = p->ring.next;
    e->next->prev = e;
    p->ring.next = e;
}

static void entry_drop(struct payloads *p, struct payload_entry *e)
{
    entry_unlink(e);
    map_u64_del(p->by_job, e->payload.job_id);
    p->bytes -= e->size;
    free(e);
}

void payloads_free(struct payloads *p)
{
    if (!p)
        return;
    worker_free(p->worker);
    reader_done(&p->reader);
    for (struct payload_entry *e = p->ring.next, *next; e != &p->ring; e = next) {
        next = e->next;
        entry_drop(p, e);
    }
    map_u64_free(p->by_job);
    free(p);
}

static struct payload_entry *entry_new(const struct payload *from)
{
    size_t size = sizeof(struct payload_entry) + from->script.len + from->env.len;
    struct payload_entry *e = xmalloc(size);
    char *at = (char *)(e + 1);
    *e = (struct payload_entry){.size = size + ENTRY_OVERHEAD, .payload = {.job_id = from->job_id}};
    e->payload.script = (struct blob){.data = at, .len = from->script.len};
    e->payload.env = (struct blob){.data = at + from->script.len, .len = from->env.len};
    if (from->script.len > 0)
        memcpy(at, from->script.data, from->script.len);
    if (from->env.len > 0)
        memcpy(at + from->script.len, from->env.data, from->env.len);
    return e;
}

void payloads_put(struct payloads *p, const struct payload *payload)
{
    ASSERT(payload->job_id);
    struct payload_entry *old = map_u64_get(p->by_job, payload->job_id);
    if (old)
        entry_drop(p, old);
    struct payload_entry *e = entry_new(payload);
    if (e->size > PAYLOAD_CACHE_BYTES / 4) {
        free(e);
        return;
    }
    entry_front(p, e);
    map_u64_put(p->by_job, e->payload.job_id, e);
    p->bytes += e->size;
    for (struct payload_entry *oldest = p->ring.prev, *before; p->bytes > PAYLOAD_CACHE_BYTES;
         oldest = before) {
        before = oldest->prev;
        entry_drop(p, oldest);
    }
}

const struct payload *payloads_get(struct payloads *p, uint64_t job_id)
{
    struct payload_entry *e = map_u64_get(p->by_job, job_id);
    if (!e)
        return NULL;
    entry_unlink(e);
    entry_front(p, e);
    return &e->payload;
}

/* ---- reading ---- */

struct payload_read {
    struct payloads *owner;
    uint64_t job_id;
    struct arena *arena;
    struct payload payload;
    struct err err;
    bool ok;
    void (*got)(void *ctx, const struct payload *payload, const struct err *why);
    void *ctx;
};

static void read_run(void *ctx)
{
    struct payload_read *r = ctx;
    struct store *s = reader_begin(&r->owner->reader, &r->err);
    if (!s)
        return;
    r->ok = store_payload(s, r->job_id, r->arena, &r->payload, &r->err);
    reader_end(&r->owner->reader);
    if (!r->ok && r->err.code == ERR_NOT_FOUND) {
        r->payload = (struct payload){.job_id = r->job_id};
        r->ok = true;
    }
}

static void read_done(void *ctx)
{
    struct payload_read *r = ctx;
    if (r->ok)
        payloads_put(r->owner, &r->payload);
    r->got(r->ctx, r->ok ? &r->payload : NULL, &r->err);
    arena_free(r->arena);
    free(r);
}

void payloads_read(struct payloads *p, uint64_t job_id,
                   void (*got)(void *ctx, const struct payload *payload, const struct err *why),
                   void *ctx)
{
    ASSERT(got);
    struct payload_read *r = xcalloc(1, sizeof *r);
    *r = (struct payload_read){
        .owner = p, .job_id = job_id, .arena = arena_new(), .got = got, .ctx = ctx};
    if (!p->worker)
        p->worker = worker_new(p->c->loop, "payloads");
    worker_add(p->worker, read_run, read_done, r);
}
