#include "node/shepherd/places.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int places_open(const struct herd *h, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "../%s", name);
    return openat(h->steps_fd, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* The kernel tells of one lock in the way, which need not be the first: what is before it is asked
 * for again. How many are free from *at on, which moves to the first that is; 0 = none up to
 * end, or errno is not EAGAIN. */
static int64_t free_from(int fd, int64_t *at, int64_t end)
{
    int64_t until = end;
    errno = EAGAIN;
    while (*at < until) {
        struct flock l = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = *at, .l_len = until - *at};
        if (fcntl(fd, F_GETLK, &l) != 0)
            return 0;
        if (l.l_type == F_UNLCK)
            return until - *at;
        if (l.l_start > *at) {
            until = l.l_start;
        } else {
            *at = l.l_len > 0 ? l.l_start + l.l_len : end;
            until = end;
        }
    }
    return 0;
}

bool places_take(int fd, int64_t first, int64_t most, int64_t want)
{
    ASSERT(first >= 0 && most > 0);
    int64_t at = first, n;
    while (want > 0 && (n = free_from(fd, &at, first + most)) > 0) {
        struct flock l = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n < want ? n : want};
        if (fcntl(fd, F_SETLK, &l) == 0) {
            at += l.l_len;
            want -= l.l_len;
        } else if (errno != EAGAIN && errno != EACCES) { /* else somebody was faster */
            return false;
        }
    }
    return want <= 0;
}
