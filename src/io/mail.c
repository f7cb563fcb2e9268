/* Mail waits in a queue, oldest first; up to MAIL_AT_ONCE are on their way, each by a child process
 * (MailProg, or remuda-smtp for a mail server). What fails for now goes back to wait longer and
 * longer; what fails for good, or for the last time, is logged and dropped. */
#include "io/mail.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/mail_inside.h"
#include "io/mail_message.h"
#include "io/process/site_env.h"
#include "io/process/spawn_patient.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#define LETTER_ENV_MAX  64
#define SMTP_TIMEOUT_US (180 * USEC_PER_SEC)
#define SAMPLES_COME_US (2 * USEC_PER_SEC) /* nodes send the last of a step as it ends */

static const int64_t retry_after_us[] = {5 * USEC_PER_SEC, 30 * USEC_PER_SEC, 5 * USEC_PER_MIN,
                                         30 * USEC_PER_MIN};

static void recipients_read(struct mail_letter *l, const char *to)
{
    struct str all = STR_INIT;
    while (to && *to && l->nto < RECIPIENTS_MAX) {
        size_t len = strcspn(to, ",");
        char *address = mail_address_make(l->mailer->domain, to, len);
        to += len + (to[len] == ',');
        if (*address == '\0' || strlen(address) > MAIL_ADDRESS_MAX_BYTES) {
            free(address);
            continue;
        }
        str_addf(&all, "%s%s", l->nto ? ", " : "", address);
        l->to[l->nto++] = address;
    }
    l->to_text = str_take(&all);
}

static void letter_counts(struct mail_letter *l, size_t bytes)
{
    l->bytes += bytes;
    l->user->bytes += bytes;
}

static void message_make(struct mail_letter *l)
{
    struct mailer *m = l->mailer;
    struct str text = STR_INIT, id = STR_INIT;
    str_addf(&id, "%lld.%d.%llu@%s", (long long)l->made_us, (int)getpid(),
             (unsigned long long)++m->serial, m->host);
    mail_message_write(&(struct mail_message){m->from, l->to_text, l->subject, str_text(&id),
                                              l->made_us, l->body, l->png},
                       &text);
    letter_counts(l, text.len);
    l->message = str_take(&text);
    str_done(&id);
}

static void letter_free(struct mail_letter *l)
{
    struct mail_user *u = l->user;
    u->letters--;
    u->bytes -= l->bytes;
    mail_user_look(l->mailer, u);
    for (size_t i = 0; i < l->nto; i++)
        free(l->to[i]);
    free(l->to_text);
    free(l->subject);
    free(l->message);
    free(l->body);
    free(l->about);
    free(l->png);
    arena_free(l->a);
    free(l);
}

/* ---- the queue ---- */

static void letters_remove(struct letters *list, struct mail_letter *l)
{
    struct mail_letter **at = &list->first;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    if (list->last == &l->next)
        list->last = at;
    list->n--;
}

static void letters_append(struct letters *list, struct mail_letter *l)
{
    l->next = NULL;
    *list->last = l;
    list->last = &l->next;
    list->n++;
}

static void wait_for_next(struct mailer *m)
{
    int64_t due = mail_next_due(m);
    timer_stop(m->timer);
    if (due != INT64_MAX)
        timer_set(m->timer, due - clock_monotonic_us());
}

static void letter_wait(struct mail_letter *l, int64_t after_us)
{
    l->due_us = clock_monotonic_us() + after_us;
    letters_append(&l->mailer->waiting, l);
}

static void letter_ended(struct mail_letter *l, enum mail_outcome outcome, const char *why)
{
    struct mailer *m = l->mailer;
    letters_remove(&m->going, l);
    l->user->going--;
    l->spawn = NULL;
    if (outcome == LATER && l->tries <= sizeof retry_after_us / sizeof *retry_after_us) {
        mail_log(l, LOG_IS_WARNING, ": %s; it will be tried again", why);
        letter_wait(l, retry_after_us[l->tries - 1]);
    } else {
        if (outcome != SENT)
            mail_log(l, LOG_IS_ERROR, " was dropped: %s", why);
        else if (*why)
            mail_log(l, LOG_IS_WARNING, " was not accepted for %s", why);
        letter_free(l);
    }
    wait_for_next(m);
}

/* ---- ways out ---- */

static enum mail_outcome program_outcome(const struct spawn_result *r)
{
    if (r->status == 0)
        return SENT;
    bool later = r->failed || r->timed_out ||
                 (WIFEXITED(r->status) && WEXITSTATUS(r->status) == EX_TEMPFAIL);
    return later ? LATER : NEVER;
}

