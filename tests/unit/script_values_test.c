/* What each kind of value may look like, and what becomes of it (spec/guides.md 0.6,
 * spec/clients.md edges 15–20). */
#include "script_help.h"

#include "model/limits.h"

#include <stdio.h>

static void time_limits(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"5", 300},
        {"90:00", 5400},
        {"1:0:0", 3600},
        {"00:05:00", 300},
        {"100:00:00", 360000},
        {"24:00", 1440},
        {"2-0", 172800},
        {"1-12", 129600},
        {"1-12:30", 131400},
        {"3-05:10:10", 277810},
        {"0:30", 30},
        {"15:30", 930},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(
            taken(w, arena_printf(w->a, "--time=%s", cases[i].text))->req.time_limit_us,
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
        assert_int_equal(
            taken(w, arena_printf(w->a, "--mem=%s", cases[i].text))->req.mem_per_node_mib,
            cases[i].mib);
    assert_int_equal(taken(w, "--mem-per-cpu=2G")->req.mem_per_cpu_mib, 2048);
    assert_int_equal(taken(w, "--mem-per-gpu=16G --gpus=1")->req.mem_per_gpu_mib, 16384);
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
    assert_true(options_parse_argv(w->comp, CMD_SBATCH, 2, (char *const *)(uintptr_t)argv,
                                   FROM_COMMAND_LINE, &w->env, w->a, &rest, &w->err));
    assert_true(options_finish(w->comp, CMD_SBATCH, w->a, &w->warnings, &w->err));
    assert_int_equal(w->comp[0].spec.req.mem_per_node_mib, 0);
    assert_int_equal(w->comp[0].spec.req.mem_per_cpu_mib, 1024);
}

