/* Children: input, output, ends, timeouts. */
#include "io_help.h"

#include "io/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

struct ended {
    struct world *world;
    int count, status;
    bool timed_out;
    char output[20000], errors[100];
};

static void child_done(void *ctx, const struct spawn_result *r)
{
    struct ended *e = ctx;
    e->count++;
    e->status = r->status;
    e->timed_out = r->timed_out;
    assert_true(r->output_len < sizeof e->output);
    memcpy(e->output, r->output, r->output_len + 1);
    assert_true(r->errors_len < sizeof e->errors);
    memcpy(e->errors, r->errors, r->errors_len + 1);
    loop_stop(e->world->loop);
}

static struct spawn *shell(struct ended *e, const char *script, struct spawn_options o)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};
    struct err err = {0};
    o.argv = argv;
    struct spawn *s = spawn_start(e->world->loop, &o, child_done, e, &err);
    if (!s)
        fail_msg("%s", err.text);
    return s;
}

static void input_goes_in_and_both_outputs_come_back(void **state)
{
    struct ended e = {.world = *state};
    shell(&e, "cat; echo problem >&2; exit 3",
          (struct spawn_options){.input = "hello\n", .input_len = 6, .output_max = 1000});
    loop_run(e.world->loop);
    assert_string_equal(e.output, "hello\nproblem\n");
    assert_int_equal(WEXITSTATUS(e.status), 3);
    assert_int_equal(e.count, 1);
}

static void output_beyond_the_bound_is_dropped(void **state)
{
    struct ended e = {.world = *state};
    shell(&e, "head -c 1000000 /dev/zero | tr '\\0' x", (struct spawn_options){.output_max = 10});
    loop_run(e.world->loop);
    assert_string_equal(e.output, "xxxxxxxxxx");
    assert_int_equal(e.status, 0);
}

static void a_program_need_not_read_its_input(void **state)
{
    struct ended e = {.world = *state};
    static char much[1 << 20];
    shell(&e, "exit 0",
          (struct spawn_options){.input = much, .input_len = sizeof much, .output_max = 10});
    loop_run(e.world->loop);
    assert_int_equal(e.status, 0);
}

static void too_long_is_ended_with_its_whole_group(void **state)
{
    struct ended e = {.world = *state};
    int64_t start = clock_monotonic_us();
    shell(&e, "sleep 100 & sleep 100",
          (struct spawn_options){.output_max = 10, .timeout_us = 50000});
    loop_run(e.world->loop);
    assert_true(e.timed_out);
    assert_int_equal(WTERMSIG(e.status), SIGKILL);
    assert_in_range(clock_monotonic_us() - start, 49000, 900000);
}

static void a_grandchild_that_holds_the_pipe_is_not_waited_for(void **state)
{
    struct ended e = {.world = *state};
    int64_t start = clock_monotonic_us();
    shell(&e, "echo early; setsid sleep 3 & exit 0", (struct spawn_options){.output_max = 10});
    loop_run(e.world->loop);
    assert_string_equal(e.output, "early\n");
    assert_in_range(clock_monotonic_us() - start, 0, 2500000);
}

static void what_cannot_start_is_told_at_once(void **state)
{
    struct ended e = {.world = *state};
    struct err err = {0};
    const char *argv[] = {"/no/such/program", NULL};
    struct spawn_options o = {.argv = argv, .output_max = 10, .input = "x", .input_len = 1};
    assert_null(spawn_start(e.world->loop, &o, child_done, &e, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/such/program"));
    assert_int_equal(e.count, 0);
}

static void environment_directory_and_descriptors_are_as_given(void **state)
{
    struct ended e = {.world = *state};
    const char *env[] = {"COLOUR=bay", "PATH=/usr/bin:/bin", NULL};
    int pipe_ends[2];
    char got[10] = {0};
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    shell(
        &e, "pwd; echo $COLOUR; echo $HOME; printf three >&3",
        (struct spawn_options){
            .output_max = 1000, .env = env, .dir = e.world->dir, .fds = &pipe_ends[1], .nfds = 1});
    loop_run(e.world->loop);
    assert_string_equal(e.output, arena_printf(e.world->arena, "%s\nbay\n\n", e.world->dir));
    assert_int_equal(read(pipe_ends[0], got, 9), 5);
    assert_string_equal(got, "three");
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

static void a_child_has_default_signals(void **state)
{
    struct ended e = {.world = *state};
    shell(&e, "grep -E 'SigIgn|SigBlk' /proc/self/status",
          (struct spawn_options){.output_max = 1000});
    loop_run(e.world->loop);
    unsigned long long blocked, ignored;
    assert_int_equal(sscanf(e.output, "SigBlk:\t%llx\nSigIgn:\t%llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    /* Real-time signals are the C library's and whoever started us: a program cannot set 32 and
     * 33. */
    assert_int_equal(ignored & 0x7fffffff, 0);
}

static void errors_apart_are_bounded_by_themselves(void **state)
{
    struct ended e = {.world = *state};
    shell(&e, "echo out; head -c 1000000 /dev/zero | tr '\\0' e >&2; echo end",
          (struct spawn_options){.output_max = 100, .error_max = 20});
    loop_run(e.world->loop);
    assert_int_equal(e.status, 0);
    assert_string_equal(e.output, "out\nend\n");
    assert_string_equal(e.errors, "eeeeeeeeeeeeeeeeeeee");
    shell(&e, "echo out; echo err >&2", (struct spawn_options){.output_max = 100});
    loop_run(e.world->loop);
    assert_string_equal(e.output, "out\nerr\n");
    assert_string_equal(e.errors, "");
}

static void a_forgotten_child_is_ended(void **state)
{
    struct ended e = {.world = *state};
    struct spawn *s = shell(&e, "sleep 100", (struct spawn_options){.output_max = 10});
    pid_t pid = spawn_pid(s);
    spawn_free(s);
    struct timer *t = timer_new(e.world->loop, world_stop, e.world);
    timer_set(t, 20000);
    loop_run(e.world->loop);
    timer_free(t);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(e.count, 0);
}

static void a_detached_child_outlives_being_forgotten(void **state)
{
    struct ended e = {.world = *state};
    struct spawn *s = shell(&e, "sleep 0.1; echo done > marker",
                            (struct spawn_options){.dir = e.world->dir, .detach = true});
    pid_t pid = spawn_pid(s);
    assert_int_equal(getsid(pid), pid);
    spawn_free(s);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(arena_printf(e.world->arena, "%s/marker", e.world->dir), F_OK), 0);
}

static void ends_have_words(void **state)
{
    (void)state;
    struct str s = STR_INIT;
    spawn_status_text(3 << 8, &s);
    assert_string_equal(str_text(&s), "exited with 3");
    str_clear(&s);
    spawn_status_text(9, &s);
    assert_string_equal(str_text(&s), "was ended by signal 9 (Killed)");
    str_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(input_goes_in_and_both_outputs_come_back),
        TEST(output_beyond_the_bound_is_dropped),
        TEST(a_program_need_not_read_its_input),
        TEST(too_long_is_ended_with_its_whole_group),
        TEST(a_grandchild_that_holds_the_pipe_is_not_waited_for),
        TEST(what_cannot_start_is_told_at_once),
        TEST(environment_directory_and_descriptors_are_as_given),
        TEST(a_child_has_default_signals),
        TEST(errors_apart_are_bounded_by_themselves),
        TEST(a_forgotten_child_is_ended),
        TEST(a_detached_child_outlives_being_forgotten),
        TEST(ends_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
