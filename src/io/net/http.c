/* HTTP.
 *
 * A connection's life: it asks (bytes go to the parser, http-parser's, until the head is whole) →
 * it waits for its answer (what else comes is dropped) → it takes it, a piece at a time → closed.
 * There is one request a connection: no state outlives a request, and nothing of a second one has
 * to be kept while the first is answered.
 *
 * Too many connections: those that wait for us stay. Of the others, which ask or take, one is ended
 * whose source has the most, the one that came first of these; one source has a quarter of the
 * places. So who opens connections, however fast, pushes out his own. Trusted ones are pushed out
 * by trusted ones alone. */
#include "io/net/http.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "io/net/conn.h"
#include "io/net/http_places.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifdef HAVE_HTTP_PARSER
#include <http_parser.h>
#include <limits.h>
#endif

#define ASK_US     (10 * USEC_PER_SEC)
#define TAKE_US    (60 * USEC_PER_SEC)
#define PIECE_MAX  (256u << 10) /* copied in one go */
#define HEADER_MAX 1024         /* of one that is read: more is cut */

struct exchange {
    struct http_place place;    /* first: the map has places, and each is an exchange's */
    struct http_server *server; /* NULL: it is gone, and so will this be */
    uint64_t id;
    struct conn *conn;
    struct timer *patience;
    bool head_only;
    size_t came;      /* bytes of the request so far */
    size_t piece, at; /* what was handed to the connection of it */
#ifdef HAVE_HTTP_PARSER
    http_parser parser;
    int refused; /* status; 0 = not yet */
    bool has_host, whole, in_value;
    struct str target, field, value, accept, authorization, host;
#endif
};

struct http_server {
    struct loop *loop;
    struct http_times times;
    http_fn fn;
    void *ctx;
    struct map_u64 *by_id; /* in the order in which they came */
    uint64_t last_id;
    int64_t spent_ns;
};

/* ---- answers ---- */

/* Ended, and no longer among those that are there. */
static void exchange_drop(struct exchange *x)
{
    map_u64_del(x->server->by_id, x->id);
    x->server = NULL;
    timer_stop(x->patience);
    conn_abort(x->conn);
}

static const char *status_words(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 421: return "Misdirected Request";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Error";
    }
}

/* As much as the connection takes now; `drained` goes on. */
static void body_pump(struct exchange *x)
{
    while (x->place.body && x->piece < x->place.body->n &&
           conn_unsent(x->conn) <= CONN_HIGH_BYTES) {
        const struct str *p = &x->place.body->piece[x->piece];
        size_t n = p->len - x->at < PIECE_MAX ? p->len - x->at : PIECE_MAX;
        if (n > 0)
            conn_send(x->conn, p->data + x->at, n);
        x->at += n;
        if (x->at < p->len)
            continue;
        x->piece++;
        x->at = 0;
    }
    if (x->place.body && x->piece < x->place.body->n)
        return;
    conn_finish(x->conn);
}

static void answer_begin(struct exchange *x, int status, const char *type, struct http_body *body)
{
    struct str head = STR_INIT;
    str_addf(&head,
             "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
             "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s\r\n",
             status, status_words(status), type, body->bytes,
             status == 405 ? "Allow: GET, HEAD\r\n" : "",
             status == 401   ? "WWW-Authenticate: Bearer\r\n"
             : status == 503 ? "Retry-After: 5\r\n"
                             : "");
    x->place.stage = TAKES;
    timer_set(x->patience, x->server->times.take_us);
    if (!x->head_only) {
        x->place.body = body;
        body->refs++;
    }
    conn_send(x->conn, head.data, head.len);
    str_done(&head);
    body_pump(x);
}

/* Answers that are not taken must not fill the memory. */
static void bodies_bound(struct http_server *s, const struct exchange *x)
{
    struct http_place *goes;
    while ((goes = http_places_body(s->by_id, &x->place)))
        exchange_drop((struct exchange *)goes);
}

void http_answer(struct http_server *s, uint64_t exchange, int status, const char *type,
                 struct http_body *body)
{
    struct exchange *x = map_u64_get(s->by_id, exchange);
    if (!x || x->place.stage != WAITS)
        return;
    bodies_bound(s, x);
    answer_begin(x, status, type, body);
}

bool http_waits(const struct http_server *s, uint64_t exchange)
{
    const struct exchange *x = map_u64_get(s->by_id, exchange);
    return x && x->place.stage == WAITS;
}

static void answer_text(struct exchange *x, int status, const char *sentence)
{
    struct http_body *b = http_body_of(sentence);
    answer_begin(x, status, "text/plain; charset=utf-8", b);
    http_body_unref(b);
}

