/* What each kind of value may look like, and what becomes of it (spec/guides.md 0.6, spec/clients.md edges
 * 15–20). */
#include "script_help.h"

#include "model/limits.h"

static void time_limits(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"5", 300},      {"90:00", 5400}, {"1:0:0", 3600},  {"00:05:00", 300},   {"100:00:00", 360000},
        {"24:00", 1440}, {"2-0", 172800}, {"1-12", 129600}, {"1-12:30", 131400}, {"3-05:10:10", 277810},
        {"0:30", 30},    {"15:30", 930},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(taken(w, arena_printf(w->a, "--time=%s", cases[i].text))->req.time_limit_us,
                         cases[i].seconds * USEC_PER_SEC);
    assert_int_equal(taken(w, "-t UNLIMITED")->req.time_limit_us, TIME_UNLIMITED);
    assert_int_equal(taken(w, "-t 0")->req.time_limit_us, TIME_UNLIMITED);
    assert_int_equal(taken(w, "-t INFINITE")->req.time_limit_us, TIME_UNLIMITED);
    refused(w, "--time=soon", "Invalid --time specification");
    refused(w, "--time=1:2:3:4", "Invalid --time specification");
    refused(w, "--time=10 --time-min=20", "--time-min is longer");
}

static void memory_sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t mib;
    } cases[] = {{"954M", 954}, {"27G", 27648}, {"1GB", 1024},   {"512MB", 512}, {"4g", 4096},
                 {"96", 96},    {"123K", 1},    {"1T", 1048576}, {"0", MEM_ALL}};
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(taken(w, arena_printf(w->a, "--mem=%s", cases[i].text))->req.mem_per_node_mib,
                         cases[i].mib);
    assert_int_equal(taken(w, "--mem-per-cpu=2G")->req.mem_per_cpu_mib, 2048);
    assert_int_equal(taken(w, "--mem-per-gpu=16G")->req.mem_per_gpu_mib, 16384);
    assert_int_equal(taken(w, "--mem-per-cpu=0")->req.mem_per_node_mib, MEM_ALL);
    assert_int_equal(w->comp[0].spec.req.mem_per_cpu_mib, 0);
    refused(w, "--mem=lots", "Invalid --mem specification");
    refused(w, "--mem=1Q", "Invalid --mem specification");
}

static void memory_kinds_exclude_each_other(void **state)
{
    struct world *w = *state;
    refused(w, "--mem=4G --mem-per-cpu=1G", "mutually exclusive");
    refused(w, "--mem-per-gpu=4G --mem-per-cpu=1G", "mutually exclusive");
    assert_true(script_of(w, "#!/bin/sh\n#SBATCH --mem=4G\n", false));
    const char *argv[] = {"sbatch", "--mem-per-cpu=1G"};
    int rest;
    assert_true(options_parse_argv(w->comp, CMD_SBATCH, 2, (char *const *)(uintptr_t)argv, FROM_COMMAND_LINE,
                                   &w->env, w->a, &rest, &w->err));
    assert_true(options_finish(w->comp, CMD_SBATCH, w->a, &w->warnings, &w->err));
    assert_int_equal(w->comp[0].spec.req.mem_per_node_mib, 0);
    assert_int_equal(w->comp[0].spec.req.mem_per_cpu_mib, 1024);
}

static void node_counts(void **state)
{
    struct world *w = *state;
    const struct job_request *q = &taken(w, "--nodes=2-4")->req;
    assert_int_equal(q->min_nodes, 2);
    assert_int_equal(q->max_nodes, 4);
    q = &taken(w, "-N3")->req;
    assert_int_equal(q->min_nodes, 3);
    assert_int_equal(q->max_nodes, 3);
    assert_int_equal(taken(w, "-N 1k")->req.min_nodes, 1024);
    refused(w, "-N 4-2", "Maximum node count 2 is less than minimum node count 4");
    refused(w, "-N 0", "a job needs a node");
    refused(w, "-N two", "Invalid --nodes specification");
    refused(w, "-N 2,4", "not supported yet: --nodes=2,4");
    refused(w, "-N 99999999", "Invalid --nodes specification");
}

