/* A step is over, and its shepherd has something for commands that do not take it. */
#include "unit.h"

#include "node/shepherd/places.h"
#include "node/shepherd/tasks/stream.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char dir[64];
static struct herd herd;

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/shepherd-end-XXXXXX");
    assert_non_null(mkdtemp(dir));
    int fd = open(dir, O_PATH | O_CLOEXEC);
    assert_int_equal(mkdirat(fd, "steps", 0700), 0);
    herd = (struct herd){.steps_fd = openat(fd, "steps", O_PATH | O_CLOEXEC)};
    assert_true(herd.steps_fd >= 0);
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlinkat(herd.steps_fd, "../lingering", 0);
    unlinkat(herd.steps_fd, "../steps", AT_REMOVEDIR);
    close(herd.steps_fd);
    return rmdir(dir);
}

static int wait_ms_of(int64_t uid)
{
    struct lingering l = linger_begin(&herd, uid);
    return linger_wait_ms(&l);
}

/* Sixteen of a user's shepherds may wait without end for who does not read; of other users
 * others. */
static void test_places_to_linger(void **state)
{
    pid_t child[LINGER_SLOTS];
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < LINGER_SLOTS; i++) {
        if ((child[i] = fork()) == 0) {
            char c = (char)('0' + (wait_ms_of(NOBODY) == -1));
            ssize_t n = write(ends[1], &c, 1);
            pause();
            _exit(n != 1);
        }
        char c = 0;
        assert_int_equal(read(ends[0], &c, 1), 1);
        assert_int_equal(c, '1');
    }
    int most = wait_ms_of(NOBODY);
    assert_true(most >= 0 && most <= LINGER_MS);
    assert_int_equal(wait_ms_of(NOBODY - 1), -1);
    assert_int_equal(wait_ms_of(UINT32_MAX), -1);
    for (int i = 0; i < LINGER_SLOTS; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
    assert_int_equal(wait_ms_of(NOBODY), -1); /* the kernel gave the places back */
    close(ends[0]);
    close(ends[1]);
}

/* Of a hundred places each child takes three, and the odd ones give theirs back: what is left are
 * holes between those of others, in the order in which they came, which is none. */
static void test_places_are_found_between_those_of_others(void **state)
{
    enum { CHILDREN = 30, MOST = 100 };
    pid_t child[CHILDREN];
    int ends[2], fd = places_open(&herd, "lingering");
    char c = 0;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < CHILDREN; i++) {
        if ((child[i] = fork()) == 0) {
            ssize_t n = places_take(fd, 7, MOST, 3) ? write(ends[1], &c, 1) : 0;
            pause();
            _exit(n != 1);
        }
        assert_int_equal(read(ends[0], &c, 1), 1);
    }
    for (int i = 1; i < CHILDREN; i += 2) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
    assert_false(places_take(fd, 7, MOST, MOST - 3 * CHILDREN / 2 + 1));
    close(fd);
    fd = places_open(&herd, "lingering");
    assert_true(places_take(fd, 7, MOST, MOST - 3 * CHILDREN / 2));
    close(fd);
    for (int i = 0; i < CHILDREN; i += 2) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
    close(ends[0]);
    close(ends[1]);
}

/* Much that is taken at once is no leave to take nothing for as long as it was worth. */
static void test_who_takes_much_has_no_more_time_for_the_rest(void **state)
{
    struct lingering l = {1}, placed = {LINGER_WITHOUT_END};
    (void)state;
    assert_int_equal(linger_wait_ms(&l), 0);
    linger_took(&l, 100);
    assert_int_equal(linger_wait_ms(&l), 0);
    linger_took(&l, SIZE_MAX >> 16);
    assert_in_range(linger_wait_ms(&l), 1, LINGER_MS);
    linger_took(&placed, 1);
    assert_int_equal(linger_wait_ms(&placed), -1);
}

/* ---- the end of a stream to another host ---- */

/* The shepherd's end of a connection by TCP, whose other end has little room. */
static struct stream tcp_stream(int *ret_peer)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof name;
    int little = 4096, listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stream s = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&name, &len), 0);
    assert_int_equal(connect(s.fd, (struct sockaddr *)&name, sizeof name), 0);
    fcntl(s.fd, F_SETFL, O_NONBLOCK);
    *ret_peer = accept(listening, NULL, NULL);
    assert_true(*ret_peer >= 0);
    close(listening);
    return s;
}

/* What a task wrote: the socket takes it all, the other end does not. */
static size_t output_send(struct stream *s)
{
    static char text[64 << 10];
    struct msg_stream_data m = {.data = {text, sizeof text}};
    stream_send(s, MSG_STREAM_DATA, &m);
    assert_int_equal(stream_unsent(s), 0);
    return sizeof text;
}

/* As many as a step has: a minute for each of them, one after the other, would be nine. */
static void test_streams_that_nobody_reads_have_the_time_of_one(void **state)
{
    const struct lingering over = {1};
    struct stream s[STREAMS_MAX];
    int peer[STREAMS_MAX];
    (void)state;
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        s[i] = tcp_stream(&peer[i]);
        output_send(&s[i]);
    }
    streams_finish(s, STREAMS_MAX, &over);
    for (size_t i = 0; i < STREAMS_MAX; i++) {
        assert_int_equal(s[i].fd, -1);
        close(peer[i]);
    }
}

/* Nor does one that waits without end wait for him. */
static void test_who_says_something_without_end_is_left(void **state)
{
    static char bytes[64 << 10];
    const struct lingering placed = {LINGER_WITHOUT_END};
    int peer;
    (void)state;
    struct stream s = tcp_stream(&peer);
    output_send(&s);
    pid_t sender = fork();
    if (sender == 0) {
        close(s.fd);
        while (send(peer, bytes, sizeof bytes, MSG_NOSIGNAL) > 0)
            ;
        _exit(0);
    }
    streams_finish(&s, 1, &placed);
    close(peer);
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
    assert_int_equal(s.fd, -1);
    assert_in_range(s.dropped, 1 << 20, 64 << 20);
}

/* He has sent input that no task reads any more, and reads later what they wrote. */
static void test_who_reads_late_has_it_all(void **state)
{
    static char bytes[64 << 10];
    const struct lingering placed = {LINGER_WITHOUT_END};
    int peer;
    (void)state;
    struct stream s = tcp_stream(&peer);
    size_t most = output_send(&s), came = 0;
    pid_t shepherd = fork();
    if (shepherd == 0) {
        close(peer);
        streams_finish(&s, 1, &placed);
        _exit(0);
    }
    close(s.fd);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(send(peer, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
        usleep(100000);
    }
    for (ssize_t n; (n = recv(peer, bytes, 1000, 0)) != 0; came += (size_t)n)
        assert_true(n > 0);
    assert_true(came >= most);
    assert_int_equal(waitpid(shepherd, NULL, 0), shepherd);
    close(peer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests_all[] = {
        TEST(places_to_linger),
        TEST(places_are_found_between_those_of_others),
        TEST(who_takes_much_has_no_more_time_for_the_rest),
        TEST(streams_that_nobody_reads_have_the_time_of_one),
        TEST(who_says_something_without_end_is_left),
        TEST(who_reads_late_has_it_all),
    };
    return cmocka_run_group_tests(tests_all, NULL, NULL);
}
