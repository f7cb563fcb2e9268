/* Layouts of steps: which tasks and which resources on which node of the job. Tables of cases; what
 * is expected follows srun(1) of Slurm 25.05. */
#include "base/alloc.h"
#include "base/duration.h"
#include "core/step/layout.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* The job of a case: what it holds; what it asked. */
struct job_of {
    const char *alloc;
    int32_t ntasks, per_node, threads, per_socket; /* CPUs of a socket */
};

struct layout_case {
    const char *what;
    const struct job_of *job;
    struct job_request req;
    bool exact, overlap, interactive;
    int32_t relative_plus1;
    const char *task_nodes;
    const char *taken;    /* CPUs of the first node that another step has */
    const char *expected; /* the layout, or "!" and the refusal's text */
};

static const struct job_of three = {"a cpus=0,1 mem=100; b cpus=0,1 mem=100; c cpus=0,1 mem=100", 0,
                                    0, 1, 0};
static const struct job_of two = {"a cpus=0-7 mem=800; b cpus=0-7 mem=800", 0, 0, 1, 0};
static const struct job_of uneven = {"a cpus=0-3 mem=400; b cpus=0 mem=100; c cpus=0-7 mem=800", 0,
                                     0, 1, 0};
static const struct job_of eight = {"a cpus=0-7 mem=800; b cpus=0-7 mem=800", 8, 0, 1, 0};
static const struct job_of cores = {"a cpus=0-7 mem=800", 0, 0, 2, 0};
static const struct job_of sockets = {"a cpus=0-15 mem=800", 0, 0, 2, 8};
static const struct job_of three_sockets = {"a cpus=0-23 mem=800", 0, 0, 1, 8};
static const struct job_of apart = {"a cpus=2,3,6-8 mem=800", 0, 0, 1, 4};
static const struct job_of gpus = {
    "a cpus=0-7 mem=800 gpu:v100=0-3; b cpus=0-7 mem=800 gpu:v100=4-7", 0, 0, 1, 0};
static const struct job_of mixed = {"a cpus=0-7 mem=800 gpu:v100=0,1 gpu:t4=2,3 nic=#4", 0, 0, 1,
                                    0};

