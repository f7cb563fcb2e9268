/* Other machines: tokens let them in, certificates (the shell's business) keep them in, expelling
 * shuts them out.
 *
 * A token is used up by the join that is committed with it, so a controller that dies in between
 * has neither. Whoever joined and did not hear of it (a controller or a command that died, a full
 * disk there) asks again with the token and its key, while the token's time lasts, and is answered
 * as the first time: so tokens stay until then. The line of its node waits in the host's row until
 * the configuration has the node.
 *
 * A host that is let in speaks for the nodes it named and no others. How far it is believed was
 * decided with the token (model/record/host.h): what it says of itself, its uid too, gives it
 * nothing. The secret never comes here, only its hash. */
#include "base/list.h"
#include "core/request/request.h"

#include <string.h>

#define TOKEN_AGE_US (USEC_PER_DAY) /* unless asked otherwise */

/* ---- records ---- */

void token_load(struct core *c, const struct token *row)
{
    struct token *t = xcalloc(1, sizeof *t);
    record_intern(c, &token_fields, t, row);
    if (t->kind < 0 || t->kind >= HOST_KINDS) /* of a later release: lets nobody in */
        t->kind = HOST_KIND_UNSET;
    map_str_put(c->joined.token, t->id, t);
}

void host_load(struct core *c, const struct host *row)
{
    struct host *h = xcalloc(1, sizeof *h);
    record_intern(c, &host_fields, h, row);
    h->kind = (int32_t)host_kind_of(h);
    map_str_put(c->joined.host, h->id, h);
}

/* Some may still join with it. */
static bool token_is_good(const struct token *t, int64_t now_us)
{
    return t->expires_us > now_us && t->uses_left > 0 && t->kind != HOST_KIND_UNSET;
}

static void token_remove(struct core *c, struct token *t)
{
    fx_remove(c, TABLE_TOKEN, t);
    map_str_del(c->joined.token, t->id);
    record_drop(c, &token_fields, t);
    free(t);
}

/* One that is used up stays for the hosts that it let in. */
static void token_spent_look(struct core *c, const char *id)
{
    struct map_walk w = {0};
    struct token *t = id ? map_str_get(c->joined.token, id) : NULL;
    if (!t || t->uses_left > 0)
        return;
    while (map_str_next(c->joined.host, &w))
        if (text_is(((const struct host *)w.value)->token, id))
            return;
    token_remove(c, t);
}

static void host_remove(struct core *c, struct host *h)
{
    fx_remove(c, TABLE_HOST, h);
    c->joined.shut_out++;
    map_str_del(c->joined.host, h->id);
    token_spent_look(c, h->token);
    record_drop(c, &host_fields, h);
    free(h);
}

uint64_t core_hosts_shut_out(const struct core *c)
{
    return c->joined.shut_out;
}

void host_records_free(struct core *c)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.token, &w))
        free(w.value);
    w = (struct map_walk){0};
    while (map_str_next(c->joined.host, &w))
        free(w.value);
    map_str_free(c->joined.token);
    map_str_free(c->joined.host);
}

const struct host *core_host(const struct core *c, const char *id)
{
    return id ? map_str_get(c->joined.host, id) : NULL;
}

const struct host *core_host_joined(const struct core *c, const char *token, const char *key_hash)
{
    struct map_walk w = {0};
    while (!text_empty(key_hash) && map_str_next(c->joined.host, &w)) {
        const struct host *h = w.value;
        if (text_is(h->token, token) && text_is(h->key_hash, key_hash))
            return h;
    }
    return NULL;
}

size_t core_hosts_count(const struct core *c)
{
    struct map_walk w = {0};
    size_t n = map_str_count(c->joined.host);
    while (map_str_next(c->joined.token, &w))
        n += token_is_good(w.value, c->turn.now_us);
    return n;
}

void tokens_show(const struct core *c, int64_t now_us, const struct view *v)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.token, &w))
        if (token_is_good(w.value, now_us))
            v->row(v->ctx, w.value);
}

void core_hosts(const struct core *c, const struct view *v)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.host, &w))
        v->row(v->ctx, w.value);
}

/* ---- tokens ---- */

