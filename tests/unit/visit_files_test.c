/* What a node keeps of jobs that have been there, for its next daemon. */
#include "scratch.h"

#include "node/daemon/visit_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static struct str seen;
static int syncs;

/* The daemon's loop waits for no disk: a stranger may have it write for minutes. */
__attribute__((visibility("default"))) int fsync(int fd)
{
    (void)fd;
    syncs++;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    seen = STR_INIT;
    scratch_make(dir, sizeof dir, "visit-files");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    str_done(&seen);
    return scratch_remove(dir);
}

static struct note job(int64_t id, int64_t attempt)
{
    return (struct note){.job_id = id, .attempt = attempt};
}

static void kept(int64_t id, int64_t attempt, bool prepared, const char *env)
{
    struct note ids = job(id, attempt);
    struct err err = {0};
    if (!visit_file_write(dir, &ids, prepared, (struct plan_bytes){env, strlen(env) + 1}, &err))
        fail_msg("%s", err.text);
}

static void see(void *ctx, const struct note *ids, bool prepared)
{
    (void)ctx;
    str_addf(&seen, "%lld.%lld%s ", (long long)ids->job_id, (long long)ids->attempt,
             prepared ? "" : "?");
}

static void finds(const char *expected)
{
    struct err err = {0};
    str_clear(&seen);
    assert_true(visit_files_scan(dir, see, NULL, &err));
    assert_string_equal(str_text(&seen), expected);
}

static void reads(int64_t id, int64_t attempt, const char *expected)
{
    struct note ids = job(id, attempt);
    struct err err = {0};
    str_clear(&seen);
    assert_true(visit_file_read(dir, &ids, &seen, &err));
    assert_string_equal(str_text(&seen), expected);
}

static void test_what_is_kept_is_found_until_it_is_removed(void **state)
{
    (void)state;
    struct note first = job(7, 1), second = job(7, 2);
    finds("");
    reads(7, 1, "");
    kept(7, 1, false, "SLURM_JOB_ID=7");
    kept(7, 2, true, "SLURM_JOB_ID=7 again");
    finds("7.1? 7.2 ");
    reads(7, 1, "SLURM_JOB_ID=7");
    assert_true(visit_file_ready(dir, &first, NULL));
    finds("7.1 7.2 ");
    reads(7, 1, "SLURM_JOB_ID=7");
    visit_file_remove(dir, &first);
    finds("7.2 ");
    reads(7, 1, "");
    reads(7, 2, "SLURM_JOB_ID=7 again");
    visit_file_remove(dir, &second);
    assert_true(visit_file_ready(dir, &second, NULL)); /* what is not kept need not be ready */
    finds("");
}

static void test_what_cannot_be_kept_as_ready_is_told(void **state)
{
    (void)state;
    struct note ids = job(7, 1);
    struct err err = {0};
    char path[128];
    kept(7, 1, false, "x");
    snprintf(path, sizeof path, "%s/visits/7.1", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(visit_file_ready(dir, &ids, &err));
    assert_non_null(strstr(err.text, "/visits/7.1.prolog: "));
    assert_int_equal(rmdir(path), 0);
}

static void put(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/visits/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
}

static void test_other_names_are_not_visits(void **state)
{
    (void)state;
    static const char *const names[] = {"8",   "8.1.new", "8.1.prolog.new", "x.1",
                                        "0.1", "8.",      ".prolog",        "8.1.prolog.prolog"};
    kept(8, 1, true, "x");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(names[i]);
    finds("8.1 ");
    char path[128];
    snprintf(path, sizeof path, "%s/visits/8.1.new", dir);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* An epilog is not to begin as if there were nothing to know. */
static void test_what_cannot_be_read_is_told(void **state)
{
    (void)state;
    struct note ids = job(9, 1);
    struct err err = {0};
    char path[128];
    kept(8, 1, true, "x");
    snprintf(path, sizeof path, "%s/visits/9.1", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    str_clear(&seen);
    assert_false(visit_file_read(dir, &ids, &seen, &err));
    assert_true(err.text[0] != '\0');
    assert_int_equal(rmdir(path), 0);
}

/* As a loss of power may leave it: cut anywhere, or of the right length and empty. */
static void test_what_is_not_whole_is_told(void **state)
{
    (void)state;
    static const char env[] = "SLURM_JOB_ID=8\0SLURM_JOB_USER=u";
    char path[128];
    struct note ids = job(8, 1);
    struct err err = {0};
    struct stat st;
    assert_true(visit_file_write(dir, &ids, true, (struct plan_bytes){env, sizeof env}, &err));
    str_clear(&seen);
    assert_true(visit_file_read(dir, &ids, &seen, &err));
    assert_int_equal(seen.len, sizeof env);
    assert_memory_equal(seen.data, env, sizeof env);
    snprintf(path, sizeof path, "%s/visits/8.1", dir);
    assert_int_equal(stat(path, &st), 0);
    for (off_t len = st.st_size - 1; len >= 0; len--) {
        assert_int_equal(truncate(path, len), 0);
        assert_false(visit_file_read(dir, &ids, &seen, &err));
        assert_non_null(strstr(err.text, "is not whole"));
    }
    assert_int_equal(truncate(path, st.st_size), 0);
    assert_false(visit_file_read(dir, &ids, &seen, &err));
}

static void test_keeping_it_waits_for_no_disk(void **state)
{
    (void)state;
    struct note ids = job(8, 1);
    kept(7, 1, true, "x"); /* the directory is made once, and that is synced */
    syncs = 0;
    kept(8, 1, false, "x");
    assert_true(visit_file_ready(dir, &ids, NULL));
    visit_file_remove(dir, &ids);
    assert_int_equal(syncs, 0);
}

/* What is in it is the user's: its names, its directory. */
static void test_nobody_else_reads_it(void **state)
{
    (void)state;
    struct stat st;
    char path[128];
    kept(8, 1, true, "x");
    snprintf(path, sizeof path, "%s/visits", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "%s/visits/8.1", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_is_found_until_it_is_removed),
        TEST(what_cannot_be_kept_as_ready_is_told),
        TEST(other_names_are_not_visits),
        TEST(what_cannot_be_read_is_told),
        TEST(what_is_not_whole_is_told),
        TEST(keeping_it_waits_for_no_disk),
        TEST(nobody_else_reads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
