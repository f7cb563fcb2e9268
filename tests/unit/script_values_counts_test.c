/* Values of options that count nodes, tasks, CPUs and GPUs, and how they follow from each other. */
#include "script_help.h"

#include "model/limits.h"

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
    refused(w, "-N two", "error: \"two\" is not a valid node count");
    q = &taken(w, "-N 2-8:2,12")->req;
    assert_int_equal(q->min_nodes, 2);
    assert_int_equal(q->max_nodes, 12);
    assert_string_equal(q->node_sizes, "2-8:2,12");
    assert_null(taken(w, "-N2,4 -N3")->req.node_sizes);
    refused(w, "-N 2,4-3", "the smaller number comes first");
    refused(w, "-N 99999999", "is not a valid node count");
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
    refused(w, "-B x", "for first arg of -B.");
}

static void tasks_follow_from_nodes(void **state)
{
    struct world *w = *state;
    assert_int_equal(taken(w, "-N4 --ntasks-per-node=4")->req.ntasks, 16);
    assert_int_equal(taken(w, "--ntasks-per-node=4")->req.ntasks, 4);
    assert_int_equal(taken(w, "-N2-4 --ntasks-per-node=4")->req.ntasks, 0);
    assert_int_equal(taken(w, "-N2")->req.ntasks, 0);
    assert_int_equal(taken(w, "-N3 -n2")->req.min_nodes, 2);
    assert_non_null(
        strstr(str_text(&w->warnings), "can't run 2 processes on 3 nodes, setting nnodes to 2"));
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
    refused(w, "--gpus=8 --gpus-per-node=4 -N4",
            "doesn't fall between min_nodes (4) and max_nodes (4)");
    refused(w, "--gpus=7 --gpus-per-node=4",
            "--gpus is not multiple of --gres=gpu/--gpus-per-node");
    refused(w, "--gpus-per-task=1", "needs the number of tasks");
    refused(w, "--gpus=4 --ntasks-per-gpu=1 --gpus-per-task=1", "mutually exclusive");
    refused(w, "--gpus=a:b:c", "Invalid generic resource (gres) specification");
    refused(w, "--gres=gpu:x:y", "Invalid generic resource (gres) specification");
    assert_null(taken(w, "--gres=none")->req.gres);
}

