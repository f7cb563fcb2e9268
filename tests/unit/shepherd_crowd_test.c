/* Steps where there are as many processes as the job may have: in plain files, which limit nobody,
 * in the place of version 1's groups. */
#include "shepherd_life_help.h"

static const char *pids_file(int job, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/pids/%d.1/%s", world.dir, job, name);
    return path;
}

static void pids_file_fill(int job, const char *name, const char *text)
{
    FILE *f = fopen(pids_file(job, name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* The batch step of job N, in which so many processes are. */
static struct step_plan crowded_plan(int job, const char *script, const char *current)
{
    static char bases[128];
    char step[64];
    snprintf(bases, sizeof bases, "%s/pids", world.dir);
    mkdir(bases, 0755);
    snprintf(bases, sizeof bases, "pids=%s/pids\n", world.dir);
    assert_int_equal(mkdir(pids_file(job, ""), 0755), 0);
    snprintf(step, sizeof step, "%d.1.batch", job);
    assert_int_equal(mkdir(pids_file(job, step), 0755), 0);
    pids_file_fill(job, "pids.max", "");
    if (current)
        pids_file_fill(job, "pids.current", current);
    else
        assert_int_equal(mkfifo(pids_file(job, "pids.current"), 0600), 0);
    strcat(step, "/tasks");
    pids_file_fill(job, step, "");
    strcpy(strrchr(step, '/'), "/cgroup.procs");
    pids_file_fill(job, step, "");
    struct step_plan p = world_plan(&world, job, script);
    p.cgroups = bases;
    p.pids_max = 50;
    return p;
}

/* Three commands of a job whose processes were as many as may be, and its node was drained. */
static void test_a_step_for_which_there_are_too_many_processes_is_not_the_nodes_fault(void **state)
{
    (void)state;
    struct step_plan p = crowded_plan(1, "echo ran", "50"); /* it is not even born */
    world_send(&world, &p);
    p = crowded_plan(2, "echo ran", NULL); /* others come once it is born */
    world_send(&world, &p);
    static const char *const counts[] = {"49", "51"};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++, nap_ms(1000)) /* not to one reading of it */
        pids_file_fill(2, "pids.current", counts[i]);
    struct note failed = world_wait(&world, NOTE_FAILED);
    assert_int_equal(failed.job_id, 2);
    assert_true(failed.retry && !failed.unfit);
    assert_non_null(strstr(failed.detail, "there are as many processes as may be"));
    p = crowded_plan(3, "echo ran", "50");
    world_send(&world, &p);
    nap_ms(100);
    pids_file_fill(3, "pids.current", "49");
    world_wait(&world, NOTE_EXITED);
    assert_string_equal(world_output(&world), "ran\n");
    nap_ms(3000); /* the first has ten seconds in which somebody may end */
    failed = world_wait(&world, NOTE_FAILED);
    assert_int_equal(failed.job_id, 1);
    assert_true(failed.retry && !failed.unfit);
    assert_non_null(strstr(failed.detail, "cannot start a process on n1: "));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_step_for_which_there_are_too_many_processes_is_not_the_nodes_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
