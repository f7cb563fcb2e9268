/* Prolog and Epilog on a node that has no descriptor left: they wait, and the daemon goes on. */
#include "io_help.h"

#include "node/daemon/programs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct visit {
    struct world *world;
    struct programs *programs;
    struct timer *later;
    struct rlimit before;
    int fill[1024];
    size_t nfill;
    int count;
    bool ok, waited; /* the loop went on before it was done */
    char text[600];
};

static void visit_done(void *ctx, const struct note *step, bool is_epilog, bool ok,
                       const char *text)
{
    struct visit *v = ctx;
    assert_int_equal(step->job_id, 7);
    assert_false(is_epilog);
    v->count++;
    v->ok = ok;
    snprintf(v->text, sizeof v->text, "%s", text ? text : "");
    loop_stop(v->world->loop);
}

/* Every descriptor that this process may have is taken. */
static void descriptors_take(struct visit *v)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &v->before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){512, v->before.rlim_max}), 0);
    int fd;
    while (v->nfill < 1024 && (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        v->fill[v->nfill++] = fd;
}

static void descriptors_give(void *ctx)
{
    struct visit *v = ctx;
    v->waited = v->count == 0;
    while (v->nfill > 0)
        close(v->fill[--v->nfill]);
    setrlimit(RLIMIT_NOFILE, &v->before);
}

static void begin(struct visit *v, void *world)
{
    memset(v, 0, sizeof *v);
    v->world = world;
    v->programs = programs_new(v->world->loop, visit_done, v);
    v->later = timer_new(v->world->loop, descriptors_give, v);
}

static void end(struct visit *v)
{
    timer_free(v->later);
    programs_free(v->programs);
}

static bool run(struct visit *v, const char *pattern, struct err *err)
{
    const struct note step = {.job_id = 7};
    return programs_run(v->programs, &step, false, pattern, (struct plan_bytes){"A=1", 4}, 0, err);
}

static void they_wait_for_a_descriptor(void **state)
{
    struct visit v;
    struct err err = {0};
    begin(&v, *state);
    descriptors_take(&v);
    bool begun = run(&v, "/bin/true", &err);
    if (!begun)
        descriptors_give(&v);
    assert_true(begun);
    timer_set(v.later, 50000);
    loop_run(v.world->loop);
    assert_true(v.waited && v.ok);
    assert_int_equal(v.count, 1);
    end(&v);
}

static void a_pattern_waits_until_its_directory_can_be_read(void **state)
{
    struct visit v;
    struct err err = {0};
    begin(&v, *state);
    descriptors_take(&v);
    bool begun = run(&v, "/bin/tru[e]", &err);
    if (!begun)
        descriptors_give(&v);
    assert_true(begun);
    timer_set(v.later, 50000);
    loop_run(v.world->loop);
    assert_true(v.waited && v.ok);
    end(&v);
}

static void who_waits_is_forgotten_with_all(void **state)
{
    struct visit v;
    struct err err = {0};
    begin(&v, *state);
    descriptors_take(&v);
    bool begun = run(&v, "/bin/true", &err);
    end(&v);
    descriptors_give(&v);
    assert_true(begun);
    assert_int_equal(v.count, 0);
}

static void what_is_not_there_is_told_at_once(void **state)
{
    struct visit v;
    struct err err = {0};
    begin(&v, *state);
    assert_false(run(&v, "/dev/null/prolog", &err));
    assert_non_null(strstr(err.text, "prolog /dev/null/prolog"));
    assert_false(run(&v, "/dev/null/*", &err));
    assert_true(run(&v, "/bin/false", &err));
    loop_run(v.world->loop);
    assert_false(v.ok);
    assert_string_equal(v.text, "prolog /bin/false exited with 1");
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_wait_for_a_descriptor),
        TEST(a_pattern_waits_until_its_directory_can_be_read),
        TEST(who_waits_is_forgotten_with_all),
        TEST(what_is_not_there_is_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
