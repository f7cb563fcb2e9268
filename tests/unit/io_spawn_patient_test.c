/* Children for which there is no room at first. */
#include "io_help.h"

#include "io/process/spawn_patient.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct ended {
    struct world *world;
    int count, status;
    char output[100], failed[200];
    struct rlimit before;
};

static void child_done(void *ctx, const struct spawn_result *r)
{
    struct ended *e = ctx;
    e->count++;
    e->status = r->status;
    snprintf(e->output, sizeof e->output, "%s", r->output);
    snprintf(e->failed, sizeof e->failed, "%s", r->failed ? r->failed : "");
    loop_stop(e->world->loop);
}

static void no_descriptors(struct ended *e)
{
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &e->before), 0);
    struct rlimit none = {(rlim_t)next, e->before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void room_again(void *ctx)
{
    struct ended *e = ctx;
    assert_int_equal(e->count, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &e->before), 0);
}

static struct spawn_patient *shell(struct ended *e, const char *script)
{
    char word[32], value[] = "WORD=kept", *input = strdup("given");
    const char *argv[] = {"/bin/sh", "-c", word, NULL}, *env[] = {value, NULL};
    snprintf(word, sizeof word, "%s", script);
    struct spawn_options o = {.argv = argv,
                              .env = env,
                              .dir = "/",
                              .input = input,
                              .input_len = 5,
                              .input_given = true,
                              .output_max = 50};
    struct spawn_patient *p = spawn_patiently(e->world->loop, &o, child_done, e, NULL);
    assert_non_null(p);
    memset(word, 'x', sizeof word); /* what was handed over is not looked at again */
    memset(value, 'x', sizeof value - 1);
    return p;
}

static void it_begins_when_there_is_room(void **state)
{
    struct ended e = {.world = *state};
    struct timer *t = timer_new(e.world->loop, room_again, &e);
    no_descriptors(&e);
    shell(&e, "cat; echo $WORD; pwd; exit 3");
    timer_set(t, 200000);
    loop_run(e.world->loop);
    timer_free(t);
    assert_int_equal(e.count, 1);
    assert_string_equal(e.output, "givenkept\n/\n");
    assert_string_equal(e.failed, "");
    assert_int_equal(WEXITSTATUS(e.status), 3);
}

static void with_room_it_begins_at_once(void **state)
{
    struct ended e = {.world = *state};
    shell(&e, "cat; echo $WORD");
    loop_run(e.world->loop);
    assert_string_equal(e.output, "givenkept\n");
    assert_int_equal(e.status, 0);
}

static void ten_seconds_are_enough(void **state)
{
    struct ended e = {.world = *state};
    int64_t began = clock_monotonic_us();
    no_descriptors(&e);
    shell(&e, "true");
    loop_run(e.world->loop);
    int64_t took = clock_monotonic_us() - began;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &e.before), 0);
    assert_int_equal(e.count, 1);
    assert_true(took >= 10000000 && took < 30000000);
    assert_non_null(strstr(e.failed, "oo many open files"));
    assert_true(e.status != 0);
}

static void who_waits_may_be_forgotten(void **state)
{
    struct ended e = {.world = *state};
    no_descriptors(&e);
    struct spawn_patient *p = shell(&e, "true");
    spawn_patient_free(p);
    spawn_patient_free(NULL);
    room_again(&e);
    p = shell(&e, "sleep 100");
    spawn_patient_free(p);
    assert_int_equal(e.count, 0);
}

static void what_is_not_there_is_told_at_once(void **state)
{
    struct ended e = {.world = *state};
    struct err err = {0};
    const char *argv[] = {"/no/such/program", NULL};
    struct spawn_options o = {
        .argv = argv, .input = strdup("x"), .input_len = 1, .input_given = true};
    assert_null(spawn_patiently(e.world->loop, &o, child_done, &e, &err));
    assert_non_null(strstr(err.text, "/no/such/program"));
    assert_int_equal(e.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_begins_when_there_is_room),
        TEST(with_room_it_begins_at_once),
        TEST(ten_seconds_are_enough),
        TEST(who_waits_may_be_forgotten),
        TEST(what_is_not_there_is_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
