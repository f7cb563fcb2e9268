/* TLS 1.3 over memory: bytes of the wire in and out, plain bytes in and out. conn.h puts it between
 * a socket and its frames; nothing here touches a descriptor. */
#ifndef REMUDA_IO_TLS_H
#define REMUDA_IO_TLS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What one end shows and trusts; shared by its connections and alive while any of them is
 * (counted). */
struct tls_context; /* opaque */

/* The controller's end: shows `cert`, with the authority's behind it; who comes may show none (it
 * can then only join with a token), but not a wrong one. PEM. */
struct tls_context *tls_context_server(const char *authority, const char *cert, const char *key,
                                       struct err *ret_err);
/* A host's end: the other side must show a server's certificate of that authority. */
struct tls_context *tls_context_client(const char *authority, const char *cert, const char *key,
                                       struct err *ret_err);
/* A host that joins: it has no certificate, and knows the authority by its hash alone (cert_hash),
 * from the token. */
struct tls_context *tls_context_joining(const char *authority_hash, struct err *ret_err);
/* Two ends that share a secret (the streams of a step) instead of certificates; `server` knows
 * several and finds out which one the other end has. Texts of any length, blank- separated for a
 * server. It must outlive its connections. */
struct tls_context *tls_context_shared(bool server, const char *secrets, struct err *ret_err);
void tls_context_free(struct tls_context *c); /* NULL is fine */

struct tls; /* opaque; one connection */

/* One connection's; `c` is borrowed. A client's first bytes are ready to be sent. */
struct tls *tls_new(struct tls_context *c);
void tls_free(struct tls *t); /* NULL is fine */
/* Bytes that came: they are not copied, so they must stay until tls_read has returned 0 or less. */
void tls_feed(struct tls *t, const void *data, size_t len);
/* Goes on with the handshake; reads plain bytes: how many, 0 = more must come, -1 = broken or
 * refused (ret_err). The other side's orderly end reads as 0 too: the socket's end follows. Bytes
 * to be sent may have come of it. */
ssize_t tls_read(struct tls *t, void *room, size_t len, struct err *ret_err);
/* Seals plain bytes; how many it took: all, or none before the handshake is done. TLS_AHEAD_BYTES
 * at most are to wait sealed for the socket: more is taken for the other side's asking for new keys
 * without end, and tls_read fails. */
#define TLS_AHEAD_BYTES (64u << 10)
size_t tls_write(struct tls *t, const void *data, size_t len);
/* Sealed bytes to be sent. Valid until the next call; tls_sent takes off what the socket took. */
const char *tls_unsent(const struct tls *t, size_t *ret_len);
/* So many of the bytes that were to be sent have gone; no more than there were. */
void tls_sent(struct tls *t, size_t len);
/* Is the handshake done? */
bool tls_is_ready(const struct tls *t);
/* Name in the certificate of the other side once the handshake is done; NULL = it showed none, or
 * is not done. */
const char *tls_peer(const struct tls *t);

#endif
