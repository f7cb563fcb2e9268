/* What is old is removed while jobs come again, nodes come and go, and the controller dies: a page
 * at a time, as controller/past.c has it done. */
#include "base/vec.h"
#include "sim/world/inside.h"

struct world_past {
    struct arena *arena;
    VEC(struct past_key) key;
};

static void row_take(void *ctx, enum store_table table, const void *record)
{
    struct world_past *p = ctx;
    int64_t at_us;
    vec_push(&p->key, past_key_of(table, record, p->arena, &at_us));
}

#define PAGE_MOST 4

void world_past_goes(struct sim_world *w, struct rng *r)
{
    struct past_query q = {.kind = (enum past_kind)rng_below(r, PAST_USAGE),
                           .before_us = world_wall(w) - rng_range(r, 0, 30 * USEC_PER_SEC),
                           .most = rng_below(r, PAGE_MOST) + 1,
                           .of_runs = rng_chance(r, 700)};
    struct world_past p = {0};
    if (!w->core || w->away)
        return;
    p.arena = arena_new();
    CHECK(store_query_past(w->store, &q, row_take, &p, NULL));
    struct past_rows rows = {.v = p.key.v, .n = p.key.n};
    controller_event(w, (struct event){.kind = EV_PAST, .past = &rows});
    controller_turn_end(w);
    vec_done(&p.key);
    arena_free(p.arena);
}
