/* The jobs that a query of scontrol's finds (cli/scontrol/labels.c), of which there may be very
 * many; the controller is the test's. */
#include "unit.h"

#include "base/arena.h"
#include "cli/scontrol/scontrol.h"
#include "model/job/job.h"

#include <stdlib.h>
#include <string.h>

static struct {
    uint64_t jobs;
    const char *fields; /* of the last question */
    struct str failed;
} there;

struct client *scontrol_connect(struct scontrol *s, const char *what)
{
    return (struct client *)&there;
}

void scontrol_fail(struct scontrol *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_addv(&there.failed, format, args);
    va_end(args);
}

bool client_query(struct client *c, const struct msg_query *q, const struct fields *t,
                  struct arena *a, void (*row)(void *ctx, const void *record), void *ctx,
                  struct msg_done *ret_done, struct err *ret_err)
{
    there.fields = q->fields;
    if (q->names)
        return err_set(ret_err, ERR_UNAVAILABLE, "not now");
    for (uint64_t id = 1; id <= there.jobs; id++)
        row(ctx, &(struct job){.id = id, .array_task_id = NO_TASK});
    return true;
}

/* Who copies the list for each of them needs 300 GB here. */
static void very_many_are_one_list(void **state)
{
    struct scontrol s = {.a = arena_new()};
    struct msg_query q = {.what = QUERY_JOBS};
    struct str wanted = STR_INIT;
    there.jobs = 300000;
    for (uint64_t id = 1; id <= there.jobs; id++)
        str_addf(&wanted, "%s%llu", id > 1 ? "," : "", (unsigned long long)id);
    assert_string_equal(scontrol_job_labels(&s, &q), str_text(&wanted));
    assert_string_equal(there.fields, JOB_LABEL_FIELDS);
    assert_true(arena_used(s.a) < 3 * wanted.len);
    str_done(&wanted);
    arena_free(s.a);
}

static void is_there_any(void **state)
{
    struct scontrol s = {.a = arena_new()};
    struct msg_query q = {.what = QUERY_JOBS}, fails = {.what = QUERY_JOBS, .names = "x"};
    there.jobs = 300000;
    assert_true(scontrol_any_job(&s, &q));
    assert_string_equal(there.fields, "id");
    assert_true(arena_used(s.a) < 4096);
    there.jobs = 0;
    assert_false(scontrol_any_job(&s, &q));
    assert_null(scontrol_job_labels(&s, &q));
    assert_int_equal(there.failed.len, 0);
    assert_null(scontrol_job_labels(&s, &fails));
    assert_string_equal(str_text(&there.failed), "slurm_load_jobs error: not now");
    str_done(&there.failed);
    arena_free(s.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(very_many_are_one_list),
        cmocka_unit_test(is_there_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
