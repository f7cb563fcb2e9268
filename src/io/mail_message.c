#include "io/mail_message.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "io/mail.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLD_BYTES 500

char *mail_plain(const char *text, size_t len, const char *without)
{
    struct str s = STR_INIT;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f)
            c = ' ';
        if (!strchr(without, c))
            str_addc(&s, (char)c);
    }
    return str_take(&s);
}

/* Mail programs take a recipient that begins with a mark for something else: "|program" and "/file"
 *   (mailx), ":include:", "-option". They run as the controller does. */
static bool begins_as_address(const char *text)
{
    unsigned char c = (unsigned char)text[0];
    return isalnum(c) || c == '_' || c >= 0x80;
}

char *mail_address_make(const char *domain, const char *name, size_t len)
{
    char *given = mail_plain(name, len, "<> ");
    char *clean = mail_plain(given, begins_as_address(given) ? strlen(given) : 0, "()\"\\;:");
    free(given);
    if (*domain == '\0' || *clean == '\0' || strchr(clean, '@'))
        return clean;
    char *full = xasprintf("%s@%s", clean, domain);
    free(clean);
    return full;
}

static void date_add(struct str *out, int64_t us)
{
    static const char *const day[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const month[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct civil c;
    civil_from_sec(us / USEC_PER_SEC, &c);
    str_addf(out, "%s, %d %s %d %02d:%02d:%02d +0000", day[c.weekday], c.day, month[c.month - 1],
             c.year, c.hour, c.minute, c.second);
}

/* A header line that is too long for SMTP would be cut, and what follows the cut would be a header
 * of its user's: it is folded before. Blanks are never more than one, so that no line is all of
 * them. */
static void folded_add(struct str *out, const char *text)
{
    size_t in_line = 0;
    for (const char *p = text; *p; p++) {
        bool blank = *p == ' ';
        if (blank && (!p[1] || (p > text && p[-1] == ' ')))
            continue;
        if (in_line >= FOLD_BYTES && (blank || in_line >= FOLD_BYTES + MAIL_ADDRESS_MAX_BYTES)) {
            str_add(out, blank ? "\n" : "\n ");
            in_line = 0;
        }
        str_addc(out, *p);
        in_line++;
    }
}

/* RFC 2047 when there is anything but ASCII: encoded words of at most 45 bytes, cut between
 * characters. */
static void subject_add(struct str *out, const char *text)
{
    static const char digit[] = "0123456789ABCDEF";
    bool ascii = true;
    for (const char *p = text; *p; p++)
        ascii = ascii && (unsigned char)*p < 0x80;
    if (ascii) {
        folded_add(out, text);
        return;
    }
    size_t in_word = 0;
    str_add(out, "=?UTF-8?Q?");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (in_word >= 12 && (*p & 0xc0) != 0x80) {
            str_add(out, "?=\n =?UTF-8?Q?");
            in_word = 0;
        }
        str_addc(out, '=');
        str_addc(out, digit[*p >> 4]);
        str_addc(out, digit[*p & 15]);
        in_word++;
    }
    str_add(out, "?=");
}

/* What parts are told apart by: nothing that stands in the text. A picture is letters, digits, +, /
 * and = alone, and never has two of these marks. */
static void boundary_find(const struct mail_message *m, struct str *out)
{
    unsigned n = 0;
    do {
        str_clear(out);
        str_addf(out, "=_remuda_%lld_%u", (long long)m->made_us, n++);
    } while (strstr(m->text, str_text(out)));
}

static void text_add(const struct mail_message *m, struct str *out)
{
    str_add(out, "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n");
    str_add(out, m->text);
    if (out->data[out->len - 1] != '\n')
        str_addc(out, '\n');
}

static void parts_add(const struct mail_message *m, struct str *out)
{
    struct str mark = STR_INIT;
    boundary_find(m, &mark);
    str_addf(out, "Content-Type: multipart/mixed; boundary=\"%s\"\n\n--%s\n", str_text(&mark),
             str_text(&mark));
    text_add(m, out);
    str_addf(out,
             "--%s\nContent-Type: image/png; name=\"job.png\"\nContent-Transfer-Encoding: "
             "base64\nContent-Disposition: inline; filename=\"job.png\"\n\n",
             str_text(&mark));
    str_add(out, m->png);
    if (out->data[out->len - 1] != '\n')
        str_addc(out, '\n');
    str_addf(out, "--%s--\n", str_text(&mark));
    str_done(&mark);
}

void mail_message_write(const struct mail_message *m, struct str *out)
{
    str_addf(out, "From: %s\nTo: ", m->from);
    folded_add(out, m->to);
    str_add(out, "\nSubject: ");
    subject_add(out, m->subject);
    str_add(out, "\nDate: ");
    date_add(out, m->made_us);
    str_addf(out, "\nMessage-ID: <%s>\nMIME-Version: 1.0\nAuto-Submitted: auto-generated\n", m->id);
    if (m->png)
        parts_add(m, out);
    else
        text_add(m, out);
}

bool mail_is_sendmail(const char *program)
{
    static const char *const others[] = {
        "msmtp", "exim", "ssmtp", "esmtp", "qmail-inject", "nullmailer-inject", "dma"};
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    bool found = strstr(name, "sendmail") != NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0] && !found; i++)
        found = text_starts(name, others[i]);
    return found;
}

bool mail_settings_fault(const struct mail_settings *s, struct str *ret)
{
    const char *program = text_empty(s->server) ? s->program : s->smtp;
    if (!program || program[0] != '/' || access(program, X_OK) == 0)
        return false;
    str_addf(ret, "%s: %s%s", program, strerror(errno),
             program == s->smtp ? " (SmtpServer needs it; it is built where libcurl is)" : "");
    return true;
}
