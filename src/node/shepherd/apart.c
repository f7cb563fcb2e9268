#include "node/shepherd/apart.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

static bool answer_read(int fd, int wait_ms, int64_t *ret)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t until_ms = now_ms() + wait_ms, left_ms = wait_ms;
    int ready;
    while ((ready = poll(&p, 1, (int)left_ms)) < 0 && errno == EINTR)
        left_ms = until_ms > now_ms() ? until_ms - now_ms() : 0;
    return ready > 0 && read(fd, ret, sizeof *ret) == sizeof *ret;
}

bool ask_apart(int64_t (*fn)(const void *ctx), const void *ctx, int wait_ms, int64_t *ret)
{
    ASSERT(fn && wait_ms >= 0);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        int64_t answer = fn(ctx);
        _exit(write(ends[1], &answer, sizeof answer) == sizeof answer ? 0 : 1);
    }
    close(ends[1]);
    bool answered = pid > 0 && answer_read(ends[0], wait_ms, ret);
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, answered ? 0 : WNOHANG);
    }
    return answered;
}
