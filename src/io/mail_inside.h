/* Letters on their way, between mail.c and mail_report.c. */
#ifndef REMUDA_IO_MAIL_INSIDE_H
#define REMUDA_IO_MAIL_INSIDE_H

#include "base/arena.h"
#include "base/duration.h"
#include "io/mail.h"
#include "io/process/site_env.h"
#include "io/process/spawn.h"

#define RECIPIENTS_MAX     100
#define PROGRAM_TIMEOUT_US (60 * USEC_PER_SEC)

struct mail_letter {
    struct mailer *mailer;
    uint32_t uid;
    char *to[RECIPIENTS_MAX];
    size_t nto;
    char *to_text, *subject;
    char *message; /* made when it is sent the first time */
    char *body;
    char *about; /* the reporter is asked of it before; NULL = it was, or need not be */
    char *png;   /* base64, from there */
    struct arena *a;
    const char *const *env;
    uint32_t gid;
    int64_t made_us;
    size_t tries;
    int64_t due_us; /* monotonic */
    struct spawn *spawn;
    struct mail_letter *next;
};

enum mail_outcome { SENT, LATER, NEVER };

struct letters {
    struct mail_letter *first, **last;
    size_t n;
};

struct mailer {
    struct loop *loop;
    struct log *log;
    struct timer *timer;
    char *program, *server, *smtp, *tls, *login, *from, *domain, *host, *reporter, *state_dir;
    uint64_t serial;
    struct arena *a;
    struct site_user own;
    struct letters waiting, going;
    struct map_u64 *of_user; /* uid → letters that there are, as a number */
};

/* Asks the reporter what the job of l->about did, for the letter, which is sent when that has come.
 * False: it cannot be asked. */
bool mail_report_start(struct mail_letter *l);
/* Sends it on its way out. */
void mail_letter_send(struct mail_letter *l);

#endif
