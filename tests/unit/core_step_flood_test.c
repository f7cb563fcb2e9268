/* What one user's steps can make the controller keep, and do at once: bounded, however they are
 * asked for. */
#include "core_step_help.h"

#include "model/limits.h"

#include <malloc.h>

#define MIB (1u << 20)

/* So many bytes of text. */
static const char *long_line(size_t bytes)
{
    char *text = arena_alloc(w.a, bytes + 1);
    memset(text, 'x', bytes);
    return text;
}

/* The same call again and again is one step's, which keeps what it was asked with once. */
static void a_call_that_is_repeated_is_kept_once(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.key = "again";
    spec.submit_line = long_line(MIB);
    assert_non_null(srun(SRUN, &m));
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 64; i++) {
        say(SRUN, MSG_CREATE_STEP, &m);
        assert_non_null(heard(SRUN, MSG_STEP_CREATED));
    }
    assert_true(mallinfo2().uordblks < before + 8 * MIB);
}

/* A program comes with the call of a step that has no command behind it, and with no other. */
static void programs_come_with_async_alone(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.key = "again";
    m.tasks = (struct blob){"tasks", 5};
    say(SRUN, MSG_CREATE_STEP, &m);
    assert_int_equal(refusal(), REFUSE_BAD_MESSAGE);
    m.tasks = (struct blob){0};
    assert_non_null(srun(SRUN, &m));
    m.tasks = (struct blob){"tasks", 5};
    say(SRUN + 1, MSG_CREATE_STEP, &m);
    assert_int_equal(refusal(), REFUSE_BAD_MESSAGE);
    m.async = true;
    m.key = "other";
    assert_non_null(srun(SRUN, &m));
}

/* Asks again and again until it is refused; how many were kept. */
static size_t asked(struct msg_create_step m)
{
    size_t n = 0;
    for (; n < 400; n++) {
        m.key = arena_printf(w.a, "key %zu of %u", n, w.peer.uid);
        say(SRUN + n, MSG_CREATE_STEP, &m);
        if (sent(FX_REPLY, MSG_DONE))
            return n;
    }
    return n;
}

static void full(void)
{
    assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "a user may have 256 MiB"));
}

static void steps_that_run_keep_so_much_for_each_user(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.overlap = true;
    m.address = long_line(MIB); /* in no row */
    w.fills = true;
    assert_int_equal(asked(m), 255);
    full();
    /* What is there is answered. */
    m.key = arena_printf(w.a, "key 0 of %u", w.peer.uid);
    say(SRUN, MSG_CREATE_STEP, &m);
    assert_non_null(heard(SRUN, MSG_STEP_CREATED));
    m.key = NULL;
    am_root(); /* he knows what he does */
    say(SRUN, MSG_CREATE_STEP, &m);
    assert_non_null(heard(SRUN, MSG_STEP_CREATED));
    am_bob();
    m.job_id = salloc(1);
    assert_non_null(srun(SRUN, &m));
    am_alice();
    m.job_id = id;
    for (int64_t i = 0; i < 2; i++) /* hers is one of his */
        ends(1, id, i, 0);
    assert_non_null(srun(SRUN, &m));
    say(SRUN, MSG_CREATE_STEP, &m);
    full();
    w.fills = false;
}

/* Who may have user namespaces is as many of them as he likes. */
static void steps_of_users_without_a_name_keep_so_much_together(void **unused)
{
    (void)unused;
    struct job_spec spec;
    am(70000, NULL, false);
    struct msg_create_step m = a_step(salloc(1), &spec, 1);
    m.overlap = true;
    m.address = long_line(MIB); /* in no row */
    w.fills = true;
    assert_int_equal(asked(m), 255);
    am(70001, NULL, false);
    m.job_id = salloc(1);
    say(SRUN, MSG_CREATE_STEP, &m);
    full();
    am_bob();
    m.job_id = salloc(1);
    assert_non_null(srun(SRUN, &m));
    w.fills = false;
}

