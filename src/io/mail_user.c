/* What there is of each user: letters, what they hold, and the lines that they make in the log. A
 * user chooses how many mails there are, to whom, and with it how long a server takes for them: so
 * users take turns, nobody has all ways out, and what is said of mails that fail has an end. */
#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/mail_inside.h"

#include <stdlib.h>

#define GOING_OF_USER 2   /* of MAIL_AT_ONCE */
#define NAMED_BYTES   200 /* of recipients, and of a subject, in the log */

struct mail_user *mail_user_get(struct mailer *m, uint32_t uid)
{
    struct mail_user *u = map_u64_get(m->of_user, uid);
    if (u)
        return u;
    u = xcalloc(1, sizeof *u);
    u->uid = uid;
    map_u64_put(m->of_user, uid, u);
    return u;
}

void mail_user_look(struct mailer *m, struct mail_user *u)
{
    ASSERT(u->letters || (!u->bytes && !u->going));
    if (u->letters || u->lines.missing || u->lines.paid_us > clock_monotonic_us())
        return;
    map_u64_del(m->of_user, u->uid);
    free(u);
}

void mail_users_free(struct mailer *m)
{
    struct map_walk at = {0};
    while (map_u64_next(m->of_user, &at))
        free(at.value);
    map_u64_free(m->of_user);
}

const char *mail_user_full(const struct mailer *m, const struct mail_user *u, size_t bytes)
{
    if (m->waiting.n >= MAIL_QUEUE_MAX)
        return "too many mails wait";
    if (u->letters >= MAIL_USER_MAX)
        return "too many of this user's mails wait";
    return u->bytes + bytes > MAIL_USER_BYTES ? "this user's mails that wait are too long" : NULL;
}

struct mail_letter *mail_next(const struct mailer *m, int64_t now_us)
{
    struct mail_letter *next = NULL;
    if (m->going.n >= MAIL_AT_ONCE)
        return NULL;
    for (struct mail_letter *l = m->waiting.first; l; l = l->next)
        if (l->due_us <= now_us && l->user->going < (next ? next->user->going : GOING_OF_USER))
            next = l;
    return next;
}

int64_t mail_next_due(const struct mailer *m)
{
    int64_t due = INT64_MAX;
    if (m->going.n >= MAIL_AT_ONCE)
        return due;
    for (const struct mail_letter *l = m->waiting.first; l; l = l->next)
        if (l->due_us < due && l->user->going < GOING_OF_USER)
            due = l->due_us;
    return due;
}

void mail_log(struct mail_letter *l, enum log_severity severity, const char *format, ...)
{
    struct mailer *m = l->mailer;
    struct line_share *lines = &l->user->lines;
    struct str text = STR_INIT;
    va_list args;
    if (!line_share_take(lines, clock_monotonic_us()))
        return;
    if (lines->missing)
        log_warning(m->log, "mails of user %u: %llu lines are missing here", (unsigned)l->uid,
                    (unsigned long long)lines->missing);
    lines->missing = 0;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    log_write(m->log, severity, "mail to %.*s (%.*s)%.*s", NAMED_BYTES,
              text_empty(l->to_text) ? "nobody" : l->to_text, NAMED_BYTES, l->subject,
              (int)LINE_BYTES, str_text(&text));
    str_done(&text);
}
