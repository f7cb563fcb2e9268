/* A cache of users. An entry is found by uid and gid (the group the peer runs with may differ from
 * the primary one). Lookups run on pool threads; all who ask for the same entry meanwhile wait for
 * the one lookup. An old entry serves those who go on while it is asked again. Who begins waits for
 * the answer: a user's number may be another's by now, who would come with the former one's name,
 * groups and rights. Only where name services do not answer do old entries serve them, too. */
#include "io/users.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/clock.h"
#include "io/work.h"

#include <stdlib.h>

#define PATIENCE_US  (2 * USEC_PER_SEC)  /* then the old entry serves */
#define NAMELESS_MAX 4096                /* more, before they are looked through */
#define NAMELESS_US  (60 * USEC_PER_SEC) /* so long one is remembered at least */
#define GIDS_MAX     64                  /* of a uid: entries that nobody needs now go */
#define LOOKUPS_MAX  8                   /* in the pool: what is no lookup waits for these */

struct users_waiter {
    loop_fn found;
    void *ctx;
    struct users_waiter *next;
};

struct users_entry {
    struct users *users; /* NULL when the cache was freed during a lookup */
    struct users_person *person;
    struct users_entry *next; /* of the same uid: the older ones */
    uid_t uid;
    gid_t gid;
    struct user user, fresh;
    bool known, asking, running; /* asking: it waits for a lookup, or one is running */
    size_t kept;                 /* so many need it */
    uint64_t round;              /* of the loop, the last in which somebody read it */
    int64_t asked_us;            /* monotonic; 0 = never */
    int64_t began_us;            /* when the lookup under way was asked for */
    struct users_waiter *waiters;
    struct timer *patience; /* of theirs, where there is an old entry */
};

/* Lookups take turns by uid, and one of a uid runs: whoever comes with one group after the other
 * waits for himself. */
struct users_person {
    uid_t uid;
    struct users_entry *entries;
    size_t n;
    bool in_turn;              /* where it stays though nothing of it waits any more */
    struct users_person *next; /* whose turn is after this one's */
};

struct users {
    struct loop *loop;
    int64_t max_age_us;
    struct map_u64 *entries;
    struct map_u64 *persons; /* by uid */
    struct users_person *turn, **last_turn;
    size_t running;
    size_t nameless_max; /* entries, when those without a name are looked through next */
    loop_fn changed;     /* NULL = nobody is told */
    void *changed_ctx;
};

struct users *users_new(struct loop *l, int64_t max_age_us)
{
    struct users *u = xcalloc(1, sizeof *u);
    u->loop = l;
    u->max_age_us = max_age_us;
    u->entries = map_u64_new();
    u->persons = map_u64_new();
    u->last_turn = &u->turn;
    u->nameless_max = NAMELESS_MAX;
    return u;
}

static uint64_t entry_key(uid_t uid, gid_t gid)
{
    return (uint64_t)uid << 32 | gid;
}

static void entry_free(struct users_entry *e)
{
    timer_free(e->patience);
    user_done(&e->user);
    free(e);
}

/* Nobody reads it, or will without asking. */
static bool entry_idle(const struct users_entry *e)
{
    return !e->asking && !e->waiters && !e->kept && e->round != loop_rounds(e->users->loop).n;
}

static void person_drop(struct users *u, struct users_person *p)
{
    if (p->n == 0 && !p->in_turn)
        free(map_u64_del(u->persons, p->uid));
}

static void entry_drop(struct users_entry *e)
{
    struct users *u = e->users;
    struct users_entry **at = &e->person->entries;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    e->person->n--;
    map_u64_del(u->entries, entry_key(e->uid, e->gid));
    person_drop(u, e->person);
    entry_free(e);
}

/* Nobody waits for its answer or needs it, and it has none: it is forgotten, and not looked up if
 * that has not begun. There are as many as somebody likes who connects and goes. */
static void entry_unneeded(struct users_entry *e)
{
    if (!e->known && !e->running && !e->waiters && !e->kept)
        entry_drop(e);
}

