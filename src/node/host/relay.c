/* The relay of a host that joined: `remudad relay --state DIR`.
 *
 * It listens at DIR/controller.sock, as the controller does on its own host, so that commands, node
 * daemons and what runs in jobs need not know where they are. Each connection there becomes one
 * over TLS to the controller; the first thing said on it is who has connected, by the word of this
 * host's kernel. Then frames go both ways as they are, each side as fast as the other takes them.
 * When either end goes, the other is closed; who wants to stay connects again. It also has the
 * host's certificate renewed when a third of its life is left. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "io/build.h"
#include "io/client/client.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/log.h"
#include "io/net/cert.h"
#include "io/net/conn.h"
#include "io/net/listen.h"
#include "io/net/name_lookup.h"
#include "io/net/splice.h"
#include "io/process/confine.h"
#include "io/process/daemon.h"
#include "model/limits.h"
#include "model/protocol.h"
#include "node/host/entrance.h"
#include "node/host/host_file.h"
#include "node/node.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RENEW_AGAIN_US USEC_PER_MIN
#define LOOKUP_WAIT_US (5 * USEC_PER_SEC)

/* What a user of this host has here. Of root there is no limit: its node daemon keeps the host
 * going. */
struct relay_user {
    size_t pairs, bytes; /* `bytes` of messages that are not whole */
};

struct relay {
    struct arena *arena;
    struct map_u64 *users; /* uid → struct relay_user */
    const char *state_dir;
    struct loop *loop;
    struct log *log;
    struct listener *listener;
    struct host_file file;
    struct tls_context *tls;
    struct entrance *entrance;
    struct tcp_address to;
    bool found;   /* `to` is known */
    bool reached; /* the controller was once there: better than no address */
    bool told;    /* that the controller cannot be reached */
    struct timer *renew;
    struct conn *renewing;
    struct name_lookup *lookup; /* of `to`, while it is under way … */
    struct relay_pair *waiting; /* … and who waits for it */
};

/* A process of this host at the near end, the controller at the far one. */
struct relay_pair {
    struct splice splice; /* first: the callbacks get this */
    struct relay *relay;
    bool heard; /* the controller has said something */
    /* a node daemon: it tries again by itself, more slowly while nothing comes back. */
    bool is_node;
    struct conn_peer who;
    struct relay_user *user; /* NULL: it was refused */
    struct entrance_place place;
    struct relay_pair *next; /* in relay.waiting */
};

static struct conn *near_of(const struct relay_pair *p)
{
    return p->splice.end[SPLICE_NEAR];
}

static void pair_frame(struct splice *s, enum splice_end from, const struct frame *f)
{
    struct relay_pair *p = (struct relay_pair *)s;
    static const char hello[] = "\"type\":\"node_hello\"";
    if (from == SPLICE_FAR) {
        entrance_passed(p->relay->entrance, &p->place);
        p->heard = p->relay->reached = true;
        p->relay->told = false;
    } else if (!p->heard && memmem(f->json, f->json_len, hello, sizeof hello - 1)) {
        p->is_node = true;
    }
}

/* ---- ends ---- */

static void waiting_remove(struct relay_pair *p)
{
    for (struct relay_pair **at = &p->relay->waiting; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            return;
        }
}

/* To people the reason is said, in the words of a refusal. */
static void near_tell(struct relay_pair *p, const char *why)
{
    struct relay *r = p->relay;
    struct str text = STR_INIT;
    str_addf(&text, "the controller at %s cannot be reached: %s", r->file.controller, why);
    if (!r->told)
        log_warning(r->log, "%s", str_text(&text));
    r->told = true;
    r->found = false; /* perhaps its address has changed */
    struct msg_done done = {.refusal = REFUSE_NO_CONTROLLER, .detail = str_text(&text)};
    if (near_of(p) && !p->is_node)
        conn_send_message(near_of(p), &(struct message){.kind = MSG_DONE, .body = &done});
    str_done(&text);
}

static void pair_gone(struct splice *s, enum splice_end which, const struct err *why)
{
    struct relay_pair *p = (struct relay_pair *)s;
    entrance_leave(p->relay->entrance, &p->place);
    if (which == SPLICE_NEAR)
        waiting_remove(p);
    else if (!p->heard && near_of(p))
        near_tell(p, why->code ? why->text : "it closed the connection");
}

