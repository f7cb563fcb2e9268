/* Shepherds with real processes: how steps start, end and are ended. */
#include "shepherd_life_help.h"

#include <fcntl.h>

static void send_script(int64_t id, const char *script)
{
    struct step_plan p = world_plan(&world, id, script);
    world_send(&world, &p);
}

static void test_a_step_runs_and_its_end_is_told(void **state)
{
    (void)state;
    send_script(7, "echo hello; echo trouble >&2; exit 3");
    struct note started = world_note(&world), ended = world_wait(&world, NOTE_EXITED);
    assert_int_equal(started.kind, NOTE_STARTED);
    assert_int_equal(started.job_id, 7);
    assert_true(started.pid > 0);
    assert_int_equal(ended.job_id, 7);
    assert_int_equal(ended.status, 3 << 8);
    assert_true(ended.clean);
    assert_false(ended.oom);
    assert_true(ended.max_rss_bytes > 0);
    assert_string_equal(world_output(&world), "hello\ntrouble\n");
}

static void test_the_same_step_never_starts_twice(void **state)
{
    (void)state;
    send_script(7, "echo once");
    world_wait(&world, NOTE_EXITED);
    send_script(7, "echo twice");
    assert_true(world_quiet(&world, 300));
    assert_string_equal(world_output(&world), "once\n");
}

static void test_many_steps_at_once(void **state)
{
    (void)state;
    bool ended[101] = {false};
    for (int i = 1; i <= 100; i++)
        send_script(i, "true");
    for (int i = 1; i <= 100; i++) {
        struct note n = world_wait(&world, NOTE_EXITED);
        assert_int_equal(n.status, 0);
        assert_false(ended[n.job_id]);
        ended[n.job_id] = true;
    }
}

static void test_background_processes_are_killed_when_the_script_ends(void **state)
{
    (void)state;
    send_script(
        1, "setsid bash -c 'echo $$ > daemon; exec sleep 300' & (sleep 300 &) ; sleep 0.2; exit 0");
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_true(n.clean);
    char path[128];
    snprintf(path, sizeof path, "%s/daemon", world.dir);
    int pid = atoi(world_file(path));
    assert_true(pid > 1);
    assert_int_equal(kill(pid, 0), -1);
}

static void test_termination_gives_grace_then_kills_everybody(void **state)
{
    (void)state;
    send_script(
        1, "trap 'echo got term' TERM; setsid bash -c 'trap \"\" TERM; echo up; sleep 300' & sleep "
           "300 & wait; echo going; sleep 300");
    struct note started = world_note(&world);
    nap_ms(300);
    struct step_command c = {.op = COMMAND_TERMINATE, .why = WHY_TIME_LIMIT, .kill_wait_ms = 500};
    world_command(&world, (pid_t)started.pid, &c);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.status, SIGKILL);
    assert_true(n.clean);
    const char *out = world_output(&world);
    assert_non_null(strstr(out, "got term\n"));
    assert_non_null(strstr(out, "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT "));
    assert_non_null(strstr(out, " DUE TO TIME LIMIT ***\n"));
}

static int sentences(const char *text)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, " DUE TO TIME LIMIT ***\n")); at++)
        n++;
    return n;
}

/* It is ended while its process has yet to open, and to truncate, its error file. */
static void test_who_is_ended_before_its_files_are_open_is_told_why(void **state)
{
    (void)state;
    char out[96], err[96];
    snprintf(out, sizeof out, "%s/pipe", world.dir);
    snprintf(err, sizeof err, "%s/err", world.dir);
    assert_int_equal(mkfifo(out, 0666), 0);
    for (int grace = 0; grace < 2; grace++) {
        struct step_plan p = world_plan(&world, 1 + grace, "trap '' TERM; sleep 300");
        p.std_out = out;
        p.std_err = err;
        world_send(&world, &p);
        struct note started = world_wait(&world, NOTE_STARTED);
        struct step_command c = {
            .op = COMMAND_TERMINATE, .why = WHY_TIME_LIMIT, .kill_wait_ms = grace * 20000};
        if (!grace) { /* it is killed where it waits for who reads */
            world_command(&world, (pid_t)started.pid, &c);
            world_wait(&world, NOTE_EXITED);
        } else { /* it goes on, and begins the file anew */
            world_command(&world, (pid_t)started.pid, &c);
            nap_ms(200);
            int reader = open(out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
            world_wait(&world, NOTE_EXITED);
            close(reader);
        }
        assert_int_equal(sentences(world_file(err)), 1);
    }
}

static void test_a_script_that_ends_on_sigterm_is_not_killed(void **state)
{
    (void)state;
    send_script(1, "trap 'exit 9' TERM; sleep 300 & wait");
    struct note started = world_note(&world);
    nap_ms(200);
    struct step_command c = {.op = COMMAND_TERMINATE, .why = WHY_NONE, .kill_wait_ms = 20000};
    world_command(&world, (pid_t)started.pid, &c);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.status, 9 << 8);
    const char *line = strstr(world_output(&world), "CANCELLED AT ");
    assert_non_null(line);
    assert_string_equal(line + strlen("CANCELLED AT 2026-11-21T05:06:01"), " ***\n");
}

