/* What a job finds in its environment, and how a LAUNCH becomes a plan. */
#include "unit.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "model/env/job_env.h"
#include "model/env/later_env.h"
#include "model/env/lsf_report.h"
#include "model/grammar/script_args.h"
#include "node/daemon/launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena *arena;
static struct job job;
static struct job_env env;
static struct str out;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    job = (struct job){.id = 42,
                       .attempt = 1,
                       .array_task_id = NO_TASK,
                       .user_id = 1000,
                       .group_id = 100,
                       .nodes = "n1"};
    job.spec.name = "train";
    job.spec.work_dir = "/work";
    env = (struct job_env){.job = &job, .node = "n1", .hostname = "host1", .user = "ada"};
    out = STR_INIT;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    str_done(&out);
    arena_free(arena);
    return 0;
}

static void make(const char *alloc)
{
    static struct alloc al;
    struct err err = {0};
    if (!alloc_parse(alloc, arena, &al, &err))
        fail_msg("%s", err.text);
    env.alloc = &al;
    str_clear(&out);
    job_env_batch(&env, &out);
}

/* Value, or NULL; fails when a name is there twice. */
static const char *get(const char *name)
{
    const char *found = NULL;
    size_t len = strlen(name);
    for (const char *at = out.data; at < out.data + out.len; at += strlen(at) + 1) {
        if (strncmp(at, name, len) != 0 || at[len] != '=')
            continue;
        assert_null(found);
        found = at + len + 1;
    }
    return found;
}

// clang-format off
#define HAS(name, value)                                                                                     \
    do {                                                                                                     \
        if (!get(name))                                                                                      \
            fail_msg("%s is not set", name);                                                                 \
        assert_string_equal(get(name), value);                                                               \
    } while (0)
// clang-format on
#define HAS_NOT(name) assert_null(get(name))

