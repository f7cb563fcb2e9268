/* Connections, listeners, links and the commands' client, over real sockets. */
#include "io_help.h"

#include "io/client/client.h"
#include "io/net/conn.h"
#include "io/net/link.h"
#include "io/net/listen.h"
#include "model/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- one end is a conn, the other a plain socket
 * -------------------------------------------------------------------- */

struct side {
    struct world *world;
    struct conn *conn;
    int peer; /* the plain end */
    int frames, closed, drained, garbage;
    int stop_at; /* frames after which the loop stops */
    uint64_t last_id;
    struct err why;
    bool pause_each;
};

static uint64_t frame_job_id(struct world *w, const struct frame *f)
{
    struct message m;
    struct err err = {0};
    if (!wire_decode(f, w->arena, &m, &err))
        fail_msg("%s", err.text);
    assert_int_equal(m.kind, MSG_WAIT_JOB);
    return ((const struct msg_wait_job *)m.body)->job_id;
}

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

static void side_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct side *s = ctx;
    (void)c;
    s->closed++;
    s->why = *why;
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

/* ---- listener and link
 * ---------------------------------------------------------------------------------------------- */

struct server {
    struct world *world;
    struct listener *listener;
    struct conn *conn;
    struct link *link;
    int accepted, ups, downs, frames, closed;
    bool hang_up;
};

static void server_frame(void *ctx, struct conn *c, const struct frame *f)
{
    struct server *s = ctx;
    s->frames++;
    struct msg_wait_job body = {.job_id = frame_job_id(s->world, f) + 1};
    conn_send_message(c, &(struct message){.kind = MSG_WAIT_JOB, .body = &body});
    if (s->hang_up)
        conn_close(c);
}

static void server_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct server *s = ctx;
    (void)c, (void)why;
    s->closed++;
}

static const struct conn_ops server_ops = {.frame = server_frame, .closed = server_closed};

static void server_accepted(void *ctx, int fd)
{
    struct server *s = ctx;
    s->accepted++;
    s->conn = conn_new(s->world->loop, fd, &server_ops, s, NULL);
    struct conn_peer peer = conn_peer(s->conn);
    assert_true(peer.known);
    assert_int_equal(peer.uid, geteuid());
    assert_int_equal(peer.pid, getpid());
}

static void link_is_up_now(void *ctx, struct link *k)
{
    struct server *s = ctx;
    s->ups++;
    struct msg_wait_job body = {.job_id = 5};
    link_send(k, &(struct message){.kind = MSG_WAIT_JOB, .body = &body});
}

static void link_got(void *ctx, struct link *k, const struct frame *f)
{
    struct server *s = ctx;
    (void)k;
    assert_int_equal(frame_job_id(s->world, f), 6);
    if (!s->hang_up || s->ups == 2)
        loop_stop(s->world->loop);
}

static void link_is_down_now(void *ctx, struct link *k, const struct err *why)
{
    struct server *s = ctx;
    (void)k;
    assert_int_equal(why->code, ERR_UNAVAILABLE);
    s->downs++;
    if (!s->listener)
        loop_stop(s->world->loop);
}

static const struct link_ops server_link_ops = {
    .up = link_is_up_now, .frame = link_got, .down = link_is_down_now};

static void server_listen(struct server *s, const char *name)
{
    struct err err = {0};
    const char *path = arena_printf(s->world->arena, "%s/%s", s->world->dir, name);
    s->listener = listener_new(s->world->loop, path, 0640, server_accepted, s, &err);
    if (!s->listener)
        fail_msg("%s", err.text);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void server_end(struct server *s)
{
    listener_free(s->listener);
    link_free(s->link);
    if (s->conn && s->accepted > s->closed)
        conn_abort(s->conn);
    struct timer *t = timer_new(s->world->loop, world_stop, s->world);
    timer_set(t, 1000);
    loop_run(s->world->loop);
    timer_free(t);
}

static void a_link_finds_its_server_when_that_comes(void **state)
{
    struct server s = {.world = *state};
    const char *path = arena_printf(s.world->arena, "%s/s", s.world->dir);
    s.link = link_new(s.world->loop, path, &server_link_ops, &s);
    loop_run(s.world->loop);
    assert_int_equal(s.downs, 1);
    assert_false(link_is_up(s.link));
    server_listen(&s, "s");
    loop_run(s.world->loop);
    assert_int_equal(s.ups, 1);
    assert_int_equal(s.frames, 1);
    server_end(&s);
}

static void a_link_that_was_cut_comes_back(void **state)
{
    struct server s = {.world = *state, .hang_up = true};
    server_listen(&s, "s");
    s.link = link_new(s.world->loop, arena_printf(s.world->arena, "%s/s", s.world->dir),
                      &server_link_ops, &s);
    loop_run(s.world->loop);
    assert_int_equal(s.ups, 2);
    assert_int_equal(s.downs, 1);
    server_end(&s);
}

static void a_long_path_works(void **state)
{
    struct server s = {.world = *state};
    char name[130] = {0};
    memset(name, 'n', 120);
    assert_true(dir_make(arena_printf(s.world->arena, "%s/%s", s.world->dir, name), 0700, NULL));
    strcat(name, "/s");
    server_listen(&s, name);
    s.link = link_new(s.world->loop, arena_printf(s.world->arena, "%s/%s", s.world->dir, name),
                      &server_link_ops, &s);
    loop_run(s.world->loop);
    assert_int_equal(s.frames, 1);
    server_end(&s);
}

/* ---- the commands' client
 * ------------------------------------------------------------------------------------------- */

static void nobody_there_says_how_to_start(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    assert_null(client_open(w->dir, &err));
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "controller not running in"));
    assert_non_null(strstr(err.text, "remuda up"));
}