static void test_signals_reach_whom_they_are_meant_for(void **state)
{
    (void)state;
    send_script(
        1,
        "mkfifo f; trap 'echo shell' USR1; bash -c 'trap \"echo child\" USR1; exec 9<>f; while :; "
        "do read -t 0.05 -u 9; done' & \n"
        "trap 'kill %1; exit 0' USR2; while :; do wait; done");
    struct note started = world_note(&world);
    nap_ms(300);
    struct step_command c = {.op = COMMAND_KILL, .signal = SIGUSR1, .batch = true};
    world_command(&world, (pid_t)started.pid, &c);
    nap_ms(200);
    assert_string_equal(world_output(&world), "shell\n");
    c.batch = false;
    world_command(&world, (pid_t)started.pid, &c);
    nap_ms(300);
    assert_int_equal(strlen(world_output(&world)),
                     strlen("shell\nshell\nchild\n")); /* whoever is first */
    assert_non_null(strstr(world_output(&world), "child\n"));
    c = (struct step_command){.op = COMMAND_KILL, .signal = SIGUSR2, .batch = true};
    world_command(&world, (pid_t)started.pid, &c);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
}

static void test_stop_and_continue(void **state)
{
    (void)state;
    send_script(1, "sleep 0.4; echo done");
    struct note started = world_note(&world);
    nap_ms(100);
    struct step_command c = {.op = COMMAND_KILL, .signal = SIGSTOP};
    world_command(&world, (pid_t)started.pid, &c);
    assert_true(world_quiet(&world, 800));
    c.signal = SIGCONT;
    world_command(&world, (pid_t)started.pid, &c);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.status, 0);
    assert_true(n.suspended_us > 700000);
}

static void test_missing_input_fails_with_the_reason(void **state)
{
    (void)state;
    struct step_plan p = world_plan(&world, 1, "echo never");
    p.std_in = "/nonexistent/input";
    world_send(&world, &p);
    struct note n = world_wait(&world, NOTE_FAILED);
    assert_string_equal(n.detail,
                        "cannot open the input file /nonexistent/input: No such file or directory");
    assert_false(n.retry);
    assert_string_equal(world_output(&world), "slurmstepd: error: cannot open the input file "
                                              "/nonexistent/input: No such file or directory\n");
}

static void test_output_directories_are_made_and_files_truncated_or_appended(void **state)
{
    (void)state;
    struct step_plan p = world_plan(&world, 1, "echo one");
    p.std_out = "a/b/c.out";
    p.std_err = "d/e.err";
    world_send(&world, &p);
    world_wait(&world, NOTE_EXITED);
    p = world_plan(&world, 2, "echo two; echo bad >&2");
    p.std_out = "a/b/c.out";
    p.std_err = "d/e.err";
    p.append = 1;
    world_send(&world, &p);
    world_wait(&world, NOTE_EXITED);
    char path[160];
    snprintf(path, sizeof path, "%s/a/b/c.out", world.dir);
    assert_string_equal(world_file(path), "one\ntwo\n");
    snprintf(path, sizeof path, "%s/d/e.err", world.dir);
    assert_string_equal(world_file(path), "bad\n");
    p = world_plan(&world, 3, "echo three");
    p.std_out = "a/b/c.out";
    world_send(&world, &p);
    world_wait(&world, NOTE_EXITED);
    snprintf(path, sizeof path, "%s/a/b/c.out", world.dir);
    assert_string_equal(world_file(path), "three\n");
}

