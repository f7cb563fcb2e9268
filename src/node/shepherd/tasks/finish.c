/* The end of a step's tasks. Nobody reads commands of the daemon any more, and the next step may
 * have the CPUs already: all that is waited for together has the time of node/shepherd/linger.h. */
#include "node/shepherd/tasks/set.h"

#include "node/shepherd/linger.h"
#include "node/shepherd/tasks/files.h"
#include "node/shepherd/tasks/input.h"
#include "node/shepherd/tasks/meet.h"

#define LATE_WAIT_MS 10000 /* for the reader of a pipe that takes what ended tasks wrote */

static void taken_tell(struct task_set *t, struct lingering *l)
{
    size_t n = t->writers_took;
    t->writers_took = 0;
    for (size_t i = 0; i < t->nstreams; i++) {
        n += t->stream[i].went;
        t->stream[i].went = 0;
    }
    linger_took(l, n);
}

/* Waits until one takes more, for most_ms (-1 = as long as there is time). False: none does any
 * more, or it took too long. */
static bool room_await(int fd, int most_ms, struct lingering *l)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int wait_ms, n;
    do {
        wait_ms = linger_wait_ms(l);
        if (most_ms >= 0 && (wait_ms < 0 || wait_ms >= most_ms))
            return poll(&p, 1, most_ms) == 1;
        n = poll(&p, 1, wait_ms);
    } while (n == 0 && wait_ms != 0);
    return n == 1;
}

/* What a file does not take now that the step is over is lost. */
static void late_finish(struct task_set *t, struct task_file *f, struct lingering *l)
{
    while (task_file_is_late(f)) {
        if (room_await(f->fd, LATE_WAIT_MS, l))
            task_file_flush(t, f);
        else
            str_clear(&f->late);
        taken_tell(t, l);
    }
}

/* As far as what is left is its own. */
static void output_finish(struct task_set *t, struct task *task, enum stream_name stream,
                          size_t *left, struct lingering *l)
{
    size_t n = task_output_read(t, task, stream);
    taken_tell(t, l);
    *left -= n < *left ? n : *left;
    if (n == 0 || *left == 0)
        fd_close(stream == STREAM_OUT ? &task->out_fd : &task->err_fd);
}

/* No process of the step writes any more: what cannot be read now never comes. */
static void task_finish(struct task_set *t, struct task *task, struct lingering *l)
{
    struct stream *command = &t->stream[0];
    size_t out_left = task_output_left(task->out_fd), err_left = task_output_left(task->err_fd);
    while (task->out_fd >= 0 || task->err_fd >= 0) {
        late_finish(t, &task->file[0], l);
        late_finish(t, &task->file[1], l);
        if (tasks_full(t)) {
            if (!room_await(command->fd, -1, l))
                stream_close(command);
            stream_flush(command);
            taken_tell(t, l);
            continue;
        }
        output_finish(t, task, STREAM_OUT, &out_left, l);
        output_finish(t, task, STREAM_ERR, &err_left, l);
    }
    late_finish(t, &task->file[0], l);
    late_finish(t, &task->file[1], l);
}

void task_set_finish(struct task_set *t)
{
    struct lingering linger = linger_begin(t->herd, t->plan->uid);
    tasks_tell_ends(t, false);
    for (size_t i = 0; i < t->n; i++)
        task_finish(t, &t->task[i], &linger);
    meet_done(t);
    struct msg_stream_done m = {.exit_status = task_set_status(t)};
    for (size_t i = 0; i < t->nstreams; i++)
        stream_send(&t->stream[i], MSG_STREAM_DONE, &m);
    streams_finish(t->stream, t->nstreams, &linger);
}
