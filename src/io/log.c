#include "io/log.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "io/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct log {
    atomic_int fd; /* replaced as a whole by dup3, so that writers of other threads never see it closed */
    atomic_int most;
    char *path; /* NULL = stderr */
};

static int log_file_open(const char *path, struct err *ret_err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        err_set(ret_err, errno == EACCES ? ERR_DENIED : ERR_UNAVAILABLE, "cannot write the log %s: %s", path,
                strerror(errno));
    return fd;
}

struct log *log_open(const char *path, enum log_severity most, struct err *ret_err)
{
    int fd = path ? log_file_open(path, ret_err) : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) {
        if (!path)
            err_set(ret_err, ERR_UNAVAILABLE, "cannot log to stderr: %s", strerror(errno));
        return NULL;
    }
    struct log *l = xcalloc(1, sizeof *l);
    l->fd = fd;
    l->most = (int)most;
    l->path = xstrdup(path);
    return l;
}

void log_close(struct log *l)
{
    if (!l)
        return;
    close(l->fd);
    free(l->path);
    free(l);
}

bool log_reopen(struct log *l, struct err *ret_err)
{
    if (!l->path)
        return true;
    int fd = log_file_open(l->path, ret_err);
    if (fd < 0)
        return false;
    dup3(fd, l->fd, O_CLOEXEC);
    close(fd);
    return true;
}

void log_set_level(struct log *l, enum log_severity most)
{
    l->most = (int)most;
}

static void time_add(struct str *out)
{
    int64_t now_us = clock_now_us();
    time_t sec = (time_t)(now_us / 1000000);
    struct tm tm;
    localtime_r(&sec, &tm);
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    str_addf(out, "%s.%03d ", text, (int)(now_us / 1000 % 1000));
}

void log_write(struct log *l, enum log_severity s, const char *format, ...)
{
    static const char *const word[] = {"error: ", "warning: ", "", "debug: "};
    if ((int)s > l->most)
        return;
    struct str text = STR_INIT, line = STR_INIT;
    va_list args;
    va_start(args, format);
    str_addv(&text, format, args);
    va_end(args);
    time_add(&line);
    str_add(&line, word[s]);
    str_add_plain(&line, str_text(&text));
    str_addc(&line, '\n');
    ssize_t n = write(l->fd, line.data, line.len); /* one write: lines of several threads do not mix */
    (void)n;                                       /* a full disk must not stop the daemon */
    str_done(&line);
    str_done(&text);
}
