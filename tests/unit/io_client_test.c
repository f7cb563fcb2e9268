/* Links and calls: a server that comes, a link that is cut, answers and their times, the state directory. */
#include "io_conn_help.h"

#include "io/net/socket_owner.h"
#include "io/net/unix_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* ---- listener and link
 * ---------------------------------------------------------------------------------------------- */

struct server {
    struct world *world;
    struct listener *listener;
    struct conn *conn;
    struct link *link;
    int accepted, ups, downs, frames, closed;
    bool hang_up, hang_up_always;
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
    if (!s->hang_up_always && (!s->hang_up || s->ups == 2))
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

/* A server that answers, too: it may say each time that it does not want us. */
static void a_link_that_is_sent_away_comes_ever_more_slowly(void **state)
{
    struct server s = {.world = *state, .hang_up = true, .hang_up_always = true};
    struct timer *t = timer_new(s.world->loop, world_stop, s.world);
    server_listen(&s, "s");
    s.link = link_new(s.world->loop, arena_printf(s.world->arena, "%s/s", s.world->dir),
                      &server_link_ops, &s);
    timer_set(t, 1500000);
    loop_run(s.world->loop);
    assert_in_range(s.ups, 2, 10);
    timer_free(t);
    server_end(&s);
}

static void it_rests_when_it_is_told_to(void **state)
{
    struct server s = {.world = *state, .hang_up = true, .hang_up_always = true};
    struct timer *t = timer_new(s.world->loop, world_stop, s.world);
    server_listen(&s, "s");
    s.link = link_new(s.world->loop, arena_printf(s.world->arena, "%s/s", s.world->dir),
                      &server_link_ops, &s);
    link_rest(s.link, 60 * USEC_PER_SEC);
    timer_set(t, 1000000);
    loop_run(s.world->loop);
    assert_int_equal(s.ups, 1);
    timer_free(t);
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

struct rests {
    struct world *world;
    struct listener *listener;
    int accepted;
};

static void rests_accepted(void *ctx, int fd)
{
    struct rests *r = ctx;
    close(fd);
    listener_rest(r->listener, ++r->accepted == 1 ? USEC_PER_HOUR : 1);
    if (r->accepted == 3)
        loop_stop(r->world->loop);
}

static void rests_enough(void *ctx)
{
    struct rests *r = ctx;
    assert_int_equal(r->accepted, 1);
    listener_rest(r->listener, 1);
}

/* Who comes while it rests waits, and is taken in afterwards. */
static void a_listener_that_rests_takes_nobody_in(void **state)
{
    struct rests r = {.world = *state};
    const char *path = arena_printf(r.world->arena, "%s/rests", r.world->dir);
    struct timer *t = timer_new(r.world->loop, rests_enough, &r);
    int fd[3];
    r.listener = listener_new(r.world->loop, path, 0600, rests_accepted, &r, NULL);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        fd[i] = unix_socket_connect(path, false);
    timer_set(t, USEC_PER_SEC / 10);
    loop_run(r.world->loop);
    assert_int_equal(r.accepted, 3);
    for (size_t i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    timer_free(t);
    listener_free(r.listener);
}

struct tcp_pair {
    int listening, ours, theirs;
};

/* From that address to another of the loopback. */
static bool tcp_pair_open(struct tcp_pair *p, const char *from)
{
    struct sockaddr_in at = {.sin_family = AF_INET}, peer = at;
    socklen_t len = sizeof at;
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    inet_pton(AF_INET, from, &peer.sin_addr);
    p->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    p->theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    p->ours = bind(p->listening, (struct sockaddr *)&at, sizeof at) == 0 &&
                      listen(p->listening, 1) == 0 &&
                      getsockname(p->listening, (struct sockaddr *)&at, &len) == 0 &&
                      bind(p->theirs, (struct sockaddr *)&peer, sizeof peer) == 0 &&
                      connect(p->theirs, (struct sockaddr *)&at, sizeof at) == 0
                  ? accept(p->listening, NULL, NULL)
                  : -1;
    return p->ours >= 0;
}

static void tcp_pair_close(struct tcp_pair *p)
{
    close(p->listening);
    close(p->theirs);
    if (p->ours >= 0)
        close(p->ours);
}

static void a_user_of_this_machine_is_one_source_whatever_his_address(void **unused)
{
    struct tcp_pair one, other;
    uid_t uid = (uid_t)-2;
    bool open = tcp_pair_open(&one, "127.0.0.1"), also = tcp_pair_open(&other, "127.0.0.9");
    if (open && also && socket_owner(one.ours, &uid)) {
        assert_int_equal(uid, geteuid());
        assert_true(socket_source(one.ours) == socket_source(other.ours));
        close(other.theirs);
        other.theirs = -1;
        assert_false(socket_source(one.ours) == socket_source(other.ours));
        assert_true(!socket_owner(other.ours, &uid) || uid == (uid_t)-1);
    } else {
        print_message("the kernel does not say whose a socket is\n");
    }
    tcp_pair_close(&one);
    tcp_pair_close(&other);
}

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
        TEST(a_link_finds_its_server_when_that_comes),
        TEST(a_link_that_was_cut_comes_back),
        TEST(a_link_that_is_sent_away_comes_ever_more_slowly),
        TEST(it_rests_when_it_is_told_to),
        TEST(a_long_path_works),
        TEST(a_listener_that_rests_takes_nobody_in),
        TEST(a_user_of_this_machine_is_one_source_whatever_his_address),
        TEST(nobody_there_says_how_to_start),
        TEST(a_call_gets_its_answer_and_times_out_without),
        TEST(the_state_directory_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
