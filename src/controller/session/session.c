/* Sessions.
 *
 * A connection's life: accepted → its user looked up (frames wait) → frames are decoded and
 * stepped or answered → closed. Input stops while the user is not known yet, while a query of
 * this connection is being answered, and while it has more than ASKED_MAX requests in one turn:
 * so one connection can neither starve the others nor fill the memory, and answers come in
 * order. */
#include "base/alloc.h"
#include "base/duration.h"
#include "controller/query.h"
#include "controller/series_store.h"
#include "controller/session/amend.h"
#include "controller/session/inside.h"
#include "controller/session/questions.h"
#include "controller/session/submit_filter.h"
#include "controller/site/config_file.h"
#include "controller/traffic.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "io/net/tcp_socket.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASKED_MAX  2048        /* requests of one connection in one turn */
#define UNSENT_MAX (64u << 20) /* of clients; nodes get conn.h's */

struct sessions *sessions_new(struct controller *c)
{
    struct sessions *s = xcalloc(1, sizeof *s);
    s->c = c;
    s->by_id = map_u64_new();
    s->shares = shares_new(c->loop);
    s->crowd = crowd_new(c->loop);
    s->rates = rates_new();
    s->unknown_last = &s->unknown;
    s->sweep = timer_new(c->loop, halves_sweep, s);
    s->arena = arena_new();
    return s;
}

void sessions_free(struct sessions *s)
{
    if (!s)
        return;
    CHECK(map_u64_count(s->by_id) == 0);
    map_u64_free(s->by_id);
    shares_free(s->shares);
    crowd_free(s->crowd);
    rates_free(s->rates);
    timer_free(s->sweep);
    str_done(&s->same);
    arena_free(s->arena);
    free(s);
}

/* True: it was too many. */
static bool surplus_refuse(struct session *s)
{
    arena_reset(s->owner->arena);
    const char *why = session_share_surplus(s, s->owner->arena);
    if (!why)
        return false;
    session_refuse(s, 0, REFUSE_BUSY, why);
    conn_close(s->conn);
    return true;
}

static void user_found(void *ctx)
{
    struct session *s = ctx;
    s->user_known = true;
    if (s->share)
        session_recount(s);
    session_guest(s);
    if (!surplus_refuse(s))
        session_gate(s);
}

/* The reason why this connection cannot be served, or NULL. Node daemons have no limit of this
 * kind: after a restart all of a large cluster come at once, as root. */
static const char *unwelcome(struct session *s, struct arena *a, enum refusal *ret)
{
    *ret = REFUSE_ACCESS_DENIED;
    if (!s->who.known)
        return "it is not known who is at the other end of the connection";
    if (geteuid() != 0 && !s->trusted)
        return arena_printf(a, "this cluster was started by uid %u and runs jobs of that user only",
                            (unsigned)geteuid());
    *ret = REFUSE_BUSY;
    const char *too_many = session_host_surplus(s, a);
    if (too_many)
        return too_many;
    s->surplus = session_surplus(s->owner, NULL, share_connections(s->owner->shares, s->who.uid));
    return s->surplus && !s->trusted ? session_surplus_text(s->owner, &s->who, NULL, a) : NULL;
}

/* ---- frames in ---- */

/* A configuration that cannot be read is refused to the one who asked, rather than in the log
 * alone. */
static bool config_is_good(struct session *s, uint64_t seq, const struct peer *peer,
                           const struct message *m)
{
    const struct msg_daemon *d = m->body;
    struct config config;
    struct err err = {0};
    if (m->kind != MSG_DAEMON || d->action != DAEMON_RECONFIGURE || !peer->is_admin)
        return true;
    if (config_file_read(s->owner->c->config_path, &config, &err)) {
        config_done(&config);
        return true;
    }
    session_refuse(s, seq, REFUSE_UPDATE, err.text);
    return false;
}

static void store_refuse(struct session *s, uint64_t seq)
{
    const char *why;
    turns_store_away(s->owner->c->turns, &why);
    session_refuse(
        s, seq, REFUSE_STORE,
        arena_printf(
            s->owner->arena,
            "the store is away: %s. Nothing was changed; running jobs go on; try again later",
            why));
}