/* Not of a name that somebody else on the machine may make, as nobody's home is /nonexistent. */
static const char *no_dir(void)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/none", world.dir);
    return path;
}

static void test_unusable_work_directory(void **state)
{
    (void)state;
    char text[1024];
    struct step_plan p = world_plan(&world, 1, "pwd");
    p.work_dir = no_dir();
    world_send(&world, &p);
    struct note ended = world_wait(&world, NOTE_EXITED);
    assert_int_equal(ended.status, 0);
    snprintf(text, sizeof text,
             "couldn't chdir to `%s': No such file or directory on n1: it ran in /tmp there",
             no_dir());
    assert_string_equal(ended.detail, text);
    snprintf(text, sizeof text,
             "slurmstepd: error: couldn't chdir to `%s': No such file or directory: going to /tmp "
             "instead\n/tmp\n",
             no_dir());
    assert_string_equal(world_output(&world), text);
}

/* Its files would be in /tmp of some node. */
static void test_files_of_an_unusable_work_directory(void **state)
{
    (void)state;
    char script[400], ran[320], text[1024];
    snprintf(ran, sizeof ran, "%s/it-ran", world.dir);
    snprintf(script, sizeof script, "echo ran >%s", ran);
    struct step_plan p = world_plan(&world, 1, script);
    p.work_dir = no_dir();
    p.std_out = "slurm-1.out";
    world_send(&world, &p);
    struct note failed = world_wait(&world, NOTE_FAILED);
    assert_false(failed.retry);
    snprintf(text, sizeof text,
             "couldn't chdir to `%s': No such file or directory on n1, where the output file "
             "slurm-1.out was to be",
             no_dir());
    assert_string_equal(failed.detail, text);
    p = world_plan(&world, 2, "true");
    p.work_dir = no_dir();
    p.std_in = "data";
    world_send(&world, &p);
    assert_non_null(
        strstr(world_wait(&world, NOTE_FAILED).detail, "where the input file data was to be"));
    assert_int_equal(access(ran, F_OK), -1);
}

static void test_bad_interpreter(void **state)
{
    (void)state;
    struct step_plan p = world_plan(&world, 1, "");
    static const char script[] = "#!/nonexistent/shell\ntrue\n";
    p.script = (struct plan_bytes){script, sizeof script - 1};
    world_send(&world, &p);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, ENOENT << 8);
    assert_non_null(
        strstr(world_output(&world),
               "execve(): bad interpreter(/nonexistent/shell): No such file or directory\n"));
}

static void test_arguments_environment_umask_and_limits(void **state)
{
    (void)state;
    struct step_plan p = world_plan(&world, 1,
                                    "echo \"$#:$1:$2\"; echo $MARK; umask; ulimit -Sn; test -n "
                                    "\"$SLURM_TASK_PID\" && echo $((SLURM_TASK_PID-$$))");
    static const char args[] = "a b\0c", env[] = "PATH=/usr/bin:/bin\0MARK=x y";
    p.args = (struct plan_bytes){args, sizeof args};
    p.env = (struct plan_bytes){env, sizeof env};
    p.umask_plus1 = 027 + 1;
    p.rlimits = "NOFILE=77,CORE=0";
    world_send(&world, &p);
    world_wait(&world, NOTE_EXITED);
    assert_string_equal(world_output(&world), "2:a b:c\nx y\n0027\n77\n0\n");
}

/* An agent for keys in a profile keeps what the shell had open. */
static void test_what_a_login_shell_leaves_running_is_not_waited_for(void **state)
{
    (void)state;
    char shell[128];
    snprintf(shell, sizeof shell, "%s/shell", world.dir);
    FILE *f = fopen(shell, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\nsleep 300 &\nexport FROM_LOGIN=yes\necho noise\nexec /bin/sh -c \"$3\"\n", f);
    fclose(f);
    assert_int_equal(chmod(shell, 0755), 0);
    struct step_plan p = world_plan(&world, 1, "echo $FROM_LOGIN");
    p.login_env = 1;
    p.shell = shell;
    world_send(&world, &p);
    world_wait(&world, NOTE_EXITED);
    assert_string_equal(world_output(&world), "yes\n");
}

