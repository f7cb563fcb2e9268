/* Questions that may not come back. */
#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/shepherd/apart.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t deed(const void *ctx)
{
    const char *how = ctx;
    if (text_is(how, "hangs") || text_is(how, "hangs and is signalled"))
        pause();
    if (text_is(how, "dies"))
        raise(SIGKILL);
    if (text_is(how, "ends"))
        _exit(0);
    return text_is(how, "much") ? INT64_MAX : -7;
}

static void nothing(int signo)
{
    (void)signo;
}

static void test_what_comes_back_and_what_does_not(void **state)
{
    (void)state;
    static const struct {
        const char *how;
        bool answers;
        int64_t answer;
    } cases[] = {{"much", true, INT64_MAX}, {"less", true, -7},
                 {"hangs", false, 0},       {"hangs and is signalled", false, 0},
                 {"dies", false, 0},        {"ends", false, 0}};
    struct sigaction a = {.sa_handler = nothing};
    sigaction(SIGALRM, &a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t answer = 0;
        time_t begin = time(NULL);
        if (text_is(cases[i].how, "hangs and is signalled"))
            alarm(1);
        bool hangs = strstr(cases[i].how, "hangs") != NULL;
        bool answers = ask_apart(deed, cases[i].how, hangs ? 1500 : 60000, &answer);
        alarm(0);
        assert_int_equal(answers, cases[i].answers);
        assert_int_equal(answer, cases[i].answer);
        assert_in_range(time(NULL) - begin, 0, 30);
        while (waitpid(-1, NULL, 0) > 0) /* whoever hung is killed: this comes to an end */
            continue;
        assert_int_equal(errno, ECHILD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_back_and_what_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
