/* A mail server of a few lines, and a queue that sends to it. */
#ifndef REMUDA_TESTS_IO_MAIL_HELP_H
#define REMUDA_TESTS_IO_MAIL_HELP_H

#include "io_help.h"

#include "io/mail.h"
#include "io/mail_message.h"
#include "io/process/release.h"
#include "io/process/spawn.h"
#include "smtp/letter.h"
#include "smtp/replies.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>

/* ---- the sink
 * ----------------------------------------------------------------------------- */

struct sink {
    int listening;
    int port;
    const char *refuse; /* a command prefix that is refused, and */
    const char *with;   /* with this reply */
    int refusals;       /* so many times */
    int sessions;       /* to serve before it ends */
    struct str log;     /* the commands, one a line */
    struct str data;    /* the messages as they travelled */
    pthread_t thread;
};

static inline void reply(FILE *f, const char *text)
{
    fputs(text, f);
    fflush(f);
}

static inline bool is_refused(struct sink *s, const char *line)
{
    if (!s->refuse || s->refusals == 0 || strncmp(line, s->refuse, strlen(s->refuse)) != 0)
        return false;
    s->refusals--;
    return true;
}

static inline void data_take(struct sink *s, FILE *f)
{
    char line[2000];
    reply(f, "354 go on\r\n");
    while (fgets(line, sizeof line, f) && strcmp(line, ".\r\n") != 0)
        str_add(&s->data, line);
    reply(f, "250 taken\r\n");
}

static inline void session_serve(struct sink *s, FILE *f)
{
    char line[2000];
    reply(f, "220-sink\r\n220 ready\r\n");
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        str_addf(&s->log, "%s\n", line);
        if (is_refused(s, line))
            reply(f, s->with);
        else if (strcmp(line, "DATA") == 0)
            data_take(s, f);
        else if (strcmp(line, "QUIT") == 0)
            break;
        else
            reply(f, strncmp(line, "EHLO", 4) == 0
                         ? "250-sink greets\r\n250-8BITMIME\r\n250 SIZE 1000000\r\n"
                         : "250 fine\r\n");
    }
}

static inline void *sink_run(void *ctx)
{
    struct sink *s = ctx;
    for (int i = 0; i < s->sessions; i++) {
        int fd = accept(s->listening, NULL, NULL);
        FILE *f = fdopen(fd, "r+");
        session_serve(s, f);
        fclose(f);
    }
    return NULL;
}

static inline void sink_start(struct sink *s, int sessions)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    s->sessions = sessions;
    s->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listening, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->listening, 16), 0);
    assert_int_equal(getsockname(s->listening, (struct sockaddr *)&a, &len), 0);
    s->port = ntohs(a.sin_port);
    pthread_create(&s->thread, NULL, sink_run, s);
}

/* ---- SMTP
 * --------------------------------------------------------------------------------- */

static const char *smtp_program(struct world *w)
{
    const char *path = release_program("remuda-smtp", "../src/smtp", w->arena);
    if (access(path, X_OK) == 0)
        return path;
    print_message("skipped: this build has no remuda-smtp (no libcurl)\n");
    skip();
    return NULL;
}

/* ---- the mailer
 * --------------------------------------------------------------------------- */

struct mailing {
    struct world *world;
    struct log *log;
    struct mailer *mailer;
    struct timer *look;
    const char *log_path;
};

static inline void look_again(void *ctx)
{
    struct mailing *m = ctx;
    if (mailer_waiting(m->mailer) == 0)
        loop_stop(m->world->loop);
    else
        timer_set(m->look, 10000);
}

static inline void mailing_make(struct mailing *m, void **state, struct mail_settings settings)
{
    *m = (struct mailing){.world = *state};
    m->log_path = arena_printf(m->world->arena, "%s/log", m->world->dir);
    m->log = log_open(m->log_path, LOG_IS_INFO, NULL);
    m->mailer = mailer_new(m->world->loop, m->log);
    m->look = timer_new(m->world->loop, look_again, m);
    mailer_configure(m->mailer, &settings);
}

static inline void mailing_run(struct mailing *m)
{
    timer_set(m->look, 0);
    loop_run(m->world->loop);
}

static inline void mailing_end(struct mailing *m)
{
    mailer_free(m->mailer);
    timer_free(m->look);
    log_close(m->log);
}

static const char *program_write(struct world *w, const char *script)
{
    const char *path = arena_printf(w->arena, "%s/sendmail", w->dir);
    assert_true(file_write_atomic(path, script, strlen(script), 0700, NULL));
    return path;
}

#endif
