/* Mail waits in a queue, oldest first; up to MAIL_AT_ONCE are on their way, each by a child process
 * (MailProg, or remuda-smtp for a mail server). What fails for now goes back to wait longer and
 * longer; what fails for good, or for the last time, is logged and dropped. */
#include "io/mail.h"

#include "base/alloc.h"
#include "base/civil.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/spawn.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define MAIL_AT_ONCE       4
#define RECIPIENTS_MAX     100
#define ADDRESS_MAX_BYTES  320 /* a name of 64, @, a domain of 255 (RFC 5321) */
#define FOLD_BYTES         500
#define PROGRAM_TIMEOUT_US (60 * USEC_PER_SEC)
#define SMTP_TIMEOUT_US    (180 * USEC_PER_SEC)

static const int64_t retry_after_us[] = {5 * USEC_PER_SEC, 30 * USEC_PER_SEC, 5 * USEC_PER_MIN,
                                         30 * USEC_PER_MIN};

struct letter {
    struct mailer *mailer;
    uint32_t uid;
    char *to[RECIPIENTS_MAX];
    size_t nto;
    char *to_text, *subject;
    char *message; /* made when it is sent the first time */
    char *body;
    int64_t made_us;
    size_t tries;
    int64_t due_us; /* monotonic */
    struct spawn *spawn;
    struct letter *next;
};

enum outcome { SENT, LATER, NEVER };

struct letters {
    struct letter *first, **last;
    size_t n;
};

struct mailer {
    struct loop *loop;
    struct log *log;
    struct timer *timer;
    char *program, *server, *smtp, *tls, *login, *from, *domain, *host;
    uint64_t serial;
    struct letters waiting, going;
    struct map_u64 *of_user; /* uid → letters that there are, as a number */
};

bool mail_settings_fault(const struct mail_settings *s, struct str *ret)
{
    const char *program = text_empty(s->server) ? s->program : s->smtp;
    if (!program || program[0] != '/' || access(program, X_OK) == 0)
        return false;
    str_addf(ret, "%s: %s%s", program, strerror(errno),
             program == s->smtp ? " (SmtpServer needs it; it is built where libcurl is)" : "");
    return true;
}

/* ---- the letter
 * --------------------------------------------------------------------------- */

/* Copies without what could end a header line or an address. */
static char *plain(const char *text, size_t len, const char *without)
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

static char *address_make(const char *domain, const char *name, size_t len)
{
    char *given = plain(name, len, "<> ");
    char *clean = plain(given, begins_as_address(given) ? strlen(given) : 0, "()\"\\;:");
    free(given);
    if (*domain == '\0' || *clean == '\0' || strchr(clean, '@'))
        return clean;
    char *full = xasprintf("%s@%s", clean, domain);
    free(clean);
    return full;
}