static struct token *token_expired(const struct core *c)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.token, &w)) {
        struct token *t = w.value;
        if (t->expires_us <= c->turn.now_us)
            return t;
    }
    return NULL;
}

void tokens_expire(struct core *c)
{
    struct token *gone;
    while ((gone = token_expired(c)))
        token_remove(c, gone);
}

/* NULL: such a token may be. The least is what is not said. */
static const char *kind_fault(struct token *t)
{
    if (t->kind == HOST_KIND_UNSET)
        t->kind = HOST_UNTRUSTED;
    if (t->kind < 0 || t->kind >= HOST_KINDS)
        return "a token is for an untrusted, a login or a trusted host";
    if (t->kind == HOST_LOGIN)
        t->role = ROLE_LOGIN;
    t->trusted = t->kind == HOST_TRUSTED;
    return NULL;
}

/* It stands with each job that is submitted there, in what programs are told, and in lists. */
static bool is_host_name(const char *name)
{
    return !text_empty(name) && strlen(name) <= LIMIT_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               strlen(name);
}

/* NULL: it may be a host's, and one host's. */
static const char *name_fault(const struct token *t)
{
    if (!is_host_name(t->name))
        return "a host's name has letters, digits, dots and dashes";
    return t->uses_left > 1 ? "a token with a name is for one host" : NULL;
}

void req_make_token(struct core *c, const struct msg_make_token *m)
{
    const struct token *asked = m->token.n == 1 ? m->token.v : NULL;
    /* Of others the shell has not narrowed it, and who joins by it may be root to this cluster. */
    if (!c->turn.peer->is_admin || c->turn.peer->is_plain) {
        reply_done(c, REFUSE_ACCESS_DENIED,
                   "only root and SlurmUser make tokens, on the controller's host");
        return;
    }
    tokens_expire(c);
    struct token *had = asked && asked->id ? map_str_get(c->joined.token, asked->id) : NULL;
    if (!asked || text_empty(asked->id) || text_empty(asked->secret_hash) ||
        (had && had->uses_left > 0)) {
        reply_done(
            c, REFUSE_BAD_MESSAGE,
            "a token needs an id of its own and a secret; the controller's shell makes both");
        return;
    }
    if (asked->uses_left < 0 || asked->expires_us < 0 || core_hosts_count(c) >= LIMIT_NODES) {
        reply_done(c, REFUSE_UPDATE, "a token is for one or more hosts and for some time to come");
        return;
    }
    struct token t = *asked;
    const char *fault = kind_fault(&t);
    if (!fault && !text_empty(t.name))
        fault = name_fault(&t);
    if (fault) {
        reply_done(c, REFUSE_UPDATE, fault);
        return;
    }
    if (had)
        token_remove(c, had);
    t.uses_left = asked->uses_left ? asked->uses_left : 1;
    t.created_us = c->turn.now_us;
    t.expires_us = time_add(c->turn.now_us, asked->expires_us ? asked->expires_us : TOKEN_AGE_US);
    t.created_by = c->turn.peer->user;
    token_load(c, &t);
    fx_store(c, TABLE_TOKEN, &t);
    struct msg_token_made answer = {.token = {.v = &t, .n = 1}, .text = m->text};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_TOKEN_MADE, &answer);
    fx_log(c, LEVEL_INFO, "token %s for %d %s host%s was made by %s", t.id, (int)t.uses_left,
           host_kind_names.name[t.kind], t.uses_left == 1 ? "" : "s",
           t.created_by ? t.created_by : "?");
}

/* One that was used up or withdrawn since would be good once more. */
void tokens_forget(struct core *c)
{
    struct map_walk w = {0};
    size_t n = 0;
    while (map_str_next(c->joined.token, &w)) {
        n += ((const struct token *)w.value)->uses_left > 0;
        token_remove(c, w.value);
        w = (struct map_walk){0};
    }
    if (n > 0)
        fx_log(c, LEVEL_WARNING,
               "the store's %zu tokens let nobody in any more, as they may be used up since; "
               "`remuda token` makes new ones",
               n);
}

/* How long a token is good is counted by a clock that nobody sets. */
void tokens_move(struct core *c, int64_t by_us)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.token, &w)) {
        struct token *t = w.value;
        t->created_us = time_add(t->created_us, by_us);
        t->expires_us = time_add(t->expires_us, by_us);
        fx_store(c, TABLE_TOKEN, t);
    }
}

