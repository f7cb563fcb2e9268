/* Mails of jobs: what the job did, pictures, queues, what is tried again. */
#include "io_mail_help.h"

#include "base/line_share.h"

static const char *mailing_log(struct mailing *m)
{
    return file_read_text(m->log_path, 1 << 20, m->world->arena, NULL);
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
    for (uint32_t uid = 2000; mailer_waiting(m.mailer) < MAIL_QUEUE_MAX; uid++)
        for (size_t i = 0; i < MAIL_USER_MAX; i++)
            mailer_send(m.mailer, uid, "eve", "many", "");
    assert_int_equal(mailer_waiting(m.mailer), MAIL_QUEUE_MAX); /* no more of anybody's */
    assert_non_null(strstr(mailing_log(&m), "too many mails wait"));
    mailing_end(&m);
}

/* What a user's mails hold in memory while they wait is bounded, too. */
static void one_user_does_not_fill_the_memory(void **state)
{
    struct mailing m;
    char *body = xmalloc(1 << 20);
    memset(body, 'x', (1 << 20) - 1);
    body[(1 << 20) - 1] = '\0';
    mailing_make(&m, state, (struct mail_settings){.program = "/no/sendmail"});
    for (size_t i = 0; i < 50; i++)
        mailer_send(m.mailer, 1000, "ann", "long", body);
    assert_in_range(mailer_waiting(m.mailer), 2, MAIL_USER_BYTES >> 20);
    size_t waiting = mailer_waiting(m.mailer);
    mailer_send(m.mailer, 1001, "bob", "long", body);
    assert_int_equal(mailer_waiting(m.mailer), waiting + 1);
    assert_non_null(strstr(mailing_log(&m), "this user's mails that wait are too long"));
    mailing_run(&m); /* and is there for the next */
    mailer_send(m.mailer, 1000, "ann", "long", body);
    assert_int_equal(mailer_waiting(m.mailer), 1);
    mailing_end(&m);
    free(body);
}

static size_t lines_of(const char *text, const char *with)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, with)); at++)
        n++;
    return n;
}

/* Recipients are a text of the user's, and so is how many mails there are: the log stands on the
 * disk on which the store is. */
static void mails_that_fail_do_not_fill_the_log(void **state)
{
    struct mailing m;
    char to[60001];
    memset(to, 1, sizeof to - 1);
    to[sizeof to - 1] = '\0';
    mailing_make(&m, state, (struct mail_settings){.program = "/no/sendmail"});
    for (size_t i = 0; i < 300; i++)
        mailer_send(m.mailer, 1000, to, to, "");
    for (size_t i = 0; i < 300; i++)
        mailer_send(m.mailer, 1001, "eve", "many", "");
    mailing_run(&m);
    mailer_send(m.mailer, 1002, "", "of another's", "");
    const char *log = mailing_log(&m);
    assert_in_range(strlen(log), 1000, 200000);
    size_t own = lines_of(log, "there is no recipient") - 1; /* the last is another's */
    assert_in_range(own, LINES_AT_ONCE, LINES_AT_ONCE + 12); /* one in 10 s, for two minutes */
    assert_in_range(lines_of(log, "mail to eve (many) was dropped"), LINES_AT_ONCE,
                    LINES_AT_ONCE + 12);
    assert_non_null(strstr(log, "mail to nobody (of another's) was dropped"));
    mailing_end(&m);
}

/* A server may take minutes for somebody's recipients. */
static void slow_mails_of_one_user_do_not_keep_those_of_others(void **state)
{
    struct mailing m;
    struct world *w = *state;
    mailing_make(&m, state,
                 (struct mail_settings){
                     .program = program_write(
                         w, arena_printf(w->arena,
                                         "#!/bin/sh\ngrep -q '^To: ann' && exec "
                                         "touch %s/ann\nfor i in 1 2 3 4 5 6 7 8 9 10; do [ -e "
                                         "%s/ann ] && exit; sleep 0.1; done\ntouch %s/late\n",
                                         w->dir, w->dir, w->dir))});
    for (size_t i = 0; i < 50; i++)
        mailer_send(m.mailer, 1000, "eve", "slow", "");
    mailer_send(m.mailer, 1001, "ann", "one", "");
    mailing_run(&m);
    assert_int_equal(access(arena_printf(w->arena, "%s/ann", w->dir), F_OK), 0);
    assert_int_equal(access(arena_printf(w->arena, "%s/late", w->dir), F_OK), -1);
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
        TEST(what_the_job_did_is_asked_for_and_stands_below),
        TEST(a_picture_is_a_part_of_its_own),
        TEST(a_boundary_does_not_stand_in_the_text),
        TEST(without_an_answer_the_mail_goes_as_it_is),
        TEST(one_user_does_not_fill_the_queue),
        TEST(one_user_does_not_fill_the_memory),
        TEST(mails_that_fail_do_not_fill_the_log),
        TEST(slow_mails_of_one_user_do_not_keep_those_of_others),
        TEST(a_subject_beyond_ascii_is_encoded),
        TEST(failures_are_logged_and_dropped),
        TEST(many_go_to_the_server),
        TEST(what_fails_for_now_is_tried_again),
    };
    /* remuda-smtp may not trace itself, as the search for leaks does. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
