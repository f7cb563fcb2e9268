/* Look-ups of host names, also of a name service that does not answer: getaddrinfo is this
 * file's. */
#include "io_help.h"

#include "io/net/name_lookup.h"
#include "io/net/tcp_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

static pthread_mutex_t silent = PTHREAD_MUTEX_INITIALIZER; /* held while the name service is */
static struct sockaddr_in made_address[NAME_ADDRESSES_MAX + 2];
static struct addrinfo made[NAME_ADDRESSES_MAX + 2];

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)hints;
    if (strcmp(host, "nobody") == 0)
        return EAI_NONAME;
    if (strcmp(host, "silent") == 0) {
        pthread_mutex_lock(&silent);
        pthread_mutex_unlock(&silent);
    }
    size_t n = strcmp(host, "many") == 0 ? NAME_ADDRESSES_MAX + 2 : 1;
    for (size_t i = 0; i < n; i++) {
        made_address[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(service))};
        made_address[i].sin_addr.s_addr = htonl((uint32_t)(0x0a000001 + i));
        made[i] = (struct addrinfo){.ai_addr = (struct sockaddr *)&made_address[i],
                                    .ai_addrlen = sizeof made_address[i],
                                    .ai_next = i + 1 < n ? &made[i + 1] : NULL};
    }
    *ret = made;
    return 0;
}

void freeaddrinfo(struct addrinfo *all)
{
    assert_ptr_equal(all, made);
}

struct asking {
    struct world *world;
    struct name_found found;
    int calls;
};

static void found(void *ctx, const struct name_found *f)
{
    struct asking *a = ctx;
    a->found = *f;
    a->calls++;
    loop_stop(a->world->loop);
}

static struct asking look_up(void **state, const char *host, int64_t wait_us)
{
    struct asking a = {.world = *state};
    assert_non_null(name_lookup_new(a.world->loop, host, 6817, wait_us, found, &a, NULL));
    assert_int_equal(a.calls, 0);
    loop_run(a.world->loop);
    assert_int_equal(a.calls, 1);
    return a;
}

static void test_addresses_in_their_order(void **state)
{
    struct asking a = look_up(state, "one", USEC_PER_SEC * 5);
    assert_int_equal(a.found.n, 1);
    a = look_up(state, "many", USEC_PER_SEC * 5);
    assert_int_equal(a.found.n, NAME_ADDRESSES_MAX);
    for (size_t i = 0; i < a.found.n; i++) {
        const struct sockaddr_in *at = (const struct sockaddr_in *)&a.found.address[i].address;
        assert_int_equal(ntohl(at->sin_addr.s_addr), 0x0a000001 + i);
        assert_int_equal(ntohs(at->sin_port), 6817);
        assert_int_equal(a.found.address[i].len, sizeof *at);
    }
}

static void test_a_name_that_is_none(void **state)
{
    struct asking a = look_up(state, "nobody", USEC_PER_SEC * 5);
    assert_int_equal(a.found.n, 0);
    assert_int_equal(a.found.why.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(a.found.why.text, "cannot find the address of nobody: "));
}

/* Who asked has an answer in time; others are found meanwhile; what comes too late is nobody's any
 * more. */
static void test_a_name_service_that_is_silent(void **state)
{
    struct world *w = *state;
    struct asking given_up = {.world = w};
    pthread_mutex_lock(&silent);
    int64_t began = clock_now_us();
    struct asking a = look_up(state, "silent", USEC_PER_SEC);
    assert_in_range(clock_now_us() - began, 900000, 5000000);
    assert_int_equal(a.found.n, 0);
    assert_string_equal(
        a.found.why.text,
        "cannot find the address of silent: the name service has not answered within 1 s");
    struct name_lookup *k =
        name_lookup_new(w->loop, "silent", 1, 60 * USEC_PER_SEC, found, &given_up, NULL);
    a = look_up(state, "one", USEC_PER_SEC * 5);
    assert_int_equal(a.found.n, 1);
    name_lookup_free(k);
    pthread_mutex_unlock(&silent);
    a = look_up(state, "silent", USEC_PER_SEC * 5);
    assert_int_equal(a.found.n, 1);
    assert_int_equal(given_up.calls, 0);
    usleep(100000); /* the threads that came too late end */
}

/* Of IPv6 one machine may have 2^64 addresses. */
static void test_the_network_of_an_address(void **state)
{
    struct world *w = *state;
    static const char *const pair[][2] = {
        {"192.0.2.7", "192.0.2.7"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
        {"2001:db8::1", "2001:db8::"},
        {"fe80::1:2:3:4%eth0", "fe80::"},
        {"::1", "::"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        assert_string_equal(tcp_socket_network(pair[i][0], w->arena), pair[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_addresses_in_their_order),
        TEST(test_a_name_that_is_none),
        TEST(test_the_network_of_an_address),
        TEST(test_a_name_service_that_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
