#include "store/awaited.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/job/dependency.h"
#include "model/limits.h"
#include "model/state.h"

#include <stdlib.h>

#define IDS_AT_ONCE 1000u

struct awaited {
    struct map_u64 *seen;  /* by id: life_mark */
    struct map_u64 *named; /* by id; of those that wait */
    VEC(uint64_t) ids;     /* the same; from `given` on ascending once they are asked for */
    size_t given;
    struct arena *arena; /* of one dependency at a time */
};

/* An array of which an element lives is loaded whole: its number lives, too. */
static void *life_mark(const struct awaited *w, bool over)
{
    return over ? w->seen : w->named;
}

struct awaited *awaited_new(void)
{
    struct awaited *w = xcalloc(1, sizeof *w);
    w->seen = map_u64_new();
    w->named = map_u64_new();
    w->arena = arena_new();
    return w;
}

void awaited_free(struct awaited *w)
{
    if (!w)
        return;
    map_u64_free(w->seen);
    map_u64_free(w->named);
    vec_done(&w->ids);
    arena_free(w->arena);
    free(w);
}

static void name_one(struct awaited *w, uint64_t id)
{
    if (!id || map_u64_get(w->named, id))
        return;
    map_u64_put(w->named, id, w->named);
    vec_push(&w->ids, id);
}

static void name_all(struct awaited *w, const char *dependency)
{
    struct dependency_list list = {0};
    bool sound = dependency_parse(dependency, w->arena, &list, NULL);
    for (uint32_t i = 0; sound && i < list.n; i++)
        name_one(w, list.v[i].job_id);
    arena_reset(w->arena);
}

void awaited_see(struct awaited *w, const struct job *j)
{
    ASSERT(j);
    bool over = job_state_over((enum job_state)j->state);
    void **seen = map_u64_slot(w->seen, j->id);
    if (!over || !*seen)
        *seen = life_mark(w, over);
    if (!over && j->array_job_id)
        map_u64_put(w->seen, j->array_job_id, life_mark(w, false));
    if (j->state == JOB_PENDING && j->spec.dependency)
        name_all(w, j->spec.dependency);
    if (over && map_u64_get(w->named, j->id)) { /* and all whom it belongs to */
        name_one(w, j->het_job_id);
        name_one(w, j->array_job_id);
    }
}

bool awaited_has(const struct awaited *w, uint64_t id)
{
    return map_u64_get(w->seen, id) != NULL;
}

static int id_compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

bool awaited_next(struct awaited *w, struct job_filter *ret)
{
    *ret = (struct job_filter){.to_us = INT64_MAX};
    if (w->given < w->ids.n)
        qsort(w->ids.v + w->given, w->ids.n - w->given, sizeof w->ids.v[0], id_compare);
    while (w->given < w->ids.n && ret->refs.n < IDS_AT_ONCE) {
        uint64_t id = w->ids.v[w->given++];
        struct job_ref ref = {.job_id = id, .task_id = NO_TASK, .het_offset = -1};
        if (map_u64_get(w->seen, id) != life_mark(w, false))
            vec_push(&ret->refs, ref);
    }
    return ret->refs.n > 0;
}