static void numbers(void **state)
{
    struct world *w = *state;
    const struct job_request *q =
        &taken(w, "-n4 -c 2 --ntasks-per-node=2 --mincpus=8 --sockets-per-node=2")->req;
    assert_int_equal(q->ntasks, 4);
    assert_int_equal(q->cpus_per_task, 2);
    assert_int_equal(q->ntasks_per_node, 2);
    assert_int_equal(q->min_cpus_per_node, 8);
    assert_int_equal(q->sockets_per_node, 2);
    assert_int_equal(taken(w, "--tasks-per-node=3")->req.ntasks_per_node, 3);
    assert_int_equal(taken(w, "--core-spec=0")->req.core_spec, 1);
    refused(w, "-n 0", "Invalid numeric value \"0\" for --ntasks");
    refused(w, "-n x", "Invalid numeric value \"x\" for --ntasks");
    refused(w, "-n 4x", "Invalid numeric value");
    refused(w, "-n 99999999999999999999", "Invalid numeric value");
    refused(w, "-c -1", "Invalid numeric value");
}

static void node_info(void **state)
{
    struct world *w = *state;
    const struct job_request *q = &taken(w, "-B 2:8:1")->req;
    assert_int_equal(q->sockets_per_node, 2);
    assert_int_equal(q->cores_per_socket, 8);
    assert_int_equal(q->threads_per_core, 1);
    q = &taken(w, "-B *:4-6")->req;
    assert_int_equal(q->sockets_per_node, 0);
    assert_int_equal(q->cores_per_socket, 4);
    refused(w, "-B 1:2:3:4", "sockets[:cores[:threads]]");
    refused(w, "-B x", "Invalid --extra-node-info specification");
}

static void tasks_follow_from_nodes(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "-N4 --ntasks-per-node=4")->req.ntasks, 16);
    assert_int_equal(taken(w, "--ntasks-per-node=4")->req.ntasks, 4);
    assert_int_equal(taken(w, "-N2-4 --ntasks-per-node=4")->req.ntasks, 0);
    assert_int_equal(taken(w, "-N2")->req.ntasks, 0);
    assert_int_equal(taken(w, "-N3 -n2")->req.min_nodes, 2);
    assert_non_null(strstr(str_text(&w->warnings), "can't run 2 processes on 3 nodes, setting nnodes to 2"));
    assert_int_equal(taken(w, "-N2 -n4")->req.min_nodes, 2);
    assert_int_equal(w->warnings.len, 0);
    refused(w, "-N 60000 --ntasks-per-node=60000", "tasks; at most");
}

static void gres_and_gpus_per_node_merge(void **state)
{
    struct world *w = *state;
    const struct job_request *q = &taken(w, "--gres=gpu:4 --gpus-per-node=4")->req;
    assert_null(q->gres);
    assert_string_equal(q->gpus_per_node, "4");
    q = &taken(w, "--gres=gpu:v100:4,nic:2 --gpus-per-node=4")->req;
    assert_string_equal(q->gres, "nic:2");
    assert_string_equal(q->gpus_per_node, "v100:4");
    q = &taken(w, "--gres=gpu:4 --gpus-per-node=V100:4")->req;
    assert_null(q->gres);
    assert_string_equal(q->gpus_per_node, "V100:4");
    assert_null(taken(w, "--gres=gpu:V100:4 --gpus-per-node=v100:4")->req.gres);
    assert_string_equal(taken(w, "--gres=nic:1 --gpus-per-node=4")->req.gres, "nic:1");
    refused(w, "--gres=gpu:4 --gpus-per-node=2", "different GPUs on each node");
    refused(w, "--gres=gpu:a100:4 --gpus-per-node=v100:4", "different GPUs on each node");
}

static void gpus_say_how_many_nodes_and_tasks(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--gpus=8 --gpus-per-node=4")->req.min_nodes, 2);
    assert_int_equal(taken(w, "--gpus=8 --gpus-per-task=2")->req.ntasks, 4);
    assert_int_equal(taken(w, "--gpus=4 --ntasks-per-gpu=2")->req.ntasks, 8);
    assert_string_equal(taken(w, "-n2 --gpus-per-task=v100:1")->req.gpus_per_task, "v100:1");
    assert_string_equal(taken(w, "-G A100|A40:2")->req.gpus, "A100|A40:2");
    assert_int_equal(taken(w, "-G1 --gpu-mem=40G")->req.gpu_mem_mib, 40960);
    refused(w, "--gpus=8 --gpus-per-node=4 -N4", "do not fit together");
    refused(w, "--gpus=7 --gpus-per-node=4", "do not fit together");
    refused(w, "--gpus-per-task=1", "needs the number of tasks");
    refused(w, "--gpus=4 --ntasks-per-gpu=1 --gpus-per-task=1", "mutually exclusive");
    refused(w, "--gpus=a:b:c", "Invalid --gpus specification");
    refused(w, "--gres=gpu:x:y", "Invalid --gres specification");
    refused(w, "--gres=help", "sinfo");
    assert_null(taken(w, "--gres=none")->req.gres);
}

