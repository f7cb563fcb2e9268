/* What a session may have of the controller: its user's share of time, and room for messages that
 * are not whole yet. */
#include "base/alloc.h"
#include "base/duration.h"
#include "controller/session/inside.h"
#include "controller/site/hosts.h"
#include "io/clock.h"
#include "wire/frame.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define HALF_US    (30 * USEC_PER_SEC) /* for the rest of a message that began */
#define SWEEP_US   (5 * USEC_PER_SEC)
#define PARKED_MAX 512 /* of those from other hosts */

static void session_rested(void *ctx)
{
    struct session *s = ctx;
    s->resting = false;
    session_gate(s);
}

bool session_ready(void *ctx, struct conn *conn)
{
    struct session *s = ctx;
    (void)conn;
    bool bound = s->share && !s->trusted;
    struct user_share *whose = bound ? s->share : s->says;
    if (bound && s->from && !share_may(s->from))
        whose = s->from;
    bool may = !whose || share_may(whose);
    if (may && (bound || crowd_may(s->owner->crowd, &s->place)))
        return true;
    s->resting = true;
    if (!may)
        share_wait(whose, &s->waiting, session_rested, s);
    else
        crowd_wait(s->owner->crowd, &s->place, session_rested, s);
    return false;
}

/* Bytes came, and no whole message. A handshake is not meant: it is an address's. */
static bool is_half(struct session *s, const struct conn *conn)
{
    uint64_t bytes = conn_bytes_in(conn), frames = conn_frames_in(conn);
    bool half = bytes != s->bytes && frames == s->frames && (!s->remote || s->remote->vouched);
    s->bytes = bytes;
    s->frames = frames;
    return half;
}

/* ---- answers that are not read ---- */

void session_unsent_note(struct session *s)
{
    size_t now = conn_unsent(s->conn);
    if (!s->share || s->trusted)
        return;
    share_unsent(s->share, (ptrdiff_t)(now - s->unsent));
    s->unsent = now;
    if (now > CONN_HIGH_BYTES)
        session_gate(s);
    if (s->large && !s->querying && now < CONN_LOW_BYTES) {
        share_large_sent(s->share);
        s->large = false;
    }
}

/* It holds memory until it is read, or until all parts of it are made. */
static bool is_large(const struct message *m)
{
    if (m->kind == MSG_GET_SCRIPT)
        return true;
    if (m->kind != MSG_QUERY)
        return false;
    enum query_what what = (enum query_what)((const struct msg_query *)m->body)->what;
    return what == QUERY_FAIR_SHARES || what == QUERY_SHARES || what == QUERY_IN_USE ||
           what == QUERY_LIMIT_USE;
}

bool session_reads_on(struct session *s, const struct message *m)
{
    if (!s->share || s->trusted)
        return true;
    if (share_unread(s->share)) {
        session_refuse(s, m->seq, REFUSE_BUSY,
                       "answers of more than 128 MiB are on their way to you on other connections "
                       "and nobody reads them: read or close these first");
        conn_close(s->conn);
        return false;
    }
    if (!is_large(m) || s->large)
        return true;
    s->large = share_large(s->share);
    if (!s->large)
        session_refuse(s, m->seq, REFUSE_BUSY,
                       "eight scripts, or listings of what was used, are on their way to you "
                       "already: read them, then ask again");
    return s->large;
}

void session_worked(void *ctx, struct conn *conn, int64_t ns)
{
    struct session *s = ctx;
    session_unsent_note(s);
    if (s->answer && conn_unsent(conn) == 0) {
        int64_t began = clock_thread_ns();
        session_pump(s);
        ns += clock_thread_ns() - began;
    }
    bool half = is_half(s, conn);
    if (!s->share || s->trusted)
        crowd_spent(s->owner->crowd, &s->place, ns);
    if (s->share && half)
        share_spent_on_half(s->share, ns);
    else if (s->share)
        share_spent(s->share, ns);
    if (s->share && (!s->remote || s->remote->vouched))
        shares_spent_from(s->owner->shares, s->from, ns);
}

/* ---- connections that wait ----
 *
 * To take a connection in costs far more than to see whose it is. One of a user who has had more
 * than a fair share stays what the kernel has of it until it is that user's turn. */