struct caller {
    const char *dir;
    struct arena *arena;
    uint64_t got;
    bool ok, timed_out;
};

static void *caller_run(void *ctx)
{
    struct caller *c = ctx;
    struct client *client = client_open(c->dir, NULL);
    struct msg_wait_job body = {.job_id = 41};
    struct message answer;
    struct err err = {0};
    c->ok = client && client_call(client, MSG_WAIT_JOB, &body, 5000, c->arena, &answer, &err);
    if (c->ok)
        c->got = ((const struct msg_wait_job *)answer.body)->job_id;
    c->timed_out = client && !client_receive(client, 20, c->arena, &answer, &err) &&
                   strstr(err.text, "timed out");
    client_close(client);
    return NULL;
}

static void one_answers(void *ctx, struct conn *c, const struct frame *f)
{
    struct side *s = ctx;
    struct message m;
    assert_true(wire_decode(f, s->world->arena, &m, NULL));
    struct msg_wait_job body = {.job_id = ((const struct msg_wait_job *)m.body)->job_id + 1};
    conn_send_message(c, &(struct message){.kind = MSG_WAIT_JOB, .seq = m.seq, .body = &body});
}

static const struct conn_ops answering_ops = {.frame = one_answers, .closed = side_closed};

static void answering_accepted(void *ctx, int fd)
{
    struct side *s = ctx;
    s->conn = conn_new(s->world->loop, fd, &answering_ops, s, NULL);
}

static void a_call_gets_its_answer_and_times_out_without(void **state)
{
    struct side s = {.world = *state, .peer = -1};
    struct arena *a = arena_new();
    struct caller caller = {.dir = s.world->dir, .arena = a};
    pthread_t thread;
    struct listener *li =
        listener_new(s.world->loop, state_socket_path(s.world->dir, s.world->arena), 0600,
                     answering_accepted, &s, NULL);
    pthread_create(&thread, NULL, caller_run, &caller);
    loop_run(s.world->loop);
    pthread_join(thread, NULL);
    assert_true(caller.ok);
    assert_int_equal(caller.got, 42);
    assert_true(caller.timed_out);
    listener_free(li);
    arena_free(a);
}

static void the_state_directory_is_found(void **state)
{
    struct world *w = *state;
    unsetenv("REMUDA_STATE");
    unsetenv("SLURM_CONF");
    assert_string_equal(state_dir_find("/x", w->arena), "/x");
    const char *conf = arena_printf(w->arena, "%s/remuda.conf", w->dir);
    setenv("SLURM_CONF", conf, 1);
    assert_string_not_equal(state_dir_find(NULL, w->arena), w->dir);
    assert_true(file_write_atomic(conf, "", 0, 0600, NULL));
    assert_string_equal(state_dir_find(NULL, w->arena), w->dir);
    setenv("REMUDA_STATE", "/y", 1);
    assert_string_equal(state_dir_find(NULL, w->arena), "/y");
    unsetenv("REMUDA_STATE");
    unsetenv("SLURM_CONF");
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
        TEST(a_link_finds_its_server_when_that_comes),
        TEST(a_link_that_was_cut_comes_back),
        TEST(a_long_path_works),
        TEST(nobody_there_says_how_to_start),
        TEST(a_call_gets_its_answer_and_times_out_without),
        TEST(the_state_directory_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
