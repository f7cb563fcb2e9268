#include "unit.h"

#include "base/alloc.h"
#include "cli/step/stream_hub.h"
#include "wire/frame.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a command, and a shepherd that is this test ---- */

static struct stream_hub *hub;
static int shepherd;
static size_t data_bytes, gone, helloes;
static bool done, answers;

static void *hello(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m)
{
    (void)ctx;
    (void)p;
    (void)m;
    helloes++;
    return &helloes;
}

static void message(void *ctx, void *peer_ctx, struct stream_peer *p, const struct message *m)
{
    (void)ctx;
    (void)peer_ctx;
    if (m->kind == MSG_STREAM_DATA) {
        data_bytes += ((const struct msg_stream_data *)m->body)->data.len;
        if (answers)
            peer_send(p, MSG_STREAM_CREDIT, &(struct msg_stream_credit){.bytes = 1});
    } else if (m->kind == MSG_STREAM_DONE) {
        done = true;
        peer_close(p);
    }
}

static void peer_gone(void *ctx, void *peer_ctx, struct stream_peer *p)
{
    (void)ctx;
    (void)peer_ctx;
    (void)p;
    gone++;
}

static const struct hub_ops ops = {hello, message, peer_gone};

static int hub_connect(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const char *address = hub_address(hub);
    size_t len = strlen(address);
    assert_true(len < sizeof name.sun_path);
    memcpy(name.sun_path, address, len);
    name.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&name,
                             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    return fd;
}

static int setup(void **state)
{
    (void)state;
    struct err err = {0};
    data_bytes = gone = helloes = 0;
    done = answers = false;
    hub = hub_new(false, NULL, NULL, &ops, NULL, &err);
    assert_non_null(hub);
    shepherd = hub_connect();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_free(hub);
    return 0;
}

