/* Mail: through a program and to a real SMTP sink on loopback (a thread that speaks the server's
 * side). */
#include "io_help.h"

#include "io/mail.h"
#include "io/smtp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/stat.h>

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

static void reply(FILE *f, const char *text)
{
    fputs(text, f);
    fflush(f);
}

static bool is_refused(struct sink *s, const char *line)
{
    if (!s->refuse || s->refusals == 0 || strncmp(line, s->refuse, strlen(s->refuse)) != 0)
        return false;
    s->refusals--;
    return true;
}

static void data_take(struct sink *s, FILE *f)
{
    char line[2000];
    reply(f, "354 go on\r\n");
    while (fgets(line, sizeof line, f) && strcmp(line, ".\r\n") != 0)
        str_add(&s->data, line);
    reply(f, "250 taken\r\n");
}

static void session_serve(struct sink *s, FILE *f)
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

static void *sink_run(void *ctx)
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

static void sink_start(struct sink *s, int sessions)
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

static void sink_end(struct sink *s)
{
    pthread_join(s->thread, NULL);
    close(s->listening);
    str_done(&s->log);
    str_done(&s->data);
}

/* ---- SMTP
 * --------------------------------------------------------------------------------- */

struct delivered {
    struct world *world;
    int count;
    enum smtp_outcome outcome;
    char why[300];
};

static void delivery_done(void *ctx, enum smtp_outcome outcome, const char *why)
{
    struct delivered *d = ctx;
    d->count++;
    d->outcome = outcome;
    snprintf(d->why, sizeof d->why, "%s", why);
    loop_stop(d->world->loop);
}

static void deliver(struct delivered *d, int port)
{
    static const char *const to[] = {"ann@example.org", "bob"};
    struct smtp_letter letter = {.from = "remuda@here",
                                 .to = to,
                                 .nto = 2,
                                 .message = "Subject: hello\n\n.hidden\nlast line\n..\n"};
    smtp_start(d->world->loop, arena_printf(d->world->arena, "127.0.0.1:%d", port), "here", &letter,
               delivery_done, d);
    loop_run(d->world->loop);
    assert_int_equal(d->count, 1);
}

static void a_letter_travels_whole(void **state)
{
    struct delivered d = {.world = *state};
    struct sink s = {0};
    sink_start(&s, 1);
    deliver(&d, s.port);
    pthread_join(s.thread, NULL);
    assert_int_equal(d.outcome, SMTP_SENT);
    assert_string_equal(str_text(&s.log), "EHLO here\nMAIL FROM:<remuda@here>\nRCPT "
                                          "TO:<ann@example.org>\nRCPT TO:<bob>\nDATA\nQUIT\n");
    assert_string_equal(str_text(&s.data),
                        "Subject: hello\r\n\r\n..hidden\r\nlast line\r\n...\r\n");
    close(s.listening);
    str_done(&s.log);
    str_done(&s.data);
}

static void refused_and_tried(void **state, const char *command, const char *with,
                              enum smtp_outcome outcome)
{
    struct delivered d = {.world = *state};
    struct sink s = {.refuse = command, .with = with, .refusals = 9};
    sink_start(&s, 1);
    deliver(&d, s.port);
    assert_int_equal(d.outcome, outcome);
    assert_non_null(strstr(d.why, "because"));
    sink_end(&s);
}

static void refusals_are_for_now_or_for_ever(void **state)
{
    refused_and_tried(state, "MAIL", "451 because full\r\n", SMTP_LATER);
    refused_and_tried(state, "MAIL", "550-first\r\n550 because of you\r\n", SMTP_NEVER);
    refused_and_tried(state, "RCPT", "550 because unknown\r\n", SMTP_NEVER);
    refused_and_tried(state, "RCPT", "450 because busy\r\n", SMTP_LATER);
    refused_and_tried(state, "RCPT TO:<bob>", "550 because unknown\r\n", SMTP_SENT);
    refused_and_tried(state, "DATA", "554 because\r\n", SMTP_NEVER);
}

static void an_old_server_gets_helo(void **state)
{
    struct delivered d = {.world = *state};
    struct sink s = {.refuse = "EHLO", .with = "502 what\r\n", .refusals = 1};
    sink_start(&s, 1);
    deliver(&d, s.port);
    assert_int_equal(d.outcome, SMTP_SENT);
    pthread_join(s.thread, NULL);
    assert_non_null(strstr(str_text(&s.log), "HELO here\n"));
    close(s.listening);
    str_done(&s.log);
    str_done(&s.data);
}

