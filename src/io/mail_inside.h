/* Letters on their way, between mail.c, mail_report.c and mail_user.c. */
#ifndef REMUDA_IO_MAIL_INSIDE_H
#define REMUDA_IO_MAIL_INSIDE_H

#include "base/arena.h"
#include "base/duration.h"
#include "base/line_share.h"
#include "io/mail.h"
#include "io/process/site_env.h"
#include "io/process/spawn_patient.h"

#define RECIPIENTS_MAX     100
#define PROGRAM_TIMEOUT_US (60 * USEC_PER_SEC)

/* What there is of a user. */
struct mail_user {
    uint32_t uid;
    size_t letters, bytes; /* that wait or are under way; what they hold in memory */
    size_t going;          /* that are under way */
    struct line_share lines;
};

struct mail_letter {
    struct mailer *mailer;
    uint32_t uid; /* whose job it tells of */
    struct mail_user *user;
    size_t bytes;             /* that it counts for */
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
    int64_t made_us;             /* wall clock */
    size_t tries;                /* of handing it over */
    int64_t due_us;              /* monotonic */
    struct spawn_patient *spawn; /* the program that has it; NULL = none */
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
    struct map_u64 *of_user;       /* uid → struct mail_user, owned */
};

/* Of that user, made where it is not there yet. */
struct mail_user *mail_user_get(struct mailer *m, uint32_t uid);
/* Takes it away where nothing is known of it any more. */
void mail_user_look(struct mailer *m, struct mail_user *u);
void mail_users_free(struct mailer *m); /* at its end: all of them, and the map */
/* May so many bytes more wait? Else why not, in words. */
const char *mail_user_full(const struct mailer *m, const struct mail_user *u, size_t bytes);
/* Which letter goes next: of those that are due the oldest of a user of whom the fewest are under
 * way; NULL: none, for now. */
struct mail_letter *mail_next(const struct mailer *m, int64_t now_us);
/* When that may be another, on the monotonic clock; INT64_MAX: not before one has gone. */
int64_t mail_next_due(const struct mailer *m);
/* A line of the log about that letter, as far as there may be one: "mail to TO (SUBJECT)" and what
 * follows. */
void mail_log(struct mail_letter *l, enum log_severity severity, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Asks the reporter what the job of l->about did, for the letter, which is sent when that has come.
 * False: it cannot be asked. */
bool mail_report_start(struct mail_letter *l);
/* Sends it on its way out. */
void mail_letter_send(struct mail_letter *l);

#endif
