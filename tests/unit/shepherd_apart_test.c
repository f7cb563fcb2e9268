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
        enum apart answers;
        int64_t answer;
    } cases[] = {{"much", APART_ANSWERED, INT64_MAX},
                 {"less", APART_ANSWERED, -7},
                 {"hangs", APART_LATE, 0},
                 {"hangs and is signalled", APART_LATE, 0},
                 {"dies", APART_NOBODY, 0},
                 {"ends", APART_NOBODY, 0}};
    struct sigaction a = {.sa_handler = nothing};
    sigaction(SIGALRM, &a, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t answer = 0;
        time_t begin = time(NULL);
        if (text_is(cases[i].how, "hangs and is signalled"))
            alarm(1);
        bool hangs = strstr(cases[i].how, "hangs") != NULL;
        enum apart answers = ask_apart(deed, cases[i].how, hangs ? 1500 : 60000, &answer);
        alarm(0);
        assert_int_equal(answers, cases[i].answers);
        assert_int_equal(answer, cases[i].answer);
        assert_in_range(time(NULL) - begin, 0, 30);
        while (waitpid(-1, NULL, 0) > 0) /* whoever hung is killed: this comes to an end */
            continue;
        assert_int_equal(errno, ECHILD);
    }
}

/* The i-th letter says what becomes of it. */
static int64_t letter(const void *ctx, size_t i)
{
    const char *letters = ctx;
    if (letters[i] == 'h')
        pause();
    if (letters[i] == 'd')
        raise(SIGKILL);
    return letters[i];
}

/* Who does not answer is found, and those after him can be asked anew. */
static void test_many_are_asked_at_once(void **state)
{
    (void)state;
    static const char *const cases[] = {"a", "abc", "habc", "abhc", "ahbhc", "abch", "dab", "abd"};
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        const char *letters = cases[c];
        size_t n = strlen(letters), next = 0;
        int64_t answer[8] = {0};
        int left_ms = 60000, each[8];
        for (size_t i = 0; i < ARRAY_LEN(each); i++)
            each[i] = strchr("hd", letters[i % n]) ? 300 : 30000;
        while (next < n) {
            size_t from = next, good = strcspn(letters + from, "hd");
            char stops = letters[from + good];
            enum apart how = ask_apart_each(letter, letters, n, each, &left_ms, &next, answer);
            assert_int_equal(how, stops == 'h'   ? APART_LATE
                                  : stops == 'd' ? APART_NOBODY
                                                 : APART_ANSWERED);
            assert_int_equal(next, from + good);
            next += stops != '\0';
        }
        for (size_t i = 0; i < n; i++)
            assert_int_equal(answer[i], strchr("hd", letters[i]) ? 0 : letters[i]);
        while (waitpid(-1, NULL, 0) > 0)
            continue;
    }
}

/* However many hang. */
static void test_many_that_hang_have_a_time_together(void **state)
{
    (void)state;
    int64_t answer[8] = {0};
    const int each[8] = {200, 200, 200, 200, 200, 200, 200, 200};
    int left_ms = 500;
    size_t next = 0;
    while (left_ms > 0) {
        assert_int_equal(ask_apart_each(letter, "hhhhhhhh", 8, each, &left_ms, &next, answer),
                         APART_LATE);
        next++;
    }
    assert_in_range(next, 1, 3);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_back_and_what_does_not),
        cmocka_unit_test(test_many_are_asked_at_once),
        cmocka_unit_test(test_many_that_hang_have_a_time_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
