/* Mail: through a program and, through remuda-smtp, to a real SMTP sink on loopback (a thread that
 * speaks the server's side). */
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

static const char *smtp_program(struct world *w)
{
    const char *path = release_program("remuda-smtp", "../src/smtp", w->arena);
    if (access(path, X_OK) == 0)
        return path;
    print_message("skipped: this build has no remuda-smtp (no libcurl)\n");
    skip();
    return NULL;
}

struct delivered {
    struct world *world;
    int count;
    int outcome;
    char why[300];
};

static void delivery_done(void *ctx, const struct spawn_result *r)
{
    struct delivered *d = ctx;
    d->count++;
    assert_true(WIFEXITED(r->status));
    d->outcome = WEXITSTATUS(r->status);
    snprintf(d->why, sizeof d->why, "%s", r->output);
    loop_stop(d->world->loop);
}

static void deliver(struct delivered *d, int port)
{
    const char *argv[] = {smtp_program(d->world), NULL};
    const char *letter =
        arena_printf(d->world->arena,
                     "server 127.0.0.1:%d\nname here\nfrom remuda@here\nto ann@example.org\nto "
                     "bob\n\nSubject: hello\n\n.hidden\nlast line\n..\n",
                     port);
    struct spawn_options o = {
        .argv = argv, .input = letter, .input_len = strlen(letter), .output_max = 1000};
    assert_non_null(spawn_start(d->world->loop, &o, delivery_done, d, NULL));
    loop_run(d->world->loop);
    assert_int_equal(d->count, 1);
}

static void a_letter_travels_whole(void **state)
{
    struct delivered d = {.world = *state};
    struct sink s = {0};
    smtp_program(*state);
    sink_start(&s, 1);
    deliver(&d, s.port);
    pthread_join(s.thread, NULL);
    assert_int_equal(d.outcome, 0);
    assert_string_equal(str_text(&s.log), "EHLO here\nMAIL FROM:<remuda@here>\nRCPT "
                                          "TO:<ann@example.org>\nRCPT TO:<bob>\nDATA\nQUIT\n");
    assert_string_equal(str_text(&s.data),
                        "Subject: hello\r\n\r\n..hidden\r\nlast line\r\n...\r\n");
    close(s.listening);
    str_done(&s.log);
    str_done(&s.data);
}

static void refused_and_tried(void **state, const char *command, const char *with, int outcome)
{
    struct delivered d = {.world = *state};
    struct sink s = {.refuse = command, .with = with, .refusals = 9};
    smtp_program(*state);
    sink_start(&s, 1);
    deliver(&d, s.port);
    assert_int_equal(d.outcome, outcome);
    assert_non_null(strstr(d.why, "because"));
    sink_end(&s);
}

static void refusals_are_for_now_or_for_ever(void **state)
{
    refused_and_tried(state, "MAIL", "451 because full\r\n", EX_TEMPFAIL);
    refused_and_tried(state, "MAIL", "550-first\r\n550 because of you\r\n", EX_UNAVAILABLE);
    refused_and_tried(state, "RCPT", "550 because unknown\r\n", EX_UNAVAILABLE);
    refused_and_tried(state, "RCPT", "450 because busy\r\n", EX_TEMPFAIL);
    refused_and_tried(state, "RCPT TO:<bob>", "550 because unknown\r\n", 0);
    refused_and_tried(state, "DATA", "554 because\r\n", EX_UNAVAILABLE);
}

static void an_old_server_gets_helo(void **state)
{
    struct delivered d = {.world = *state};
    struct sink s = {.refuse = "EHLO", .with = "502 what\r\n", .refusals = 1};
    smtp_program(*state);
    sink_start(&s, 1);
    deliver(&d, s.port);
    assert_int_equal(d.outcome, 0);
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
    assert_int_equal(d.outcome, EX_TEMPFAIL);
    assert_non_null(strstr(d.why, "refused"));
}