/* Nothing of it would be limited. */
static void test_a_step_without_its_control_groups_does_not_run(void **state)
{
    (void)state;
    char base[128];
    struct step_plan p = world_plan(&world, 1, "echo ran");
    p.cgroups = "memory=/dev/null/base\n";
    world_send(&world, &p);
    struct note failed = world_wait(&world, NOTE_FAILED);
    assert_true(failed.retry && failed.unfit);
    assert_non_null(strstr(failed.detail, "cannot make the step's control groups on "));
    snprintf(base, sizeof base, "freezer=%s/base\n", world.dir); /* nobody can enter a directory */
    p = world_plan(&world, 2, "echo ran");
    p.cgroups = base;
    world_send(&world, &p);
    failed = world_wait(&world, NOTE_FAILED);
    assert_int_equal(failed.job_id, 2);
    assert_true(failed.retry && failed.unfit);
    assert_non_null(strstr(failed.detail, "cannot enter the step's control groups on "));
    assert_string_equal(world_output(&world), "");
}

static void test_the_owner_is_taken_on(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct step_plan p =
        world_plan(&world, 1, "id -u; id -g; id -G; cat \"$0\" >/dev/null && echo readable");
    gid_t groups[] = {65534, 12};
    chmod(world.dir, 0777);
    p.switch_user = 1;
    p.uid = 65534;
    p.gid = 65534;
    p.groups = (struct plan_bytes){groups, sizeof groups};
    world_send(&world, &p);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
    assert_string_equal(world_output(&world), "65534\n65534\n65534 12\nreadable\n");
}

static void test_shepherds_outlive_their_parent(void **state)
{
    (void)state;
    send_script(1, "sleep 0.5; echo done");
    struct note started = world_note(&world);
    world_stop_serving(&world);
    assert_true(step_dir_alive(world.steps, "1.1.batch"));
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.status, 0);
    assert_int_equal(n.pid, started.pid);
    assert_string_equal(world_output(&world), "done\n");
    for (int i = 0; i < 100 && step_dir_alive(world.steps, "1.1.batch"); i++)
        nap_ms(10);
    assert_false(step_dir_alive(world.steps, "1.1.batch"));
    world_serve(&world);
}

static void test_plans_sent_before_the_end_are_still_started(void **state)
{
    (void)state;
    for (int i = 1; i <= 20; i++)
        send_script(i, "true");
    world_stop_serving(&world);
    for (int i = 1; i <= 20; i++)
        assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
    world_serve(&world);
}

static void test_a_killed_shepherd_is_told_by_its_parent(void **state)
{
    (void)state;
    send_script(1, "sleep 1");
    struct note started = world_note(&world);
    kill((pid_t)started.pid, SIGKILL);
    struct note n = world_wait(&world, NOTE_GONE);
    assert_int_equal(n.job_id, 1);
    assert_int_equal(n.pid, started.pid);
}

static void test_shared_memory_counts_once(void **state)
{
    (void)state;
    struct step_plan p =
        world_plan(&world, 1,
                   "python3 -c 'x=bytearray(60<<20)\nimport os,time\n"
                   "for i in range(4):\n  if os.fork()==0: break\ntime.sleep(0.7)'; echo after");
    p.mem_limit_bytes = 150 << 20;
    p.sample_us = 100000;
    world_send(&world, &p);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_false(n.oom);
    assert_string_equal(world_output(&world), "after\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_step_runs_and_its_end_is_told),
        TEST(the_same_step_never_starts_twice),
        TEST(many_steps_at_once),
        TEST(background_processes_are_killed_when_the_script_ends),
        TEST(termination_gives_grace_then_kills_everybody),
        TEST(who_is_ended_before_its_files_are_open_is_told_why),
        TEST(a_script_that_ends_on_sigterm_is_not_killed),
        TEST(signals_reach_whom_they_are_meant_for),
        TEST(stop_and_continue),
        TEST(missing_input_fails_with_the_reason),
        TEST(output_directories_are_made_and_files_truncated_or_appended),
        TEST(unusable_work_directory),
        TEST(files_of_an_unusable_work_directory),
        TEST(bad_interpreter),
        TEST(arguments_environment_umask_and_limits),
        TEST(what_a_login_shell_leaves_running_is_not_waited_for),
        TEST(a_step_without_its_control_groups_does_not_run),
        TEST(the_owner_is_taken_on),
        TEST(shepherds_outlive_their_parent),
        TEST(plans_sent_before_the_end_are_still_started),
        TEST(a_killed_shepherd_is_told_by_its_parent),
        TEST(shared_memory_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
