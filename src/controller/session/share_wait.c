/* Who waits is called back few at a time, the longest waiting first: a user with a thousand
 * connections costs no more than one with ten. */
#include "base/alloc.h"
#include "base/map.h"
#include "controller/session/share_inside.h"

#define BURST 8 /* connections that go on at once */

void share_unlist(struct user_share *s)
{
    for (struct user_share **at = &s->all->waiting; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            if (!*at)
                s->all->last_waiting = at;
            break;
        }
    s->listed = false;
}

static void timer_arm(struct shares *all)
{
    int64_t now = loop_served_us(all->loop), first = INT64_MAX;
    for (const struct user_share *s = all->waiting; s; s = s->next)
        first = share_due(s) < first ? share_due(s) : first;
    if (first == INT64_MAX)
        timer_stop(all->timer);
    else
        timer_set(all->timer, first > now ? first - now : 0);
}

void share_vouch(struct user_share *s)
{
    if (s->vouched)
        return;
    map_u64_del(s->all->strangers, s->key);
    map_u64_put(s->all->by_uid, s->key, s);
    s->vouched = true;
    s->debt_ns = 0;
    s->free_us = 0;
    timer_arm(s->all);
}

void share_wait(struct user_share *s, struct share_wait *w, loop_fn fn, void *ctx)
{
    ASSERT(fn);
    if (w->link)
        return;
    *w = (struct share_wait){.of = s, .link = s->last, .fn = fn, .ctx = ctx};
    *s->last = w;
    s->last = &w->next;
    if (s->listed)
        return;
    s->listed = true;
    s->next = NULL;
    *s->all->last_waiting = s;
    s->all->last_waiting = &s->next;
    timer_arm(s->all);
}

void share_wait_cancel(struct share_wait *w)
{
    if (!w->link)
        return;
    struct user_share *s = w->of;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    else
        s->last = w->link;
    w->link = NULL;
    if (!s->first && s->listed)
        share_unlist(s);
}

static void some_go_on(struct user_share *s)
{
    for (int i = 0; i < BURST && s->first; i++) {
        struct share_wait *w = s->first;
        share_wait_cancel(w);
        w->fn(w->ctx);
    }
}

void shares_run(void *ctx)
{
    struct shares *all = ctx;
    for (struct user_share *s = all->waiting, *next; s; s = next) {
        next = s->next;
        if (share_may(s)) /* as it is now: one that goes on may have been too much for the next */
            some_go_on(s);
    }
    timer_arm(all);
}
