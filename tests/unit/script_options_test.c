/* The option table itself, and the ways into it: command lines and the environment. */
#include "script_help.h"

static int rest_of(struct world *w, int argc, const char *const argv[])
{
    int rest = -1;
    world_clear(w);
    if (!options_parse_argv(w->comp, CMD_SBATCH, argc, (char *const *)(uintptr_t)argv,
                            FROM_COMMAND_LINE, &w->env, w->a, &rest, &w->err))
        fail_msg("refused: %s", w->err.text);
    return rest;
}

static void every_row_is_whole(void **state)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        assert_int_equal(option_index(row), i);
        assert_non_null(row->doc);
        assert_int_not_equal(row->commands & CMD_ALL, 0);
        if (row->support == SUPPORT_REFUSED)
            assert_null(row->set);
        else
            assert_non_null(row->set);
        if (row->support != SUPPORT_HONOURED)
            assert_non_null(row->why);
        if (row->arg == ARG_REQUIRED)
            assert_non_null(row->metavar);
        if (row->rival)
            assert_non_null(option_named(row->rival, row->commands));
    }
    assert_in_range(option_count(), 150, OPTION_MAX);
}

static void no_name_and_no_letter_twice(void **state)
{
    const struct option_row *a, *b;
    for (size_t i = 0; (a = option_at(i)); i++) {
        for (size_t k = i + 1; (b = option_at(k)); k++) {
            if (!(a->commands & b->commands))
                continue;
            assert_string_not_equal(a->name, b->name);
            if (a->letter && a->letter == b->letter)
                fail_msg("-%c is --%s and --%s", a->letter, a->name, b->name);
        }
    }
}

/* sbatch(1), salloc(1), srun(1) of Slurm 22.05 to 25.05. */
static void whole_manual_is_there(void **state)
{
    static const char *const sbatch =
        "account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment "
        "consolidate-segments constraint container "
        "container-id contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task "
        "deadline "
        "delay-boot dependency distribution "
        "error exclude exclusive export export-file extra extra-node-info get-user-env gid "
        "gpu-bind gpu-freq "
        "gpus gpus-per-node "
        "gpus-per-socket gpus-per-task gres gres-flags help hint hold ignore-pbs input job-name "
        "kill-on-invalid-dep licenses mail-type "
        "mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nice no-kill "
        "no-requeue "
        "nodefile nodelist nodes ntasks "
        "ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket oom-kill-step open-mode "
        "output "
        "overcommit oversubscribe parsable "
        "partition power prefer priority profile propagate qos quiet reboot requeue reservation "
        "resv-ports "
        "segment signal sockets-per-node "
        "spread-job stepmgr switches test-only thread-spec threads-per-core time time-min tmp "
        "tres-bind "
        "tres-per-task uid usage "
        "use-min-nodes verbose version wait wait-all-nodes wckey wrap";
    static const char *const srun =
        "bcast bcast-exclude compress cpu-bind disable-status epilog exact "
        "external-launcher het-group immediate jobid kill-on-bad-exit "
        "label mpi msg-timeout multi-prog no-allocate overlap preserve-env "
        "prolog pty quit-on-interrupt relative send-libs slurmd-debug "
        "task-epilog task-prolog threads treewidth unbuffered wait x11";
    static const char *const salloc = "bell no-bell kill-command no-shell immediate x11";
    static const struct {
        unsigned command;
        const char *names;
    } manuals[] = {{CMD_SBATCH, sbatch}, {CMD_SRUN, srun}, {CMD_SALLOC, salloc}};
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(manuals); i++) {
        struct span rest = span_of(manuals[i].names), name;
        while (span_next(&rest, ' ', &name)) {
            const char *text = arena_strndup(w->a, name.data, name.len);
            if (!option_named(text, manuals[i].command))
                fail_msg("--%s is missing", text);
        }
    }
}

static bool variable_known(const char *name, unsigned number)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++) {
        struct span rest = span_of(row->env[number]), one;
        while (span_next(&rest, ' ', &one))
            if (span_is(one, name))
                return true;
    }
    return false;
}