static void recipients_read(struct letter *l, const char *to)
{
    struct str all = STR_INIT;
    while (to && *to && l->nto < RECIPIENTS_MAX) {
        size_t len = strcspn(to, ",");
        char *address = address_make(l->mailer->domain, to, len);
        to += len + (to[len] == ',');
        if (*address == '\0' || strlen(address) > ADDRESS_MAX_BYTES) {
            free(address);
            continue;
        }
        str_addf(&all, "%s%s", l->nto ? ", " : "", address);
        l->to[l->nto++] = address;
    }
    l->to_text = str_take(&all);
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
        if (in_line >= FOLD_BYTES && (blank || in_line >= FOLD_BYTES + ADDRESS_MAX_BYTES)) {
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

static void message_make(struct letter *l)
{
    struct mailer *m = l->mailer;
    struct str s = STR_INIT;
    str_addf(&s, "From: %s\nTo: ", m->from);
    folded_add(&s, l->to_text);
    str_add(&s, "\nSubject: ");
    subject_add(&s, l->subject);
    str_add(&s, "\nDate: ");
    date_add(&s, l->made_us);
    str_addf(&s, "\nMessage-ID: <%lld.%d.%llu@%s>\n", (long long)l->made_us, (int)getpid(),
             (unsigned long long)++m->serial, m->host);
    str_add(&s, "MIME-Version: 1.0\nContent-Type: text/plain; "
                "charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
                "Auto-Submitted: auto-generated\n\n");
    str_add(&s, l->body);
    if (s.data[s.len - 1] != '\n')
        str_addc(&s, '\n');
    l->message = str_take(&s);
}

static size_t count_of_user(const struct mailer *m, uint32_t uid)
{
    return (size_t)(uintptr_t)map_u64_get(m->of_user, uid);
}

/* The number itself stands where others have a pointer. */
static void count_of_user_set(struct mailer *m, uint32_t uid, size_t n)
{
    if (n)
        map_u64_put(m->of_user, uid, (void *)(uintptr_t)n); // NOLINT(performance-no-int-to-ptr)
    else
        map_u64_del(m->of_user, uid);
}

static void letter_free(struct letter *l)
{
    count_of_user_set(l->mailer, l->uid, count_of_user(l->mailer, l->uid) - 1);
    for (size_t i = 0; i < l->nto; i++)
        free(l->to[i]);
    free(l->to_text);
    free(l->subject);
    free(l->message);
    free(l->body);
    free(l);
}

/* ---- the queue
 * ---------------------------------------------------------------------------- */

static void letters_remove(struct letters *list, struct letter *l)
{
    struct letter **at = &list->first;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    if (list->last == &l->next)
        list->last = at;
    list->n--;
}

static void letters_append(struct letters *list, struct letter *l)
{
    l->next = NULL;
    *list->last = l;
    list->last = &l->next;
    list->n++;
}

static void wait_for_next(struct mailer *m)
{
    int64_t due = INT64_MAX;
    timer_stop(m->timer);
    if (m->going.n >= MAIL_AT_ONCE)
        return;
    for (const struct letter *l = m->waiting.first; l; l = l->next)
        due = l->due_us < due ? l->due_us : due;
    if (due != INT64_MAX)
        timer_set(m->timer, due - clock_monotonic_us());
}

static void letter_wait(struct letter *l, int64_t after_us)
{
    l->due_us = clock_monotonic_us() + after_us;
    letters_append(&l->mailer->waiting, l);
}

static void letter_ended(struct letter *l, enum outcome outcome, const char *why)
{
    struct mailer *m = l->mailer;
    letters_remove(&m->going, l);
    l->spawn = NULL;
    if (outcome == LATER && l->tries <= sizeof retry_after_us / sizeof *retry_after_us) {
        log_warning(m->log, "mail to %s (%s): %s; it will be tried again", l->to_text, l->subject,
                    why);
        letter_wait(l, retry_after_us[l->tries - 1]);
    } else {
        if (outcome != SENT)
            log_error(m->log, "mail to %s (%s) was dropped: %s", l->to_text, l->subject, why);
        else if (*why)
            log_warning(m->log, "mail (%s) was not accepted for %s", l->subject, why);
        letter_free(l);
    }
    wait_for_next(m);
}

/* ---- ways out
 * ----------------------------------------------------------------------------- */

static enum outcome program_outcome(const struct spawn_result *r)
{
    if (r->status == 0)
        return SENT;
    bool later = r->timed_out || (WIFEXITED(r->status) && WEXITSTATUS(r->status) == EX_TEMPFAIL);
    return later ? LATER : NEVER;
}

static void program_ended(void *ctx, const struct spawn_result *r)
{
    struct letter *l = ctx;
    struct str why = STR_INIT;
    enum outcome outcome = program_outcome(r);
    if (outcome != SENT) {
        str_addf(&why, "%s ", l->mailer->program);
        spawn_status_text(r->status, &why);
        if (r->output_len > 0)
            str_addf(&why, ": %s", r->output);
    }
    letter_ended(l, outcome, str_text(&why));
    str_done(&why);
}

/* What it says is the server's words, or its own, in one line. */
static void smtp_ended(void *ctx, const struct spawn_result *r)
{
    struct letter *l = ctx;
    struct str why = STR_INIT;
    bool said = r->output_len > 0 && !r->timed_out && WIFEXITED(r->status);
    if (said)
        str_addn(&why, r->output, strcspn(r->output, "\n"));
    else if (r->status != 0 || r->timed_out)
        spawn_status_text(r->status, &why);
    letter_ended(l, program_outcome(r), str_text(&why));
    str_done(&why);
}

/* Does it take a whole message, as sendmail does? By its name: "msmtp", "/usr/sbin/sendmail",
 * "sendmail.postfix", "fake-sendmail". */
static bool is_sendmail(const char *program)
{
    static const char *const others[] = {
        "msmtp", "exim", "ssmtp", "esmtp", "qmail-inject", "nullmailer-inject", "dma"};
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    bool found = strstr(name, "sendmail") != NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0] && !found; i++)
        found = text_starts(name, others[i]);
    return found;
}

static void program_run(struct letter *l, const char *const *argv, const char *input,
                        int64_t timeout_us, void (*ended)(void *ctx, const struct spawn_result *r))
{
    struct err err = {0};
    struct spawn_options o = {
        .argv = argv,
        .input = input,
        .input_len = strlen(input),
        .output_max = 1000,
        .timeout_us = timeout_us,
    };
    l->spawn = spawn_start(l->mailer->loop, &o, ended, l, &err);
    if (!l->spawn)
        letter_ended(l, NEVER, err.text);
}

static void by_program(struct letter *l)
{
    struct mailer *m = l->mailer;
    bool whole = is_sendmail(m->program);
    const char *argv[RECIPIENTS_MAX + 4] = {m->program, "-t", NULL};
    if (!whole) {
        argv[1] = "-s";
        argv[2] = l->subject;
        for (size_t i = 0; i < l->nto; i++)
            argv[3 + i] = l->to[i];
    }
    const char *input = whole ? l->message : l->body;
    program_run(l, argv, input, PROGRAM_TIMEOUT_US, program_ended);
}

