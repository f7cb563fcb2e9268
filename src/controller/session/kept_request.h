/* Requests that are kept while something outside of the loop is asked about them: a copy of the
 * process (questions.h), a program of the site (submit_filter.h). They wait in a line of which
 * users have the head in turn. */
#ifndef REMUDA_CONTROLLER_KEPT_REQUEST_H
#define REMUDA_CONTROLLER_KEPT_REQUEST_H

#include "controller/controller.h"

#include <stdbool.h>

struct kept_request {
    struct controller *c;
    uint64_t session;          /* that it came from, and that is held until session_answered */
    struct arena *arena;       /* of what follows */
    struct message m;          /* its body is a copy, and may be changed */
    struct peer peer;          /* copied, with its texts */
    uint64_t round;            /* of its line: the user's requests have one each */
    struct kept_request *next; /* in the order they came */
};

/* Copies message and peer; freed by kept_request_free. */
struct kept_request *kept_request_new(struct controller *c, uint64_t session,
                                      const struct message *m, const struct peer *peer);
void kept_request_free(struct kept_request *k); /* NULL is fine */
/* The event that it is now; valid as long as k. */
struct event kept_request_event(const struct kept_request *k);
/* Answers it with the refusal; its session goes on. */
void kept_request_refuse(const struct kept_request *k, enum refusal refusal, const char *why);

/* All zero: empty. */
struct request_line {
    struct kept_request *first; /* NULL = nobody waits */
    uint64_t round;             /* in which was taken last */
};

/* Has the user as much waiting as may be? 64 requests, 64 MiB. */
bool request_line_is_full(const struct request_line *l, const struct peer *peer);
/* Behind the others; the line owns it. */
void request_line_add(struct request_line *l, struct kept_request *k);
/* May one of that user's be taken now? */
typedef bool (*request_line_may)(void *ctx, const struct peer *peer);
/* The next one, the users in turn: however many wait of how many users, one of a user of whom none
 * waited is taken after one of each. Those whose session is gone are dropped. NULL: none waits of
 * whom may(ctx, peer) is true (NULL: of anybody). */
struct kept_request *request_line_take(struct request_line *l, request_line_may may, void *ctx);
/* Frees all that stand in it; nobody is answered. */
void request_line_drop(struct request_line *l);

#endif
