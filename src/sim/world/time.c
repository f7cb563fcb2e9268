/* The clocks of a world, and the heap of what will happen. */
#include "sim/world/inside.h"

#include "wire/frame.h"

#include <stdarg.h>

#define DELAY_US 200 /* of a link, at least */

const struct peer world_daemon = {.user = "root", .group = "root", .host = "sim", .is_admin = true};

void world_broke(struct sim_world *w, const char *format, ...)
{
    struct str text = STR_INIT;
    va_list args;
    if (w->broken)
        return;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    w->broken = str_take(&text);
}

int64_t world_wall(const struct sim_world *w)
{
    return EPOCH_US + w->now_us + w->set_us;
}

int64_t world_monotonic(const struct sim_world *w)
{
    return USEC_PER_SEC + w->now_us; /* never 0, which is "not told" */
}

static bool sooner(const struct happening *a, const struct happening *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void world_plan(struct sim_world *w, int64_t after_us, struct happening h)
{
    h.at_us = w->now_us + after_us;
    h.order = w->next_order++;
    vec_push(&w->heap, h);
    size_t i = w->heap.n - 1;
    for (; i > 0 && sooner(&h, &w->heap.v[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap.v[i] = w->heap.v[(i - 1) / 2];
    w->heap.v[i] = h;
}

struct happening world_next(struct sim_world *w)
{
    struct happening top = w->heap.v[0], last = w->heap.v[--w->heap.n];
    size_t i = 0, child;
    for (; (child = 2 * i + 1) < w->heap.n; i = child) {
        if (child + 1 < w->heap.n && sooner(&w->heap.v[child + 1], &w->heap.v[child]))
            child++;
        if (!sooner(&w->heap.v[child], &last))
            break;
        w->heap.v[i] = w->heap.v[child];
    }
    if (w->heap.n)
        w->heap.v[i] = last;
    return top;
}

int64_t world_delay(struct sim_world *w)
{
    return DELAY_US + (int64_t)rng_below(&w->rng, 3000);
}

int64_t world_delay_in_order(struct sim_world *w, int64_t *last_us)
{
    int64_t at_us = w->now_us + world_delay(w);
    *last_us = at_us > *last_us ? at_us : *last_us;
    return *last_us - w->now_us;
}

bool world_message_read(struct sim_world *w, struct happening *h, struct message *ret)
{
    struct frame f;
    struct err err = {0};
    arena_reset(w->arena);
    if (frame_take(h->bytes.data, h->bytes.len, &f, &err) <= 0 ||
        !wire_decode(&f, w->arena, ret, &err)) {
        world_broke(w, "a frame cannot be read back: %s", err.text);
        return false;
    }
    return true;
}
