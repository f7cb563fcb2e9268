/* Connections, listeners, links and the commands' client, over real sockets. */
#include "io_conn_help.h"

static void side_frame(void *ctx, struct conn *c, const struct frame *f)
{
    struct side *s = ctx;
    uint64_t id = frame_job_id(s->world, f);
    assert_int_equal(id, s->last_id + 1);
    s->last_id = id;
    if (s->pause_each) {
        conn_pause(c);
        conn_resume(c);
    }
    if (++s->frames == s->stop_at)
        loop_stop(s->world->loop);
}

static void side_drained(void *ctx, struct conn *c)
{
    struct side *s = ctx;
    (void)c;
    s->drained++;
}

static void side_garbage(void *ctx, struct conn *c, const struct err *why)
{
    struct side *s = ctx;
    struct msg_done done = {.refusal = REFUSE_BAD_MESSAGE, .detail = why->text};
    s->garbage++;
    conn_send_message(c, &(struct message){.kind = MSG_DONE, .body = &done});
}

static const struct conn_ops side_ops = {
    .frame = side_frame, .closed = side_closed, .drained = side_drained, .garbage = side_garbage};

static void side_make(struct side *s, void **state)
{
    int fd[2];
    *s = (struct side){.world = *state};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    s->peer = fd[1];
    s->conn = conn_new(s->world->loop, fd[0], &side_ops, s, NULL);
}

static void side_end(struct side *s)
{
    if (!s->closed) {
        conn_abort(s->conn);
        loop_run(s->world->loop);
    }
    assert_int_equal(s->closed, 1);
    if (s->peer >= 0)
        close(s->peer);
}

static void wait_job_add(struct str *out, uint64_t id)
{
    struct msg_wait_job body = {.job_id = id};
    wire_encode(&(struct message){.kind = MSG_WAIT_JOB, .seq = id, .body = &body}, out);
}

static void plain_write(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        assert_true(n > 0);
        data += n;
        len -= (size_t)n;
    }
}

static void frames_come_whole_and_in_order(void **state)
{
    struct side s;
    struct str bytes = STR_INIT;
    side_make(&s, state);
    for (uint64_t i = 1; i <= 500; i++)
        wait_job_add(&bytes, i);
    plain_write(s.peer, bytes.data, bytes.len);
    s.stop_at = 500;
    loop_run(s.world->loop);
    assert_int_equal(s.frames, 500);
    str_done(&bytes);
    side_end(&s);
}

struct dribble {
    struct side *side;
    struct str bytes;
    size_t at;
    struct timer *timer;
};

static void dribble_on(void *ctx)
{
    struct dribble *d = ctx;
    plain_write(d->side->peer, d->bytes.data + d->at, 1);
    if (++d->at < d->bytes.len)
        timer_set(d->timer, 0);
}

static void a_frame_may_come_byte_by_byte(void **state)
{
    struct side s;
    side_make(&s, state);
    struct dribble d = {.side = &s};
    wait_job_add(&d.bytes, 1);
    wait_job_add(&d.bytes, 2);
    d.timer = timer_new(s.world->loop, dribble_on, &d);
    timer_set(d.timer, 0);
    s.stop_at = 2;
    loop_run(s.world->loop);
    assert_int_equal(s.frames, 2);
    timer_free(d.timer);
    str_done(&d.bytes);
    side_end(&s);
}

static void a_paused_connection_delivers_nothing_and_loses_nothing(void **state)
{
    struct side s;
    struct str bytes = STR_INIT;
    side_make(&s, state);
    struct timer *t = timer_new(s.world->loop, world_stop, s.world);
    for (uint64_t i = 1; i <= 50; i++)
        wait_job_add(&bytes, i);
    conn_pause(s.conn);
    plain_write(s.peer, bytes.data, bytes.len);
    timer_set(t, 20000);
    loop_run(s.world->loop);
    assert_int_equal(s.frames, 0);
    s.stop_at = 50;
    s.pause_each = true;
    conn_resume(s.conn);
    loop_run(s.world->loop);
    assert_int_equal(s.frames, 50);
    timer_free(t);
    str_done(&bytes);
    side_end(&s);
}