/* ---- the request ---- */

#ifdef HAVE_HTTP_PARSER
static void cut_add(struct str *to, const char *data, size_t len)
{
    size_t room = to->len < HEADER_MAX ? HEADER_MAX - to->len : 0;
    str_addn(to, data, len < room ? len : room);
}

static void header_take(struct exchange *x)
{
    struct span name = {x->field.data, x->field.len};
    if (span_is_nocase(name, "Host")) {
        if (x->has_host) /* two would be two pages of different names */
            x->refused = 400;
        x->has_host = true;
        cut_add(&x->host, str_text(&x->value), x->value.len);
    }
    if (span_is_nocase(name, "Accept")) {
        if (x->accept.len)
            str_addc(&x->accept, ',');
        cut_add(&x->accept, str_text(&x->value), x->value.len);
    }
    if (span_is_nocase(name, "Authorization")) {
        str_clear(&x->authorization);
        cut_add(&x->authorization, str_text(&x->value), x->value.len);
    }
    str_clear(&x->field);
    str_clear(&x->value);
}

static int on_url(http_parser *p, const char *data, size_t len)
{
    cut_add(&((struct exchange *)p->data)->target, data, len);
    return 0;
}

static int on_field(http_parser *p, const char *data, size_t len)
{
    struct exchange *x = p->data;
    if (x->in_value)
        header_take(x);
    x->in_value = false;
    cut_add(&x->field, data, len);
    return 0;
}

static int on_value(http_parser *p, const char *data, size_t len)
{
    struct exchange *x = p->data;
    x->in_value = true;
    cut_add(&x->value, data, len);
    return 0;
}

/* The request ends here: a body is not read. */
static int on_head(http_parser *p)
{
    struct exchange *x = p->data;
    bool has_body =
        (p->flags & F_CHUNKED) || (p->content_length > 0 && p->content_length != ULLONG_MAX);
    header_take(x);
    x->whole = true;
    x->head_only = p->method == HTTP_HEAD;
    if (p->method != HTTP_GET && p->method != HTTP_HEAD)
        x->refused = 405;
    else if (has_body)
        x->refused = 413;
    else if (!x->has_host && p->http_major == 1 && p->http_minor >= 1)
        x->refused = 400;
    http_parser_pause(p, 1);
    return 0;
}

static const http_parser_settings parser_calls = {
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_headers_complete = on_head,
};

static const char *bearer_of(const struct exchange *x)
{
    const char *text = str_text(&x->authorization);
    if (strncasecmp(text, "Bearer ", 7) != 0)
        return NULL;
    return text + 7 + strspn(text + 7, " ");
}

/* "/metrics" of "/metrics?x=1" and of "http://host/metrics"; false: the target is none. */
static bool path_take(struct exchange *x, struct str *out)
{
    struct http_parser_url url;
    http_parser_url_init(&url);
    if (x->target.len >= HEADER_MAX ||
        http_parser_parse_url(str_text(&x->target), x->target.len, 0, &url) != 0 ||
        !(url.field_set & (1 << UF_PATH)))
        return false;
    str_addn(out, x->target.data + url.field_data[UF_PATH].off, url.field_data[UF_PATH].len);
    return true;
}

static void request_take(struct exchange *x)
{
    struct http_server *s = x->server;
    struct str path = STR_INIT;
    timer_stop(x->patience);
    x->place.stage = WAITS;
    if (x->refused == 405) {
        answer_text(x, 405, "only GET and HEAD are answered here\n");
    } else if (x->refused == 413) {
        answer_text(x, 413, "requests with a body are not read here\n");
    } else if (x->refused || !path_take(x, &path)) {
        answer_text(x, 400, "this is no request that can be answered\n");
    } else {
        struct http_asked asked = {.path = str_text(&path),
                                   .accept = str_text(&x->accept),
                                   .bearer = bearer_of(x),
                                   .host = x->has_host ? str_text(&x->host) : NULL,
                                   .trusted = x->place.trusted};
        s->fn(s->ctx, x->id, &asked);
    }
    str_done(&path);
}

static void exchange_bytes(void *ctx, struct conn *c, const char *data, size_t len)
{
    struct exchange *x = ctx;
    if (!x->server || x->place.stage != ASKS)
        return;
    size_t room = HTTP_HEAD_MAX_BYTES - x->came, take = len < room ? len : room;
    x->came += take;
    (void)http_parser_execute(&x->parser, &parser_calls, data, take);
    enum http_errno fault = HTTP_PARSER_ERRNO(&x->parser);
    if (x->whole) {
        request_take(x);
    } else if (fault != HPE_OK) {
        answer_text(x, 400, "this is no request that can be answered\n");
    } else if (take < len || x->came >= HTTP_HEAD_MAX_BYTES) {
        answer_text(x, 431, "the head of this request is longer than 8 KiB\n");
    }
    (void)c;
}

