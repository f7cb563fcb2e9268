#include "node/step/shortage.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define NAP_FIRST_US INT64_C(10000)
#define NAP_MOST_US  INT64_C(500000)

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

bool shortage_is(int why)
{
    return why == EAGAIN || why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS;
}

int64_t shortage_nap_us(struct shortage *s)
{
    ASSERT(s->nap_us >= 0);
    int why = errno;
    int64_t now = now_us(), nap = 0;
    if (shortage_is(why) && !s->until_us)
        *s = (struct shortage){now + SHORTAGE_PATIENCE_US, NAP_FIRST_US};
    if (shortage_is(why) && now < s->until_us) {
        nap = s->nap_us;
        s->nap_us = nap * 2 < NAP_MOST_US ? nap * 2 : NAP_MOST_US;
    }
    errno = why;
    return nap;
}

bool shortage_passes(struct shortage *s)
{
    int why = errno;
    int64_t nap = shortage_nap_us(s);
    if (nap)
        nanosleep(&(struct timespec){.tv_sec = nap / 1000000, .tv_nsec = nap % 1000000 * 1000},
                  NULL);
    errno = why;
    return nap > 0;
}

bool shortage_pipe(struct shortage *s, int ret_ends[2])
{
    while (pipe2(ret_ends, O_CLOEXEC) != 0)
        if (!shortage_passes(s))
            return false;
    return true;
}

static FILE *begun(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    errno = 0;
    int c = getc(f);
    if (errno == ENOMEM) {
        fclose(f);
        errno = ENOMEM;
        return NULL;
    }
    if (c != EOF)
        ungetc(c, f);
    return f;
}

FILE *shortage_fopen(const char *path)
{
    struct shortage s = {0};
    FILE *f;
    while (!(f = begun(path)) && shortage_passes(&s))
        ;
    return f;
}

pid_t shortage_fork(struct shortage *s)
{
    pid_t pid;
    while ((pid = fork()) < 0 && shortage_passes(s))
        ;
    return pid;
}
