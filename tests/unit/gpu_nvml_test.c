/* The process that watches the GPUs, on the fake of NVML: each behaviour of
 * tests/fake/nvml_behaviours.h, and each of NVML's codes as the answer of each call that the
 * process needs. What must hold of all: no device is clean that could not be asked, and what is
 * wrong with one says nothing about another. */
#include "unit.h"

#include "../fake/nvml_behaviours.h"
#include "agent/health.h"
#include "node/hardware/gpu_code.h"
#include "node/hardware/gpu_watch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_MAX 65536

static char facts[] = "/tmp/remuda-nvml-XXXXXX";
static pid_t leftover; /* a process of a job that is over */

/* ---- the process ---- */

struct watcher {
    pid_t pid;
    int fd;
    char said[SAID_MAX]; /* since the last question */
    size_t len;
};

/* PID and OTHER become numbers. */
static void machine_is(const char *lines)
{
    char fresh[64];
    snprintf(fresh, sizeof fresh, "%s.new", facts);
    FILE *f = fopen(fresh, "w");
    for (const char *at = lines; *at; at++) {
        bool of_job = strncmp(at, "PID", 3) == 0, other = strncmp(at, "OTHER", 5) == 0;
        if (of_job || other)
            fprintf(f, "%ld", of_job ? (long)leftover : 1L);
        else
            fputc(*at, f);
        at += of_job ? 2 : other ? 4 : 0;
    }
    fclose(f);
    assert_int_equal(rename(fresh, facts), 0);
}

