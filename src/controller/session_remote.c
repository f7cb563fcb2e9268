/* Connections from other hosts.
 *
 * The certificate says which host it is; the first frame says who speaks there (VOUCH), and from then on the connection is like a local one of that user, within what the
 * host may: one that was let in as trusted vouches for all its users, others for the user who joined it alone. A host speaks for its own nodes only. A connection without
 * a certificate may do one thing: join, with a token. Who says nothing for a while is sent away. */
#include "base/alloc.h"
#include "base/duration.h"
#include "controller/hosts.h"
#include "controller/session_inside.h"
#include "io/cert.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/tcp_socket.h"
#include "model/limits.h"
#include "model/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US  (20 * USEC_PER_SEC)
#define SECRET_BYTES 16
#define ID_BYTES     4

static void impatient(void *ctx)
{
    struct session *s = ctx;
    conn_abort(s->conn);
}

void remote_begin(struct session *s, int fd)
{
    s->remote = xcalloc(1, sizeof *s->remote);
    s->remote->arena = arena_new();
    s->remote->address = tcp_socket_peer(fd, s->remote->arena);
    s->remote->patience = timer_new(s->owner->c->loop, impatient, s);
    timer_set(s->remote->patience, PATIENCE_US);
}

void remote_end(struct session *s)
{
    if (!s->remote)
        return;
    timer_free(s->remote->patience);
    arena_free(s->remote->arena);
    free(s->remote);
}

const struct host *remote_host(const struct session *s)
{
    return core_host(s->owner->c->core, conn_tls_peer(s->conn));
}

static void deny(struct session *s, uint64_t seq, const char *why)
{
    session_refuse(s, seq, REFUSE_ACCESS_DENIED, why);
    conn_close(s->conn);
}

/* ---- joining ---- */

/* "remuda1.ID.SECRET.HASH" */
static bool token_split(const char *text, struct arena *a, const char **ret_id, const char **ret_secret)
{
    struct span rest = span_of(text ? text : ""), word[4];
    size_t n = 0;
    while (n < 4 && span_next(&rest, '.', &word[n]))
        n++;
    if (n < 3 || strncmp(word[0].data, "remuda1.", 8) != 0)
        return false;
    *ret_id = arena_strndup(a, word[1].data, word[1].len);
    *ret_secret = arena_strndup(a, word[2].data, word[2].len);
    return true;
}

/* One NodeName= line of just that node: it goes into the configuration. */
static bool line_is_good(const char *line, const char *node, struct arena *a)
{
    const char *start = arena_printf(a, "NodeName=%s ", node ? node : "");
    if (text_empty(node) || strlen(line) > 4096 || !text_starts(line, start))
        return false;
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '\\' || *c == '#' || *c == '"')
            return false;
    return strspn(node, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == strlen(node);
}

static const char *join_fault(struct session *s, const struct msg_join *m)
{
    const struct host *h = m->host.n == 1 ? m->host.v : NULL;
    if (!h || text_empty(h->name) || text_empty(m->public_key))
        return "a host that joins names itself and has a key";
    if (geteuid() != 0 && h->uid != geteuid())
        return arena_printf(
            s->owner->arena,
            "this cluster was started by uid %u and runs jobs of that user only; %s joined as uid %u",
            (unsigned)geteuid(), h->name, (unsigned)h->uid);
    const struct protocol_peer peer = {arena_printf(s->owner->arena, "host %s", h->name), m->version,
                                       m->protocol, m->protocol_oldest};
    const char *fault = protocol_fault(&peer, "this controller", REMUDA_VERSION, s->owner->arena);
    if (fault)
        return fault;
    if (!text_empty(m->config) && !line_is_good(m->config, h->nodes, s->owner->arena))
        return "the description of the node is not one NodeName= line";
    return NULL;
}

static void join_take(struct session *s, const struct message *m)
{
    struct controller *c = s->owner->c;
    struct arena *a = s->remote->arena;
    struct msg_join join = *(const struct msg_join *)m->body;
    const char *id, *secret, *why = join_fault(s, &join);
    struct err err = {0};
    char hash[CERT_HASH_TEXT];
    if (!why && !token_split(join.text, a, &id, &secret))
        why = "this is no token; `remuda token` on the controller's host makes one";
    if (why) {
        deny(s, m->seq, why);
        return;
    }
    struct host h = *(const struct host *)join.host.v;
    h.id = arena_printf(a, "h%s", secret_new(ID_BYTES, a));
    h.token = id;
    h.address = s->remote->address;
    s->remote->cert = hosts_certify(c->hosts, join.public_key, h.id, a, &err);
    if (!s->remote->cert) {
        deny(s, m->seq, err.text);
        return;
    }
    if (join.config)
        s->remote->config = arena_strdup(a, join.config);
    bytes_hash(secret, strlen(secret), hash);
    join.host.v = &h;
    join.text = hash;
    struct peer stranger = {.uid = UINT32_MAX, .gid = UINT32_MAX, .host = s->remote->address};
    session_step(s, &(struct message){.kind = MSG_JOIN, .seq = m->seq, .body = &join}, &stranger);
}

/* The node's line, unless one of that name is there. The machine asks for the configuration to be read again. */
static void config_add(struct session *s, const struct host *h)
{
    struct controller *c = s->owner->c;
    struct str text = STR_INIT;
    struct err err = {0};
    const char *path = controller_path(c, "joined.conf");
    if (text_empty(s->remote->config) || h->role != ROLE_NODE)
        return;
    if (access(path, F_OK) == 0 && !file_read(path, LIMIT_CONFIG_BYTES, &text, &err))
        log_error(c->log, "%s", err.text);
    const char *start = arena_printf(s->owner->arena, "NodeName=%s ", h->nodes);
    if (!strstr(str_text(&text), start)) {
        if (text.len == 0)
            str_add(&text, "# Nodes of hosts that joined, as they found themselves; read after remuda.conf. "
                           "Yours to edit.\n");
        str_addf(&text, "%s\n", s->remote->config);
        if (!err.code && !file_write_atomic(path, text.data, text.len, 0644, &err))
            log_error(c->log, "the node of host %s is not in the configuration: %s", h->name, err.text);
    }
    str_done(&text);
}