/* Takes the same time whatever the first difference is. */
static bool hash_is(const char *a, const char *b)
{
    size_t len = strlen(a);
    unsigned char differs = 0;
    if (strlen(b) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

/* ---- joining ---- */

static const struct host *speaker_of(const struct core *c, const char *node)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.host, &w)) {
        const struct host *h = w.value;
        if (list_has(h->nodes, node))
            return h;
    }
    return NULL;
}

/* NULL: the node is the host's to speak for. */
static const char *node_taken(struct core *c, const char *node)
{
    const struct host *other = speaker_of(c, node);
    const struct noderec *n = node_find(c, node);
    if (other)
        return arena_printf(
            c->turn.fx->arena,
            "node %s belongs to host %s (%s); shut that out first with `remuda hosts remove "
            "%s`, or join with --name",
            node, other->name, other->id, other->id);
    if (n && (n->conn || n->conf.is_virtual))
        return arena_printf(c->turn.fx->arena,
                            "node %s is there already; join with --name and another one", node);
    return NULL;
}

static bool node_is_described(const struct core *c, const char *node)
{
    const struct noderec *n = node_find(c, node);
    return n && !n->withdrawn;
}

void hosts_described(struct core *c)
{
    struct map_walk w = {0};
    while (map_str_next(c->joined.host, &w)) {
        struct host *h = w.value;
        if (!h->line || !node_is_described(c, h->nodes))
            continue;
        text_set(c, &h->line, NULL);
        fx_store(c, TABLE_HOST, h);
    }
}

static const char *join_fault(struct core *c, const struct token *t, const struct host *h)
{
    if (!t || !token_is_good(t, c->turn.now_us))
        return "the token is not known, has expired or is used up; make a new one with `remuda "
               "token` on the "
               "controller's host";
    if (t->kind != HOST_LOGIN && h->uid != t->uid)
        return arena_printf(
            c->turn.fx->arena,
            "the token is for a host that uid %u joins, %s; this one was joined by uid %u",
            (unsigned)t->uid, host_kind_names.name[t->kind], (unsigned)h->uid);
    if (!is_host_name(h->name))
        return arena_printf(c->turn.fx->arena,
                            "a host's name has letters, digits, dots and dashes, and %u of them at "
                            "most; give this one another",
                            LIMIT_NAME_BYTES);
    if (t->role == ROLE_LOGIN)
        return NULL;
    if (!is_host_name(h->nodes))
        return "a host that runs jobs joins as one node and names it";
    return node_taken(c, h->nodes);
}

static void join_answer(struct core *c, const struct host *h)
{
    struct host let_in = *h;
    struct msg_joined answer = {.host = {.v = &let_in, .n = 1},
                                .cluster_name = c->settings.cluster_name};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_JOINED, &answer);
    if (h->nodes && !node_is_described(c, h->nodes)) /* its line is new, or is there again */
        effect_add(c->turn.fx, FX_RECONFIGURE);
}

/* Asked by the host that is in already, under the same name of its node. */
static void join_again(struct core *c, const struct host *h, const struct host *asked)
{
    if (h->uid != asked->uid || (h->nodes && !text_is(h->nodes, asked->nodes))) {
        reply_done(c, REFUSE_ACCESS_DENIED,
                   arena_printf(c->turn.fx->arena,
                                "this machine joined with that token already, by uid %u%s%s: do it "
                                "so again, or shut that out with `remuda hosts remove %s` and make "
                                "a new token",
                                (unsigned)h->uid, h->nodes ? " as node " : "",
                                h->nodes ? h->nodes : "", h->id));
        return;
    }
    join_answer(c, h);
    fx_log(c, LEVEL_INFO, "host %s (%s) joined again: it had not heard that it was let in", h->name,
           h->id);
}

