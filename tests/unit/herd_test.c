/* Which steps count as asked for and never begun, when it is known that none begins any more. */
#include "unit.h"

#include "io/files.h"
#include "node/daemon/herd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char dir[64];
    struct loop *loop;
    struct log *log;
    struct herd_link *herd;
    size_t gone;
} w;

static void note_take(void *ctx, const struct note *n)
{
    (void)ctx;
    w.gone += n->kind == NOTE_GONE;
}

static int setup(void **state)
{
    static const struct herd_ops ops = {.note = note_take};
    struct err err = {0};
    char path[96];
    (void)state;
    memset(&w, 0, sizeof w);
    strcpy(w.dir, "/tmp/herd-test-XXXXXX");
    assert_non_null(mkdtemp(w.dir));
    snprintf(path, sizeof path, "%s/log", w.dir);
    w.loop = loop_new(&err);
    w.log = log_open(path, LOG_IS_INFO, &err);
    w.herd = herd_new(w.loop, w.log, w.dir, "/bin/true", "", &ops, NULL, &err);
    assert_non_null(w.herd);
    return 0;
}

static int teardown(void **state)
{
    struct str command = STR_INIT;
    (void)state;
    herd_free(w.herd);
    log_close(w.log);
    loop_free(w.loop);
    str_addf(&command, "rm -r %s", w.dir);
    assert_int_equal(system(str_text(&command)), 0);
    str_done(&command);
    return 0;
}

static size_t gone_after_look(int64_t job_id, bool must_have_begun)
{
    const struct note step = {.job_id = job_id, .attempt = 1, .step_id = 0};
    w.gone = 0;
    herd_look_after(w.herd, &step, must_have_begun);
    return w.gone;
}

static void what_has_no_directory_never_began(void **state)
{
    (void)state;
    assert_int_equal(gone_after_look(5, false), 0);
    assert_int_equal(gone_after_look(5, true), 1);
}

/* A step whose owner was still looked up when the shepherds' parent died was taken for one that
 * would never begin, started elsewhere, and begun here, too. */
static void whose_plan_is_still_made_will_begin(void **state)
{
    const struct note step = {.job_id = 5, .attempt = 1, .step_id = 0};
    (void)state;
    herd_expect(w.herd, &step);
    assert_int_equal(gone_after_look(5, true), 0);
    assert_int_equal(gone_after_look(6, true), 1);
    herd_gave_up(w.herd, &step);
    assert_int_equal(gone_after_look(5, true), 1);
}

/* There is no parent: the plan waits for one. */
static void whose_plan_waits_for_a_parent_will_begin(void **state)
{
    const struct note step = {.job_id = 5, .attempt = 1, .step_id = 0};
    const struct step_plan plan = {.job_id = 5, .attempt = 1, .step_id = 0, .dir_name = "5.1.0"};
    (void)state;
    herd_expect(w.herd, &step);
    herd_start(w.herd, &plan);
    assert_int_equal(gone_after_look(5, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_has_no_directory_never_began, setup, teardown),
        cmocka_unit_test_setup_teardown(whose_plan_is_still_made_will_begin, setup, teardown),
        cmocka_unit_test_setup_teardown(whose_plan_waits_for_a_parent_will_begin, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
