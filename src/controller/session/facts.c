/* What can be told of a session, and the little that anybody may do to one: hold its input, refuse,
 * close, charge its user. */
#include "base/alloc.h"
#include "controller/session/causes.h"
#include "controller/session/inside.h"
#include "model/limits.h"

#include <stdlib.h>
#include <unistd.h>

#define CONNECTIONS_LEAST 16 /* that any user may have, however many others have */
#define UNSENT_GATE       (8u << 20)

size_t sessions_count(const struct sessions *s)
{
    return map_u64_count(s->by_id);
}

bool session_is_there(const struct sessions *s, uint64_t id)
{
    const struct session *one = map_u64_get(s->by_id, id);
    return one && !conn_is_closing(one->conn);
}

void session_gate(struct session *s)
{
    bool behind = !s->trusted && conn_unsent(s->conn) > UNSENT_GATE; /* reads too slowly */
    bool asks = s->querying || s->answer || s->reading;              /* one answer at a time */
    if (!s->user_known || asks || s->held || s->resting || behind)
        conn_pause(s->conn);
    else
        conn_resume(s->conn);
}

void session_refuse(struct session *s, uint64_t seq, enum refusal refusal, const char *detail)
{
    ASSERT(refusal != REFUSE_NONE && refusal < REFUSAL_COUNT);
    struct msg_done done = {.refusal = (int32_t)refusal, .detail = detail};
    struct message m = {.kind = MSG_DONE, .seq = seq, .body = &done};
    conn_send_message(s->conn, &m);
}

void session_refuse_now(struct session *s, uint64_t seq, int64_t again_us, const char *detail)
{
    struct msg_done done = {.refusal = REFUSE_RATE_LIMITED, .detail = detail, .again_us = again_us};
    struct message m = {.kind = MSG_DONE, .seq = seq, .body = &done};
    conn_send_message(s->conn, &m);
}

/* Node daemons do not count (those of root or of who started the cluster: others could call
 * themselves so), nor does who has not said who it is: that has a limit of its own. */
static size_t counted(const struct sessions *s)
{
    return sessions_count(s) + s->nparked - s->nodes - s->unknown_count;
}

/* Where connections run short nobody may have more than half of what is left: a few users, or a few
 * hosts with as many users as they like, cannot shut the others out. */
static size_t fair_limit(const struct sessions *s)
{
    size_t used = counted(s);
    size_t left = used < LIMIT_CONNECTIONS ? LIMIT_CONNECTIONS - used : 0;
    return left / 2 + CONNECTIONS_LEAST;
}

static size_t share_limit(const struct sessions *s, const struct user_share *share)
{
    return share_connections_most(share, fair_limit(s));
}

const char *session_surplus_text(const struct sessions *s, const struct conn_peer *who,
                                 const struct user_share *share, struct arena *a)
{
    size_t most = share_limit(s, share);
    const char *few = most == fair_limit(s) ? " while others have so many" : "";
    if (counted(s) > LIMIT_CONNECTIONS)
        return arena_printf(a, "the controller has %u connections; no more are allowed",
                            LIMIT_CONNECTIONS);
    if (!share || !share_is_guests(share))
        return arena_printf(a,
                            "uid %u has %zu connections to the controller; no more are allowed%s",
                            (unsigned)who->uid, most, few);
    return arena_printf(
        a,
        "%s (uid %u is one) have %zu connections to the controller together; no more are allowed%s",
        users_cached(s->c->users, who->uid, who->gid)
            ? "users whom the name services do not know"
            : "users for whom the name services are being asked",
        (unsigned)who->uid, most, few);
}

bool session_surplus(const struct sessions *s, const struct user_share *share, size_t has)
{
    return counted(s) > LIMIT_CONNECTIONS || has >= share_limit(s, share);
}

const char *session_share_surplus(const struct session *s, struct arena *a)
{
    bool many = s->share && !s->trusted && share_count(s->share) > share_limit(s->owner, s->share);
    return many ? session_surplus_text(s->owner, &s->who, s->share, a) : NULL;
}

