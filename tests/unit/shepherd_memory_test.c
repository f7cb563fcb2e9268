/* Steps held to their memory, and what forks without end. */
#include "shepherd_life_help.h"

static void test_usage_is_measured(void **state)
{
    (void)state;
    struct step_plan p =
        world_plan(&world, 1,
                   "python3 -c 'x=bytearray(60<<20); import time; "
                   "t=time.process_time()\nwhile time.process_time()-t<0.4: pass'");
    p.sample_us = 200000;
    world_send(&world, &p);
    struct note used = world_wait(&world, NOTE_USAGE);
    assert_int_equal(used.job_id, 1);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.status, 0);
    assert_true(n.cpu_user_us + n.cpu_system_us >= 400000);
    assert_true(n.max_rss_bytes > 60 << 20);
    assert_true(n.max_vm_bytes > n.max_rss_bytes);
    assert_true(n.read_bytes > 0);
}

static void test_memory_limit_without_control_groups(void **state)
{
    (void)state;
    struct step_plan p = world_plan(
        &world, 1, "python3 -c 'x=bytearray(200<<20); import time; time.sleep(20)'; echo after");
    p.mem_limit_bytes = 100 << 20;
    p.sample_us = 200000;
    world_send(&world, &p);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_true(n.oom);
    assert_non_null(
        strstr(world_output(&world), "slurmstepd: error: Job 1 exceeded memory limit ("));
    assert_non_null(strstr(world_output(&world), "StepId=1.batch exceeded its memory limit: "));
    assert_non_null(strstr(n.detail, "(python3, "));
    assert_non_null(strstr(n.detail, "for example --mem="));
    assert_null(strstr(world_output(&world), "after"));
}

/* The first thread's end takes its memory out of what the kernel says of the process. */
static void test_a_process_without_its_first_thread_is_held_to_its_memory(void **state)
{
    (void)state;
    struct step_plan p =
        world_plan(&world, 1,
                   "python3 -c 'import ctypes,threading,time\n"
                   "def use():\n  time.sleep(0.5)\n  x=bytearray(200<<20)\n  time.sleep(20)\n"
                   "threading.Thread(target=use).start()\n"
                   "ctypes.CDLL(None).pthread_exit(None)'; echo after");
    p.mem_limit_bytes = 100 << 20;
    p.sample_us = 200000;
    world_send(&world, &p);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_true(n.oom);
    assert_true(n.max_rss_bytes > 100 << 20);
    assert_null(strstr(world_output(&world), "after"));
}

/* Without control groups: processes that leave their session, ignore SIGTERM and keep forking. */
static void test_daemons_that_fork_without_end_are_all_ended(void **state)
{
    (void)state;
    struct step_plan p = world_plan(
        &world, 1,
        "python3 - <<'P' &\nimport "
        "os,signal,time\nsignal.signal(signal.SIGTERM,signal.SIG_IGN)\nend=time.time()+20\n"
        "while time.time()<end:\n  if os.fork()==0:\n    os.setsid()\n    time.sleep(0.02)\n  "
        "else:\n    os._exit(0)\nP\n"
        "sleep 0.5");
    world_send(&world, &p);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.status, 0);
    if (!n.clean)
        world_wait(&world, NOTE_CLEARED);
}

/* Each within its own limit, together over the job's: the larger one ends, which is the same at
 * every moment. */
static void test_steps_together_are_held_to_the_memory_of_their_job(void **state)
{
    (void)state;
    static const char use[] =
        "python3 -c 'import sys,time; x=bytearray(int(sys.argv[1])<<20); time.sleep(6)' ";
    char script[200];
    int ooms = 0;
    for (int64_t step = 0; step < 2; step++) {
        snprintf(script, sizeof script, "%s%d; echo after %d", use, step ? 105 : 30, (int)step);
        struct step_plan p = world_plan(&world, 1, script);
        p.step_id = step;
        p.dir_name = step ? "1.1.1" : "1.1.0";
        p.append = 1;
        p.mem_limit_bytes = p.job_mem_bytes = 130 << 20;
        p.sample_us = 200000;
        world_send(&world, &p);
    }
    for (int i = 0; i < 2; i++) {
        struct note n = world_wait(&world, NOTE_EXITED);
        ooms += n.oom != 0;
        assert_int_equal(n.oom != 0, n.step_id == 1);
        assert_int_equal(n.oom != 0, strstr(n.detail, "exceeded its job's memory limit: ") != NULL);
    }
    assert_int_equal(ooms, 1);
    assert_non_null(strstr(world_output(&world), "after 0"));
    assert_null(strstr(world_output(&world), "after 1"));
}

/* The groups of this machine; false if memory cannot be limited with them. */
static bool groups_begin(struct cgroup_bases *b)
{
    struct cgroup_system here = cgroup_system_here();
    char key[64];
    snprintf(key, sizeof key, "test-%d", (int)getpid());
    cgroup_bases_make(b, &here, key, NULL);
    world.cgroups = xstrdup(str_text(&b->text));
    return b->limits_memory;
}

static bool every_step_is_known(void *ctx, const char *name)
{
    (void)ctx;
    return name != NULL;
}

/* The groups of the steps are gone; so those of the jobs can go, and those of the node. */
static void groups_end(struct cgroup_bases *b)
{
    struct span rest = span_of(world.cgroups);
    char controller[300], dir[512];
    nap_ms(50); /* the shepherd removes the groups after it told the end */
    cgroup_bases_done(b);
    while (cgroup_base_next(&rest, controller, sizeof controller, dir, sizeof dir)) {
        for (int i = 0; i < 100 && access(dir, F_OK) == 0 && rmdir(dir) != 0; i++) {
            step_cgroups_tidy(world.cgroups, every_step_is_known, NULL);
            nap_ms(10);
        }
        assert_int_not_equal(access(dir, F_OK), 0);
    }
}

static void test_memory_limit(void **state)
{
    (void)state;
    struct cgroup_bases bases;
    bool can = groups_begin(&bases);
    if (can) {
        struct step_plan p = world_plan(&world, 1, "python3 -c 'x=bytearray(200<<20)'; echo after");
        p.mem_limit_bytes = 50 << 20;
        world_send(&world, &p);
        struct note n = world_wait(&world, NOTE_EXITED);
        assert_true(n.oom);
        assert_non_null(
            strstr(world_output(&world), "Detected 1 oom_kill event in StepId=1.batch."));
    }
    groups_end(&bases);
    if (!can)
        skip();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(usage_is_measured),
        TEST(memory_limit_without_control_groups),
        TEST(a_process_without_its_first_thread_is_held_to_its_memory),
        TEST(steps_together_are_held_to_the_memory_of_their_job),
        TEST(daemons_that_fork_without_end_are_all_ended),
        TEST(memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
