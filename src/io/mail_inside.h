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
    uint32_t uid;             /* whose job it tells of */
    char *to[RECIPIENTS_MAX]; /* owned, of nto */
    size_t nto;
    char *to_text, *subject; /* as they were given, for the log */
    char *message;           /* made when it is sent the first time */
    char *body;              /* owned */
    char *about;             /* the reporter is asked of it before; NULL = it was, or need not be */
    char *png;               /* base64, from there */
    struct arena *a;
    const char *const *env;
    uint32_t gid;
    int64_t made_us;     /* wall clock */
    size_t tries;        /* of handing it over */
    int64_t due_us;      /* monotonic */
    struct spawn *spawn; /* the program that has it; NULL = none */
    struct mail_letter *next;
};

enum mail_outcome { SENT, LATER, NEVER };

struct letters {
    struct mail_letter *first, **last; /* the oldest */
    size_t n;
};

struct mailer {
    struct loop *loop;
    struct log *log;
    struct timer *timer; /* when the next may be tried */
    /* settings, owned */
    char *program, *server, *smtp, *tls, *login, *from, *domain, *host, *reporter, *state_dir;
    uint64_t serial;
    struct arena *a;
    struct site_user own;          /* who the controller runs as */
    struct letters waiting, going; /* not handed over, and at a program */
    struct map_u64 *of_user;       /* uid → letters that there are, as a number */
};

/* Asks the reporter what the job of l->about did, for the letter, which is sent when that has come.
 * False: it cannot be asked. */
bool mail_report_start(struct mail_letter *l);
/* Sends it on its way out. */
void mail_letter_send(struct mail_letter *l);

#endif
