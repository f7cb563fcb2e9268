/* Connections from other hosts.
 *
 * The certificate says which host it is; the first frame says who speaks there (VOUCH), and from
 * then on the connection is like a local one of that user, within what hosts of its kind may
 * (host_kinds in model/record/host.h): for whom it speaks, whether its word counts for groups, and
 * which requests are heard. Root of a host that does not speak for root may look, and no more. A
 * host speaks for its own nodes only. A connection without a certificate may do one thing: join,
 * with a token. Who says nothing for a while is sent away. */
#include "base/alloc.h"
#include "base/duration.h"
#include "controller/session/inside.h"
#include "controller/site/hosts.h"
#include "controller/turn.h"
#include "io/build.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/net/cert.h"
#include "io/net/tcp_socket.h"
#include "io/users.h"
#include "model/job/owner.h"
#include "model/limits.h"
#include "model/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US  (20 * USEC_PER_SEC)
#define SECRET_BYTES 16
#define ID_BYTES     4

/* Of connections that have not said who they are. */
#define UNKNOWN_MAX         256
#define UNKNOWN_PER_ADDRESS 64
#define UNKNOWN_PER_NETWORK 128 /* where others need the places */
#define UNKNOWN_FRAME_BYTES (64u << 10)

static void impatient(void *ctx)
{
    struct session *s = ctx;
    conn_abort(s->conn);
}

static void remote_known(struct session *s)
{
    struct remote *r = s->remote;
    if (!r->unknown_link)
        return;
    *r->unknown_link = r->next_unknown;
    if (r->next_unknown)
        r->next_unknown->remote->unknown_link = r->unknown_link;
    else
        s->owner->unknown_last = r->unknown_link;
    r->unknown_link = NULL;
    s->owner->unknown_count--;
}

/* Where too many have not said who they are, at all or of one address, the oldest of them goes: who
 * is what it should be needs a moment only. A network that has half of all places pushes out its
 * own. */
static void unknown_add(struct session *s)
{
    struct sessions *all = s->owner;
    struct session *oldest = NULL, *near = NULL;
    size_t same = 0, network = 0;
    for (struct session *one = all->unknown; one; one = one->remote->next_unknown) {
        if (text_is(one->remote->address, s->remote->address) && !same++)
            oldest = one;
        if (text_is(one->remote->network, s->remote->network) && !network++)
            near = one;
    }
    if (network < UNKNOWN_PER_NETWORK)
        near = all->unknown;
    if (same < UNKNOWN_PER_ADDRESS)
        oldest = all->unknown_count >= UNKNOWN_MAX ? near : NULL;
    if (oldest) {
        remote_known(oldest);
        conn_abort(oldest->conn);
    }
    s->remote->unknown_link = all->unknown_last;
    *all->unknown_last = s;
    all->unknown_last = &s->remote->next_unknown;
    all->unknown_count++;
}

void remote_begin(struct session *s, int fd)
{
    ASSERT(!s->remote && fd >= 0);
    s->remote = xcalloc(1, sizeof *s->remote);
    s->remote->arena = arena_new();
    s->remote->address = tcp_socket_peer(fd, s->remote->arena);
    s->remote->network = tcp_socket_network(s->remote->address, s->remote->arena);
    s->remote->patience = timer_new(s->owner->c->loop, impatient, s);
    timer_set(s->remote->patience, PATIENCE_US);
    conn_set_frame_max(s->conn, UNKNOWN_FRAME_BYTES);
    unknown_add(s);
}

void remote_end(struct session *s)
{
    if (!s->remote)
        return;
    remote_known(s);
    timer_free(s->remote->patience);
    arena_free(s->remote->arena);
    free(s->remote);
}

/* A node of its own ends what it runs. */
static void shut_out_say(struct session *s, uint64_t seq)
{
    struct msg_done done = {
        .refusal = REFUSE_ACCESS_DENIED,
        .detail = "this host was shut out of the cluster; it can join again with a new token",
        .shut_out = true};
    conn_send_message(s->conn, &(struct message){.kind = MSG_DONE, .seq = seq, .body = &done});
    conn_close(s->conn);
}