static void servers_become_urls(void **state)
{
    static const struct {
        const char *server, *url;
    } cases[] = {
        {"mail.example.org", "smtp://mail.example.org:25/us"},
        {"mail:2525", "smtp://mail:2525/us"},
        {"[::1]:26", "smtp://[::1]:26/us"},
        {"[::1]", "smtp://[::1]:25/us"},
        {"::1", "smtp://[::1]:25/us"},
        {"10.0.0.1:587", "smtp://10.0.0.1:587/us"},
        {"smtp://mail", "smtp://mail:25/us"},
        {"smtps://mail", "smtps://mail:465/us"},
        {"smtps://mail:2465", "smtps://mail:2465/us"},
        {"mail:0", NULL},
        {"mail:x", NULL},
        {"mail:25/elsewhere", NULL},
        {"eve@mail", NULL},
        {"file:///etc/passwd", NULL},
        {"", NULL},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct letter l = {.server = cases[i].server, .name = "us"};
        const char *url = letter_url(&l, w->arena);
        if (cases[i].url)
            assert_string_equal(url, cases[i].url);
        else
            assert_null(url);
    }
}

static void letters_are_read(void **state)
{
    static const char *const none[] = {"",
                                       "\n",
                                       "server a\nname b\nfrom c\n\nx",
                                       "server a\nname b\nfrom c\nto d\n",
                                       "server a\nname b\nfrom c\nto d\ntls maybe\n\nx",
                                       "port 25\n\nx",
                                       "server\n\nx"};
    struct world *w = *state;
    struct letter l;
    struct err err = {0};
    assert_true(letter_read("server a:1\nname b\nfrom c@d\nto e\ntls require\nto f g\nlogin "
                            "/x\n\nSubject: y\n\nz\n",
                            w->arena, &l, &err));
    assert_string_equal(l.server, "a:1");
    assert_string_equal(l.login, "/x");
    assert_int_equal(l.tls, LETTER_TLS_REQUIRE);
    assert_int_equal(l.to.n, 2);
    assert_string_equal(l.to.v[1], "f g");
    assert_string_equal(l.message, "Subject: y\n\nz\n");
    letter_done(&l);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_false(letter_read(none[i], w->arena, &l, &err));
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    struct str out = STR_INIT;
    char line[3000] = {0};
    memset(line, '.', sizeof line - 1);
    letter_lines_add(&out, line);
    size_t longest = 0;
    for (const char *p = str_text(&out); *p; p += strcspn(p, "\n") + 1)
        longest = strcspn(p, "\n") > longest ? strcspn(p, "\n") : longest;
    assert_in_range(longest, 900, 999);
    assert_string_equal(out.data + out.len - 2, "\r\n");
    str_done(&out);
}

