/* A task that says more than it reads is not read meanwhile. That others here wait to meet is told
 * after the ends of those that do not come, or the command would let them meet. Without a command
 * (srun --async) the node is the only one, and has met as soon as its own tasks have. */
#include "node/shepherd/tasks/meet.h"

#include "agent/pmi.h"
#include "agent/pmi_map.h"
#include "base/alloc.h"
#include "base/idset.h"
#include "model/env/mpi_env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 16384

struct meet {
    struct pmi *pmi;
    int32_t *rank;
    int32_t size;
    const char *name;
    bool late; /* `brought` is to be told when ends are */
    struct str brought;
    struct end {
        int fd; /* ours; -1 = none (any more) */
        struct str out;
    } * end;
};

/* ---- what the server says ---- */

static void end_close(struct end *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
    str_done(&e->out);
}

static void end_flush(struct end *e)
{
    while (e->fd >= 0 && e->out.len) {
        ssize_t n = send(e->fd, e->out.data, e->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            end_close(e);
            return;
        }
        memmove(e->out.data, e->out.data + n, e->out.len - (size_t)n);
        str_cut(&e->out, e->out.len - (size_t)n);
    }
}

static void task_say(void *ctx, size_t place, const char *bytes, size_t len)
{
    struct task_set *t = ctx;
    struct end *e = &t->meet->end[place];
    if (e->fd < 0)
        return;
    str_addn(&e->out, bytes, len);
    end_flush(e);
}

static bool any_ended(const struct task_set *t, bool untold_only)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->task[i].ended && !(untold_only && t->task[i].told))
            return true;
    return false;
}

static void nodes_meet(void *ctx, struct span data)
{
    struct task_set *t = ctx;
    struct msg_stream_mpi m = {.op = MPI_MEET, .data = {data.data, data.len}};
    if (t->detached && any_ended(t, false)) {
        t->ops->gone(t->ctx); /* the others would wait for ever */
    } else if (t->detached) {
        pmi_met(t->meet->pmi);
    } else if (any_ended(t, true)) {
        t->meet->late = true;
        str_clear(&t->meet->brought);
        str_addn(&t->meet->brought, data.data, data.len);
    } else {
        stream_send(&t->stream[0], MSG_STREAM_MPI, &m);
    }
}

void meet_ends_told(struct task_set *t)
{
    if (!t->meet || !t->meet->late)
        return;
    t->meet->late = false;
    nodes_meet(t, (struct span){str_text(&t->meet->brought), t->meet->brought.len});
}

static void program_end(struct task_set *t, int32_t code)
{
    int low = code & 0xff;
    if (t->aborted_code)
        return;
    t->aborted_code = low ? low : 1;
    t->ops->gone(t->ctx);
}

static void program_abort(void *ctx, int32_t rank, int32_t code, struct span why)
{
    struct task_set *t = ctx;
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)(why.len < 255 ? why.len : 255),
             why.len ? why.data : "");
    struct msg_stream_mpi m = {.op = MPI_ABORT, .rank = rank, .code = code, .text = text};
    if (!t->aborted_code && !t->detached)
        stream_send(&t->stream[0], MSG_STREAM_MPI, &m);
    program_end(t, code);
}

static const struct pmi_ops pmi_ops = {task_say, nodes_meet, program_abort};

/* ---- beginning ---- */

/* All tasks are of this node. */
static const char *own_map(struct task_set *t)
{
    struct idset ids = IDSET_INIT;
    struct str text = STR_INIT;
    for (size_t i = 0; i < t->n; i++)
        idset_add(&ids, (uint32_t)(t->task[i].id + t->what.first_task));
    str_addf(&text, "%s ", t->plan->node);
    idset_format(&ids, &text);
    const char *map = arena_strdup(t->arena, str_text(&text));
    str_done(&text);
    idset_done(&ids);
    return map;
}

struct meet *meet_open(struct task_set *t)
{
    const struct msg_stream_tasks *w = &t->what;
    int64_t size = w->world ? w->world : t->plan->world;
    bool apart = t->detached && size != (int64_t)t->n; /* and nobody to meet through */
    if (!text_is(w->mpi, "pmi2") || apart || size < 1 || size > PMI_RANKS_MAX)
        return NULL;
    struct meet *m = xcalloc(1, sizeof *m);
    m->size = (int32_t)size;
    m->name = text_empty(w->mpi_name) ? t->plan->dir_name : w->mpi_name;
    m->rank = xcalloc(t->n + 1, sizeof *m->rank);
    m->end = xcalloc(t->n + 1, sizeof *m->end);
    for (size_t i = 0; i < t->n; i++) {
        m->rank[i] = t->task[i].id + w->first_task;
        m->end[i].fd = -1;
    }
    struct pmi_world world = {.name = m->name,
                              .map = w->mpi_map ? w->mpi_map : own_map(t),
                              .size = m->size,
                              .rank = m->rank,
                              .n = t->n};
    m->pmi = pmi_new(&world, &pmi_ops, t);
    return m;
}

int meet_end_open(struct task_set *t, size_t place)
{
    int ends[2];
    if (!t->meet || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    t->meet->end[place].fd = ends[0];
    return ends[1];
}

/* ---- in the task ---- */

static void number_add(struct env *e, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    env_add(e, name, text);
}

void meet_env(const struct task_set *t, const struct task *task, int fd, struct env *e)
{
    static const char *const names[] = {"PMI_FD=", "PMI_RANK=", "PMI_SIZE=", "PMI_JOBID="};
    if (!t->meet || fd < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        env_drop(e, names[i]);
    fcntl(fd, F_SETFD, 0);
    number_add(e, "PMI_FD", fd);
    number_add(e, "PMI_RANK", t->meet->rank[task - t->task]);
    number_add(e, "PMI_SIZE", t->meet->size);
    env_add(e, "PMI_JOBID", t->meet->name);
    env_add(e, MPI_NAMES_VARIABLE, "PMI_FD,PMI_RANK,PMI_SIZE,PMI_JOBID");
}

/* ---- going on ---- */

void meet_ended(struct task_set *t, size_t place)
{
    if (t->meet && !t->aborted_code)
        pmi_ended(t->meet->pmi, place);
}

void meet_take(struct task_set *t, const struct msg_stream_mpi *m)
{
    if (!t->meet)
        return;
    switch ((enum mpi_op)m->op) {
    case MPI_MEET: pmi_learn(t->meet->pmi, (struct span){m->data.data, m->data.len}); break;
    case MPI_MET: pmi_met(t->meet->pmi); break;
    case MPI_ABORT: program_end(t, m->code); break;
    case MPI_ASK:
    case MPI_ANSWER: break; /* PMI asks nobody alone */
    }
}

void meet_wait_for(const struct task_set *t, struct pollfd *v)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct end *e = t->meet ? &t->meet->end[i] : NULL;
        v[i] = (struct pollfd){.fd = e ? e->fd : -1, .events = e && e->out.len ? POLLOUT : POLLIN};
    }
}

static void end_read(struct task_set *t, size_t i)
{
    static char bytes[READ_BYTES];
    struct end *e = &t->meet->end[i];
    ssize_t n = recv(e->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || !pmi_take(t->meet->pmi, i, bytes, (size_t)n))
        end_close(e);
}

void meet_serve(struct task_set *t, const struct pollfd *v)
{
    for (size_t i = 0; t->meet && i < t->n; i++) {
        struct end *e = &t->meet->end[i];
        if (e->fd < 0 || e->fd != v[i].fd || !v[i].revents)
            continue;
        if (e->out.len)
            end_flush(e);
        else
            end_read(t, i);
    }
}
