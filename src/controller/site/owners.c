/* Rounds: the numbers of all who have jobs in memory, asked one after the other on one thread of
 * the pool, so that name services that are slow hold nothing up, and no more than that thread. What
 * is known after a second is told while the others are asked. Where users are in this machine's own
 * file a change of it begins a round at once: who gets a number that has just come free would have
 * what starts before the next round.
 *
 * Only what was answered is told. That a number is nobody's is what name services say, too, that
 * are there but have lost what is behind them: where most users are gone at once, the users are
 * not. */
#include "controller/site/owners.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/vec.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "io/work.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#define GAP_US    (30 * USEC_PER_SEC) /* between two rounds */
#define FIRST_US  (5 * USEC_PER_SEC)  /* starts wait for the first round so long at most */
#define PART_US   USEC_PER_SEC        /* then what is known is told */
#define ENTRY_MAX (1u << 20)

struct owner_watch {
    struct controller *c;
    struct timer *next;
    struct owner_round *round; /* under way; NULL = none */
    bool again;                /* a name changed meanwhile: ask once more */
    bool knows;                /* a round is over */
    bool doubted;              /* that most users are gone; it is in the log */
    int changes;               /* inotify of the file of users; -1 = none to be had */
    struct fd_watch *watch;    /* of `changes` */
};

struct owner_round {
    struct owner_watch *watch; /* NULL: it was freed meanwhile */
    struct arena *arena;
    const uint32_t *uid;
    size_t n, at; /* those before `at` were asked */
    size_t told;  /* those of `named` before it were told */
    VEC(struct owner_name) named;
    VEC(struct owner_name) nobody;
};

/* ---- on a thread of the pool ---- */

/* An error says nothing; "not found" has several numbers. */
static bool nobody_has(int rc)
{
    return rc == 0 || rc == ENOENT || rc == ESRCH;
}

static void name_ask(struct owner_round *r, uint32_t uid)
{
    int rc = ERANGE;
    for (size_t size = 4096; size <= ENTRY_MAX && rc == ERANGE; size *= 4) {
        char *room = xmalloc(size);
        struct passwd entry, *found = NULL;
        rc = getpwuid_r(uid, &entry, room, size, &found);
        if (found)
            vec_push(&r->named, ((struct owner_name){uid, arena_strdup(r->arena, found->pw_name)}));
        else if (nobody_has(rc))
            vec_push(&r->nobody, (struct owner_name){.uid = uid});
        free(room);
    }
}

static void part_ask(void *ctx)
{
    struct owner_round *r = ctx;
    int64_t until = clock_monotonic_us() + PART_US;
    do
        name_ask(r, r->uid[r->at++]);
    while (r->at < r->n && clock_monotonic_us() < until);
}

/* ---- on the loop ---- */

static void round_begin(void *ctx);

static void round_free(struct owner_round *r)
{
    vec_done(&r->named);
    vec_done(&r->nobody);
    arena_free(r->arena);
    free(r);
}

static void tell(struct owner_watch *w, const struct owner_name *v, size_t n)
{
    if (n)
        turns_step(w->c->turns, &(struct event){.kind = EV_OWNERS, .owners = v, .nowners = n});
}

/* Who connects has the name that is true now, too. */
static void names_renew(const struct owner_watch *w, const struct owner_round *r)
{
    struct map_u64 *name = map_u64_new();
    for (size_t i = 0; i < r->named.n; i++)
        map_u64_put(name, (uint64_t)r->named.v[i].uid + 1, (void *)(uintptr_t)r->named.v[i].name);
    users_compare(w->c->users, name);
    map_u64_free(name);
}

static void round_end(struct owner_watch *w, struct owner_round *r)
{
    bool doubt = r->nobody.n > 1 && r->nobody.n > r->named.n;
    if (doubt && !w->doubted)
        log_warning(w->c->log,
                    "name services know %zu of %zu users who have jobs no more: that is not "
                    "believed, their jobs go on",
                    r->nobody.n, r->n);
    w->doubted = doubt;
    if (!doubt)
        tell(w, r->nobody.v, r->nobody.n);
    names_renew(w, r);
    round_free(r);
    w->round = NULL;
    if (!w->knows)
        turns_start_later(w->c->turns, 0);
    w->knows = true;
    timer_set(w->next, w->again ? 0 : GAP_US);
    w->again = false;
}

static void part_told(void *ctx)
{
    struct owner_round *r = ctx;
    struct owner_watch *w = r->watch;
    if (!w) {
        round_free(r);
        return;
    }
    tell(w, r->named.v + r->told, r->named.n - r->told);
    r->told = r->named.n;
    if (r->at < r->n)
        work_start(w->c->loop, part_ask, part_told, r);
    else
        round_end(w, r);
}

static void round_begin(void *ctx)
{
    struct owner_watch *w = ctx;
    struct owner_round *r = xcalloc(1, sizeof *r);
    ASSERT(!w->round);
    r->watch = w;
    r->arena = arena_new();
    r->uid = core_owners(w->c->core, r->arena, &r->n);
    w->round = r;
    if (r->n && !w->knows) /* a number may have been given away while no controller was there */
        turns_start_later(w->c->turns, FIRST_US);
    if (r->n)
        work_start(w->c->loop, part_ask, part_told, r);
    else
        round_end(w, r);
}

static void name_changed(void *ctx)
{
    struct owner_watch *w = ctx;
    if (w->round)
        w->again = true;
    else
        timer_set(w->next, 0);
}

/* ---- the file of users ---- */

/* It is written in place, or beside it and moved there: then it is another file from then on. */
static void file_watch(struct owner_watch *w)
{
    inotify_add_watch(w->changes, "/etc", IN_MOVED_TO | IN_ONLYDIR);
    inotify_add_watch(w->changes, "/etc/passwd", IN_CLOSE_WRITE);
}

static void file_changed(void *ctx)
{
    struct owner_watch *w = ctx;
    char events[4096];
    while (read(w->changes, events, sizeof events) > 0) {
    }
    file_watch(w);
    name_changed(w);
}

static void file_watch_begin(struct owner_watch *w)
{
    struct err err = {0};
    w->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (w->changes < 0)
        return;
    w->watch = fd_watch_new(w->c->loop, w->changes, file_changed, w, &err);
    file_watch(w);
}

struct owner_watch *owner_watch_new(struct controller *c)
{
    struct owner_watch *w = xcalloc(1, sizeof *w);
    w->c = c;
    w->next = timer_new(c->loop, round_begin, w);
    users_on_change(c->users, name_changed, w);
    file_watch_begin(w); /* before the first round: nothing is missed in between */
    round_begin(w);
    return w;
}

void owner_watch_free(struct owner_watch *w)
{
    if (!w)
        return;
    users_on_change(w->c->users, NULL, NULL);
    if (w->round)
        w->round->watch = NULL;
    timer_free(w->next);
    fd_watch_free(w->watch);
    if (w->changes >= 0)
        close(w->changes);
    free(w);
}
