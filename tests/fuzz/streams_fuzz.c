/* The streams of tasks, at both ends: what anybody who reaches a command's port says to it, and
 * what a command says to a shepherd, which is root's. Each line is a frame, then its bytes come
 * once more as they are. Nothing is taken of who has not said hello, or not shown the secret. */
#include "fuzz.h"

#include "base/alloc.h"
#include "cli/step/stream_hub.c" /* what it does with bytes is nobody else's */
#include "node/shepherd/tasks/stream.h"

const char *const fuzz_words[] = {
    "{\"type\":\"stream_hello\",\"key\":\"k\",\"pid\":7}\n",
    "{\"type\":\"stream_tasks\",\"proof\":\"other\"}\n",
    "{\"type\":\"stream_started\"}\n",
    "{\"type\":\"stream_data\",\"stream\":1,\"data\":{\"bytes\":3}}\n",
    "{\"type\":\"stream_data\",\"task_plus1\":2147483647}\n",
    "{\"type\":\"stream_done\"}\n",
    "{\"type\":\"stream_tasks\",\"proof\":\"secret\"",
    ",\"args\":{\"bytes\":3}",
    "}\n",
    "\n",
    NULL,
};

static char known; /* who said hello */

static void *hello(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m)
{
    (void)ctx, (void)p;
    return text_is(m->key, "k") ? &known : NULL;
}

static void message(void *ctx, void *peer_ctx, struct stream_peer *p, const struct message *m)
{
    (void)ctx, (void)m;
    CHECK(peer_ctx == &known && !p->dead);
}

static const struct hub_ops ops = {.hello = hello, .message = message};

static void frame_add(const char *json, size_t len, struct str *out)
{
    char raw = memmem(json, len, "\"bytes\":3", 9) ? 3 : 0;
    const char head[FRAME_HEADER_BYTES] = {[2] = (char)(len >> 8), [3] = (char)len, [7] = raw};
    str_addn(out, head, sizeof head);
    str_addn(out, json, len);
    str_addn(out, "raw", (size_t)raw);
}

/* Of every other input the first frame is the right one. */
static void bytes_make(const uint8_t *data, size_t size, const char *first, struct str *out)
{
    struct span rest = {(const char *)data, size}, line;
    str_clear(out);
    if (size % 2)
        frame_add(first, strlen(first), out);
    while (span_next(&rest, '\n', &line))
        if (line.len)
            frame_add(line.data, line.len, out);
    str_addn(out, (const char *)data, size);
}

static void hub_check(const struct str *bytes)
{
    struct stream_hub h = {.ops = &ops, .arena = arena_new()};
    struct stream_peer p = {.fd = -1};
    for (size_t at = 0, n; at < bytes->len && !p.dead; at += n) {
        n = bytes->len - at < 100 ? bytes->len - at : 100;
        memcpy(framed_room(&p.way, n), bytes->data + at, n);
        framed_came(&p.way, n);
        frames_take(&h, &p);
    }
    framed_done(&p.way);
    arena_free(h.arena);
}

static void taken(void *ctx, const struct message *m)
{
    const struct stream *s = ctx;
    (void)m;
    CHECK(s->proved);
}

/* Until nothing is there, or it was closed. */
static void shepherd_read(struct stream *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    while (s->fd >= 0 && (s->more || poll(&p, 1, 0) == 1))
        stream_read(s, taken, s);
}

static void shepherd_check(const struct str *bytes)
{
    int pair[2];
    struct stream s = {.proof = xstrdup("secret"), .frame_max = STREAM_FRAME_BYTES};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    s.fd = pair[0];
    for (size_t at = 0; at < bytes->len && s.fd >= 0;) {
        ssize_t n = send(pair[1], bytes->data + at, bytes->len - at, MSG_NOSIGNAL);
        CHECK(n > 0);
        at += (size_t)n;
        shepherd_read(&s);
    }
    close(pair[1]);
    shepherd_read(&s);
    CHECK(s.fd < 0);
    framed_done(&s.way);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = STR_INIT;
    bytes_make(data, size, "{\"type\":\"stream_hello\",\"key\":\"k\"}", &bytes);
    hub_check(&bytes);
    bytes_make(data, size, "{\"type\":\"stream_tasks\",\"proof\":\"secret\"}", &bytes);
    shepherd_check(&bytes);
    str_done(&bytes);
    return 0;
}
