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
#include <time.h>
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

/* Another process has all of a user's places from one on. */
static pid_t places_held(int64_t uid, int64_t first, int64_t n)
{
    int ends[2];
    char c = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = places_open(&herd, "lingering");
        int64_t all = LINGER_SLOTS + LINGER_SLOW_SLOTS;
        ssize_t said = places_take(fd, uid * all + first, n, n) ? write(ends[1], &c, 1) : 0;
        pause();
        _exit(said != 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &c, 1), 1);
    close(ends[0]);
    return pid;
}

static void child_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* What it may wait for when the time is over that each has. */
static int later_ms(struct lingering *l)
{
    l->until_us = 1;
    l->ask_at_us = 0;
    return linger_wait_ms(l);
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
            struct lingering l = linger_begin(&herd, NOBODY);
            char c = (char)('0' + (later_ms(&l) == -1));
            ssize_t n = write(ends[1], &c, 1);
            pause();
            _exit(n != 1);
        }
        char c = 0;
        assert_int_equal(read(ends[0], &c, 1), 1);
        assert_int_equal(c, '1');
    }
    struct lingering l = linger_begin(&herd, NOBODY), other = linger_begin(&herd, NOBODY - 1),
                     last = linger_begin(&herd, UINT32_MAX);
    int most = later_ms(&l);
    assert_true(l.is_slow && most >= 0 && most <= LINGER_MS);
    for (int i = 0; i < LINGER_SLOTS; i++)
        child_end(child[i]);
    assert_int_equal(later_ms(&l), -1); /* the kernel gave the places back */
    assert_int_equal(later_ms(&other), -1);
    assert_int_equal(later_ms(&last), -1);
    close(ends[0]);
    close(ends[1]);
}

/* The many of a moment have no place that one who is slow would go without. */
static void test_who_ends_at_once_has_no_place(void **state)
{
    (void)state;
    struct lingering l = linger_begin(&herd, NOBODY);
    assert_in_range(linger_wait_ms(&l), 0, LINGER_MS);
    assert_int_equal(l.places_fd, -1);
    assert_int_equal(faccessat(herd.steps_fd, "../lingering", F_OK, 0), -1);
}

/* He who gets none when his time is over asks for one whenever it is over again. */
static void test_who_has_no_place_gets_the_next(void **state)
{
    (void)state;
    pid_t first = places_held(NOBODY, 0, LINGER_SLOTS),
          second = places_held(NOBODY, LINGER_SLOTS, LINGER_SLOW_SLOTS);
    struct lingering l = linger_begin(&herd, NOBODY);
    assert_int_equal(later_ms(&l), 0);
    l.until_us = 1;
    child_end(second);
    assert_int_equal(linger_wait_ms(&l), 0); /* not without a pause */
    assert_in_range(later_ms(&l), 1, LINGER_MS);
    assert_true(l.is_slow);
    assert_int_equal(later_ms(&l), 0); /* he took nothing meanwhile */
    child_end(first);
    assert_int_equal(later_ms(&l), -1);
}

/* Each byte gives a slow one with a place all his time again, and others what it is worth. */
static void test_who_is_slow_has_time_as_long_as_he_takes(void **state)
{
    (void)state;
    struct lingering slow = {.until_us = 1, .is_slow = true}, none = {.until_us = 1};
    linger_took(&slow, 0);
    assert_int_equal(linger_wait_ms(&slow), 0);
    linger_took(&slow, 1);
    linger_took(&none, 1);
    assert_in_range(linger_wait_ms(&slow), 1, LINGER_MS);
    assert_int_equal(linger_wait_ms(&none), 0);
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
    struct lingering l = {.until_us = 1}, placed = {.until_us = LINGER_WITHOUT_END};
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
    struct lingering over = {.until_us = 1};
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
    struct lingering placed = {.until_us = LINGER_WITHOUT_END};
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
    struct lingering placed = {.until_us = LINGER_WITHOUT_END};
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
    stream_close(&s);
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

/* What waits for him is as much as a step's end leaves; he reads it a little at a time, with time
 * for a part of it when it begins. */
static void slow_reader_has_it_all(bool is_slow)
{
    enum { MESSAGES = 32 };
    static char text[64 << 10];
    struct timespec now;
    int ends[2];
    size_t came = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t shepherd = fork();
    if (shepherd == 0) {
        struct stream s = {.fd = ends[0]};
        struct msg_stream_data m = {.data = {text, sizeof text}};
        close(ends[1]);
        fcntl(s.fd, F_SETFL, O_NONBLOCK);
        for (int i = 0; i < MESSAGES; i++)
            stream_send(&s, MSG_STREAM_DATA, &m);
        clock_gettime(CLOCK_MONOTONIC, &now);
        struct lingering l = {.until_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 +
                                          1000000, /* linger_last gives as much */
                              .is_slow = is_slow};
        streams_finish(&s, 1, &l);
        _exit(0);
    }
    close(ends[0]);
    for (ssize_t n; (n = recv(ends[1], text, 32 << 10, 0)) != 0; came += (size_t)n) {
        assert_true(n > 0);
        usleep(is_slow ? 30000
                       : 1000); /* the other must come to 256 KiB a second, on any machine */
    }
    assert_true(came >= MESSAGES * sizeof text);
    assert_int_equal(waitpid(shepherd, NULL, 0), shepherd);
    close(ends[1]);
}

static void test_who_reads_slowly_has_it_all(void **state)
{
    (void)state;
    slow_reader_has_it_all(true);
    slow_reader_has_it_all(false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests_all[] = {
        TEST(places_to_linger),
        TEST(who_ends_at_once_has_no_place),
        TEST(who_has_no_place_gets_the_next),
        TEST(who_is_slow_has_time_as_long_as_he_takes),
        TEST(places_are_found_between_those_of_others),
        TEST(who_takes_much_has_no_more_time_for_the_rest),
        TEST(streams_that_nobody_reads_have_the_time_of_one),
        TEST(who_says_something_without_end_is_left),
        TEST(who_reads_late_has_it_all),
        TEST(who_reads_slowly_has_it_all),
    };
    return cmocka_run_group_tests(tests_all, NULL, NULL);
}