static void steps_that_wait_keep_so_much_for_each_user(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    assert_non_null(srun_tasks(SRUN + 1000, id, 1));
    m.address = long_line(MIB); /* in no row */
    w.fills = true;
    assert_int_equal(asked(m), 255);
    full();
    m.key = arena_printf(w.a, "key 7 of %u", w.peer.uid);
    say(SRUN + 500, MSG_CREATE_STEP, &m); /* it waits already */
    assert_non_null(heard(SRUN + 500, MSG_STEP_PENDING));
    m.key = "new";
    m.async = true;
    m.tasks = (struct blob){"tasks", 5};
    say(SRUN, MSG_CREATE_STEP, &m);
    full();
    for (uint64_t i = 0; i < 2; i++)
        hang_up(SRUN + i);
    say(SRUN + 300, MSG_CREATE_STEP, &m);
    assert_non_null(heard(SRUN + 300, MSG_STEP_CREATED));
    w.fills = false;
    cancel(ids_of(id));
    assert_int_equal(refusal(), REFUSE_ALREADY_DONE); /* what they are told */
}

/* What waits without a command counts too, anew after a restart, and is gone with its run. */
static void what_waits_by_itself_counts(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec, other;
    struct msg_create_step m = a_step(id, &spec, 1), by_itself = a_step(id, &other, 1);
    by_itself.async = true;
    by_itself.tasks = (struct blob){"tasks", 5};
    other.submit_line = m.address = long_line(MIB);
    for (int i = 0; i < 6; i++)
        assert_non_null(srun(SRUN, &by_itself)); /* the first runs */
    w.fills = true;
    assert_int_equal(asked(m), 249);
    full();
    by_itself.key = "one more";
    say(SRUN, MSG_CREATE_STEP, &by_itself);
    full();
    restart(CONF);
    am_alice();
    assert_int_equal(asked(m), 249);
    full();
    w.fills = false;
    cancel(ids_of(id));
    m.job_id = salloc(1);
    for (int i = 1; i <= 4; i++)
        hello(i);
    am_alice();
    assert_non_null(srun(SRUN, &m));
}

/* ---- tried again ---- */

/* The first of many that wait do not fit, and the last does: it is tried all the same. */
static void everybody_who_waits_is_tried(void **unused)
{
    (void)unused;
    for (int async = 0; async < 2; async++) {
        uint64_t id = salloc(1);
        struct job_spec spec;
        struct msg_create_step m = a_step(id, &spec, 4);
        m.exact = true;
        assert_non_null(srun(SRUN, &m));
        assert_non_null(srun(SRUN, &m));
        m = a_step(id, &spec, 8);
        m.exact = true;
        m.async = async;
        if (async)
            m.tasks = (struct blob){"tasks", 5};
        for (uint64_t i = 0; i < 300; i++)
            say(SRUN + 10 + i, MSG_CREATE_STEP, &m);
        spec.req.ntasks = 3;
        say(SRUN + 1000, MSG_CREATE_STEP, &m);
        effects_reset(&w.fx);
        uint64_t steps = w.steps;
        ends(1 + async, id, 0, 0);
        assert_int_equal(told(1 + async, MSG_LAUNCH), 1);
        assert_int_equal(running(id), async ? 302 : 2);
        assert_true(w.steps >= steps + 5); /* 64 of them in each */
        cancel(ids_of(id));
    }
}

/* While they are tried something else becomes free: it is not overlooked. */
static void what_comes_free_meanwhile_is_not_overlooked(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    for (int i = 0; i < 8; i++)
        assert_non_null(srun_exact(SRUN, id, 1));
    for (uint64_t i = 0; i < 200; i++)
        assert_null(srun_exact(SRUN + 10 + i, id, i % 2 ? 8 : 7));
    struct msg_report over = {.kind = REPORT_EXITED, .job_id = id, .attempt = 1};
    struct message m = {.kind = MSG_REPORT, .body = &over};
    struct peer n = {.user = "root", .is_admin = true};
    effects_reset(&w.fx);
    for (int64_t i = 0; i < 7; i++) { /* no wake between them but one */
        over.step_id = i;
        step((struct event){.kind = EV_MESSAGE, .conn = CONN_OF(1), .peer = &n, .msg = &m});
        if (i == 3)
            step((struct event){.kind = EV_WAKE});
    }
    settle(0);
    assert_int_equal(running(id), 2);
    assert_int_equal(told(1, MSG_LAUNCH), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_call_that_is_repeated_is_kept_once),
        STORY(programs_come_with_async_alone),
        STORY(steps_that_run_keep_so_much_for_each_user),
        STORY(steps_of_users_without_a_name_keep_so_much_together),
        STORY(steps_that_wait_keep_so_much_for_each_user),
        STORY(what_waits_by_itself_counts),
        STORY(everybody_who_waits_is_tried),
        STORY(what_comes_free_meanwhile_is_not_overlooked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