static void by_smtp(struct letter *l)
{
    struct mailer *m = l->mailer;
    const char *argv[] = {m->smtp, NULL};
    struct str input = STR_INIT;
    str_addf(&input, "server %s\nname %s\nfrom %s\ntls %s\n", m->server, m->host, m->from, m->tls);
    if (*m->login)
        str_addf(&input, "login %s\n", m->login);
    for (size_t i = 0; i < l->nto; i++)
        str_addf(&input, "to %s\n", l->to[i]);
    str_addf(&input, "\n%s", l->message);
    program_run(l, argv, str_text(&input), SMTP_TIMEOUT_US, smtp_ended);
    str_done(&input);
}

static void letter_go(struct letter *l)
{
    struct mailer *m = l->mailer;
    letters_remove(&m->waiting, l);
    letters_append(&m->going, l);
    l->tries++;
    if (!l->message)
        message_make(l);
    if (*m->server)
        by_smtp(l);
    else
        by_program(l);
}

static void mailer_due(void *ctx)
{
    struct mailer *m = ctx;
    int64_t now = clock_monotonic_us();
    for (struct letter *l = m->waiting.first, *next; l && m->going.n < MAIL_AT_ONCE; l = next) {
        next = l->next;
        if (l->due_us <= now)
            letter_go(l);
    }
    wait_for_next(m);
}

/* ---- the mailer
 * --------------------------------------------------------------------------- */

static void text_set(char **at, const char *text)
{
    free(*at);
    *at = xstrdup(text ? text : "");
}

struct mailer *mailer_new(struct loop *l, struct log *log)
{
    struct mailer *m = xcalloc(1, sizeof *m);
    char host[256] = "localhost";
    m->loop = l;
    m->log = log;
    m->of_user = map_u64_new();
    m->waiting.last = &m->waiting.first;
    m->going.last = &m->going.first;
    m->timer = timer_new(l, mailer_due, m);
    gethostname(host, sizeof host - 1);
    m->host = xstrdup(host);
    struct mail_settings none = {.program = "/usr/sbin/sendmail"};
    mailer_configure(m, &none);
    return m;
}

void mailer_configure(struct mailer *m, const struct mail_settings *s)
{
    text_set(&m->program, s->program);
    text_set(&m->server, s->server);
    text_set(&m->smtp, s->smtp);
    text_set(&m->tls, text_empty(s->tls) ? "try" : s->tls);
    text_set(&m->login, s->login);
    text_set(&m->domain, s->domain);
    free(m->from);
    m->from = s->from && *s->from ? plain(s->from, strlen(s->from), "<> ")
                                  : xasprintf("remuda@%s", m->host);
}

/* NULL: it may wait. */
static const char *why_dropped(const struct mailer *m, const struct letter *l)
{
    if (l->nto == 0)
        return "there is no recipient";
    if (m->waiting.n >= MAIL_QUEUE_MAX)
        return "too many mails wait";
    return count_of_user(m, l->uid) > MAIL_USER_MAX ? "too many of this user's mails wait" : NULL;
}

void mailer_send(struct mailer *m, uint32_t uid, const char *to, const char *subject,
                 const char *body)
{
    struct letter *l = xcalloc(1, sizeof *l);
    l->mailer = m;
    l->uid = uid;
    count_of_user_set(m, uid, count_of_user(m, uid) + 1);
    l->made_us = clock_now_us();
    recipients_read(l, to);
    l->subject = plain(subject, strlen(subject), "");
    l->body = xstrdup(body ? body : "");
    const char *why = why_dropped(m, l);
    if (why) {
        log_error(m->log, "mail to %s (%s) was dropped: %s", to ? to : "nobody", l->subject, why);
        letter_free(l);
        return;
    }
    letter_wait(l, 0);
    wait_for_next(m);
}

size_t mailer_waiting(const struct mailer *m)
{
    return m->waiting.n + m->going.n;
}

static void letters_drop(struct mailer *m, struct letter *l)
{
    for (struct letter *next; l; l = next) {
        next = l->next;
        log_warning(m->log, "mail to %s (%s) was dropped: the daemon ends", l->to_text, l->subject);
        if (l->spawn)
            spawn_free(l->spawn);
        letter_free(l);
    }
}

void mailer_free(struct mailer *m)
{
    if (!m)
        return;
    letters_drop(m, m->waiting.first);
    letters_drop(m, m->going.first);
    map_u64_free(m->of_user);
    timer_free(m->timer);
    free(m->program);
    free(m->server);
    free(m->smtp);
    free(m->tls);
    free(m->login);
    free(m->from);
    free(m->domain);
    free(m->host);
    free(m);
}
