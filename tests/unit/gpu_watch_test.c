/* The node daemon's side of the process that watches the GPUs, whatever that process does: this
 * program is started again as that process, and behaves as the environment says. */
#include "unit.h"

#include "agent/agent.h"
#include "base/alloc.h"
#include "io/log.h"
#include "io/loop.h"
#include "node/hardware/gpu_watch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICES "gpu:a100:0:40960::GPU-1|pci=0000:10:00.0;gpu:a100:1:40960::GPU-2"

/* ---- the process ---- */

static void say(const char *text)
{
    if (send(3, text, strlen(text), MSG_NOSIGNAL) < 0)
        exit(0);
}

static const char *behaviour(void)
{
    const char *how = getenv("FAKE_WATCH");
    return how ? how : "";
}

/* How often this was called, in whatever process, by what it writes into a file. */
static long starts(void)
{
    FILE *f = fopen(getenv("FAKE_MARK"), "a");
    fputc('x', f);
    long n = ftell(f);
    fclose(f);
    return n;
}

/* To one "go". */
static void answer(const char *asked)
{
    const char *how = behaviour();
    if (text_is(how, "crash"))
        kill(getpid(), SIGKILL);
    if (text_is(how, "once") && access(getenv("FAKE_MARK"), F_OK) != 0) {
        fclose(fopen(getenv("FAKE_MARK"), "w"));
        kill(getpid(), SIGKILL);
    }
    if (text_is(how, "hang"))
        return;
    if (text_is(how, "garbage"))
        say("seen\nseen x y z\nseen 0\nseen 99 99999999999999999999999 clean \nsee 0 1 "
            "clean\nsign\nsign "
            "0\nat x\n\n "
            "\nused\nused 1.1 5\n"
            "used 7.1.0 -9 999999999999999999999999999\nbroke\nusage\n");
    if (strstr(asked, "apart 1\nusers 1000 1001\ngo\n"))
        say("sign 0 doubt apart\n");
    if (text_is(how, "partial")) { /* one device, in pieces */
        say("se");
        usleep(20000);
        say("en 0 5 cle");
        usleep(20000);
        say("an \ndone\n");
        return;
    }
    say(strstr(asked, "look 0 5 7 1000 9 7.1.batch+7.1.0\n") ? "seen 0 5 shared \n"
                                                             : "seen 0 5 held nobody said who\n");
    say("seen 1 6 held process 12 (x) still holds it\ndone\n");
    if (text_is(how, "more"))
        say("note something\nsign 1 lost it is lost\nsign 0 doubt it did not answer\nused 7.1.0 85 "
            "1048576\nused 7.1.batch 0 5\nused nonsense 1 2\nusage 1\n");
    if (text_is(how, "deaf") && starts() == 1)
        pause();
}

static bool hangs_twice(void)
{
    return text_is(behaviour(), "hangs at 1") && getenv("FAKE_STARTS") &&
           atol(getenv("FAKE_STARTS")) > 2;
}

/* After the hello. */
static void start(void)
{
    const char *how = behaviour();
    say("at -1\n");
    if (text_is(how, "slow"))
        for (int i = 0; i < 12; i++) { /* longer than a look may take, and than it may be silent */
            usleep(50000);
            say(i % 2 ? "at 0\n" : "at 1\n");
        }
    if (text_is(how, "silent"))
        pause();
    if (text_is(how, "hangs at 1") && !hangs_twice()) {
        say("at 0\nat 1\n");
        pause();
    }
    say("library NVML 12.1\nready\n");
}

/* Each device by itself, as soon as it is asked for. */
static void samples_answer(const char *lines)
{
    char text[32];
    for (const char *at = strstr(lines, "sample "); at; at = strstr(at, "sample "))
        for (at += strlen("sample"); *at == ' '; at += 2) {
            snprintf(text, sizeof text, "sampled %c 1:5\n", at[1]);
            say(text);
        }
}