#define M(n) .mem_per_node_mib = (n)
// clang-format off
static const struct layout_case cases[] = {
    /* how many tasks, how many nodes */
    {"one task a node", &three, {0}, .expected = "a cpus=0,1 mem=100 tasks=1 ids=0; b cpus=0,1 mem=100 tasks=1 ids=1; c cpus=0,1 mem=100 tasks=1 ids=2"},
    {"the job's tasks are not those of every step", &eight, {0}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0; b cpus=0-7 mem=800 tasks=1 ids=1"},
    {"-n1 of three nodes: the first", &three, {.ntasks = 1}, .expected = "a cpus=0,1 mem=100 tasks=1 ids=0"},
    {"-N2", &three, {.min_nodes = 2}, .expected = "a cpus=0,1 mem=100 tasks=1 ids=0; b cpus=0,1 mem=100 tasks=1 ids=1"},
    {"-N1-2 -n3: the second is needed", &three, {.min_nodes = 1, .max_nodes = 2, .ntasks = 3}, .expected = "a cpus=0,1 mem=100 tasks=2 ids=0,1; b cpus=0,1 mem=100 tasks=1 ids=2"},
    {"-N1-3 -n2: as many as there are tasks", &three, {.min_nodes = 1, .max_nodes = 3, .ntasks = 2}, .expected = "a cpus=0,1 mem=100 tasks=1 ids=0; b cpus=0,1 mem=100 tasks=1 ids=1"},
    {"-N1-2 beside another: as many as are free", &two, {.min_nodes = 1, .max_nodes = 2, .ntasks = 2}, .taken = "7", .expected = "b cpus=0-7 mem=800 tasks=2 ids=0,1"},
    {"-N3 -n2: no more nodes than tasks", &three, {.min_nodes = 3, .ntasks = 2}, .expected = "a cpus=0,1 mem=100 tasks=1 ids=0; b cpus=0,1 mem=100 tasks=1 ids=1"},
    {"--ntasks-per-node", &two, {.ntasks_per_node = 3}, .expected = "a cpus=0-7 mem=800 tasks=3 ids=0-2; b cpus=0-7 mem=800 tasks=3 ids=3-5"},
    {"--ntasks-per-node and -n", &two, {.ntasks = 4, .ntasks_per_node = 3}, .expected = "a cpus=0-7 mem=800 tasks=2 ids=0,1; b cpus=0-7 mem=800 tasks=2 ids=2,3"},
    {"--ntasks-per-node too few for -n", &two, {.ntasks = 7, .ntasks_per_node = 3}, .expected = "!More processors requested than permitted"},
    {"-n too many", &three, {.ntasks = 7}, .expected = "!More processors requested than permitted"},
    {"-N too many", &three, {.min_nodes = 4}, .expected = "!More processors requested than permitted"},
    {"--overcommit", &three, {.ntasks = 7, .min_nodes = 3, .overcommit = true},
     .expected = "a cpus=0,1 mem=100 tasks=3 ids=0-2; b cpus=0,1 mem=100 tasks=2 ids=3,4; c cpus=0,1 mem=100 tasks=2 ids=5,6"},
    {"the roomiest where the first do not suffice", &uneven, {.ntasks = 10, .min_nodes = 2}, .expected = "a cpus=0-3 mem=400 tasks=4 ids=0-3; c cpus=0-7 mem=800 tasks=6 ids=4-9"},

    /* dealing out: the examples of srun(1) */
    {"block: three nodes of two CPUs, four tasks", &three, {.ntasks = 4, .min_nodes = 3, .distribution = "block"},
     .expected = "a cpus=0,1 mem=100 tasks=2 ids=0,1; b cpus=0,1 mem=100 tasks=1 ids=2; c cpus=0,1 mem=100 tasks=1 ids=3"},
    {"cyclic: the same", &three, {.ntasks = 4, .min_nodes = 3, .distribution = "cyclic:block"},
     .expected = "a cpus=0,1 mem=100 tasks=2 ids=0,3; b cpus=0,1 mem=100 tasks=1 ids=1; c cpus=0,1 mem=100 tasks=1 ids=2"},
    {"cyclic: three on each", &two, {.ntasks = 6, .distribution = "cyclic"},
     .expected = "a cpus=0-7 mem=800 tasks=3 ids=0-4:2; b cpus=0-7 mem=800 tasks=3 ids=1-5:2"},
    {"plane=1: the same", &two, {.ntasks = 6, .distribution = "plane=1"},
     .expected = "a cpus=0-7 mem=800 tasks=3 ids=0-4:2; b cpus=0-7 mem=800 tasks=3 ids=1-5:2"},
    {"arbitrary, in turn", &two, {.ntasks = 7}, .task_nodes = "a,b,a,b,a,b,b",
     .expected = "a cpus=0-7 mem=800 tasks=3 ids=0-4:2; b cpus=0-7 mem=800 tasks=4 ids=1,3,5,6"},
    {"ten tasks on two nodes of eight: evenly", &two, {.ntasks = 10}, .expected = "a cpus=0-7 mem=800 tasks=5 ids=0-4; b cpus=0-7 mem=800 tasks=5 ids=5-9"},
    {"packed", &two, {.ntasks = 10, .distribution = "block:block,Pack"}, .expected = "a cpus=0-7 mem=800 tasks=8 ids=0-7; b cpus=0-7 mem=800 tasks=2 ids=8,9"},
    {"plane=4: twelve tasks", &two, {.ntasks = 12, .distribution = "plane=4"}, .expected = "a cpus=0-7 mem=800 tasks=8 ids=0-3,8-11; b cpus=0-7 mem=800 tasks=4 ids=4-7"},
    {"arbitrary", &three, {.ntasks = 3}, .task_nodes = "c,a,c", .expected = "a cpus=0,1 mem=100 tasks=1 ids=1; c cpus=0,1 mem=100 tasks=2 ids=0,2"},
    {"arbitrary, not of the job", &three, {0}, .task_nodes = "a,x", .expected = "!Requested node configuration is not available"},
    {"arbitrary, too many on one", &three, {0}, .task_nodes = "a,a,a", .expected = "!More processors requested than permitted"},
    {"no such distribution", &three, {.distribution = "round"}, .expected = "!Task count specification invalid"},

    /* which nodes */
    {"-w", &three, {.ntasks = 1, .nodelist = "c"}, .expected = "c cpus=0,1 mem=100 tasks=1 ids=0"},
    {"-w alone: one task on each named", &three, {.nodelist = "b,c"}, .expected = "b cpus=0,1 mem=100 tasks=1 ids=0; c cpus=0,1 mem=100 tasks=1 ids=1"},
    {"-w with tasks that fit there", &three, {.ntasks = 2, .nodelist = "c"}, .expected = "c cpus=0,1 mem=100 tasks=2 ids=0,1"},
    {"-w with tasks that need another", &three, {.ntasks = 3, .nodelist = "c"}, .expected = "a cpus=0,1 mem=100 tasks=2 ids=0,1; c cpus=0,1 mem=100 tasks=1 ids=2"},
    {"-w with -c", &two, {.cpus_per_task = 4, .nodelist = "b"}, .expected = "b cpus=0-7 mem=800 tasks=2 ids=0,1"},
    {"-w with --ntasks-per-node", &two, {.ntasks_per_node = 3, .nodelist = "b"}, .expected = "b cpus=0-7 mem=800 tasks=3 ids=0-2"},
    {"-x alone", &three, {.exclude = "a"}, .expected = "b cpus=0,1 mem=100 tasks=1 ids=0; c cpus=0,1 mem=100 tasks=1 ids=1"},
    {"-w and more", &three, {.min_nodes = 2, .nodelist = "c"}, .expected = "a cpus=0,1 mem=100 tasks=1 ids=0; c cpus=0,1 mem=100 tasks=1 ids=1"},
    {"-x", &three, {.ntasks = 2, .exclude = "a,zz"}, .expected = "b cpus=0,1 mem=100 tasks=1 ids=0; c cpus=0,1 mem=100 tasks=1 ids=1"},
    {"-r", &three, {.ntasks = 1}, .relative_plus1 = 2, .expected = "b cpus=0,1 mem=100 tasks=1 ids=0"},
    {"-r too far", &three, {.ntasks = 1}, .relative_plus1 = 4, .expected = "!Node count specification invalid"},

    /* CPUs */
    {"exact", &two, {.ntasks = 3, .min_nodes = 1}, .exact = true, .expected = "a cpus=0-2 mem=800 tasks=3 ids=0-2"},
    {"-c is exact", &two, {.ntasks = 2, .cpus_per_task = 3}, .expected = "a cpus=0-2 mem=800 tasks=1 ids=0; b cpus=0-2 mem=800 tasks=1 ids=1"},
    {"-c without -n: as many tasks as that fills", &two, {.cpus_per_task = 4, .min_nodes = 1, .max_nodes = 1}, .expected = "a cpus=0-7 mem=800 tasks=2 ids=0,1"},
    {"-c without -n that leaves a rest", &two, {.cpus_per_task = 3}, .expected = "a cpus=0-5 mem=800 tasks=2 ids=0,1; b cpus=0-5 mem=800 tasks=2 ids=2,3"},
    {"-c larger than a node", &two, {.ntasks = 1, .cpus_per_task = 9}, .expected = "!More processors requested than permitted"},
    {"exact beside another", &two, {.ntasks = 3, .min_nodes = 1}, .exact = true, .taken = "0-5", .expected = "b cpus=0-2 mem=800 tasks=3 ids=0-2"},
    {"exact between others", &two, {.ntasks = 3, .min_nodes = 1, .max_nodes = 1}, .exact = true, .taken = "0,2,4,6,7", .expected = "a cpus=1,3,5 mem=800 tasks=3 ids=0-2"},
    {"all beside another", &two, {.ntasks = 1}, .taken = "7", .expected = "b cpus=0-7 mem=800 tasks=1 ids=0"},
    {"overlap with another", &two, {.ntasks = 1}, .overlap = true, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0"},
    {"whole cores", &cores, {.ntasks = 1}, .exact = true, .expected = "a cpus=0,1 mem=800 tasks=1 ids=0"},
    {"whole cores beside another", &cores, {.ntasks = 3}, .exact = true, .taken = "2", .expected = "a cpus=0,1,4,5 mem=800 tasks=3 ids=0-2"},
    {"a task a core", &cores, {.ntasks = 2, .ntasks_per_core = 1}, .exact = true, .expected = "a cpus=0-3 mem=800 tasks=2 ids=0,1"},
    {"a task a core, of too few", &cores, {.ntasks = 5, .ntasks_per_core = 1}, .expected = "!More processors requested than permitted"},
    {"a task a socket", &sockets, {.ntasks = 2, .ntasks_per_socket = 1}, .exact = true, .expected = "a cpus=0,1,8,9 mem=800 tasks=2 ids=0,1"},
    {"a task a socket of more CPUs than a core", &sockets, {.ntasks = 2, .cpus_per_task = 3, .ntasks_per_socket = 1}, .expected = "a cpus=0-3,8-11 mem=800 tasks=2 ids=0,1"},
    {"three tasks a socket and one", &sockets, {.ntasks = 4, .ntasks_per_socket = 3}, .exact = true, .expected = "a cpus=0-3,8,9 mem=800 tasks=4 ids=0-3"},
    {"tasks of cores and sockets", &sockets, {.ntasks = 3, .ntasks_per_socket = 2, .ntasks_per_core = 1}, .exact = true, .expected = "a cpus=0-3,8,9 mem=800 tasks=3 ids=0-2"},
    {"a task a socket of one thread a core", &three_sockets, {.ntasks = 3, .ntasks_per_socket = 1}, .exact = true, .expected = "a cpus=0,8,16 mem=800 tasks=3 ids=0-2"},
    {"a task a socket, of too few", &sockets, {.ntasks = 3, .ntasks_per_socket = 1}, .expected = "!More processors requested than permitted"},
    {"a task a socket beside another", &sockets, {.ntasks = 2, .ntasks_per_socket = 1}, .exact = true, .taken = "0-2", .expected = "a cpus=4,5,8,9 mem=800 tasks=2 ids=0,1"},
    {"a task a socket that lies on two", &apart, {.ntasks = 1, .cpus_per_task = 4, .ntasks_per_socket = 1}, .expected = "a cpus=2,3,6,7 mem=800 tasks=1 ids=0"},
    {"a task a socket, of which one lies on two", &apart, {.ntasks = 2, .cpus_per_task = 2, .ntasks_per_socket = 1}, .exact = true, .taken = "7", .expected = "a cpus=2,3,6,8 mem=800 tasks=2 ids=0,1"},
    {"a task a socket, of too few CPUs", &apart, {.ntasks = 2, .cpus_per_task = 3, .ntasks_per_socket = 1}, .expected = "!More processors requested than permitted"},
    {"a task a socket, of too few sockets", &apart, {.ntasks = 4, .ntasks_per_socket = 1}, .expected = "!More processors requested than permitted"},
    {"the shell of an allocation", &two, {0}, .interactive = true, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0"},

    /* memory */
    {"--mem", &two, {.ntasks = 1, M(300)}, .exact = true, .expected = "a cpus=0 mem=300 tasks=1 ids=0"},
    {"--mem-per-cpu", &two, {.ntasks = 2, .min_nodes = 1, .cpus_per_task = 2, .mem_per_cpu_mib = 50}, .expected = "a cpus=0-3 mem=200 tasks=2 ids=0,1"},
    {"--mem too much", &two, {.ntasks = 1, M(900)}, .expected = "!Memory specification can not be satisfied"},
    {"--mem-per-cpu spreads the tasks", &two, {.ntasks = 4, .min_nodes = 1, .max_nodes = 2, .mem_per_cpu_mib = 300}, .exact = true,
     .expected = "a cpus=0,1 mem=600 tasks=2 ids=0,1; b cpus=0,1 mem=600 tasks=2 ids=2,3"},

    /* devices */
    {"none asked: all of the job's", &gpus, {.ntasks = 1}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 gpu:v100=0-3"},
    {"--gres=none", &gpus, {.ntasks = 1, .gres = "none"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0"},
    {"--gres", &gpus, {.ntasks = 2, .gres = "gpu:2"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 gpu:v100=0,1; b cpus=0-7 mem=800 tasks=1 ids=1 gpu:v100=4,5"},
    {"--gpus of the step", &gpus, {.ntasks = 2, .gpus = "5"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 gpu:v100=0-2; b cpus=0-7 mem=800 tasks=1 ids=1 gpu:v100=4,5"},
    {"--gpus-per-task", &gpus, {.ntasks = 3, .min_nodes = 1, .max_nodes = 2, .gpus_per_task = "2"},
     .expected = "a cpus=0-7 mem=800 tasks=2 ids=0,1 gpu:v100=0-3; b cpus=0-7 mem=800 tasks=1 ids=2 gpu:v100=4,5"},
    {"--gpus and --ntasks-per-gpu", &gpus, {.gpus = "4", .ntasks_per_gpu = 2, .min_nodes = 1}, .expected = "a cpus=0-7 mem=800 tasks=8 ids=0-7 gpu:v100=0-3"},
    {"--cpus-per-gpu", &gpus, {.ntasks = 1, .gpus = "2", .cpus_per_gpu = 3}, .expected = "a cpus=0-5 mem=800 tasks=1 ids=0 gpu:v100=0,1"},
    {"--mem-per-gpu", &gpus, {.ntasks = 1, .gpus = "2", .mem_per_gpu_mib = 100}, .exact = true, .expected = "a cpus=0 mem=200 tasks=1 ids=0 gpu:v100=0,1"},
    {"too many", &gpus, {.ntasks = 1, .gres = "gpu:5"}, .expected = "!Invalid generic resource (gres) specification"},
    {"too many in all", &gpus, {.ntasks = 2, .gpus = "9"}, .expected = "!Invalid generic resource (gres) specification"},
    {"of a type", &mixed, {.ntasks = 1, .gres = "gpu:t4:1"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 gpu:t4=2"},
    {"of two types", &mixed, {.ntasks = 1, .gres = "gpu:t4:1,gpu:v100:2"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 gpu:t4=2 gpu:v100=0,1"},
    {"of any type", &mixed, {.ntasks = 1, .gpus_per_node = "3"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 gpu:v100=0,1 gpu:t4=2"},
    {"of no type there", &mixed, {.ntasks = 1, .gres = "gpu:a100:1"}, .expected = "!Invalid generic resource (gres) specification"},
    {"counted", &mixed, {.ntasks = 1, .gres = "nic:3"}, .expected = "a cpus=0-7 mem=800 tasks=1 ids=0 nic=#3"},
};
// clang-format on

static void rooms_make(struct step_room *room, const struct alloc *held, const struct job_of *job,
                       const char *taken, struct arena *a)
{
    for (size_t i = 0; i < held->n; i++) {
        const struct alloc_node *n = &held->node[i];
        struct idset gone = IDSET_INIT;
        uint32_t id;
        room[i] = (struct step_room){.held = n,
                                     .mem_mib = n->mem_mib,
                                     .threads_per_core = job->threads,
                                     .cpus_per_socket = job->per_socket};
        assert_true(idset_parse(&room[i].free, n->cpus, INT32_MAX, NULL));
        if (i == 0 && taken && idset_parse(&gone, taken, INT32_MAX, NULL))
            for (bool more = idset_first(&gone, &id); more; more = idset_next(&gone, id, &id))
                idset_del(&room[i].free, id);
        idset_done(&gone);
        room[i].device = arena_alloc(a, (n->ngres + 1) * sizeof(struct idset));
        room[i].count = arena_alloc(a, (n->ngres + 1) * sizeof(int64_t));
        for (size_t g = 0; g < n->ngres; g++) {
            room[i].device[g] = IDSET_INIT;
            room[i].count[g] = n->gres[g].count;
            if (n->gres[g].devices)
                idset_parse(&room[i].device[g], n->gres[g].devices, INT32_MAX, NULL);
        }
    }
}

static void rooms_done(struct step_room *room, const struct alloc *held)
{
    for (size_t i = 0; i < held->n; i++) {
        idset_done(&room[i].free);
        for (size_t g = 0; g < held->node[i].ngres; g++)
            idset_done(&room[i].device[g]);
    }
}

/* The layout as text, or "!" and why not. */
static char *laid_out(const struct layout_case *k, struct arena *a)
{
    struct job_spec spec = {.req = k->req};
    struct msg_create_step m = {.job_id = 1,
                                .spec = {&spec, 1},
                                .exact = k->exact,
                                .overlap = k->overlap,
                                .interactive = k->interactive,
                                .relative_plus1 = k->relative_plus1,
                                .task_nodes = k->task_nodes};
    struct job job = {
        .id = 1, .spec = {.req = {.ntasks = k->job->ntasks, .ntasks_per_node = k->job->per_node}}};
    struct alloc held = {0}, layout = {0};
    struct step_want want;
    enum refusal refusal = REFUSE_NONE;
    struct str text = STR_INIT, detail = STR_INIT;
    assert_true(alloc_parse(k->job->alloc, a, &held, NULL));
    if (step_want_read(&m, &job, &held, a, &want, &refusal, &detail)) {
        struct step_room *room = arena_alloc(a, held.n * sizeof *room);
        rooms_make(room, &held, k->job, k->taken, a);
        refusal = step_layout(&want, room, held.n, a, &layout, &detail);
        rooms_done(room, &held);
    }
    if (refusal)
        str_addf(&text, "!%s", refusal_text(refusal));
    else
        alloc_format(&layout, &text);
    /* Every refusal says what was asked and what is there. */
    assert_true(!refusal || detail.len > 0);
    str_done(&detail);
    return str_take(&text);
}

/* What the controller stores and sends is read by itself after a restart, by srun and by nodes. */
static void is_read_back(const char *text, struct arena *a)
{
    struct alloc again = {0};
    struct str same = STR_INIT;
    assert_true(alloc_parse(text, a, &again, NULL));
    alloc_format(&again, &same);
    assert_string_equal(str_text(&same), text);
    for (size_t i = 0; i < again.n; i++) {
        struct idset ids = IDSET_INIT;
        assert_true(idset_parse(&ids, again.node[i].task_ids, INT32_MAX, NULL));
        assert_int_equal(ids.count, again.node[i].tasks);
        idset_done(&ids);
    }
    str_done(&same);
}

static void layouts_are_as_documented(void **unused)
{
    (void)unused;
    size_t wrong = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena *a = arena_new();
        char *text = laid_out(&cases[i], a);
        if (strcmp(text, cases[i].expected) != 0) {
            print_error("%s:\n  expected %s\n  was      %s\n", cases[i].what, cases[i].expected,
                        text);
            wrong++;
        }
        if (*text != '!')
            is_read_back(text, a);
        free(text);
        arena_free(a);
    }
    assert_int_equal(wrong, 0);
}

static void a_step_larger_than_its_tasks_says_so(void **unused)
{
    (void)unused;
    struct arena *a = arena_new();
    struct job_spec spec = {.req = {.ntasks = 1, .min_nodes = 2}};
    struct msg_create_step m = {.job_id = 1, .spec = {&spec, 1}};
    struct job job = {.id = 1};
    struct alloc held = {0};
    struct step_want want;
    enum refusal refusal;
    struct str detail = STR_INIT;
    alloc_parse(two.alloc, a, &held, NULL);
    assert_true(step_want_read(&m, &job, &held, a, &want, &refusal, &detail));
    assert_string_equal(want.warning, "can't run 1 processes on 2 nodes, setting nnodes to 1");
    str_done(&detail);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_as_documented),
        cmocka_unit_test(a_step_larger_than_its_tasks_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
