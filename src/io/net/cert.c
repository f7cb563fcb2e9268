/* Keys and certificates through OpenSSL's own types; nothing of them leaves this file but PEM.
 *
 * No certificate has a beginning, and the authority's has no end: who is let in stands in the
 * controller's store, and a clock that was wrong for a while, when one was made, must not shut
 * anybody out afterwards. */
#include "io/net/cert.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/net/openssl_err.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#define NO_END        "99991231235959Z" /* as RFC 5280 has it */
#define KEY_MAX_BYTES 256u              /* one of ours has 178 */

static BIO *bio_of(const char *text)
{
    return BIO_new_mem_buf(text, (int)strlen(text));
}

/* Takes the BIO. */
static const char *bio_text(BIO *b, struct arena *a)
{
    char *data;
    long len = BIO_get_mem_data(b, &data);
    const char *text = arena_strndup(a, data, (size_t)len);
    BIO_free(b);
    return text;
}

static EVP_PKEY *key_read(const char *pem, struct err *ret_err)
{
    BIO *b = bio_of(pem);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);
    BIO_free(b);
    if (!key) {
        ERR_clear_error();
        err_set(ret_err, ERR_INVALID, "this is no private key in PEM");
    }
    return key;
}

static X509 *cert_read(const char *pem, struct err *ret_err)
{
    BIO *b = bio_of(pem);
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    if (!x) {
        ERR_clear_error();
        err_set(ret_err, ERR_INVALID, "this is no certificate in PEM");
    }
    return x;
}

/* Strangers send keys to be signed: of all that OpenSSL reads, some take it tens of ms. */
static EVP_PKEY *key_of_host(const char *pem, struct err *ret_err)
{
    char group[32] = "";
    BIO *b = bio_of(pem);
    EVP_PKEY *key = strlen(pem) < KEY_MAX_BYTES ? PEM_read_bio_PUBKEY(b, NULL, NULL, NULL) : NULL;
    BIO_free(b);
    if (key && EVP_PKEY_is_a(key, "EC") &&
        EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
        strcmp(group, "prime256v1") == 0)
        return key;
    EVP_PKEY_free(key);
    ERR_clear_error();
    err_set(ret_err, ERR_INVALID, "this is no public key of a host (P-256) in PEM");
    return NULL;
}

const char *cert_key_new(struct arena *a, struct err *ret_err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    BIO *b = BIO_new(BIO_s_mem());
    bool ok = key && PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1;
    EVP_PKEY_free(key);
    if (ok)
        return bio_text(b, a);
    BIO_free(b);
    openssl_failed(ERR_INTERNAL, "make a key", ret_err);
    return NULL;
}

const char *cert_key_public(const char *pem, struct arena *a, struct err *ret_err)
{
    EVP_PKEY *key = key_read(pem, ret_err);
    if (!key)
        return NULL;
    BIO *b = BIO_new(BIO_s_mem());
    bool ok = PEM_write_bio_PUBKEY(b, key) == 1;
    EVP_PKEY_free(key);
    if (ok)
        return bio_text(b, a);
    BIO_free(b);
    openssl_failed(ERR_INTERNAL, "write a public key", ret_err);
    return NULL;
}

static bool extension_add(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = e && X509_add_ext(x, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

static bool name_set(X509_NAME *n, const char *name)
{
    return X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
                                      0) == 1;
}

static bool until_set(X509 *x, int64_t good_s)
{
    if (good_s == INT64_MAX)
        return ASN1_TIME_set_string_X509(X509_getm_notAfter(x), NO_END) == 1;
    return X509_time_adj_ex(X509_getm_notAfter(x), (int)(good_s / 86400), (long)(good_s % 86400),
                            NULL) != NULL;
}

/* Everything that authority and host certificates have in common. good_s from now; INT64_MAX = for
 * ever. */
static X509 *cert_blank(EVP_PKEY *key, const char *name, int64_t good_s)
{
    unsigned char serial[16];
    X509 *x = X509_new();
    BIGNUM *number =
        RAND_bytes(serial, sizeof serial) == 1 ? BN_bin2bn(serial, sizeof serial, NULL) : NULL;
    bool ok = x && number && X509_set_version(x, X509_VERSION_3) == 1 &&
              BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) &&
              ASN1_TIME_set(X509_getm_notBefore(x), 0) && until_set(x, good_s) &&
              X509_set_pubkey(x, key) == 1 && name_set(X509_get_subject_name(x), name);
    BN_free(number);
    if (ok)
        return x;
    X509_free(x);
    return NULL;
}

