/* What a job did, for the letter about its end: the commands' reporter says it. */
#include "base/alloc.h"
#include "base/str.h"
#include "io/mail_inside.h"
#include "io/mail_message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPORT_MAX_BYTES (1u << 20)

/* Text, and after a form feed a picture in base64. */
static void report_take(struct mail_letter *l, const struct spawn_result *r)
{
    const char *feed = memchr(r->output, '\f', r->output_len);
    size_t len = feed ? (size_t)(feed - r->output) : r->output_len;
    struct str text = STR_INIT;
    str_add(&text, l->body);
    str_addc(&text, '\n');
    str_addn(&text, r->output, strnlen(r->output, len));
    free(l->body);
    l->body = str_take(&text);
    /* Output that was cut ends within the picture. */
    if (feed && feed[1] && r->output_len < REPORT_MAX_BYTES)
        l->png = xstrdup(feed + 1);
}

/* Nobody goes without a mail because there is nothing more to tell. */
static void report_ended(void *ctx, const struct spawn_result *r)
{
    struct mail_letter *l = ctx;
    l->spawn = NULL;
    if (r->status == 0 && !r->timed_out)
        report_take(l, r);
    else
        mail_log(l, LOG_IS_WARNING, " goes without what job %s did: %.200s", l->about,
                 r->failed      ? r->failed
                 : r->timed_out ? "it took too long"
                                : r->output);
    free(l->about);
    l->about = NULL;
    mail_letter_send(l);
}

/* It becomes the job's owner (io/process/become.h): it sees what he sees, and reads what he may
 * read. */
bool mail_report_start(struct mail_letter *l)
{
    struct mailer *m = l->mailer;
    bool root = geteuid() == 0 && l->uid != 0, whole = *m->server || mail_is_sendmail(m->program);
    const char *zone = getenv("TZ"), *cairo = getenv("REMUDA_CAIRO");
    char *env[4] = {xstrdup("PATH=/usr/local/bin:/usr/bin:/bin")};
    size_t n = 1;
    if (zone)
        env[n++] = xasprintf("TZ=%s", zone);
    if (cairo)
        env[n++] = xasprintf("REMUDA_CAIRO=%s", cairo);
    char *owner = xasprintf("--as=%u:%u", l->uid, l->gid);
    const char *const argv[] = {m->reporter,         "report",     whole ? "--mail=png" : "--mail",
                                "--state",           m->state_dir, l->about,
                                root ? owner : NULL, NULL};
    const struct spawn_options o = {
        .argv = argv,
        .env = root ? (const char *const *)env : NULL,
        .dir = "/",
        .output_max = REPORT_MAX_BYTES,
        .timeout_us = PROGRAM_TIMEOUT_US,
    };
    l->spawn = spawn_patiently(m->loop, &o, report_ended, l, NULL);
    free(owner);
    while (n > 0)
        free(env[--n]);
    return l->spawn != NULL;
}
