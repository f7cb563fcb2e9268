/* A request over HTTP, in two pieces: it is answered once, or refused in a sentence, or waited for;
 * and nothing of it is kept that has no bound. */
#include "fuzz.h"

#include "base/alloc.h"
#include "io/net/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const fuzz_words[] = {
    "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET ",
    "HEAD ",
    "POST ",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\n",
    "/metrics/jobs",
    "/livez?a=b#c",
    "http://[::1]:99/metrics",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    " HTTP/0.9\r\n",
    "Host: x\r\n",
    "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n",
    "Authorization: Bearer abc\r\n",
    "authorization:bearer\t\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: -1\r\n",
    "Content-Length: 18446744073709551615\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Upgrade: h2c\r\nConnection: upgrade\r\n",
    " folded: y\r\n",
    "\r\n",
    "\n",
    "\x16\x03\x01",
    NULL,
};

struct world {
    struct loop *loop;
    struct http_server *server;
    unsigned rounds;
    struct timer *tick;
    size_t asked;
};

static void asked(void *ctx, uint64_t exchange, const struct http_asked *a)
{
    struct world *w = ctx;
    CHECK(++w->asked == 1);
    CHECK(strlen(a->path) <= HTTP_HEAD_MAX_BYTES && strlen(a->accept) <= HTTP_HEAD_MAX_BYTES);
    CHECK(!a->bearer || strlen(a->bearer) <= HTTP_HEAD_MAX_BYTES);
    struct http_body *b = http_body_of("ok\n");
    http_answer(w->server, exchange, 200, "text/plain", b);
    http_body_unref(b);
}

static void tick(void *ctx)
{
    struct world *w = ctx;
    if (w->rounds--)
        timer_set(w->tick, 0);
    else
        loop_stop(w->loop);
}

static void rounds(struct world *w, unsigned n)
{
    w->rounds = n;
    timer_set(w->tick, 0);
    loop_run(w->loop);
}

static void answer_check(const struct world *w, int fd)
{
    char room[4096];
    ssize_t n = recv(fd, room, sizeof room - 1, MSG_DONTWAIT);
    if (n <= 0) {
        CHECK(w->asked == 0);
        return;
    }
    room[n] = 0;
    CHECK(strncmp(room, "HTTP/1.1 ", 9) == 0 && strstr(room, "\r\nConnection: close\r\n"));
    CHECK((strncmp(room + 9, "200", 3) == 0) == (w->asked == 1));
    CHECK(recv(fd, room, sizeof room, MSG_DONTWAIT) <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct world w = {.loop = loop_new(&err)};
    int fd[2];
    CHECK(w.loop && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) == 0);
    w.server = http_server_new(w.loop, (struct http_times){0}, asked, &w);
    w.tick = timer_new(w.loop, tick, &w);
    http_serve(w.server, fd[0], false, 1);
    size_t half = size / 2;
    (void)!send(fd[1], data, half, MSG_NOSIGNAL);
    rounds(&w, 3);
    (void)!send(fd[1], data + half, size - half, MSG_NOSIGNAL);
    rounds(&w, 5);
    answer_check(&w, fd[1]);
    http_server_free(w.server);
    timer_free(w.tick);
    loop_free(w.loop);
    close(fd[1]);
    return 0;
}