static void pair_over(struct splice *s)
{
    struct relay_pair *p = (struct relay_pair *)s;
    if (p->user)
        p->user->pairs--;
    free(p);
}

static const struct splice_ops pair_ops = {
    .frame = pair_frame, .gone = pair_gone, .over = pair_over, .close = conn_close};

/* ---- users ---- */

static struct relay_user *user_of(struct relay *r, uint32_t uid)
{
    struct relay_user *u = map_u64_get(r->users, uid);
    if (!u) {
        u = xcalloc(1, sizeof *u);
        map_u64_put(r->users, uid, u);
    }
    return u;
}

/* Halves of messages: of all of a user's connections together. */
static void near_kept(void *ctx, struct conn *near, ptrdiff_t more)
{
    struct relay_pair *p = ctx;
    if (!p->user)
        return;
    p->user->bytes += (size_t)more;
    if (more > 0 && p->user->bytes > LIMIT_RELAYED_BYTES && p->who.uid != 0)
        conn_abort(near);
}

/* False: he has too many; this one is told so, and closed. */
static bool user_admit(struct relay_pair *p)
{
    struct relay_user *u = user_of(p->relay, p->who.uid);
    struct str text = STR_INIT;
    if (u->pairs < LIMIT_RELAYED_PER_USER || p->who.uid == 0) {
        p->user = u;
        u->pairs++;
        return true;
    }
    str_addf(&text,
             "uid %u has %u connections to the controller from this host; no more are allowed",
             (unsigned)p->who.uid, LIMIT_RELAYED_PER_USER);
    struct msg_done done = {.refusal = REFUSE_BUSY, .detail = str_text(&text)};
    conn_send_message(near_of(p), &(struct message){.kind = MSG_DONE, .body = &done});
    str_done(&text);
    conn_close(near_of(p));
    return false;
}

/* ---- beginnings ---- */

static struct conn *dial(struct relay *r, const struct conn_ops *ops, void *ctx,
                         struct err *ret_err)
{
    int fd = tcp_socket_connect(&r->to, ret_err);
    return fd < 0 ? NULL : conn_new_tls(r->loop, fd, r->tls, ops, ctx, ret_err);
}

/* The handshake is over, and who speaks was said. */
static void far_worked(void *ctx, struct conn *far, int64_t ns)
{
    struct relay_pair *p = ctx;
    (void)ns;
    if (p->place.state == ENTRANCE_BEGINS && conn_tls_peer(far) && conn_unsent(far) == 0)
        entrance_passed(p->relay->entrance, &p->place);
}

static void pair_dial(void *ctx)
{
    static struct conn_ops far_ops;
    struct relay_pair *p = ctx;
    struct err err = {0};
    far_ops = splice_conn_ops;
    far_ops.worked = far_worked;
    struct conn *far = p->splice.end[SPLICE_FAR] = dial(p->relay, &far_ops, p, &err);
    if (!far) {
        near_tell(p, err.text);
        conn_close(near_of(p));
        return;
    }
    struct msg_vouch who = {.uid = p->who.uid,
                            .gid = p->who.gid,
                            .protocol = PROTOCOL_NOW,
                            .protocol_oldest = PROTOCOL_OLDEST,
                            .version = build_name()};
    conn_send_message(far, &(struct message){.kind = MSG_VOUCH, .body = &who});
    conn_resume(near_of(p));
}

static void pair_enter(struct relay_pair *p)
{
    entrance_take(p->relay->entrance, &p->place, p->who.uid, pair_dial, p);
}

static void waiting_refuse(struct relay *r, const char *why)
{
    struct relay_pair *p = r->waiting;
    r->waiting = NULL;
    for (struct relay_pair *next; p; p = next) {
        next = p->next;
        p->next = NULL;
        near_tell(p, why);
        conn_close(near_of(p));
    }
}

/* Where the name is not to be had now, the address it had when the controller was last there is
 * tried. */
static void lookup_done(void *ctx, const struct name_found *found)
{
    struct relay *r = ctx;
    r->lookup = NULL;
    if (found->n > 0)
        r->to = found->address[0];
    else if (!r->reached) {
        waiting_refuse(r, found->why.text);
        return;
    }
    r->found = true;
    struct relay_pair *p = r->waiting;
    r->waiting = NULL;
    for (struct relay_pair *next; p; p = next) {
        next = p->next;
        p->next = NULL;
        pair_enter(p);
    }
}

