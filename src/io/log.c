#include "io/log.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "io/clock.h"
#include "io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct log {
    /* Replaced as a whole by dup3, so that writers of other threads never see it closed. */
    atomic_int fd;
    atomic_int most;
    char *path; /* NULL = stderr */
    /* There was no room for the file: fd leads nowhere, each line tries again. */
    atomic_bool unopened;
    atomic_bool cut;       /* the last line in the file has no end */
    atomic_size_t missing; /* lines that found no room since one did */
};

/* -1 with ret_err and errno. */
static int log_file_open(const char *path, struct err *ret_err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        file_error(ret_err, "write the log", path);
    return fd;
}

struct log *log_open(const char *path, enum log_severity most, struct err *ret_err)
{
    int fd = path ? log_file_open(path, ret_err) : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    bool no_room = fd < 0 && path && room_is_missing(errno);
    if (no_room) /* a full disk must not keep a daemon down */
        fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        if (!path)
            err_set(ret_err, ERR_UNAVAILABLE, "cannot log to stderr: %s", strerror(errno));
        return NULL;
    }
    struct log *l = xcalloc(1, sizeof *l);
    l->fd = fd;
    l->unopened = no_room;
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
    l->unopened = false;
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

static void line_write(struct log *l, const struct str *line, size_t missing)
{
    struct str text = STR_INIT;
    if (l->cut)
        str_addc(&text, '\n');
    if (missing > 0) {
        time_add(&text);
        str_addf(&text, "warning: %zu lines are missing here: there was no room for them\n",
                 missing);
    }
    str_addn(&text, line->data, line->len);
    /* One write: lines of several threads do not mix. */
    ssize_t n = write(l->fd, text.data, text.len);
    if (n < 0 || (size_t)n < text.len) { /* a full disk must not stop the daemon */
        l->missing += missing + 1;
        l->cut = l->cut || n > 0;
    } else {
        l->cut = false;
    }
    str_done(&text);
}

void log_write(struct log *l, enum log_severity s, const char *format, ...)
{
    static const char *const word[] = {"error: ", "warning: ", "", "debug: "};
    ASSERT((size_t)s < ARRAY_LEN(word));
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
    if (l->unopened && !log_reopen(l, NULL))
        l->missing++;
    else
        line_write(l, &line, atomic_exchange(&l->missing, 0));
    str_done(&line);
    str_done(&text);
}
