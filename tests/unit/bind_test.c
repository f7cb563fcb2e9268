#include "unit.h"

#include "base/arena.h"
#include "base/idset.h"
#include "model/job/alloc.h"
#include "node/step/bind/bind.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* The longest word there may be, of every list and number, for the most tasks there may be: each
 * was read anew for each task, up to 44 s of the daemon's loop, and the node was taken for gone. */
static void test_many_tasks_and_long_words(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "map_cpu:",  "mask_cpu:", "map_ldom:",  "mask_ldom:", "map_mem:",      "mask_mem:",
        "map_gpu:",  "mask_gpu:", "map_gpu:0*", "single:",    "per_task:",     "verbose,",
        "mask_mem:", "prefer,",   "mask:0*1,",  "map_cpu:,",  "map_gpu:0*1,*", NULL};
    static const char *const pieces[] = {"0", "5", "f", ",", "verbose,", "*", "0*0,", "0,"};
    enum { WORD = 65000 };
    for (size_t i = 0; heads[i]; i++)
        for (size_t k = 0; k < sizeof pieces / sizeof pieces[0]; k++) {
            struct arena *a = arena_new();
            char *word = arena_alloc(a, WORD + 32), *at = word + sprintf(word, "%s", heads[i]);
            while (at < word + WORD)
                at += sprintf(at, "%s", pieces[k]);
            struct job_spec spec = {
                .cpu_bind = word, .mem_bind = word, .gpu_bind = word, .req.gpus_per_task = word};
            clock_t from = clock();
            const char *tasks =
                bind_by(a, "a cpus=0-7 mem=1 gpu:v100=0-3 tasks=65533 ids=0-65532", &spec).tasks;
            assert_non_null(strstr(tasks, "\n65532 "));
            if (clock() - from > 8 * CLOCKS_PER_SEC)
                fail_msg("%s%s…: %.1f s", heads[i], pieces[k],
                         (double)(clock() - from) / CLOCKS_PER_SEC);
            arena_free(a);
        }
}

/* ---- what the lists say, by another reading of them ---------------------------------------- */

/* A node whose CPUs are more than a mask of 64 bits has, in sockets of 40. */
enum { WIDE = 160, WIDE_SOCKET = 40, WIDE_TASKS = 23, WIDE_GPUS = 70 };

enum list_kind { MAP_CPU, MASK_CPU, MAP_LDOM, MASK_LDOM, MAP_MEM, MASK_MEM, MAP_GPU, MASK_GPU };

