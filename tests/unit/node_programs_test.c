/* Prolog and Epilog on a node that has no descriptor left: they wait, and the daemon goes on. One
 * whose daemon is killed is ended by the next. */
#include "io_help.h"

#include "node/daemon/program_files.h"
#include "node/daemon/programs.h"
#include "node/step/proc_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIFE "this boot"

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
    v->programs = programs_new(v->world->loop, v->world->dir, LIFE, visit_done, v);
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

/* ---- of a daemon that is killed ---- */

static const char *path_in(const struct world *w, const char *name)
{
    return arena_printf(w->arena, "%s/%s", w->dir, name);
}

static size_t files_left(const struct world *w)
{
    const char **names;
    size_t n = 0;
    assert_true(dir_list(path_in(w, "programs"), w->arena, &names, &n, NULL));
    return n;
}

/* It and a process of its; both are there when this returns, and their daemon is not. */
static void killed_daemons_prolog(struct world *w, pid_t ret[2])
{
    const char *script = path_in(w, "prolog"), *begun = path_in(w, "begun");
    const char *text =
        arena_printf(w->arena, "#!/bin/sh\nsleep 1000 &\necho $$ $! >%s.new\nmv %s.new %s\nwait\n",
                     begun, begun, begun);
    assert_true(file_write_atomic(script, text, strlen(text), 0700, NULL));
    pid_t daemon = fork();
    if (daemon == 0) {
        struct world its = {.loop = loop_new(NULL)};
        struct visit v;
        struct err err = {0};
        strcpy(its.dir, w->dir);
        begin(&v, &its);
        if (run(&v, script, &err))
            while (access(begun, F_OK) != 0)
                usleep(10000);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(daemon, NULL, 0), daemon);
    long pid[2];
    const char *said = file_read_text(begun, 64, w->arena, NULL);
    assert_true(said && sscanf(said, "%ld %ld", &pid[0], &pid[1]) == 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(proc_start(ret[i] = (pid_t)pid[i]) > 0);
    assert_int_equal(unlink(begun), 0);
}

static void what_a_killed_daemon_had_run_does_not_run_beside_it(void **state)
{
    struct world *w = *state;
    pid_t pid[2];
    killed_daemons_prolog(w, pid);
    assert_int_equal(files_left(w), 1);
    assert_int_equal(programs_left_end(w->dir, LIFE), 1);
    for (size_t i = 0; i < 2; i++)
        for (int n = 0; n < 1000 && proc_start(pid[i]) > 0; n++)
            usleep(10000);
    assert_int_equal(proc_start(pid[0]), 0);
    assert_int_equal(proc_start(pid[1]), 0);
    assert_int_equal(files_left(w), 0);
    assert_int_equal(programs_left_end(w->dir, LIFE), 0);
}

/* Numbers of processes are given anew. */
static void nobody_is_taken_for_it(void **state)
{
    struct world *w = *state;
    pid_t pid[2];
    killed_daemons_prolog(w, pid);
    assert_int_equal(programs_left_end(w->dir, "another boot"), 0);
    program_file_put(w->dir, LIFE, pid[0], proc_start(pid[0]) + 1);
    program_file_put(w->dir, LIFE, pid[1], proc_start(pid[1])); /* which leads no session */
    program_file_put(w->dir, LIFE, -1, 0);
    assert_int_equal(programs_left_end(w->dir, LIFE), 0);
    assert_true(proc_start(pid[0]) > 0 && proc_start(pid[1]) > 0);
    assert_int_equal(kill(-pid[0], SIGKILL), 0);
}

static void one_that_is_over_is_not_looked_for(void **state)
{
    struct visit v;
    struct err err = {0};
    struct world *w = *state;
    begin(&v, w);
    program_file_put(w->dir, LIFE, 1, 1); /* there is a place for files */
    assert_int_equal(programs_left_end(w->dir, LIFE), 0);
    assert_true(run(&v, "/bin/true", &err));
    loop_run(w->loop);
    assert_true(v.ok);
    assert_int_equal(files_left(w), 0);
    end(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_wait_for_a_descriptor),
        TEST(a_pattern_waits_until_its_directory_can_be_read),
        TEST(who_waits_is_forgotten_with_all),
        TEST(what_is_not_there_is_told_at_once),
        TEST(what_a_killed_daemon_had_run_does_not_run_beside_it),
        TEST(nobody_is_taken_for_it),
        TEST(one_that_is_over_is_not_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