static int fake_process(void)
{
    static char all[65536];
    bool begun = false;
    size_t len = 0;
    ssize_t n;
    while ((n = recv(3, all + len, sizeof all - 1 - len, 0)) > 0) {
        len += (size_t)n;
        all[len] = '\0';
        if (!begun && text_is(behaviour(), "hangs at 1")) {
            char text[24];
            snprintf(text, sizeof text, "%ld", starts());
            setenv("FAKE_STARTS", text, 1);
        }
        if (!strstr(all, "device 0 GPU-1 0000:10:00.0 0 195:3\n") ||
            !strstr(all, hangs_twice() ? "device 1 GPU-2 - 1 -\n" : "device 1 GPU-2 - 0 -\n"))
            return 1;
        if (strstr(all, "begin\n") && !begun) {
            begun = true;
            start();
        }
        if (strstr(all, "go\n")) {
            answer(all);
            len = (size_t)(strstr(all, "begin\n") + 6 - all);
        }
        if (text_is(behaviour(), "samples") && strstr(all, "begin\n")) {
            samples_answer(strstr(all, "begin\n") + 6);
            len = (size_t)(strstr(all, "begin\n") + 6 - all);
        }
    }
    return 0;
}

/* ---- the daemon's side ---- */

static struct loop *the_loop;
static struct log *the_log;
static struct gpu_watch *watch;
static struct str said;
static int looks, looks_wanted, uses;

static void looked(void *ctx, const struct device_seen *seen, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        str_addf(&said, "%d/%llu %s %s; ", seen[i].index, (unsigned long long)seen[i].use,
                 device_sign_word(seen[i].sign), seen[i].why);
    if (++looks == looks_wanted)
        loop_stop(the_loop);
}

static void signed_by_itself(void *ctx, const struct device_seen *seen)
{
    (void)ctx;
    str_addf(&said, "%s %d %s; ", device_sign_word(seen->sign), seen->index, seen->why);
}

static void used(void *ctx, const struct gpu_used *u, size_t n, const struct gpu_now *gpus,
                 size_t ngpus, bool util_known)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        str_addf(&said, "used %llu.%u.%lld %d %lld; ", (unsigned long long)u[i].job_id,
                 u[i].attempt, (long long)u[i].step_id, u[i].util, (long long)u[i].mem_bytes);
    str_addf(&said, "usage %d; ", util_known);
    uses++;
    if (looks_wanted == 0)
        loop_stop(the_loop);
}

static void sampled(void *ctx, int32_t index, struct span values)
{
    (void)ctx;
    str_addf(&said, "sampled %d %.*s; ", index, (int)values.len, values.data);
}

static void begin(const char *how)
{
    const struct gpu_watch_ops ops = {.looked = looked,
                                      .sampled = sampled,
                                      .sign = signed_by_itself,
                                      .used = used,
                                      .answer_us = 300000,
                                      .start_us = text_is(how, "slow") ? 20000000 : 300000,
                                      .restart_us = 50000};
    struct err err = {0};
    setenv("FAKE_WATCH", how, 1);
    the_loop = loop_new(&err);
    the_log = log_open("/dev/null", LOG_IS_INFO, &err);
    watch = gpu_watch_new(the_loop, the_log, DEVICES, "0=195:3", &ops, NULL);
    said = STR_INIT;
    looks = uses = 0;
}

static void look_with(const struct gpu_apart *apart)
{
    struct device_look both[] = {{.index = 0,
                                  .use = 5,
                                  .job_id = 7,
                                  .uid = 1000,
                                  .from_us = 9,
                                  .step = {{7, 1, STEP_BATCH, 0}, {7, 1, 0, 0}},
                                  .nsteps = 2},
                                 {.index = 1, .use = 6, .apart = true}};
    gpu_watch_look(watch, both, 2, apart);
    looks_wanted = looks + 1;
    loop_run(the_loop);
}

static void look(void)
{
    look_with(NULL);
}

static void idle_over(void *ctx)
{
    (void)ctx;
    loop_stop(the_loop);
}

/* The loop goes on without a look. */
static void idle(int64_t us)
{
    struct timer *t = timer_new(the_loop, idle_over, NULL);
    timer_set(t, us);
    loop_run(the_loop);
    timer_free(t);
}

