#include "controller/session/kept_request.h"

#include "base/alloc.h"
#include "controller/session/session.h"
#include "io/clock.h"
#include "wire/frame.h"

#define WAITING_PER_USER 64
#define WAITING_BYTES    (64u << 20)

struct kept_request *kept_request_new(struct controller *c, uint64_t session,
                                      const struct message *m, const struct peer *peer)
{
    ASSERT(m->kind < MESSAGE_COUNT && m->body && peer);
    const struct fields *t = message_fields(m->kind);
    struct arena *a = arena_new();
    struct kept_request *k = arena_alloc(a, sizeof *k);
    void *body = arena_alloc(a, t->size);
    record_copy(t, body, m->body, a);
    *k = (struct kept_request){.c = c, .session = session, .arena = a, .m = *m, .peer = *peer};
    k->m.body = body;
    k->peer.user = arena_strdup(a, peer->user);
    k->peer.group = arena_strdup(a, peer->group);
    k->peer.groups = arena_strdup(a, peer->groups);
    k->peer.host = arena_strdup(a, peer->host);
    return k;
}

void kept_request_free(struct kept_request *k)
{
    if (k)
        arena_free(k->arena);
}

struct event kept_request_event(const struct kept_request *k)
{
    int64_t now, monotonic;
    clock_both(&now, &monotonic);
    return (struct event){.kind = EV_MESSAGE,
                          .now_us = now,
                          .mono_us = monotonic,
                          .conn = k->session,
                          .peer = &k->peer,
                          .msg = &k->m};
}

void kept_request_refuse(const struct kept_request *k, enum refusal refusal, const char *why)
{
    ASSERT(refusal != REFUSE_NONE);
    struct str frame = STR_INIT;
    struct msg_done done = {.refusal = (int32_t)refusal, .detail = why};
    wire_encode(&(struct message){.kind = MSG_DONE, .seq = k->m.seq, .body = &done}, &frame);
    session_answered(k->c->sessions, k->session, &frame);
    str_done(&frame);
}

bool request_line_is_full(const struct request_line *l, const struct peer *peer)
{
    size_t n = 0, bytes = 0;
    for (const struct kept_request *k = l->first; k; k = k->next) {
        bool his = peers_are_one(&k->peer, peer);
        n += his;
        bytes += his ? arena_used(k->arena) : 0;
    }
    return n >= WAITING_PER_USER || bytes > WAITING_BYTES;
}

void request_line_add(struct request_line *l, struct kept_request *k)
{
    ASSERT(!k->next);
    struct kept_request **at = &l->first;
    k->round = l->round;
    for (; *at; at = &(*at)->next)
        if (peers_are_one(&(*at)->peer, &k->peer) && (*at)->round >= k->round)
            k->round = (*at)->round + 1;
    *at = k;
}

static struct kept_request *one_take(struct request_line *l, request_line_may may, void *ctx)
{
    struct kept_request **best = NULL;
    for (struct kept_request **at = &l->first; *at; at = &(*at)->next)
        if ((!best || (*at)->round < (*best)->round) && (!may || may(ctx, &(*at)->peer)))
            best = at;
    struct kept_request *k = best ? *best : NULL;
    if (k) {
        *best = k->next;
        k->next = NULL;
    }
    return k;
}

struct kept_request *request_line_take(struct request_line *l, request_line_may may, void *ctx)
{
    struct kept_request *k;
    while ((k = one_take(l, may, ctx)) && !session_is_there(k->c->sessions, k->session))
        kept_request_free(k);
    if (k && k->round > l->round)
        l->round = k->round;
    return k;
}

void request_line_drop(struct request_line *l)
{
    while (l->first) {
        struct kept_request *k = l->first;
        l->first = k->next;
        kept_request_free(k);
    }
}
