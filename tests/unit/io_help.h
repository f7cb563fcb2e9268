/* A world for tests of io: a loop that ends itself when a test would hang, and a directory.
 *
 * A test that failed has left open what it had made, on its stack even: its loop would run for
 * ever, and what failed would never be said. So it is left as it is. */
#ifndef REMUDA_TESTS_IO_HELP_H
#define REMUDA_TESTS_IO_HELP_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    struct loop *loop;
    struct timer *watchdog;
    struct arena *arena;
    char dir[64];
    int calls;
    void (*test)(void **state);
    bool passed;
    struct world *left;
};

static struct world *left; /* of tests that failed */

/* What a test begins with. */
struct world_test {
    void (*test)(void **state);
};

static void world_hangs(void *ctx)
{
    (void)ctx;
    fail_msg("the test hangs");
}

static int world_make(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    const struct world_test *with = *state;
    w->test = with ? with->test : NULL;
    w->loop = loop_new(NULL);
    w->arena = arena_new();
    strcpy(w->dir, "/tmp/io-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    w->watchdog = timer_new(w->loop, world_hangs, NULL);
    timer_set(w->watchdog, 20 * USEC_PER_SEC);
    *state = w;
    return 0;
}

static inline void world_run(void **state)
{
    struct world *w = *state;
    w->test(state);
    w->passed = true;
}

static int world_end(void **state)
{
    struct world *w = *state;
    assert_true(dir_remove(w->dir, NULL));
    if (!w->passed) {
        w->left = left;
        left = w;
        return 0;
    }
    timer_free(w->watchdog);
    loop_free(w->loop);
    arena_free(w->arena);
    free(w);
    return 0;
}

/* A loop_fn that ends loop_run. */
static inline void world_stop(void *world)
{
    loop_stop(((struct world *)world)->loop);
}

#define TEST(function)                                                                             \
    {                                                                                              \
#function, world_run, world_make, world_end, &(struct world_test)                          \
        {                                                                                          \
            function                                                                               \
        }                                                                                          \
    }

#endif
