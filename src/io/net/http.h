/* HTTP/1.1 for programs that watch: answers to GET and HEAD, one request a connection.
 *
 * Whoever can connect may send anything: what is kept of a request is bounded, a half request and a
 * slow reader end after a time, and with too many connections those go first whose source has the
 * most, and of these the one that waits longest for what its other side does not send or take. An
 * answer is handed to the socket as it takes it. */
#ifndef REMUDA_IO_HTTP_H
#define REMUDA_IO_HTTP_H

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX_BYTES  8192 /* request line and headers */
#define HTTP_CONNECTIONS_MAX 64
#define HTTP_SOURCE_MAX      16 /* of these, of one source */

struct http_server; /* opaque */

/* A request, valid during the call. */
struct http_asked {
    const char *path;   /* of the target, without a query; not decoded */
    const char *accept; /* the header; "" if there is none */
    const char *bearer; /* after Authorization: Bearer; NULL = none */
    const char *host;   /* the header; NULL = none */
    bool trusted;       /* as http_serve was told */
};
/* Answer it with http_answer, now or later, once. */
typedef void (*http_fn)(void *ctx, uint64_t exchange, const struct http_asked *asked);

/* Of an answer; several exchanges may be answered with one. Immutable once made. */
struct http_body; /* opaque */
/* Takes over the texts, which are sent one after another; they are empty afterwards. One
 * reference. */
struct http_body *http_body_new(struct str *piece, size_t n);
struct http_body *http_body_of(const char *text);  /* copied */
void http_body_unref(struct http_body *b);         /* NULL is fine */
size_t http_body_bytes(const struct http_body *b); /* so far */

struct http_times {
    int64_t ask_us;  /* until a request must be whole; 0 = 10 s */
    int64_t take_us; /* until its answer must be taken; 0 = 60 s */
};

/* Was Remuda built with a parser of HTTP? */
bool http_there(void);

/* It listens nowhere yet. Times that are 0 are the usual ones. */
struct http_server *http_server_new(struct loop *l, struct http_times times, http_fn fn, void *ctx);
/* Ends all connections; no call follows. NULL is fine. */
void http_server_free(struct http_server *s);
size_t http_connections(const struct http_server *s); /* open ones */
/* Takes over an accepted connection. `source`: from whom it comes, as a number, for those that are
 * not trusted (socket_owner.h); these never take a trusted one's place. */
void http_serve(struct http_server *s, int fd, bool trusted, uint64_t source);
/* Processor time that went into connections that are not trusted, so far. */
int64_t http_spent_ns(const struct http_server *s);
/* Keeps a reference of its own to the body. Nothing if the other side is gone. `type`: its
 * Content-Type, a literal. */
void http_answer(struct http_server *s, uint64_t exchange, int status, const char *type,
                 struct http_body *body);
/* How many wait for their answer: never are more connections taken in than HTTP_CONNECTIONS_MAX, so
 * whoever lets fewer wait keeps places for who comes. */
size_t http_waiting(const struct http_server *s);
/* Is the other side still there? */
bool http_waits(const struct http_server *s, uint64_t exchange);

#endif
