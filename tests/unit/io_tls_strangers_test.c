/* A stranger with a TLS of his own, at the controller's port. */
#include "io_help.h"

#include "io/net/cert.h"
#include "io/net/conn.h"
#include "io/net/tls.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>

/* ---- the controller's end ---- */

struct site {
    struct world *world;
    struct cert_pair authority;
    struct tls_context *server;
    struct err why; /* it ended the connection */
};

static const char *key_certify(struct site *e, bool server, const char **ret_key)
{
    struct err err = {0};
    struct arena *a = e->world->arena;
    *ret_key = cert_key_new(a, &err);
    return cert_sign(&e->authority, cert_key_public(*ret_key, a, &err), "x", server, USEC_PER_HOUR,
                     a, &err);
}

static void site_open(struct site *e, struct world *w)
{
    const char *key;
    e->world = w;
    assert_true(cert_authority_new("test", w->arena, &e->authority, NULL));
    const char *cert = key_certify(e, true, &key);
    e->server = tls_context_server(e->authority.cert, cert, key, NULL);
    assert_non_null(e->server);
}

static void end_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct site *e = ctx;
    (void)c;
    e->why = *why;
    loop_stop(e->world->loop);
}

/* ---- the stranger ---- */

struct stranger {
    int fd;
    const char *cert, *key; /* shown again and again; or NULL */
    int64_t keys;           /* asked for, of which no answer is read */
    const char *group;      /* in which alone he agrees about keys; NULL: what OpenSSL offers */
};

static void certs_show(SSL_CTX *ctx, const struct stranger *w)
{
    BIO *c = BIO_new_mem_buf(w->cert, -1), *k = BIO_new_mem_buf(w->key, -1);
    X509 *x = PEM_read_bio_X509(c, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL);
    SSL_CTX_use_certificate(ctx, x);
    SSL_CTX_use_PrivateKey(ctx, key);
    for (int i = 0; i < 20; i++)
        SSL_CTX_add1_chain_cert(ctx, x);
    EVP_PKEY_free(key);
    X509_free(x);
    BIO_free(c);
    BIO_free(k);
}

static void *stranger_comes(void *arg)
{
    struct stranger *w = arg;
    char byte;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (w->cert)
        certs_show(ctx, w);
    if (w->group)
        SSL_CTX_set1_groups_list(ctx, w->group);
    SSL *ssl = SSL_new(ctx);
    SSL_set_fd(ssl, w->fd);
    bool in = SSL_connect(ssl) == 1;
    while (in && w->keys-- > 0)
        in = SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(ssl) == 1;
    if (in)
        SSL_read(ssl, &byte, 1);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    close(w->fd);
    return NULL;
}

/* What the server says when it ends the connection. */
static void stranger_is_refused(struct site *e, struct stranger *w, const char *words)
{
    static const struct conn_ops ops = {.closed = end_closed};
    int fd[2];
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    w->fd = fd[1];
    assert_non_null(conn_new_tls(e->world->loop, fd[0], e->server, &ops, e, NULL));
    assert_int_equal(pthread_create(&thread, NULL, stranger_comes, w), 0);
    loop_run(e->world->loop);
    pthread_join(thread, NULL);
    if (!strstr(e->why.text, words))
        fail_msg("\"%s\" does not speak of \"%s\"", e->why.text, words);
    tls_context_free(e->server);
}

/* ---- tests ---- */

/* Two hundred were 45 ms of everybody's time. */
static void who_comes_shows_two_certificates_not_hundreds(void **state)
{
    struct site e = {0};
    struct stranger w = {0};
    site_open(&e, *state);
    w.cert = key_certify(&e, false, &w.key);
    stranger_is_refused(&e, &w, "excessive message size");
}

/* Each time he asks for new keys OpenSSL answers. */
static void answers_of_tls_itself_are_bounded(void **state)
{
    struct site e = {0};
    struct stranger w = {.keys = 40000};
    site_open(&e, *state);
    stranger_is_refused(&e, &w, "reads no answer");
}

/* Of the largest one such greeting took 80 ms of everybody's time, and it is answered before it is
 * known who greets. */
static void keys_are_agreed_upon_in_groups_that_cost_little(void **state)
{
    static const char *const dear[] = {"ffdhe2048", "ffdhe4096", "ffdhe8192",           "P-384",
                                       "P-521",     "X448",      "brainpoolP512r1tls13"};
    for (size_t i = 0; i < ARRAY_LEN(dear); i++) {
        struct site e = {0};
        struct stranger w = {.group = dear[i]};
        SSL_CTX *known = SSL_CTX_new(TLS_client_method());
        bool has = SSL_CTX_set1_groups_list(known, dear[i]) == 1;
        SSL_CTX_free(known);
        if (!has)
            continue;
        site_open(&e, *state);
        stranger_is_refused(&e, &w, "no suitable key share");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_comes_shows_two_certificates_not_hundreds),
        TEST(answers_of_tls_itself_are_bounded),
        TEST(keys_are_agreed_upon_in_groups_that_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
