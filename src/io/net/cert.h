/* The cluster's own certificate authority: keys, certificates, hashes. All texts are PEM and live
 * in the arena; errors are ERR_INVALID for bytes that are no key or certificate, else
 * ERR_INTERNAL. */
#ifndef REMUDA_IO_CERT_H
#define REMUDA_IO_CERT_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CERT_HASH_TEXT 65 /* SHA-256 in lower-case hex, and its NUL */

/* A private key and what belongs to it. */
struct cert_pair {
    const char *key; /* secret */
    const char *cert;
};

/* A new private key (P-256). */
const char *cert_key_new(struct arena *a, struct err *ret_err);
/* The public half of a private key: what a host sends to have it signed. */
const char *cert_key_public(const char *key, struct arena *a, struct err *ret_err);
/* A new authority, good for ever. */
bool cert_authority_new(const char *cluster, struct arena *a, struct cert_pair *ret,
                        struct err *ret_err);
/* Signs a public key for `name`: one of P-256, others are ERR_INVALID, as whoever likes sends it. A
 * server's certificate is good for the controller's end of a connection only, others for the hosts'
 * end only. It holds until `good_us` from now, and has no beginning (clocks differ). */
const char *cert_sign(const struct cert_pair *authority, const char *public_key, const char *name,
                      bool server, int64_t good_us, struct arena *a, struct err *ret_err);
/* When it ends, µs since 1970; 0 with ret_err if it is no certificate. */
int64_t cert_until(const char *cert, struct err *ret_err);
/* SHA-256 of the certificate; of any bytes. */
bool cert_hash(const char *cert, char ret[CERT_HASH_TEXT], struct err *ret_err);
/* SHA-256 as lower-case hexadecimal digits, with the NUL. */
void bytes_hash(const void *data, size_t len, char ret[CERT_HASH_TEXT]);
/* Unpredictable bytes as lower-case hex, 2 × bytes characters. */
const char *secret_new(size_t bytes, struct arena *a);

#endif