/* Each as a real Slurm refuses it, with the words of its first line. */
static void gpu_counts_that_contradict(void **state)
{
    static const struct {
        const char *words, *lead;
    } cases[] = {
        {"--gpus=2 --gpus-per-node=4",
         "error: Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket"},
        {"--gpus=1 --gpus-per-task=2 -n1",
         "error: Failed to ensure --gpus >= --gres=gpu/--gpus-per-node"},
        {"--gpus=2 --gpus-per-socket=4",
         "error: Failed to ensure --gpus >= --gres=gpu/--gpus-per-node"},
        {"--gpus-per-node=2 --gpus-per-socket=4",
         "error: Failed to ensure --gpus >= --gpus-per-task"},
        {"--gres=gpu:2 --gpus-per-task=3 -n1", "error: Failed to ensure --gpus >= --gpus-per-task"},
        {"--gpus=1 -N2", "error: Failed to validate job spec, --gpus < -N"},
        {"--gres=gpu:2 --gpus=3", "error: Failed to validate job spec, --gpus is not multiple of"},
        {"--gres=gpu:2 --gpus=4 -N1",
         "required nodes (2) doesn't fall between min_nodes (1) and max_nodes (1)"},
        {"--gpus-per-socket=1", "error: --gpus-per-socket option requires --sockets-per-node"},
        {"--gpus-per-node=4 --gpus-per-socket=3 --sockets-per-node=1",
         "not multiple of --gpus-per-socket."},
        {"--gpus-per-node=4 --gpus-per-socket=2 --sockets-per-node=1", "number of sockets differ"},
        {"--gpus-per-node=3 --gpus-per-task=2 -N1",
         "--gpus-per-node not multiple of --gpus-per-task."},
        {"--gpus-per-node=2 --gpus-per-task=1 --ntasks-per-node=3",
         "differ from --ntasks-per-node."},
        {"--gpus-per-socket=3 --gpus-per-task=2 --sockets-per-node=1 -n2",
         "--gpus-per-socket not multiple of"},
        {"--gpus-per-socket=2 --gpus-per-task=1 --sockets-per-node=1 --ntasks-per-socket=1 -n1",
         "differ from --ntasks-per-socket."},
        {"--gpus-per-task=1", "used without either --gpus or -n/--ntasks is not allowed."},
        {"--gpus-per-task=2 --gpus=3", "--gpus not multiple of --gpus-per-task"},
        {"--gpus-per-task=2 -n1 --gpus=8", "number of requested tasks differ from -n/--ntasks."},
        {"--gpus=4 --gpus-per-task=1 -N2", "number of requested tasks differ from -n/--ntasks."},
        {"--gpus=4 --gpus-per-task=1 --ntasks-per-node=2",
         "number of requested tasks differ from -n/--ntasks."},
        {"--gpus=8 --gpus-per-node=4 --gpus-per-task=2 -N2 -n3",
         "number of requested tasks differ"},
        {"--ntasks-per-gpu=2", "--ntasks-per-tres needs either a GRES GPU specification"},
        {"--ntasks-per-gpu=2 -n3", "-n/--ntasks has to be a multiple of --ntasks-per-gpu."},
        {"--ntasks-per-gpu=2 --gpus-per-socket=1",
         "fatal: --gpus-per-socket is mutually exclusive with"},
        {"--ntasks-per-gpu=2 --gpus-per-task=1 -n2",
         "fatal: --gpus-per-task is mutually exclusive with"},
        {"--ntasks-per-gpu=2 --ntasks-per-node=2 -N1",
         "fatal: --ntasks-per-node is mutually exclusive with"},
        {"--mem-per-gpu=100",
         "error: Requested mem_per_tres=gres/gpu:100 but did not request any GPU."},
        {"--mem-per-gpu=100 --exclusive", "error: Requested mem_per_tres=gres/gpu:100 but"},
        {"--cpus-per-gpu=2 -c1 --gpus=1",
         "error: --cpus-per-gpu is mutually exclusive with --cpus-per-task"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        refused(*state, cases[i].words, cases[i].lead);
}

static void gpu_counts_that_agree(void **state)
{
    static const struct {
        const char *words;
        int32_t nodes, tasks, on_node;
    } cases[] = {
        {"--gpus=8 --gpus-per-node=4 --gpus-per-task=2 -N2 -n4", 2, 4, 2},
        {"--gpus=8 --gpus-per-node=4 --gpus-per-task=2", 2, 4, 2},
        {"--gpus=8 --gpus-per-node=4 --gpus-per-task=2 -N1-2 -n4", 2, 4, 2},
        {"--gpus=4 --gpus-per-node=2 -N1-2", 2, 0, 0},
        {"--gpus-per-task=1 -N2", 2, 2, 0},
        {"--gpus-per-task=1 -N2 --ntasks-per-node=2", 2, 4, 2},
        {"--gpus-per-node=2 --gpus-per-task=1 -n3 -N2", 2, 3, 2},
        {"--gres=gpu:2 --gpus-per-task=1 -n2", 0, 2, 2},
        {"--ntasks-per-gpu=2 --gpus=2 -n3", 0, 4, 0},
        {"--ntasks-per-gpu=2 -N2", 2, 4, 0},
        {"--ntasks-per-gpu=2 --gpus-per-node=2 -N2", 2, 8, 0},
        {"--ntasks-per-gpu=2 --gres=gpu:2", 0, 4, 0},
        {"--ntasks-per-gpu=2 --gpus-per-node=2 -n8", 2, 8, 0},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct job_request *q = &taken(w, cases[i].words)->req;
        if (q->min_nodes != cases[i].nodes || q->ntasks != cases[i].tasks ||
            q->ntasks_per_node != cases[i].on_node)
            fail_msg("\"%s\": %d nodes, %d tasks, %d on each", cases[i].words, q->min_nodes,
                     q->ntasks, q->ntasks_per_node);
    }
    assert_string_equal(taken(w, "--ntasks-per-gpu=2 -n4")->req.gpus, "2");
    /* A step says what it uses of the job, whatever the job's variables say. */
    assert_true(options_of(w, CMD_SRUN, "--jobid=5 --gpus=4 --gpus-per-task=1 -N2 -n2"));
}

static void nodes_and_tasks_from_names_and_shapes(void **state)
{
    struct world *w = *state;
    const struct job_request *q = &taken(w, "-w n[1-2]")->req;
    assert_int_equal(q->min_nodes, 2);
    assert_int_equal(q->max_nodes, 0);
    q = &taken(w, "-w n[1-3] -N2-4")->req;
    assert_int_equal(q->min_nodes, 3);
    assert_int_equal(q->max_nodes, 4);
    q = &taken(w, "-w n1 -n20")->req;
    assert_int_equal(q->min_nodes, 1);
    assert_int_equal(q->max_nodes, 20);
    q = &taken(w, "-w n[1-2] -n1")->req;
    assert_string_equal(q->nodelist, "n1");
    assert_int_equal(q->min_nodes, 1);
    refused(w, "-w n[1-2] -N1", "error: invalid number of nodes (-N 2-1)");
    refused(w, "-m arbitrary", "error: With Arbitrary distribution you need to specify a nodelist");
    assert_int_equal(taken(w, "-m arbitrary -w n1,n1,n2")->req.ntasks, 3);
    assert_int_equal(taken(w, "-B 2:2")->req.ntasks, 4);
    assert_int_equal(taken(w, "-B 2:2 -N2")->req.ntasks, 8);
    assert_int_equal(taken(w, "-B 2:2 -n1")->req.ntasks, 1);
    assert_int_equal(taken(w, "-B 2:2 -N1-2")->req.ntasks, 0);
    /* Said without -B, processors are tasks of nodes that are counted. */
    assert_int_equal(taken(w, "--cores-per-socket=2")->req.ntasks, 0);
    assert_int_equal(taken(w, "--cores-per-socket=2 -N2")->req.ntasks, 4);
    assert_int_equal(taken(w, "--cores-per-socket=2 -N1-2")->req.ntasks, 0);
    assert_int_equal(taken(w, "--sockets-per-node=2 --cores-per-socket=3 -w n1")->req.ntasks, 6);
    assert_int_equal(taken(w, "--sockets-per-node=2 --ntasks-per-node=3 -N2")->req.ntasks, 6);
    assert_int_equal(taken(w, "--threads-per-core=1 -N2")->req.ntasks, 0);
    const char *few = "error: Too few processes for the requested {plane,node} distribution";
    refused(w, "-N2 -n2 -m plane=2", few);
    refused(w, "-N2 -m plane=2", few);
    refused(w, "-N3 -n4 -m plane=2,Pack", few);
    refused(w, "-w n1,n2 -n2 -m plane=99999999999", few);
    taken(w, "-N2 -n3 -m plane=2");
    taken(w, "-N2 --ntasks-per-node=2 -m plane=2");
    taken(w, "-N1 -m plane=2");
    q = &taken(w, "--ntasks-per-node=5")->req;
    assert_int_equal(q->max_nodes, 1);
    assert_int_equal(q->ntasks, 5);
}

static void tres_per_task(void **state)
{
    struct world *w = *state;
    const struct job_request *q = &taken(w, "-n2 --tres-per-task=cpu:3,gres/gpu:v100:1")->req;
    assert_int_equal(q->cpus_per_task, 3);
    assert_string_equal(q->gpus_per_task, "v100:1");
    assert_string_equal(taken(w, "-n2 --tres-per-task=gres/gpu=2")->req.gpus_per_task, "2");
    assert_string_equal(taken(w, "--tres-bind=gres/gpu:single:2")->gpu_bind, "single:2");
    assert_string_equal(taken(w, "--tres-bind=gres/nic:none+gres/gpu:map:0,1")->gpu_bind,
                        "map:0,1");
    refused(w, "-n2 --tres-per-task=gres/nic:1", "cpu:N and gres/gpu");
    refused(w, "--gpu-bind=tight", "Invalid --gpu-bind argument: gpu:tight");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        T(node_counts),
        T(numbers),
        T(node_info),
        T(tasks_follow_from_nodes),
        T(gres_and_gpus_per_node_merge),
        T(gpus_say_how_many_nodes_and_tasks),
        T(gpu_counts_that_contradict),
        T(gpu_counts_that_agree),
        T(nodes_and_tasks_from_names_and_shapes),
        T(tres_per_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
