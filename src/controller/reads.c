/* A reading of years may take minutes: were they worked off in the order they came, one user could
 * have all threads for as long as they like. Users with something waiting stand in a ring; a thread
 * that is free takes the first whose turn it is and who has none at work. As there are several
 * threads, who asks for much holds up nobody but himself, save while the log of the store is to be
 * cut off (writer_holds), which is seldom: then all wait for those that are at work. */
#include "controller/reads.h"

#include "base/alloc.h"
#include "base/map.h"
#include "io/work.h"

#include <stdlib.h>

#define NOBODY UINT64_MAX /* of the map of users */

struct reads_one {
    struct reads_user *user;
    void (*run)(void *ctx, struct reader *r);
    loop_fn done;
    void *ctx;
    struct reads_one *next;
};

struct reads_user {
    uint64_t key;
    struct reads_one *first, **last;
    size_t waiting;
    bool at_work;
    struct reads_user *next; /* in the ring, while some wait */
};

struct reads_place {
    struct reads *all;
    struct worker *worker; /* NULL until needed */
    struct reader reader;  /* the worker's */
    struct reads_one *now; /* NULL: free */
};

struct reads {
    struct loop *loop;
    struct writer *writer; /* NULL: nobody holds them */
    loop_fn alone;
    void *alone_ctx;
    bool ends; /* and nobody holds them any more */
    struct reads_place place[READS_THREADS];
    struct map_u64 *users;
    struct reads_user *first, **last;
};

struct reads *reads_new(struct loop *l, const char *store_path, struct writer *writer)
{
    struct reads *all = xcalloc(1, sizeof *all);
    all->loop = l;
    all->writer = writer;
    all->users = map_u64_new();
    all->last = &all->first;
    for (size_t i = 0; i < READS_THREADS; i++)
        all->place[i] =
            (struct reads_place){.all = all, .reader = {.path = store_path, .writer = writer}};
    return all;
}

static void user_join(struct reads *all, struct reads_user *u)
{
    u->next = NULL;
    *all->last = u;
    all->last = &u->next;
}

/* The first in the ring who has none at work, taken out; NULL: there is none. */
static struct reads_user *user_next(struct reads *all)
{
    for (struct reads_user **at = &all->first; *at; at = &(*at)->next) {
        struct reads_user *u = *at;
        if (u->at_work)
            continue;
        *at = u->next;
        if (all->last == &u->next)
            all->last = at;
        return u;
    }
    return NULL;
}

static void run(void *ctx)
{
    struct reads_place *p = ctx;
    p->now->run(p->now->ctx, &p->reader);
}

static void go(struct reads *all);

static void done(void *ctx)
{
    struct reads_place *p = ctx;
    struct reads_one one = *p->now;
    free(p->now);
    p->now = NULL;
    one.user->at_work = false;
    if (!one.user->waiting) {
        map_u64_del(p->all->users, one.user->key);
        free(one.user);
    }
    one.done(one.ctx);
    go(p->all);
}

static bool is_held(const struct reads *all)
{
    return !all->ends && all->alone && writer_holds(all->writer);
}

static bool is_at_work(const struct reads *all)
{
    bool work = false;
    for (size_t i = 0; i < READS_THREADS; i++)
        work |= all->place[i].now != NULL;
    return work;
}

static void go(struct reads *all)
{
    if (is_held(all)) {
        if (!is_at_work(all))
            all->alone(all->alone_ctx);
        return;
    }
    for (size_t i = 0; i < READS_THREADS; i++) {
        struct reads_place *p = &all->place[i];
        struct reads_user *u = p->now ? NULL : user_next(all);
        if (!u)
            continue;
        p->now = u->first;
        if (!(u->first = p->now->next))
            u->last = &u->first;
        u->at_work = true;
        if (--u->waiting)
            user_join(all, u);
        if (!p->worker)
            p->worker = worker_new(all->loop, "reads");
        worker_add(p->worker, run, done, p);
    }
}

void reads_on_hold(struct reads *all, loop_fn alone, void *ctx)
{
    ASSERT(all->writer && alone);
    all->alone = alone;
    all->alone_ctx = ctx;
}

void reads_look(struct reads *all)
{
    if (all)
        go(all);
}

static struct reads_user *user_of(struct reads *all, const struct peer *peer)
{
    uint64_t key = peer ? peer_payer(peer) : NOBODY;
    struct reads_user *u = map_u64_get(all->users, key);
    if (!u) {
        u = xcalloc(1, sizeof *u);
        u->key = key;
        u->last = &u->first;
        map_u64_put(all->users, key, u);
    }
    return u;
}

bool reads_add(struct reads *all, const struct peer *peer,
               void (*run_it)(void *ctx, struct reader *r), loop_fn done_it, void *ctx)
{
    ASSERT(run_it && done_it);
    struct reads_user *u = user_of(all, peer);
    if (u->waiting >= READS_PER_USER)
        return false;
    struct reads_one *one = xcalloc(1, sizeof *one);
    *one = (struct reads_one){.user = u, .run = run_it, .done = done_it, .ctx = ctx};
    *u->last = one;
    u->last = &one->next;
    if (!u->waiting++)
        user_join(all, u);
    go(all);
    return true;
}

void reads_free(struct reads *all)
{
    if (!all)
        return;
    all->ends = true;
    go(all);
    while (map_u64_count(all->users))
        for (size_t i = 0; i < READS_THREADS; i++) {
            struct worker *w = all->place[i].worker;
            all->place[i].worker = NULL; /* the next of this place gets another */
            worker_free(w);
        }
    for (size_t i = 0; i < READS_THREADS; i++) {
        worker_free(all->place[i].worker);
        reader_done(&all->place[i].reader);
    }
    map_u64_free(all->users);
    free(all);
}
