/* Connections through TLS: who is believed, and that bytes come as they went. */
#include "io_help.h"

#include "io/net/cert.h"
#include "io/net/conn.h"
#include "io/net/tls.h"

#include <time.h>

#define LIFE_US (60 * USEC_PER_SEC)

/* ---- an authority and two ends ---- */

struct ends {
    struct world *world;
    struct cert_pair authority;
    int64_t life_us; /* of certificates that are signed */
    struct tls_context *server, *host;
    struct conn *conn[2]; /* the server's, the host's */
    int closed, frames[2], wanted;
    uint64_t last_id;
    char peer[64];
    struct err why[2];
};

static const char *identity(struct ends *e, const struct cert_pair *authority, const char *name,
                            bool server, const char **ret_key)
{
    struct err err = {0};
    struct arena *a = e->world->arena;
    *ret_key = cert_key_new(a, &err);
    const char *cert = cert_sign(authority, cert_key_public(*ret_key, a, &err), name, server,
                                 e->life_us ? e->life_us : LIFE_US, a, &err);
    if (!cert)
        fail_msg("%s", err.text);
    return cert;
}

static void authority_make(struct ends *e, struct cert_pair *ret)
{
    assert_true(cert_authority_new("test", e->world->arena, ret, NULL));
}

static void server_make(struct ends *e, const struct cert_pair *authority, bool is_server)
{
    const char *key, *cert = identity(e, authority, "controller", is_server, &key);
    e->server = tls_context_server(authority->cert, cert, key, NULL);
    assert_non_null(e->server);
}

static void host_make(struct ends *e, const struct cert_pair *authority, const char *trusts)
{
    const char *key, *cert = identity(e, authority, "h1234", false, &key);
    e->host = tls_context_client(trusts, cert, key, NULL);
    assert_non_null(e->host);
}

static void end_frame(void *ctx, struct conn *c, const struct frame *f)
{
    struct ends *e = ctx;
    struct message m;
    int i = c == e->conn[1];
    e->frames[i]++;
    assert_true(wire_decode(f, e->world->arena, &m, NULL));
    if (i == 0) {
        snprintf(e->peer, sizeof e->peer, "%s", conn_tls_peer(c) ? conn_tls_peer(c) : "nobody");
        conn_send_message(c, &m);
    } else if (e->frames[1] == e->wanted) {
        loop_stop(e->world->loop);
    } else {
        assert_int_equal(((const struct msg_wait_job *)m.body)->job_id, ++e->last_id);
    }
}

static void end_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct ends *e = ctx;
    int i = c == e->conn[1];
    e->why[i] = *why;
    e->conn[i] = NULL;
    if (++e->closed == 2)
        loop_stop(e->world->loop);
    else if (e->conn[!i])
        conn_close(e->conn[!i]);
}

static void ends_connect(struct ends *e)
{
    static const struct conn_ops ops = {.frame = end_frame, .closed = end_closed};
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    e->conn[0] = conn_new_tls(e->world->loop, fd[0], e->server, &ops, e, NULL);
    e->conn[1] = conn_new_tls(e->world->loop, fd[1], e->host, &ops, e, NULL);
}

static void ids_send(struct ends *e, uint64_t n)
{
    for (uint64_t id = 1; id <= n; id++) {
        struct msg_wait_job body = {.job_id = id};
        conn_send_message(e->conn[1],
                          &(struct message){.kind = MSG_WAIT_JOB, .seq = id, .body = &body});
    }
}

static void ends_close(struct ends *e)
{
    for (int i = 0; i < 2; i++)
        if (e->conn[i])
            conn_abort(e->conn[i]);
    if (e->closed < 2)
        loop_run(e->world->loop);
    tls_context_free(e->server);
    tls_context_free(e->host);
}

/* ---- tests ---- */

static void frames_go_both_ways_and_the_name_is_known(void **state)
{
    struct ends e = {.world = *state, .wanted = 20000};
    authority_make(&e, &e.authority);
    server_make(&e, &e.authority, true);
    host_make(&e, &e.authority, e.authority.cert);
    ends_connect(&e);
    ids_send(&e, 20000); /* more than a socket holds, before the handshake is done */
    loop_run(e.world->loop);
    assert_int_equal(e.frames[0], 20000);
    assert_int_equal(e.frames[1], 20000);
    assert_string_equal(e.peer, "h1234");
    ends_close(&e);
}