static void tell(const struct watcher *w, const char *text)
{
    assert_int_equal(send(w->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Until it has said this line, or part of one. */
static void hear(struct watcher *w, const char *until)
{
    while (!strstr(w->said, until)) {
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 60000), 1);
        ssize_t n = recv(w->fd, w->said + w->len, SAID_MAX - 1 - w->len, 0);
        if (n <= 0)
            fail_msg("the process ended; it said: %s", w->said);
        w->len += (size_t)n;
        w->said[w->len] = '\0';
    }
}

static void forget(struct watcher *w)
{
    w->len = 0;
    w->said[0] = '\0';
}

static void begin(struct watcher *w, const char *lines)
{
    bool mig = strstr(lines, "a100mig") != NULL;
    int pair[2];
    forget(w);
    machine_is(lines);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    w->pid = fork();
    if (w->pid == 0) {
        dup2(pair[1], 3);
        _exit(gpu_watch_main());
    }
    close(pair[1]);
    w->fd = pair[0];
    tell(w, mig ? "device 0 MIG-101 0000:10:00.0 0 -\ndevice 1 MIG-102 0000:10:00.0 0 -\nbegin\n"
                : "device 0 GPU-1 0000:10:00.0 0 -\ndevice 1 GPU-2 0000:11:00.0 0 -\nbegin\n");
    hear(w, "ready\n");
}

static void end(struct watcher *w)
{
    kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
    close(w->fd);
}

/* What a look says of both. */
static void look(struct watcher *w, char sign[2][16])
{
    unsigned long long use;
    int index;
    forget(w);
    tell(w, "look 0 1 7 1000 0 -\nlook 1 1 7 1000 0 -\ngo\n");
    hear(w, "done\n");
    for (const char *at = w->said; (at = strstr(at, "seen ")); at++) {
        char word[16];
        if (sscanf(at, "seen %d %llu %15s", &index, &use, word) == 3 && index >= 0 && index < 2)
            memcpy(sign[index], word, sizeof word);
    }
}

/* ---- the behaviours ---- */

static void behaves(const char *name, const char *lines, const char *first, const char *second)
{
    struct watcher w;
    char sign[2][16] = {"", ""};
    begin(&w, lines);
    look(&w, sign);
    if (strcmp(sign[0], first) != 0 || strcmp(sign[1], second) != 0)
        fail_msg("%s: device 0 is %s (not %s), device 1 %s (not %s); %s", name, sign[0], first,
                 sign[1], second, w.said);
    /* Once all is well again, what is not broken for good is found clean, by the same process. */
    machine_is(strstr(lines, "a100mig") ? "machine a100mig\naction 0 0\n"
                                        : "machine a100x4\naction 0 0\n");
    for (int i = 0; i < 500 && (strcmp(sign[0], "clean") != 0 || strcmp(sign[1], "clean") != 0);
         i++) {
        usleep(i ? 20000 : 0); /* the library is tried again from time to time */
        look(&w, sign);
    }
    if (strcmp(sign[0], "clean") != 0 || strcmp(sign[1], "clean") != 0)
        fail_msg("%s: when it is over device 0 is %s, device 1 %s; %s", name, sign[0], sign[1],
                 w.said);
    end(&w);
}

static void test_each_behaviour(void **state)
{
    (void)state;
#define X(name, lines, first, second, source) behaves(#name, lines, first, second);
    NVML_BEHAVIOURS(X)
#undef X
}

/* ---- each code as each answer ---- */

/* Of calls whose answer must be known. */
static const char *expected(const struct gpu_code *c)
{
    return c->sign == SIGN_WRONG ? "doubt"
           : c->sign == SIGN_NONE || c->sign == DEVICE_WELL
               ? "clean"
               : device_sign_word((enum device_sign)c->sign);
}

static void answers(struct watcher *w, const char *call, const struct gpu_code *c)
{
    char lines[128], sign[2][16] = {"", ""};
    snprintf(lines, sizeof lines, "machine a100x4\nanswer:%s 0 %d\n", call, c->code);
    machine_is(lines);
    look(w, sign);
    const char *first = expected(c), *second = c->of_library ? "" : "clean";
    if (strcmp(sign[0], first) != 0 || (*second && strcmp(sign[1], second) != 0))
        fail_msg("%s answers %s: device 0 is %s (not %s), device 1 %s; %s", call, c->name, sign[0],
                 first, sign[1], w->said);
    machine_is("machine a100x4\n");
}

static void test_each_code_as_each_answer(void **state)
{
    static const char *const calls[] = {"memory", "compute", "graphics", "mps"};
    const struct gpu_code *c;
    struct watcher w;
    (void)state;
    begin(&w, "machine a100x4\n");
    for (size_t i = 0; (c = nvml_code_row(i)); i++)
        for (size_t k = 0; k < sizeof calls / sizeof calls[0] && !c->of_library; k++)
            answers(&w, calls[k], c);
    end(&w);
}

/* What is about the library is about all of them; none is clean until it is open again. */
static void test_codes_about_the_library_make_all_unknown(void **state)
{
    const struct gpu_code *c;
    (void)state;
    for (size_t i = 0; (c = nvml_code_row(i)); i++) {
        struct watcher w;
        char lines[96], sign[2][16] = {"", ""};
        snprintf(lines, sizeof lines, "machine a100x4\nanswer:init 0 %d\n", c->code);
        if (c->sign == DEVICE_WELL)
            continue;
        begin(&w, lines);
        look(&w, sign);
        assert_string_equal(sign[0], "blind");
        assert_string_equal(sign[1], "blind");
        assert_non_null(strstr(w.said, c->name)); /* the administrator hears which code it was */
        end(&w);
    }
}

/* The handle: by its name, in the list, at its address. */
static void test_each_code_as_the_answer_for_a_handle(void **state)
{
    const struct gpu_code *c;
    (void)state;
    for (size_t i = 0; (c = nvml_code_row(i)); i++) {
        struct watcher w;
        char lines[128], sign[2][16] = {"", ""};
        snprintf(lines, sizeof lines, "machine a100x4\nanswer:uuid_of 0 %d\nanswer:index 0 %d\n",
                 c->code, c->code);
        begin(&w, lines);
        look(&w, sign);
        bool clean = strcmp(sign[0], "clean") == 0;
        if (clean != (c->code == 0) || (!c->of_library && strcmp(sign[1], "clean") != 0))
            fail_msg("a handle answers %s: device 0 is %s, device 1 %s", c->name, sign[0], sign[1]);
        end(&w);
    }
}

/* ---- more ---- */

static void test_it_says_where_it_is_while_it_starts(void **state)
{
    struct watcher w;
    (void)state;
    begin(&w, "machine a100x4\nslow 0 300\nslow 1 300\n");
    assert_non_null(strstr(w.said, "at -1\nat 0\n"));
    assert_non_null(strstr(w.said, "at 1\n"));
    assert_non_null(strstr(w.said, "library NVML 12.560.35.03, driver 560.35.03\n"));
    end(&w);
}

static void test_an_xid_of_an_instance_is_its_own(void **state)
{
    struct watcher w;
    (void)state;
    begin(&w, "machine a100mig\n"); /* the instances' numbers are 2 and 9 */
    machine_is("machine a100mig\nxid 0 95 9\n");
    hear(&w, "sign 1 broken GPU MIG-102 reports XID 95");
    hear(&w, "usage"); /* the end of that second */
    assert_null(strstr(w.said, "sign 0 broken"));
    machine_is("machine a100mig\nxid 0 95 9\nxid 0 79\n");
    hear(&w, "sign 0 broken GPU MIG-101 reports XID 79");
    end(&w);
}

static void test_where_the_driver_says_what_it_needs_xids_do_not_count(void **state)
{
    struct watcher w;
    char sign[2][16];
    (void)state;
    begin(&w, "machine a100x4\naction 0 0\n");
    machine_is(
        "machine a100x4\naction 0 0\nxid 0 95\nxid 1 95\necc 0 3\n"); /* contained, says the driver of 0 */
    hear(&w, "sign 1 broken");
    look(&w, sign);
    assert_string_equal(sign[0], "clean");
    machine_is("machine a100x4\naction 0 4\n");
    hear(&w, "sign 0 reset GPU GPU-1 needs to be drained and reset");
    machine_is("machine a100x4\naction 0 0\n");
    hear(&w, "sign 0 well");
    end(&w);
}

static void test_memory_errors_count_from_what_they_were(void **state)
{
    struct watcher w;
    (void)state;
    begin(&w, "machine a100x4\necc 0 5\n");
    machine_is("machine a100x4\necc 0 1\n"); /* a reset set it back */
    forget(&w);
    hear(&w, "usage");
    forget(&w);
    hear(&w, "usage");
    assert_null(strstr(w.said, "broken"));
    machine_is("machine a100x4\necc 0 3\n");
    hear(&w, "sign 0 broken GPU GPU-1 has 2 new uncorrectable memory errors");
    end(&w);
}

static void test_waiting_for_events_that_fails_is_told_and_begun_anew(void **state)
{
    struct watcher w;
    (void)state;
    begin(&w, "machine a100x4\nanswer:wait 0 999\n");
    hear(&w, "note XIDs of the GPUs were not heard of for a moment: waiting for them answered "
             "NVML_ERROR_UNKNOWN");
    machine_is("machine a100x4\nxid 0 79\n");
    hear(&w, "sign 0 broken GPU GPU-1 reports XID 79");
    end(&w);
}

static int begin_all(void **state)
{
    (void)state;
    close(mkstemp(facts));
    setenv("REMUDA_FAKE_GPUS", facts, 1);
    setenv("REMUDA_GPU_PERCENT", "3", 1); /* a second is 30 ms */
    leftover = fork();
    if (leftover == 0) {
        execle("/bin/sleep", "sleep", "600", (char *)NULL,
               (char *[]){(char *)"REMUDA_STEP_DIR=/x/77.1.0", (char *)"SLURM_JOB_ID=77", NULL});
        _exit(1);
    }
    usleep(100000);
    return leftover < 0;
}

static int end_all(void **state)
{
    (void)state;
    kill(leftover, SIGKILL);
    waitpid(leftover, NULL, 0);
    return unlink(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_behaviour),
        cmocka_unit_test(test_each_code_as_each_answer),
        cmocka_unit_test(test_codes_about_the_library_make_all_unknown),
        cmocka_unit_test(test_each_code_as_the_answer_for_a_handle),
        cmocka_unit_test(test_it_says_where_it_is_while_it_starts),
        cmocka_unit_test(test_an_xid_of_an_instance_is_its_own),
        cmocka_unit_test(test_where_the_driver_says_what_it_needs_xids_do_not_count),
        cmocka_unit_test(test_memory_errors_count_from_what_they_were),
        cmocka_unit_test(test_waiting_for_events_that_fails_is_told_and_begun_anew),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
