#include "node/host/host_file.h"

#include "base/duration.h"
#include "base/str.h"
#include "io/files.h"
#include "io/net/conn.h"
#include "io/net/name_lookup.h"
#include "model/settings/key.h"

#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES (64u << 10)
#define CALL_MAX_US    (30 * USEC_PER_SEC)
#define LOOKUP_WAIT_US (10 * USEC_PER_SEC)

/* ---- files ---- */

static const char *value_of(const char *text, const char *key, struct arena *a)
{
    struct span rest = span_of(text), line;
    size_t len = strlen(key);
    while (span_next(&rest, '\n', &line))
        if (line.len > len && strncmp(line.data, key, len) == 0 && line.data[len] == '=')
            return arena_strndup(a, line.data + len + 1, line.len - len - 1);
    return NULL;
}

bool host_file_read(const char *state_dir, struct arena *a, struct host_file *ret,
                    struct err *ret_err)
{
    const char *text =
        file_read_text(arena_printf(a, "%s/host.conf", state_dir), FILE_MAX_BYTES, a, ret_err);
    if (!text)
        return false;
    *ret = (struct host_file){.controller = value_of(text, "Controller", a),
                              .id = value_of(text, "Id", a),
                              .cluster = value_of(text, SETTING_KEY(ClusterName), a),
                              .role = value_of(text, "Role", a),
                              .node = value_of(text, "NodeName", a)};
    ret->key =
        file_read_text(arena_printf(a, "%s/tls/host.key", state_dir), FILE_MAX_BYTES, a, ret_err);
    ret->cert = ret->key ? file_read_text(arena_printf(a, "%s/tls/host.crt", state_dir),
                                          FILE_MAX_BYTES, a, ret_err)
                         : NULL;
    ret->authority = ret->cert ? file_read_text(arena_printf(a, "%s/tls/authority.crt", state_dir),
                                                FILE_MAX_BYTES, a, ret_err)
                               : NULL;
    if (!ret->authority)
        return false;
    return ret->controller && ret->id
               ? true
               : err_set(ret_err, ERR_INVALID, "%s/host.conf names no controller: join again",
                         state_dir);
}

static bool pem_write(const char *path, const char *text, mode_t mode, struct err *ret_err)
{
    return file_write_atomic(path, text, strlen(text), mode, ret_err);
}

bool host_cert_write(const char *state_dir, const char *cert, struct err *ret_err)
{
    struct arena *a = arena_new();
    bool ok = pem_write(arena_printf(a, "%s/tls/host.crt", state_dir), cert, 0644, ret_err);
    arena_free(a);
    return ok;
}

/* host.conf last: with it, the rest is there. */
bool host_file_write(const char *state_dir, const struct host_file *h, struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *text = arena_printf(
        a, "# Written by `remuda join`.\nController=%s\nId=%s\nClusterName=%s\nRole=%s\n%s%s%s",
        h->controller, h->id, h->cluster ? h->cluster : "", h->role, h->node ? "NodeName=" : "",
        h->node ? h->node : "", h->node ? "\n" : "");
    bool ok = dir_make(arena_printf(a, "%s/tls", state_dir), 0700, ret_err) &&
              pem_write(arena_printf(a, "%s/tls/host.key", state_dir), h->key, 0600, ret_err) &&
              pem_write(arena_printf(a, "%s/tls/authority.crt", state_dir), h->authority, 0644,
                        ret_err) &&
              host_cert_write(state_dir, h->cert, ret_err) &&
              pem_write(arena_printf(a, "%s/host.conf", state_dir), text, 0644, ret_err);
    arena_free(a);
    return ok;
}

/* ---- a call ---- */

struct call {
    struct loop *loop;
    struct arena *arena;
    struct message *ret;
    struct name_found to;
    struct err err;
    bool answered;
};

static void call_frame(void *ctx, struct conn *c, const struct frame *f)
{
    struct call *call = ctx;
    struct frame kept = *f;
    if (f->raw_len > 0)
        kept.raw = arena_dup(call->arena, f->raw, f->raw_len);
    if (!call->answered && !call->err.code)
        call->answered = wire_decode(&kept, call->arena, call->ret, &call->err);
    conn_close(c);
}

static void call_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct call *call = ctx;
    (void)c;
    if (!call->answered && !call->err.code)
        err_set(&call->err, ERR_UNAVAILABLE, "%s",
                why->code ? why->text : "the controller closed the connection");
    loop_stop(call->loop);
}

static void call_late(void *ctx)
{
    struct conn *c = ctx;
    conn_abort(c);
}

static void call_found(void *ctx, const struct name_found *found)
{
    struct call *call = ctx;
    call->to = *found;
    loop_stop(call->loop);
}

static bool call_find(struct call *call, const char *host, int port, struct err *ret_err)
{
    if (!name_lookup_new(call->loop, host, port, LOOKUP_WAIT_US, call_found, call, ret_err))
        return false;
    loop_run(call->loop);
    if (call->to.n == 0 && ret_err)
        *ret_err = call->to.why;
    return call->to.n > 0;
}

static bool call_run(struct call *call, int fd, struct tls_context *tls, const struct message *m,
                     struct err *ret_err)
{
    static const struct conn_ops ops = {.frame = call_frame, .closed = call_closed};
    struct conn *c = conn_new_tls(call->loop, fd, tls, &ops, call, ret_err);
    if (!c)
        return false;
    struct timer *late = timer_new(call->loop, call_late, c);
    timer_set(late, CALL_MAX_US);
    conn_send_message(c, m);
    loop_run(call->loop);
    timer_free(late);
    if (call->err.code && ret_err)
        *ret_err = call->err;
    return call->answered;
}

static bool refused(const struct message *m, struct err *ret_err)
{
    const struct msg_done *done = m->body;
    if (m->kind != MSG_DONE || done->refusal == REFUSE_NONE)
        return false;
    err_set(ret_err, done->refusal == REFUSE_ACCESS_DENIED ? ERR_DENIED : ERR_UNAVAILABLE, "%s: %s",
            refusal_text((enum refusal)done->refusal),
            done->detail ? done->detail : "no reason given");
    return true;
}

bool host_call(const char *controller, struct tls_context *tls, const struct message *m,
               struct arena *a, struct message *ret, struct err *ret_err)
{
    struct call call = {.arena = a, .ret = ret};
    const char *host;
    int port = HOST_PORT, fd = -1;
    if (!tcp_address_split(controller, a, &host, &port, ret_err))
        return false;
    call.loop = loop_new(ret_err);
    if (call.loop && !call_find(&call, host, port, ret_err)) {
        loop_free(call.loop);
        return false;
    }
    if (call.loop)
        fd = tcp_socket_connect(&call.to.address[0], ret_err);
    bool ok = fd >= 0 && call_run(&call, fd, tls, m, ret_err);
    loop_free(call.loop);
    if (!ok)
        return err_prefix(ret_err, "the controller at %s", controller);
    return !refused(ret, ret_err);
}
