/* Two connections as one: bytes and frames pass both ways, a slow reader holds up the writer, an
 * end that goes takes the other with it. */
#include "io_help.h"

#include "io/net/splice.h"
#include "model/message.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

struct joined {
    struct splice splice; /* first */
    struct world *world;
    int outer[2]; /* what is at the ends: near's, far's */
    int frames[2], gone[2], over;
};

static void frame_seen(struct splice *s, enum splice_end from, const struct frame *f)
{
    (void)f;
    ((struct joined *)s)->frames[from]++;
}

static void end_gone(struct splice *s, enum splice_end which, const struct err *why)
{
    (void)why;
    ((struct joined *)s)->gone[which]++;
}

static void both_gone(struct splice *s)
{
    struct joined *j = (struct joined *)s;
    j->over++;
    loop_stop(j->world->loop);
}

static void joined_make(struct joined *j, void **state, const struct conn_ops *ops,
                        const struct splice_ops *how)
{
    *j = (struct joined){.world = *state, .splice.ops = how};
    for (int i = 0; i < 2; i++) {
        int fd[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
        j->outer[i] = fd[1];
        j->splice.end[i] = conn_new(j->world->loop, fd[0], ops, &j->splice, NULL);
        assert_non_null(j->splice.end[i]);
    }
}

static const struct splice_ops finishing = {
    .frame = frame_seen, .gone = end_gone, .over = both_gone, .close = conn_finish};
static const struct splice_ops closing = {
    .frame = frame_seen, .gone = end_gone, .over = both_gone, .close = conn_close};

/* ---- someone who writes at one end and someone who reads at the other ----------------------- */

struct reader {
    int fd;
    int64_t first_us; /* waits so long before it reads */
    size_t bytes;
    uint64_t sum;
};

static uint64_t byte_at(size_t i)
{
    return (i * 2654435761u >> 7) & 0xff;
}

static void *reader_run(void *ctx)
{
    struct reader *r = ctx;
    unsigned char room[65536];
    ssize_t n;
    usleep((useconds_t)r->first_us);
    while ((n = read(r->fd, room, sizeof room)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            assert_int_equal(room[i], byte_at(r->bytes));
            r->bytes++;
        }
    close(r->fd);
    return NULL;
}

#define MUCH (12u << 20)

static void *writer_run(void *ctx)
{
    int fd = *(int *)ctx;
    static unsigned char room[MUCH];
    for (size_t i = 0; i < MUCH; i++)
        room[i] = (unsigned char)byte_at(i);
    for (size_t at = 0; at < MUCH;) {
        ssize_t n = write(fd, room + at, MUCH - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    close(fd);
    return NULL;
}

/* The writer closes after its last byte while the reader has not begun: all of it arrives. */
static void test_much_passes_to_a_slow_reader(void **state)
{
    for (int from = 0; from < 2; from++) {
        struct joined j;
        pthread_t w, r;
        joined_make(&j, state, &splice_raw_conn_ops, &finishing);
        struct reader reader = {.fd = j.outer[1 - from], .first_us = 200000};
        pthread_create(&w, NULL, writer_run, &j.outer[from]);
        pthread_create(&r, NULL, reader_run, &reader);
        loop_run(j.world->loop);
        pthread_join(w, NULL);
        pthread_join(r, NULL);
        assert_int_equal(reader.bytes, MUCH);
        assert_int_equal(j.gone[0] + j.gone[1], 2);
        assert_int_equal(j.over, 1);
        assert_int_equal(j.frames[0] + j.frames[1], 0);
    }
}

static void stop_at(void *ctx)
{
    loop_stop(ctx);
}

static void run_for(struct world *w, int64_t us)
{
    struct timer *t = timer_new(w->loop, stop_at, w->loop);
    timer_set(t, us);
    loop_run(w->loop);
    timer_free(t);
}

static void test_nobody_reads_so_nobody_may_write_on(void **state)
{
    struct joined j;
    static char room[65536];
    size_t taken = 0;
    joined_make(&j, state, &splice_raw_conn_ops, &closing);
    fcntl(j.outer[0], F_SETFL, O_NONBLOCK);
    for (int round = 0; round < 100; round++) {
        for (ssize_t n; (n = write(j.outer[0], room, sizeof room)) > 0;)
            taken += (size_t)n;
        assert_int_equal(errno, EAGAIN);
        run_for(j.world, 5000);
    }
    assert_in_range(taken, CONN_HIGH_BYTES, 4 * CONN_HIGH_BYTES);
    close(j.outer[0]);
    close(j.outer[1]);
    loop_run(j.world->loop);
    assert_int_equal(j.over, 1);
}

static void test_frames_pass_whole_and_are_seen(void **state)
{
    struct joined j;
    struct str two = STR_INIT;
    char back[4096];
    struct msg_wait_job body = {.job_id = 7};
    joined_make(&j, state, &splice_conn_ops, &closing);
    for (int i = 0; i < 2; i++)
        wire_encode(&(struct message){.kind = MSG_WAIT_JOB, .seq = 1, .body = &body}, &two);
    /* All of the first and half of the second: only the first goes on. */
    size_t half = two.len * 3 / 4;
    assert_int_equal(write(j.outer[1], two.data, half), (ssize_t)half);
    run_for(j.world, 50000);
    assert_int_equal(recv(j.outer[0], back, sizeof back, MSG_DONTWAIT), (ssize_t)(two.len / 2));
    assert_memory_equal(back, two.data, two.len / 2);
    assert_int_equal(j.frames[SPLICE_FAR], 1);
    assert_int_equal(write(j.outer[1], two.data + half, two.len - half), (ssize_t)(two.len - half));
    run_for(j.world, 50000);
    assert_int_equal(recv(j.outer[0], back, sizeof back, MSG_DONTWAIT), (ssize_t)(two.len / 2));
    assert_int_equal(j.frames[SPLICE_FAR], 2);
    assert_int_equal(j.frames[SPLICE_NEAR], 0);
    close(j.outer[0]);
    loop_run(j.world->loop);
    assert_int_equal(recv(j.outer[1], back, sizeof back, 0), 0); /* the other was closed */
    assert_int_equal(j.over, 1);
    close(j.outer[1]);
    str_done(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_much_passes_to_a_slow_reader),
        TEST(test_nobody_reads_so_nobody_may_write_on),
        TEST(test_frames_pass_whole_and_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
