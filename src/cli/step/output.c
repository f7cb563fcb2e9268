/* Lines of several tasks must not run into one another: of each task and stream the last unfinished
 * line is kept until it is whole, too long, or at its end. A single task's bytes (without a label)
 * pass as they are, so that a progress bar moves. */
#include "cli/step/output.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES (64u << 10)

struct sink {
    struct output_way way;
    bool is_pipe;
    int broken; /* errno of the write that failed */
    struct str queue;
    size_t sent;
    struct str *line; /* by task: the unfinished line; NULL = bytes pass as they are */
};

struct step_output {
    bool label;
    int width; /* of labels */
    int32_t ntasks;
    struct sink sink[2];
};

/* What the caller closed (io/fd.h) is what tasks say that nobody wants: no reason to end them. */
static bool is_closed(int fd)
{
    int how = fcntl(fd, F_GETFL);
    return how < 0 || (how & O_ACCMODE) == O_RDONLY;
}

static void sink_open(struct sink *s, struct output_way way, bool lines, int32_t ntasks)
{
    struct stat st;
    s->way = way;
    if (is_closed(way.fd))
        s->way.fd = -1;
    s->is_pipe = s->way.fd >= 0 && fstat(s->way.fd, &st) == 0 && S_ISFIFO(st.st_mode);
    if (lines)
        s->line = xcalloc((size_t)ntasks, sizeof *s->line);
}

struct step_output *output_new(const struct output_ask *ask)
{
    struct step_output *o = xcalloc(1, sizeof *o);
    bool lines = ask->label || (ask->ntasks > 1 && !ask->unbuffered);
    o->label = ask->label;
    o->ntasks = ask->ntasks;
    o->width = snprintf(NULL, 0, "%d", ask->ntasks - 1);
    sink_open(&o->sink[0], ask->to.out, lines, ask->ntasks);
    sink_open(&o->sink[1], ask->to.err, lines, ask->ntasks);
    return o;
}

/* ---- writing ---- */

/* So much can be written now without waiting for a reader. */
static size_t room_of(const struct sink *s, size_t wanted)
{
    int filled = 0, size = s->is_pipe ? fcntl(s->way.fd, F_GETPIPE_SZ) : -1;
    if (size < 0 || ioctl(s->way.fd, FIONREAD, &filled) != 0)
        return wanted;
    /* A pipe counts in pages: what is partly filled may take a page each. */
    size_t room = size > filled ? (size_t)(size - filled) : 0;
    if (filled > 0 && room < 2 * 4096u)
        room = 4096u;
    return room < wanted ? room : wanted;
}

static size_t sink_write(struct sink *s, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len && !s->broken) {
        struct pollfd p = {.fd = s->way.fd, .events = POLLOUT};
        if (poll(&p, 1, 0) <= 0)
            break;
        size_t room = room_of(s, len - done);
        ssize_t n = room ? write(s->way.fd, data + done, room) : 0;
        if (n == 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
            break;
        if (n < 0)
            s->broken = errno;
        else
            done += (size_t)n;
    }
    return s->broken ? len : done;
}

static void sink_flush(struct sink *s)
{
    s->sent += sink_write(s, s->queue.data + s->sent, s->queue.len - s->sent);
    if (s->sent < s->queue.len)
        return;
    str_clear(&s->queue);
    s->sent = 0;
}

static void sink_put(struct sink *s, const char *data, size_t len)
{
    ASSERT(s->sent <= s->queue.len);
    size_t done = s->queue.len == s->sent ? sink_write(s, data, len) : 0;
    if (done < len)
        str_addn(&s->queue, data + done, len - done);
}

/* ---- lines ---- */

static void label_put(const struct step_output *o, struct sink *s, int32_t task)
{
    char text[24];
    int n = o->label ? snprintf(text, sizeof text, "%*d: ", o->width, task) : 0;
    if (n > 0)
        sink_put(s, text, (size_t)n);
}

/* One line, whole or at the end of its stream. */
static void line_put(const struct step_output *o, struct sink *s, int32_t task, const char *data,
                     size_t len)
{
    ASSERT(s->line && task >= 0 && task < o->ntasks);
    struct str *begun = &s->line[task];
    label_put(o, s, task);
    if (begun->len)
        sink_put(s, begun->data, begun->len);
    str_clear(begun);
    sink_put(s, data, len);
}

static void lines_put(const struct step_output *o, struct sink *s, int32_t task, const char *data,
                      size_t len, bool end)
{
    ASSERT(s->line && task >= 0 && task < o->ntasks);
    struct str *begun = &s->line[task];
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t n = newline ? (size_t)(newline - data) + 1 : len;
        if (!newline && begun->len + len < LINE_MAX_BYTES)
            break;
        line_put(o, s, task, data, n);
        data += n;
        len -= n;
    }
    if (len)
        str_addn(begun, data, len);
    if (end && begun->len) {
        struct str last = *begun;
        *begun = (struct str)STR_INIT;
        line_put(o, s, task, last.data, last.len);
        if (o->label)
            sink_put(s, "\n", 1);
        str_done(&last);
    }
    if (end)
        str_done(begun);
}

void output_put(struct step_output *o, enum stream_name stream, int32_t task, const void *data,
                size_t len, bool end)
{
    struct sink *s = &o->sink[stream == STREAM_ERR];
    if (s->way.fd < 0 || task < 0 || task >= o->ntasks ||
        (s->way.only_task >= 0 && s->way.only_task != task))
        return;
    if (s->line)
        lines_put(o, s, task, data, len, end);
    else
        sink_put(s, data, len);
}

/* ---- waiting ---- */

size_t output_unsent(const struct step_output *o)
{
    return o->sink[0].queue.len - o->sink[0].sent + o->sink[1].queue.len - o->sink[1].sent;
}

size_t output_wait_for(const struct step_output *o, struct pollfd *v)
{
    size_t n = 0;
    for (size_t i = 0; i < 2; i++)
        if (o->sink[i].queue.len > o->sink[i].sent)
            v[n++] = (struct pollfd){.fd = o->sink[i].way.fd, .events = POLLOUT};
    return n;
}

void output_serve(struct step_output *o)
{
    for (size_t i = 0; i < 2; i++)
        if (o->sink[i].queue.len > o->sink[i].sent)
            sink_flush(&o->sink[i]);
}

int output_broken(const struct step_output *o)
{
    int err = o->sink[1].broken;
    return o->sink[0].broken ? o->sink[0].broken : err == EPIPE ? 0 : err;
}

void output_free(struct step_output *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < 2; i++) {
        struct sink *s = &o->sink[i];
        while (s->queue.len > s->sent && !s->broken) {
            struct pollfd p = {.fd = s->way.fd, .events = POLLOUT};
            poll(&p, 1, -1);
            sink_flush(s);
        }
        for (int32_t t = 0; s->line && t < o->ntasks; t++)
            str_done(&s->line[t]);
        free(s->line);
        str_done(&s->queue);
    }
    free(o);
}