static void message_take(struct session *s, const struct message *m)
{
    struct controller *c = s->owner->c;
    struct peer peer = session_peer(s);
    enum who who = message_table[m->kind].who;
    if (s->surplus && m->kind != MSG_NODE_HELLO) {
        session_refuse(s, m->seq, REFUSE_BUSY,
                       session_surplus_text(s->owner, &s->who, s->share, s->owner->arena));
        conn_close(s->conn);
    } else if (who == WHO_CONTROLLER || who == WHO_STREAM || (who == WHO_NODE && !s->trusted)) {
        session_refuse(s, m->seq, who == WHO_NODE ? REFUSE_ACCESS_DENIED : REFUSE_BAD_MESSAGE,
                       "only node daemons, started by root or by the user of the controller, and "
                       "the controller send "
                       "this");
        conn_close(s->conn);
    } else if (m->kind == MSG_SERIES) {
        if (s->node)
            series_store_add(c->series, s->id, s->node, m->body);
    } else if (m->kind == MSG_GET_SERIES) {
        s->querying = true;
        session_gate(s);
        series_store_ask(c->series, s->id, m->seq, m->body, &peer);
    } else if (m->kind == MSG_QUERY) {
        s->querying = true;
        session_gate(s);
        query_run(c, s->id, m->seq, m->body, &peer);
    } else if (!session_reads(m) && !turns_admit(c->turns, who == WHO_NODE)) {
        if (who != WHO_NODE) /* nodes repeat their reports */
            store_refuse(s, m->seq);
    } else if (m->kind == MSG_AMEND_JOBS) {
        s->querying = true;
        session_gate(s);
        amend_ask(c->amends, s->id, m, &peer);
    } else if (submit_filters_want(c, m)) {
        s->querying = true;
        session_gate(s);
        submit_filter_ask(c->submit_filters, s->id, m, &peer);
    } else if (core_asks_much(c->core, m)) {
        s->querying = true;
        session_gate(s);
        question_ask(c->questions, s->id, m, &peer);
    } else if (m->kind == MSG_GET_SCRIPT && s->large) {
        s->querying = s->scripting = true;
        s->script_seq = m->seq;
        session_gate(s);
        session_step(
            s,
            &(struct message){
                .kind = m->kind, .seq = SCRIPT_CALL, .request = m->request, .body = m->body},
            &peer);
    } else if (m->kind == MSG_MAKE_TOKEN && peer.is_admin) {
        struct msg_make_token make;
        struct token token;
        if (token_prepare(s, m, &make, &token))
            session_step(s, &(struct message){.kind = m->kind, .seq = m->seq, .body = &make},
                         &peer);
    } else if (m->kind == MSG_JOIN || m->kind == MSG_VOUCH || m->kind == MSG_RENEW) {
        session_refuse(s, m->seq, REFUSE_BAD_MESSAGE, "this is for other hosts, over TLS");
    } else if (config_is_good(s, m->seq, &peer, m)) {
        session_step(s, m, &peer);
    }
}

static void message_counted(struct session *s, const struct message *m, int64_t spent_us)
{
    struct peer peer = session_peer(s);
    const struct msg_daemon *d = m->body;
    traffic_count(s->owner->c->traffic, m, peer.uid, peer.user, spent_us);
    if (m->kind == MSG_DAEMON && d->action == DAEMON_RESET_DIAG && peer.is_admin)
        traffic_reset(s->owner->c->traffic);
}

static void asked_count(struct session *s)
{
    uint64_t turn = turns_count(s->owner->c->turns);
    if (s->asked_turn != turn)
        s->asked = 0;
    s->asked_turn = turn;
    if (++s->asked < ASKED_MAX || s->held)
        return;
    s->held = true;
    s->next_held = s->owner->held;
    s->owner->held = s;
    session_gate(s);
}

/* May the user ask that now? Else he is told when. As in Slurm root and SlurmUser always may. What
 * a running srun says of its own step belongs to a request that was counted. */