static void parser_begin(struct exchange *x)
{
    http_parser_init(&x->parser, HTTP_REQUEST);
    x->parser.data = x;
}

static void parser_end(struct exchange *x)
{
    str_done(&x->target);
    str_done(&x->field);
    str_done(&x->value);
    str_done(&x->accept);
    str_done(&x->authorization);
    str_done(&x->host);
}
#else
static void exchange_bytes(void *ctx, struct conn *c, const char *data, size_t len)
{
    struct exchange *x = ctx;
    (void)c, (void)data, (void)len;
    if (x->server && x->place.stage == ASKS)
        answer_text(x, 503, "this Remuda was built without a parser of HTTP\n");
}

static void parser_begin(struct exchange *x)
{
    (void)x;
}

static void parser_end(struct exchange *x)
{
    (void)x;
}
#endif

bool http_there(void)
{
#ifdef HAVE_HTTP_PARSER
    return true;
#else
    return false;
#endif
}

/* ---- life ---- */

static void exchange_drained(void *ctx, struct conn *c)
{
    struct exchange *x = ctx;
    (void)c;
    if (x->server && x->place.stage == TAKES)
        body_pump(x);
}

/* Who has asked may be done with sending. */
static bool exchange_ended(void *ctx, struct conn *c)
{
    struct exchange *x = ctx;
    (void)c;
    return x->server && x->place.stage != ASKS;
}

static void exchange_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct exchange *x = ctx;
    (void)c, (void)why;
    if (x->server)
        map_u64_del(x->server->by_id, x->id);
    timer_free(x->patience);
    http_body_unref(x->place.body);
    parser_end(x);
    free(x);
}

static void exchange_worked(void *ctx, struct conn *c, int64_t ns)
{
    struct exchange *x = ctx;
    (void)c;
    if (x->server && !x->place.trusted)
        x->server->spent_ns += ns;
}

static const struct conn_ops exchange_ops = {
    .bytes = exchange_bytes,
    .ended = exchange_ended,
    .closed = exchange_closed,
    .drained = exchange_drained,
    .worked = exchange_worked,
};

static void patience_over(void *ctx)
{
    struct exchange *x = ctx;
    conn_abort(x->conn);
}

void http_serve(struct http_server *s, int fd, bool trusted, uint64_t source)
{
    struct exchange *x = xcalloc(1, sizeof *x);
    struct http_place *goes;
    *x = (struct exchange){.place = {.trusted = trusted, .source = source}, .server = s};
    x->id = ++s->last_id;
    if (!http_places_find(s->by_id, &x->place, &goes)) {
        close(fd);
        free(x);
        return;
    }
    if (goes)
        exchange_drop((struct exchange *)goes);
    parser_begin(x);
    x->conn = conn_new(s->loop, fd, &exchange_ops, x, NULL);
    if (!x->conn) {
        parser_end(x);
        free(x);
        return;
    }
    x->patience = timer_new(s->loop, patience_over, x);
    timer_set(x->patience, s->times.ask_us);
    map_u64_put(s->by_id, x->id, x);
}

int64_t http_spent_ns(const struct http_server *s)
{
    return s->spent_ns;
}

struct http_server *http_server_new(struct loop *l, struct http_times times, http_fn fn, void *ctx)
{
    struct http_server *s = xcalloc(1, sizeof *s);
    s->loop = l;
    s->times = times;
    if (!s->times.ask_us)
        s->times.ask_us = ASK_US;
    if (!s->times.take_us)
        s->times.take_us = TAKE_US;
    s->fn = fn;
    s->ctx = ctx;
    s->by_id = map_u64_new();
    return s;
}

void http_server_free(struct http_server *s)
{
    struct map_walk w = {0};
    if (!s)
        return;
    while (map_u64_next(s->by_id, &w))
        exchange_drop(w.value);
    map_u64_free(s->by_id);
    free(s);
}

size_t http_connections(const struct http_server *s)
{
    return map_u64_count(s->by_id);
}

size_t http_waiting(const struct http_server *s)
{
    struct map_walk w = {0};
    size_t n = 0;
    while (map_u64_next(s->by_id, &w))
        n += ((const struct http_place *)w.value)->stage == WAITS;
    return n;
}
