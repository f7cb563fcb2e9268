/* A machine that stands still between two readings of its clocks: both are ahead of the kernel's by
 * what has been stood so far. For one file of a test program, in which all readings come here. */
#ifndef REMUDA_TESTS_CLOCK_STALL_H
#define REMUDA_TESTS_CLOCK_STALL_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    unsigned every; /* so many readings of time go well; 0 = all */
    unsigned reads; /* since then */
    int64_t us;     /* how long it stands still each time */
    int64_t stood_us;
    int64_t set_s;    /* somebody set the wall clock by so much */
    int64_t worked_s; /* the first thread's processor time goes on by so much */
} stall;

int clock_gettime(clockid_t id, struct timespec *t)
{
    long rc = syscall(SYS_clock_gettime, id, t);
    if (rc == 0 && id == CLOCK_THREAD_CPUTIME_ID && gettid() == getpid())
        t->tv_sec += stall.worked_s;
    if (rc != 0 || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC))
        return (int)rc;
    if (stall.every && ++stall.reads > stall.every) {
        stall.reads = 1;
        stall.stood_us += stall.us;
    }
    int64_t ns = t->tv_nsec + stall.stood_us % 1000000 * 1000;
    t->tv_sec += stall.stood_us / 1000000 + ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    t->tv_sec += id == CLOCK_REALTIME ? stall.set_s : 0;
    return 0;
}

#endif
