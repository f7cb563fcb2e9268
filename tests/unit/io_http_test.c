/* HTTP as clients find it: whole, in pieces, half, too long, too many, too slow. */
#include "base/alloc.h"
#include "base/duration.h"
#include "io/clock.h"
#include "io/net/http.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGE (8u << 20)

struct world {
    struct loop *loop;
    struct http_server *server;
    struct timer *tick;
    int64_t until_us;
    bool (*done)(struct world *w);
    size_t asked;
    uint64_t last;
    char path[64], bearer[64];
    bool trusted;
    uint64_t source; /* of the next client */
    struct str got;  /* from the client */
    bool eof;
    int fd; /* the client's */
};

static void asked(void *ctx, uint64_t exchange, const struct http_asked *a)
{
    struct world *w = ctx;
    w->asked++;
    w->last = exchange;
    w->trusted = a->trusted;
    snprintf(w->path, sizeof w->path, "%s", a->path);
    snprintf(w->bearer, sizeof w->bearer, "%s", a->bearer ? a->bearer : "-");
    if (strcmp(a->path, "/later") == 0)
        return;
    struct str text = STR_INIT;
    if (strcmp(a->path, "/large") == 0)
        while (text.len < LARGE)
            str_addf(&text, "%zu\n", text.len);
    else
        str_addf(&text, "here is %s", a->path);
    struct http_body *b = http_body_new(&text, 1);
    http_answer(w->server, exchange, 200, "text/plain", b);
    http_body_unref(b);
}

static void tick(void *ctx)
{
    struct world *w = ctx;
    if (w->done(w) || clock_monotonic_us() > w->until_us)
        loop_stop(w->loop);
    else
        timer_set(w->tick, 1000);
}

/* Until `done`, at most half a minute. */
static void until(struct world *w, bool (*done)(struct world *w))
{
    w->done = done;
    w->until_us = clock_monotonic_us() + 30 * USEC_PER_SEC;
    timer_set(w->tick, 0);
    loop_run(w->loop);
    assert_true(done(w));
}

static void begin(struct world *w, struct http_times times)
{
    struct err err = {0};
    memset(w, 0, sizeof *w);
    w->fd = -1;
    w->loop = loop_new(&err);
    w->server = http_server_new(w->loop, times, asked, w);
    w->tick = timer_new(w->loop, tick, w);
}

static void client_close(struct world *w)
{
    close(w->fd);
    w->fd = -1;
    str_done(&w->got);
}

static void end(struct world *w)
{
    if (w->fd >= 0)
        client_close(w);
    http_server_free(w->server);
    timer_free(w->tick);
    loop_free(w->loop);
}

static int client(struct world *w, bool trusted)
{
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    http_serve(w->server, fd[0], trusted, w->source);
    return fd[1];
}

static void tell(int fd, const char *data, size_t len)
{
    assert_int_equal(write(fd, data, len), (ssize_t)len);
}

static bool at_end(struct world *w)
{
    char room[65536];
    ssize_t n;
    while ((n = read(w->fd, room, sizeof room)) > 0)
        str_addn(&w->got, room, (size_t)n);
    w->eof |= n == 0 || (n < 0 && errno != EAGAIN);
    return w->eof;
}

static bool alone(struct world *w)
{
    return http_connections(w->server) == 0;
}

/* What comes back of a request, to the end of the connection. */
static const char *answer(struct world *w, const char *request)
{
    if (w->fd >= 0)
        client_close(w);
    w->eof = false;
    w->fd = client(w, false);
    tell(w->fd, request, strlen(request));
    until(w, at_end);
    until(w, alone);
    return str_text(&w->got);
}