/* "Input environment variables" of the same manuals; those that are no options (SLURM_EXIT_ERROR …)
 * are the commands' own. */
static void variables_of_the_manual(void **state)
{
    static const char *const manuals[] = {
        /* sbatch */
        "SBATCH_ACCOUNT SBATCH_ACCTG_FREQ SBATCH_ARRAY_INX SBATCH_BATCH SBATCH_CLUSTERS "
        "SBATCH_CONSTRAINT "
        "SBATCH_CONTAINER SBATCH_CORE_SPEC "
        "SBATCH_CPUS_PER_GPU SBATCH_DEBUG SBATCH_DELAY_BOOT SBATCH_DISTRIBUTION SBATCH_ERROR "
        "SBATCH_EXCLUSIVE SBATCH_EXPORT "
        "SBATCH_GET_USER_ENV SBATCH_GPUS SBATCH_GPUS_PER_NODE SBATCH_GPUS_PER_TASK SBATCH_GPU_BIND "
        "SBATCH_GPU_FREQ SBATCH_GRES "
        "SBATCH_GRES_FLAGS SBATCH_HINT SBATCH_IGNORE_PBS SBATCH_INPUT SBATCH_JOB_NAME "
        "SBATCH_MEM_BIND "
        "SBATCH_MEM_PER_CPU SBATCH_MEM_PER_GPU "
        "SBATCH_MEM_PER_NODE SBATCH_NETWORK SBATCH_NO_KILL SBATCH_NO_REQUEUE SBATCH_OPEN_MODE "
        "SBATCH_OUTPUT "
        "SBATCH_OVERCOMMIT "
        "SBATCH_PARTITION SBATCH_POWER SBATCH_PROFILE SBATCH_QOS SBATCH_REQUEUE SBATCH_REQ_SWITCH "
        "SBATCH_RESERVATION SBATCH_SIGNAL "
        "SBATCH_SPREAD_JOB SBATCH_THREADS_PER_CORE SBATCH_THREAD_SPEC SBATCH_TIMELIMIT "
        "SBATCH_USE_MIN_NODES "
        "SBATCH_WAIT SBATCH_WAIT4SWITCH "
        "SBATCH_WAIT_ALL_NODES SBATCH_WCKEY ",
        /* salloc */
        "SALLOC_ACCOUNT SALLOC_ACCTG_FREQ SALLOC_BELL SALLOC_BURST_BUFFER SALLOC_CLUSTERS "
        "SALLOC_CONSTRAINT "
        "SALLOC_CONTAINER "
        "SALLOC_CORE_SPEC SALLOC_CPUS_PER_GPU SALLOC_DEBUG SALLOC_DELAY_BOOT SALLOC_EXCLUSIVE "
        "SALLOC_GPUS "
        "SALLOC_GPUS_PER_NODE "
        "SALLOC_GPUS_PER_TASK SALLOC_GPU_BIND SALLOC_GPU_FREQ SALLOC_GRES SALLOC_GRES_FLAGS "
        "SALLOC_HINT "
        "SALLOC_IMMEDIATE SALLOC_KILL_CMD "
        "SALLOC_MEM_BIND SALLOC_MEM_PER_CPU SALLOC_MEM_PER_GPU SALLOC_MEM_PER_NODE SALLOC_NETWORK "
        "SALLOC_NO_BELL SALLOC_NO_KILL "
        "SALLOC_OVERCOMMIT SALLOC_PARTITION SALLOC_POWER SALLOC_PROFILE SALLOC_QOS "
        "SALLOC_REQ_SWITCH "
        "SALLOC_RESERVATION SALLOC_SIGNAL "
        "SALLOC_SPREAD_JOB SALLOC_THREADS_PER_CORE SALLOC_THREAD_SPEC SALLOC_TIMELIMIT "
        "SALLOC_USE_MIN_NODES "
        "SALLOC_WAIT4SWITCH "
        "SALLOC_WAIT_ALL_NODES SALLOC_WCKEY ",
        /* srun */
        "SLURMD_DEBUG SLURM_ACCOUNT SLURM_ACCTG_FREQ SLURM_BCAST SLURM_BCAST_EXCLUDE "
        "SLURM_BURST_BUFFER "
        "SLURM_CLUSTERS SLURM_COMPRESS "
        "SLURM_CONSTRAINT SLURM_CORE_SPEC SLURM_CPUS_PER_GPU SLURM_CPU_BIND SLURM_CPU_FREQ_REQ "
        "SLURM_DEBUG "
        "SLURM_DELAY_BOOT "
        "SLURM_DEPENDENCY SLURM_DISABLE_STATUS SLURM_DISTRIBUTION SLURM_EPILOG SLURM_EXACT "
        "SLURM_EXCLUSIVE "
        "SLURM_EXPORT_ENV SLURM_GPUS "
        "SLURM_GPUS_PER_NODE SLURM_GPUS_PER_TASK SLURM_GPU_BIND SLURM_GPU_FREQ SLURM_GRES "
        "SLURM_GRES_FLAGS "
        "SLURM_HINT SLURM_IMMEDIATE "
        "SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NUM_NODES SLURM_KILL_BAD_EXIT SLURM_LABELIO "
        "SLURM_MEM_BIND "
        "SLURM_MEM_PER_CPU "
        "SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE SLURM_MPI_TYPE SLURM_NETWORK SLURM_NNODES "
        "SLURM_NO_KILL "
        "SLURM_NPROCS SLURM_NTASKS "
        "SLURM_NTASKS_PER_CORE SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_NODE SLURM_NTASKS_PER_SOCKET "
        "SLURM_OPEN_MODE SLURM_OVERCOMMIT "
        "SLURM_OVERLAP SLURM_PARTITION SLURM_POWER SLURM_PROFILE SLURM_PROLOG SLURM_QOS "
        "SLURM_REMOTE_CWD "
        "SLURM_REQ_SWITCH SLURM_RESERVATION "
        "SLURM_RESV_PORTS SLURM_SEND_LIBS SLURM_SIGNAL SLURM_SPREAD_JOB SLURM_STDERRMODE "
        "SLURM_STDINMODE "
        "SLURM_STDOUTMODE SLURM_STEP_GRES "
        "SLURM_TASK_EPILOG SLURM_TASK_PROLOG SLURM_THREADS SLURM_THREADS_PER_CORE "
        "SLURM_THREAD_SPEC "
        "SLURM_TIMELIMIT SLURM_UNBUFFEREDIO "
        "SLURM_USE_MIN_NODES SLURM_WAIT SLURM_WAIT4SWITCH SLURM_WCKEY SLURM_WORKING_DIR "
        "SRUN_CONTAINER "
        "SRUN_CPUS_PER_TASK SRUN_EXPORT_ENV ",
    };
    struct world *w = *state;
    for (unsigned i = 0; i < ARRAY_LEN(manuals); i++) {
        struct span rest = span_of(manuals[i]), name;
        while (span_next(&rest, ' ', &name)) {
            const char *text = arena_strndup(w->a, name.data, name.len);
            if (name.len && !variable_known(text, i))
                fail_msg("%s is missing", text);
        }
    }
}

