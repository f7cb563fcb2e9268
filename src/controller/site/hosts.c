/* The authority and the port.
 *
 * The controller's own certificate is made anew at every start, and when somebody comes for whom it
 * is not of today: a day has passed, or the clock was set. It never leaves the process: nothing has
 * to be renewed on disk, and what could be stolen is the authority's key alone. */
#include "controller/site/hosts.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/net/cert.h"
#include "io/net/tcp_socket.h"
#include "io/net/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SERVER_LIFE_US  (3 * USEC_PER_DAY)
#define SERVER_AGAIN_US USEC_PER_DAY
#define PEM_MAX_BYTES   (64u << 10)

struct hosts {
    struct controller *c;
    host_came came;
    struct arena *arena;
    struct cert_pair authority;
    struct tls_context *tls;
    struct listener *listener;
    int32_t port; /* of the listener, and SlurmctldAddr, "" = all addresses */
    const char *listens_at;
    int64_t made_us;  /* of `tls`, by the wall clock */
    int64_t again_us; /* not before that, by the monotonic one: it failed */
};

struct hosts *hosts_new(struct controller *c, host_came came)
{
    struct hosts *h = xcalloc(1, sizeof *h);
    h->c = c;
    h->came = came;
    h->arena = arena_new();
    return h;
}

void hosts_close(struct hosts *h)
{
    if (!h)
        return;
    listener_free(h->listener);
    h->listener = NULL;
}

void hosts_free(struct hosts *h)
{
    if (!h)
        return;
    hosts_close(h);
    tls_context_free(h->tls);
    arena_free(h->arena);
    free(h);
}

/* ---- the authority ---- */

/* Connections that are there keep the context they began with. */
static bool server_certify(struct hosts *h, struct err *ret_err)
{
    struct arena *a = arena_new();
    const char *key = cert_key_new(a, ret_err);
    const char *public_key = key ? cert_key_public(key, a, ret_err) : NULL;
    const char *cert = public_key ? cert_sign(&h->authority, public_key, "controller", true,
                                              SERVER_LIFE_US, a, ret_err)
                                  : NULL;
    struct tls_context *fresh =
        cert ? tls_context_server(h->authority.cert, cert, key, ret_err) : NULL;
    arena_free(a);
    if (!fresh)
        return false;
    tls_context_free(h->tls);
    h->tls = fresh;
    h->made_us = clock_now_us();
    return true;
}

static bool authority_read(struct hosts *h, const char *key, const char *cert, struct err *ret_err)
{
    struct cert_pair p = {.key = file_read_text(key, PEM_MAX_BYTES, h->arena, ret_err)};
    p.cert = p.key ? file_read_text(cert, PEM_MAX_BYTES, h->arena, ret_err) : NULL;
    if (p.cert)
        h->authority = p;
    return p.cert != NULL;
}

/* It is the cluster's once both files are durable: what was signed by one that is gone with the
 * process would let nobody in again. */
static bool authority_make(struct hosts *h, const char *key, const char *cert, struct err *ret_err)
{
    struct cert_pair p = {0};
    if (!dir_make(controller_path(h->c, "tls"), 0700, ret_err) ||
        !cert_authority_new(core_settings(h->c->core)->cluster_name, h->arena, &p, ret_err) ||
        !file_write_atomic(cert, p.cert, strlen(p.cert), 0644, ret_err) ||
        !file_write_atomic(key, p.key, strlen(p.key), 0600, ret_err))
        return false;
    h->authority = p;
    log_info(h->c->log, "made the cluster's certificate authority, %s", cert);
    return true;
}

/* Only where there is none is one made, and nobody has joined by one: the hosts that joined know
 * the one that cannot be read, or whose key is gone. */
static bool authority_ensure(struct hosts *h, struct err *ret_err)
{
    const char *key = controller_path(h->c, "tls/authority.key");
    const char *cert = controller_path(h->c, "tls/authority.crt");
    struct stat st;
    if (h->authority.cert)
        return true;
    if (lstat(key, &st) == 0 || errno != ENOENT)
        return authority_read(h, key, cert, ret_err);
    if (core_hosts_count(h->c->core) > 0)
        return err_set(
            ret_err, ERR_UNAVAILABLE,
            "%s is not there, and hosts have joined by it, or may with a token: bring it "
            "back from a backup (remuda restore), or remove them (remuda hosts remove) "
            "and withdraw what `remuda token list` shows (remuda token revoke)",
            key);
    return authority_make(h, key, cert, ret_err);
}

/* Files that are no authority are read anew the next time: somebody may have put them right. */
static bool authority_serves(struct hosts *h, struct err *ret_err)
{
    if (!authority_ensure(h, ret_err))
        return false;
    if (server_certify(h, ret_err))
        return true;
    h->authority = (struct cert_pair){0};
    return false;
}

const char *hosts_authority(const struct hosts *h)
{
    return h->authority.cert;
}

const char *hosts_certify(struct hosts *h, const char *public_key, const char *id, struct arena *a,
                          struct err *ret_err)
{
    return cert_sign(&h->authority, public_key, id, false,
                     core_settings(h->c->core)->host_cert_life_us, a, ret_err);
}

const char *hosts_token_text(struct hosts *h, const char *id, const char *secret, struct arena *a)
{
    char hash[CERT_HASH_TEXT] = "";
    cert_hash(h->authority.cert, hash, NULL);
    return arena_printf(a, "remuda1.%s.%s.%s", id, secret, hash);
}

/* ---- the port ---- */

struct tls_context *hosts_tls(struct hosts *h)
{
    struct err err = {0};
    int64_t age_us = clock_now_us() - h->made_us;
    bool is_of_today = age_us >= 0 && age_us < SERVER_AGAIN_US;
    if (is_of_today || clock_monotonic_us() < h->again_us || server_certify(h, &err))
        return h->tls;
    log_error(h->c->log, "cannot renew the controller's certificate: %s", err.text);
    h->again_us = clock_monotonic_us() + USEC_PER_HOUR;
    return h->tls;
}

static void connection_came(void *ctx, int fd)
{
    struct hosts *h = ctx;
    tcp_socket_tune(fd);
    h->came(h->c, fd, hosts_tls(h));
}

bool hosts_listen(struct hosts *h, struct err *ret_err)
{
    const struct settings *s = core_settings(h->c->core);
    if (h->listener)
        return true;
    if (!authority_serves(h, ret_err))
        return false;
    int fd = tcp_socket_listen(text_empty(s->slurmctld_addr) ? NULL : s->slurmctld_addr,
                               s->slurmctld_port, ret_err);
    if (fd < 0)
        return err_prefix(ret_err, "SlurmctldPort=%d", (int)s->slurmctld_port);
    h->listener = listener_new_of(h->c->loop, fd, connection_came, h, ret_err);
    h->port = s->slurmctld_port;
    h->listens_at = arena_strdup(h->arena, s->slurmctld_addr ? s->slurmctld_addr : "");
    if (h->listener)
        log_info(h->c->log, "other hosts may connect to port %d", (int)s->slurmctld_port);
    return h->listener != NULL;
}

void hosts_port_look(const struct hosts *h, const struct settings *now)
{
    if (h && h->listener &&
        (now->slurmctld_port != h->port ||
         !text_is(now->slurmctld_addr ? now->slurmctld_addr : "", h->listens_at)))
        log_warning(h->c->log,
                    "SlurmctldPort and SlurmctldAddr count from the controller's next start on: "
                    "until then other hosts reach it at port %d",
                    (int)h->port);
}
