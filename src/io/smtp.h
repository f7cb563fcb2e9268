/* For mail.c: one delivery to an SMTP server (RFC 5321), on the loop. */
#ifndef REMUDA_IO_SMTP_H
#define REMUDA_IO_SMTP_H

#include "io/loop.h"

#include <stddef.h>

struct smtp; /* opaque */

enum smtp_outcome {
    SMTP_SENT,
    SMTP_LATER, /* the server is away or says 4xx: try again */
    SMTP_NEVER, /* it says 5xx */
};

struct smtp_letter {
    const char *from;      /* address of the envelope */
    const char *const *to; /* addresses of the envelope */
    size_t nto;
    const char *message; /* headers, empty line, body; lines end with \n */
};

/* Delivers to host[:port] ([v6]:port). done(ctx, outcome, why) comes once; `why` is the server's or
 * the system's words, valid during the call. The letter is copied. Sent if at least one recipient
 * was accepted. */
struct smtp *smtp_start(struct loop *l, const char *server, const char *our_name,
                        const struct smtp_letter *letter,
                        void (*done)(void *ctx, enum smtp_outcome outcome, const char *why),
                        void *ctx);
void smtp_free(struct smtp *s); /* gives up; done is not called */

/* The message as it travels after DATA: CRLF, dots stuffed, lines of at most 998 bytes, closed by a
 * lone dot; appended. */
struct str;
void smtp_data_add(struct str *out, const char *message);
/* The first whole reply in `in`, if there is one: lines "250-…", closed by "250 …"; it is taken
 * out. *ret_text is the closing line, malloc'ed; the code 0 if it has none. */
bool smtp_reply_take(struct str *in, int *ret_code, char **ret_text);
/* "mail.example.org", "mail:2525", "[::1]:25" → host and port (default "25"), malloc'ed. */
void smtp_server_split(const char *server, char **ret_host, char **ret_port);

#endif
