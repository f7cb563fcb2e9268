/* Files that are replaced together: all, or none. */
#include "unit.h"

#include "base/arena.h"
#include "io/files.h"
#include "io/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    struct arena *a;
    char dir[64];
} t;

static int setup(void **state)
{
    strcpy(t.dir, "/tmp/together-XXXXXX");
    t.a = arena_new();
    return mkdtemp(t.dir) ? 0 : -1;
}

static int teardown(void **state)
{
    dir_remove(t.dir, NULL);
    arena_free(t.a);
    return 0;
}

static const char *in_dir(const char *name)
{
    return arena_printf(t.a, "%s/%s", t.dir, name);
}

static void has(const char *name, const char *text)
{
    struct err e = {0};
    const char *is = file_read_text(in_dir(name), 1000, t.a, &e);
    if (!text)
        assert_null(is);
    else if (!is || strcmp(is, text) != 0)
        fail_msg("%s: %s", name, is ? is : e.text);
}

static bool both_write(const char *one, const char *two)
{
    struct err e = {0};
    const struct together_file file[] = {{"one", one, strlen(one), 0644},
                                         {"two", two, strlen(two), 0600}};
    return together_write(t.dir, file, 2, &e);
}

static void test_both_are_there(void **state)
{
    struct stat st;
    assert_true(both_write("1", "2"));
    has("one", "1");
    has("two", "2");
    assert_true(both_write("11", "22"));
    has("one", "11");
    has("two", "22");
    assert_int_equal(stat(in_dir("two"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    const char **name;
    size_t n;
    assert_true(dir_list(t.dir, t.a, &name, &n, NULL));
    assert_int_equal(n, 2);
}

/* Killed before it has its name there is nothing of it; after, whoever reads brings it to its end,
 * however many were moved. */
static void test_a_kill_leaves_all_or_nothing(void **state)
{
    struct err e = {0};
    assert_true(both_write("1", "2"));
    assert_true(dir_make(in_dir(".together.77"), 0700, &e));
    assert_true(file_write_atomic(in_dir(".together.77/one"), "x", 1, 0644, &e));
    assert_true(together_finish(t.dir, &e));
    has("one", "1");
    assert_true(file_write_atomic(in_dir(".together.77/two"), "y", 1, 0644, &e));
    assert_int_equal(rename(in_dir(".together.77"), in_dir(".together")), 0);
    assert_int_equal(rename(in_dir(".together/one"), in_dir("one")), 0);
    has("one", "x");
    has("two", "2");
    assert_true(together_finish(t.dir, &e));
    has("one", "x");
    has("two", "y");
    assert_true(both_write("3", "4"));
    has("one", "3");
}

static void test_what_cannot_be_written_changes_nothing(void **state)
{
    struct err e = {0};
    const struct together_file file[] = {{"one", "a", 1, 0644}, {"no/such/two", "b", 1, 0644}};
    assert_true(both_write("1", "2"));
    assert_false(together_write(t.dir, file, 2, &e));
    has("one", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_both_are_there, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_kill_leaves_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_written_changes_nothing, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
