/* Steps as no command of ours asks for them: numbers of tasks that follow from others, lists that
 * name nothing. Whatever is asked, it is one step more, or none and a sentence. */
#include "core_step_help.h"

#include "model/limits.h"

/* Asked for, and refused with a sentence; or, with tasks > 0, made with so many. */
static void asked(uint64_t job_id, struct msg_create_step m, struct job_spec spec, int32_t tasks)
{
    m.job_id = job_id;
    m.spec.v = &spec;
    m.spec.n = 1;
    m.address = "@x";
    m.overlap = true;
    const struct step *st = srun(SRUN, &m);
    core_check(w.c);
    if (tasks) {
        assert_non_null(st);
        assert_int_equal(st->ntasks, tasks);
        return;
    }
    assert_null(st);
    const struct msg_done *done = heard(SRUN, MSG_DONE);
    assert_non_null(done);
    assert_int_not_equal(done->refusal, REFUSE_NONE);
    assert_false(text_empty(done->detail));
}

#define STEP(...)                                                                                  \
    (struct msg_create_step)                                                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define SPEC(...)                                                                                  \
    (struct job_spec)                                                                              \
    {                                                                                              \
        .name = "true", .req = { __VA_ARGS__ }                                                     \
    }

static void where_no_node_is_left_there_is_no_step(void **unused)
{
    uint64_t id = salloc(2);
    const char *all = job(id)->nodes;
    static const struct job_request forms[] = {
        {0},           {.cpus_per_task = 1}, {.ntasks_per_node = 2},
        {.ntasks = 1}, {.min_nodes = 1},     {.cpus_per_task = 1, .ntasks_per_node = 1}};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct job_spec spec = {.name = "true", .req = forms[i]};
        spec.req.exclude = all;
        asked(id, STEP(0), spec, 0);
    }
    asked(id, STEP(.interactive = true), SPEC(.exclude = all), 0);
    asked(id, STEP(.exact = true), SPEC(.exclude = all), 0);
}

/* More names than there could be nodes to leave out. */
static void names_without_end_are_not_left_out(void **unused)
{
    uint64_t id = salloc(2);
    asked(id, STEP(0), SPEC(.exclude = "a[1-131072][1][1][1][1][1][1][1]"), 0);
    const struct msg_done *done = heard(SRUN, MSG_DONE);
    assert_non_null(strstr(done->detail, "name each once"));
}

/* Three products beyond what a number holds, and one that comes out as 0 there. */
static void so_many_tasks_no_step_has(void **unused)
{
    uint64_t id = salloc(4);
    static const int32_t each[] = {LIMIT_TASKS, LIMIT_TASKS / 2, LIMIT_TASKS / 4 + 1};
    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        asked(id, STEP(0), SPEC(.ntasks_per_node = each[i]), 0);
        asked(id, STEP(0), SPEC(.ntasks_per_node = each[i], .overcommit = true), 0);
        asked(id, STEP(0), SPEC(.gpus = "1T", .ntasks_per_gpu = each[i]), 0);
        asked(id, STEP(0), SPEC(.gpus_per_task = "1T", .ntasks = each[i], .overcommit = true), 0);
    }
    asked(id, STEP(0), SPEC(.gpus = "256", .ntasks_per_gpu = LIMIT_TASKS), 0);
    asked(id, STEP(0), SPEC(.ntasks_per_node = 2), 8);
}

static void a_list_of_tasks_that_names_no_node(void **unused)
{
    uint64_t id = salloc(2);
    static const char *const lists[] = {"", ",", " ", " , ", ",,,"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        asked(id, STEP(.task_nodes = lists[i]), SPEC(0), 0);
        asked(id, STEP(.task_nodes = lists[i]), SPEC(.ntasks = 2), 0);
        asked(id, STEP(.task_nodes = lists[i]), SPEC(.ntasks_per_node = 65533), 0);
        asked(id, STEP(.task_nodes = lists[i]), SPEC(.cpus_per_task = 1), 0);
    }
    asked(id, STEP(.task_nodes = job(id)->nodes), SPEC(.ntasks_per_node = 65533), 2);
}

static void uses(int n, uint64_t id, int64_t step_id, enum report_kind kind, int64_t much)
{
    struct step use = {.cpu_user_us = much,
                       .cpu_system_us = much,
                       .energy_mj = much,
                       .read_bytes = much,
                       .write_bytes = much,
                       .ave_rss_bytes = much,
                       .gpu_samples = much,
                       .gpu_util_samples = much,
                       .gpu_util_ave = INT32_MAX,
                       .gpu_util_tot = INT32_MAX,
                       .gpu_mem_ave_bytes = much,
                       .gpu_mem_tot_bytes = much,
                       .cpu_khz = much};
    report(n, (struct msg_report){.kind = (int32_t)kind,
                                  .job_id = id,
                                  .attempt = 1,
                                  .step_id = step_id,
                                  .usage = {&use, 1}});
}

/* A counter that broke, or a host that lies: the sums are no reason to leave the job out when the
 * controller starts again. */
static void what_nodes_say_was_used_stays_a_number(void **unused)
{
    static const int64_t much[] = {1, INT64_MAX, INT64_MAX / 2 + 1, FIELD_SPAN_MAX};
    uint64_t id = salloc(2);
    for (size_t i = 0; i < ARRAY_LEN(much); i++) {
        struct job_spec spec;
        struct msg_create_step m = a_step(id, &spec, 2);
        m.overlap = true;
        spec.req.min_nodes = 2;
        const struct step *st = srun(SRUN + i, &m);
        assert_non_null(st);
        int64_t step_id = st->step_id;
        static const enum report_kind said[] = {REPORT_STARTED, REPORT_USAGE, REPORT_EXITED};
        for (size_t k = 0; k < ARRAY_LEN(said); k++)
            for (int n = 1; n <= 4; n++)
                uses(n, id, step_id, said[k], k ? much[i] : 0);
        core_check(w.c);
    }
    restart(CONF);
    assert_int_equal(job(id)->energy_mj, FIELD_SPAN_MAX);
    assert_int_equal(job(id)->cpu_user_us, FIELD_SPAN_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(where_no_node_is_left_there_is_no_step),
        STORY(names_without_end_are_not_left_out),
        STORY(so_many_tasks_no_step_has),
        STORY(a_list_of_tasks_that_names_no_node),
        STORY(what_nodes_say_was_used_stays_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