static void lookup_start(struct relay *r)
{
    const char *host;
    int port = HOST_PORT;
    struct err err = {0};
    if (r->lookup)
        return;
    struct arena *a = arena_new();
    if (tcp_address_split(r->file.controller, a, &host, &port, &err))
        r->lookup = name_lookup_new(r->loop, host, port, LOOKUP_WAIT_US, lookup_done, r, &err);
    if (!r->lookup)
        waiting_refuse(r, err.text);
    arena_free(a);
}

static void accepted(void *ctx, int fd)
{
    static struct conn_ops near_ops;
    struct relay *r = ctx;
    struct err err = {0};
    struct relay_pair *p = xcalloc(1, sizeof *p);
    near_ops = splice_conn_ops;
    near_ops.kept = near_kept;
    p->relay = r;
    p->splice.ops = &pair_ops;
    struct conn *near = p->splice.end[SPLICE_NEAR] = conn_new(r->loop, fd, &near_ops, p, &err);
    if (!near) {
        log_warning(r->log, "%s", err.text);
        free(p);
        return;
    }
    p->who = conn_peer(near);
    if (!p->who.known) {
        conn_close(near);
        return;
    }
    if (!user_admit(p))
        return;
    conn_pause(near);
    if (r->found) {
        pair_enter(p);
        return;
    }
    p->next = r->waiting;
    r->waiting = p;
    lookup_start(r);
}

/* ---- the certificate ---- */

static void renew_at(struct relay *r)
{
    int64_t now = clock_now_us(), until = cert_until(r->file.cert, NULL);
    struct arena *a = arena_new();
    struct stat st;
    int64_t made = stat(arena_printf(a, "%s/tls/host.crt", r->state_dir), &st) == 0
                       ? (int64_t)st.st_mtime * USEC_PER_SEC
                       : now;
    made = made < now ? made : now; /* the clock was set */
    int64_t at = until - (until - made) / 3;
    arena_free(a);
    timer_set_at(r->renew, at > now + USEC_PER_SEC ? at : now + USEC_PER_SEC);
}

static bool cert_take(struct relay *r, const struct message *m, struct err *ret_err)
{
    const struct msg_joined *j = m->body;
    const struct msg_done *done = m->body;
    if (m->kind != MSG_JOINED || !j->cert)
        return err_set(ret_err, ERR_DENIED, "%s",
                       m->kind == MSG_DONE && done->detail ? done->detail : "another answer came");
    struct tls_context *fresh =
        tls_context_client(r->file.authority, j->cert, r->file.key, ret_err);
    if (!fresh || !host_cert_write(r->state_dir, j->cert, ret_err)) {
        tls_context_free(fresh);
        return false;
    }
    tls_context_free(r->tls);
    r->tls = fresh;
    r->file.cert = arena_strdup(r->arena, j->cert);
    return true;
}

static void renewed(void *ctx, struct conn *c, const struct frame *f)
{
    struct relay *r = ctx;
    struct message m;
    struct err err = {0};
    struct arena *a = arena_new();
    if (wire_decode(f, a, &m, &err) && cert_take(r, &m, &err))
        log_info(r->log, "this host's certificate was renewed");
    else
        log_error(r->log, "this host's certificate was not renewed: %s", err.text);
    arena_free(a);
    conn_close(c);
}

static void renewing_over(void *ctx, struct conn *c, const struct err *why)
{
    struct relay *r = ctx;
    (void)c;
    (void)why;
    r->renewing = NULL;
    int64_t before = cert_until(r->file.cert, NULL) - clock_now_us();
    if (before > 3 * RENEW_AGAIN_US)
        renew_at(r);
    else if (before <= 0) /* or the clock is wrong: the controller knows */
        timer_set(r->renew, RENEW_AGAIN_US);
    else
        timer_set(r->renew, before / 3 > USEC_PER_SEC ? before / 3 : USEC_PER_SEC);
}

