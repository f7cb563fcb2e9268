/* OpenSSL over bytes in memory.
 *
 * A wrong certificate ends the handshake on either side: the reason is taken from the verification,
 * because OpenSSL's own says only that it failed. Session tickets are off: a host that was revoked
 * must not come back on a ticket. */
#include "io/net/tls.h"

#include "base/alloc.h"
#include "base/str.h"
#include "io/net/cert.h"
#include "io/net/openssl_err.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OUT_KEEP_BYTES (256u << 10) /* an empty buffer larger than this is given back */
/* What the other side shows: its own and the authority's. Of the 100 KiB that OpenSSL takes, a
 * stranger's two hundred are 45 ms. */
#define CERTS_MAX_BYTES   (4u << 10)
#define ANSWERS_MAX_BYTES (64u << 10) /* of the handshake, and to who asks for new keys */

struct tls_context {
    SSL_CTX *ctx;
    bool server;
    char authority_hash[CERT_HASH_TEXT]; /* joining */
    char *secrets;                       /* shared */
    unsigned char secret_name[EVP_MAX_MD_SIZE];
};

/* OpenSSL reads what came straight from the caller's bytes, and what it seals it writes into `out`:
 * its own BIOs of memory would copy both once more, and clear what is free again. */
struct tls {
    SSL *ssl;
    BIO_METHOD *method;
    struct span in; /* what came and was not taken yet; the caller's */
    struct str out;
    size_t sent; /* bytes of `out` that the socket took */
    char *peer;
    bool joining;
};

/* ---- contexts ---- */

static X509 *cert_read(const char *pem)
{
    BIO *b = BIO_new_mem_buf(pem, (int)strlen(pem));
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    return x;
}

static bool identity_use(SSL_CTX *ctx, const char *cert, const char *key)
{
    X509 *x = cert_read(cert);
    BIO *b = BIO_new_mem_buf(key, (int)strlen(key));
    EVP_PKEY *k = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    bool ok = x && k && SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, k) == 1;
    BIO_free(b);
    EVP_PKEY_free(k);
    X509_free(x);
    return ok;
}

static bool authority_trust(SSL_CTX *ctx, const char *authority, bool show)
{
    X509 *x = cert_read(authority);
    bool ok = x && X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x) == 1 &&
              (!show || SSL_CTX_add1_chain_cert(ctx, x) == 1);
    X509_free(x);
    return ok;
}

/* What a stranger may make the other side reckon: in a large group of whole numbers, which OpenSSL
 * takes where nothing is said, one greeting costs as much as a thousand in these. Where X25519 may
 * not be used (FIPS) OpenSSL does not take the first list. */
static bool groups_set(SSL_CTX *ctx)
{
    return SSL_CTX_set1_groups_list(ctx, "X25519:P-256") == 1 ||
           SSL_CTX_set1_groups_list(ctx, "P-256") == 1;
}

static struct tls_context *context_new(bool server, struct err *ret_err)
{
    struct tls_context *c = xcalloc(1, sizeof *c);
    c->server = server;
    c->ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (c->ctx && SSL_CTX_set_min_proto_version(c->ctx, TLS1_3_VERSION) == 1 &&
        groups_set(c->ctx)) {
        SSL_CTX_set_num_tickets(c->ctx, 0);
        SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(c->ctx, SSL_MODE_RELEASE_BUFFERS); /* idle connections are many */
        SSL_CTX_set_max_cert_list(c->ctx, CERTS_MAX_BYTES);
        SSL_CTX_set_verify(c->ctx, SSL_VERIFY_PEER, NULL);
        return c;
    }
    openssl_failed(ERR_INVALID, "begin with TLS", ret_err);
    tls_context_free(c);
    return NULL;
}

static struct tls_context *context_with(bool server, const char *authority, const char *cert,
                                        const char *key, struct err *ret_err)
{
    struct tls_context *c = context_new(server, ret_err);
    if (!c)
        return NULL;
    if (authority_trust(c->ctx, authority, server) && identity_use(c->ctx, cert, key))
        return c;
    openssl_failed(ERR_INVALID, "use the certificate", ret_err);
    tls_context_free(c);
    return NULL;
}

struct tls_context *tls_context_server(const char *authority, const char *cert, const char *key,
                                       struct err *ret_err)
{
    return context_with(true, authority, cert, key, ret_err);
}

struct tls_context *tls_context_client(const char *authority, const char *cert, const char *key,
                                       struct err *ret_err)
{
    return context_with(false, authority, cert, key, ret_err);
}

/* Trusts the one certificate that has the hash of the token, if it is among those the other side
 * showed. */
