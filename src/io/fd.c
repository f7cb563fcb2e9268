#include "io/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

bool fd_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* The lowest that is free is the one that is opened. */
bool standard_descriptors_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int of_no_use = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", of_no_use) != fd)
            return false;
    }
    return true;
}

static void nothing_done(int signo)
{
    (void)signo;
}

/* A handler ends with execve, which SIG_IGN does not. */
void file_limits_fail(void)
{
    sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = nothing_done, .sa_flags = SA_RESTART},
              NULL);
}

bool standard_output_written(int *ret_why)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    *ret_why = errno;
    return !failed;
}
