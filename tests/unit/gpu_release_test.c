/* Letting go of the GPUs: it is said when those that have them open are gone, and who stays. */
#include "unit.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "io/files.h"
#include "io/process/spawn.h"
#include "node/daemon/daemon.h"
#include "node/hardware/gpu_watch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct node_daemon d;
static char top[] = "/tmp/remuda-release-XXXXXX", file[128];

static void looked(void *ctx, const struct device_seen *seen, size_t n)
{
    (void)ctx;
    (void)seen;
    (void)n;
}

static void found(void *ctx, const struct spawn_result *r)
{
    (void)ctx;
    (void)r;
}

static void idle_over(void *ctx)
{
    loop_stop(ctx);
}

static void idle(int64_t us)
{
    struct timer *t = timer_new(d.loop, idle_over, d.loop);
    timer_set(t, us);
    loop_run(d.loop);
    timer_free(t);
}

static bool says(const char *line)
{
    char text[128], whole[160];
    bool found_it = false;
    FILE *f = fopen(file, "re");
    snprintf(whole, sizeof whole, "%s\n", line);
    while (f && fgets(text, sizeof text, f))
        found_it |= text_is(text, whole);
    if (f)
        fclose(f);
    return found_it;
}

static bool comes(const char *line)
{
    for (int i = 0; i < 600 && !says(line); i++)
        idle(50000);
    return says(line);
}

static void word_give(void)
{
    FILE *f = fopen(file, "we");
    fputs("by root at 2026-01-01T00:00:00\n", f);
    fclose(f);
    node_gpus_release(&d);
}

/* That looks for devices; one that is detached is not ended by being killed, as one that its driver
 * keeps. */
static pid_t find_begin(bool stays)
{
    const char *const argv[] = {"/bin/sleep", "600", NULL};
    struct err err = {0};
    d.find = spawn_start(d.loop, &(struct spawn_options){.argv = argv, .detach = stays}, found, &d,
                         &err);
    assert_non_null(d.find);
    return spawn_pid(d.find);
}

static int begin(void **state)
{
    static const struct gpu_watch_ops ops = {.looked = looked};
    struct err err = {0};
    char dir[96];
    (void)state;
    strcpy(strrchr(top, '-'), "-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(dir, sizeof dir, "%s/nodes", top);
    mkdir(dir, 0700);
    snprintf(dir, sizeof dir, "%s/nodes/n1", top);
    mkdir(dir, 0700);
    snprintf(file, sizeof file, "%s/gpus-released", dir);
    setenv("REMUDA_GPU_PERCENT", "2", 1);
    d = (struct node_daemon){.loop = loop_new(&err), .arena = arena_new()};
    d.log = log_open("/dev/null", LOG_IS_INFO, &err);
    d.options.state_dir = top;
    d.options.name = "n1";
    d.gpus = gpu_watch_new(d.loop, d.log, NULL, NULL, &ops, NULL);
    return 0;
}

static int end(void **state)
{
    char command[160];
    (void)state;
    node_gpus_release_end(&d);
    gpu_watch_free(d.gpus);
    loop_free(d.loop);
    log_close(d.log);
    arena_free(d.arena);
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command);
}

static void test_it_is_said_when_they_are_gone(void **state)
{
    (void)state;
    pid_t pid = find_begin(false);
    word_give();
    assert_false(says("let go"));
    assert_null(d.find);
    assert_true(comes("let go"));
    assert_int_equal(kill(pid, 0), -1);
    word_give(); /* nobody has them open */
    assert_true(says("let go"));
}

static void test_who_stays_is_named(void **state)
{
    (void)state;
    char line[96];
    pid_t pid = find_begin(true);
    snprintf(line, sizeof line, "process %ld still has them open", (long)pid);
    word_give();
    assert_true(comes(line));
    word_give(); /* the same is waited for */
    assert_false(says("let go"));
    assert_true(comes(line));
    kill(pid, SIGKILL);
    assert_true(comes("let go"));
}

static void test_nothing_is_said_once_they_are_wanted_back(void **state)
{
    (void)state;
    pid_t pid = find_begin(true);
    word_give();
    d.options.is_virtual = true; /* nothing is looked for */
    unlink(file);
    node_gpus_release(&d);
    kill(pid, SIGKILL);
    idle(300000);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_false(gpu_watch_is_released(d.gpus));
}

