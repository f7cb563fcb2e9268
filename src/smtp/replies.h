/* What a mail server said, as far as it decides whether a letter is tried again. */
#ifndef REMUDA_SMTP_REPLIES_H
#define REMUDA_SMTP_REPLIES_H

#include "base/str.h"

struct replies {
    bool to_recipient;  /* the command that was sent last is RCPT */
    struct str asked;   /* its recipient */
    struct str last;    /* line of the last reply; empty = there was none */
    struct str refused; /* "ADDRESS: LINE; …" of recipients that were not taken */
};

/* A command of ours as it was sent, and a line of the server's as it came; `len` bytes each. */
void replies_sent(struct replies *r, const char *command, size_t len);
/* a line of the server's, maybe one of several; a recipient that it refuses is noted */
void replies_came(struct replies *r, const char *line, size_t len);
/* Code of the last reply, 0 = there was none, or no code in it. */
int replies_code(const struct replies *r);
void replies_done(struct replies *r); /* its texts */

#endif
