/* A task that says more than it reads is not read meanwhile. That others here wait to meet is told
 * after the ends of those that do not come, or the command would let them meet. Without a command
 * (srun --async) the node is the only one, and has met as soon as its own tasks have. */
#include "node/shepherd/tasks/meet.h"

#include "agent/pmi.h"
#include "agent/pmi_map.h"
#include "base/alloc.h"
#include "base/idset.h"
#include "base/list.h"
#include "model/env/mpi_env.h"
#include "node/shepherd/tasks/pmix_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* Few, as each command of a few bytes may be answered with a value of some KiB. */
#define READ_BYTES      2048
#define OWED_BYTES      (64u << 20) /* when tasks do not read so much, none is asked for more */
#define VARIABLES_BYTES (64u << 10) /* of one task: what is longer is none of PMIx's making */
#define VARIABLES_EACH  4096u       /* of many tasks, on average */

#define START "start" /* the meeting before the first task starts, of PMIx alone */

struct meet {
    struct pmi *pmi;
    struct pmix_server *pmix; /* the one or the other */
    bool apart;               /* none of them: some node has no PMIx, and only the site asked */
    bool starts_told;
    struct str *variables;  /* of PMIx: of each task, each ended by NUL */
    size_t variables_bytes; /* of all */
    int32_t *rank;
    int32_t size;
    const char *name;
    bool late; /* `brought` is to be told when ends are */
    struct str brought;
    struct end {
        int fd; /* ours; -1 = none (any more) */
        struct str out;
    } * end;
    size_t owed; /* bytes of all `out` */
};

/* ---- what the server says ---- */

static void end_close(struct meet *m, struct end *e)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
    m->owed -= e->out.len;
    str_done(&e->out);
}

