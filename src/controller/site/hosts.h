/* Other hosts: the cluster's authority, the port at which they come, and what a connection from
 * one of them may do before it is known who speaks.
 *
 * The authority's key is DIR/tls/authority.key; it and the port come to be with the first
 * `remuda token`, and the port is open whenever a token or a host is known. */
#ifndef REMUDA_CONTROLLER_SITE_HOSTS_H
#define REMUDA_CONTROLLER_SITE_HOSTS_H

#include "controller/controller.h"

struct hosts; /* opaque */
struct session;

struct tls_context;
/* A connection from another host: the descriptor becomes the callee's; who is there, TLS has still
 * to find out. */
typedef void (*host_came)(struct controller *c, int fd, struct tls_context *tls);

/* Listens nowhere yet; `came` is called from the loop. */
struct hosts *hosts_new(struct controller *c, host_came came);
void hosts_free(struct hosts *h); /* NULL is fine */
/* Opens the port; nothing if it is open. The error says what stands in the way. */
bool hosts_listen(struct hosts *h, struct err *ret_err);
/* Says in the log that these have another port or address than is open; NULL is fine. */
void hosts_port_look(const struct hosts *h, const struct settings *now);
/* What new connections speak through, by a certificate of today; valid until the loop goes
 * round. */
struct tls_context *hosts_tls(struct hosts *h);
/* No more new connections. */
void hosts_close(struct hosts *h);
/* The token as people carry it, from its id and secret. */
const char *hosts_token_text(struct hosts *h, const char *id, const char *secret, struct arena *a);
/* A certificate for the host of that id; NULL with ret_err. */
const char *hosts_certify(struct hosts *h, const char *public_key, const char *id, struct arena *a,
                          struct err *ret_err);
const char *hosts_authority(const struct hosts *h); /* its certificate */

#endif