static void words_and_letters(void **state)
{
    struct world *w = *state;
    const char *const bundled[] = {"sbatch", "-Hn4", "-J",     "x y", "--time=5", "--qos",
                                   "high",   "-D.",  "job.sh", "-n",  "9"};
    assert_int_equal(rest_of(w, ARRAY_LEN(bundled), bundled), 8);
    const struct job_spec *s = &w->comp[0].spec;
    assert_true(s->hold);
    assert_int_equal(s->req.ntasks, 4);
    assert_string_equal(s->name, "x y");
    assert_string_equal(s->req.qos, "high");
    assert_string_equal(s->work_dir, ".");
    const char *const dashes[] = {"sbatch", "-n2", "--", "-n9"};
    assert_int_equal(rest_of(w, ARRAY_LEN(dashes), dashes), 3);
    const char *const one_dash[] = {"sbatch", "-", "-n9"};
    assert_int_equal(rest_of(w, ARRAY_LEN(one_dash), one_dash), 1);
    const char *const optional[] = {"sbatch", "--exclusive", "user"};
    assert_int_equal(rest_of(w, ARRAY_LEN(optional), optional), 2);
    const char *const negative[] = {"sbatch", "-t", "-1", "x"};
    assert_int_equal(rest_of(w, ARRAY_LEN(negative), negative), 3);
    assert_int_equal(w->comp[0].spec.req.time_limit_us, TIME_UNLIMITED);
    const char *const verbose[] = {"sbatch", "-vv", "-v"};
    rest_of(w, ARRAY_LEN(verbose), verbose);
    assert_int_equal(w->comp[0].verbose, 3);
}