static bool rate_admits(struct session *s, const struct message *m)
{
    const struct controller *c = s->owner->c;
    struct peer peer = session_peer(s);
    enum who who = message_table[m->kind].who;
    bool say, free = m->kind == MSG_ATTACH || m->kind == MSG_CREATE_STEP ||
                     m->kind == MSG_ATTACH_STEP || m->kind == MSG_FINISH_JOB;
    if (peer.is_admin || free || who == WHO_NODE || who == WHO_CONTROLLER || who == WHO_STREAM)
        return true;
    int64_t again_us = rate_take(s->owner->rates, &c->config.settings.word, peer_payer(&peer),
                                 clock_monotonic_us(), &say);
    if (!again_us)
        return true;
    if (say)
        log_info(c->log, "requests of uid %u come faster than rl_refill_rate allows: %s is to wait",
                 (unsigned)peer.uid, message_table[m->kind].name);
    session_refuse_now(s, m->seq, again_us,
                       arena_printf(s->owner->arena,
                                    "you make more requests than this cluster allows "
                                    "(SlurmctldParameters=rl_enable): try again in %.1f s",
                                    (double)again_us / 1e6));
    return false;
}

#define SHORT_BYTES (32u << 10) /* decoded in a millisecond, whatever it is */

/* A frame says itself what it is, and few may say much at once. */
static bool frame_decode(const struct session *s, const struct frame *f, struct message *ret,
                         struct err *ret_err)
{
    if (!s->trusted && f->json_len > SHORT_BYTES) {
        struct peer peer = session_peer(s);
        if (!core_loads_accounts(s->owner->c->core, &peer))
            return wire_decode_of_user(f, s->owner->arena, ret, ret_err);
    }
    return wire_decode(f, s->owner->arena, ret, ret_err);
}

static bool call_is_its_own(struct session *s, uint64_t call)
{
    if (call != SCRIPT_CALL)
        return true;
    session_refuse(s, call, REFUSE_BAD_MESSAGE, "no call has the number 2^64 - 1");
    return false;
}

static void session_frame(void *ctx, struct conn *conn, const struct frame *f)
{
    struct session *s = ctx;
    struct message m;
    struct err err = {0};
    if (s->owner->draining)
        return;
    int64_t began_ns = s->says ? clock_thread_ns() : 0;
    arena_reset(s->owner->arena);
    if (!frame_decode(s, f, &m, &err)) {
        session_refuse(s, 0, REFUSE_BAD_MESSAGE, err.text);
        conn_close(conn);
        return;
    }
    if (call_is_its_own(s, m.seq) && (!s->remote || remote_admits(s, &m))) {
        int64_t began = clock_monotonic_us();
        if (session_reads_on(s, &m) && rate_admits(s, &m))
            message_take(s, &m);
        int64_t spent = clock_monotonic_us() - began;
        message_counted(s, &m, spent);
    }
    if (s->says && message_table[m.kind].who == WHO_NODE)
        shares_said(s->owner->shares, s->says, clock_thread_ns() - began_ns);
    asked_count(s);
}

static void session_garbage(void *ctx, struct conn *conn, const struct err *why)
{
    (void)conn;
    session_refuse(ctx, 0, REFUSE_BAD_MESSAGE, why->text);
}

void sessions_released(struct sessions *s)
{
    struct session *one = s->held;
    s->same_body = NULL; /* the turn's memory is used again */
    remote_sweep(s);
    s->held = NULL;
    while (one) {
        struct session *next = one->next_held;
        one->held = false;
        one->next_held = NULL;
        session_gate(one);
        one = next;
    }
}

/* ---- life ---- */

static void held_remove(struct session *s)
{
    for (struct session **at = &s->owner->held; *at; at = &(*at)->next_held)
        if (*at == s) {
            *at = s->next_held;
            return;
        }
}

static void session_drained(void *ctx, struct conn *conn)
{
    struct session *s = ctx;
    (void)conn;
    session_pump(s);
    session_gate(s);
}

static void session_closed(void *ctx, struct conn *conn, const struct err *why)
{
    struct session *s = ctx;
    struct sessions *all = s->owner;
    (void)conn;
    if (why->code != ERR_NONE)
        log_debug(all->c->log, "connection %llu of uid %u ended: %s", (unsigned long long)s->id,
                  (unsigned)s->who.uid, why->text);
    map_u64_del(all->by_id, s->id);
    session_uncount(s);
    if (s->says)
        share_leave(s->says);
    crowd_leave(&s->place);
    all->nodes -= s->is_node && s->trusted;
    held_remove(s);
    session_out_done(s);
    if (s->spoke && !all->draining)
        turns_step(all->c->turns,
                   &(struct event){.kind = EV_CLOSED, .conn = s->id, .text = why->text});
    if (!s->user_known)
        users_cancel(all->c->users, s->who.uid, s->who.gid, s);
    if (s->user_kept)
        users_let_go(all->c->users, s->who.uid, s->who.gid);
    remote_end(s);
    free(s->node);
    free(s->remark);
    free(s);
    if (all->draining && sessions_count(all) == 0)
        loop_stop(all->c->loop);
}

