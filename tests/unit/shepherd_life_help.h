/* Steps of a directory of their own, whose limits are measured without control groups. */
#ifndef REMUDA_TESTS_SHEPHERD_LIFE_HELP_H
#define REMUDA_TESTS_SHEPHERD_LIFE_HELP_H

#include "unit.h"

#include "shepherd_world.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/cgroup/base.h"
#include "node/cgroup/group.h"
#include "node/step/dir.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct herd_world world;

static inline int setup(void **state)
{
    (void)state;
    world_begin(&world);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    world_end(&world);
    return 0;
}

static inline void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

#endif
