#include "smtp/replies.h"

#include <ctype.h>
#include <string.h>

#define LINE_MAX_BYTES    500u
#define REFUSED_MAX_BYTES 4000u

static size_t text_length(const char *line, size_t len)
{
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    return len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES;
}

void replies_sent(struct replies *r, const char *command, size_t len)
{
    static const char rcpt[] = "RCPT TO:<";
    const size_t before = sizeof rcpt - 1;
    r->to_recipient = len > before && strncmp(command, rcpt, before) == 0;
    str_clear(&r->asked);
    for (size_t i = before; r->to_recipient && i < len && command[i] != '>'; i++)
        str_addc(&r->asked, command[i]);
}

int replies_code(const struct replies *r)
{
    const char *line = str_text(&r->last);
    int code = 0;
    for (size_t i = 0; i < 3; i++) {
        if (!isdigit((unsigned char)line[i]))
            return 0;
        code = code * 10 + (line[i] - '0');
    }
    return code;
}

void replies_came(struct replies *r, const char *line, size_t len)
{
    str_clear(&r->last);
    str_addn(&r->last, line, text_length(line, len));
    bool closes = r->last.len <= 3 || r->last.data[3] != '-';
    if (!closes || !r->to_recipient || replies_code(r) / 100 == 2 ||
        r->refused.len > REFUSED_MAX_BYTES)
        return;
    str_addf(&r->refused, "%s%s: %s", r->refused.len ? "; " : "", str_text(&r->asked),
             str_text(&r->last));
}

void replies_done(struct replies *r)
{
    str_done(&r->asked);
    str_done(&r->last);
    str_done(&r->refused);
}