static void tres_per_task(void **state)
{
    struct world *w = *state;
    const struct job_request *q = &taken(w, "-n2 --tres-per-task=cpu:3,gres/gpu:v100:1")->req;
    assert_int_equal(q->cpus_per_task, 3);
    assert_string_equal(q->gpus_per_task, "v100:1");
    assert_string_equal(taken(w, "-n2 --tres-per-task=gres/gpu=2")->req.gpus_per_task, "2");
    assert_string_equal(taken(w, "--tres-bind=gres/gpu:single:2")->gpu_bind, "single:2");
    refused(w, "-n2 --tres-per-task=gres/nic:1", "cpu:N and gres/gpu");
    refused(w, "--gpu-bind=tight", "Invalid --gpu-bind specification");
}

static void signals(void **state)
{
    struct world *w = *state;
    const struct job_spec *s = taken(w, "--signal=USR2@90");
    assert_int_equal(s->signal, 12);
    assert_int_equal(s->signal_before_us, 90 * USEC_PER_SEC);
    assert_false(s->signal_batch);
    s = taken(w, "--signal B:USR2@30");
    assert_true(s->signal_batch);
    s = taken(w, "--signal=10");
    assert_int_equal(s->signal, 10);
    assert_int_equal(s->signal_before_us, 60 * USEC_PER_SEC);
    assert_true(taken(w, "--signal=RB:SIGTERM@5")->signal_batch);
    assert_non_null(strstr(w->comp[0].no_effect, "--signal=R:"));
    refused(w, "--signal=X:USR1", "before the signal");
    refused(w, "--signal=NOPE", "Invalid --signal specification");
    refused(w, "--signal=USR1@99999", "Invalid numeric value");
}

static void begin_and_deadline(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--begin=now+1hour")->begin_us, TEST_NOW + USEC_PER_HOUR);
    assert_int_equal(taken(w, "--begin=16:00")->begin_us, TEST_NOW + 6 * USEC_PER_HOUR);
    assert_int_equal(taken(w, "--begin=2026-03-03T10:00:00")->begin_us, TEST_NOW + USEC_PER_DAY);
    assert_int_equal(taken(w, "--deadline=now+2days")->deadline_us, TEST_NOW + 2 * USEC_PER_DAY);
    refused(w, "--begin=someday", "Invalid --begin specification");
}

static void dependencies_and_arrays(void **state)
{
    struct world *w = *state;
    assert_string_equal(taken(w, "-d afterok:12:13_4,singleton")->dependency, "afterok:12:13_4,singleton");
    assert_string_equal(taken(w, "-d 12:13")->dependency, "afterany:12:13");
    assert_string_equal(taken(w, "-a 0-15:4,20%5")->array, "0-15:4,20%5");
    assert_int_equal(taken(w, "--kill-on-invalid-dep=yes")->kill_on_invalid_dep, YES);
    refused(w, "-d afterburstbuffer:1", "afterburstbuffer");
    refused(w, "-d sometime:1", "Invalid --dependency specification");
    refused(w, "-a 5-1", "Invalid --array specification");
    refused(w, "-a 0-2147483648", "Invalid --array specification");
}

static void mail(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--mail-type=NONE")->mail_types, 0);
    assert_int_equal(taken(w, "--mail-type=END,fail")->mail_types, MAIL_END | MAIL_FAIL);
    assert_int_equal(taken(w, "--mail-type=ALL,TIME_LIMIT_80")->mail_types,
                     MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_INVALID_DEPEND | MAIL_REQUEUE | MAIL_STAGE_OUT |
                         MAIL_TIME_LIMIT_80);
    refused(w, "--mail-type=SOMETIMES", "Invalid --mail-type specification");
}

static void attached_values_only(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--exclusive")->req.exclusive, EXCLUSIVE_NODE);
    assert_int_equal(taken(w, "--exclusive=user")->req.exclusive, EXCLUSIVE_USER);
    assert_int_equal(taken(w, "--exclusive=topo")->req.exclusive, EXCLUSIVE_TOPO);
    refused(w, "--exclusive=mcs", "no MCS labels");
    refused(w, "--exclusive=you", "Invalid --exclusive specification");
    assert_int_equal(taken(w, "--nice")->nice, 100);
    assert_int_equal(taken(w, "--nice=-5")->nice, -5);
    assert_true(taken(w, "-k")->no_kill);
    assert_false(taken(w, "--no-kill=off")->no_kill);
    refused(w, "--no-kill=maybe", "off");
    assert_true(options_of(w, CMD_SRUN, "-I5"));
    assert_int_equal(w->comp[0].immediate_us, 5 * USEC_PER_SEC);
    assert_true(options_of(w, CMD_SALLOC, "-I"));
    assert_true(w->comp[0].immediate);
}

