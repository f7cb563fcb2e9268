/* --test-only and --immediate: what is said of jobs that are not kept is what the planner does with
 * them when they are. */
#include "core_tree.h"

#define LIMITS CONF "AccountingStorageEnforce=limits,qos\nSchedulerParameters=promises=all\n"

static struct msg_submitted tried(struct job_spec *specs, size_t n)
{
    struct msg_submit m = {.specs = {specs, n}, .test_only = true};
    uint64_t before = core_hash(w.c);
    say(1, MSG_SUBMIT, &m);
    assert_true(core_hash(w.c) == before);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED) {
            struct msg_submitted got = *(const struct msg_submitted *)w.fx.v[i].msg.body;
            got.nodes = got.nodes ? arena_strdup(w.a, got.nodes) : NULL;
            got.partition = got.partition ? arena_strdup(w.a, got.partition) : NULL;
            return got;
        }
    return (struct msg_submitted){0};
}

/* When it is expected to start, or did. */
static int64_t starts(uint64_t id)
{
    if (state(id) == JOB_RUNNING)
        return job(id)->start_us;
    return ((const struct why *)why(ids_of(id))->jobs.v)->planned_us;
}

/* The same jobs, tried and then submitted. */
static struct msg_submitted as_foretold(struct job_spec *specs, size_t n)
{
    struct msg_submitted said = tried(specs, n);
    uint64_t id = submit_all(specs, n);
    assert_int_equal(said.job_id, id);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(said.planned_us, starts(id + i));
    return said;
}

static void a_job_that_starts_now(void **unused)
{
    struct job_spec s = job_of(3, "physics", "normal");
    struct msg_submitted said = as_foretold(&s, 1);
    assert_int_equal(said.planned_us, w.now);
    assert_int_equal(said.cpus, 3);
    assert_string_equal(said.nodes, "n1");
    assert_string_equal(said.partition, "main");
}

static struct job_spec whole(int32_t nodes, int64_t limit_us)
{
    struct job_spec s = job_of(8 * nodes, "physics", "normal");
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = limit_us;
    return s;
}

static void jobs_that_wait_for_nodes(void **unused)
{
    struct job_spec fill = whole(2, 30 * MIN), other = whole(2, 50 * MIN);
    submit_all(&fill, 1);
    submit_all(&other, 1);
    struct job_spec narrow = whole(2, 10 * MIN), wide = whole(4, 10 * MIN);
    assert_int_equal(as_foretold(&narrow, 1).planned_us, w.now + 30 * MIN);
    assert_int_equal(as_foretold(&wide, 1).planned_us, w.now + 50 * MIN);
}

/* All components are planned, not the first alone: there is room for that one now. */
static void components_are_planned_together(void **unused)
{
    struct job_spec fill = whole(2, 30 * MIN);
    submit_all(&fill, 1);
    struct job_spec pair[2] = {whole(1, 10 * MIN), whole(3, 10 * MIN)};
    struct msg_submitted said = as_foretold(pair, 2);
    assert_int_equal(said.planned_us, w.now + 30 * MIN);
    assert_int_equal(said.cpus, 32);
    struct job_spec small[2] = {job_of(1, "physics", "normal"), job_of(2, "physics", "normal")};
    small[1].req.partition = "small";
    small[0].req.nodelist = "n4";
    said = tried(small, 2);
    assert_int_equal(said.cpus, 3);
    assert_string_equal(said.partition, "main,small");
}

static void an_immediate_job_needs_room_for_all_components(void **unused)
{
    struct job_spec fill = whole(2, 30 * MIN);
    submit_all(&fill, 1);
    struct job_spec pair[2] = {whole(1, 10 * MIN), whole(3, 10 * MIN)};
    struct msg_submit m = {.specs = {pair, 2}, .immediate = true};
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_UNAVAILABLE);
    pair[1] = whole(1, 10 * MIN);
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* A limit of its account leaves room only when what runs there ends. */
static void limits_count(void **unused)
{
    assert_int_equal(limit_set("physics", "GrpTRES=cpu=8"), REFUSE_NONE);
    struct job_spec first = whole(1, 20 * MIN), next = job_of(4, "physics", "normal"),
                    free_of_it = job_of(4, "chem", "normal");
    submit_all(&first, 1);
    assert_int_equal(as_foretold(&next, 1).planned_us, w.now + 20 * MIN);
    assert_int_equal(as_foretold(&free_of_it, 1).planned_us, w.now);
}

/* What keeps it from the planner is said, and no start is. */
static void a_limit_that_it_can_never_keep_is_named(void **unused)
{
    assert_int_equal(limit_set("physics", "MaxTRESPerJob=cpu=2"), REFUSE_NONE);
    struct job_spec s = job_of(4, "physics", "normal");
    assert_int_equal(tried(&s, 1).planned_us, 0);
    assert_int_equal(refusal(), REFUSE_UNAVAILABLE);
    assert_non_null(strstr(answer()->detail, "MaxTRES"));
}

static void not_before_its_begin_time(void **unused)
{
    struct job_spec s = job_of(1, "physics", "normal");
    s.begin_us = w.now + 90 * MIN;
    assert_int_equal(tried(&s, 1).planned_us, w.now + 90 * MIN);
}

static int limited_setup(void **unused)
{
    world_open(LIMITS, 4);
    the_tree();
    am_alice();
    return 0;
}

#define TRY(function) cmocka_unit_test_setup_teardown(function, limited_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRY(a_job_that_starts_now),
        TRY(jobs_that_wait_for_nodes),
        TRY(components_are_planned_together),
        TRY(an_immediate_job_needs_room_for_all_components),
        TRY(limits_count),
        TRY(a_limit_that_it_can_never_keep_is_named),
        TRY(not_before_its_begin_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