const char *session_host_surplus(const struct session *s, struct arena *a)
{
    const struct host *h = s->from ? remote_host(s) : NULL;
    if (!h || share_count(s->from) <= fair_limit(s->owner))
        return NULL;
    return arena_printf(a,
                        "host %s has %zu connections to the controller; no more are allowed while "
                        "others have so many",
                        h->name, share_count(s->from) - 1);
}

const struct host *remote_host(const struct session *s)
{
    return core_host(s->owner->c->core, conn_tls_peer(s->conn));
}

/* The group of a user whose host is not believed: the one it names if the controller finds the user
 * in it, else the user's own. */
static void remote_group(const struct session *s, const struct user *u, struct peer *p)
{
    const struct user_group *named = user_group(u, s->remote->gid);
    if (named) {
        p->gid = named->gid;
        p->group = named->name;
    } else { /* a user without an entry is the one whose cluster this is */
        p->gid = u->gid == GID_OF_USER ? getegid() : u->gid;
    }
}

struct peer session_peer(const struct session *s)
{
    struct controller *c = s->owner->c;
    const struct user *u = users_cached(c->users, s->who.uid, s->who.gid);
    const char *slurm_user = c->config.settings.slurm_user;
    struct peer p = {.uid = s->who.uid, .gid = s->who.gid, .host = c->host};
    if (u) {
        p.user = u->name;
        p.group = u->group;
        p.groups = u->groups;
    }
    const struct host *from = s->remote ? remote_host(s) : NULL;
    p.is_admin = s->trusted || (p.user && !text_empty(slurm_user) && text_is(p.user, slurm_user));
    p.is_daemon = s->trusted;
    if (!s->remote)
        return p;
    enum host_kind kind = from ? (enum host_kind)from->kind : HOST_KIND_UNSET;
    p.host = from ? from->name : s->remote->address;
    p.host_unsure = !from || (kind != HOST_TRUSTED && !from->named);
    p.is_admin = p.is_admin && host_may_send(kind, WHO_ADMIN);
    p.is_daemon = p.is_daemon && host_may_send(kind, WHO_NODE);
    p.is_plain = !host_may_send(kind, WHO_OPERATOR);
    if (u && !host_kinds[kind].groups)
        remote_group(s, u, &p);
    return p;
}

int64_t session_spent(struct sessions *all, uint64_t id, int64_t ns)
{
    ASSERT(ns >= 0);
    struct session *s = map_u64_get(all->by_id, id);
    if (!s || !s->share || s->trusted)
        return 0;
    share_spent(s->share, ns);
    shares_spent_from(all->shares, s->from, ns);
    int64_t own = share_pause(s->share), host = s->from ? share_pause(s->from) : 0;
    return own > host ? own : host;
}

bool session_hurry(const struct sessions *all, uint64_t id)
{
    const struct session *s = map_u64_get(all->by_id, id);
    return s && s->share && !s->trusted && share_others(s->share);
}

uint64_t session_origin(const struct sessions *all, uint64_t id)
{
    const struct session *s = map_u64_get(all->by_id, id);
    const struct user_share *of = s ? s->is_node ? s->says : s->from : NULL;
    return of ? share_mark(of) : 0;
}

const char *session_guests_of(const struct sessions *s, const char *host)
{
    return !host || text_is(host, s->c->host) ? GUESTS_HERE : host;
}

uint64_t session_payer(const struct sessions *all, uint64_t id, const struct peer *who)
{
    const struct session *s = map_u64_get(all->by_id, id);
    if (s && s->share)
        return share_mark(s->share);
    bool made_up = !s && peer_is_nameless(who) && !who->is_plain;
    return made_up ? share_guests_mark(session_guests_of(all, who->host)) : who->uid;
}

void session_caused(struct sessions *all, const struct turn_cause *who, int64_t cost_ns,
                    int64_t took_us)
{
    shares_caused(all->shares, who->by, cost_ns, took_us);
    if (who->from)
        shares_caused_from(all->shares, who->from, cost_ns);
}

void session_close(struct sessions *all, uint64_t id)
{
    struct session *s = map_u64_get(all->by_id, id);
    if (s)
        conn_close(s->conn);
}