static void deny(struct session *s, uint64_t seq, const char *why)
{
    session_refuse(s, seq, REFUSE_ACCESS_DENIED, why);
    conn_close(s->conn);
}

/* As for users: nothing waits for a disk that is full as long as it is, and is done then, when
 * whoever asked has gone. */
static bool store_takes(struct session *s, uint64_t seq)
{
    const char *why;
    if (turns_admit(s->owner->c->turns, false))
        return true;
    turns_store_away(s->owner->c->turns, &why);
    session_refuse(s, seq, REFUSE_STORE,
                   arena_printf(s->owner->arena,
                                "the store is away: %s. Nothing was changed; try again later",
                                why));
    conn_close(s->conn);
    return false;
}

/* ---- joining ---- */

/* "remuda1.ID.SECRET.HASH" */
static bool token_split(const char *text, struct arena *a, const char **ret_id,
                        const char **ret_secret)
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

static bool is_one_line(const char *line, const char *node, struct arena *a)
{
    const char *start = arena_printf(a, "NodeName=%s ", node ? node : "");
    if (text_empty(node) || strlen(line) > 4096 || !text_starts(line, start))
        return false;
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '\\' || *c == '#' || *c == '"')
            return false;
    return strspn(node, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
           strlen(node);
}

/* One NodeName= line of just that node, which the controller will be able to read when it starts
 * again: it goes into the configuration. NULL, or what is wrong. */
static const char *line_fault(const char *line, const char *node, struct arena *a)
{
    struct config alone;
    struct err err = {0};
    if (!is_one_line(line, node, a))
        return "the description of the node is not one NodeName= line";
    if (!config_parse(line, "the description of the node", NULL, NULL, &alone, &err))
        return arena_strdup(a, err.text);
    bool good = alone.nnodes == 1 && text_is(alone.node[0].name, node) &&
                !alone.node[0].is_virtual && alone.node[0].cpus <= LIMIT_CPUS_OF_MACHINE;
    config_done(&alone);
    return good ? NULL : "the description of the node is not that of one machine by its name";
}

static const char *join_fault(struct session *s, const struct msg_join *m)
{
    const struct host *h = m->host.n == 1 ? m->host.v : NULL;
    if (!h || text_empty(h->name) || text_empty(m->public_key))
        return "a host that joins names itself and has a key";
    if (geteuid() != 0 && h->uid != geteuid())
        return arena_printf(s->owner->arena,
                            "this cluster was started by uid %u and runs jobs of that user only; "
                            "%s joined as uid %u",
                            (unsigned)geteuid(), h->name, (unsigned)h->uid);
    const struct protocol_peer peer = {arena_printf(s->owner->arena, "host %s", h->name),
                                       m->version, m->protocol, m->protocol_oldest};
    const char *fault = protocol_fault(&peer, "this controller", build_name(), s->owner->arena);
    if (fault)
        return fault;
    return text_empty(m->config) ? NULL : line_fault(m->config, h->nodes, s->owner->arena);
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
    if (!store_takes(s, m->seq))
        return;
    struct host h = *(const struct host *)join.host.v;
    bytes_hash(join.public_key, strlen(join.public_key), hash);
    h.key_hash = arena_strdup(a, hash);
    const struct host *in = core_host_joined(c->core, id, h.key_hash);
    h.id = in ? arena_strdup(a, in->id) : arena_printf(a, "h%s", secret_new(ID_BYTES, a));
    h.token = id;
    h.address = s->remote->address;
    s->remote->cert = hosts_certify(c->hosts, join.public_key, h.id, a, &err);
    if (!s->remote->cert) {
        deny(s, m->seq, err.text);
        return;
    }
    bytes_hash(secret, strlen(secret), hash);
    join.host.v = &h;
    join.text = hash;
    struct peer stranger = {.uid = UINT32_MAX, .gid = UINT32_MAX, .host = s->remote->address};
    session_step(s, &(struct message){.kind = MSG_JOIN, .seq = m->seq, .body = &join}, &stranger);
}

/* ---- what a host asks for itself ---- */