static void end_flush(struct meet *m, struct end *e)
{
    while (e->fd >= 0 && e->out.len) {
        ssize_t n = send(e->fd, e->out.data, e->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            end_close(m, e);
            return;
        }
        m->owed -= (size_t)n;
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
    t->meet->owed += len;
    end_flush(t->meet, e);
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

/* ---- PMIx ---- */

static void command_tell(struct task_set *t, const struct msg_stream_mpi *m)
{
    if (!t->detached)
        stream_send(&t->stream[0], MSG_STREAM_MPI, m);
    else if (m->op == MPI_MEET)
        meet_take(t, &(struct msg_stream_mpi){.op = MPI_MET, .ranks = m->ranks});
    else if (m->op == MPI_ASK)
        meet_take(t, &(struct msg_stream_mpi){.op = MPI_ANSWER, .rank = m->rank, .code = 1});
}

/* All nodes are ready; what `without` brings is that this one never will be. */
static void start_tell(struct task_set *t, bool without)
{
    if (t->meet->starts_told)
        return;
    t->meet->starts_told = true;
    t->meet->apart |= without;
    command_tell(t, &(struct msg_stream_mpi){
                        .op = MPI_MEET, .ranks = START, .data = {"-", without ? 1 : 0}});
}

static void pmix_fails(struct task_set *t, const char *why)
{
    struct str text = STR_INIT;
    bool ends = !t->what.mpi_default;
    str_addf(&text, "%s: %s: %s", t->plan->node, ends ? "--mpi=pmix" : "MpiDefault=pmix", why);
    if (ends && !t->aborted_code && !t->detached)
        command_tell(t, &(struct msg_stream_mpi){
                            .op = MPI_ABORT, .ranks = START, .code = 1, .text = str_text(&text)});
    str_add(&text, "; tasks start without");
    if (ends)
        program_end(t, 1);
    else
        task_set_notice(t, str_text(&text));
    str_done(&text);
    if (!ends)
        start_tell(t, true);
}

static void variables_keep(struct task_set *t, const struct msg_stream_mpi *m)
{
    size_t most = VARIABLES_BYTES + VARIABLES_EACH * t->n;
    if (m->data.len > VARIABLES_BYTES || m->data.len > most - t->meet->variables_bytes)
        return;
    for (size_t i = 0; i < t->n; i++)
        if (t->meet->rank[i] == m->rank && !t->meet->variables[i].len) {
            str_addn(&t->meet->variables[i], m->data.data, m->data.len);
            t->meet->variables_bytes += m->data.len;
            return;
        }
}

/* What waits for a rank that is gone has nothing to save by waiting on. */
static void program_kill(struct task_set *t, int32_t code)
{
    t->ops->signal(t->ctx, SIGKILL);
    program_end(t, code);
}

/* A task's end is often that of all, which is under way. */
static void rank_left(struct task_set *t, const struct msg_stream_mpi *m)
{
    if (t->ends || t->owner_gone || t->aborted_code || task_set_over(t))
        return;
    if (!t->detached)
        command_tell(t, m);
    program_kill(t, m->code);
}

static void server_said(struct task_set *t, const struct msg_stream_mpi *m)
{
    bool starts = text_is(m->ranks, START);
    if (m->op == MPI_ANSWER && starts)
        variables_keep(t, m);
    else if (m->op == MPI_MET && starts)
        start_tell(t, false);
    else if (m->op == MPI_ABORT && starts)
        pmix_fails(t, text_empty(m->text) ? "it does not start" : m->text);
    else if (m->op == MPI_ABORT && text_is(m->ranks, "left"))
        rank_left(t, m);
    else if (m->op == MPI_ABORT)
        program_abort(t, m->rank, m->code, span_of(m->text ? m->text : ""));
    else if (!starts)
        command_tell(t, m);
}

static void server_gone(struct task_set *t)
{
    if (t->owner_gone || t->aborted_code || task_set_over(t))
        return;
    if (!t->meet->starts_told) {
        pmix_fails(t, "its server, remuda-pmix, does not start: is libpmix2 installed there?");
    } else if (t->launched) {
        task_set_notice(t, "slurmstepd: error: PMIx's server (remuda-pmix) has ended: so does the "
                           "step");
        program_end(t, 1);
    }
}

static void pmix_open(struct task_set *t, const char *map)
{
    struct meet *m = t->meet;
    struct pmix_world w = {.name = m->name, .map = map, .size = m->size};
    int32_t *node_of = NULL, nodes;
    char why[256] = "where its tasks are is not known";
    bool known = t->n && pmi_map_read(map, m->size, &node_of, &nodes) && m->rank[0] < m->size;
    if (known)
        w.node = node_of[m->rank[0]];
    free(node_of);
    m->variables = xcalloc(t->n + 1, sizeof *m->variables);
    m->pmix = known ? pmix_server_start(t, &w, why, sizeof why) : NULL;
    if (!m->pmix)
        pmix_fails(t, why);
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

/* Of a step without a command; nobody else guesses it. */
static const char *own_name(struct task_set *t)
{
    uint64_t n = 0;
    CHECK(getrandom(&n, sizeof n, 0) == sizeof n);
    return arena_printf(t->arena, "%s.%016llx", t->plan->dir_name, (unsigned long long)n);
}

bool meet_open(struct task_set *t)
{
    const struct msg_stream_tasks *w = &t->what;
    int64_t size = w->world ? w->world : t->plan->world;
    bool apart = t->detached && size != (int64_t)t->n; /* and nobody to meet through */
    bool pmix = text_is(w->mpi, "pmix");
    if ((!pmix && !text_is(w->mpi, "pmi2")) || apart || size < 1 || size > PMI_RANKS_MAX)
        return true;
    struct meet *m = t->meet = xcalloc(1, sizeof *m);
    m->size = (int32_t)size;
    m->name = text_empty(w->mpi_name) ? own_name(t) : w->mpi_name;
    m->rank = xcalloc(t->n + 1, sizeof *m->rank);
    m->end = xcalloc(t->n + 1, sizeof *m->end);
    for (size_t i = 0; i < t->n; i++) {
        m->rank[i] = t->task[i].id + w->first_task;
        m->end[i].fd = -1;
    }
    const char *map = w->mpi_map ? w->mpi_map : own_map(t);
    if (pmix) {
        pmix_open(t, map);
        return false;
    }
    struct pmi_world world = {
        .name = m->name, .map = map, .size = m->size, .rank = m->rank, .n = t->n};
    m->pmi = pmi_new(&world, &pmi_ops, t);
    return true;
}

bool meet_end_open(struct task_set *t, size_t place, int *ret)
{
    ASSERT(place < t->n);
    int ends[2];
    if (!t->meet || !t->meet->pmi)
        return true;
    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        if (!shortage_passes(&t->shortage))
            return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    t->meet->end[place].fd = ends[0];
    *ret = ends[1];
    return true;
}

/* ---- in the task ---- */

static void number_add(struct env *e, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    env_add(e, name, text);
}

/* As the server said. */
static void variables_add(const struct str *variables, struct env *e)
{
    struct str names = STR_INIT;
    size_t n;
    char **all = plan_texts((struct plan_bytes){variables->data, variables->len}, 0, &n);
    for (size_t i = 0; i < n && i < PMIX_VARIABLES_MAX; i++) {
        char *equals = strchr(all[i], '=');
        if (!equals || equals == all[i])
            continue;
        char *name = xstrndup(all[i], (size_t)(equals + 1 - all[i]));
        env_drop(e, name);
        name[equals - all[i]] = '\0';
        env_add(e, name, equals + 1);
        list_addf(&names, "%s", name);
        free(name);
    }
    env_add(e, MPI_NAMES_VARIABLE, str_text(&names));
    free(all);
    str_done(&names);
}

void meet_env(const struct task_set *t, const struct task *task, int fd, struct env *e)
{
    ASSERT(task >= t->task && task < t->task + t->n);
    static const char *const names[] = {"PMI_FD=", "PMI_RANK=", "PMI_SIZE=", "PMI_JOBID="};
    if (t->meet && !t->what.mpi_default) {
        env_drop(e, "SLURM_MPI_TYPE=");
        env_add(e, "SLURM_MPI_TYPE", t->what.mpi);
    }
    if (t->meet && t->meet->pmix && !t->meet->apart)
        variables_add(&t->meet->variables[task - t->task], e);
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
    ASSERT(place < t->n);
    if (!t->meet)
        return;
    if (t->meet->pmi && !t->aborted_code)
        pmi_ended(t->meet->pmi, place);
    if (t->meet->pmix && task_set_over(t))
        pmix_server_close(t->meet->pmix);
}

void meet_done(struct task_set *t)
{
    if (t->meet && t->meet->pmix)
        pmix_server_clear(t->meet->pmix);
}

/* Of the first meeting what any node brings is that it has no PMIx. */
static void pmix_take(struct task_set *t, const struct msg_stream_mpi *m)
{
    bool starts = text_is(m->ranks, START);
    if (starts && m->op == MPI_MEET)
        t->meet->apart |= m->data.len > 0;
    else if (starts && m->op == MPI_MET && !t->launched && !t->owner_gone && !t->ends)
        tasks_start(t);
    else if (!starts && t->meet->pmix)
        pmix_server_tell(t->meet->pmix, m);
}

void meet_take(struct task_set *t, const struct msg_stream_mpi *m)
{
    if (!t->meet)
        return;
    if (m->op == MPI_ABORT) {
        if (text_is(m->ranks, "left"))
            program_kill(t, m->code);
        else
            program_end(t, m->code);
        return;
    }
    if (!t->meet->pmi) {
        pmix_take(t, m);
        return;
    }
    switch ((enum mpi_op)m->op) {
    case MPI_MEET: pmi_learn(t->meet->pmi, (struct span){m->data.data, m->data.len}); break;
    case MPI_MET: pmi_met(t->meet->pmi); break;
    case MPI_ABORT:
    case MPI_ASK:
    case MPI_ANSWER: break; /* PMI asks nobody alone */
    }
}

bool meet_is_behind(const struct task_set *t)
{
    return t->meet && t->meet->pmix && pmix_server_is_behind(t->meet->pmix);
}

void meet_wait_for(const struct task_set *t, struct pollfd *v)
{
    bool full = t->meet && t->meet->owed >= OWED_BYTES;
    for (size_t i = 0; i < t->n; i++) {
        const struct end *e = t->meet ? &t->meet->end[i] : NULL;
        bool owes = e && e->out.len;
        v[i] = (struct pollfd){.fd = e && (owes || !full) ? e->fd : -1,
                               .events = owes ? POLLOUT : POLLIN};
    }
    if (t->meet && t->meet->pmix && t->n)
        pmix_server_wait_for(t->meet->pmix, tasks_full(t), t->detached,
                             v); /* in the place of the first task's */
}

static void end_read(struct task_set *t, size_t i)
{
    static char bytes[READ_BYTES];
    struct end *e = &t->meet->end[i];
    ssize_t n = recv(e->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || !pmi_take(t->meet->pmi, i, bytes, (size_t)n))
        end_close(t->meet, e);
}

void meet_serve(struct task_set *t, const struct pollfd *v)
{
    if (t->meet && t->meet->pmix && t->n &&
        !pmix_server_serve(t->meet->pmix, v->revents, server_said))
        server_gone(t);
    for (size_t i = 0; t->meet && i < t->n; i++) {
        struct end *e = &t->meet->end[i];
        if (e->fd < 0 || e->fd != v[i].fd || !v[i].revents)
            continue;
        if (e->out.len)
            end_flush(t->meet, e);
        else if (t->meet->owed < OWED_BYTES)
            end_read(t, i);
    }
}
