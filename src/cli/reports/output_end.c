/* The file is opened as whoever runs this, never blocks (a FIFO has no writer any more), and has to
 * be the owner's own: a link to somebody else's that he may read is not shown, as a mail may go to
 * others. It is opened by a process of its own: on a file system that hangs, whoever opens it stays
 * in the kernel, beyond SIGKILL, and four such commands would be all that a mailer runs at once. */
#include "cli/reports/output_end.h"

#include "base/duration.h"
#include "base/str.h"
#include "io/process/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_SLACK_S 60 /* of a file server */

static bool is_his(int fd, const struct job *j, struct stat *ret)
{
    return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_uid == j->user_id &&
           ret->st_mtime >= j->start_us / USEC_PER_SEC - CLOCK_SLACK_S;
}

static void file_read(const struct job *j, struct output_end *e)
{
    struct stat st;
    int fd = e->path ? open(e->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd < 0)
        return;
    if (is_his(fd, j, &st)) {
        off_t from = st.st_size > (off_t)sizeof e->bytes ? st.st_size - (off_t)sizeof e->bytes : 0;
        ssize_t n = pread(fd, e->bytes, sizeof e->bytes, from);
        e->known = n >= 0;
        e->len = n > 0 ? (size_t)n : 0;
    }
    close(fd);
}

/* ---- the process ---- */

static bool bytes_write(int fd, const void *data, size_t len)
{
    const char *at = data;
    while (len) {
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

static bool end_write(int fd, const struct output_end *e)
{
    return bytes_write(fd, &e->known, sizeof e->known) && bytes_write(fd, &e->len, sizeof e->len) &&
           bytes_write(fd, e->bytes, e->len);
}

/* What it inherited is closed: whoever waits for the end of this command's output does not wait for
 * it. */
static _Noreturn void reader_run(const struct job *j, struct output_end *out,
                                 struct output_end *err, int pipe)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    if (!reader_place_take())
        _exit(1);
    file_read(j, out);
    file_read(j, err);
    _exit(nothing >= 0 && end_write(pipe, out) && end_write(pipe, err) ? 0 : 1);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool bytes_read(int fd, void *data, size_t len, int64_t until_ms)
{
    char *at = data;
    while (len) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = until_ms - now_ms();
        if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
            return false;
        ssize_t n = p.revents ? read(fd, at, len) : -1;
        if (n == 0 || (n < 0 && p.revents && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void end_read(int fd, struct output_end *e, int64_t until_ms)
{
    size_t len = 0;
    bool known = false;
    if (bytes_read(fd, &known, sizeof known, until_ms) &&
        bytes_read(fd, &len, sizeof len, until_ms) && len <= sizeof e->bytes &&
        bytes_read(fd, e->bytes, len, until_ms)) {
        e->known = known;
        e->len = len;
    }
}

void output_ends_read(const struct job *j, struct output_end *out, struct output_end *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t reader = fork();
    if (reader == 0)
        reader_run(j, out, err, ends[1]);
    close(ends[1]);
    int64_t until_ms = now_ms() + OUTPUT_READ_MS;
    if (reader > 0) {
        end_read(ends[0], out, until_ms);
        end_read(ends[0], err, until_ms);
        kill(reader, SIGKILL);
        waitpid(reader, NULL, WNOHANG);
    }
    close(ends[0]);
}