static void end(void)
{
    gpu_watch_free(watch);
    log_close(the_log);
    loop_free(the_loop);
    str_done(&said);
}

#define SAID(text)                                                                                 \
    do {                                                                                           \
        assert_string_equal(str_text(&said), text);                                                \
        str_clear(&said);                                                                          \
    } while (0)

#define SILENT "the library of its maker does not answer"

static void test_a_look_is_answered_and_what_happens_is_told(void **state)
{
    (void)state;
    begin("more");
    look();
    if (!uses) {
        looks_wanted = 0;
        loop_run(the_loop);
    }
    SAID("0/5 shared ; 1/6 held process 12 (x) still holds it; lost 1 it is lost; doubt 0 it did "
         "not answer; "
         "used 7.1.0 85 1048576; "
         "used 7.1.-1 0 5; "
         "usage 1; ");
    end();
}

static void test_whose_steps_are_kept_apart_goes_with_each_look(void **state)
{
    (void)state;
    const uint32_t user[] = {1000, 1001};
    begin("");
    look_with(&(struct gpu_apart){user, 2});
    SAID("doubt 0 apart; 0/5 shared ; 1/6 held process 12 (x) still holds it; ");
    look();
    SAID("0/5 shared ; 1/6 held process 12 (x) still holds it; ");
    end();
}

static void test_a_process_that_hangs_is_ended_and_its_devices_are_held(void **state)
{
    (void)state;
    begin("hang");
    look();
    SAID("0/5 blind " SILENT "; 1/6 blind " SILENT "; ");
    look(); /* at once: there is no process yet */
    SAID("0/5 blind " SILENT "; 1/6 blind " SILENT "; ");
    end();
}

static void test_a_process_that_crashes_proves_nothing(void **state)
{
    (void)state;
    begin("crash");
    look();
    SAID("0/5 blind " SILENT "; 1/6 blind " SILENT "; ");
    end();
}

static void test_after_a_crash_another_process_answers(void **state)
{
    char mark[] = "/tmp/remuda-watch-XXXXXX";
    (void)state;
    close(mkstemp(mark));
    unlink(mark);
    setenv("FAKE_MARK", mark, 1);
    begin("once");
    look();
    SAID("0/5 blind " SILENT "; 1/6 blind " SILENT "; ");
    idle(200000);
    look();
    SAID("0/5 shared ; 1/6 held process 12 (x) still holds it; ");
    unlink(mark);
    end();
}

static void test_nonsense_proves_nothing(void **state)
{
    (void)state;
    begin("garbage");
    look();
    const char *text = str_text(&said);
    assert_non_null(strstr(text, "0/5 shared ; 1/6 held process 12 (x) still holds it; "));
    assert_null(strstr(text, "clean"));
    assert_null(strstr(text, "used 1."));
    end();
}

/* What it says nothing of is held. */
static void test_lines_come_in_pieces_and_devices_may_be_missing(void **state)
{
    (void)state;
    begin("partial");
    look();
    SAID("0/5 clean ; 1/6 blind " SILENT "; ");
    end();
}

#define STARTING                                                                                   \
    "the library of its maker is still starting the GPUs, which takes seconds each without "       \
    "persistence mode"

/* Until it has started, what was asked is answered with that; then it is asked. */
static void test_a_process_that_starts_slowly_is_not_ended(void **state)
{
    (void)state;
    begin("slow");
    look();
    SAID("0/5 blind " STARTING "; 1/6 blind " STARTING "; ");
    for (int i = 0; i < 50 && !strstr(str_text(&said), "shared"); i++) {
        str_clear(&said);
        look();
    }
    SAID("0/5 shared ; 1/6 held process 12 (x) still holds it; ");
    end();
}

static void test_a_process_of_which_nothing_is_heard_while_it_starts_is_ended(void **state)
{
    (void)state;
    begin("silent");
    look();
    idle(400000);
    str_clear(&said);
    look();
    assert_non_null(strstr(str_text(&said), "0/5 blind "));
    end();
}

