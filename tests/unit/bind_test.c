#include "unit.h"

#include "base/arena.h"
#include "model/job/alloc.h"
#include "node/step/bind.h"

#include <stdio.h>
#include <string.h>

/* A node of two sockets with four cores each; two GPUs near each socket; the system numbers the
 * CPUs of the sockets in turn. */
static const char devices[] = "gpu:v100:0:0:0-3;gpu:v100:1:0:0-3;gpu:v100:2:0:4-7;gpu:v100:3:0:4-7";
static const char in_turn[] = "0,2,4,6,1,3,5,7";

struct bind_case {
    const char *what, *holds, *gpu_bind, *cpu_bind;
    bool bound, hidden;
    const char *expected; /* GPUs of each task */
};

// clang-format off
static const struct bind_case cases[] = {
    {"nothing asked: all of the step", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", NULL, "none", true, false, "- -"},
    {"closest, a socket each", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", "closest", "sockets", true, false, "0,1 2,3"},
    {"closest, counted from 0 where others are hidden", "a cpus=0-7 mem=1 gpu:v100=1,2 tasks=2 ids=0,1", "closest", "sockets", true, true, "0 1"},
    {"closest, of a step in one socket", "a cpus=4-7 mem=1 gpu:v100=0-3 tasks=1 ids=0", "closest", "none", true, false, "2,3"},
    {"closest, none is near: all", "a cpus=0-3 mem=1 gpu:v100=2,3 tasks=1 ids=0", "closest", "cores", true, false, "-"},
    {"closest, where CPUs are not kept to", "a cpus=0-3 mem=1 gpu:v100=0-3 tasks=1 ids=0", "verbose,closest", NULL, false, false, "0,1"},
    {"single", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=3 ids=0-2", "single:2", NULL, true, false, "0 0 1"},
    {"per_task", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", "per_task:2", NULL, true, false, "0,1 2,3"},
    {"map_gpu", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=3 ids=0-2", "map_gpu:3,1", NULL, true, false, "3 1 3"},
    {"of two types: by their numbers", "a cpus=0-7 mem=1 gpu:t4=2,3 gpu:v100=0 tasks=3 ids=0-2", "single:1", NULL, true, false, "0 2 3"},
    {"of two types, where others are hidden", "a cpus=0-7 mem=1 gpu:t4=2,3 gpu:v100=0 tasks=2 ids=0,1", "closest", "sockets", true, true, "0 1,2"},
    {"map, as 25.05 has it too", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", "map:3,1", NULL, true, false, "3 1"},
    {"mask_gpu", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", "mask_gpu:3,8", NULL, true, false, "0,1 3"},
    {"mask", "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", "mask:0x4,0x1", NULL, true, false, "2 0"},
};
// clang-format on

/* The third word of each line. */
static const char *gpus_of(const char *tasks)
{
    static char all[256];
    char gpus[64];
    all[0] = '\0';
    for (const char *line = tasks; *line; line = strchr(line, '\n') + 1) {
        assert_int_equal(sscanf(line, "%*s %*s %63s", gpus), 1);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", all[0] ? " " : "", gpus);
    }
    return all;
}

static void test_gpus_of_tasks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct bind_case *k = &cases[i];
        struct arena *a = arena_new();
        struct alloc al = {0};
        struct bind_result r;
        struct job_spec spec = {.gpu_bind = k->gpu_bind, .cpu_bind = k->cpu_bind};
        assert_true(alloc_parse(k->holds, a, &al, NULL));
        struct bind_ask ask = {.here = alloc_find(&al, "a"),
                               .spec = &spec,
                               .cpu_numbers = k->bound ? in_turn : NULL,
                               .threads_per_core = 1,
                               .cores_per_socket = 4,
                               .devices = devices,
                               .gpus_hidden = k->hidden};
        bind_tasks(&ask, a, &r);
        if (strcmp(gpus_of(r.tasks), k->expected) != 0)
            fail_msg("%s: %s, not %s", k->what, gpus_of(r.tasks), k->expected);
        arena_free(a);
    }
}

/* ---- by hand-made frames: what no command of ours says -------------------------------------- */

static struct bind_result bind_by(struct arena *a, const char *holds, struct job_spec *spec)
{
    struct alloc al = {0};
    struct bind_result r;
    assert_true(alloc_parse(holds, a, &al, NULL));
    struct bind_ask ask = {.here = alloc_find(&al, "a"),
                           .spec = spec,
                           .cpu_numbers = in_turn,
                           .threads_per_core = 1,
                           .cores_per_socket = 4,
                           .devices = devices};
    bind_tasks(&ask, a, &r);
    return r;
}

/* The node's daemon is root's, and serves all users of the node. */
static void test_lists_without_elements(void **state)
{
    (void)state;
    static const char *const asked[] = {
        "map_cpu",   "mask_cpu", "map_cpu:", "mask_cpu:,", "map_gpu", "map_gpu:",
        "mask_gpu:", "map:",     "single:",  "per_task",   "map_mem", "map_mem:",
        ",",         ":",        "verbose,", "v,",         "none,"};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct arena *a = arena_new();
        struct job_spec spec = {.cpu_bind = asked[i], .gpu_bind = asked[i], .mem_bind = asked[i]};
        const char *tasks =
            bind_by(a, "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=2 ids=0,1", &spec).tasks;
        int lines = 0;
        for (const char *c = tasks; *c; c++)
            lines += *c == '\n';
        if (lines != 2)
            fail_msg("%s: %s", asked[i], tasks);
        arena_free(a);
    }
}

/* Both as long as may be: read once, not once for each task. */
static void test_many_tasks_and_long_lists(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    enum { N = 32000 };
    char *list = arena_alloc(a, 16 + 2 * N), *at = list + sprintf(list, "map_cpu:");
    for (int i = 0; i < N; i++)
        at += sprintf(at, "%d,", i % 8);
    at[-1] = '\0';
    struct job_spec spec = {.cpu_bind = list};
    const char *tasks = bind_by(a, "a cpus=0-7 mem=1 tasks=65533 ids=0-65532", &spec).tasks;
    assert_memory_equal(tasks, "0 0 - -\n1 1 - -\n", 16);
    assert_non_null(strstr(tasks, "\n65532 4 - -\n"));
    arena_free(a);
}

/* With --overcommit a task may ask for more than there is: it has all. */
static void test_no_task_has_more_than_all(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct job_spec spec = {.cpu_bind = "threads", .req = {.cpus_per_task = INT32_MAX}};
    assert_string_equal(bind_by(a, "a cpus=0-7 mem=1 tasks=1 ids=0", &spec).tasks,
                        "0 0,1,2,3,4,5,6,7 - -\n");
    arena_free(a);
}

/* Half a minute of the daemon's loop and 80 MB of a plan: of tasks that have all CPUs several
 * thousand times over the later ones keep to those of the step. */
static void test_many_tasks_with_all_cpus_each(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    char numbers[2048], *at = numbers;
    struct alloc al = {0};
    struct bind_result r;
    struct job_spec spec = {.cpu_bind = "threads", .req = {.cpus_per_task = 256}};
    for (int i = 0; i < 256; i++)
        at += sprintf(at, "%s%d", i ? "," : "", 1000 + 2 * i);
    assert_true(alloc_parse("a cpus=0-255 mem=1 tasks=65533 ids=0-65532", a, &al, NULL));
    struct bind_ask ask = {.here = alloc_find(&al, "a"),
                           .spec = &spec,
                           .cpu_numbers = numbers,
                           .threads_per_core = 2,
                           .cores_per_socket = 64};
    bind_tasks(&ask, a, &r);
    assert_true(strlen(r.tasks) < 8u << 20);
    assert_non_null(strstr(r.tasks, "\n4000 1000,1002,1004,"));
    assert_non_null(strstr(r.tasks, "\n65532 - - -\n"));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_of_tasks),
        cmocka_unit_test(test_lists_without_elements),
        cmocka_unit_test(test_many_tasks_and_long_lists),
        cmocka_unit_test(test_no_task_has_more_than_all),
        cmocka_unit_test(test_many_tasks_with_all_cpus_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
