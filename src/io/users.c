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

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_US  (2 * USEC_PER_SEC)  /* then the old entry serves */
#define NAMELESS_MAX 4096                /* more, before they are looked through */
#define NAMELESS_US  (60 * USEC_PER_SEC) /* so long one is remembered at least */

/* ---- blocking
 * ----------------------------------------------------------------------------- */

#define NAP_FIRST_US INT64_C(10000)
#define NAP_MOST_US  500000
#define NAPS         25 /* ten seconds */

bool lookup_again(int why, int *naps)
{
    if ((why != ENOMEM && why != EMFILE && why != ENFILE) || *naps >= NAPS)
        return false;
    int64_t us = *naps < 6 ? NAP_FIRST_US << *naps : NAP_MOST_US;
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    ++*naps;
    return true;
}

/* getpwuid_r and friends want a buffer whose size nobody knows: double it until it fits. */
static char *group_name(gid_t gid)
{
    char *name = NULL;
    int naps = 0;
    for (size_t size = 4096; size <= (64u << 20);) {
        char *room = xmalloc(size);
        struct group entry, *found = NULL;
        int rc = getgrgid_r(gid, &entry, room, size, &found);
        if (found)
            name = xstrdup(entry.gr_name);
        free(room);
        if (rc == ERANGE)
            size *= 4;
        else if (found || !lookup_again(rc, &naps))
            break;
    }
    return name;
}

/* libc takes a file that it had no room to read for one without groups: only errno tells. */
gid_t *groups_list(const char *name, gid_t primary, int *ret_n)
{
    int room = 64, naps = 0;
    for (;;) {
        int n = room;
        gid_t *gids = xcalloc((size_t)room, sizeof *gids);
        errno = 0;
        bool fits = getgrouplist(name, primary, gids, &n) >= 0;
        bool again = lookup_again(errno, &naps);
        if (!again && !fits && n <= room) { /* it cannot be told which */
            gids[0] = primary;
            n = 1;
            fits = true;
        }
        *ret_n = n;
        if (!again && fits)
            return gids;
        free(gids);
        room = n > room ? n : room;
    }
}

static void groups_lookup(struct user *u)
{
    int n = 0;
    gid_t *gids = groups_list(u->name, u->primary_gid, &n);
    struct str names = STR_INIT;
    u->member = xcalloc((size_t)n, sizeof *u->member);
    u->nmembers = (size_t)n;
    for (int i = 0; i < n; i++) {
        char *name = group_name(gids[i]);
        u->member[i] = (struct user_group){gids[i], name};
        if (name && names.len > 0)
            str_addc(&names, ',');
        str_add(&names, name);
    }
    free(gids);
    u->groups = str_take(&names);
}

const struct user_group *user_group(const struct user *user, gid_t gid)
{
    for (size_t i = 0; i < user->nmembers; i++)
        if (user->member[i].gid == gid)
            return &user->member[i];
    return NULL;
}

static bool passwd_lookup(uid_t uid, struct user *ret)
{
    bool known = false;
    int naps = 0;
    for (size_t size = 4096; size <= (1u << 20);) {
        char *room = xmalloc(size);
        struct passwd entry, *found = NULL;
        int rc = getpwuid_r(uid, &entry, room, size, &found);
        if (found) {
            known = true;
            ret->primary_gid = entry.pw_gid;
            ret->name = xstrdup(entry.pw_name);
            ret->home = xstrdup(entry.pw_dir);
            ret->shell = xstrdup(entry.pw_shell);
        }
        free(room);
        if (rc == ERANGE)
            size *= 4;
        else if (known || !lookup_again(rc, &naps))
            break;
    }
    return known;
}

bool user_lookup(uid_t uid, gid_t gid, struct user *ret)
{
    *ret = (struct user){.uid = uid, .gid = gid, .primary_gid = gid};
    bool known = passwd_lookup(uid, ret);
    if (gid == GID_OF_USER)
        ret->gid = ret->primary_gid;
    ret->group = ret->gid == GID_OF_USER ? NULL : group_name(ret->gid);
    if (known)
        groups_lookup(ret);
    return known;
}

static void text_free(const char *text)
{
    free((void *)text);
}

void user_done(struct user *user)
{
    text_free(user->name);
    text_free(user->group);
    text_free(user->groups);
    text_free(user->home);
    text_free(user->shell);
    for (size_t i = 0; i < user->nmembers; i++)
        text_free(user->member[i].name);
    free(user->member);
    *user = (struct user){0};
}

/* ---- cache
 * -------------------------------------------------------------------------------- */

struct users_waiter {
    loop_fn found;
    void *ctx;
    struct users_waiter *next;
};

struct users_entry {
    struct users *users; /* NULL when the cache was freed during a lookup */
    uid_t uid;
    gid_t gid;
    struct user user, fresh;
    bool known, asking;
    int64_t asked_us; /* monotonic; 0 = never */
    int64_t began_us; /* when the lookup under way began */
    struct users_waiter *waiters;
    struct timer *patience; /* of theirs, where there is an old entry */
};

struct users {
    struct loop *loop;
    int64_t max_age_us;
    struct map_u64 *entries;
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

/* Who has no name is nobody's record, and another host may make up as many as it likes. */
static void nameless_forget(struct users *u)
{
    int64_t before = clock_monotonic_us() - NAMELESS_US;
    struct map_walk at = {0};
    VEC(uint64_t) old = {0};
    while (map_u64_next(u->entries, &at)) {
        const struct users_entry *e = at.value;
        if (e->known && !e->user.name && !e->asking && !e->waiters && e->asked_us < before)
            vec_push(&old, entry_key(e->uid, e->gid));
    }
    for (size_t i = 0; i < old.n; i++) {
        entry_free(map_u64_get(u->entries, old.v[i]));
        map_u64_del(u->entries, old.v[i]);
    }
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
    e = xcalloc(1, sizeof *e);
    e->users = u;
    e->uid = uid;
    e->gid = gid;
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
    while (e->waiters) { /* a callback may cancel others */
        struct users_waiter *w = e->waiters;
        e->waiters = w->next;
        w->found(w->ctx);
        free(w);
    }
}

static void lookup_done(void *ctx)
{
    struct users_entry *e = ctx;
    bool changed = e->known && !text_is(e->user.name, e->fresh.name);
    user_done(&e->user);
    e->user = e->fresh;
    e->fresh = (struct user){0};
    e->asking = false;
    e->known = true;
    e->asked_us = clock_monotonic_us();
    timer_free(e->patience);
    e->patience = NULL;
    if (!e->users) {
        entry_free(e);
        return;
    }
    if (changed && e->users->changed)
        e->users->changed(e->users->changed_ctx);
    waiters_call(e);
}

static void entry_ask(struct users *u, struct users_entry *e)
{
    if (e->asking)
        return;
    e->asking = true;
    e->began_us = clock_monotonic_us();
    work_start(u->loop, lookup_run, lookup_done, e);
}

const struct user *users_cached(struct users *u, uid_t uid, gid_t gid)
{
    struct users_entry *e = map_u64_get(u->entries, entry_key(uid, gid));
    if (!e || !e->known)
        return NULL;
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
    if (!e->asking)
        entry_free(e);
}

void users_free(struct users *u)
{
    if (!u)
        return;
    struct map_walk at = {0};
    while (map_u64_next(u->entries, &at))
        entry_forget(at.value);
    map_u64_free(u->entries);
    free(u);
}