static void refused_with(struct ends *e, const char *words)
{
    ends_connect(e);
    ids_send(e, 1);
    loop_run(e->world->loop);
    assert_int_equal(e->frames[0], 0);
    if (!strstr(e->why[0].text, words) && !strstr(e->why[1].text, words))
        fail_msg("neither \"%s\" nor \"%s\" speaks of \"%s\"", e->why[0].text, e->why[1].text,
                 words);
    ends_close(e);
}

static void a_host_of_another_authority_is_refused(void **state)
{
    struct ends e = {.world = *state};
    struct cert_pair other;
    authority_make(&e, &e.authority);
    authority_make(&e, &other);
    server_make(&e, &e.authority, true);
    host_make(&e, &other, e.authority.cert);
    refused_with(&e, "certificate");
}

static void a_controller_of_another_authority_is_refused(void **state)
{
    struct ends e = {.world = *state};
    struct cert_pair other;
    authority_make(&e, &e.authority);
    authority_make(&e, &other);
    server_make(&e, &other, true);
    host_make(&e, &e.authority, e.authority.cert);
    refused_with(&e, "certificate");
}

/* Its time is over, and it was not renewed: signed by the right authority all the same. */
static void a_host_whose_certificate_has_expired_is_refused(void **state)
{
    struct ends e = {.world = *state};
    authority_make(&e, &e.authority);
    server_make(&e, &e.authority, true);
    e.life_us = -USEC_PER_MIN;
    host_make(&e, &e.authority, e.authority.cert);
    refused_with(&e, "expired");
}

static void a_controller_whose_certificate_has_expired_is_refused(void **state)
{
    struct ends e = {.world = *state};
    authority_make(&e, &e.authority);
    e.life_us = -USEC_PER_MIN;
    server_make(&e, &e.authority, true);
    e.life_us = 0;
    host_make(&e, &e.authority, e.authority.cert);
    refused_with(&e, "expired");
}

static void a_host_cannot_play_the_controller(void **state)
{
    struct ends e = {.world = *state};
    authority_make(&e, &e.authority);
    server_make(&e, &e.authority, false); /* shows a host's certificate */
    host_make(&e, &e.authority, e.authority.cert);
    refused_with(&e, "purpose");
}

static void who_joins_knows_the_authority_by_its_hash(void **state)
{
    struct ends e = {.world = *state, .wanted = 1};
    char hash[CERT_HASH_TEXT];
    authority_make(&e, &e.authority);
    server_make(&e, &e.authority, true);
    assert_true(cert_hash(e.authority.cert, hash, NULL));
    e.host = tls_context_joining(hash, NULL);
    ends_connect(&e);
    ids_send(&e, 1);
    loop_run(e.world->loop);
    assert_int_equal(e.frames[1], 1);
    assert_string_equal(e.peer, "nobody");
    ends_close(&e);
}

static void who_joins_refuses_another_authority(void **state)
{
    struct ends e = {.world = *state};
    struct cert_pair other;
    char hash[CERT_HASH_TEXT];
    authority_make(&e, &e.authority);
    authority_make(&e, &other);
    server_make(&e, &e.authority, true);
    assert_true(cert_hash(other.cert, hash, NULL));
    e.host = tls_context_joining(hash, NULL);
    refused_with(&e, "certificate");
}

static void what_is_no_tls_ends_the_connection(void **state)
{
    struct ends e = {.world = *state};
    static const struct conn_ops ops = {.frame = end_frame, .closed = end_closed};
    int fd[2];
    authority_make(&e, &e.authority);
    server_make(&e, &e.authority, true);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    e.conn[0] = conn_new_tls(e.world->loop, fd[0], e.server, &ops, &e, NULL);
    e.closed = 1; /* the other end is none of ours */
    assert_int_equal(write(fd[1], "GET / HTTP/1.1\r\n\r\n", 18), 18);
    loop_run(e.world->loop);
    assert_int_equal(e.why[0].code, ERR_DENIED);
    close(fd[1]);
    tls_context_free(e.server);
}

/* Hands what each end wants sent to the other until nobody says anything. False when one of them
 * fails. */
