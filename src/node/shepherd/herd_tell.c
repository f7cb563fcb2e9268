/* Notes to the node daemon. */
#include "base/alloc.h"
#include "node/shepherd/shepherd.h"

#include "node/step/notes_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* The daemon was restarted, or closed the connection. */
static bool connect_anew(const struct herd *h)
{
    int fd = notes_connect(h->steps_fd);
    bool ok = fd >= 0 && dup3(fd, h->notes_fd, O_CLOEXEC) >= 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

bool herd_say(const struct herd *h, const char *line, size_t len, int wait_ms)
{
    ASSERT(len > 0);
    struct pollfd room = {.fd = h->notes_fd, .events = POLLOUT};
    bool again = true;
    ssize_t written;
    while ((written = send(h->notes_fd, line, len, MSG_NOSIGNAL)) < 0 && again) {
        if (errno == EAGAIN && wait_ms > 0) {
            poll(&room, 1, wait_ms < 100 ? wait_ms : 100);
            wait_ms -= 100;
        } else {
            again = errno == EINTR || (errno != EAGAIN && connect_anew(h));
        }
    }
    return written > 0;
}

bool herd_tell(const struct herd *h, const struct note *n, int wait_ms)
{
    struct str line = STR_INIT;
    note_format(n, &line);
    bool told = herd_say(h, line.data, line.len, wait_ms);
    str_done(&line);
    return told;
}