static void renew_take(struct session *s, const struct message *m, const struct host *h)
{
    struct controller *c = s->owner->c;
    const struct msg_renew *r = m->body;
    struct err err = {0};
    struct host record = *h;
    struct msg_joined answer = {.host = {.v = &record, .n = 1}};
    answer.cert =
        hosts_certify(c->hosts, r->public_key ? r->public_key : "", h->id, s->remote->arena, &err);
    answer.authority = hosts_authority(c->hosts);
    if (!answer.cert) {
        deny(s, m->seq, err.text);
        return;
    }
    conn_send_message(s->conn,
                      &(struct message){.kind = MSG_JOINED, .seq = m->seq, .body = &answer});
}

static void leave_take(struct session *s, const struct message *m, const struct host *h)
{
    struct msg_expel self = {.names = h->id};
    if (!store_takes(s, m->seq))
        return;
    struct peer peer = {.uid = h->uid, .host = h->name, .user = h->name, .is_admin = true};
    session_step(s, &(struct message){.kind = MSG_EXPEL, .seq = m->seq, .body = &self}, &peer);
}

/* NULL: the host speaks for that user. */
static const char *vouch_fault(struct session *s, uint32_t uid, const struct host *h)
{
    struct arena *a = s->owner->arena;
    if (host_kinds[h->kind].speaks != SPEAKS_FOR_ONE || uid == h->uid)
        return NULL;
    return arena_printf(a, "host %s was joined for uid %u and may not vouch for uid %u", h->name,
                        (unsigned)h->uid, (unsigned)uid);
}

static void vouch_take(struct session *s, const struct msg_vouch *v, const struct host *h)
{
    const struct protocol_peer peer = {
        arena_printf(s->owner->arena, "the relay of host %s", h->name), v->version, v->protocol,
        v->protocol_oldest};
    const char *fault = protocol_fault(&peer, "this controller", build_name(), s->owner->arena);
    if (fault) {
        session_refuse(s, 0, REFUSE_BAD_MESSAGE, fault);
        conn_close(s->conn);
        return;
    }
    fault = vouch_fault(s, v->uid, h);
    if (fault) {
        deny(s, 0, fault);
        return;
    }
    const struct host_kind_row *kind = &host_kinds[h->kind];
    timer_stop(s->remote->patience);
    s->remote->vouched = true;
    remote_known(s);
    conn_set_frame_max(s->conn, FRAME_MAX_BYTES);
    s->remote->uid = v->uid;
    s->remote->gid = v->gid;
    /* Nobody becomes root by the word of a host that is not trusted; of SlurmUser see
     * request_fault. */
    s->remote->guest = kind->speaks != SPEAKS_FOR_ALL && v->uid == 0;
    s->who = (struct conn_peer){
        .known = true, .uid = v->uid, .gid = kind->groups ? v->gid : GID_OF_USER};
    if (s->remote->guest)
        s->who.uid = GUEST_UID;
    s->trusted = !s->remote->guest && v->uid == geteuid();
    if (s->share)
        share_vouch(s->share);
    session_admit(s);
}

/* NULL: this may be asked there. Reading may always. */
static const char *request_fault(struct session *s, const struct message *m, const struct host *h)
{
    const struct controller *c = s->owner->c;
    const struct msg_daemon *d = m->body;
    const struct peer p = session_peer(s);
    const char *slurm_user = c->config.settings.slurm_user;
    if (geteuid() == 0 && !owner_same(h->user, p.user))
        return arena_printf(s->owner->arena,
                            "host %s was joined for %s, whose uid %u is %s's now: `remuda hosts "
                            "remove %s`, and a new token if that is the same user",
                            h->name, h->user, (unsigned)h->uid, p.user, h->id);
    bool reads = m->kind == MSG_QUERY || m->kind == MSG_WHY || m->kind == MSG_MAY ||
                 (m->kind == MSG_DAEMON && d->action == DAEMON_PING);
    if (reads || host_kinds[h->kind].groups)
        return NULL;
    if (s->remote->guest || (p.user && !text_empty(slurm_user) && text_is(p.user, slurm_user)))
        return arena_printf(
            s->owner->arena,
            "host %s speaks for its users, not for administrators: these may look from "
            "there, and no more (its token was not for a trusted host)",
            h->name);
    if (!p.user && s->who.uid != geteuid())
        return arena_printf(
            s->owner->arena,
            "the controller's host knows no user of uid %u, and host %s is not trusted to "
            "say who that is",
            (unsigned)s->remote->uid, h->name);
    return NULL;
}

