/* A mail as it travels: its head, its text, and a picture where there is one (RFC 5322, 2045). */
#ifndef REMUDA_IO_MAIL_MESSAGE_H
#define REMUDA_IO_MAIL_MESSAGE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

#define MAIL_ADDRESS_MAX_BYTES 320 /* a name of 64, @, a domain of 255 (RFC 5321) */

struct mail_message {
    const char *from, *to, *subject; /* without control characters */
    const char *id;                  /* what is between < and > of Message-ID */
    int64_t made_us;                 /* its Date */
    const char *text;                /* the body, UTF-8 */
    const char *png;                 /* base64, in lines of at most 76; NULL = there is none */
};

/* A copy with blanks for control characters, so that it cannot end a header line, and without these
 * others. The caller frees, also below. */
char *mail_plain(const char *text, size_t len, const char *without);
/* A recipient as mail programs may get it: "ann" with "@domain" where there is one; "" = it is no
 * address. */
char *mail_address_make(const char *domain, const char *name, size_t len);

/* Head, empty line, body; lines end with \n. Head lines are folded where they are long, so that
 * nothing of a user's text can begin one. Appended. */
void mail_message_write(const struct mail_message *m, struct str *out);

/* Does it take a whole message, as sendmail does? By its name: "msmtp", "/usr/sbin/sendmail",
 * "sendmail.postfix", "fake-sendmail". */
bool mail_is_sendmail(const char *program);

#endif
