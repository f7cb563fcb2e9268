/* Mail: through a program and, through remuda-smtp, to a real SMTP sink on loopback (a thread that
 * speaks the server's side). */
#include "io_mail_help.h"

static void sink_end(struct sink *s)
{
    pthread_join(s->thread, NULL);
    close(s->listening);
    str_done(&s->log);
    str_done(&s->data);
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
    };
    /* remuda-smtp may not trace itself, as the search for leaks does. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
