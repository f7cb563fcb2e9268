/* Whether a store is the one that was written last, or that one some commits later. */
#include "unit.h"

#include "base/alloc.h"
#include "controller/disk/given.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/given_XXXXXX";
static char *db, *path;

static void file_make(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int setup(void **unused)
{
    (void)unused;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    db = xasprintf("%s/remuda.db", dir);
    path = xasprintf("%s/given", dir);
    file_make(db, "a store");
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    unlink(db);
    unlink(path);
    rmdir(dir);
    free(db);
    free(path);
    return 0;
}

static struct given written(uint64_t seq)
{
    struct given g = {.seq = seq, .next_job_id = 7, .inode = given_inode(db)}, read = {0};
    int fd = given_open(path, NULL);
    assert_true(fd >= 0 && given_write(fd, &g));
    close(fd);
    assert_true(given_read(path, &read, NULL));
    assert_true(read.seq == seq && read.next_job_id == 7 && read.inode == g.inode && g.inode);
    return read;
}

/* As after a power loss: the file is not synchronised. */
static void the_same_file_may_be_any_number_of_commits_later(void **unused)
{
    (void)unused;
    struct given g = written(100);
    assert_true(given_is_of(&g, db, 100));
    assert_true(given_is_of(&g, db, 101));
    assert_true(given_is_of(&g, db, 100000));
    assert_false(given_is_of(&g, db, 99));
    assert_false(given_is_of(&g, db, 0));
}

static void another_file_is_the_same_store_only_by_its_number(void **unused)
{
    (void)unused;
    struct given g = written(100);
    char *other = xasprintf("%s/other", dir);
    file_make(other, "another store");
    assert_int_equal(rename(other, db), 0);
    free(other);
    assert_true(given_is_of(&g, db, 100));
    assert_true(given_is_of(&g, db, 101));
    assert_false(given_is_of(&g, db, 102));
    assert_false(given_is_of(&g, db, 99));
}

/* It does not say which file it told of. */
static void what_an_older_release_wrote_is_understood(void **unused)
{
    (void)unused;
    struct given g = {0};
    file_make(path, "00000000000000000100 00000000000000000007\n");
    assert_true(given_read(path, &g, NULL));
    assert_true(given_is_known(&g));
    assert_true(g.seq == 100 && g.next_job_id == 7 && g.inode == 0);
    assert_true(given_is_of(&g, db, 101));
    assert_false(given_is_of(&g, db, 102));
    file_make(path, "00000000000000000100\n");
    assert_true(given_read(path, &g, NULL));
    assert_false(given_is_known(&g));
}

/* Taken for one that is not there, it would be written anew, and an older store be the last one. */
static void what_cannot_be_read_is_not_taken_for_none(void **unused)
{
    (void)unused;
    struct given g = {.seq = 1};
    struct err err = {0};
    assert_true(given_read(path, &g, &err));
    assert_false(given_is_known(&g));
    assert_int_equal(symlink(path, path), 0); /* any error will do: ELOOP */
    assert_false(given_read(path, &g, &err));
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_false(given_raise(path, path, 50, 7, &err));
    unlink(path);
}

/* Of a machine that has nothing nobody knows how far numbers went: they are far beyond. A record that
 * is there knows it, and goes back for no backup. */
static void a_restore_gives_no_number_twice(void **unused)
{
    (void)unused;
    struct given g = {0};
    assert_true(given_raise(path, path, 50, 7, NULL));
    assert_true(given_read(path, &g, NULL));
    assert_true(given_is_known(&g));
    assert_int_equal(g.next_job_id, 10007);
    assert_int_equal(g.seq, 51);
    written(100);
    assert_true(given_raise(path, path, 50, 5, NULL));
    assert_true(given_read(path, &g, NULL));
    assert_true(given_is_known(&g));
    assert_int_equal(g.next_job_id, 7);
    assert_int_equal(g.seq, 100);
    assert_true(given_raise(path, path, 50, 9, NULL));
    assert_true(given_read(path, &g, NULL));
    assert_true(given_is_known(&g));
    assert_int_equal(g.next_job_id, 9);
}

/* Ids that are given next have 63 bits; noise would have them begin anywhere. */
static void numbers_that_no_cluster_comes_to_are_not_believed(void **unused)
{
    static const char *const texts[] = {
        "99999999999999999999 00000000000000000007 00000000000000000001\n",
        "00000000000000000007 18446744073709551615 00000000000000000001\n",
        "00000000000000000007 09223372036854775808 00000000000000000001\n",
        "-5 -7 1\n",
        "",
        "noise",
    };
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct given g = {.seq = 3};
        file_make(path, texts[i]);
        assert_true(given_read(path, &g, NULL));
        assert_false(given_is_known(&g));
        assert_true(given_raise(path, path, 50, 60, NULL));
        assert_true(given_read(path, &g, NULL));
        assert_true(given_is_known(&g));
        assert_true(g.seq == 51 && g.next_job_id > 60 && g.next_job_id < 100000);
    }
}

int main(void)
{
#define GIVEN(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        GIVEN(the_same_file_may_be_any_number_of_commits_later),
        GIVEN(another_file_is_the_same_store_only_by_its_number),
        GIVEN(what_an_older_release_wrote_is_understood),
        GIVEN(what_cannot_be_read_is_not_taken_for_none),
        GIVEN(a_restore_gives_no_number_twice),
        GIVEN(numbers_that_no_cluster_comes_to_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