static void prefixes(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "--cpus-per-t=2")->req.cpus_per_task, 2);
    assert_string_equal(taken(w, "--part=a")->req.partition, "a");
    assert_int_equal(taken(w, "--mem=4")->req.mem_per_node_mib, 4);
    assert_true(taken(w, "--share")->req.oversubscribe);
    refused(w, "--ntas=2",
            "'--ntas=2' is ambiguous; possibilities: '--ntasks' '--ntasks-per-core'");
    refused(w, "--ndoes=2", "unrecognized option '--ndoes=2' (did you mean '--nodes'?)");
    refused(w, "--zzzzzzzzzz=2", "unrecognized option '--zzzzzzzzzz=2'");
    refused(w, "-y", "invalid option -- 'y'");
    refused(w, "--hold=yes", "doesn't allow an argument");
    refused(w, "--time", "requires an argument");
    refused(w, "-t", "requires an argument");
}

static void refused_ones_give_the_reason(void **state)
{
    struct world *w = *state;
    refused(w, "--bb=x", "not supported yet: --bb (there are no burst buffers");
    assert_int_equal(w->err.code, ERR_UNSUPPORTED);
    refused(w, "--container-image=x", "give it to srun in the script");
    refused(w, "--container=x", "OCI");
    refused(w, "--x11", "X11");
    assert_false(options_of(w, CMD_SRUN, "-Z"));
    assert_int_equal(w->err.code, ERR_UNSUPPORTED);
    refused(w, "--pty", "unrecognized option");
}

static const char *const *test_environ;