static void test_a_plain_job(void **state)
{
    (void)state;
    make("n1 cpus=0-1 mem=800");
    HAS("SLURM_JOB_ID", "42");
    HAS("SLURM_JOBID", "42");
    HAS("SLURM_JOB_NAME", "train");
    HAS("SLURM_JOB_NODELIST", "n1");
    HAS("SLURM_NODELIST", "n1");
    HAS("SLURM_NNODES", "1");
    HAS("SLURM_JOB_NUM_NODES", "1");
    HAS("SLURM_JOB_CPUS_PER_NODE", "2");
    HAS("SLURM_CPUS_ON_NODE", "2");
    HAS("SLURM_TASKS_PER_NODE", "2"); /* nobody said how many: as the CPUs have room for */
    HAS("SLURM_MEM_PER_NODE", "800");
    HAS("SLURM_JOB_USER", "ada");
    HAS("SLURM_PROCID", "0");
    HAS("ENVIRONMENT", "BATCH");
    HAS("HOSTNAME", "host1");
    HAS("TMPDIR", "/tmp");
    HAS("SLURM_SUBMIT_DIR", "/work");
    HAS("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    /* only when asked for, or else frameworks take wrong values */
    HAS_NOT("SLURM_NTASKS");
    HAS_NOT("SLURM_NPROCS");
    HAS_NOT("SLURM_NTASKS_PER_NODE");
    HAS_NOT("SLURM_CPUS_PER_TASK");
    HAS_NOT("SLURM_RESTART_COUNT");
    HAS_NOT("SLURM_ARRAY_JOB_ID");
    HAS_NOT("SLURM_JOB_END_TIME");
    HAS_NOT("CUDA_VISIBLE_DEVICES");
    HAS_NOT("RANK");
}

static void test_what_was_asked(void **state)
{
    (void)state;
    job.spec.array = "2-8:2%1";
    job.array_job_id = 42;
    job.array_task_id = 4;
    job.spec.req.ntasks = 1;
    job.spec.req.hint = HINT_NOMULTITHREAD;
    job.spec.req.distribution = "*:*:fcyclic,pack";
    job.spec.profile = "task,energy";
    job.spec.mem_bind = "v,prefer,map_mem:0x0,1";
    job.spec.req.constraint = "old";
    make("n1 cpus=0-3 mem=800");
    HAS("SLURM_TASKS_PER_NODE", "1");
    HAS("SLURM_THREADS_PER_CORE", "1");
    HAS("SLURM_DISTRIBUTION", "block:cyclic:fcyclic,pack");
    HAS("SLURM_PROFILE", "Energy,Task");
    HAS("SLURM_MEM_BIND", "verbose,prefer,map_mem:0,1");
    HAS("SLURM_MEM_BIND_VERBOSE", "verbose");
    HAS("SBATCH_MEM_BIND_LIST", "0,1");
    HAS("SLURM_ARRAY_TASK_STEP", "2");
    HAS_NOT("SLURM_MEM_BIND_TYPE");   /* of steps alone */
    HAS_NOT("SLURM_JOB_CONSTRAINTS"); /* of Prolog and Epilog */
}

static void test_several_nodes(void **state)
{
    (void)state;
    job.nodes = "n[1-4]";
    job.alloc_nodes = 4;
    job.alloc_tasks = 7;
    job.spec.req.ntasks = 7;
    job.spec.req.ntasks_per_node = 2;
    job.spec.req.cpus_per_task = 3;
    job.spec.req.mem_per_cpu_mib = 100;
    make("n1 cpus=0-5 mem=600 tasks=2; n2 cpus=0-5 mem=600 tasks=2; n3 cpus=0-5 mem=600 tasks=2; "
         "n4 cpus=0-2 "
         "mem=300 tasks=1");
    HAS("SLURM_JOB_CPUS_PER_NODE", "6(x3),3");
    HAS("SLURM_TASKS_PER_NODE", "2(x3),1");
    HAS("SLURM_NTASKS", "7");
    HAS("SLURM_NPROCS", "7");
    HAS("SLURM_NTASKS_PER_NODE", "2");
    HAS("SLURM_CPUS_PER_TASK", "3");
    HAS("SLURM_MEM_PER_CPU", "100");
    HAS_NOT("SLURM_MEM_PER_NODE");
    HAS("SLURM_NNODES", "4");
}

static void test_gpus(void **state)
{
    (void)state;
    job.spec.req.gpus_per_node = "v100:2";
    make("n1 cpus=0 mem=1 gpu:v100=0,3");
    HAS("SLURM_JOB_GPUS", "0,3");
    HAS("SLURM_GPUS_ON_NODE", "2");
    HAS("SLURM_GPUS_PER_NODE", "v100:2");
    HAS("CUDA_VISIBLE_DEVICES", "0,3");
    HAS("ROCR_VISIBLE_DEVICES", "0,3");
    HAS("HIP_VISIBLE_DEVICES", "0,1");
    HAS("GPU_DEVICE_ORDINAL", "0,3");
    /* Of two types: in the order of their numbers */
    make("n1 cpus=0 mem=1 gpu:t4=2,3 gpu:v100=0");
    HAS("SLURM_JOB_GPUS", "0,2,3");
    HAS("SLURM_GPUS_ON_NODE", "3");
    HAS("CUDA_VISIBLE_DEVICES", "0,2,3");
}

static void test_a_job_without_gpus_sees_none(void **state)
{
    (void)state;
    static const char exported[] = "CUDA_VISIBLE_DEVICES=0,1,2,3";
    env.exported = (struct blob){exported, sizeof exported};
    env.has_gpus = true;
    make("n1 cpus=0 mem=1");
    HAS("CUDA_VISIBLE_DEVICES", "NoDevFiles");
    env.has_gpus = false;
    make("n1 cpus=0 mem=1");
    HAS("CUDA_VISIBLE_DEVICES", "0,1,2,3");
}

static void test_an_array_element(void **state)
{
    (void)state;
    job.array_job_id = 40;
    job.array_task_id = 8;
    job.spec.array = "0-15:4%2";
    make("n1 cpus=0 mem=1");
    HAS("SLURM_ARRAY_JOB_ID", "40");
    HAS("SLURM_ARRAY_TASK_ID", "8");
    HAS("SLURM_ARRAY_TASK_COUNT", "4");
    HAS("SLURM_ARRAY_TASK_MIN", "0");
    HAS("SLURM_ARRAY_TASK_MAX", "12");
    HAS("SLURM_ARRAY_TASK_STEP", "4");
}

static void test_exported_variables(void **state)
{
    (void)state;
    static const char exported[] = "PATH=/my/bin\0A=b=c\0SLURM_JOB_ID=1\0HOME=/h\0USER=me\0TMPDIR=/"
                                   "scratch\0SLURM_SUBMIT_DIR=/sub\0noequals\0"
                                   "BASH_FUNC_module%%=() { echo x\n}";
    env.exported = (struct blob){exported, sizeof exported};
    env.bin_dir = "/opt/remuda/bin";
    env.home = "/home/ada";
    make("n1 cpus=0 mem=1");
    HAS("PATH", "/opt/remuda/bin:/my/bin");
    HAS("A", "b=c");
    HAS("SLURM_JOB_ID", "42");
    HAS("HOME", "/h");
    HAS("USER", "me");
    HAS("TMPDIR", "/scratch");
    HAS("SLURM_SUBMIT_DIR", "/sub");
    HAS("BASH_FUNC_module%%", "() { echo x\n}");
    static const char again[] = "PATH=/a:/opt/remuda/bin:/b";
    env.exported = (struct blob){again, sizeof again};
    make("n1 cpus=0 mem=1");
    HAS("PATH", "/a:/opt/remuda/bin:/b");
    HAS("HOME", "/home/ada");
}

/* Behind the list of who makes his frames by hand are those of others. */
static void test_nothing_behind_the_exported_variables_is_read(void **state)
{
    (void)state;
    static const char exported[] = "B=1\0A=xSECRET=of another\0PATH=/his\0NCPUS=7\0";
    job.spec.dialect = DIALECT_PBS;
    job.spec.dialect_site = "pro:pbs";
    env.exported = (struct blob){exported, 7};
    make("n1 cpus=0 mem=1");
    HAS("B", "1");
    assert_null(get("A"));
    assert_null(get("SECRET"));
    HAS("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    HAS("NCPUS", "1");
    struct blob over = later_env_over(env.exported, "C=2\n", arena);
    assert_int_equal(over.len, 8);
    assert_memory_equal(over.data, "B=1\0C=2", 8);
}

static void test_restarts_limits_and_the_cluster(void **state)
{
    (void)state;
    job.restarts = 2;
    job.start_us = 1000 * USEC_PER_SEC;
    job.limit_us = 60 * USEC_PER_SEC;
    env.state_dir = "/var/lib/remuda";
    env.cluster_name = "stable";
    make("n1 cpus=0 mem=1");
    HAS("SLURM_RESTART_COUNT", "2");
    HAS("SLURM_JOB_START_TIME", "1000");
    HAS("SLURM_JOB_END_TIME", "1060");
    HAS("SLURM_CONF", "/var/lib/remuda/remuda.conf");
    HAS("REMUDA_STATE", "/var/lib/remuda");
    HAS("SLURM_CLUSTER_NAME", "stable");
}

/* ---- plans ---- */

static struct msg_node_welcome settings = {
    .constrain_ram = true, .constrain_cores = true, .accounting_freq_us = 5};

static bool plan(struct step_plan *ret, struct err *err)
{
    struct owner owner = {.uid = job.user_id, .gid = job.group_id, .name = "ada"};
    struct launch_site site = {.node = "n1",
                               .hostname = "n1",
                               .node_dir = "/s/nodes/n1",
                               .state_dir = "/s",
                               .welcome = &settings,
                               .cpu_numbers = "0,2,1,3",
                               .is_root = true};
    struct msg_launch l = {.job = {&job, 1}, .step_id = STEP_BATCH, .script = {"x", 1}};
    return launch_plan(&site, &l, &owner, arena, ret, err);
}

static void test_output_files_of_a_plan(void **state)
{
    (void)state;
    struct step_plan p;
    assert_true(plan(&p, NULL));
    assert_string_equal(p.std_out, "slurm-42.out");
    assert_null(p.std_err);
    assert_null(p.std_in);
    assert_string_equal(p.dir_name, "42.1.batch");
    job.array_job_id = 40;
    job.array_task_id = 3;
    job.spec.std_err = "%x/%u-%N-%4j.err";
    assert_true(plan(&p, NULL));
    assert_string_equal(p.std_out, "slurm-40_3.out");
    assert_string_equal(p.std_err, "train/ada-n1-0042.err");
}

/* What stands in the report is lines of a name and a value: a job's own name makes none. */
static void test_a_name_of_two_lines_in_a_report(void **state)
{
    (void)state;
    job.spec.name = "train\nnode of another";
    job.array_job_id = 40;
    job.array_task_id = 3;
    lsf_report_begin(&env, &out);
    assert_non_null(strstr(str_text(&out), "\nname train node of another[3]\nfrom \n"));
    assert_null(strstr(str_text(&out), "\nnode of"));
}

/* The shepherds' parent, who starts the steps of everybody, takes none that is larger. */
static void test_a_plan_that_is_too_large(void **state)
{
    (void)state;
    struct step_plan p;
    struct err err = {0};
    size_t len = STEP_PLAN_MAX;
    char *shell = calloc(1, len + 1);
    assert_non_null(shell);
    job.spec.shell = memset(shell, 'x', len);
    assert_false(plan(&p, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "step 42.batch is too large to start on n1"));
    shell[len / 2] = '\0';
    assert_true(plan(&p, NULL));
    job.spec.shell = NULL;
    free(shell);
}

/* Of a job with millions of tasks a line for each would be as long as the memory. */
static void test_hosts_of_very_many_tasks(void **state)
{
    (void)state;
    struct step_plan p;
    struct err err = {0};
    struct alloc al;
    job.spec.dialect = DIALECT_LSF;
    job.spec.req.ntasks = 5000000;
    job.alloc = "n1 cpus=0 tasks=5000000 mem=1";
    assert_true(plan(&p, NULL));
    assert_int_equal(p.hosts.len, 15000000);
    job.spec.req.ntasks = 2147483647;
    job.alloc = "n1 cpus=0 tasks=2147483647 mem=1";
    assert_false(plan(&p, &err));
    assert_non_null(strstr(err.text, "job 42 has too many tasks"));
    assert_true(alloc_parse(job.alloc, arena, &al, NULL));
    env.alloc = &al;
    assert_false(job_env_hosts(&env, &out));
    assert_null(out.data);
    make(job.alloc);
    assert_null(get("LSB_HOSTS"));
    HAS("LSB_MCPU_HOSTS", "n1 2147483647");
}

static void test_resources_of_a_plan(void **state)
{
    (void)state;
    struct step_plan p;
    job.alloc = "n1 cpus=1-2 mem=300";
    assert_true(plan(&p, NULL));
    assert_string_equal(p.cpus, "2,1"); /* as the system numbers them */
    assert_true(p.mem_limit_bytes == INT64_C(300) << 20);
    job.alloc = "n1 cpus=2-5 mem=300"; /* more than the machine has: not pinned */
    assert_true(plan(&p, NULL));
    assert_null(p.cpus);
    settings.constrain_ram = false;
    assert_true(plan(&p, NULL));
    assert_true(p.mem_limit_bytes == 0);
    assert_int_equal(p.sample_us, settings.accounting_freq_us);
    job.spec.sample_s_plus1 = 11; /* --acctg-freq=10 */
    assert_true(plan(&p, NULL));
    assert_int_equal(p.sample_us, 10 * USEC_PER_SEC);
    job.spec.sample_s_plus1 = 1; /* none but at the end */
    assert_true(plan(&p, NULL));
    assert_int_equal(p.sample_us, 0);
    job.spec.sample_s_plus1 = 0;
    settings.constrain_ram = true;
    job.alloc = "nonsense=";
    struct err err = {0};
    assert_false(plan(&p, &err));
    assert_non_null(strstr(err.text, "job 42"));
}

static void test_arguments_of_a_plan(void **state)
{
    (void)state;
    struct step_plan p;
    struct str args = STR_INIT;
    script_args_add(&args, "two words");
    script_args_add(&args, "");
    script_args_add(&args, "a\nb");
    job.spec.script_args = str_text(&args);
    assert_true(plan(&p, NULL));
    static const char wanted[] = "two words\0\0a\nb";
    assert_int_equal(p.args.len, sizeof wanted);
    assert_memory_equal(p.args.data, wanted, sizeof wanted);
    str_done(&args);
}

/* What comes later goes over what was there; of what came later the newest stays. */
static void test_variables_that_come_later(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    static const char first[] = "B=2\0C=x\ny\\", second[] = "B=\0D=4=5";
    static const char submitted[] = "A=1\0B=1\0BB=1";
    const char *later =
        later_env_add(NULL, later_env_pack((struct blob){first, sizeof first}, a), a);
    assert_string_equal(later, "B=2\nC=x\\ny\\\\\n");
    later = later_env_add(later, later_env_pack((struct blob){second, sizeof second}, a), a);
    struct blob all = later_env_over((struct blob){submitted, sizeof submitted}, later, a);
    static const char want[] = "A=1\0BB=1\0C=x\ny\\\0B=\0D=4=5";
    assert_int_equal(all.len, sizeof want);
    assert_memory_equal(all.data, want, sizeof want);
    all = later_env_over((struct blob){submitted, sizeof submitted}, NULL, a);
    assert_ptr_equal(all.data, submitted);
    assert_null(later_env_add(NULL, later_env_pack((struct blob){0}, a), a));
    all = later_env_over((struct blob){0}, "A=1\n", a);
    assert_string_equal(all.data, "A=1");
    arena_free(a);
}

/* As many as a message holds, on both sides: what they cost grows with their number, not its
 * square, which would be hours. */
static void test_very_many_variables(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    const size_t n = 4u << 20, later_n = 32768;
    char *many = arena_alloc(a, 2 * n), *later = arena_alloc(a, 3 * later_n + 1);
    for (size_t i = 0; i < n; i++)
        many[2 * i] = 'b', many[2 * i + 1] = '\0';
    for (size_t i = 0; i < later_n; i++)
        memcpy(later + 3 * i, (char[]){(char)('c' + i % 20), '=', '\n'}, 3);
    later[3 * later_n] = '\0';
    struct blob all = later_env_over((struct blob){many, 2 * n}, later, a);
    assert_int_equal(all.len, 2 * n + 20 * 3);
    const char *once = later_env_add(later, later, a);
    assert_int_equal(strlen(once), 20 * 3);
    arena_free(a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_plain_job),
        TEST(what_was_asked),
        TEST(several_nodes),
        TEST(gpus),
        TEST(a_job_without_gpus_sees_none),
        TEST(an_array_element),
        TEST(exported_variables),
        TEST(nothing_behind_the_exported_variables_is_read),
        TEST(restarts_limits_and_the_cluster),
        TEST(output_files_of_a_plan),
        TEST(a_name_of_two_lines_in_a_report),
        TEST(a_plan_that_is_too_large),
        TEST(hosts_of_very_many_tasks),
        TEST(resources_of_a_plan),
        TEST(arguments_of_a_plan),
        TEST(variables_that_come_later),
        TEST(very_many_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
