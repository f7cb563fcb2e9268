/* A place is a byte of a file that is locked; the kernel gives it back, however the process
 * ends. */
#include "node/shepherd/linger.h"

#include <fcntl.h>
#include <unistd.h>

int linger_ms(const struct herd *h, int64_t uid)
{
    int fd = openat(h->steps_fd, "../lingering", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (int i = 0; fd >= 0 && i < LINGER_SLOTS; i++) {
        struct flock place = {.l_type = F_WRLCK,
                              .l_whence = SEEK_SET,
                              .l_start = (off_t)uid * LINGER_SLOTS + i,
                              .l_len = 1};
        if (fcntl(fd, F_SETLK, &place) == 0)
            return -1; /* the file stays open */
    }
    if (fd >= 0)
        close(fd);
    return LINGER_MS;
}