/* True: it is to be taken. A node daemon's other messages are of the node it said hello for. */
static bool vouched_take(struct session *s, const struct message *m, const struct host *h)
{
    const char *fault = request_fault(s, m, h);
    if (fault) {
        session_refuse(s, m->seq, REFUSE_ACCESS_DENIED, fault);
        return false;
    }
    return m->kind != MSG_NODE_HELLO || remote_speaks_for(s, m->body, h);
}

bool remote_admits(struct session *s, const struct message *m)
{
    ASSERT(s->remote);
    const char *name = conn_tls_peer(s->conn);
    const struct host *h = remote_host(s);
    if (name && !h)
        shut_out_say(s, m->seq);
    else if (!h && m->kind == MSG_JOIN && s->remote->cert)
        deny(s, m->seq, "one connection is for one host that joins");
    else if (!h && m->kind == MSG_JOIN)
        join_take(s, m);
    else if (!h)
        deny(s, m->seq, "a host without a certificate can only join");
    else if (s->remote->vouched)
        return vouched_take(s, m, h);
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
    ASSERT(s->remote);
    const struct node *n = hello->node.n ? hello->node.v : NULL;
    if (h->role == ROLE_NODE && host_may_send(h->kind, WHO_NODE) && n && text_is(n->name, h->nodes))
        return true;
    deny(s, 0,
         arena_printf(s->owner->arena, "host %s may not speak for node %s", h->name,
                      n && n->name ? n->name : "?"));
    return false;
}

/* ---- tokens, asked for by an administrator ---- */

/* What the cluster is decides the rest: in one of a single user all is that user's; in root's, only
 * a trusted host runs jobs. */
static void token_narrow(struct token *t)
{
    if (t->kind == HOST_KIND_UNSET)
        t->kind = HOST_UNTRUSTED;
    if (geteuid() != 0 || t->kind == HOST_TRUSTED)
        t->uid = geteuid();
    else if (t->kind == HOST_UNTRUSTED)
        t->role = ROLE_LOGIN;
}

static const char *token_fault(const struct token *t)
{
    if (t->kind == HOST_UNTRUSTED && t->uid == 0 && geteuid() == 0)
        return "an untrusted host speaks for one user, who is not root: whose is it? `remuda token "
               "--user "
               "NAME`. For a machine that runs jobs and whose root you trust with all users, root "
               "among "
               "them: `remuda token --host trusted`; whose users submit, but not root: `--host "
               "login`";
    return NULL;
}

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
    const char *secret = secret_new(SECRET_BYTES, a);
    bytes_hash(secret, strlen(secret), hash);
    token->id = arena_printf(a, "t%s", secret_new(ID_BYTES, a));
    token->secret_hash = arena_strdup(a, hash);
    token_narrow(token);
    const char *fault = token_fault(token);
    if (fault) {
        session_refuse(s, m->seq, REFUSE_UPDATE, fault);
        return false;
    }
    /* No port is opened for a token that there will not be. */
    if (!hosts_listen(c->hosts, &err)) {
        session_refuse(s, m->seq, REFUSE_DISABLED, err.text);
        return false;
    }
    ret->token.v = token;
    ret->text = hosts_token_text(c->hosts, token->id, secret, a);
    return true;
}

void remote_sweep(struct sessions *all)
{
    struct map_walk at = {0};
    uint64_t now = core_hosts_shut_out(all->c->core);
    if (now == all->hosts_shut_out)
        return;
    all->hosts_shut_out = now;
    while (map_u64_next(all->by_id, &at)) {
        struct session *s = at.value;
        if (s->remote && conn_tls_peer(s->conn) && !remote_host(s))
            conn_close(s->conn);
    }
}