void req_join(struct core *c, const struct msg_join *m)
{
    const struct host *asked = m->host.n == 1 ? m->host.v : NULL;
    struct token *t = asked && asked->token ? map_str_get(c->joined.token, asked->token) : NULL;
    if (t && (!hash_is(t->secret_hash, m->text ? m->text : "") || t->expires_us <= c->turn.now_us))
        t = NULL;
    const struct host *in = t ? core_host_joined(c, t->id, asked->key_hash) : NULL;
    if (in && text_is(in->id, asked->id)) {
        join_again(c, in, asked);
        return;
    }
    const char *why = asked && !text_empty(asked->id) && !text_empty(asked->name)
                          ? join_fault(c, t, asked)
                          : "a host that joins has an id and a name";
    if (why) {
        reply_done(c, REFUSE_ACCESS_DENIED, why);
        return;
    }
    struct host h = *asked;
    h.role = t->role;
    h.kind = t->kind;
    h.trusted = t->kind == HOST_TRUSTED;
    h.user = host_kinds[t->kind].speaks == SPEAKS_FOR_ONE ? t->user : NULL;
    h.named = !text_empty(t->name);
    if (h.named)
        h.name = t->name;
    h.joined_us = c->turn.now_us;
    if (h.role == ROLE_LOGIN)
        h.nodes = NULL;
    h.line = h.nodes && !node_is_described(c, h.nodes) ? m->config : NULL;
    host_load(c, &h);
    fx_store(c, TABLE_HOST, &h);
    t->uses_left--;
    fx_store(c, TABLE_TOKEN, t);
    join_answer(c, &h);
    fx_log(c, LEVEL_INFO, "host %s joined as %s from %s, %s", h.name, h.id,
           h.address ? h.address : "?", host_kind_names.name[h.kind]);
}

/* ---- shutting out ---- */

/* *others: ids of all, where several are called so; a host calls itself as it likes, another's name
 * too. */
static struct host *host_named(const struct core *c, const char *name, struct str *others)
{
    struct map_walk w = {0};
    struct host *h = map_str_get(c->joined.host, name);
    size_t n = h != NULL;
    if (h)
        return h;
    while (map_str_next(c->joined.host, &w)) {
        struct host *one = w.value;
        if (!text_is(one->name, name) && !text_is(one->nodes, name))
            continue;
        h = one;
        n++;
        str_addf(others, "%s%s", others->len ? ", " : "", one->id);
    }
    if (n == 1)
        str_clear(others);
    return n == 1 ? h : NULL;
}

/* False: there is none of that name, or (*ret_others) several. */
static bool expel(struct core *c, const char *name, const char **ret_others)
{
    struct str others = STR_INIT;
    struct token *t = map_str_get(c->joined.token, name);
    if (t && t->uses_left < 1)
        t = NULL; /* who joined with it is a host */
    struct host *h = t ? NULL : host_named(c, name, &others);
    *ret_others = others.len ? arena_strdup(c->turn.fx->arena, str_text(&others)) : NULL;
    str_done(&others);
    if (t) {
        fx_log(c, LEVEL_INFO, "token %s was withdrawn by %s", t->id,
               c->turn.peer->user ? c->turn.peer->user : "?");
        token_remove(c, t);
    } else if (h) {
        if (h->nodes) { /* its line goes with it */
            struct effect *e = effect_add(c->turn.fx, FX_RECONFIGURE);
            e->text = arena_strdup(c->turn.fx->arena, h->nodes);
            e->conn = c->turn.conn;
        }
        fx_log(c, LEVEL_INFO, "host %s (%s) was shut out by %s", h->name, h->id,
               c->turn.peer->user ? c->turn.peer->user : "?");
        host_remove(c, h);
    }
    return t || h;
}

void req_expel(struct core *c, const struct msg_expel *m)
{
    struct span rest = span_of(m->names ? m->names : ""), word;
    struct msg_done done = {0};
    while (span_next(&rest, ',', &word)) {
        const char *name = arena_strndup(c->turn.fx->arena, word.data, word.len);
        const char *others;
        if (expel(c, name, &others)) {
            done.count++;
            continue;
        }
        done.refusal = REFUSE_INVALID_NODE;
        done.detail = arena_printf(
            c->turn.fx->arena,
            others ? "several hosts call themselves %s: name one by its id (%s), which it cannot "
                     "choose"
                   : "there is no token and no host \"%s\"; `remuda hosts` lists them",
            name, others);
    }
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_DONE, &done);
}
