#include "node/shepherd/apart.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static enum apart answer_read(int fd, int wait_ms, int64_t *ret)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t until_ms = now_ms() + wait_ms, left_ms = wait_ms;
    int ready;
    while ((ready = poll(&p, 1, (int)left_ms)) < 0 && errno == EINTR)
        left_ms = until_ms > now_ms() ? until_ms - now_ms() : 0;
    if (ready == 0)
        return APART_LATE;
    return ready > 0 && read(fd, ret, sizeof *ret) == sizeof *ret ? APART_ANSWERED : APART_NOBODY;
}

enum apart ask_apart_each(int64_t (*fn)(const void *ctx, size_t i), const void *ctx, size_t n,
                          const int *each_ms, int *left_ms, size_t *next, int64_t *ret)
{
    ASSERT(fn && *next < n && *left_ms >= 0);
    int ends[2];
    enum apart how = APART_ANSWERED;
    int64_t begin_ms = now_ms(), all_ms = *left_ms;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return APART_NOBODY;
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = *next; i < n; i++) {
            int64_t answer = fn(ctx, i);
            if (write(ends[1], &answer, sizeof answer) != sizeof answer)
                _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0)
        how = APART_NOBODY;
    while (how == APART_ANSWERED && *next < n) {
        bool all = !each_ms || each_ms[*next] > *left_ms;
        how = answer_read(ends[0], all ? *left_ms : each_ms[*next], &ret[*next]);
        int64_t left = all_ms - (now_ms() - begin_ms);
        *left_ms = left > 0 ? (int)left : 0;
        *next += how == APART_ANSWERED;
    }
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, how == APART_ANSWERED ? 0 : WNOHANG);
    }
    return how;
}

struct one_question {
    int64_t (*fn)(const void *ctx);
    const void *ctx;
};

static int64_t one_ask(const void *ctx, size_t i)
{
    const struct one_question *q = ctx;
    (void)i;
    return q->fn(q->ctx);
}

enum apart ask_apart(int64_t (*fn)(const void *ctx), const void *ctx, int wait_ms, int64_t *ret)
{
    ASSERT(fn && wait_ms >= 0);
    struct one_question q = {fn, ctx};
    size_t next = 0;
    return ask_apart_each(one_ask, &q, 1, NULL, &wait_ms, &next, ret);
}
