/* What the shepherd's loop waits for on behalf of its tasks, and what commands say. */
#include "base/alloc.h"
#include "node/shepherd/tasks/files.h"
#include "node/shepherd/tasks/input.h"
#include "node/shepherd/tasks/meet.h"
#include "node/shepherd/tasks/output_keep.h"

/* ---- what the command says ---- */

struct from {
    struct task_set *t;
    size_t stream;
};

/* What came before, once, however often it is asked for; then all that follows. It may send
 * input. */
static void follower_begin(struct task_set *t, struct stream *s)
{
    if (s->begun)
        return;
    s->begun = true;
    if (t->kept)
        output_keep_send(t->kept, s);
    input_grant(t);
}

static void message_take(void *ctx, const struct message *m)
{
    const struct from *f = ctx;
    struct task_set *t = f->t;
    switch ((int)m->kind) {
    case MSG_STREAM_TASKS:
        if (f->stream == 0)
            tasks_launch(t, m->body);
        else
            follower_begin(t, &t->stream[f->stream]);
        break;
    case MSG_STREAM_DATA: input_take(t, f->stream, m->body); break;
    case MSG_STREAM_WINDOW:
        if (t->is_pty)
            terminal_size_set(t->task[0].out_fd, ((const struct msg_stream_window *)m->body)->rows,
                              ((const struct msg_stream_window *)m->body)->columns);
        break;
    case MSG_STREAM_SIGNAL:
        t->ops->signal(t->ctx, ((const struct msg_stream_signal *)m->body)->signal);
        break;
    case MSG_STREAM_MPI:
        if (f->stream == 0)
            meet_take(t, m->body);
        break;
    }
}

/* ---- waiting ---- */

static void owner_check(struct task_set *t)
{
    if (t->stream[0].fd < 0 && !t->owner_gone && !t->detached) {
        t->owner_gone = true;
        t->ops->gone(t->ctx);
    }
}

size_t task_set_wait_max(const struct task_set *t)
{
    return 1 + FOLLOWERS_MAX + 4 * t->n;
}

/* A task whose file does not take what it wrote is not read until the file does. */
static struct pollfd output_wait_for(const struct task_file *f, int fd)
{
    return task_file_is_late(f) ? (struct pollfd){.fd = f->fd, .events = POLLOUT}
                                : (struct pollfd){.fd = fd, .events = POLLIN};
}

void task_set_let_go(struct task_set *t)
{
    for (size_t i = 0; i < t->nstreams; i++) {
        t->stream[i].held = false;
        stream_flush(&t->stream[i]);
    }
    owner_check(t);
}

size_t task_set_wait_for(struct task_set *t, struct pollfd *v)
{
    ASSERT(t->nstreams <= 1 + FOLLOWERS_MAX);
    size_t n = 0;
    task_set_let_go(t);
    bool is_full = tasks_full(t), is_behind = meet_is_behind(t);
    input_grant(t);
    for (size_t i = 0; i < 1 + FOLLOWERS_MAX; i++) {
        const struct stream *s = &t->stream[i];
        bool there = i < t->nstreams && s->fd >= 0;
        v[n++] = (struct pollfd){.fd = there ? s->fd : -1,
                                 .events = (short)((i == 0 && is_behind ? 0 : POLLIN) |
                                                   (there && stream_unsent(s) ? POLLOUT : 0))};
    }
    for (size_t i = 0; i < t->n; i++) {
        const struct task *task = &t->task[i];
        bool wants_input = task->in_fd >= 0 && task->in_done < input_until(t);
        v[n++] = output_wait_for(&task->file[0], is_full ? -1 : task->out_fd);
        v[n++] = output_wait_for(&task->file[1], is_full ? -1 : task->err_fd);
        v[n++] = (struct pollfd){.fd = wants_input ? task->in_fd : -1, .events = POLLOUT};
    }
    meet_wait_for(t, v + n);
    return n + t->n;
}

bool task_set_has_more(const struct task_set *t)
{
    for (size_t i = 0; i < t->nstreams; i++)
        if (t->stream[i].fd >= 0 && t->stream[i].more && !(i == 0 && meet_is_behind(t)))
            return true;
    return false;
}

/* What comes for PMIx's server while that reads nothing stays where it is. */
static void streams_serve(struct task_set *t, const struct pollfd *v)
{
    bool is_behind = meet_is_behind(t);
    for (size_t i = 0; i < t->nstreams; i++) {
        struct stream *s = &t->stream[i];
        struct from from = {t, i};
        if (v[i].revents & POLLOUT)
            stream_flush(s);
        if (i == 0 && is_behind && !(v[i].revents & (POLLHUP | POLLERR)))
            continue;
        if (s->more || v[i].revents & (POLLIN | POLLHUP | POLLERR))
            stream_read(s, message_take, &from);
    }
    owner_check(t);
}

static void output_serve(struct task_set *t, struct task *task, enum stream_name stream,
                         const struct pollfd *v)
{
    struct task_file *f = &task->file[stream == STREAM_ERR];
    if (v->revents && task_file_is_late(f))
        task_file_flush(t, f);
    else if (v->revents && !tasks_full(t))
        task_output_read(t, task, stream);
}

void task_set_serve(struct task_set *t, const struct pollfd *v, size_t n)
{
    ASSERT(n == task_set_wait_max(t));
    (void)n;
    const struct pollfd *mine = v + 1 + FOLLOWERS_MAX;
    size_t tasks = t->n;
    for (size_t i = 0; i < t->nstreams; i++)
        t->stream[i].held = true;
    for (size_t i = 0; i < tasks; i++) {
        struct task *task = &t->task[i];
        output_serve(t, task, STREAM_OUT, &mine[3 * i]);
        output_serve(t, task, STREAM_ERR, &mine[3 * i + 1]);
        if (mine[3 * i + 2].revents)
            input_write(t, task);
    }
    if (t->input.len)
        input_forget(t);
    meet_serve(t, mine + 3 * tasks);
    streams_serve(t, v);
}