static void garbage_is_answered_and_ends_it(void **state)
{
    struct side s;
    char answer[512];
    side_make(&s, state);
    plain_write(s.peer, "GET / HTTP/1.1\r\n\r\n", 18);
    loop_run(s.world->loop);
    assert_int_equal(s.garbage, 1);
    assert_int_equal(s.why.code, ERR_INVALID);
    ssize_t n = read(s.peer, answer, sizeof answer - 1);
    assert_true(n > 8);
    assert_non_null(memmem(answer, (size_t)n, "BAD_MESSAGE", 11));
    assert_int_equal(read(s.peer, answer, 1), 0);
    side_end(&s);
}

static void a_frame_above_the_bound_is_garbage(void **state)
{
    struct side s;
    struct str bytes = STR_INIT;
    side_make(&s, state);
    conn_set_frame_max(s.conn, 10);
    wait_job_add(&bytes, 1);
    plain_write(s.peer, bytes.data, bytes.len);
    loop_run(s.world->loop);
    assert_int_equal(s.garbage, 1);
    assert_int_equal(s.frames, 0);
    str_done(&bytes);
    side_end(&s);
}

static void the_other_side_may_leave(void **state)
{
    struct side s;
    side_make(&s, state);
    close(s.peer);
    s.peer = -1;
    loop_run(s.world->loop);
    assert_int_equal(s.why.code, ERR_NONE);
    side_end(&s);
}

static void leaving_within_a_frame_is_an_error(void **state)
{
    struct side s;
    struct str bytes = STR_INIT;
    side_make(&s, state);
    wait_job_add(&bytes, 1);
    plain_write(s.peer, bytes.data, bytes.len - 1);
    close(s.peer);
    s.peer = -1;
    loop_run(s.world->loop);
    assert_int_equal(s.why.code, ERR_UNAVAILABLE);
    str_done(&bytes);
    side_end(&s);
}

/* ---- out
 * ---------------------------------------------------------------------------------- */

struct drinking {
    int fd;
    size_t bytes;
};

static void *drink(void *ctx)
{
    struct drinking *d = ctx;
    char room[65536];
    ssize_t n;
    while ((n = read(d->fd, room, sizeof room)) > 0)
        d->bytes += (size_t)n;
    return NULL;
}

static void much_is_sent_with_back_pressure_and_close_waits_for_it(void **state)
{
    struct side s;
    static char piece[1 << 20];
    pthread_t thread;
    side_make(&s, state);
    struct drinking d = {.fd = s.peer};
    for (int i = 0; i < 20; i++)
        conn_send(s.conn, piece, sizeof piece);
    assert_true(conn_unsent(s.conn) > CONN_HIGH_BYTES);
    conn_close(s.conn);
    pthread_create(&thread, NULL, drink, &d);
    loop_run(s.world->loop);
    pthread_join(thread, NULL);
    assert_int_equal(d.bytes, 20 * sizeof piece);
    assert_int_equal(s.why.code, ERR_NONE);
    side_end(&s);
}

static void drained_comes_when_a_slow_reader_has_caught_up(void **state)
{
    struct side s;
    static char piece[1 << 20], room[1 << 16];
    side_make(&s, state);
    struct timer *t = timer_new(s.world->loop, world_stop, s.world);
    conn_send(s.conn, piece, sizeof piece);
    conn_send(s.conn, piece, sizeof piece);
    fcntl(s.peer, F_SETFL, O_NONBLOCK);
    while (conn_unsent(s.conn) > 0) {
        while (read(s.peer, room, sizeof room) > 0) {
        }
        timer_set(t, 0);
        loop_run(s.world->loop);
    }
    assert_int_equal(s.drained, 1);
    timer_free(t);
    side_end(&s);
}

static void a_reader_that_never_reads_is_cut_off(void **state)
{
    struct side s;
    static char piece[1 << 20];
    side_make(&s, state);
    conn_set_unsent_max(s.conn, 3 << 20);
    for (int i = 0; i < 10; i++)
        conn_send(s.conn, piece, sizeof piece);
    loop_run(s.world->loop);
    assert_int_equal(s.why.code, ERR_LIMIT);
    side_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(frames_come_whole_and_in_order),
        TEST(a_frame_may_come_byte_by_byte),
        TEST(a_paused_connection_delivers_nothing_and_loses_nothing),
        TEST(garbage_is_answered_and_ends_it),
        TEST(a_frame_above_the_bound_is_garbage),
        TEST(the_other_side_may_leave),
        TEST(leaving_within_a_frame_is_an_error),
        TEST(much_is_sent_with_back_pressure_and_close_waits_for_it),
        TEST(drained_comes_when_a_slow_reader_has_caught_up),
        TEST(a_reader_that_never_reads_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