static void say(enum message_kind kind, const void *body)
{
    struct str out = STR_INIT;
    wire_encode(&(struct message){.kind = kind, .body = body}, &out);
    assert_int_equal(send(shepherd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
    str_done(&out);
}

static void data_say(size_t len)
{
    char bytes[1000];
    memset(bytes, 'x', sizeof bytes);
    say(MSG_STREAM_DATA, &(struct msg_stream_data){.data = {bytes, len}});
}

/* As long as there is something to do. */
static void serve(bool paused)
{
    struct pollfd v[1024];
    for (int i = 0; i < 100; i++) {
        size_t n = hub_wait_for(hub, v, paused);
        if (poll(v, n, 20) <= 0)
            return;
        hub_serve(hub, v, n);
    }
}

/* ---- tests ---- */

/* The shepherd is done and leaves before the command has read a word of it: what is said to it does
 * not arrive, what it said does. */
static void test_who_leaves_is_heard_to_the_end(void **state)
{
    (void)state;
    answers = true;
    say(MSG_STREAM_HELLO, &(struct msg_stream_hello){.key = "k"});
    for (int i = 0; i < 50; i++)
        data_say(1000);
    say(MSG_STREAM_DONE, &(struct msg_stream_done){0});
    close(shepherd);
    serve(false);
    assert_int_equal(helloes, 1);
    assert_int_equal(data_bytes, 50 * 1000);
    assert_true(done);
    assert_int_equal(gone, 1);
}

/* The command's own output stands still, so it reads nothing, when the shepherd leaves. */
static void test_who_leaves_meanwhile_is_heard_afterwards(void **state)
{
    (void)state;
    say(MSG_STREAM_HELLO, &(struct msg_stream_hello){.key = "k"});
    serve(false);
    data_say(500);
    say(MSG_STREAM_DONE, &(struct msg_stream_done){0});
    close(shepherd);
    serve(true);
    assert_int_equal(gone, 0);
    serve(false);
    assert_int_equal(data_bytes, 500);
    assert_true(done);
    assert_int_equal(gone, 1);
}

static void test_who_breaks_off_is_gone(void **state)
{
    (void)state;
    answers = true;
    say(MSG_STREAM_HELLO, &(struct msg_stream_hello){.key = "k"});
    data_say(10);
    close(shepherd);
    serve(false);
    assert_int_equal(data_bytes, 10);
    assert_false(done);
    assert_int_equal(gone, 1);
}

/* Nor does it fill the command's memory with the beginning of a message, before it has said who it
 * is. */
static void test_who_says_much_before_hello_is_sent_away(void **state)
{
    (void)state;
    char bytes[8192];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "\0\xf0\0\0\0\0\0\0{", 9); /* 15 MiB will come */
    ssize_t n = 1;
    for (int i = 0; i < 100 && n > 0; i++) {
        n = send(shepherd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        serve(false);
    }
    assert_true(n < 0 && hub_count(hub) == 2);
    close(shepherd);
}

/* 64 KiB are its to begin with, and no more. */
static void test_what_comes_before_hello_has_64_kib(void **state)
{
    (void)state;
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "\0\xf0\0\0\0\0\0\0{", 9);
    for (int i = 0; i < 15; i++)
        assert_int_equal(send(shepherd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    serve(false);
    assert_int_equal(hub_count(hub), 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(send(shepherd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    serve(false);
    assert_int_equal(hub_count(hub), 2);
    close(shepherd);
}

/* Another user's process takes no place in it. */
static void test_strangers_are_sent_away(void **state)
{
    (void)state;
    int status;
    char c;
    if (geteuid() != 0)
        skip();
    assert_int_equal(seteuid(65534), 0);
    pid_t stranger = fork();
    if (stranger == 0) {
        if (seteuid(0) != 0 || setresuid(65533, 65533, 65533) != 0)
            _exit(2);
        shepherd = hub_connect();
        setsockopt(shepherd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 30},
                   sizeof(struct timeval));
        _exit(read(shepherd, &c, 1) != 0); /* it was closed */
    }
    while (waitpid(stranger, &status, WNOHANG) == 0)
        serve(false);
    assert_int_equal(status, 0);
    assert_int_equal(hub_count(hub), 3); /* where it listens, and root's shepherd */
    assert_int_equal(seteuid(0), 0);
    close(shepherd);
}

/* Who connects and says nothing, and does so all the while, neither takes all descriptors nor keeps
 * anybody out. */
static void test_strangers_take_some_places_only(void **state)
{
    (void)state;
    enum { MANY = 700 };
    int fd[MANY];
    for (int i = 0; i < MANY; i++) {
        fd[i] = hub_connect();
        if (i % 100 == 99)
            serve(false);
        assert_true(hub_count(hub) <= 2 + 256);
    }
    close(shepherd);
    shepherd = hub_connect();
    say(MSG_STREAM_HELLO, &(struct msg_stream_hello){.key = "k"});
    serve(false);
    assert_int_equal(helloes, 1);
    for (int i = 0; i < MANY; i++)
        close(fd[i]);
    for (int i = 0; i < 400; i++)
        fd[i] = hub_connect();
    serve(false);
    data_say(500);
    serve(false);
    assert_int_equal(gone, 0);
    assert_int_equal(data_bytes, 500);
    for (int i = 0; i < 400; i++)
        close(fd[i]);
    close(shepherd);
}

/* ---- where other hosts find the command ---- */

static bool is_named(const char *addresses, const struct ifaddrs *i)
{
    char text[INET_ADDRSTRLEN], word[INET_ADDRSTRLEN + 4];
    inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, text, sizeof text);
    snprintf(word, sizeof word, " %s:", text);
    return strstr(addresses, word) != NULL;
}

/* Counts those of the kind, and how many of them are named. */
static size_t interfaces(const struct ifaddrs *all, bool loopback, const char *addresses,
                         size_t *ret_named)
{
    size_t n = 0;
    *ret_named = 0;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
            loopback == ((i->ifa_flags & IFF_LOOPBACK) != 0)) {
            n++;
            *ret_named += is_named(addresses, i);
        }
    return n;
}

static bool all_are_named(void)
{
    struct err err = {0};
    struct ifaddrs *all;
    struct stream_hub *open_hub = hub_new(true, NULL, NULL, &ops, NULL, &err);
    size_t named, named_loopbacks;
    assert_non_null(open_hub);
    assert_int_equal(getifaddrs(&all), 0);
    size_t own = interfaces(all, false, hub_address(open_hub), &named);
    size_t loopbacks = interfaces(all, true, hub_address(open_hub), &named_loopbacks);
    freeifaddrs(all);
    hub_free(open_hub);
    return named == own && named_loopbacks == (own ? 0 : loopbacks);
}

/* Others may take interfaces up or down meanwhile. */
static void test_each_address_of_this_host_is_named(void **state)
{
    (void)state;
    bool agreed = false;
    for (int tries = 0; !agreed && tries < 100; tries++)
        agreed = all_are_named();
    assert_true(agreed);
}

/* Of SrunPortRange=. Who connects to a command's port, and holds his end when the command ends, kept
 * the port from all others for a minute: a few strangers all ports of the range. */
static void test_a_port_is_free_when_its_command_has_ended(void **state)
{
    (void)state;
    struct err err = {0};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct stream_hub *first = hub_new(true, NULL, NULL, &ops, NULL, &err);
    assert_non_null(first);
    char port[16];
    snprintf(port, sizeof port, "%s", strrchr(hub_address(first), ':') + 1);
    hub_free(first);
    to.sin_port = htons((uint16_t)strtol(port, NULL, 10));
    struct stream_hub *before = hub;
    for (int i = 0; i < 3; i++) {
        hub = hub_new(true, port, NULL, &ops, NULL, &err);
        if (!hub)
            fail_msg("%s", err.text);
        assert_null(hub_new(true, port, NULL, &ops, NULL, &err)); /* it has one listener */
        int holds = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(holds, (struct sockaddr *)&to, sizeof to), 0);
        serve(false);
        hub_free(hub);
    }
    hub = before;
}

/* A network of IPv6 alone, of this process. False: it cannot be had here. */
static bool alone_with_ipv6(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    int fd = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? socket(AF_INET, SOCK_DGRAM, 0) : -1;
    lo.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0)
        return false;
    lo = (struct ifreq){.ifr_name = "lo", .ifr_addr.sa_family = AF_INET}; /* 0.0.0.0: none */
    ioctl(fd, SIOCSIFADDR, &lo);
    close(fd);
    return true;
}

static const char *no_sealer(struct arena *a)
{
    (void)a;
    return "/bin/true";
}

/* 77: cannot be tried. */
static int hears_a_stranger_by_ipv6(void)
{
    struct err err = {0};
    struct sockaddr_in6 to = {
        .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons(45871)};
    hub = alone_with_ipv6() ? hub_new(true, "45871", no_sealer, &ops, NULL, &err) : NULL;
    int fd = hub ? socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0 || strchr(hub_address(hub), ' ') ||
        connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return 77;
    serve(false);
    return 0;
}

/* Whoever connected to its port ended a command whose host has no address of IPv4. */
static void test_a_host_without_ipv4_is_not_ended_by_a_stranger(void **state)
{
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's would go on with the other tests here */
        _exit(hears_a_stranger_by_ipv6());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_leaves_is_heard_to_the_end),
        TEST(a_host_without_ipv4_is_not_ended_by_a_stranger),
        TEST(who_leaves_meanwhile_is_heard_afterwards),
        TEST(who_breaks_off_is_gone),
        TEST(who_says_much_before_hello_is_sent_away),
        TEST(what_comes_before_hello_has_64_kib),
        TEST(strangers_are_sent_away),
        TEST(each_address_of_this_host_is_named),
        TEST(strangers_take_some_places_only),
        TEST(a_port_is_free_when_its_command_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