static unsigned random_below(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

/* One element: its text, and which numbers below 200 it has. */
static void element_make(unsigned *seed, bool mask, unsigned most, struct str *text, bool *has)
{
    memset(has, 0, 200);
    if (!mask) {
        unsigned n = random_below(seed, most), form = random_below(seed, 3);
        has[n] = true;
        str_addf(text, form == 0 ? "%u" : form == 1 ? "0x%x" : "00%u", n);
        return;
    }
    unsigned digits = 1 + random_below(seed, 50);
    str_add(text, random_below(seed, 2) ? "0x" : "");
    for (unsigned i = digits; i-- > 0;) {
        unsigned digit = random_below(seed, 16);
        str_addf(text, random_below(seed, 2) ? "%x" : "%X", digit);
        for (unsigned bit = 0; bit < 4 && 4 * i + bit < 200; bit++)
            has[4 * i + bit] = digit >> bit & 1;
    }
}

/* What the task's line is to say where the element has these numbers. */
static void expect(enum list_kind kind, const bool *has, struct str *out)
{
    struct idset set = IDSET_INIT;
    bool ldom = kind == MAP_LDOM || kind == MASK_LDOM, gpu = kind == MAP_GPU || kind == MASK_GPU;
    unsigned end = kind <= MASK_LDOM ? WIDE : gpu ? WIDE_GPUS : 200;
    for (unsigned i = 0; i < 200; i++) {
        unsigned id = kind == MAP_GPU ? i % WIDE_GPUS : i;
        if (has[ldom ? i / WIDE_SOCKET : i] && (id < end))
            idset_add(&set, id);
    }
    if (kind == MAP_MEM || kind == MASK_MEM) {
        idset_format(&set, out);
    } else {
        uint32_t id;
        for (bool more = idset_first(&set, &id); more; more = idset_next(&set, id, &id))
            str_addf(out, "%s%u", out->len ? "," : "", id);
    }
    str_add(out, set.count ? "" : "-");
    idset_done(&set);
}

static void list_try(enum list_kind kind, unsigned seed, const char *cpu_numbers)
{
    static const char *const names[] = {"map_cpu", "mask_cpu", "map_ldom", "mask_ldom",
                                        "map_mem", "mask_mem", "map_gpu",  "mask_gpu"};
    static bool has[WIDE_TASKS][200];
    struct str text = STR_INIT;
    size_t n = 0, elements = 1 + random_below(&seed, 6);
    bool mask = kind % 2 == 1;
    str_addf(&text, "%s%s:", random_below(&seed, 2) ? "verbose," : "", names[kind]);
    for (size_t i = 0; i < elements; i++) {
        bool one[200];
        size_t count = random_below(&seed, 2) ? 1 + random_below(&seed, 9) : 1;
        str_add(&text, i ? "," : "");
        element_make(&seed, mask, kind == MAP_LDOM ? 5 : 190, &text, one);
        if (count > 1 || random_below(&seed, 2))
            str_addf(&text, "*%zu", count);
        for (size_t k = 0; k < count && n < WIDE_TASKS; k++)
            memcpy(has[n++], one, sizeof one);
    }
    struct arena *a = arena_new();
    struct alloc al = {0};
    struct bind_result r;
    const char *asked = str_text(&text);
    struct job_spec spec = {.cpu_bind = kind <= MASK_LDOM ? asked : "none",
                            .mem_bind = kind == MAP_MEM || kind == MASK_MEM ? asked : NULL,
                            .gpu_bind = kind >= MAP_GPU ? asked : NULL};
    assert_true(alloc_parse("a cpus=0-159 mem=1 gpu:v100=0-69 tasks=23 ids=0-22", a, &al, NULL));
    struct bind_ask ask = {.here = alloc_find(&al, "a"),
                           .spec = &spec,
                           .cpu_numbers = cpu_numbers,
                           .threads_per_core = 1,
                           .cores_per_socket = WIDE_SOCKET};
    bind_tasks(&ask, a, &r);
    const char *line = r.tasks;
    for (size_t i = 0; i < WIDE_TASKS; i++, line = strchr(line, '\n') + 1) {
        struct str wanted = STR_INIT;
        char cpus[1024], gpus[1024], mem[1024];
        expect(kind, has[i % n], &wanted);
        assert_int_equal(sscanf(line, "%*s %1023s %1023s %1023s", cpus, gpus, mem), 3);
        const char *got = kind <= MASK_LDOM ? cpus : kind >= MAP_GPU ? gpus : mem;
        if (!text_is(got, str_text(&wanted)))
            fail_msg("%s: task %zu has %s, not %s", asked, i, got, str_text(&wanted));
        str_done(&wanted);
    }
    arena_free(a);
    str_done(&text);
}

/* Masks of more than 64 bits had the first 64; "*4" was not read; lists of domains and masks of
 * memory did nothing. */
static void test_lists_say_what_they_say(void **state)
{
    (void)state;
    struct str numbers = STR_INIT;
    for (int i = 0; i < WIDE; i++)
        str_addf(&numbers, "%s%d", i ? "," : "", i);
    for (unsigned seed = 0; seed < 2000; seed++)
        list_try((enum list_kind)(seed % 8), seed, str_text(&numbers));
    str_done(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_of_tasks),
        cmocka_unit_test(test_lists_without_elements),
        cmocka_unit_test(test_many_tasks_and_long_lists),
        cmocka_unit_test(test_no_task_has_more_than_all),
        cmocka_unit_test(test_many_tasks_with_all_cpus_each),
        cmocka_unit_test(test_many_tasks_and_long_words),
        cmocka_unit_test(test_lists_say_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