void remote_joined(struct session *s, const struct message *m, struct msg_joined *ret)
{
    *ret = *(const struct msg_joined *)m->body;
    ret->cert = s->remote ? s->remote->cert : NULL;
    ret->authority = hosts_authority(s->owner->c->hosts);
    if (s->remote)
        config_add(s, ret->host.v);
}

/* ---- what a host asks for itself ---- */

static void renew_take(struct session *s, const struct message *m, const struct host *h)
{
    struct controller *c = s->owner->c;
    const struct msg_renew *r = m->body;
    struct err err = {0};
    struct host record = *h;
    struct msg_joined answer = {.host = {.v = &record, .n = 1}};
    answer.cert = hosts_certify(c->hosts, r->public_key ? r->public_key : "", h->id, s->remote->arena, &err);
    answer.authority = hosts_authority(c->hosts);
    if (!answer.cert) {
        deny(s, m->seq, err.text);
        return;
    }
    conn_send_message(s->conn, &(struct message){.kind = MSG_JOINED, .seq = m->seq, .body = &answer});
}

static void leave_take(struct session *s, const struct message *m, const struct host *h)
{
    struct msg_expel self = {.names = h->id};
    struct peer peer = {.uid = h->uid, .host = h->name, .user = h->name, .is_admin = true};
    session_step(s, &(struct message){.kind = MSG_EXPEL, .seq = m->seq, .body = &self}, &peer);
}

static void vouch_take(struct session *s, const struct msg_vouch *v, const struct host *h)
{
    const struct protocol_peer peer = {arena_printf(s->owner->arena, "the relay of host %s", h->name),
                                       v->version, v->protocol, v->protocol_oldest};
    const char *fault = protocol_fault(&peer, "this controller", REMUDA_VERSION, s->owner->arena);
    if (fault) {
        session_refuse(s, 0, REFUSE_BAD_MESSAGE, fault);
        conn_close(s->conn);
        return;
    }
    if (!h->trusted && v->uid != h->uid) {
        deny(s, 0,
             arena_printf(s->owner->arena, "host %s was joined by uid %u and may not vouch for uid %u",
                          h->name, (unsigned)h->uid, (unsigned)v->uid));
        return;
    }
    timer_stop(s->remote->patience);
    s->remote->vouched = true;
    s->who = (struct conn_peer){.known = true, .uid = v->uid, .gid = v->gid};
    s->trusted = h->trusted ? v->uid == 0 : v->uid == geteuid();
    session_admit(s);
}

bool remote_take(struct session *s, const struct message *m)
{
    const char *name = conn_tls_peer(s->conn);
    const struct host *h = remote_host(s);
    if (name && !h)
        deny(s, m->seq, "this host was shut out of the cluster; it can join again with a new token");
    else if (!h && m->kind == MSG_JOIN)
        join_take(s, m);
    else if (!h)
        deny(s, m->seq, "a host without a certificate can only join");
    else if (s->remote->vouched)
        return m->kind != MSG_NODE_HELLO || remote_speaks_for(s, m->body, h);
    else if (m->kind == MSG_VOUCH)
        vouch_take(s, m->body, h);
    else if (m->kind == MSG_RENEW)
        renew_take(s, m, h);
    else if (m->kind == MSG_EXPEL)
        leave_take(s, m, h);
    else
        deny(s, m->seq, "a host first says who speaks");
    return false;
}

bool remote_speaks_for(struct session *s, const struct msg_node_hello *hello, const struct host *h)
{
    const struct node *n = hello->node.n ? hello->node.v : NULL;
    if (h->role == ROLE_NODE && n && text_is(n->name, h->nodes))
        return true;
    deny(s, 0,
         arena_printf(s->owner->arena, "host %s may not speak for node %s", h->name,
                      n && n->name ? n->name : "?"));
    return false;
}

/* ---- tokens, asked for by an administrator ---- */

bool token_prepare(struct session *s, const struct message *m, struct msg_make_token *ret,
                   struct token *token)
{
    struct controller *c = s->owner->c;
    struct arena *a = s->owner->arena;
    struct err err = {0};
    char hash[CERT_HASH_TEXT];
    *ret = *(const struct msg_make_token *)m->body;
    if (ret->token.n != 1)
        return true; /* the machine refuses it */
    *token = *(const struct token *)ret->token.v;
    if (!hosts_listen(c->hosts, &err)) {
        session_refuse(s, m->seq, REFUSE_DISABLED, err.text);
        return false;
    }
    const char *secret = secret_new(SECRET_BYTES, a);
    bytes_hash(secret, strlen(secret), hash);
    token->id = arena_printf(a, "t%s", secret_new(ID_BYTES, a));
    token->secret_hash = arena_strdup(a, hash);
    token->trusted = token->trusted && geteuid() == 0;
    ret->token.v = token;
    ret->text = hosts_token_text(c->hosts, token->id, secret, a);
    return true;
}

void remote_sweep(struct sessions *all)
{
    struct map_walk at = {0};
    size_t now = core_hosts_count(all->c->core);
    if (now == all->hosts_seen)
        return;
    all->hosts_seen = now;
    while (map_u64_next(all->by_id, &at)) {
        struct session *s = at.value;
        if (s->remote && conn_tls_peer(s->conn) && !remote_host(s))
            conn_close(s->conn);
    }
}
