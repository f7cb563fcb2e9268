#include "node/step/owner.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/vec.h"
#include "io/clock.h"
#include "io/users.h"
#include "io/work.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US (2 * USEC_PER_SEC) /* of who waits, where there is an old entry */

struct owner_waiter {
    loop_fn found;
    void *ctx;
};

/* One owner; `fresh` is what the worker thread fills while `now` may be in use. */
struct owner_entry {
    struct owners *owners; /* NULL: they were freed while this was asked */
    struct owner owner, fresh;
    struct arena *arena, *fresh_arena;
    int64_t asked_us, began_us; /* when it was there, and when the lookup under way began */
    bool there, asking;
    struct timer *patience;
    VEC(struct owner_waiter) waiters;
};

struct owners {
    struct loop *loop;
    int64_t max_age_us;
    struct map_u64 *entries;
};

static uint64_t key_of(uid_t uid, gid_t gid)
{
    return (uint64_t)uid << 32 | gid;
}

static void entry_free(struct owner_entry *e)
{
    timer_free(e->patience);
    arena_free(e->arena);
    arena_free(e->fresh_arena);
    vec_done(&e->waiters);
    free(e);
}

struct owners *owners_new(struct loop *l, int64_t max_age_us)
{
    ASSERT(max_age_us > 0);
    struct owners *o = xcalloc(1, sizeof *o);
    *o = (struct owners){l, max_age_us, map_u64_new()};
    return o;
}

void owners_free(struct owners *o)
{
    struct map_walk w = {0};
    if (!o)
        return;
    while (map_u64_next(o->entries, &w)) {
        struct owner_entry *e = w.value;
        e->owners = NULL;
        timer_free(e->patience);
        e->patience = NULL;
        if (!e->asking)
            entry_free(e);
    }
    map_u64_free(o->entries);
    free(o);
}

/* ---- on a worker thread ---- */

static void user_find(struct owner *o, struct arena *a)
{
    struct passwd entry, *found = NULL;
    char *buffer = xmalloc(1 << 16);
    int rc, naps = 0;
    do
        rc = getpwuid_r(o->uid, &entry, buffer, 1 << 16, &found);
    while (!found && lookup_again(rc, &naps));
    if (found) {
        o->known = true;
        o->name = arena_strdup(a, found->pw_name);
        o->home = arena_strdup(a, found->pw_dir);
        o->shell =
            arena_strdup(a, found->pw_shell && *found->pw_shell ? found->pw_shell : "/bin/sh");
    }
    struct group group_entry, *group = NULL;
    do
        rc = getgrgid_r(o->gid, &group_entry, buffer, 1 << 16, &group);
    while (!group && lookup_again(rc, &naps));
    if (group)
        o->group = arena_strdup(a, group->gr_name);
    free(buffer);
}

static void groups_find(struct owner *o, struct arena *a)
{
    int n = 1;
    gid_t *list = o->known ? groups_list(o->name, o->gid, &n) : NULL;
    o->groups = arena_dup(a, list ? list : &o->gid, (size_t)n * sizeof *list);
    o->ngroups = (size_t)n;
    free(list);
}

static void lookup(void *ctx)
{
    struct owner_entry *e = ctx;
    user_find(&e->fresh, e->fresh_arena);
    groups_find(&e->fresh, e->fresh_arena);
}

/* ---- on the loop ---- */

static void waiters_call(void *ctx)
{
    struct owner_entry *e = ctx;
    for (size_t i = 0; i < e->waiters.n; i++)
        e->waiters.v[i].found(e->waiters.v[i].ctx);
    vec_clear(&e->waiters);
}

static void looked_up(void *ctx)
{
    struct owner_entry *e = ctx;
    e->asking = false;
    if (!e->owners) {
        entry_free(e);
        return;
    }
    arena_free(e->arena);
    e->arena = e->fresh_arena;
    e->owner = e->fresh;
    e->fresh_arena = NULL;
    e->there = true;
    e->asked_us = clock_monotonic_us();
    timer_free(e->patience);
    e->patience = NULL;
    waiters_call(e);
}

static void entry_ask(struct owner_entry *e)
{
    if (e->asking)
        return;
    e->asking = true;
    e->began_us = clock_monotonic_us();
    e->fresh_arena = arena_new();
    e->fresh = (struct owner){.uid = e->owner.uid, .gid = e->owner.gid};
    work_start(e->owners->loop, lookup, looked_up, e);
}

const struct owner *owners_cached(struct owners *o, uid_t uid, gid_t gid)
{
    struct owner_entry *e = map_u64_get(o->entries, key_of(uid, gid));
    if (!e || !e->there)
        return NULL;
    return &e->owner;
}

const struct owner *owners_recent(struct owners *o, uid_t uid, gid_t gid)
{
    struct owner_entry *e = map_u64_get(o->entries, key_of(uid, gid));
    int64_t now = clock_monotonic_us();
    if (!e || !e->there)
        return NULL;
    if (now - e->asked_us <= o->max_age_us)
        return &e->owner;
    entry_ask(e);
    return now - e->began_us < PATIENCE_US ? NULL : &e->owner;
}

void owners_ask(struct owners *o, uid_t uid, gid_t gid, loop_fn found, void *ctx)
{
    ASSERT(found);
    struct owner_entry *e = map_u64_get(o->entries, key_of(uid, gid));
    if (!e) {
        e = xcalloc(1, sizeof *e);
        e->owners = o;
        e->owner = (struct owner){.uid = uid, .gid = gid};
        map_u64_put(o->entries, key_of(uid, gid), e);
    }
    struct owner_waiter w = {found, ctx};
    vec_push(&e->waiters, w);
    entry_ask(e);
    if (e->there && !e->patience) {
        e->patience = timer_new(o->loop, waiters_call, e);
        timer_set(e->patience, PATIENCE_US);
    }
}
