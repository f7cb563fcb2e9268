/* A slice is short while others are about, so that they wait for it hardly
 * noticeably, and longer while nobody is. After a slice the user pauses: with
 * others about, for several times the slice, which bounds what a flood takes of
 * the loop to a fifth; else until the loop has looked round once. The pause
 * counts what the user's requests cost here; what they cost later (a commit, a
 * plan) is of the same order, and falls into the pause.
 *
 * Who waits is called back few at a time, the longest waiting first: a user
 * with a thousand connections costs no more than one with ten. */
#include "controller/share.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "io/clock.h"

#include <stdlib.h>

#define SLICE_US        (10 * 1000) /* alone */
#define SLICE_OTHERS_US (2 * 1000)  /* with others about */
#define PAUSE_TIMES     4
#define PAUSE_MAX_US    (2 * USEC_PER_SEC)
#define ABOUT_US        USEC_PER_SEC /* who asked for something less long ago is about */
#define FORGET_US       (100 * 1000) /* what was spent before is forgotten */
#define BURST           8            /* connections that go on at once */
#define BYTES_MAX       (64u << 20)

struct share {
    struct shares *all;
    uid_t uid;
    size_t connections, bytes;
    int64_t spent_us, since_us; /* of the slice at hand */
    int64_t free_us;            /* not listened to before */
    struct share_wait *first, **last;
    struct share *next; /* in the list of those that have somebody waiting */
    bool listed;
};

struct shares {
    struct map_u64 *by_uid;
    struct timer *timer;
    struct share *waiting;
    struct {
        bool any;
        uid_t uid;
        int64_t at_us;
    } recent[2]; /* two different users, who asked last first */
};

static void shares_run(void *ctx);

struct shares *shares_new(struct loop *l)
{
    struct shares *all = xcalloc(1, sizeof *all);
    all->by_uid = map_u64_new();
    all->timer = timer_new(l, shares_run, all);
    return all;
}

void shares_free(struct shares *all)
{
    if (!all)
        return;
    CHECK(map_u64_count(all->by_uid) == 0);
    map_u64_free(all->by_uid);
    timer_free(all->timer);
    free(all);
}

struct share *share_join(struct shares *all, uid_t uid)
{
    struct share *s = map_u64_get(all->by_uid, uid);
    if (!s) {
        s = xcalloc(1, sizeof *s);
        *s = (struct share){.all = all, .uid = uid};
        s->last = &s->first;
        map_u64_put(all->by_uid, uid, s);
    }
    s->connections++;
    return s;
}

static void unlist(struct share *s)
{
    for (struct share **at = &s->all->waiting; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    s->listed = false;
}

void share_leave(struct share *s)
{
    if (--s->connections > 0)
        return;
    if (s->listed)
        unlist(s);
    map_u64_del(s->all->by_uid, s->uid);
    free(s);
}

size_t share_connections(const struct shares *all, uid_t uid)
{
    const struct share *s = map_u64_get(all->by_uid, uid);
    return s ? s->connections : 0;
}

/* ---- time ---- */

static bool others_about(const struct share *s, int64_t now_us)
{
    for (int i = 0; i < 2; i++)
        if (s->all->recent[i].any && s->all->recent[i].uid != s->uid &&
            s->all->recent[i].at_us > now_us - ABOUT_US)
            return true;
    return false;
}

static void note_asked(struct share *s, int64_t now_us)
{
    struct shares *all = s->all;
    if (!all->recent[0].any || all->recent[0].uid != s->uid)
        all->recent[1] = all->recent[0];
    all->recent[0].any = true;
    all->recent[0].uid = s->uid;
    all->recent[0].at_us = now_us;
}

bool share_may(const struct share *s)
{
    return s->free_us <= clock_monotonic_us();
}

bool share_others(const struct share *s)
{
    return others_about(s, clock_monotonic_us());
}

int64_t share_pause(const struct share *s)
{
    int64_t now = clock_monotonic_us();
    return s->free_us > now ? s->free_us - now : 0;
}

void share_spent(struct share *s, int64_t us)
{
    int64_t now = clock_monotonic_us();
    bool others = others_about(s, now);
    note_asked(s, now);
    if (now - s->since_us > FORGET_US) {
        s->since_us = now;
        s->spent_us = 0;
    }
    s->spent_us += us;
    if (s->spent_us < (others ? SLICE_OTHERS_US : SLICE_US))
        return;
    int64_t pause = others ? PAUSE_TIMES * s->spent_us : 1;
    s->free_us = now + (pause < PAUSE_MAX_US ? pause : PAUSE_MAX_US);
    s->spent_us = 0;
}

/* ---- waiting ---- */

static void timer_arm(struct shares *all)
{
    int64_t now = clock_monotonic_us(), due = INT64_MAX;
    for (const struct share *s = all->waiting; s; s = s->next)
        due = s->free_us < due ? s->free_us : due;
    if (due == INT64_MAX)
        timer_stop(all->timer);
    else
        timer_set(all->timer, due > now ? due - now : 0);
}

void share_wait(struct share *s, struct share_wait *w, loop_fn fn, void *ctx)
{
    if (w->link)
        return;
    *w = (struct share_wait){.link = s->last, .fn = fn, .ctx = ctx};
    *s->last = w;
    s->last = &w->next;
    if (s->listed)
        return;
    s->listed = true;
    s->next = s->all->waiting;
    s->all->waiting = s;
    timer_arm(s->all);
}

void share_wait_cancel(struct share *s, struct share_wait *w)
{
    if (!w->link)
        return;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    else
        s->last = w->link;
    w->link = NULL;
    if (!s->first && s->listed)
        unlist(s);
}

static void some_go_on(struct share *s)
{
    for (int i = 0; i < BURST && s->first; i++) {
        struct share_wait *w = s->first;
        share_wait_cancel(s, w);
        w->fn(w->ctx);
    }
}

static void shares_run(void *ctx)
{
    struct shares *all = ctx;
    int64_t now = clock_monotonic_us();
    for (struct share *s = all->waiting, *next; s; s = next) {
        next = s->next;
        if (s->free_us <= now)
            some_go_on(s);
    }
    timer_arm(all);
}

/* ---- bytes ---- */

bool share_bytes(struct share *s, ptrdiff_t more)
{
    s->bytes += (size_t)more;
    return more <= 0 || s->bytes <= BYTES_MAX;
}
