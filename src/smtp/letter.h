/* What remuda-smtp is given on its standard input, and what of it travels. */
#ifndef REMUDA_SMTP_LETTER_H
#define REMUDA_SMTP_LETTER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

#define LETTER_MAX_BYTES (32u << 20)

/* How much the way to the server is hidden from others. */
enum letter_tls {
    LETTER_TLS_NO,
    LETTER_TLS_TRY,     /* where the server offers it, whoever it is */
    LETTER_TLS_REQUIRE, /* and it has to be the server that was named */
};

/* Texts are the arena's that letter_read was given. */
struct letter {
    const char *server; /* [smtp[s]://]host[:port], [v6]:port */
    const char *name;   /* ours, for EHLO; a host name */
    const char *from;   /* address of the envelope */
    const char *login;  /* file with "user:password" in its first line; NULL = none */
    enum letter_tls tls;
    VEC(const char *) to; /* addresses of the envelope */
    const char *message;  /* headers, empty line, body; lines end with \n */
};

/* Lines "KEY VALUE" (server, name, from, login, tls; `to` as often as there are recipients), an
 * empty line, and the message. False: a line that is none of them, or one that is missing; nothing
 * is to be freed then. */
bool letter_read(const char *text, struct arena *a, struct letter *ret, struct err *ret_err);
void letter_done(struct letter *l); /* recipients */

/* "smtp://mail.example.org:25/our.name", for libcurl; the scheme and the port (25; smtps 465) where
 * the server's name has none. NULL: not a server's name. In the arena. */
const char *letter_url(const struct letter *l, struct arena *a);

/* The message with lines that end with CRLF and have at most 998 bytes before it (RFC 5321,
 * 4.5.3.1.6); dots are left as they are. Appended. */
struct str;
void letter_lines_add(struct str *out, const char *message);

#endif
