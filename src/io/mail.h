/* Mail about jobs: handed to a sendmail program, or to remuda-smtp for a mail server. Never blocks;
 * a mail that cannot be delivered is tried again for a while and then logged and dropped: no job
 * waits for mail. */
#ifndef REMUDA_IO_MAIL_H
#define REMUDA_IO_MAIL_H

#include "io/log.h"
#include "io/loop.h"

#define MAIL_QUEUE_MAX  10000u      /* mails waiting; more are dropped, and logged */
#define MAIL_USER_MAX   1000u       /* of them of one user, so that others' have room */
#define MAIL_USER_BYTES (16u << 20) /* and what these hold in memory */
#define MAIL_AT_ONCE    8u          /* that are handed over at the same time, two of a user */

struct mailer; /* opaque */

struct mail_settings {
    /* Used when server is empty. One that is a sendmail by its name is run as PROGRAM -t with the
     * message on stdin, any other as mail(1) is, and as Slurm runs it: PROGRAM -s SUBJECT ADDRESS…
     * with the text alone. */
    const char *program;
    const char *server; /* [smtp[s]://]host[:port], [v6]:port */
    const char *smtp;   /* path of remuda-smtp, for server */
    const char *tls;    /* SmtpTls; empty = try */
    const char *login;  /* file with "user:password" for server; empty = none */
    const char *from;   /* empty = remuda@HOST */
    const char *domain; /* appended as @domain to recipients without one; may be empty */
    /* Path of remuda, whose `report --mail` says what a job did, and the directory of the cluster;
     * empty = mails say nothing of it. */
    const char *reporter, *state_dir;
};

/* With sendmail, until mailer_configure says otherwise. Both are borrowed. */
struct mailer *mailer_new(struct loop *l, struct log *log);
void mailer_configure(struct mailer *m, const struct mail_settings *s); /* copies */
/* Can it be seen already that mail cannot be sent? Then why, in a few words, appended. */
struct str;
/* Is the program that would hand letters over not there? Then ret gets why; what is not given is no
 * fault. */
bool mail_settings_fault(const struct mail_settings *s, struct str *ret);
/* Takes copies and returns at once. `uid`: whose job it tells of. `to` is a user name or an
 * address, or several with commas. Line breaks in `to` and `subject` become blanks. */
void mailer_send(struct mailer *m, uint32_t uid, const char *to, const char *subject,
                 const char *body);
/* And what its job did: reporter is asked, as the user, before the mail leaves; without an answer
 * the mail leaves as it is. A picture is in it only where the whole message is ours to make. */
struct mail_about {
    const char *job;   /* "42_7"; NULL = nothing is asked */
    uint32_t gid;      /* primary group of uid */
    bool samples_come; /* wait some seconds for the last of its samples */
    /* NAME=VALUE, NULL-terminated: further variables of `program`, which has no others than
     * io/process/site_env.h says. NULL = none. */
    const char *const *env;
};
/* Copies `about`, too. Dropped, with a line in the log, where too many wait; of a user there are 64
 * such lines at once and one in ten seconds. */
void mailer_send_about(struct mailer *m, uint32_t uid, const char *to, const char *subject,
                       const char *body, const struct mail_about *about);
/* Letters that are not handed over yet, those under way among them. */
size_t mailer_waiting(const struct mailer *m);
void mailer_free(struct mailer *m); /* what waits is dropped, and logged. NULL is fine */

#endif