/* One that hung and was killed is in the kernel still, and has them open. */
static void test_who_was_killed_before_is_waited_for(void **state)
{
    (void)state;
    char line[96];
    pid_t pid = find_begin(true);
    snprintf(line, sizeof line, "process %ld still has them open", (long)pid);
    word_give();
    d.options.is_virtual = true; /* nothing is looked for */
    unlink(file);
    node_gpus_release(&d); /* they are wanted back */
    word_give();
    assert_false(says("let go"));
    assert_true(comes(line));
    kill(pid, SIGKILL);
    assert_true(comes("let go"));
}

/* What looks for devices asks the libraries in a process below, which may outlive it: in the kernel.
 * Here that is not ended as its group is not. */
static pid_t leads_begin(const char *then, pid_t *ret_led)
{
    char path[128], script[64], line[32] = "";
    struct err err = {0};
    snprintf(path, sizeof path, "%s/led", top);
    snprintf(script, sizeof script, "sleep 600 & echo $! >\"$0\"; %s", then);
    const char *const argv[] = {"/bin/sh", "-c", script, path, NULL};
    d.find =
        spawn_start(d.loop, &(struct spawn_options){.argv = argv, .detach = true}, found, &d, &err);
    assert_non_null(d.find);
    pid_t pid = spawn_pid(d.find); /* which may be over, and gone, meanwhile */
    for (int i = 0; i < 600 && !strchr(line, '\n'); i++) {
        FILE *f = fopen(path, "re");
        if (f && !fgets(line, sizeof line, f))
            line[0] = '\0';
        if (f)
            fclose(f);
        idle(50000);
    }
    *ret_led = (pid_t)strtol(line, NULL, 10);
    assert_true(*ret_led > 0);
    return pid;
}

static void test_what_it_leads_is_waited_for(void **state)
{
    (void)state;
    char line[96];
    pid_t led, pid = leads_begin("exec sleep 600", &led);
    word_give();
    kill(pid, SIGKILL);
    snprintf(line, sizeof line, "process %ld still has them open", (long)led);
    assert_true(comes(line));
    assert_int_equal(kill(pid, 0), -1);
    assert_false(says("let go"));
    kill(led, SIGKILL);
    assert_true(comes("let go"));
}

static void test_and_what_it_left_behind_as_it_ended(void **state)
{
    (void)state;
    struct gpu_killed *killed = gpu_watch_killed(d.gpus);
    pid_t led, one, pid = leads_begin("exit 0", &led);
    for (int i = 0; i < 600 && kill(pid, 0) == 0; i++)
        idle(50000);
    d.find = NULL; /* its end was told */
    gpu_killed_led(killed, pid);
    assert_int_equal(gpu_killed_pids(killed, &one, 1), 1);
    assert_int_equal(one, led);
    word_give();
    assert_false(says("let go"));
    kill(led, SIGKILL);
    assert_true(comes("let go"));
    gpu_killed_led(killed, pid);
    assert_int_equal(gpu_killed_left(killed), 0);
}

static void none_left(void *told)
{
    ++*(int *)told;
}

static void test_whose_end_cannot_be_watched_is_not_gone(void **state)
{
    (void)state;
    struct gpu_killed *killed = gpu_watch_killed(d.gpus);
    struct rlimit most, none;
    int told = 0;
    pid_t one, pid = find_begin(true);
    spawn_free(d.find);
    d.find = NULL;
    getrlimit(RLIMIT_NOFILE, &most);
    none = most;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    gpu_killed_add(killed, pid);
    setrlimit(RLIMIT_NOFILE, &most);
    gpu_killed_on_none(killed, none_left, &told);
    idle(100000);
    assert_int_equal(gpu_killed_left(killed), 1);
    assert_int_equal(gpu_killed_pids(killed, &one, 1), 1);
    assert_int_equal(one, pid);
    kill(pid, SIGKILL);
    for (int i = 0; i < 600 && !told; i++)
        idle(50000);
    assert_int_equal(told, 1);
    assert_int_equal(gpu_killed_left(killed), 0);
    assert_int_equal(kill(pid, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_said_when_they_are_gone, begin, end),
        cmocka_unit_test_setup_teardown(test_who_stays_is_named, begin, end),
        cmocka_unit_test_setup_teardown(test_who_was_killed_before_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(test_what_it_leads_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(test_and_what_it_left_behind_as_it_ended, begin, end),
        cmocka_unit_test_setup_teardown(test_whose_end_cannot_be_watched_is_not_gone, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_said_once_they_are_wanted_back, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
