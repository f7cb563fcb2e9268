/* What is made for its owner alone in a directory that others may change stays his alone, whatever
 * they put in its place meanwhile. */
#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/file/backup.h"
#include "store/file/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRANGER 65534
#define SECRET   "a-key-of-the-cluster"
#define BACKUPS  12

static char top[64];

static char *in_top(const char *name)
{
    return xasprintf("%s/%s", top, name);
}

static void dir_of(const char *name, mode_t mode, uid_t owner)
{
    char *path = in_top(name);
    assert_int_equal(mkdir(path, mode), 0);
    assert_int_equal(chown(path, owner, (gid_t)-1), 0);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static int setup(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/remuda-place-XXXXXX");
    if (geteuid() == 0 && mkdtemp(top) && chmod(top, 0755) == 0)
        return 0;
    return geteuid() == 0;
}

static int teardown(void **state)
{
    (void)state;
    char *command = xasprintf("rm -rf %s", top);
    int status = geteuid() == 0 ? system(command) : 0;
    free(command);
    return status;
}

static bool ours(const char *name)
{
    char *path = in_top(name), *whole = place_ours(path);
    bool is = whole != NULL;
    if (is)
        assert_int_equal(whole[0], '/');
    free(whole);
    free(path);
    return is;
}

/* ---- which places are ours ---- */

static void test_a_place_is_ours_where_nobody_else_can_change_it(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    dir_of("own", 0755, 0);
    dir_of("sticky", 01777, 0);
    dir_of("open", 0777, 0);
    dir_of("of-group", 0775, 0);
    dir_of("theirs", 0755, STRANGER);
    dir_of("theirs/own", 0700, 0);
    assert_true(ours("file"));
    assert_true(ours("own/file"));
    assert_true(ours("sticky/file"));
    assert_false(ours("open/file"));
    assert_false(ours("of-group/file"));
    assert_false(ours("theirs/file"));
    assert_false(ours("theirs/own/file"));
    assert_false(ours("not-there/file"));
    char *link_path = in_top("theirs/link"), *own = in_top("own"), *file = in_top("theirs/link/f"),
         *expected = in_top("own/f");
    assert_int_equal(symlink(own, link_path), 0);
    char *whole = place_ours(file); /* as long as the link leads there: it is not used again */
    assert_string_equal(whole, expected);
    free(whole);
    free(expected);
    free(file);
    free(own);
    free(link_path);
}

/* ---- a backup, with somebody about ---- */

static void store_make(const char *path)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE t (x); INSERT INTO t VALUES (1); "
                     "CREATE TABLE meta (key,value); INSERT INTO meta VALUES ('seq',1)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
}

/* For each file of root's that comes a file of one's own by that name, which one keeps, too. */
static _Noreturn void stranger_run(const char *dir)
{
    if (setresgid(STRANGER, STRANGER, STRANGER) != 0 ||
        setresuid(STRANGER, STRANGER, STRANGER) != 0 || chdir(dir) != 0)
        _exit(1);
    umask(0);
    for (int n = 0;;) {
        DIR *d = opendir(".");
        struct dirent *e;
        struct stat st;
        char mine[32], kept[32];
        while (d && (e = readdir(d))) {
            if (strncmp(e->d_name, "backup.", 7) != 0 || stat(e->d_name, &st) != 0 || st.st_uid)
                continue;
            snprintf(mine, sizeof mine, "mine%d", n);
            snprintf(kept, sizeof kept, "kept%d", n++);
            int fd = open(mine, O_RDWR | O_CREAT, 0666);
            if (fd >= 0 && link(mine, kept) == 0)
                rename(mine, e->d_name);
            if (fd >= 0)
                close(fd);
        }
        if (d)
            closedir(d);
    }
}