/* There are as many groups as somebody with user namespaces likes. */
static void oldest_drop(const struct users_person *p)
{
    struct users_entry *oldest = NULL;
    for (struct users_entry *e = p->entries; e; e = e->next)
        if (entry_idle(e))
            oldest = e;
    if (oldest)
        entry_drop(oldest);
}

/* Who has no name is nobody's record, and another host may make up as many as it likes. */
static void nameless_forget(struct users *u)
{
    int64_t before = clock_monotonic_us() - NAMELESS_US;
    struct map_walk at = {0};
    VEC(struct users_entry *) old = {0};
    while (map_u64_next(u->entries, &at)) {
        struct users_entry *e = at.value;
        if (e->known && !e->user.name && entry_idle(e) && e->asked_us < before)
            vec_push(&old, e);
    }
    for (size_t i = 0; i < old.n; i++)
        entry_drop(old.v[i]);
    vec_done(&old);
    u->nameless_max = map_u64_count(u->entries) + NAMELESS_MAX;
}

static struct users_entry *entry_get(struct users *u, uid_t uid, gid_t gid)
{
    struct users_entry *e = map_u64_get(u->entries, entry_key(uid, gid));
    if (e)
        return e;
    if (map_u64_count(u->entries) >= u->nameless_max)
        nameless_forget(u);
    struct users_person *p = map_u64_get(u->persons, uid);
    if (p && p->n >= GIDS_MAX)
        oldest_drop(p);
    if (!p)
        map_u64_put(u->persons, uid, p = xcalloc(1, sizeof *p));
    p->uid = uid;
    e = xcalloc(1, sizeof *e);
    *e = (struct users_entry){.users = u, .person = p, .next = p->entries, .uid = uid, .gid = gid};
    p->entries = e;
    p->n++;
    map_u64_put(u->entries, entry_key(uid, gid), e);
    return e;
}

static void lookup_run(void *ctx)
{
    struct users_entry *e = ctx;
    user_lookup(e->uid, e->gid, &e->fresh);
}

static void waiters_call(struct users_entry *e)
{
    e->kept++;
    while (e->waiters) { /* a callback may cancel others */
        struct users_waiter *w = e->waiters;
        e->waiters = w->next;
        w->found(w->ctx);
        free(w);
    }
    e->kept--;
}

static void turn_add(struct users *u, struct users_person *p)
{
    p->next = NULL;
    p->in_turn = true;
    *u->last_turn = p;
    u->last_turn = &p->next;
}

/* What waits for its lookup longest. */
static struct users_entry *person_waits(const struct users_person *p)
{
    struct users_entry *first = NULL;
    for (struct users_entry *e = p->entries; e; e = e->next)
        if (e->asking && !e->running && (!first || e->began_us <= first->began_us))
            first = e;
    return first;
}

static void lookups_run(struct users *u);

static void lookup_done(void *ctx)
{
    struct users_entry *e = ctx;
    bool changed = e->known && !text_is(e->user.name, e->fresh.name);
    user_done(&e->user);
    e->user = e->fresh;
    e->fresh = (struct user){0};
    e->asking = e->running = false;
    e->known = true;
    e->asked_us = clock_monotonic_us();
    timer_free(e->patience);
    e->patience = NULL;
    if (!e->users) {
        entry_free(e);
        return;
    }
    e->users->running--;
    if (person_waits(e->person))
        turn_add(e->users, e->person);
    lookups_run(e->users);
    if (changed && e->users->changed)
        e->users->changed(e->users->changed_ctx);
    waiters_call(e);
}

static void lookups_run(struct users *u)
{
    while (u->turn && u->running < LOOKUPS_MAX) {
        struct users_person *p = u->turn;
        struct users_entry *e = person_waits(p);
        if (!(u->turn = p->next))
            u->last_turn = &u->turn;
        p->in_turn = false;
        if (!e) {
            person_drop(u, p);
            continue;
        }
        e->running = true;
        u->running++;
        work_start(u->loop, lookup_run, lookup_done, e);
    }
}