/* The others come back. */
static void test_a_device_at_which_it_hung_twice_is_broken_and_not_asked_again(void **state)
{
    char mark[] = "/tmp/remuda-watch-XXXXXX";
    (void)state;
    close(mkstemp(mark));
    setenv("FAKE_MARK", mark, 1);
    begin("hangs at 1");
    bool told = false;
    for (int i = 0; i < 200 && !strstr(str_text(&said), "0/5 shared"); i++) {
        idle(30000);
        told |= strstr(str_text(&said), "broken 1 its library hung twice") != NULL;
        str_clear(&said);
        look();
    }
    assert_true(told);
    assert_non_null(strstr(str_text(&said), "0/5 shared ; 1/6 held "));
    unlink(mark);
    end();
}

/* However often it is asked for samples, whatever of that goes out; the next process answers. */
static void test_a_process_that_hears_nothing_more_is_ended(void **state)
{
    static const int samples[] = {0, 1, 300, 20000};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        char mark[] = "/tmp/remuda-watch-XXXXXX";
        close(mkstemp(mark));
        setenv("FAKE_MARK", mark, 1);
        begin("deaf");
        look();
        SAID("0/5 shared ; 1/6 held process 12 (x) still holds it; ");
        for (int k = 0; k < samples[i]; k++)
            gpu_watch_sample(watch, 3);
        look();
        SAID("0/5 blind " SILENT "; 1/6 blind " SILENT "; ");
        idle(200000);
        look();
        SAID("0/5 shared ; 1/6 held process 12 (x) still holds it; ");
        unlink(mark);
        end();
    }
}

static void test_each_sample_is_asked_for_when_the_last_was_answered(void **state)
{
    (void)state;
    begin("samples");
    look();
    str_clear(&said);
    for (int i = 0; i < 3; i++) {
        gpu_watch_sample(watch, 3);
        idle(100000);
    }
    SAID("sampled 0 1:5; sampled 1 1:5; sampled 0 1:5; sampled 1 1:5; sampled 0 1:5; sampled 1 "
         "1:5; ");
    end();
}

/* Each step asks for its own devices, and all of them at once where they began together. */
static void test_samples_that_are_asked_for_at_once_are_all_answered(void **state)
{
    static const uint64_t asked[][3] = {{1, 2, 0}, {2, 1, 0}, {1, 2, 1}, {2, 1, 3}, {1, 3, 2}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        begin("samples");
        look();
        for (int turn = 0; turn < 3; turn++) {
            str_clear(&said);
            for (size_t k = 0; k < 3; k++)
                gpu_watch_sample(watch, asked[i][k]);
            idle(100000);
            assert_non_null(strstr(str_text(&said), "sampled 0 1:5; "));
            assert_non_null(strstr(str_text(&said), "sampled 1 1:5; "));
        }
        end();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_look_is_answered_and_what_happens_is_told),
        cmocka_unit_test(test_whose_steps_are_kept_apart_goes_with_each_look),
        cmocka_unit_test(test_a_process_that_hangs_is_ended_and_its_devices_are_held),
        cmocka_unit_test(test_a_process_that_crashes_proves_nothing),
        cmocka_unit_test(test_after_a_crash_another_process_answers),
        cmocka_unit_test(test_nonsense_proves_nothing),
        cmocka_unit_test(test_a_process_that_starts_slowly_is_not_ended),
        cmocka_unit_test(test_a_process_of_which_nothing_is_heard_while_it_starts_is_ended),
        cmocka_unit_test(test_a_device_at_which_it_hung_twice_is_broken_and_not_asked_again),
        cmocka_unit_test(test_a_process_that_hears_nothing_more_is_ended),
        cmocka_unit_test(test_each_sample_is_asked_for_when_the_last_was_answered),
        cmocka_unit_test(test_samples_that_are_asked_for_at_once_are_all_answered),
        cmocka_unit_test(test_lines_come_in_pieces_and_devices_may_be_missing),
    };
    if (argc == 3 && text_is(argv[2], "--watch-gpus"))
        return fake_process();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
