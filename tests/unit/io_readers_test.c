/* Readers of a user's files: few at once, and nobody else counts as one. */
#include "unit.h"

#include "io/process/readers.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 12
#define NOBODY  65534
#define HIM     64311 /* where root runs this, whose mails may be read meanwhile */

/* None is left by a test that failed: the next would find no place. */
static bool ends_with_the_test(void)
{
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static bool place_taken_as_him(void)
{
    return (geteuid() != 0 || setresuid(HIM, HIM, HIM) == 0) && ends_with_the_test() &&
           reader_place_take();
}

/* One that stays if it may: its pid; 0 = it may not. As another user, of that name, where uid. */
static pid_t reader(uid_t uid)
{
    int ends[2];
    char said = '?';
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool may = uid ? setresuid(uid, uid, uid) == 0 && prctl(PR_SET_NAME, "remuda-reader") == 0
                       : place_taken_as_him();
        may = may && ends_with_the_test();
        if (write(ends[1], may ? "y" : "n", 1) == 1 && may)
            pause();
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &said, 1), 1);
    close(ends[0]);
    if (said == 'y')
        return pid;
    waitpid(pid, NULL, 0);
    return 0;
}

static void ended(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void four_stay_and_a_fifth_may_not(void **state)
{
    (void)state;
    pid_t there[READERS_MAX];
    assert_int_equal(READERS_MAX, 4); /* as docs/security.md promises */
    for (int i = 0; i < READERS_MAX; i++)
        assert_true((there[i] = reader(0)) > 0);
    assert_int_equal(reader(0), 0);
    kill(there[1], SIGKILL); /* not asked after yet: it has ended all the same */
    siginfo_t info;
    waitid(P_PID, (id_t)there[1], &info, WEXITED | WNOWAIT);
    pid_t more = reader(0);
    assert_true(more > 0);
    assert_int_equal(reader(0), 0);
    ended(more);
    for (int i = 0; i < READERS_MAX; i++)
        ended(there[i]);
}

static void another_users_are_no_readers_of_his(void **state)
{
    (void)state;
    pid_t others[8];
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < 8; i++)
        assert_true((others[i] = reader(NOBODY)) > 0);
    pid_t own = reader(0);
    assert_true(own > 0);
    ended(own);
    for (int i = 0; i < 8; i++)
        ended(others[i]);
}

/* All at once: never more than may, and never none. */
static void of_many_that_come_at_once_four_stay(void **state)
{
    (void)state;
    int ends[2];
    pid_t all[AT_ONCE];
    char said[AT_ONCE];
    size_t n = 0, stay = 0;
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < AT_ONCE; i++) {
        all[i] = fork();
        if (all[i] == 0) {
            bool may = place_taken_as_him();
            if (write(ends[1], may ? "y" : "n", 1) == 1 && may)
                pause();
            _exit(0);
        }
    }
    while (n < AT_ONCE) {
        ssize_t came = read(ends[0], said + n, AT_ONCE - n);
        assert_true(came > 0);
        n += (size_t)came;
    }
    for (size_t i = 0; i < n; i++)
        stay += said[i] == 'y';
    assert_in_range(stay, 1, READERS_MAX);
    for (int i = 0; i < AT_ONCE; i++)
        ended(all[i]);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_stay_and_a_fifth_may_not),
        cmocka_unit_test(another_users_are_no_readers_of_his),
        cmocka_unit_test(of_many_that_come_at_once_four_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
