/* Input of a step's tasks: one queue that all its readers consume at their own pace. A command may
 * send no more than it has been granted, and is granted more as the slowest reader goes on: what is
 * queued and what all commands may send together is INPUT_BYTES for each of them, in PARTS_MAX
 * pieces for one task or another. */
#include "node/shepherd/tasks/input.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define GRANT_BYTES (INPUT_BYTES / 8) /* less is not worth a message */
/* Of what is queued. Somebody sends a byte for this task, a byte for that, and neither reads: each
 * task passes all that is for others. */
#define PARTS_MAX 16384u

void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

uint64_t input_until(const struct task_set *t)
{
    return t->input_from + t->input.len;
}

void input_forget(struct task_set *t)
{
    uint64_t least = input_until(t);
    for (size_t i = 0; i < t->n; i++)
        if (t->task[i].in_fd >= 0 && t->task[i].in_done < least)
            least = t->task[i].in_done;
    size_t gone = (size_t)(least - t->input_from);
    if (gone == 0)
        return;
    t->input.len -= gone;
    memmove(t->input.data, t->input.data + gone, t->input.len);
    t->input_from = least;
    size_t past = 0;
    while (past < t->nparts && t->part[past].to <= least)
        past++;
    if (past) {
        t->nparts -= past;
        memmove(t->part, t->part + past, t->nparts * sizeof *t->part);
    }
    input_grant(t);
}

static bool may_send(const struct task_set *t, size_t i)
{
    return t->stream[i].fd >= 0 && (i == 0 || t->stream[i].proved);
}

/* Those of whom less than is granted comes are not asked for more; of several that send in turn
 * each is the first once. */
void input_grant(struct task_set *t)
{
    int64_t room = -(int64_t)t->input.len;
    if (!t->launched)
        return;
    for (size_t i = 0; i < t->nstreams; i++)
        if (may_send(t, i))
            room += INPUT_BYTES - t->granted[i];
    for (size_t k = 0; k < t->nstreams && room >= GRANT_BYTES; k++) {
        size_t i = (t->grant_first + k) % t->nstreams;
        int64_t less = INPUT_BYTES - t->granted[i], bytes = less < room ? less : room;
        if (!may_send(t, i) || bytes < GRANT_BYTES ||
            stream_unsent(&t->stream[i]) > STREAM_HIGH_BYTES)
            continue;
        t->granted[i] += bytes;
        room -= bytes;
        t->grant_first = i + 1;
        stream_send(&t->stream[i], MSG_STREAM_CREDIT, &(struct msg_stream_credit){.bytes = bytes});
    }
}

/* The first part that ends behind that byte: parts follow one another. */
static size_t part_after(const struct task_set *t, uint64_t done)
{
    size_t low = 0, high = t->nparts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->part[middle].to <= done)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Passes what is for others; how many bytes are there for the task. */
static size_t input_next(const struct task_set *t, struct task *task)
{
    for (size_t i = part_after(t, task->in_done); i < t->nparts; i++) {
        const struct input_part *p = &t->part[i];
        if (p->from > task->in_done)
            return (size_t)(p->from - task->in_done);
        if (p->task == task->id)
            return (size_t)(p->to - task->in_done);
        task->in_done = p->to;
    }
    return (size_t)(input_until(t) - task->in_done);
}

void input_write(struct task_set *t, struct task *task)
{
    ASSERT(task->in_fd < 0 || task->in_done >= t->input_from);
    size_t len;
    while (task->in_fd >= 0 && (len = input_next(t, task)) > 0) {
        size_t at = (size_t)(task->in_done - t->input_from);
        ssize_t n = write(task->in_fd, t->input.data + at, len);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno != EINTR)
            fd_close(&task->in_fd);
        else if (n > 0)
            task->in_done += (uint64_t)n;
    }
    if ((t->input_end || task->in_end) && !t->is_pty)
        fd_close(&task->in_fd);
}

static void part_add(struct task_set *t, int32_t task, uint64_t from)
{
    struct input_part *last = t->nparts ? &t->part[t->nparts - 1] : NULL;
    if (last && last->task == task && last->to == from) {
        last->to = input_until(t);
        return;
    }
    t->part = xrealloc(t->part, (t->nparts + 1) * sizeof *t->part);
    t->part[t->nparts++] = (struct input_part){from, input_until(t), task};
}

void input_take(struct task_set *t, size_t stream, const struct msg_stream_data *m)
{
    ASSERT(m->data.len == 0 || m->data.data);
    if ((int64_t)m->data.len > t->granted[stream] ||
        (m->data.len && m->task_plus1 > 0 && t->nparts >= PARTS_MAX)) {
        stream_close(&t->stream[stream]);
        return;
    }
    t->granted[stream] -= (int64_t)m->data.len;
    uint64_t from = input_until(t);
    if (m->data.len)
        str_addn(&t->input, m->data.data, m->data.len);
    if (m->data.len && m->task_plus1 > 0)
        part_add(t, m->task_plus1 - 1, from);
    if (m->end && t->is_pty && !t->input_end)
        str_addc(&t->input, 4); /* what Ctrl-D does in a terminal */
    t->input_end |= m->end && (m->task_plus1 <= 0 || t->is_pty);
    for (size_t i = 0; i < t->n; i++)
        t->task[i].in_end |= m->end && m->task_plus1 - 1 == t->task[i].id;
    for (size_t i = 0; i < t->n; i++)
        input_write(t, &t->task[i]);
    input_forget(t);
}
