/* Processes that write the files of --label: no limit of the job's counts them. */
#define WAIT_MS 60000 /* a step waits for places for 10 s */
#include "shepherd_owner_help.h"

#include "node/shepherd/tasks/file_writer.h"

#include <fcntl.h>

/* One for each file, in none of the step's groups. */
static void test_writers_without_end_are_not_made(void **state)
{
    (void)state;
    tasks.label = true;
    tasks.std_out = "f%t";
    tasks.std_err = "g%t";
    launch_many(600, ":");
    until(&done);
    assert_string_equal(str_text(&notices), "slurmstepd: error: -l writes 1,024 files on a node "
                                            "at most; leave -l out\n");
    assert_int_equal(done_status, 1 << 8);
    char path[128];
    snprintf(path, sizeof path, "%s/f0", world.dir);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_as_many_writers_as_may_be_write(void **state)
{
    (void)state;
    tasks.label = true;
    tasks.std_out = "f%t";
    tasks.std_err = "e%t";
    launch_many(100, "echo said");
    until(&done);
    assert_string_equal(str_text(&notices), "");
    assert_int_equal(done_status, 0);
    char path[128];
    snprintf(path, sizeof path, "%s/f99", world.dir);
    assert_string_equal(world_file(path), "99: said\n");
}

/* ---- places for them ---- */

static uid_t owner(void)
{
    return geteuid() == 0 ? NOBODY : geteuid();
}

static int places_file(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/writers", world.dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

/* All of the owner's but so many are another's: the test's. */
static int places_but(int left)
{
    int fd = places_file();
    struct flock l = {.l_type = F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = (off_t)owner() * FILE_WRITERS_OF_USER + left,
                      .l_len = FILE_WRITERS_OF_USER - left};
    assert_int_equal(fcntl(fd, F_SETLK, &l), 0);
    return fd;
}

static void labelled(int n, const char *command)
{
    tasks.label = true;
    tasks.std_out = "f%t";
    launch_many(n, command);
}

static void test_writers_of_all_steps_together_have_an_end(void **state)
{
    (void)state;
    int fd = places_but(3);
    labelled(4, ":");
    until(&done);
    assert_string_equal(str_text(&notices),
                        "slurmstepd: error: -l writes 2,048 files of a user's, and 4,096 of all, "
                        "on a node at one time, of all steps; leave -l out, or wait until some "
                        "have ended\n");
    assert_int_equal(done_status, 1 << 8);
    close(fd);
}

/* Of those that the node has the last are for who has few. */
static void test_users_with_many_leave_some_to_others(void **state)
{
    (void)state;
    int fd = places_file();
    struct flock l = {.l_type = F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = (UINT32_MAX + INT64_C(1)) * FILE_WRITERS_OF_USER,
                      .l_len = FILE_WRITERS_OF_MANY};
    assert_int_equal(fcntl(fd, F_SETLK, &l), 0);
    labelled(4, "echo said");
    until(&done);
    assert_string_equal(str_text(&notices), "");
    assert_int_equal(done_status, 0);
    close(fd);
}

static void test_who_has_many_does_not_get_the_last(void **state)
{
    (void)state;
    int fd = places_file();
    struct flock l = {.l_type = F_WRLCK,
                      .l_whence = SEEK_SET,
                      .l_start = (UINT32_MAX + INT64_C(1)) * FILE_WRITERS_OF_USER,
                      .l_len = FILE_WRITERS_OF_MANY - FILE_WRITERS_FEW};
    assert_int_equal(fcntl(fd, F_SETLK, &l), 0);
    labelled(FILE_WRITERS_FEW + 1, ":");
    until(&done);
    assert_non_null(strstr(str_text(&notices), "wait until some have ended"));
    assert_int_equal(done_status, 1 << 8);
    close(fd);
}

/* The disk may be full, or what is there no file. */
static void test_places_that_cannot_be_counted_are_told_of(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/writers", world.dir);
    assert_int_equal(mkdir(path, 0700), 0);
    labelled(4, ":");
    until(&done);
    assert_non_null(strstr(str_text(&notices), "cannot be counted on "));
    assert_non_null(strstr(str_text(&notices), ": Is a directory\n"));
    assert_int_equal(done_status, 1 << 8);
    rmdir(path);
}

/* Nobody reads notices: the records say it. */
static void test_a_detached_step_says_it_in_its_records(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/writers", world.dir);
    assert_int_equal(mkdir(path, 0700), 0);
    detached = true;
    labelled(4, ":");
    struct note ended = world_wait(&world, NOTE_EXITED);
    assert_int_equal(ended.status, 1 << 8);
    assert_non_null(strstr(ended.detail, "-l: places for processes that write files cannot be "
                                         "counted on "));
    rmdir(path);
}

static void test_the_last_places_are_had(void **state)
{
    (void)state;
    int fd = places_but(4);
    labelled(4, "echo said");
    until(&done);
    assert_string_equal(str_text(&notices), "");
    assert_int_equal(done_status, 0);
    close(fd);
}

/* Steps of one moment that are too many together are none that fail. */
static void test_places_are_waited_for(void **state)
{
    (void)state;
    int fd = places_but(0);
    labelled(4, "echo said");
    usleep(500000);
    close(fd);
    until(&done);
    assert_string_equal(str_text(&notices), "");
    assert_int_equal(done_status, 0);
}

/* The tasks go on, and write nothing any more. */
static void test_places_are_given_back_with_the_writers(void **state)
{
    (void)state;
    struct flock l;
    labelled(4, "exec sleep 1000 >&- 2>&-");
    until(&started);
    pid_t shepherd = (pid_t)world_wait(&world, NOTE_STARTED).pid;
    int fd = places_file();
    for (int i = 0; i < 1000; i++, usleep(10000)) {
        l = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
        assert_int_equal(fcntl(fd, F_GETLK, &l), 0);
        if (l.l_type == F_UNLCK)
            break;
    }
    assert_int_equal(l.l_type, F_UNLCK);
    close(fd);
    world_command(&world, shepherd,
                  &(struct step_command){.op = COMMAND_TERMINATE, .kill_wait_ms = 100});
    until(&done);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests_all[] = {
        TEST(writers_without_end_are_not_made),
        TEST(as_many_writers_as_may_be_write),
        TEST(writers_of_all_steps_together_have_an_end),
        TEST(users_with_many_leave_some_to_others),
        TEST(who_has_many_does_not_get_the_last),
        TEST(places_that_cannot_be_counted_are_told_of),
        TEST(a_detached_step_says_it_in_its_records),
        TEST(the_last_places_are_had),
        TEST(places_are_waited_for),
        TEST(places_are_given_back_with_the_writers),
    };
    return cmocka_run_group_tests(tests_all, NULL, NULL);
}