static bool holds_secret(const char *path)
{
    struct str text = STR_INIT;
    char piece[4096];
    ssize_t n;
    int fd = open(path, O_RDONLY);
    while (fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
        str_addn(&text, piece, (size_t)n);
    if (fd >= 0)
        close(fd);
    bool has = text.len && memmem(text.data, text.len, SECRET, strlen(SECRET));
    str_done(&text);
    return has;
}

static size_t strangers_with_secret(const char *dir)
{
    size_t n = 0;
    struct dirent *e;
    struct stat st;
    DIR *d = opendir(dir);
    while (d && (e = readdir(d))) {
        char *path = xasprintf("%s/%s", dir, e->d_name);
        n += stat(path, &st) == 0 && st.st_uid == STRANGER && S_ISREG(st.st_mode) &&
             holds_secret(path);
        free(path);
    }
    if (d)
        closedir(d);
    return n;
}

static const struct backup_file secret_file = {"tls/ca.key", 0600, {SECRET, sizeof SECRET - 1}};

static bool secret_find(void *ctx, const struct backup_file **ret, size_t *ret_n,
                        struct err *ret_err)
{
    (void)ctx, (void)ret_err;
    *ret = &secret_file;
    *ret_n = 1;
    return true;
}

static void test_a_backup_into_somebodys_directory_is_nobody_elses(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct err err = {0};
    struct stat st;
    dir_of("home", 0755, STRANGER);
    char *db = in_top("remuda.db"), *home = in_top("home"), *to = in_top("home/backup");
    store_make(db);
    pid_t stranger = fork();
    if (stranger == 0)
        stranger_run(home);
    for (int i = 0; i < BACKUPS; i++) {
        assert_true(backup_write(db, to, secret_find, NULL, &err));
        assert_int_equal(lstat(to, &st), 0);
        assert_int_equal(st.st_uid, 0);
        assert_int_equal(st.st_mode, S_IFREG | 0600);
        assert_true(holds_secret(to));
        assert_int_equal(strangers_with_secret(home), 0);
        assert_int_equal(unlink(to), 0);
    }
    kill(stranger, SIGKILL);
    waitpid(stranger, NULL, 0);
    int fd = open(to, O_WRONLY | O_CREAT, 0644);
    close(fd);
    assert_false(
        backup_write(db, to, secret_find, NULL, &err)); /* it does not write over what is there */
    free(to);
    free(home);
    free(db);
}

static bool file_ignore(void *ctx, const struct backup_file *f)
{
    (void)ctx, (void)f;
    return true;
}

/* A backup has the cluster's keys in it, and a store everybody's scripts: whatever others may do
 * with files of whoever makes them. */
static void test_a_backup_and_what_is_restored_are_their_owners(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct err err = {0};
    struct stat st;
    uint64_t seq, next;
    char *db = in_top("remuda.db"), *to = in_top("backup"), *again = in_top("again.db");
    store_make(db);
    mode_t before = umask(0);
    assert_true(backup_write(db, to, secret_find, NULL, &err));
    assert_true(backup_read(to, again, file_ignore, NULL, &seq, &next, &err));
    assert_int_equal(umask(before), 0);
    assert_int_equal(stat(to, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(stat(again, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    free(again);
    free(to);
    free(db);
}

static void numbers_say(const char *path, const char *seq, const char *next)
{
    sqlite3 *db;
    char *sql = xasprintf("DELETE FROM meta; INSERT INTO meta VALUES ('seq','%s'); "
                          "INSERT INTO meta VALUES ('next_job_id','%s')",
                          seq, next);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(sql);
}

/* What it says of itself may be noise: a store is replaced because it is damaged. */
static void test_numbers_go_on_behind_those_of_the_store_that_is_replaced(void **state)
{
    (void)state;
    char *db = in_top("remuda.db"), *gone = in_top("gone.db");
    uint64_t seq = 500, next = 7;
    store_make(db);
    backup_overtake(gone, &seq, &next);
    backup_overtake(top, &seq, &next); /* no file */
    numbers_say(db, "400", "5");
    backup_overtake(db, &seq, &next);
    numbers_say(db, "4611686018427387903", "4611686018427387903");
    backup_overtake(db, &seq, &next);
    numbers_say(db, "1000x", "");
    backup_overtake(db, &seq, &next);
    assert_true(seq == 500 && next == 7);
    numbers_say(db, "1000", "20007");
    backup_overtake(db, &seq, &next);
    assert_true(seq == 1000 && next == 20007);
    assert_int_equal(truncate(db, 100), 0);
    backup_overtake(db, &seq, &next);
    assert_true(seq == 1000 && next == 20007);
    free(gone);
    free(db);
}

/* ---- when, and where there are no links ---- */

struct late {
    const char *db;
    bool fails;
};

/* Something is committed while the files are read. */
static bool late_find(void *ctx, const struct backup_file **ret, size_t *ret_n, struct err *ret_err)
{
    const struct late *l = ctx;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(l->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (2)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return l->fails ? err_set(ret_err, ERR_UNAVAILABLE, "cannot read a file")
                    : secret_find(NULL, ret, ret_n, ret_err);
}

static int rows_in(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int n = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

/* No host that the copy of the store knows lacks a file that was written with its join. */
static void test_files_are_read_after_the_store_was_copied(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct err err = {0};
    char *db = in_top("remuda.db"), *to = in_top("backup");
    struct late late = {.db = db, .fails = true};
    store_make(db);
    assert_false(backup_write(db, to, late_find, &late, &err));
    assert_int_not_equal(access(to, F_OK), 0);
    late.fails = false;
    assert_true(backup_write(db, to, late_find, &late, &err));
    assert_int_equal(rows_in(db), 3);
    assert_int_equal(rows_in(to), 2);
    free(to);
    free(db);
}

static bool links_are_refused, moves_take_no_flags;

__attribute__((visibility("default"))) int linkat(int from_dir, const char *from, int to_dir,
                                                  const char *to, int flags)
{
    if (!links_are_refused)
        return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    errno = EPERM; /* as FAT says */
    return -1;
}

__attribute__((visibility("default"))) int renameat2(int from_dir, const char *from, int to_dir,
                                                     const char *to, unsigned flags)
{
    if (!moves_take_no_flags)
        return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    errno = EINVAL;
    return -1;
}

static void test_a_backup_where_files_have_one_name(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct err err = {0};
    char *db = in_top("remuda.db"), *to = in_top("backup");
    store_make(db);
    links_are_refused = true;
    for (int i = 0; i < 2; i++) {
        moves_take_no_flags = i;
        assert_true(backup_write(db, to, secret_find, NULL, &err));
        assert_true(holds_secret(to));
        /* It does not write over what is there. */
        assert_false(backup_write(db, to, secret_find, NULL, &err));
        assert_int_equal(unlink(to), 0);
        char *from = in_top("from");
        int fd = open(from, O_WRONLY | O_CREAT, 0600), other = open(to, O_WRONLY | O_CREAT, 0600);
        assert_false(place_name(fd, from, to));
        assert_int_equal(errno, EEXIST);
        close(other);
        assert_int_equal(unlink(to), 0);
        /* Nor is it moved when the name has become another file's. */
        assert_int_equal(unlink(from), 0);
        close(open(from, O_WRONLY | O_CREAT, 0600));
        assert_false(place_name(fd, from, to));
        assert_int_not_equal(access(to, F_OK), 0);
        close(fd);
        assert_int_equal(unlink(from), 0);
        free(from);
    }
    links_are_refused = moves_take_no_flags = false;
    free(to);
    free(db);
}

/* Is a directory synchronised once the backup has its name? */
static const char *sync_looks_for;
static bool syncs_fail, was_there_at_sync;

__attribute__((visibility("default"))) int fsync(int fd)
{
    struct stat st;
    if (!sync_looks_for || fstat(fd, &st) != 0 || !S_ISDIR(st.st_mode) ||
        access(sync_looks_for, F_OK) != 0)
        return (int)syscall(SYS_fsync, fd);
    was_there_at_sync = true;
    errno = EIO;
    return syncs_fail ? -1 : (int)syscall(SYS_fsync, fd);
}

/* Who was told that he has a backup had none after the power was lost. */
static void test_a_backup_that_is_told_of_has_its_name_for_good(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    dir_of("open", 0777, 0);
    char *db = in_top("remuda.db"), *to[] = {in_top("backup"), in_top("open/backup")};
    store_make(db);
    for (int i = 0; i < 3; i++) { /* ours, and another; by a link, or moved */
        struct err err = {0};
        sync_looks_for = to[i % 2];
        links_are_refused = i >= 2;
        was_there_at_sync = false;
        syncs_fail = true;
        assert_false(backup_write(db, to[i % 2], secret_find, NULL, &err));
        assert_non_null(strstr(err.text, to[i % 2]));
        assert_true(was_there_at_sync);
        assert_int_not_equal(access(to[i % 2], F_OK), 0);
        syncs_fail = was_there_at_sync = false;
        assert_true(backup_write(db, to[i % 2], secret_find, NULL, &err));
        assert_true(was_there_at_sync);
        assert_int_equal(unlink(to[i % 2]), 0);
    }
    links_are_refused = false;
    sync_looks_for = NULL;
    free(to[0]);
    free(to[1]);
    free(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_place_is_ours_where_nobody_else_can_change_it),
        TEST(a_backup_into_somebodys_directory_is_nobody_elses),
        TEST(a_backup_and_what_is_restored_are_their_owners),
        TEST(numbers_go_on_behind_those_of_the_store_that_is_replaced),
        TEST(files_are_read_after_the_store_was_copied),
        TEST(a_backup_where_files_have_one_name),
        TEST(a_backup_that_is_told_of_has_its_name_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
