#include "unit.h"

#include "base/alloc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_no_allocation_is_null_not_even_of_nothing(void **state)
{
    void *p[] = {xmalloc(0), xcalloc(0, 8), xrealloc(NULL, 0), xmemdup(NULL, 0)};
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        assert_non_null(p[i]);
        free(p[i]);
    }
}

static void test_xcalloc_gives_zeros(void **state)
{
    unsigned char *p = xcalloc(7, 3), zero[21] = {0};
    assert_memory_equal(p, zero, sizeof zero);
    free(p);
}

static void test_copies_of_texts_are_their_own(void **state)
{
    char text[] = "gpu1";
    char *copy = xstrdup(text), *cut = xstrndup(text, 3), *whole = xstrndup(text, 100);
    text[0] = 'x';
    assert_string_equal(copy, "gpu1");
    assert_string_equal(cut, "gpu");
    assert_string_equal(whole, "gpu1");
    assert_null(xstrdup(NULL));
    free(copy);
    free(cut);
    free(whole);
}

static void test_xasprintf_makes_room_for_any_length(void **state)
{
    char *text = xasprintf("%0500d|%s", 7, "end");
    assert_int_equal(strlen(text), 504);
    assert_string_equal(text + 499, "7|end");
    free(text);
}

/* Runs f in a child; returns the signal that ended it, 0 if none did. */
static int signal_of(void (*f)(void))
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        f();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void check_true(void)
{
    CHECK(1 + 1 == 2);
}

static void check_false(void)
{
    CHECK(1 + 1 == 3);
}

static void test_a_broken_invariant_aborts(void **state)
{
    assert_int_equal(signal_of(check_true), 0);
    assert_int_equal(signal_of(check_false), SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation_is_null_not_even_of_nothing),
        cmocka_unit_test(test_xcalloc_gives_zeros),
        cmocka_unit_test(test_copies_of_texts_are_their_own),
        cmocka_unit_test(test_xasprintf_makes_room_for_any_length),
        cmocka_unit_test(test_a_broken_invariant_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