static void words_that_are_checked(void **state)
{
    static const char *const good[] = {
        "-m *",
        "-m *:block",
        "-m pack",
        "-m NoPack",
        "-m block:cyclic,Pack",
        "-m plane=2",
        "--acctg-freq=10",
        "--acctg-freq=task=10,energy=5,network=5,filesystem=5",
        "--cpu-freq=highm1",
        "--cpu-freq=1000-2000:Performance",
        "--cpu-freq=low-high",
        "--cpu-freq=OnDemand",
        "--gpu-freq=memory=high,verbose",
        "--gpu-freq=450",
        "--gpu-bind=map_gpu:0,1",
        "--gpu-bind=mask_gpu:0x3,0x1",
        "--gpu-bind=per_task:2",
        "--wait-all-nodes=1",
        "--delay-boot=1:00",
        "--thread-spec=1",
        "--mail-type=END,NONE",
    };
    static const struct {
        const char *words, *lead;
    } bad[] = {
        {"-m plane=0", "error: Invalid plane size or size not specified"},
        {"-m block,foo", "error: Invalid --distribution specification"},
        {"--acctg-freq=task=10,bad", "error: Invalid --acctg-freq specification: bad"},
        {"--acctg-freq=foo=10", "error: Invalid --acctg-freq specification: foo=10"},
        {"--gres=gpu:v100:1,gpu:2",
         "error: Invalid GRES specification (with and without type identification)"},
        {"--gpus=2,v100:1",
         "error: Invalid GRES specification (with and without type identification)"},
        {"--cpu-freq=foo", "error: unrecognized --cpu-freq argument \"foo\""},
        {"--cpu-freq=2000-1000", "error: min cpu-frec (2000) must be < max cpu-freq (1000)"},
        {"--cpu-freq=1000:foo", "error: gov on cpu-frec (foo) illegal without max"},
        {"--gpu-freq=foo", "error: Invalid --gpu-freq argument: gpu:foo"},
        {"--gpu-bind=map_gpu:x", "error: Invalid --gpu-bind argument: gpu:map_gpu:x"},
        {"--gpu-bind=per_task:x", "error: Invalid --gpu-bind argument: gpu:per_task:x"},
        {"--wait-all-nodes=2", "error: Invalid --wait-all-nodes specification"},
        {"--wait-all-nodes=x", "error: Invalid numeric value \"x\" for --wait-all-nodes."},
        {"--thread-spec=1 -S1",
         "fatal: -S/--core-spec and --thred-spec options are mutually exclusive"},
        {"--switches=0", "error: Invalid numeric value \"0\" for --switches."},
        {"-N x", "error: \"x\" is not a valid node count"},
        {"--nice=2147483646", "error: Invalid --nice value, out of range (+/- 2147483645)"},
        {"--priority=-1", "error: Priority must be >= 0"},
        {"--priority=4294967294", "error: Priority must be < 4294967294"},
        {"--hint=foo", "error: unrecognized --hint argument \"foo\", see --hint=help"},
        {"--profile=foo", "error: invalid --profile=foo option"},
        {"--propagate=foo", "error: Bad rlimit name: foo"},
        {"--requeue=expedite", "newer than Slurm 25.05"},
        {"--runtime=5", "newer than Slurm 25.05"},
        {"--running-over=5", "newer than Slurm 25.05"},
        {"--resources=x", "newer than Slurm 25.05"},
        {"--mem-update=100", "newer than Slurm 25.05"},
        {"--mem=1 --mem-per-cpu=1",
         "fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."},
        {"--time-min=15 -t10",
         "refused: Invalid time-min specification (exceeds job's time or other limits)"},
        {"--deadline=now+10minutes --begin=now+1hour",
         "error: Incompatible begin and deadline time specification"},
        {"-w n[1", "refused: Invalid node name specified"},
        {"-a 3-1", "refused: Invalid job array specification"},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        taken(*state, good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refused(*state, bad[i].words, bad[i].lead);
    assert_int_equal(taken(*state, "--priority=TOP")->priority_asked, PRIORITY_TOP);
    assert_int_equal(taken(*state, "--mail-type=NONE,END")->mail_types, 0);
}

/* A number and how often it is to be taken: without either, or never, steps were bound to
 * something else. */
static void lists_of_places(void **state)
{
    static const char *const lists[] = {"--mem-bind=map_mem:", "--mem-bind=mask_mem:",
                                        "--gpu-bind=map_gpu:", "--gpu-bind=mask_gpu:"};
    static const char *const good[] = {"0", "0*1", "0x1*10", "1*02"};
    static const char *const bad[] = {"0*", "0*0", "*4", "0*00", "1**2", "0*1*2", "0*x", "*"};
    char words[64];
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (size_t i = 0; i < ARRAY_LEN(good) + 2 * ARRAY_LEN(bad); i++) {
            size_t b = i - ARRAY_LEN(good);
            bool is_good = i < ARRAY_LEN(good);
            snprintf(words, sizeof words, "%s%s%s", lists[l], !is_good && b % 2 ? "1," : "",
                     is_good ? good[i] : bad[b / 2]);
            if (is_good)
                taken(*state, words);
            else
                refused(*state, words, "error: ");
        }
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
    refused(w, "--signal=BB:USR1", "before the signal");
    refused(w, "--signal=NOPE", "Invalid --signal specification");
    refused(w, "--signal=USR1@99999", "error: Invalid --signal specification");
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
    assert_string_equal(taken(w, "-d afterok:12:13_4,singleton")->dependency,
                        "afterok:12:13_4,singleton");
    assert_string_equal(taken(w, "-d 12:13")->dependency, "afterany:12:13");
    assert_string_equal(taken(w, "-a 0-15:4,20%5")->array, "0-15:4,20%5");
    assert_int_equal(taken(w, "--kill-on-invalid-dep=yes")->kill_on_invalid_dep, YES);
    refused(w, "-d afterburstbuffer:1", "afterburstbuffer");
    refused(w, "-d sometime:1", "refused: Job dependency problem");
    refused(w, "-a 5-1", "refused: Invalid job array specification");
    refused(w, "-a 0-2147483648", "refused: Invalid job array specification");
}

static void mail(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--mail-type=NONE")->mail_types, 0);
    assert_int_equal(taken(w, "--mail-type=END,fail")->mail_types, MAIL_END | MAIL_FAIL);
    assert_int_equal(taken(w, "--mail-type=ALL,TIME_LIMIT_80")->mail_types,
                     MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_INVALID_DEPEND | MAIL_REQUEUE |
                         MAIL_STAGE_OUT | MAIL_TIME_LIMIT_80);
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
    assert_string_equal((taken(w, "-x ./hosts"), w->comp[0].exclude_file), "./hosts");
    assert_string_equal(taken(w, "-x ./hosts -x n1")->req.exclude, "n1");
    assert_null(w->comp[0].exclude_file);
    refused(w, "-w gpu[1-", "refused: Invalid node name specified");
}

static void environment_options(void **state)
{
    struct world *w = *state;
    assert_true(taken(w, "--get-user-env")->get_user_env);
    assert_string_equal((taken(w, "--get-user-env=10L"), w->comp[0].get_user_env), "10L");
    refused(w, "--get-user-env=10X", "seconds and S or L");
    assert_string_equal((taken(w, "--propagate"), w->comp[0].propagate), "");
    assert_string_equal((taken(w, "--propagate=STACK,NOFILE"), w->comp[0].propagate),
                        "STACK,NOFILE");
    refused(w, "--propagate=FOO", "error: Bad rlimit name: FOO");
}

static void sampling(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--acctg-freq=10")->sample_s_plus1, 11);
    assert_int_equal(taken(w, "--acctg-freq=energy=5,task=0")->sample_s_plus1, 1);
    assert_int_equal(taken(w, "--acctg-freq=energy=5")->sample_s_plus1, 0);
    assert_null(taken(w, "--acctg-freq=task=10")->no_effect);
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
    taken(w, "--reboot --gres-flags=enforce-binding");
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
        T(words_that_are_checked),
        T(lists_of_places),
        T(signals),
        T(begin_and_deadline),
        T(dependencies_and_arrays),
        T(mail),
        T(attached_values_only),
        T(the_later_of_two_that_set_the_same),
        T(paths_and_modes),
        T(environment_options),
        T(hints_and_layouts),
        T(sampling),
        T(without_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