static char *test_getenv(const char *name)
{
    size_t len = strlen(name);
    for (const char *const *e = test_environ; *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return (char *)(uintptr_t)*e + len + 1;
    return NULL;
}

static bool env_of(struct world *w, unsigned command, const char *const *variables)
{
    test_environ = variables;
    return options_parse_env(w->comp, command, test_getenv, &w->env, w->a, &w->err);
}

static void environment(void **state)
{
    static const char *const variables[] = {
        "SBATCH_TIMELIMIT=5",      "SBATCH_ARRAY_INX=1-3",
        "SBATCH_NO_REQUEUE=",      "SBATCH_OVERCOMMIT=0",
        "SBATCH_MEM_PER_NODE=2G",  "SBATCH_EXCLUSIVE=user",
        "SLURM_HINT=memory_bound", "SALLOC_PARTITION=no",
        "SLURM_PARTITION=no",      "SLURM_NTASKS=7",
        "SBATCH_WAIT=yes",         "SBATCH_ACCOUNT=",
        "SBATCH_DEBUG=2",          NULL,
    };
    struct world *w = *state;
    world_clear(w);
    assert_true(env_of(w, CMD_SBATCH, variables));
    const struct job_spec *s = &w->comp[0].spec;
    assert_int_equal(s->req.time_limit_us, 300 * USEC_PER_SEC);
    assert_string_equal(s->array, "1-3");
    assert_int_equal(s->requeue, NO);
    assert_false(s->req.overcommit);
    assert_int_equal(s->req.mem_per_node_mib, 2048);
    assert_int_equal(s->req.exclusive, EXCLUSIVE_USER);
    assert_int_equal(s->req.hint, HINT_MEMORY_BOUND);
    assert_null(s->req.partition);
    assert_null(s->req.account);
    assert_int_equal(s->req.ntasks, 0);
    assert_true(w->comp[0].wait);
    assert_int_equal(w->comp[0].verbose, 2);
    world_clear(w);
    assert_true(env_of(w, CMD_SRUN, variables));
    assert_int_equal(w->comp[0].spec.req.ntasks, 7);
    assert_string_equal(w->comp[0].spec.req.partition, "no");
    static const char *const bad[] = {"SBATCH_TIMELIMIT=soon", NULL};
    world_clear(w);
    assert_false(env_of(w, CMD_SBATCH, bad));
    assert_non_null(strstr(w->err.text, "environment variable SBATCH_TIMELIMIT: --time="));
}

/* Command line over environment over script, whatever comes first. */
static void precedence(void **state)
{
    static const char *const variables[] = {"SBATCH_PARTITION=env", "SBATCH_QOS=env",
                                            "SBATCH_REQUEUE=", NULL};
    static const char *const argv[] = {"sbatch", "-p", "line", "--no-requeue"};
    struct world *w = *state;
    int rest;
    world_clear(w);
    char *const *words = (char *const *)(uintptr_t)argv;
    assert_true(options_parse_argv(w->comp, CMD_SBATCH, ARRAY_LEN(argv), words, FROM_COMMAND_LINE,
                                   &w->env, w->a, &rest, &w->err));
    assert_true(env_of(w, CMD_SBATCH, variables));
    const char *text = "#!/bin/sh\n#SBATCH -p script -q script -A script --requeue\n";
    assert_true(script_parse("job.sh", text, strlen(text), w->comp, 1, &w->ncomp, false, &w->env,
                             w->a, &w->warnings, &w->err));
    const struct job_spec *s = &w->comp[0].spec;
    assert_string_equal(s->req.partition, "line");
    assert_string_equal(s->req.qos, "env");
    assert_string_equal(s->req.account, "script");
    assert_int_equal(s->requeue, NO);
}

static void job_wide_options_carry_over(void **state)
{
    struct world *w = *state;
    const char *text =
        "#!/bin/sh\n#SBATCH -J het -A acct -t 5 -n 4 -H\n#SBATCH hetjob\n#SBATCH -n 2 -t 7\n";
    assert_true(script_of(w, text, false));
    assert_int_equal(w->ncomp, 2);
    assert_true(options_carry_over(&w->comp[1], &w->comp[0], &w->env, w->a, &w->err));
    assert_string_equal(w->comp[1].spec.name, "het");
    assert_string_equal(w->comp[1].spec.req.account, "acct");
    assert_true(w->comp[1].spec.hold);
    assert_int_equal(w->comp[1].spec.req.ntasks, 2);
    assert_int_equal(w->comp[1].spec.req.time_limit_us, 7 * 60 * USEC_PER_SEC);
    assert_int_equal(w->comp[0].spec.req.time_limit_us, 5 * 60 * USEC_PER_SEC);
}

static void documents(void **state)
{
    struct str text = STR_INIT;
    options_write_help(CMD_SBATCH, &text);
    assert_non_null(strstr(str_text(&text), "  -J, --job-name=name"));
    assert_null(strstr(str_text(&text), "--container-image"));
    str_clear(&text);
    options_write_usage(CMD_SBATCH, &text);
    assert_true(text_starts(str_text(&text), "Usage: sbatch "));
    str_clear(&text);
    options_write_values(option_named("hint", CMD_SBATCH), &text);
    assert_true(text_starts(str_text(&text), "Application hint options:\n    --hint= "));
    assert_non_null(strstr(str_text(&text), "\n        compute_bound "));
    str_clear(&text);
    options_write_markdown(&text);
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(i)); i++)
        assert_non_null(strstr(str_text(&text), row->name));
    assert_non_null(strstr(str_text(&text), "`--kill-on-invalid-dep=yes\\|no`"));
    str_done(&text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(no_name_and_no_letter_twice),
        T(whole_manual_is_there),
        T(variables_of_the_manual),
        T(words_and_letters),
        T(prefixes),
        T(refused_ones_give_the_reason),
        T(environment),
        T(precedence),
        T(job_wide_options_carry_over),
        cmocka_unit_test(documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