/* Takes x. */
static const char *cert_finish(X509 *x, EVP_PKEY *signer, struct arena *a, struct err *ret_err)
{
    BIO *b = BIO_new(BIO_s_mem());
    bool ok = x && X509_sign(x, signer, EVP_sha256()) > 0 && PEM_write_bio_X509(b, x) == 1;
    X509_free(x);
    if (ok)
        return bio_text(b, a);
    BIO_free(b);
    openssl_failed(ERR_INTERNAL, "make a certificate", ret_err);
    return NULL;
}

bool cert_authority_new(const char *cluster, struct arena *a, struct cert_pair *ret,
                        struct err *ret_err)
{
    ret->key = cert_key_new(a, ret_err);
    EVP_PKEY *key = ret->key ? key_read(ret->key, ret_err) : NULL;
    if (!key)
        return false;
    X509 *x = cert_blank(key, arena_printf(a, "Remuda cluster %s", cluster), INT64_MAX);
    if (x && !(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 &&
               extension_add(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
               extension_add(x, x, NID_key_usage, "critical,keyCertSign"))) {
        X509_free(x);
        x = NULL;
    }
    ret->cert = cert_finish(x, key, a, ret_err);
    EVP_PKEY_free(key);
    return ret->cert != NULL;
}

static X509 *cert_of_host(X509 *issuer, EVP_PKEY *key, const char *name, bool server,
                          int64_t good_s)
{
    X509 *x = cert_blank(key, name, good_s);
    if (x && X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1 &&
        extension_add(x, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
        extension_add(x, issuer, NID_key_usage, "critical,digitalSignature") &&
        extension_add(x, issuer, NID_ext_key_usage, server ? "serverAuth" : "clientAuth"))
        return x;
    X509_free(x);
    return NULL;
}

const char *cert_sign(const struct cert_pair *authority, const char *public_key, const char *name,
                      bool server, int64_t good_us, struct arena *a, struct err *ret_err)
{
    const char *cert = NULL;
    EVP_PKEY *key = key_of_host(public_key, ret_err);
    EVP_PKEY *signer = key ? key_read(authority->key, ret_err) : NULL;
    X509 *issuer = signer ? cert_read(authority->cert, ret_err) : NULL;
    if (issuer)
        cert = cert_finish(cert_of_host(issuer, key, name, server, good_us / USEC_PER_SEC), signer,
                           a, ret_err);
    X509_free(issuer);
    EVP_PKEY_free(signer);
    EVP_PKEY_free(key);
    return cert;
}

int64_t cert_until(const char *cert, struct err *ret_err)
{
    struct tm tm;
    X509 *x = cert_read(cert, ret_err);
    if (!x)
        return 0;
    bool ok = ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) == 1;
    X509_free(x);
    return ok ? (int64_t)timegm(&tm) * USEC_PER_SEC : 0;
}

static void hex_write(const unsigned char *data, size_t len, char *ret)
{
    ASSERT(data || len == 0);
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        ret[2 * i] = digits[data[i] >> 4];
        ret[2 * i + 1] = digits[data[i] & 15];
    }
    ret[2 * len] = '\0';
}

bool cert_hash(const char *cert, char ret[CERT_HASH_TEXT], struct err *ret_err)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    X509 *x = cert_read(cert, ret_err);
    if (!x)
        return false;
    bool ok = X509_digest(x, EVP_sha256(), hash, &len) == 1;
    X509_free(x);
    if (ok)
        hex_write(hash, len, ret);
    return ok || openssl_failed(ERR_INTERNAL, "hash a certificate", ret_err);
}

void bytes_hash(const void *data, size_t len, char ret[CERT_HASH_TEXT])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    CHECK(EVP_Digest(data, len, hash, &n, EVP_sha256(), NULL) == 1);
    hex_write(hash, n, ret);
}

const char *secret_new(size_t bytes, struct arena *a)
{
    unsigned char *raw = arena_alloc(a, bytes);
    char *text = arena_alloc(a, 2 * bytes + 1);
    CHECK(RAND_bytes(raw, (int)bytes) == 1);
    hex_write(raw, bytes, text);
    return text;
}