static int authority_find(X509_STORE_CTX *chain, void *context)
{
    const struct tls_context *c = context;
    STACK_OF(X509) *shown = X509_STORE_CTX_get0_untrusted(chain);
    STACK_OF(X509) *trusted = sk_X509_new_null();
    for (int i = 0; i < sk_X509_num(shown); i++) {
        unsigned char *der = NULL;
        char hash[CERT_HASH_TEXT];
        int len = i2d_X509(sk_X509_value(shown, i), &der);
        if (len > 0) {
            bytes_hash(der, (size_t)len, hash);
            if (CRYPTO_memcmp(hash, c->authority_hash, CERT_HASH_TEXT) == 0)
                sk_X509_push(trusted, sk_X509_value(shown, i));
        }
        OPENSSL_free(der);
    }
    X509_STORE_CTX_set0_trusted_stack(chain, trusted);
    int ok = X509_verify_cert(chain);
    sk_X509_free(trusted);
    return ok;
}

struct tls_context *tls_context_joining(const char *authority_hash, struct err *ret_err)
{
    struct tls_context *c = context_new(false, ret_err);
    if (!c)
        return NULL;
    strncpy(c->authority_hash, authority_hash, CERT_HASH_TEXT - 1);
    SSL_CTX_set_cert_verify_callback(c->ctx, authority_find, c);
    return c;
}

/* ---- a shared secret ---- */

#define SECRET_HASH_BYTES 32u

/* What the key is made of, and what names it to the other end without telling it. */
static void secret_hash(const char *what, struct span secret, unsigned char ret[EVP_MAX_MD_SIZE])
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    unsigned n = 0;
    CHECK(md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
          EVP_DigestUpdate(md, what, strlen(what)) == 1 &&
          EVP_DigestUpdate(md, secret.data, secret.len) == 1 &&
          EVP_DigestFinal_ex(md, ret, &n) == 1 && n == SECRET_HASH_BYTES);
    EVP_MD_CTX_free(md);
}

static SSL_SESSION *secret_session(SSL *ssl, struct span secret)
{
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    unsigned char key[EVP_MAX_MD_SIZE];
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION *session = SSL_SESSION_new();
    secret_hash("remuda stream key ", secret, key);
    CHECK(cipher && session && SSL_SESSION_set1_master_key(session, key, SECRET_HASH_BYTES) == 1 &&
          SSL_SESSION_set_cipher(session, cipher) == 1 &&
          SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
    OPENSSL_cleanse(key, sizeof key);
    return session;
}

static const struct tls_context *context_of(SSL *ssl)
{
    return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

static int secret_show(SSL *ssl, const EVP_MD *md, const unsigned char **ret_name, size_t *ret_len,
                       SSL_SESSION **ret_session)
{
    struct tls_context *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    (void)md;
    secret_hash("remuda stream name ", span_of(c->secrets), c->secret_name);
    *ret_name = c->secret_name;
    *ret_len = SECRET_HASH_BYTES;
    *ret_session = secret_session(ssl, span_of(c->secrets));
    return 1;
}

static int secret_find(SSL *ssl, const unsigned char *name, size_t len, SSL_SESSION **ret_session)
{
    struct span rest = span_of(context_of(ssl)->secrets), one;
    unsigned char known[EVP_MAX_MD_SIZE];
    *ret_session = NULL;
    while (len == SECRET_HASH_BYTES && !*ret_session && span_next(&rest, ' ', &one)) {
        secret_hash("remuda stream name ", one, known);
        if (one.len && CRYPTO_memcmp(known, name, len) == 0)
            *ret_session = secret_session(ssl, one);
    }
    return 1; /* without one the handshake fails: there is no certificate */
}

struct tls_context *tls_context_shared(bool server, const char *secrets, struct err *ret_err)
{
    struct tls_context *c = context_new(server, ret_err);
    if (!c)
        return NULL;
    c->secrets = xstrdup(secrets);
    SSL_CTX_set_app_data(c->ctx, c);
    CHECK(SSL_CTX_set_ciphersuites(c->ctx, "TLS_AES_128_GCM_SHA256") ==
          1); /* a key goes with one hash */
    if (server) {
        SSL_CTX_set_verify(c->ctx, SSL_VERIFY_NONE,
                           NULL); /* it has no certificate to show, so who has no secret fails */
        SSL_CTX_set_psk_find_session_callback(c->ctx, secret_find);
    } else {
        SSL_CTX_set_psk_use_session_callback(c->ctx, secret_show);
    }
    return c;
}

void tls_context_free(struct tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ctx);
    free(c->secrets);
    free(c);
}

/* ---- one connection ---- */

static int bytes_read(BIO *b, char *to, int len)
{
    struct tls *t = BIO_get_data(b);
    size_t n = t->in.len < (size_t)len ? t->in.len : (size_t)len;
    BIO_clear_retry_flags(b);
    if (n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    memcpy(to, t->in.data, n);
    t->in = (struct span){t->in.data + n, t->in.len - n};
    return (int)n;
}

static int bytes_write(BIO *b, const char *data, int len)
{
    str_addn(&((struct tls *)BIO_get_data(b))->out, data, (size_t)len);
    return len;
}

static long bytes_ctrl(BIO *b, int what, long number, void *pointer)
{
    (void)b;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bytes_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_TYPE_START, "bytes");
    CHECK(m && BIO_meth_set_read(m, bytes_read) == 1 && BIO_meth_set_write(m, bytes_write) == 1 &&
          BIO_meth_set_ctrl(m, bytes_ctrl) == 1);
    return m;
}

struct tls *tls_new(struct tls_context *c)
{
    struct tls *t = xcalloc(1, sizeof *t);
    t->ssl = SSL_new(c->ctx);
    t->method = bytes_method();
    BIO *b = BIO_new(t->method);
    CHECK(t->ssl && b);
    t->joining = c->authority_hash[0] != '\0';
    BIO_set_data(b, t);
    BIO_set_init(b, 1);
    SSL_set_bio(t->ssl, b, b);
    if (c->server)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    SSL_do_handshake(t->ssl); /* of a client: its first bytes */
    ERR_clear_error();
    return t;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    BIO_meth_free(t->method);
    str_done(&t->out);
    free(t->peer);
    free(t);
}

void tls_feed(struct tls *t, const void *data, size_t len)
{
    t->in = (struct span){data, len};
}

/* Who reads this has typed a token, or set a clock. */
static void certificate_refuse(struct tls *t, long verified, struct err *ret_err)
{
    char now[32];
    time_t clock = time(NULL);
    struct tm utc;
    strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&clock, &utc));
    switch (verified) {
    case X509_V_ERR_CERT_NOT_YET_VALID:
        err_set(ret_err, ERR_INVALID,
                "the certificate of the other side is not valid yet: the clock of one of the two "
                "is wrong; "
                "here it is %s",
                now);
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        err_set(ret_err, ERR_INVALID,
                "the certificate of the other side has expired, or the clock of one of the two is "
                "wrong; "
                "here it is %s",
                now);
        break;
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* an authority of the same name */
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        err_set(
            ret_err, ERR_INVALID, "the certificate of the other side is not of %s",
            t->joining
                ? "the cluster whose token this is: another cluster's controller answers there, "
                  "or the token is not whole"
                : "this cluster");
        break;
    default:
        err_set(ret_err, ERR_INVALID, "the certificate of the other side is not accepted: %s",
                X509_verify_cert_error_string(verified));
    }
}