static void starts(const char *text, const char *with)
{
    if (strncmp(text, with, strlen(with)) != 0)
        fail_msg("%s\nis not %s", text, with);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static void answers_are_whole(void **unused)
{
    struct world w;
    begin(&w, (struct http_times){0});
    starts(answer(&w, GET("/metrics?a=b")), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n");
    assert_string_equal(w.path, "/metrics");
    assert_non_null(strstr(str_text(&w.got), "Content-Length: 16\r\nConnection: close\r\n"));
    assert_non_null(strstr(str_text(&w.got), "\r\n\r\nhere is /metrics"));
    starts(answer(&w, "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200 OK\r\n");
    assert_null(strstr(str_text(&w.got), "here"));
    starts(answer(&w, "GET http://x:1/y HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 200");
    assert_string_equal(w.path, "/y");
    starts(answer(&w, "GET / HTTP/1.0\r\nauthorization:  bearer  abc \r\n\r\n"), "HTTP/1.1 200");
    starts(w.bearer, "abc");
    /* What comes after the first request is not another. */
    size_t before = w.asked;
    starts(answer(&w, GET("/1") GET("/2") "garbage"), "HTTP/1.1 200");
    assert_int_equal(w.asked, before + 1);
    end(&w);
}

static void what_is_no_request_is_refused(void **unused)
{
    struct world w;
    struct str longer = STR_INIT;
    begin(&w, (struct http_times){0});
    starts(answer(&w, "PUT / HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 405");
    assert_non_null(strstr(str_text(&w.got), "Allow: GET, HEAD\r\n"));
    starts(answer(&w, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"), "HTTP/1.1 413");
    starts(answer(&w, "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
           "HTTP/1.1 413");
    starts(answer(&w, "GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400");
    starts(answer(&w, "GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n"), "HTTP/1.1 400");
    starts(answer(&w, "\x16\x03\x01\x02"), "HTTP/1.1 400");
    starts(answer(&w, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/1.1 400");
    str_add(&longer, "GET / HTTP/1.1\r\nHost: x\r\n");
    while (longer.len < 3 * HTTP_HEAD_MAX_BYTES)
        str_addf(&longer, "X-%zu: y\r\n", longer.len);
    starts(answer(&w, str_text(&longer)), "HTTP/1.1 431");
    str_clear(&longer);
    str_add(&longer, "GET /");
    while (longer.len < 4000)
        str_add(&longer, "xxxxxxxx");
    str_add(&longer, " HTTP/1.1\r\nHost: x\r\n\r\n");
    starts(answer(&w, str_text(&longer)), "HTTP/1.1 400");
    assert_int_equal(w.asked, 0);
    str_done(&longer);
    end(&w);
}

static bool one_asked(struct world *w)
{
    return w->asked == 1;
}

static void a_request_comes_byte_by_byte(void **unused)
{
    struct world w;
    const char *request = GET("/slow");
    begin(&w, (struct http_times){0});
    w.fd = client(&w, true);
    for (size_t i = 0; request[i]; i++) {
        assert_int_equal(w.asked, 0);
        tell(w.fd, request + i, 1);
        w.done = one_asked;
        w.until_us = 0; /* a round or two */
        timer_set(w.tick, 0);
        loop_run(w.loop);
    }
    until(&w, one_asked);
    assert_true(w.trusted);
    until(&w, at_end);
    starts(str_text(&w.got), "HTTP/1.1 200");
    end(&w);
}

static void half_a_request_ends_after_a_time(void **unused)
{
    struct world w;
    begin(&w, (struct http_times){.ask_us = 20000});
    starts(answer(&w, "GET / HTTP/1.1\r\nHo"), "");
    assert_int_equal(w.got.len, 0);
    starts(answer(&w, ""), "");
    assert_int_equal(w.asked, 0);
    end(&w);
}

static bool asked_or_ended(struct world *w)
{
    return w->asked == 1 || at_end(w);
}

/* Asked in time, though the machine has others to serve: another try, if it was not. */
static void asked_in_time(struct world *w)
{
    for (int i = 0; i < 50 && !w->asked; i++) {
        if (w->fd >= 0)
            client_close(w);
        w->eof = false;
        w->fd = client(w, false);
        tell(w->fd, GET("/later"), strlen(GET("/later")));
        until(w, asked_or_ended);
    }
    assert_int_equal(w->asked, 1);
}

static void who_asked_in_time_waits_as_long_as_we_think(void **unused)
{
    struct world w;
    begin(&w, (struct http_times){.ask_us = 50000});
    asked_in_time(&w);
    w.done = at_end;
    w.until_us = clock_monotonic_us() + 200000;
    timer_set(w.tick, 0);
    loop_run(w.loop);
    assert_false(w.eof);
    struct http_body *b = http_body_of("done");
    http_answer(w.server, w.last, 200, "text/plain", b);
    http_answer(w.server, w.last, 200, "text/plain", b); /* once is enough */
    http_body_unref(b);
    until(&w, at_end);
    assert_non_null(strstr(str_text(&w.got), "\r\n\r\ndone"));
    assert_null(strstr(str_text(&w.got), "donedone"));
    end(&w);
}

static void a_large_answer_comes_whole_and_waits_for_no_one(void **unused)
{
    struct world w;
    begin(&w, (struct http_times){.take_us = 30 * USEC_PER_SEC});
    starts(answer(&w, GET("/large")), "HTTP/1.1 200 OK\r\n");
    const char *body = strstr(str_text(&w.got), "\r\n\r\n") + 4;
    size_t len = w.got.len - (size_t)(body - w.got.data);
    assert_true(len >= LARGE);
    for (size_t at = 0; at < len;) {
        char *end_of_line;
        assert_int_equal(strtoull(body + at, &end_of_line, 10), at);
        at = (size_t)(end_of_line + 1 - body);
    }
    end(&w);
    /* Nobody reads this one. */
    begin(&w, (struct http_times){.take_us = 20000});
    w.fd = client(&w, false);
    tell(w.fd, GET("/large"), strlen(GET("/large")));
    until(&w, one_asked);
    until(&w, alone);
    end(&w);
}

static bool all_asked(struct world *w)
{
    return w->asked == 10;
}

static void who_says_nothing_keeps_nobody_out(void **unused)
{
    struct world w;
    int waiting[10], idle[3 * HTTP_CONNECTIONS_MAX];
    begin(&w, (struct http_times){0});
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
        waiting[i] = client(&w, false);
        tell(waiting[i], GET("/later"), strlen(GET("/later")));
    }
    until(&w, all_asked);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        idle[i] = client(&w, false);
        if (i % 2)
            tell(idle[i], "GET /", 5);
        assert_true(http_connections(w.server) <= HTTP_CONNECTIONS_MAX);
    }
    w.fd = client(&w, false);
    tell(w.fd, GET("/x"), strlen(GET("/x")));
    until(&w, at_end);
    starts(str_text(&w.got), "HTTP/1.1 200");
    assert_true(http_waits(w.server, 1) && http_waits(w.server, 10));
    assert_int_equal(http_waiting(w.server), 10);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        close(waiting[i]);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++)
        close(idle[i]);
    until(&w, alone);
    struct http_body *b = http_body_of("nobody");
    http_answer(w.server, 1, 200, "text/plain", b); /* gone: nothing happens */
    http_body_unref(b);
    end(&w);
}

#define FLOOD (4 * HTTP_CONNECTIONS_MAX)

static void flood_close(int *fd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(fd[i]);
}

/* Each of those is to be told all of it, however late he reads. */
static void reads_whole(struct world *w, int fd)
{
    if (w->fd >= 0)
        client_close(w);
    w->fd = fd;
    w->eof = false;
    until(w, at_end);
    starts(str_text(&w->got), "HTTP/1.1 200");
    assert_true(w->got.len > LARGE);
}

static bool a_while(struct world *w)
{
    return clock_monotonic_us() > w->until_us - 30 * USEC_PER_SEC + 20000;
}

/* `nc -N` and others say with their request that nothing follows, and are answered. */
static void who_sends_no_more_is_answered(void **unused)
{
    struct world w;
    begin(&w, (struct http_times){0});
    w.fd = client(&w, false);
    tell(w.fd, GET("/later"), strlen(GET("/later")));
    assert_int_equal(shutdown(w.fd, SHUT_WR), 0);
    until(&w, a_while);
    struct http_body *b = http_body_of("at last");
    http_answer(w.server, w.last, 200, "text/plain", b);
    http_body_unref(b);
    until(&w, at_end);
    starts(str_text(&w.got), "HTTP/1.1 200");
    end(&w);
}

static int asks_large(struct world *w, bool trusted, uint64_t source, size_t asked_then)
{
    w->source = source;
    int fd = client(w, trusted);
    tell(fd, GET("/large"), strlen(GET("/large")));
    while (w->asked < asked_then) {
        w->done = at_end;
        w->until_us = 0;
        timer_set(w->tick, 0);
        loop_run(w->loop);
    }
    return fd;
}

static void who_connects_without_end_pushes_out_his_own(void **unused)
{
    struct world w;
    int flood[FLOOD];
    begin(&w, (struct http_times){0});
    w.fd = client(&w, true);
    int owner = asks_large(&w, true, 0, 1), other = asks_large(&w, false, 2, 2);
    for (size_t i = 0; i < ARRAY_LEN(flood); i++) {
        w.source = 1;
        flood[i] = client(&w, false);
        if (i % 2)
            tell(flood[i], "GET /", 5);
        assert_true(http_connections(w.server) <= 3 + HTTP_SOURCE_MAX);
    }
    reads_whole(&w, owner);
    reads_whole(&w, other);
    flood_close(flood, ARRAY_LEN(flood));
    end(&w);
}

static void however_many_they_are_the_owner_keeps_his_place(void **unused)
{
    struct world w;
    int flood[FLOOD];
    begin(&w, (struct http_times){0});
    w.fd = client(&w, true);
    int owner = asks_large(&w, true, 0, 1);
    for (size_t i = 0; i < ARRAY_LEN(flood); i++) {
        w.source = i + 1;
        flood[i] = client(&w, false);
    }
    assert_int_equal(http_connections(w.server), HTTP_CONNECTIONS_MAX);
    reads_whole(&w, owner);
    w.source = 0;
    reads_whole(&w, asks_large(&w, true, 0, 2));
    flood_close(flood, ARRAY_LEN(flood));
    end(&w);
}

static bool source_full(struct world *w)
{
    return http_waiting(w->server) == HTTP_SOURCE_MAX;
}

/* Who has asked waits, and is not pushed out for the next of his: that one is not taken in. */
static void one_source_waits_in_so_many_places(void **unused)
{
    struct world w;
    int waits[HTTP_SOURCE_MAX];
    begin(&w, (struct http_times){0});
    w.source = 1;
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        waits[i] = client(&w, false);
        tell(waits[i], GET("/later"), strlen(GET("/later")));
    }
    until(&w, source_full);
    w.fd = client(&w, false);
    until(&w, at_end);
    assert_int_equal(w.got.len, 0);
    w.source = 2;
    client_close(&w);
    w.eof = false;
    w.fd = client(&w, false);
    tell(w.fd, GET("/x"), strlen(GET("/x")));
    until(&w, at_end);
    starts(str_text(&w.got), "HTTP/1.1 200");
    flood_close(waits, ARRAY_LEN(waits));
    end(&w);
}

static void the_server_goes_with_its_connections(void **unused)
{
    struct world w;
    begin(&w, (struct http_times){0});
    w.fd = client(&w, false);
    tell(w.fd, GET("/later"), strlen(GET("/later")));
    until(&w, one_asked);
    int other = client(&w, false);
    end(&w);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_whole),
        cmocka_unit_test(what_is_no_request_is_refused),
        cmocka_unit_test(a_request_comes_byte_by_byte),
        cmocka_unit_test(half_a_request_ends_after_a_time),
        cmocka_unit_test(who_asked_in_time_waits_as_long_as_we_think),
        cmocka_unit_test(a_large_answer_comes_whole_and_waits_for_no_one),
        cmocka_unit_test(who_sends_no_more_is_answered),
        cmocka_unit_test(who_says_nothing_keeps_nobody_out),
        cmocka_unit_test(who_connects_without_end_pushes_out_his_own),
        cmocka_unit_test(however_many_they_are_the_owner_keeps_his_place),
        cmocka_unit_test(one_source_waits_in_so_many_places),
        cmocka_unit_test(the_server_goes_with_its_connections),
    };
    if (!http_there()) {
        print_message("1..0 # SKIP built without libhttp-parser\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