static void nobody_listening_is_for_now(void **state)
{
    struct delivered d = {.world = *state};
    deliver(&d, 1);
    assert_int_equal(d.outcome, SMTP_LATER);
    assert_non_null(strstr(d.why, "refused"));
}

static void servers_are_split(void **state)
{
    static const struct {
        const char *server, *host, *port;
    } cases[] = {
        {"mail.example.org", "mail.example.org", "25"},
        {"mail:2525", "mail", "2525"},
        {"[::1]:26", "::1", "26"},
        {"[::1]", "::1", "25"},
        {"::1", "::1", "25"},
        {"10.0.0.1:587", "10.0.0.1", "587"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *host, *port;
        smtp_server_split(cases[i].server, &host, &port);
        assert_string_equal(host, cases[i].host);
        assert_string_equal(port, cases[i].port);
        free(host);
        free(port);
    }
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    struct str out = STR_INIT;
    char line[3000] = {0};
    memset(line, '.', sizeof line - 1);
    smtp_data_add(&out, line);
    size_t longest = 0;
    for (const char *p = str_text(&out); *p; p += strcspn(p, "\n") + 1)
        longest = strcspn(p, "\n") > longest ? strcspn(p, "\n") : longest;
    assert_in_range(longest, 900, 999);
    assert_string_equal(out.data + out.len - 5, "\r\n.\r\n");
    str_done(&out);
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

static void look_again(void *ctx)
{
    struct mailing *m = ctx;
    if (mailer_waiting(m->mailer) == 0)
        loop_stop(m->world->loop);
    else
        timer_set(m->look, 10000);
}

static void mailing_make(struct mailing *m, void **state, struct mail_settings settings)
{
    *m = (struct mailing){.world = *state};
    m->log_path = arena_printf(m->world->arena, "%s/log", m->world->dir);
    m->log = log_open(m->log_path, LOG_IS_INFO, NULL);
    m->mailer = mailer_new(m->world->loop, m->log);
    m->look = timer_new(m->world->loop, look_again, m);
    mailer_configure(m->mailer, &settings);
}

static void mailing_run(struct mailing *m)
{
    timer_set(m->look, 0);
    loop_run(m->world->loop);
}

static const char *mailing_log(struct mailing *m)
{
    return file_read_text(m->log_path, 1 << 20, m->world->arena, NULL);
}

static void mailing_end(struct mailing *m)
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

/* What slurm.conf calls MailProg is a mail(1), and is called as one. */
static void a_mail_program_is_called_as_slurm_calls_it(void **state)
{
    struct mailing m;
    struct world *w = *state;
    const char *script = arena_printf(
        w->arena, "#!/bin/sh\nprintf '%%s\\n' \"$@\" > %s/args; cat > %s/mail\n", w->dir, w->dir);
    const char *path = arena_printf(w->arena, "%s/mailx", w->dir);
    assert_true(file_write_atomic(path, script, strlen(script), 0700, NULL));
    mailing_make(&m, state, (struct mail_settings){.program = path, .domain = "site.org"});
    mailer_send(m.mailer, 1000, "ann,bob@elsewhere", "Job 42\nEnded", "all is well\n");
    mailing_run(&m);
    assert_string_equal(
        file_read_text(arena_printf(w->arena, "%s/args", w->dir), 1000, w->arena, NULL),
        "-s\nJob 42 Ended\nann@site.org\nbob@elsewhere\n");
    assert_string_equal(
        file_read_text(arena_printf(w->arena, "%s/mail", w->dir), 1000, w->arena, NULL),
        "all is well\n");
    mailing_end(&m);
}

static void a_program_gets_the_message(void **state)
{
    struct mailing m;
    struct world *w = *state;
    const char *script =
        arena_printf(w->arena, "#!/bin/sh\necho \"$@\" > %s/args; cat > %s/mail\n", w->dir, w->dir);
    mailing_make(&m, state,
                 (struct mail_settings){.program = program_write(w, script),
                                        .from = "cluster@x",
                                        .domain = "site.org"});
    mailer_send(m.mailer, 1000, "ann,bob@elsewhere\nBcc: eve", "Job 42\nEnded", "all is well");
    mailing_run(&m);
    assert_string_equal(
        file_read_text(arena_printf(w->arena, "%s/args", w->dir), 1000, w->arena, NULL), "-t\n");
    const char *mail =
        file_read_text(arena_printf(w->arena, "%s/mail", w->dir), 10000, w->arena, NULL);
    assert_non_null(strstr(
        mail,
        "From: cluster@x\nTo: ann@site.org, bob@elsewhereBcceve\nSubject: Job 42 Ended\nDate: "));
    assert_non_null(strstr(mail, "\n\nall is well\n"));
    assert_null(strstr(mail, "\nBcc"));
    mailing_end(&m);
}

/* Is what a server gets a head of our own lines alone? */
static void head_is_ours(const char *mail)
{
    static const char *const ours[] = {" ",
                                       "From: ",
                                       "To: ",
                                       "Subject: ",
                                       "Date: ",
                                       "Message-ID: ",
                                       "MIME-Version: ",
                                       "Content-T",
                                       "Auto-Submitted: "};
    struct str sent = STR_INIT;
    smtp_data_add(&sent, mail);
    const char *end = strstr(str_text(&sent), "\r\n\r\n");
    assert_non_null(end);
    for (const char *line = str_text(&sent); line < end; line = strchr(line, '\n') + 1) {
        size_t known = 0;
        for (size_t i = 0; i < ARRAY_LEN(ours); i++)
            known += text_starts(line, ours[i]);
        if (known != 1 || strspn(line, " ") == strcspn(line, "\r"))
            fail_msg("a header of somebody else's: %.40s", line);
    }
    assert_non_null(strstr(end, "\r\n\r\nall is well\r\n"));
    str_done(&sent);
}

/* A line of a header that is too long is cut by whoever carries it; what follows is no header. */
static void long_names_make_no_headers(void **state)
{
    static const char *const pieces[] = {"Reply-To:eve", "Reply-To: eve ", "  ", "\u00e9"};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct mailing m;
        struct world *w = *state;
        struct str name = STR_INIT, to = STR_INIT;
        mailing_make(&m, state,
                     (struct mail_settings){
                         .program = program_write(
                             w, arena_printf(w->arena, "#!/bin/sh\ncat > %s/mail\n", w->dir))});
        str_add(&name, "Job 42 Name=");
        while (name.len < 4000)
            str_add(&name, pieces[i]);
        for (int k = 0; k < 200; k++)
            str_addf(&to, "ann%d%.*s,", k, k % 20, "aaaaaaaaaaaaaaaaaaaa");
        str_addf(&to, "%s", str_text(&name)); /* no address is so long */
        mailer_send(m.mailer, 1000, str_text(&to), str_text(&name), "all is well");
        mailing_run(&m);
        const char *mail =
            file_read_text(arena_printf(w->arena, "%s/mail", w->dir), 100000, w->arena, NULL);
        assert_non_null(mail);
        head_is_ours(mail);
        str_done(&name);
        str_done(&to);
        mailing_end(&m);
    }
}

/* Names of a user's choice go to a program that runs as root. */
static void a_recipient_is_no_program_file_or_option(void **state)
{
    struct mailing m;
    struct world *w = *state;
    mailing_make(&m, state,
                 (struct mail_settings){
                     .program = program_write(
                         w, arena_printf(w->arena, "#!/bin/sh\ncat > %s/mail\n", w->dir))});
    mailer_send(m.mailer, 1000,
                "|/bin/sh,\"|/bin/sh\"@x, /etc/passwd,-oQ/tmp,:include:/etc/shadow,+mbox,&x,ann",
                "a", "");
    mailing_run(&m);
    const char *mail =
        file_read_text(arena_printf(w->arena, "%s/mail", w->dir), 10000, w->arena, NULL);
    assert_non_null(strstr(mail, "To: ann\n"));
    mailing_end(&m);
}

/* The rest of the queue is the others'. */
static void one_user_does_not_fill_the_queue(void **state)
{
    struct mailing m;
    mailing_make(
        &m, state,
        (struct mail_settings){.program = program_write(*state, "#!/bin/sh\ncat >/dev/null\n")});
    for (size_t i = 0; i < MAIL_USER_MAX + 10; i++)
        mailer_send(m.mailer, 1000, "ann", "many", "");
    assert_int_equal(mailer_waiting(m.mailer), MAIL_USER_MAX);
    mailer_send(m.mailer, 1001, "bob", "one", "");
    assert_int_equal(mailer_waiting(m.mailer), MAIL_USER_MAX + 1);
    assert_non_null(strstr(mailing_log(&m), "too many of this user's mails wait"));
    mailing_end(&m);
}

static void a_subject_beyond_ascii_is_encoded(void **state)
{
    struct mailing m;
    struct world *w = *state;
    mailing_make(&m, state,
                 (struct mail_settings){
                     .program = program_write(
                         w, arena_printf(w->arena, "#!/bin/sh\ncat > %s/mail\n", w->dir))});
    mailer_send(m.mailer, 1000, "ann", "träning", "");
    mailing_run(&m);
    const char *mail =
        file_read_text(arena_printf(w->arena, "%s/mail", w->dir), 10000, w->arena, NULL);
    assert_non_null(strstr(mail, "Subject: =?UTF-8?Q?=74=72=C3=A4=6E=69=6E=67?=\n"));
    mailing_end(&m);
}

static void failures_are_logged_and_dropped(void **state)
{
    struct mailing m;
    mailing_make(&m, state,
                 (struct mail_settings){
                     .program = program_write(*state, "#!/bin/sh\necho no such user\nexit 67\n")});
    mailer_send(m.mailer, 1000, "ann", "first", "");
    mailing_run(&m);
    assert_non_null(strstr(mailing_log(&m), "mail to ann (first) was dropped: "));
    assert_non_null(strstr(mailing_log(&m), "exited with 67: no such user"));
    mailer_configure(m.mailer, &(struct mail_settings){.program = "/no/sendmail"});
    mailer_send(m.mailer, 1000, "ann", "second", "");
    mailer_send(m.mailer, 1000, " , ", "third", "");
    mailing_run(&m);
    assert_non_null(strstr(mailing_log(&m), "(second) was dropped: /no/sendmail: no such file"));
    assert_non_null(strstr(mailing_log(&m), "(third) was dropped: there is no recipient"));
    mailing_end(&m);
}

static void many_go_to_the_server(void **state)
{
    struct mailing m;
    struct sink s = {0};
    sink_start(&s, 20);
    mailing_make(&m, state,
                 (struct mail_settings){.server = arena_printf(((struct world *)*state)->arena,
                                                               "127.0.0.1:%d", s.port),
                                        .from = "c@x"});
    for (int i = 0; i < 20; i++)
        mailer_send(m.mailer, 1000, "ann", arena_printf(m.world->arena, "Job %d", i), "body");
    mailing_run(&m);
    pthread_join(s.thread, NULL);
    for (int i = 0; i < 20; i++)
        assert_non_null(
            strstr(str_text(&s.data), arena_printf(m.world->arena, "Subject: Job %d\r\n", i)));
    mailing_end(&m);
    close(s.listening);
    str_done(&s.log);
    str_done(&s.data);
}

static void what_fails_for_now_is_tried_again(void **state)
{
    struct mailing m;
    struct sink s = {.refuse = "MAIL", .with = "451 because\r\n", .refusals = 1};
    sink_start(&s, 2);
    mailing_make(&m, state,
                 (struct mail_settings){.server = arena_printf(((struct world *)*state)->arena,
                                                               "127.0.0.1:%d", s.port),
                                        .from = "c@x"});
    mailer_send(m.mailer, 1000, "ann", "Job", "body");
    mailing_run(&m);
    pthread_join(s.thread, NULL);
    assert_non_null(strstr(str_text(&s.data), "Subject: Job\r\n"));
    assert_non_null(strstr(mailing_log(&m), "it will be tried again"));
    mailing_end(&m);
    close(s.listening);
    str_done(&s.log);
    str_done(&s.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_letter_travels_whole),
        TEST(refusals_are_for_now_or_for_ever),
        TEST(an_old_server_gets_helo),
        TEST(nobody_listening_is_for_now),
        TEST(servers_are_split),
        TEST(long_lines_are_cut),
        TEST(a_mail_program_is_called_as_slurm_calls_it),
        TEST(a_program_gets_the_message),
        TEST(long_names_make_no_headers),
        TEST(a_recipient_is_no_program_file_or_option),
        TEST(one_user_does_not_fill_the_queue),
        TEST(a_subject_beyond_ascii_is_encoded),
        TEST(failures_are_logged_and_dropped),
        TEST(many_go_to_the_server),
        TEST(what_fails_for_now_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