static void entry_ask(struct users *u, struct users_entry *e)
{
    if (e->asking)
        return;
    bool in_turn = e->person->in_turn; /* or one of the uid runs */
    for (const struct users_entry *one = e->person->entries; one; one = one->next)
        in_turn |= one->running;
    e->asking = true;
    e->began_us = clock_monotonic_us();
    if (!in_turn)
        turn_add(u, e->person);
    lookups_run(u);
}

const struct user *users_cached(struct users *u, uid_t uid, gid_t gid)
{
    struct users_entry *e = map_u64_get(u->entries, entry_key(uid, gid));
    if (!e || !e->known)
        return NULL;
    e->round = loop_rounds(u->loop).n;
    if (clock_monotonic_us() - e->asked_us > u->max_age_us)
        entry_ask(u, e);
    return &e->user;
}

const struct user *users_recent(struct users *u, uid_t uid, gid_t gid)
{
    const struct user *found = users_cached(u, uid, gid); /* which asks again */
    const struct users_entry *e = map_u64_get(u->entries, entry_key(uid, gid));
    int64_t now = clock_monotonic_us();
    if (!found || now - e->asked_us <= u->max_age_us)
        return found;
    return now - e->began_us < PATIENCE_US ? NULL : found;
}

static void patience_over(void *ctx)
{
    waiters_call(ctx);
}

void users_ask(struct users *u, uid_t uid, gid_t gid, loop_fn found, void *ctx)
{
    struct users_entry *e = entry_get(u, uid, gid);
    struct users_waiter *w = xcalloc(1, sizeof *w);
    w->found = found;
    w->ctx = ctx;
    struct users_waiter **last = &e->waiters;
    while (*last)
        last = &(*last)->next;
    *last = w;
    entry_ask(u, e);
    if (e->known && !e->patience) {
        e->patience = timer_new(u->loop, patience_over, e);
        timer_set(e->patience, PATIENCE_US);
    }
}

void users_keep(struct users *u, uid_t uid, gid_t gid)
{
    entry_get(u, uid, gid)->kept++;
}

void users_let_go(struct users *u, uid_t uid, gid_t gid)
{
    struct users_entry *e = map_u64_get(u->entries, entry_key(uid, gid));
    ASSERT(e && e->kept > 0);
    e->kept--;
    entry_unneeded(e);
}

void users_cancel(struct users *u, uid_t uid, gid_t gid, void *ctx)
{
    struct users_entry *e = map_u64_get(u->entries, entry_key(uid, gid));
    for (struct users_waiter **at = e ? &e->waiters : NULL; at && *at;) {
        struct users_waiter *w = *at;
        if (w->ctx != ctx) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        free(w);
    }
    if (e)
        entry_unneeded(e);
}

void users_flush(struct users *u)
{
    struct map_walk at = {0};
    while (map_u64_next(u->entries, &at)) {
        struct users_entry *e = at.value;
        if (e->known)
            entry_ask(u, e);
    }
}

void users_compare(struct users *u, const struct map_u64 *name)
{
    struct map_walk at = {0};
    while (map_u64_next(u->entries, &at)) {
        struct users_entry *e = at.value;
        const char *now = map_u64_get(name, (uint64_t)e->uid + 1);
        if (e->known && now && !text_is(now, e->user.name))
            entry_ask(u, e);
    }
}

void users_on_change(struct users *u, loop_fn changed, void *ctx)
{
    u->changed = changed;
    u->changed_ctx = ctx;
}

static void entry_forget(struct users_entry *e)
{
    for (struct users_waiter *w = e->waiters, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    e->waiters = NULL;
    e->users = NULL;
    timer_free(e->patience);
    e->patience = NULL;
    if (!e->running)
        entry_free(e);
}

void users_free(struct users *u)
{
    if (!u)
        return;
    struct map_walk at = {0};
    while (map_u64_next(u->entries, &at))
        entry_forget(at.value);
    at = (struct map_walk){0};
    while (map_u64_next(u->persons, &at))
        free(at.value);
    map_u64_free(u->persons);
    map_u64_free(u->entries);
    free(u);
}