static void renew(void *ctx)
{
    static const struct conn_ops ops = {.frame = renewed, .closed = renewing_over};
    struct relay *r = ctx;
    struct err err = {0};
    struct arena *a = arena_new();
    if (!r->found) {
        lookup_start(r);
        timer_set(r->renew, USEC_PER_SEC);
        arena_free(a);
        return;
    }
    struct msg_renew ask = {.public_key = cert_key_public(r->file.key, a, &err)};
    r->renewing = ask.public_key ? dial(r, &ops, r, &err) : NULL;
    if (r->renewing)
        conn_send_message(r->renewing,
                          &(struct message){.kind = MSG_RENEW, .seq = 1, .body = &ask});
    else
        timer_set(r->renew, RENEW_AGAIN_US);
    arena_free(a);
}

/* ---- start and end ---- */

static void stop_asked(void *ctx)
{
    loop_stop(((struct relay *)ctx)->loop);
}

static void log_rotated(void *ctx)
{
    struct err err = {0};
    if (!log_reopen(((struct relay *)ctx)->log, &err))
        log_error(((struct relay *)ctx)->log, "%s", err.text);
}

static bool begin(struct relay *r, bool foreground, struct err *ret_err)
{
    mode_t mode = geteuid() == 0 ? 0666 : 0600;
    if (!dir_make(arena_printf(r->arena, "%s/log", r->state_dir), 0755, ret_err))
        return false;
    r->log = log_open(foreground ? NULL : arena_printf(r->arena, "%s/log/relay.log", r->state_dir),
                      LOG_IS_INFO, ret_err);
    r->loop = r->log ? loop_new(ret_err) : NULL;
    if (!r->loop)
        return false;
    r->tls = tls_context_client(r->file.authority, r->file.cert, r->file.key, ret_err);
    r->renew = timer_new(r->loop, renew, r);
    r->entrance = entrance_new(r->loop);
    if (!r->tls || !loop_on_signal(r->loop, SIGTERM, stop_asked, r, ret_err) ||
        !loop_on_signal(r->loop, SIGINT, stop_asked, r, ret_err) ||
        !loop_on_signal(r->loop, SIGHUP, log_rotated, r, ret_err))
        return false;
    daemon_descriptors_raise();
    r->listener = listener_new(r->loop, state_socket_path(r->state_dir, r->arena), mode, accepted,
                               r, ret_err);
    renew_at(r);
    if (!r->listener)
        return false;
    const char *why;
    if (!confine_process(&why))
        log_info(r->log, "this kernel does not filter system calls (%s): the relay goes without",
                 why);
    return true;
}

static bool relay_run(struct relay *r, bool foreground, struct err *ret_err)
{
    int ready = -1;
    struct pid_file pid_file = {.fd = -1};
    char *full = realpath(r->state_dir, NULL);
    if (full)
        r->state_dir = arena_strdup(r->arena, full);
    free(full);
    bool ok =
        host_file_read(r->state_dir, r->arena, &r->file, ret_err) &&
        (foreground || daemon_detach(&ready, ret_err)) &&
        pid_file_lock(&pid_file, arena_printf(r->arena, "%s/relay.pid", r->state_dir), ret_err) &&
        begin(r, foreground, ret_err);
    if (ok) {
        /* Who connects may wait for the controller again. */
        unlink(state_down_path(r->state_dir, r->arena));
        log_info(r->log, "relay of host %s to %s runs as process %ld", r->file.id,
                 r->file.controller, (long)getpid());
        daemon_ready(ready);
        loop_run(r->loop);
        listener_free(r->listener);
        pid_file_drop(&pid_file);
        _exit(0); /* its connections end with it; nothing of theirs is kept here */
    }
    pid_file_drop(&pid_file);
    return false;
}

int relay_main(int argc, char **argv)
{
    struct relay r = {.arena = arena_new(), .users = map_u64_new()};
    struct err err = {0};
    bool foreground = false;
    for (int i = 1; i < argc; i++) {
        if (text_is(argv[i], "--state") && i + 1 < argc)
            r.state_dir = argv[++i];
        else if (text_starts(argv[i], "--state="))
            r.state_dir = argv[i] + strlen("--state=");
        else if (text_is(argv[i], "--foreground"))
            foreground = true;
        else
            err_set(&err, ERR_INVALID,
                    "unknown word \"%s\"; --state DIR and --foreground are known", argv[i]);
    }
    if (!err.code && !r.state_dir)
        err_set(&err, ERR_INVALID, "--state DIR is missing");
    if (!err.code)
        relay_run(&r, foreground, &err);
    fprintf(stderr, "remudad relay: error: %s\n", err.text);
    arena_free(r.arena);
    return 1;
}
