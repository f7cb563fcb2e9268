/* Users with somebody waiting stand in a ring; a place that is free goes to the first of them who
 * has not too many. Places of those who left before they had begun are freed together,
 * ENTRANCE_PAUSE_US after the first of them: so whoever connects again and again has no more than
 * his places a second. */
#include "node/host/entrance.h"

#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>

struct entrance_user {
    uid_t uid;
    size_t begin, left; /* places: of those that begin; that left, and are not free yet */
    struct entrance_place *first, **last;
    struct entrance_user *next;
    bool listed;
};

struct entrance {
    struct timer *timer;
    struct map_u64 *users;
    struct entrance_user *first, **last;
    size_t begin, left;
};

static void left_free(void *ctx);

struct entrance *entrance_new(struct loop *l)
{
    struct entrance *e = xcalloc(1, sizeof *e);
    e->timer = timer_new(l, left_free, e);
    e->users = map_u64_new();
    e->last = &e->first;
    return e;
}

void entrance_free(struct entrance *e)
{
    struct map_walk w = {0};
    if (!e)
        return;
    while (map_u64_next(e->users, &w))
        free(w.value);
    map_u64_free(e->users);
    timer_free(e->timer);
    free(e);
}

static struct entrance_user *user_of(struct entrance *e, uid_t uid)
{
    struct entrance_user *u = map_u64_get(e->users, uid);
    if (!u) {
        u = xcalloc(1, sizeof *u);
        u->uid = uid;
        u->last = &u->first;
        map_u64_put(e->users, uid, u);
    }
    return u;
}

static void ring_join(struct entrance *e, struct entrance_user *u)
{
    if (u->listed)
        return;
    u->listed = true;
    u->next = NULL;
    *e->last = u;
    e->last = &u->next;
}

/* The first who may have one more, taken out of the ring; NULL: nobody. */
static struct entrance_user *ring_next(struct entrance *e)
{
    for (struct entrance_user **at = &e->first; *at; at = &(*at)->next) {
        struct entrance_user *u = *at;
        if (u->begin + u->left >= ENTRANCE_USER)
            continue;
        *at = u->next;
        if (e->last == &u->next)
            e->last = at;
        u->listed = false;
        return u;
    }
    return NULL;
}

static void let_in(struct entrance *e)
{
    struct entrance_user *u;
    while (e->begin + e->left < ENTRANCE_ALL && (u = ring_next(e))) {
        struct entrance_place *p = u->first;
        if (!p)
            continue; /* those that waited left */
        if (!(u->first = p->next))
            u->last = &u->first;
        if (u->first)
            ring_join(e, u);
        p->state = ENTRANCE_BEGINS;
        u->begin++;
        e->begin++;
        p->go(p->ctx);
    }
}

static void left_free(void *ctx)
{
    struct entrance *e = ctx;
    struct map_walk w = {0};
    while (map_u64_next(e->users, &w))
        ((struct entrance_user *)w.value)->left = 0;
    e->left = 0;
    let_in(e);
}

void entrance_take(struct entrance *e, struct entrance_place *p, uid_t uid, loop_fn go, void *ctx)
{
    ASSERT(go);
    *p = (struct entrance_place){.go = go, .ctx = ctx};
    if (uid == 0) {
        go(ctx);
        return;
    }
    p->state = ENTRANCE_WAITS;
    p->user = user_of(e, uid);
    *p->user->last = p;
    p->user->last = &p->next;
    ring_join(e, p->user);
    let_in(e);
}

void entrance_passed(struct entrance *e, struct entrance_place *p)
{
    if (p->state != ENTRANCE_BEGINS)
        return;
    p->state = ENTRANCE_NONE;
    p->user->begin--;
    e->begin--;
    let_in(e);
}

static void waiting_remove(struct entrance_place *p)
{
    struct entrance_user *u = p->user;
    struct entrance_place **at = &u->first;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (u->last == &p->next)
        u->last = at;
}

void entrance_leave(struct entrance *e, struct entrance_place *p)
{
    if (p->state == ENTRANCE_WAITS)
        waiting_remove(p);
    if (p->state == ENTRANCE_BEGINS) {
        p->user->begin--;
        e->begin--;
        p->user->left++;
        if (!e->left++)
            timer_set(e->timer, ENTRANCE_PAUSE_US);
    }
    p->state = ENTRANCE_NONE;
}