static bool talk(struct tls *a, struct tls *b)
{
    char room[256];
    struct err err = {0};
    for (bool said = true; said;) {
        said = false;
        struct tls *end[2] = {a, b};
        for (int i = 0; i < 2; i++) {
            size_t len;
            const char *data = tls_unsent(end[i], &len);
            if (len == 0)
                continue;
            said = true;
            tls_feed(end[1 - i], data, len);
            if (tls_read(end[1 - i], room, sizeof room, &err) < 0) {
                print_message("# %s\n", err.text);
                return false;
            }
            tls_sent(end[i], len);
        }
    }
    return tls_is_ready(a) && tls_is_ready(b);
}

static void test_who_shares_a_secret_needs_no_certificate(void **state)
{
    struct err err = {0};
    char room[64];
    size_t len;
    struct tls_context *server = tls_context_shared(true, "first-secret second-secret", &err);
    struct tls_context *client = tls_context_shared(false, "second-secret", &err);
    struct tls_context *wrong = tls_context_shared(false, "third-secret", &err);
    struct tls *s = tls_new(server), *c = tls_new(client);
    assert_true(talk(c, s));
    assert_int_equal(tls_write(c, "hello", 5), 5);
    const char *sealed = tls_unsent(c, &len);
    assert_null(memmem(sealed, len, "hello", 5));
    tls_feed(s, sealed, len);
    assert_int_equal(tls_read(s, room, sizeof room, &err), 5);
    assert_memory_equal(room, "hello", 5);
    tls_free(s);
    tls_free(c);
    s = tls_new(server);
    c = tls_new(wrong);
    assert_false(talk(c, s));
    tls_free(s);
    tls_free(c);
    tls_context_free(server);
    tls_context_free(client);
    tls_context_free(wrong);
}

/* The clock of this process, for OpenSSL too. */
static int64_t clock_off_s;

__attribute__((visibility("default"))) time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time_t t = now.tv_sec + clock_off_s;
    if (to)
        *to = t;
    return t;
}

/* What a client hears of a handshake with the server; "" if it went well. */
static const char *handshake_error(struct tls_context *server, struct tls_context *client,
                                   struct arena *a)
{
    struct tls *end[2] = {tls_new(client), tls_new(server)};
    struct err err = {0};
    char room[256];
    size_t len;
    for (int i = 0; i < 6 && !err.code; i++) {
        const char *data = tls_unsent(end[i % 2], &len);
        tls_feed(end[1 - i % 2], data, len);
        struct err own = {0};
        tls_read(end[1 - i % 2], room, sizeof room, &own);
        tls_sent(end[i % 2], len);
        if (i % 2 == 1)
            err = own;
    }
    assert_int_equal(tls_is_ready(end[0]), err.code == ERR_NONE);
    tls_free(end[0]);
    tls_free(end[1]);
    return arena_strdup(a, err.text);
}

static void test_reasons_are_said_in_words(void **state)
{
    struct ends e = {.world = *state};
    struct cert_pair other;
    char hash[CERT_HASH_TEXT], wrong[CERT_HASH_TEXT];
    struct arena *a = e.world->arena;
    authority_make(&e, &e.authority);
    authority_make(&e, &other);
    server_make(&e, &e.authority, true);
    assert_true(cert_hash(e.authority.cert, hash, NULL));
    assert_true(cert_hash(other.cert, wrong, NULL));
    struct tls_context *joins = tls_context_joining(hash, NULL),
                       *astray = tls_context_joining(wrong, NULL);
    host_make(&e, &other, other.cert);
    assert_string_equal(handshake_error(e.server, joins, a), "");
    assert_non_null(
        strstr(handshake_error(e.server, astray, a), "is not of the cluster whose token this is"));
    assert_non_null(strstr(handshake_error(e.server, e.host, a), "is not of this cluster"));
    clock_off_s = INT64_C(30) * 365 * 86400;
    assert_non_null(strstr(handshake_error(e.server, joins, a),
                           "has expired, or the clock of one of the two is wrong"));
    clock_off_s = 0;
    tls_context_free(joins);
    tls_context_free(astray);
    tls_context_free(e.server);
    tls_context_free(e.host);
}

/* A clock that was years ahead when the cluster began, or a host joined, shut all out for years
 * once it was right; after twenty years the authority was over. */