static void program_ended(void *ctx, const struct spawn_result *r)
{
    struct mail_letter *l = ctx;
    struct str why = STR_INIT;
    enum mail_outcome outcome = program_outcome(r);
    if (r->failed) {
        str_add(&why, r->failed);
    } else if (outcome != SENT) {
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
    struct mail_letter *l = ctx;
    struct str why = STR_INIT;
    bool said = r->output_len > 0 && !r->timed_out && WIFEXITED(r->status);
    if (r->failed)
        str_add(&why, r->failed);
    else if (said)
        str_addn(&why, r->output, strcspn(r->output, "\n"));
    else if (r->status != 0 || r->timed_out)
        spawn_status_text(r->status, &why);
    letter_ended(l, program_outcome(r), str_text(&why));
    str_done(&why);
}

static void program_run(struct mail_letter *l, const char *const *argv, const char *const *env,
                        const char *input, int64_t timeout_us,
                        void (*ended)(void *ctx, const struct spawn_result *r))
{
    struct err err = {0};
    struct spawn_options o = {
        .argv = argv,
        .env = env,
        .input = input,
        .input_len = strlen(input),
        .output_max = 1000,
        .timeout_us = timeout_us,
    };
    l->spawn = spawn_patiently(l->mailer->loop, &o, ended, l, &err);
    if (!l->spawn)
        letter_ended(l, NEVER, err.text);
}

static void by_program(struct mail_letter *l)
{
    struct mailer *m = l->mailer;
    bool whole = mail_is_sendmail(m->program);
    const char *argv[RECIPIENTS_MAX + 4] = {m->program, "-t", NULL};
    if (!whole) {
        argv[1] = "-s";
        argv[2] = l->subject;
        for (size_t i = 0; i < l->nto; i++)
            argv[3 + i] = l->to[i];
    }
    program_run(l, argv, l->env, whole ? l->message : l->body, PROGRAM_TIMEOUT_US, program_ended);
}

static void by_smtp(struct mail_letter *l)
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
    program_run(l, argv, NULL, str_text(&input), SMTP_TIMEOUT_US, smtp_ended);
    str_done(&input);
}

void mail_letter_send(struct mail_letter *l)
{
    if (!l->message)
        message_make(l);
    if (*l->mailer->server)
        by_smtp(l);
    else
        by_program(l);
}

static void letter_go(struct mail_letter *l)
{
    struct mailer *m = l->mailer;
    letters_remove(&m->waiting, l);
    letters_append(&m->going, l);
    l->user->going++;
    l->tries++;
    if (!l->about || !*m->reporter || !mail_report_start(l))
        mail_letter_send(l);
}

static void mailer_due(void *ctx)
{
    struct mailer *m = ctx;
    int64_t now = clock_monotonic_us();
    struct mail_letter *l;
    while ((l = mail_next(m, now)))
        letter_go(l);
    wait_for_next(m);
}

/* ---- the mailer ---- */

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
    m->a = arena_new();
    site_user_own(m->a, &m->own);
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
    text_set(&m->reporter, s->reporter);
    text_set(&m->state_dir, s->state_dir);
    free(m->from);
    m->from = s->from && *s->from ? mail_plain(s->from, strlen(s->from), "<> ")
                                  : xasprintf("remuda@%s", m->host);
}

void mailer_send(struct mailer *m, uint32_t uid, const char *to, const char *subject,
                 const char *body)
{
    mailer_send_about(m, uid, to, subject, body, &(struct mail_about){0});
}

static size_t bytes_of(const char *to, const char *subject, const char *body,
                       const char *const *env)
{
    size_t n = (to ? strlen(to) : 0) + strlen(subject) + (body ? strlen(body) : 0);
    for (size_t i = 0; env && env[i]; i++)
        n += strlen(env[i]);
    return n;
}

/* The letter outlives what it is told. */
static void env_make(struct mail_letter *l, const char *const *of_job)
{
    const char *more[LETTER_ENV_MAX];
    size_t n = 0;
    l->a = arena_new();
    for (; of_job && of_job[n] && n < LETTER_ENV_MAX; n++)
        more[n] = arena_strdup(l->a, of_job[n]);
    l->env = site_env(l->a, &l->mailer->own, NULL, more, n);
}

void mailer_send_about(struct mailer *m, uint32_t uid, const char *to, const char *subject,
                       const char *body, const struct mail_about *about)
{
    struct mail_letter *l = xcalloc(1, sizeof *l);
    struct mail_user *u = mail_user_get(m, uid);
    size_t bytes = bytes_of(to, subject, body, about->env);
    const char *why = mail_user_full(m, u, bytes);
    *l = (struct mail_letter){.mailer = m, .uid = uid, .gid = about->gid, .user = u};
    u->letters++;
    recipients_read(l, to);
    l->subject = mail_plain(subject, strlen(subject), "");
    if (!why && l->nto == 0)
        why = "there is no recipient";
    if (why) {
        mail_log(l, LOG_IS_ERROR, " was dropped: %s", why);
        letter_free(l);
        return;
    }
    letter_counts(l, bytes);
    env_make(l, about->env);
    l->about = about->job ? xstrdup(about->job) : NULL;
    l->made_us = clock_now_us();
    l->body = xstrdup(body ? body : "");
    letter_wait(l, l->about && about->samples_come && *m->reporter ? SAMPLES_COME_US : 0);
    wait_for_next(m);
}

size_t mailer_waiting(const struct mailer *m)
{
    return m->waiting.n + m->going.n;
}

static void letters_drop(struct mail_letter *l)
{
    for (struct mail_letter *next; l; l = next) {
        next = l->next;
        mail_log(l, LOG_IS_WARNING, " was dropped: the daemon ends");
        l->user->going = 0; /* of nobody anything goes on */
        if (l->spawn)
            spawn_patient_free(l->spawn);
        letter_free(l);
    }
}

void mailer_free(struct mailer *m)
{
    if (!m)
        return;
    letters_drop(m->waiting.first);
    letters_drop(m->going.first);
    mail_users_free(m);
    timer_free(m->timer);
    free(m->program);
    free(m->server);
    free(m->smtp);
    free(m->tls);
    free(m->login);
    free(m->from);
    free(m->domain);
    free(m->host);
    free(m->reporter);
    free(m->state_dir);
    arena_free(m->a);
    free(m);
}