static ssize_t broken(struct tls *t, struct err *ret_err)
{
    long verified = SSL_get_verify_result(t->ssl);
    if (verified != X509_V_OK) {
        ERR_clear_error();
        certificate_refuse(t, verified, ret_err);
        return -1;
    }
    openssl_failed(ERR_INVALID, "speak TLS with the other side", ret_err);
    return -1;
}

/* Each time the other side asks for new keys OpenSSL answers, whether that is read or not. */
static bool is_flooded(const struct tls *t)
{
    return t->out.len - t->sent > TLS_AHEAD_BYTES + ANSWERS_MAX_BYTES;
}

ssize_t tls_read(struct tls *t, void *room, size_t len, struct err *ret_err)
{
    if (is_flooded(t)) {
        err_set(ret_err, ERR_LIMIT, "the other side asks again and again, and reads no answer");
        return -1;
    }
    ERR_clear_error();
    int n = SSL_read(t->ssl, room, len > INT32_MAX ? INT32_MAX : (int)len);
    if (n > 0)
        return n;
    int why = SSL_get_error(t->ssl, n);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_ZERO_RETURN)
        return 0;
    return broken(t, ret_err);
}

size_t tls_write(struct tls *t, const void *data, size_t len)
{
    if (len == 0 || !SSL_is_init_finished(t->ssl))
        return 0;
    ERR_clear_error();
    int n = SSL_write(t->ssl, data, len > INT32_MAX ? INT32_MAX : (int)len);
    return n > 0 ? (size_t)n : 0;
}

const char *tls_unsent(const struct tls *t, size_t *ret_len)
{
    *ret_len = t->out.len - t->sent;
    return t->out.data + t->sent;
}

void tls_sent(struct tls *t, size_t len)
{
    ASSERT(t->sent + len <= t->out.len);
    t->sent += len;
    if (t->sent < t->out.len)
        return;
    t->sent = 0;
    if (t->out.cap > OUT_KEEP_BYTES)
        str_done(&t->out);
    else
        str_clear(&t->out);
}

bool tls_is_ready(const struct tls *t)
{
    return SSL_is_init_finished(t->ssl);
}

const char *tls_peer(const struct tls *t)
{
    struct tls *own = (struct tls *)(uintptr_t)t;
    char name[256];
    if (t->peer || !SSL_is_init_finished(t->ssl))
        return t->peer;
    X509 *x = SSL_get0_peer_certificate(t->ssl);
    if (x &&
        X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof name) > 0)
        own->peer = xstrdup(name);
    return t->peer;
}
