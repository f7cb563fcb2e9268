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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(where_no_node_is_left_there_is_no_step),
        STORY(so_many_tasks_no_step_has),
        STORY(a_list_of_tasks_that_names_no_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