/* What is sent to whom is hidden and kept from servers that are not the one that was named. */
static void a_login_is_not_given_away(void **state)
{
    struct world *w = *state;
    const char *login = arena_printf(w->arena, "%s/login", w->dir);
    static const struct {
        const char *text;
        mode_t mode;
        const char *tls, *why;
    } cases[] = {
        {"ann:secret\n", 0644, "no", "may be read by others"},
        {"ann\n", 0600, "no", "no line user:password"},
        {"ann:secret\n", 0600, "try", ""}, /* the sink has no TLS */
        {"ann:secret\n", 0600, "require", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sink s = {0};
        struct delivered d = {.world = w};
        bool spoken = !*cases[i].why;
        if (spoken)
            sink_start(&s, 1);
        assert_true(
            file_write_atomic(login, cases[i].text, strlen(cases[i].text), cases[i].mode, NULL));
        chmod(login, cases[i].mode);
        const char *argv[] = {smtp_program(w), NULL};
        const char *letter = arena_printf(
            w->arena, "server 127.0.0.1:%d\nname here\nfrom a@b\nto c\ntls %s\nlogin %s\n\nx\n",
            spoken ? s.port : 1, cases[i].tls, login);
        struct spawn_options o = {
            .argv = argv, .input = letter, .input_len = strlen(letter), .output_max = 1000};
        assert_non_null(spawn_start(w->loop, &o, delivery_done, &d, NULL));
        loop_run(w->loop);
        assert_int_not_equal(d.outcome, 0);
        assert_non_null(strstr(d.why, cases[i].why));
        if (spoken) {
            pthread_join(s.thread, NULL);
            assert_null(strstr(str_text(&s.log), "AUTH"));
            assert_null(strstr(str_text(&s.log), "MAIL"));
            close(s.listening);
            str_done(&s.log);
            str_done(&s.data);
        }
    }
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
    letter_lines_add(&sent, mail);
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

/* ---- what its job did ---- */

/* What a mail was after a reporter wrote that; `plain`: through a mail(1). */
static const char *reported(void **state, const char *reporter, bool plain)
{
    struct mailing m;
    struct world *w = *state;
    const char *keeps = arena_printf(w->arena, "#!/bin/sh\ncat > %s/mail\n", w->dir);
    const char *program = arena_printf(w->arena, "%s/%s", w->dir, plain ? "mailx" : "sendmail");
    const char *asked = arena_printf(w->arena, "%s/remuda", w->dir);
    assert_true(file_write_atomic(program, keeps, strlen(keeps), 0700, NULL));
    assert_true(file_write_atomic(asked, reporter, strlen(reporter), 0700, NULL));
    mailing_make(
        &m, state,
        (struct mail_settings){.program = program, .reporter = asked, .state_dir = "/the/cluster"});
    mailer_send_about(m.mailer, getuid(), "ann", "Job 42 Ended", "all is well\n",
                      &(struct mail_about){.job = "42_7", .gid = getgid()});
    mailing_run(&m);
    const char *mail =
        file_read_text(arena_printf(w->arena, "%s/mail", w->dir), 100000, w->arena, NULL);
    mailing_end(&m);
    return mail;
}

static void what_the_job_did_is_asked_for_and_stands_below(void **state)
{
    const char *mail = reported(state, "#!/bin/sh\necho \"it did $*\"\n", false);
    assert_non_null(strstr(mail, "Content-Type: text/plain; charset=utf-8\n"));
    assert_non_null(
        strstr(mail, "\n\nall is well\n\nit did report --mail=png --state /the/cluster 42_7\n"));
    mail = reported(state, "#!/bin/sh\necho \"it did $2\"\n", true);
    assert_string_equal(mail, "all is well\n\nit did --mail\n");
}

static void a_picture_is_a_part_of_its_own(void **state)
{
    const char *mail = reported(state, "#!/bin/sh\nprintf 'it did\\n\\fQUJD\\nREVG\\n'\n", false);
    const char *mark = strstr(mail, "boundary=\"") + strlen("boundary=\"");
    struct world *w = *state;
    mark = arena_strndup(w->arena, mark, strcspn(mark, "\""));
    assert_non_null(strstr(mail, "Content-Type: multipart/mixed; "));
    assert_non_null(
        strstr(mail, arena_printf(w->arena,
                                  "\n\n--%s\nContent-Type: text/plain; charset=utf-8\n"
                                  "Content-Transfer-Encoding: 8bit\n\n"
                                  "all is well\n\nit did\n--%s\nContent-Type: image/png; ",
                                  mark, mark)));
    assert_non_null(strstr(mail, arena_printf(w->arena, "\n\nQUJD\nREVG\n--%s--\n", mark)));
    /* Parts cannot be begun by what a job wrote. */
    mail = reported(state,
                    "#!/bin/sh\nfor n in 0 1 2; do echo \"--=_remuda_1_$n\"; done\nprintf "
                    "'\\fQUJD\\n'\n",
                    false);
    mark = strstr(mail, "boundary=\"") + strlen("boundary=\"");
    mark = arena_printf(w->arena, "--%.*s", (int)strcspn(mark, "\""), mark);
    size_t n = 0;
    for (const char *at = mail; (at = strstr(at, mark)); at += strlen(mark))
        n++;
    assert_int_equal(n, 3);
}

/* However a mail is made, its text cannot end a part of it. */
static void a_boundary_does_not_stand_in_the_text(void **state)
{
    (void)state;
    struct str out = STR_INIT;
    mail_message_write(&(struct mail_message){.from = "a",
                                              .to = "b",
                                              .subject = "c",
                                              .id = "d",
                                              .made_us = 5,
                                              .text = "--=_remuda_5_0\n=_remuda_5_1",
                                              .png = "QUJD"},
                       &out);
    assert_non_null(strstr(str_text(&out), "boundary=\"=_remuda_5_2\"\n"));
    assert_non_null(strstr(str_text(&out), "\n--=_remuda_5_2--\n"));
    str_done(&out);
}

static void without_an_answer_the_mail_goes_as_it_is(void **state)
{
    static const char *const answers[] = {"#!/bin/sh\necho half of it\nexit 1\n",
                                          "#!/bin/sh\necho half of it\nkill -9 $$\n", "no program"};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        const char *mail = reported(state, answers[i], false);
        assert_non_null(strstr(mail, "\n\nall is well\n"));
        assert_null(strstr(mail, "half"));
    }
    /* A picture of which only the beginning came. */
    const char *mail =
        reported(state, "#!/bin/sh\nprintf 'it did\\n\\f'; yes QUJD | head -c 2000000\n", false);
    assert_non_null(strstr(mail, "all is well\n\nit did\n"));
    assert_null(strstr(mail, "image/png"));
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
    smtp_program(*state);
    sink_start(&s, 20);
    mailing_make(&m, state,
                 (struct mail_settings){.server = arena_printf(((struct world *)*state)->arena,
                                                               "127.0.0.1:%d", s.port),
                                        .smtp = smtp_program(*state),
                                        .from = "c@x"});
    for (int i = 0; i < 20; i++)
        mailer_send(m.mailer, 1000, "ann", arena_printf(m.world->arena, "Job %d", i), "body");
    mailing_run(&m);
    pthread_join(s.thread, NULL);
    for (int i = 0; i < 20; i++)
        assert_non_null(
            strstr(str_text(&s.data), arena_printf(m.world->arena, "Subject: Job %d\r\n", i)));
    assert_null(strstr(mailing_log(&m), "dropped"));
    mailing_end(&m);
    close(s.listening);
    str_done(&s.log);
    str_done(&s.data);
}

static void what_fails_for_now_is_tried_again(void **state)
{
    struct mailing m;
    struct sink s = {.refuse = "MAIL", .with = "451 because\r\n", .refusals = 1};
    smtp_program(*state);
    sink_start(&s, 2);
    mailing_make(&m, state,
                 (struct mail_settings){.server = arena_printf(((struct world *)*state)->arena,
                                                               "127.0.0.1:%d", s.port),
                                        .smtp = smtp_program(*state),
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
        TEST(servers_become_urls),
        TEST(letters_are_read),
        TEST(a_login_is_not_given_away),
        TEST(long_lines_are_cut),
        TEST(a_mail_program_is_called_as_slurm_calls_it),
        TEST(a_program_gets_the_message),
        TEST(long_names_make_no_headers),
        TEST(a_recipient_is_no_program_file_or_option),
        TEST(what_the_job_did_is_asked_for_and_stands_below),
        TEST(a_picture_is_a_part_of_its_own),
        TEST(a_boundary_does_not_stand_in_the_text),
        TEST(without_an_answer_the_mail_goes_as_it_is),
        TEST(one_user_does_not_fill_the_queue),
        TEST(a_subject_beyond_ascii_is_encoded),
        TEST(failures_are_logged_and_dropped),
        TEST(many_go_to_the_server),
        TEST(what_fails_for_now_is_tried_again),
    };
    /* remuda-smtp may not trace itself, as the search for leaks does. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
