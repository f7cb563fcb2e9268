/* The cluster's authority where its files cannot be written or read; and the controller's own
 * certificate by a clock that somebody sets: who comes is answered with one of today. */
#include "io_help.h"

#include "controller/site/hosts.h"
#include "io/files.h"
#include "io/net/cert.h"
#include "io/net/tcp_socket.h"
#include "io/net/tls.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* ---- the clock of this process, for OpenSSL too ---- */

static int64_t clock_off_s;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *to)
{
    int rc = (int)syscall(SYS_clock_gettime, id, to);
    if (id == CLOCK_REALTIME)
        to->tv_sec += clock_off_s;
    return rc;
}

__attribute__((visibility("default"))) time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

/* ---- stand-ins ---- */

static struct settings settings = {
    .cluster_name = "test", .slurmctld_addr = "127.0.0.1", .host_cert_life_us = 30 * USEC_PER_DAY};

const struct settings *core_settings(const struct core *c)
{
    (void)c;
    return &settings;
}

static size_t joined;

size_t core_hosts_count(const struct core *c)
{
    (void)c;
    return joined;
}

static void nobody_comes(struct controller *c, int fd, struct tls_context *tls)
{
    (void)c;
    (void)tls;
    close(fd);
}

/* ---- a controller that has a port, and a host that knows its authority ---- */

struct site {
    struct world *world;
    struct controller c;
    struct tls_context *joins;
};

static void site_make(struct site *s, struct world *w)
{
    struct err err = {0};
    *s = (struct site){.world = w};
    s->c = (struct controller){.loop = w->loop, .arena = w->arena, .state_dir = w->dir};
    s->c.log = log_open(arena_printf(w->arena, "%s/log", w->dir), LOG_IS_INFO, &err);
    s->c.hosts = hosts_new(&s->c, nobody_comes);
}

static void site_open(struct site *s, struct world *w)
{
    char hash[CERT_HASH_TEXT];
    struct err err = {0};
    site_make(s, w);
    if (!hosts_listen(s->c.hosts, &err))
        fail_msg("%s", err.text);
    assert_true(cert_hash(hosts_authority(s->c.hosts), hash, NULL));
    s->joins = tls_context_joining(hash, NULL);
}

static void site_close(struct site *s)
{
    tls_context_free(s->joins);
    hosts_free(s->c.hosts);
    log_close(s->c.log);
    clock_off_s = 0;
}

/* A host comes: "" or what it hears. */
static const char *comes(struct site *s)
{
    struct tls *end[2] = {tls_new(s->joins), tls_new(hosts_tls(s->c.hosts))};
    struct err err = {0};
    char room[256];
    size_t len;
    for (int i = 0; i < 6; i++) {
        const char *data = tls_unsent(end[i % 2], &len);
        tls_feed(end[1 - i % 2], data, len);
        struct err own = {0};
        tls_read(end[1 - i % 2], room, sizeof room, &own);
        tls_sent(end[i % 2], len);
        if (i % 2 == 1 && !err.code)
            err = own;
    }
    tls_free(end[0]);
    tls_free(end[1]);
    return arena_strdup(s->world->arena, err.text);
}

/* As the controller is started anew. */
static void site_again(struct site *s)
{
    hosts_free(s->c.hosts);
    s->c.hosts = hosts_new(&s->c, nobody_comes);
}

/* ---- tests ---- */

/* It was given away after the first try had failed, and another was made at the next start, which
 * no host knows that had come meanwhile. */
static void an_authority_is_none_until_it_is_written(void **state)
{
    static const char *const file[] = {"tls/authority.crt", "tls/authority.key"};
    for (size_t i = 0; i < ARRAY_LEN(file); i++) {
        struct site s;
        struct err err = {0};
        site_make(&s, *state);
        const char *tls = controller_path(&s.c, "tls"),
                   *way = arena_printf(s.world->arena, "%s.new", controller_path(&s.c, file[i]));
        assert_true(dir_make(way, 0700, &err)); /* nothing can be written there */
        for (int twice = 0; twice < 2; twice++) {
            err = (struct err){0};
            assert_false(hosts_listen(s.c.hosts, &err));
            assert_non_null(strstr(err.text, file[i]));
            assert_null(hosts_authority(s.c.hosts));
        }
        assert_int_equal(rmdir(way), 0);
        assert_true(hosts_listen(s.c.hosts, &err));
        const char *first = arena_strdup(s.world->arena, hosts_authority(s.c.hosts));
        site_again(&s);
        assert_true(hosts_listen(s.c.hosts, &err));
        assert_string_equal(hosts_authority(s.c.hosts), first);
        assert_true(dir_remove(tls, &err));
        site_close(&s);
    }
}

/* One that cannot be read is not replaced, and is read once it can be. */
static void an_authority_that_cannot_be_read_stays(void **state)
{
    struct site s;
    struct err err = {0};
    site_open(&s, *state);
    const char *key = controller_path(&s.c, "tls/authority.key"),
               *aside = arena_printf(s.world->arena, "%s.aside", key),
               *first = arena_strdup(s.world->arena, hosts_authority(s.c.hosts));
    assert_int_equal(rename(key, aside), 0);
    static const char *const leads[] = {"authority.key", "/a/disk/that/is/not/mounted"};
    for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
        assert_int_equal(symlink(leads[i], key), 0);
        site_again(&s);
        err = (struct err){0};
        assert_false(hosts_listen(s.c.hosts, &err));
        assert_non_null(strstr(err.text, key));
        assert_int_equal(unlink(key), 0);
    }
    joined = 1; /* by the one whose key is gone */
    site_again(&s);
    assert_false(hosts_listen(s.c.hosts, &err));
    assert_non_null(strstr(err.text, "hosts have joined by it, or may with a token"));
    joined = 0;
    assert_true(file_write_atomic(key, "torn", 4, 0600, &err));
    assert_false(hosts_listen(s.c.hosts, &err));
    assert_int_equal(rename(aside, key), 0);
    if (!hosts_listen(s.c.hosts, &err))
        fail_msg("%s", err.text);
    assert_string_equal(hosts_authority(s.c.hosts), first);
    site_close(&s);
}

/* It was made at the start and each day. A clock that was wrong when the machine started and was
 * then set right shut all hosts out until the next day. */
static void who_comes_finds_a_certificate_of_today(void **state)
{
    static const int64_t days[] = {0, 4, -4, 400, -400, 0};
    struct site s;
    clock_off_s = INT64_C(-20) * 365 * 86400; /* a machine without a battery */
    site_open(&s, *state);
    assert_string_equal(comes(&s), "");
    for (size_t i = 0; i < ARRAY_LEN(days); i++) {
        clock_off_s = days[i] * 86400;
        assert_string_equal(comes(&s), "");
    }
    site_close(&s);
}

static void it_is_made_once_a_day(void **state)
{
    struct site s;
    site_open(&s, *state);
    struct tls_context *first = hosts_tls(s.c.hosts);
    for (clock_off_s = 0; clock_off_s < 86400 - 60; clock_off_s += 3600)
        assert_ptr_equal(hosts_tls(s.c.hosts), first);
    clock_off_s = 86400 + 60;
    assert_string_equal(comes(&s), "");
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_authority_is_none_until_it_is_written),
        TEST(an_authority_that_cannot_be_read_stays),
        TEST(who_comes_finds_a_certificate_of_today),
        TEST(it_is_made_once_a_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