static void certificates_have_no_beginning_and_the_authority_no_end(void **state)
{
    static const int64_t years[] = {-1, -10, -30, 1, 25, 200};
    struct ends e = {.world = *state, .life_us = INT64_C(300) * 365 * 86400 * USEC_PER_SEC};
    char hash[CERT_HASH_TEXT];
    struct arena *a = e.world->arena;
    authority_make(&e, &e.authority);
    server_make(&e, &e.authority, true);
    host_make(&e, &e.authority, e.authority.cert);
    assert_true(cert_hash(e.authority.cert, hash, NULL));
    struct tls_context *joins = tls_context_joining(hash, NULL);
    for (size_t i = 0; i < ARRAY_LEN(years); i++) {
        clock_off_s = years[i] * 365 * 86400;
        assert_string_equal(handshake_error(e.server, joins, a), "");
        assert_string_equal(handshake_error(e.server, e.host, a), "");
    }
    clock_off_s = 0;
    tls_context_free(joins);
    tls_context_free(e.server);
    tls_context_free(e.host);
}

/* Of 1,024 bits, of another curve, and of ours with all its parameters. */
static const char rsa[] = "-----BEGIN PUBLIC KEY-----\n"
                          "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDHJ3wdkKxSrEqsXJTqNhRkSrTK\n"
                          "fsQlRF0Ff/YzU4J0hZxjk/FG3AiPFxn6ZCoyt4piG66kV+lHHPinfF2hko6LNyS+\n"
                          "YGynzdnF6KgSQ7SQeouTO4k8eIkW1q/fWU0SvEU7Az6Hd/td53Mxjclet7sPFAof\n"
                          "8JQ3FxP3lRbC1a71DQIDAQAB\n"
                          "-----END PUBLIC KEY-----\n";
static const char p384[] = "-----BEGIN PUBLIC KEY-----\n"
                           "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAElpd04L3b9CTqKCN8tCSnEZSVKWFpRhw4\n"
                           "QExbRmx+fSuueDYmAElftNDDXj20JeZ+ZCFvEjIDltP1q3uit2IHqz9Z81bMb79b\n"
                           "Tpu5tE/Jd0Df1Ns9UQm33xhJoQ56eVcG\n"
                           "-----END PUBLIC KEY-----\n";
static const char own_parameters[] =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA\n"
    "AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////\n"
    "///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd\n"
    "NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5\n"
    "RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA\n"
    "//////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABGAqA6u+T6gwSUROAMLnBkqC\n"
    "bgfOWgf9KPOUC3RebYVitlqNAv5PwToySYWTf+IUnzd1wr2K4tmS1dG8Z4VBdhI=\n"
    "-----END PUBLIC KEY-----\n";

/* Of a stranger, in a join: parameters of his own, RSA of 16,384 bits took 50 ms to read. */
static void a_host_has_a_key_of_our_kind(void **state)
{
    struct ends e = {.world = *state};
    struct err err = {0};
    struct arena *a = e.world->arena;
    authority_make(&e, &e.authority);
    const char *good = cert_key_public(cert_key_new(a, &err), a, &err);
    assert_non_null(cert_sign(&e.authority, good, "h1", false, LIFE_US, a, &err));
    const char *bad[] = {rsa, p384, own_parameters, arena_printf(a, "%600s%s", "", good), "", "x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err){0};
        assert_null(cert_sign(&e.authority, bad[i], "h1", false, LIFE_US, a, &err));
        assert_non_null(strstr(err.text, "no public key of a host"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(frames_go_both_ways_and_the_name_is_known),
        TEST(a_host_of_another_authority_is_refused),
        TEST(a_controller_of_another_authority_is_refused),
        TEST(a_host_whose_certificate_has_expired_is_refused),
        TEST(a_controller_whose_certificate_has_expired_is_refused),
        TEST(a_host_cannot_play_the_controller),
        TEST(who_joins_knows_the_authority_by_its_hash),
        TEST(who_joins_refuses_another_authority),
        TEST(what_is_no_tls_ends_the_connection),
        cmocka_unit_test(test_who_shares_a_secret_needs_no_certificate),
        TEST(test_reasons_are_said_in_words),
        TEST(certificates_have_no_beginning_and_the_authority_no_end),
        TEST(a_host_has_a_key_of_our_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