static const struct conn_ops session_ops = {
    .frame = session_frame,
    .closed = session_closed,
    .drained = session_drained,
    .garbage = session_garbage,
    .ready = session_ready,
    .kept = session_kept,
    .worked = session_worked,
};

void session_admit(struct session *s)
{
    struct sessions *all = s->owner;
    enum refusal refusal;
    session_uncount(s); /* of the address from which nobody had spoken */
    session_count_host(s);
    const char *why = unwelcome(s, all->arena, &refusal);
    if (why) {
        s->user_known = true;
        session_refuse(s, 0, refusal, why);
        conn_close(s->conn);
        return;
    }
    session_count(s);
    users_keep(all->c->users, s->who.uid, s->who.gid);
    s->user_kept = true;
    s->user_known = users_recent(all->c->users, s->who.uid, s->who.gid) != NULL;
    if (s->user_known)
        session_guest(s);
    if (surplus_refuse(s))
        return;
    session_gate(s);
    if (!s->user_known)
        users_ask(all->c->users, s->who.uid, s->who.gid, user_found, s);
}

static struct session *session_new(struct sessions *all, int fd, struct tls_context *tls)
{
    struct session *s = xcalloc(1, sizeof *s);
    struct err err = {0};
    s->owner = all;
    s->id = ++all->last_id;
    s->last = &s->first;
    if (tls)
        s->conn = conn_new_tls(all->c->loop, fd, tls, &session_ops, s, &err);
    else
        s->conn = conn_new(all->c->loop, fd, &session_ops, s, &err);
    if (!s->conn) {
        log_warning(all->c->log, "%s", err.text);
        free(s);
        return NULL;
    }
    map_u64_put(all->by_id, s->id, s);
    conn_set_unsent_max(s->conn, UNSENT_MAX);
    conn_set_frame_max(s->conn, FRAME_MAX_BYTES);
    arena_reset(all->arena);
    return s;
}

static bool is_trusted(const struct conn_peer *who)
{
    return who->known && (who->uid == 0 || who->uid == geteuid());
}

void session_begin(struct sessions *all, int fd)
{
    ASSERT(fd >= 0);
    int64_t began = clock_thread_ns();
    struct session *s = session_new(all, fd, NULL);
    if (!s)
        return;
    s->who = conn_peer(s->conn);
    s->trusted = is_trusted(&s->who);
    session_admit(s);
    if (s->share)
        share_spent(s->share, clock_thread_ns() - began);
}

void session_accept(void *ctx, int fd)
{
    const struct conn_peer who = conn_peer_of(fd);
    if (is_trusted(&who) || !who.known || !session_park(ctx, fd, &who))
        session_begin(ctx, fd);
}

void session_begin_remote(struct sessions *all, int fd, struct tls_context *tls)
{
    ASSERT(fd >= 0 && tls);
    int64_t began = clock_thread_ns();
    struct session *s = session_new(all, fd, tls);
    if (!s)
        return;
    s->user_known = true; /* nobody speaks yet */
    remote_begin(s, fd);
    s->share = share_join_address(all->shares, s->remote->address);
    share_spent(s->share, clock_thread_ns() - began);
}

void session_accept_remote(struct sessions *all, int fd, struct tls_context *tls)
{
    arena_reset(all->arena);
    if (!session_park_remote(all, fd, tcp_socket_peer(fd, all->arena)))
        session_begin_remote(all, fd, tls);
}

void sessions_close(struct sessions *all, bool at_once)
{
    struct map_walk at = {0};
    all->draining = true;
    sessions_unpark(all);
    while (map_u64_next(all->by_id, &at)) {
        struct session *s = at.value;
        if (at_once)
            conn_abort(s->conn);
        else
            conn_close(s->conn);
    }
    if (sessions_count(all) == 0)
        loop_stop(all->c->loop);
}
