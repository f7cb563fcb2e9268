#include "controller/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORD "%020llu %020llu\n" /* of one length, so that it is written over */

bool given_read(const char *path, struct given *ret)
{
    char text[64] = {0};
    unsigned long long seq, next;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0 || sscanf(text, "%20llu %20llu", &seq, &next) != 2)
        return false;
    *ret = (struct given){seq, next};
    return true;
}

int given_open(const char *path, struct err *ret_err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot write %s: %s", path, strerror(errno));
    return fd;
}

bool given_write(int fd, const struct given *g)
{
    char text[64];
    int n =
        snprintf(text, sizeof text, RECORD, (unsigned long long)g->seq, (unsigned long long)g->next_job_id);
    return pwrite(fd, text, (size_t)n, 0) == n;
}
