/* A directory of a test's own below /tmp, and its end. */
#ifndef REMUDA_TESTS_SCRATCH_H
#define REMUDA_TESTS_SCRATCH_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* Makes one, called after the test, and writes its path into dir, which has room for size bytes. */
static inline void scratch_make(char *dir, size_t size, const char *test)
{
    assert_true((size_t)snprintf(dir, size, "/tmp/%s-test-XXXXXX", test) < size);
    assert_non_null(mkdtemp(dir));
}

/* Removes it with all that is in it. 0 if that could be done, as a teardown says it. */
static inline int scratch_remove(const char *dir)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

#endif