static void the_later_of_two_that_set_the_same(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--requeue --no-requeue")->requeue, NO);
    assert_int_equal(taken(w, "--no-requeue --requeue")->requeue, YES);
    assert_true(taken(w, "--exclusive --oversubscribe")->req.oversubscribe);
    assert_int_equal(w->comp[0].spec.req.exclusive, EXCLUSIVE_UNSET);
    assert_int_equal(taken(w, "-n2 -n3")->req.ntasks, 3);
}

static void paths_and_modes(void **state)
{
    struct world *w = *state;
    const struct job_spec *s = taken(w, "-o %x-%j.out -e none -i none --open-mode=append -D /tmp");
    assert_string_equal(s->std_out, "%x-%j.out");
    assert_string_equal(s->std_err, "/dev/null");
    assert_string_equal(s->std_in, "/dev/null");
    assert_int_equal(s->open_mode, OPEN_APPEND);
    assert_string_equal(s->work_dir, "/tmp");
    assert_int_equal(taken(w, "--open-mode=t")->open_mode, OPEN_TRUNCATE);
    refused(w, "--open-mode=sideways", "append and truncate");
    assert_string_equal((taken(w, "-w /tmp/hosts"), w->comp[0].nodefile), "/tmp/hosts");
    refused(w, "-w gpu[1-", "Invalid --nodelist specification");
}

static void environment_options(void **state)
{
    struct world *w = *state;
    assert_true(taken(w, "--get-user-env")->get_user_env);
    assert_string_equal((taken(w, "--get-user-env=10L"), w->comp[0].get_user_env), "10L");
    refused(w, "--get-user-env=10X", "seconds and S or L");
    assert_string_equal((taken(w, "--propagate"), w->comp[0].propagate), "");
    assert_string_equal((taken(w, "--propagate=STACK,NOFILE"), w->comp[0].propagate), "STACK,NOFILE");
    refused(w, "--propagate=FOO", "\"FOO\" is no limit");
}

static void hints_and_layouts(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--hint=nomultithread")->req.hint, HINT_NOMULTITHREAD);
    refused(w, "--hint=lucky", "compute_bound");
    assert_int_equal(taken(w, "--hint=nomultithread --threads-per-core=1")->req.hint, HINT_UNSET);
    assert_non_null(strstr(w->comp[0].spec.no_effect, "--hint: "));
    assert_int_equal(w->comp[0].spec.req.threads_per_core, 1);
    refused(w, "--cpus-per-task=2 --cpus-per-gpu=2", "mutually exclusive");
    assert_string_equal(taken(w, "-m block:cyclic,Pack")->req.distribution, "block:cyclic,Pack");
    assert_string_equal(taken(w, "-m plane=4")->req.distribution, "plane=4");
    refused(w, "-m plane=x", "Invalid --distribution specification");
    refused(w, "-m random", "Invalid --distribution specification");
    refused(w, "-m wherever", "arbitrary, block, cyclic");
    const struct job_request *q = &taken(w, "--switches=1@10:00")->req;
    assert_int_equal(q->switches, 1);
    assert_int_equal(q->switches_wait_us, 600 * USEC_PER_SEC);
}

static void without_effect(void **state)
{
    struct world *w = *state;
    taken(w, "--reboot --gres-flags=enforce-binding --acctg-freq=task=1");
    assert_non_null(strstr(w->comp[0].spec.no_effect, "--reboot: "));
    assert_non_null(strstr(w->comp[0].spec.no_effect, "--gres-flags: "));
    assert_null(taken(w, "-n1")->no_effect);
    refused(w, "--gres-flags=foo", "Invalid --gres-flags specification");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        T(time_limits),
        T(memory_sizes),
        T(memory_kinds_exclude_each_other),
        T(node_counts),
        T(numbers),
        T(node_info),
        T(tasks_follow_from_nodes),
        T(gres_and_gpus_per_node_merge),
        T(gpus_say_how_many_nodes_and_tasks),
        T(tres_per_task),
        T(signals),
        T(begin_and_deadline),
        T(dependencies_and_arrays),
        T(mail),
        T(attached_values_only),
        T(the_later_of_two_that_set_the_same),
        T(paths_and_modes),
        T(environment_options),
        T(hints_and_layouts),
        T(without_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