struct parked {
    struct sessions *owner;
    struct user_share *share;
    bool remote;
    struct share_wait wait;
    int fd;
    struct parked *next, **link;
};

static int parked_take(struct parked *p)
{
    int fd = p->fd;
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    *(p->remote ? &p->owner->nparked_remote : &p->owner->nparked) -= 1;
    share_wait_cancel(&p->wait);
    share_leave(p->share);
    free(p);
    return fd;
}

static void parked_go_on(void *ctx)
{
    struct parked *p = ctx;
    struct sessions *all = p->owner;
    bool remote = p->remote;
    int fd = parked_take(p);
    if (remote)
        session_begin_remote(all, fd, hosts_tls(all->c->hosts));
    else
        session_begin(all, fd);
}

/* With a sentence, as far as the socket takes it. */
static void parked_refuse(int fd, const char *why)
{
    struct str frame = STR_INIT;
    struct msg_done done = {.refusal = REFUSE_BUSY, .detail = why};
    wire_encode(&(struct message){.kind = MSG_DONE, .body = &done}, &frame);
    if (send(fd, frame.data, frame.len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* whoever does not read it knows no more than that the connection ended */
    }
    str_done(&frame);
    close(fd);
}

static void park(struct sessions *all, int fd, struct user_share *share, bool remote)
{
    struct parked *p = xcalloc(1, sizeof *p);
    *p = (struct parked){.owner = all,
                         .share = share,
                         .remote = remote,
                         .fd = fd,
                         .next = all->parked,
                         .link = &all->parked};
    if (all->parked)
        all->parked->link = &p->next;
    all->parked = p;
    *(remote ? &all->nparked_remote : &all->nparked) += 1;
    share_wait(share, &p->wait, parked_go_on, p);
}

bool session_park(struct sessions *all, int fd, const struct conn_peer *who)
{
    ASSERT(fd >= 0);
    int64_t began = clock_thread_ns();
    struct user_share *share = session_share_here(all, who);
    bool surplus = session_surplus(all, share, share_count(share) - 1);
    bool may = share_may(share);
    if (!may && !surplus)
        park(all, fd, share, false);
    if (!may && surplus)
        parked_refuse(fd, session_surplus_text(all, who, share, all->arena));
    if (!may)
        share_spent(share, clock_thread_ns() - began);
    if (may || surplus)
        share_leave(share);
    return !may;
}

bool session_park_remote(struct sessions *all, int fd, const char *address)
{
    ASSERT(fd >= 0);
    struct user_share *share = share_join_address(all->shares, address);
    bool may = share_may(share), surplus = all->nparked_remote >= PARKED_MAX;
    if (!may && !surplus)
        park(all, fd, share, true);
    if (!may && surplus)
        close(fd);
    if (may || surplus)
        share_leave(share);
    return !may;
}

void sessions_unpark(struct sessions *all)
{
    while (all->parked)
        close(parked_take(all->parked));
}

void session_kept(void *ctx, struct conn *conn, ptrdiff_t more)
{
    struct session *s = ctx;
    s->kept += (size_t)more;
    if (more > 0 && !s->owner->sweeping) {
        s->owner->sweeping = true;
        timer_set(s->owner->sweep, SWEEP_US);
    }
    if (!s->share || share_bytes(s->share, more) || s->trusted)
        return;
    session_refuse(s, 0, REFUSE_TOO_LARGE,
                   "your unfinished messages to the controller have too many bytes together");
    conn_close(conn);
}

/* Whoever begins a message and does not end it holds memory that others may need. */
void halves_sweep(void *ctx)
{
    struct sessions *all = ctx;
    struct map_walk at = {0};
    int64_t before = clock_monotonic_us() - HALF_US;
    all->sweeping = false;
    while (map_u64_next(all->by_id, &at)) {
        struct session *s = at.value;
        int64_t since = conn_half_since(s->conn);
        all->sweeping |= since != 0;
        if (!since || since > before || s->trusted || conn_is_closing(s->conn))
            continue;
        session_refuse(s, 0, REFUSE_BAD_MESSAGE, "half of a message came, and not its rest");
        conn_close(s->conn);
    }
    if (all->sweeping)
        timer_set(all->sweep, SWEEP_US);
}
