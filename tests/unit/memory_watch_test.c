#include "unit.h"

#include "base/str.h"
#include "node/shepherd/watch/memory_watch.h"
#include "node/step/dir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER "7.1.0"
#define MINE  "7.1.1"

/* A directory of steps with two of one job: OTHER belongs to another process, which stands for its
 * shepherd; MINE to this one. */
struct two_steps {
    char dir[64];
    int steps_fd, state_fd, other_state_fd;
    pid_t other;
};

static struct step_plan plan_of(const char *name, int64_t job_mem)
{
    return (struct step_plan){.dir_name = name, .address = "none", .job_mem_bytes = job_mem};
}

static void step_make(struct two_steps *t, const char *name, int *ret_state)
{
    struct step_plan p = plan_of(name, 0);
    struct note first = {.job_id = 7, .attempt = 1};
    assert_int_equal(step_dir_make(t->steps_fd, &p, &first, ret_state), STEP_DIR_MADE);
}

static int setup(void **state)
{
    struct two_steps *t = calloc(1, sizeof *t);
    int ready[2];
    char byte;
    snprintf(t->dir, sizeof t->dir, "/tmp/memory-watch-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    t->steps_fd = open(t->dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(pipe(ready), 0);
    t->other = fork();
    if (t->other == 0) {
        step_make(t, OTHER, &t->other_state_fd);
        byte = write(ready[1], "+", 1) == 1;
        pause();
        _exit(byte);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    step_make(t, MINE, &t->state_fd);
    *state = t;
    return 0;
}

static void other_end(struct two_steps *t)
{
    if (t->other <= 0)
        return;
    kill(t->other, SIGKILL);
    waitpid(t->other, NULL, 0);
    t->other = 0;
}

static int teardown(void **state)
{
    struct two_steps *t = *state;
    other_end(t);
    unlinkat(t->steps_fd, OTHER "/memory", 0);
    unlinkat(t->steps_fd, MINE "/memory", 0);
    step_dir_remove(t->steps_fd, OTHER);
    step_dir_remove(t->steps_fd, MINE);
    close(t->steps_fd);
    close(t->state_fd);
    rmdir(t->dir);
    free(t);
    return 0;
}

static void other_uses(const struct two_steps *t, long long bytes)
{
    char text[40];
    snprintf(text, sizeof text, "%lld 1\n", bytes);
    assert_true(small_file_write(t->steps_fd, OTHER "/memory", text, strlen(text), 0600));
}

static const char *mine_left(const struct two_steps *t)
{
    static char left[64];
    struct str text = STR_INIT;
    assert_true(small_file_read(t->steps_fd, MINE "/memory", sizeof left - 1, &text));
    snprintf(left, sizeof left, "%s", str_text(&text));
    str_done(&text);
    return left;
}

static bool asked(struct memory_watch *w, const struct step_plan *p, int steps_fd,
                  const pid_t *self)
{
    struct memory_shares shares = {0};
    const uint64_t start = 1;
    const struct memory_processes of = {self, &start, 1, 1 << 30, &shares};
    bool ends = memory_watch(w, p, steps_fd, &of);
    vec_done(&shares.of);
    return ends;
}

static bool watched(const struct two_steps *t, int64_t job_mem, struct memory_watch *w)
{
    struct step_plan p = plan_of(MINE, job_mem);
    pid_t self = getpid();
    return asked(w, &p, t->steps_fd, &self);
}

static void test_the_larger_step_ends_and_counts_no_more(void **state)
{
    struct two_steps *t = *state;
    struct memory_watch w;
    other_uses(t, 1);
    assert_true(watched(t, 1000, &w));
    assert_true(w.of_job && w.used_bytes > 1000 && w.limit_bytes == 1000);
    assert_string_equal(
        mine_left(t), "0 1\n"); /* else the other would find the job over its memory and end too */
}

static void test_the_smaller_step_stays(void **state)
{
    struct two_steps *t = *state;
    struct memory_watch w;
    other_uses(t, INT64_C(1) << 40);
    assert_false(watched(t, 1000, &w));
    assert_string_not_equal(mine_left(t), "0 1\n");
}

/* Where there are no descriptors left nothing can be asked: that is no proof against the step. */
static void test_what_cannot_be_found_out_ends_nobody(void **state)
{
    struct two_steps *t = *state;
    struct memory_watch w;
    struct step_plan p = plan_of(MINE, 0);
    struct rlimit most, none;
    pid_t self = getpid();
    p.mem_limit_bytes = 1;
    getrlimit(RLIMIT_NOFILE, &most);
    none = most;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    bool ends = asked(&w, &p, t->steps_fd, &self);
    setrlimit(RLIMIT_NOFILE, &most);
    assert_false(ends);
    assert_true(asked(&w, &p, t->steps_fd, &self));
    assert_in_range(w.used_bytes, 2, (1 << 30) - 1); /* what it shares is counted in parts */
}

static void test_what_an_ended_step_left_does_not_count(void **state)
{
    struct two_steps *t = *state;
    struct memory_watch w;
    other_uses(t, INT64_C(1) << 40);
    other_end(t);
    assert_false(watched(t, INT64_C(1) << 39, &w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_larger_step_ends_and_counts_no_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_smaller_step_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_found_out_ends_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_an_ended_step_left_does_not_count, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
