/* The shepherds' side of a step: each node's shepherd connects, shows half of the key, is told what
 * runs, and sends what its tasks write and how they end. Input goes to the nodes whose tasks read,
 * as far as the slowest has room. */
#include "base/idset.h"
#include "cli/program/program.h"
#include "cli/step/run_parts.h"
#include "cli/step/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_BYTES  (64 << 10)
#define INPUT_UNSENT (4u << 20)  /* that a node asked for and does not take */
#define CREDIT_MAX   (1ll << 40) /* bytes */

static bool key_shown(const char *key, const char *half)
{
    return half && strlen(half) == HUB_KEY_CHARS / 2 && memcmp(key, half, HUB_KEY_CHARS / 2) == 0;
}

static void *shepherd_hello(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m)
{
    struct srun_run *r = ctx;
    for (size_t i = 0; i < r->nsteps; i++) {
        struct one_step *s = &r->step[i];
        for (size_t k = 0; key_shown(s->create.key, m->key) && k < s->nnodes; k++) {
            struct step_node *n = &s->node[k];
            if (!text_is(n->name, m->node) || n->peer || n->done)
                continue;
            n->peer = p;
            n->came = true;
            struct msg_stream_tasks tasks = {0};
            if (!r->follows)
                tasks = s->ask->tasks;
            if (tasks.rows) /* it may have changed while the step was waited for */
                terminal_size(&tasks.rows, &tasks.columns);
            run_mpi_tell(r, &tasks);
            tasks.proof = s->create.key + HUB_KEY_CHARS / 2;
            peer_send(p, MSG_STREAM_TASKS, &tasks);
            return n;
        }
    }
    return NULL;
}

/* SLURM_SRUN_REDUCE_TASK_EXIT_MSG: ends like the one before are not said again. */
static bool is_repeated(struct srun_run *r, int32_t status)
{
    const char *reduce = getenv("SLURM_SRUN_REDUCE_TASK_EXIT_MSG");
    bool same = status == r->last_bad;
    r->last_bad = status;
    return same && reduce && strtol(reduce, NULL, 10) != 0;
}

static void task_line(struct srun_run *r, const struct str *line, int32_t status)
{
    if (line->len && !r->ask->tasks_tell && !r->reader_gone && !is_repeated(r, status))
        program_error(r->al->name, "%s%s", str_text(line), r->ask->pty ? "\r" : "");
}

static void bad_end(struct srun_run *r)
{
    if (!r->killed && r->ask->kill_on_bad_exit && !r->follows)
        run_kill(r, "Terminating", true);
}

static void exit_take(struct srun_run *r, struct step_node *n, const struct msg_stream_exit *m)
{
    struct str line = STR_INIT;
    tasks_ended(n->step->tasks, n->name, m->tasks ? m->tasks : "", m->exit_status, &line);
    run_tell(r, "Received task exit notification for tasks %s of StepId=%s on %s (status=0x%04x).",
             m->tasks ? m->tasks : "", run_step_name(r, n->step), n->name,
             (unsigned)m->exit_status & 0xffff);
    if (!text_empty(m->detail))
        program_error(r->al->name, "%s: %s", n->name, m->detail);
    if (!r->ask->quit_on_interrupt || !r->abort_at_ms) /* who ends at Ctrl-C asks nothing more */
        task_line(r, &line, m->exit_status);
    str_done(&line);
    if (!r->first_end_ms)
        r->first_end_ms = allocation_now_ms();
    if (m->exit_status)
        bad_end(r);
    run_mpi_check(r);
}

static void data_take(struct step_node *n, const struct msg_stream_data *m)
{
    int32_t task = m->task_plus1 - 1;
    if (tasks_is_on(n->step->tasks, task, n->name)) /* nobody writes in another's name */
        output_put(n->step->output, (enum stream_name)m->stream, n->step->first + task,
                   m->data.data, m->data.len, m->end);
}

/* A node's word, as large as it likes. */
static void credit_take(struct step_node *n, int64_t bytes)
{
    n->credit = bytes < CREDIT_MAX - n->credit ? n->credit + bytes : CREDIT_MAX;
}

static void shepherd_message(void *ctx, void *peer_ctx, struct stream_peer *p,
                             const struct message *m)
{
    struct srun_run *r = ctx;
    struct step_node *n = peer_ctx;
    switch ((int)m->kind) {
    case MSG_STREAM_STARTED:
        tasks_started(n->step->tasks, n->name, ((const struct msg_stream_started *)m->body)->tasks);
        run_tell(r, "Node %s, tasks started: %s", n->name,
                 ((const struct msg_stream_started *)m->body)->tasks);
        break;
    case MSG_STREAM_DATA: data_take(n, m->body); break;
    case MSG_STREAM_CREDIT:
        credit_take(n, ((const struct msg_stream_credit *)m->body)->bytes);
        break;
    case MSG_STREAM_EXIT: exit_take(r, n, m->body); break;
    case MSG_STREAM_NOTICE:
        r->noticed = true;
        if (r->reader_gone) /* it is srun's own doing */
            break;
        if (((const struct msg_stream_notice *)m->body)->ends && !r->follows)
            run_aborted_say(r);
        fprintf(stderr, "%s%s", ((const struct msg_stream_notice *)m->body)->text,
                r->ask->pty ? "\r\n" : "\n");
        break;
    case MSG_STREAM_MPI: run_mpi_take(r, n, m->body); break;
    case MSG_STREAM_DONE:
        n->done = true;
        peer_close(p);
        break;
    }
}

static void shepherd_gone(void *ctx, void *peer_ctx, struct stream_peer *p)
{
    struct srun_run *r = ctx;
    struct step_node *n = peer_ctx;
    (void)p;
    n->peer = NULL;
    if (n->done)
        return;
    n->done = true;
    if (r->follows)
        return;
    tasks_lost(n->step->tasks, n->name);
    if (!r->killed)
        program_error(r->al->name, "Node failure on %s: the connection to its tasks broke",
                      n->name);
    if (!r->ask->no_kill)
        bad_end(r);
    run_mpi_check(r);
}

const struct hub_ops run_hub_ops = {shepherd_hello, shepherd_message, shepherd_gone};

/* ---- input ---- */

static bool node_reads(const struct srun_run *r, const struct step_node *n)
{
    struct idset set = IDSET_INIT;
    if (r->ask->in_task < 0)
        return true;
    bool has = n->task_ids && idset_parse(&set, n->task_ids, UINT32_MAX, NULL) &&
               r->ask->in_task >= n->step->first &&
               idset_has(&set, (uint32_t)(r->ask->in_task - n->step->first));
    idset_done(&set);
    return has;
}

static void credit_least(struct srun_run *r, struct step_node *n, void *arg)
{
    int64_t *least = arg;
    if (n->done || !node_reads(r, n))
        return;
    int64_t credit = n->peer && peer_unsent(n->peer) < INPUT_UNSENT ? n->credit : 0;
    if (*least < 0 || credit < *least)
        *least = credit;
}

bool run_input_wanted(struct srun_run *r)
{
    int64_t least = -1;
    if (r->input_over || r->ask->in_fd < 0 || !r->output)
        return false;
    run_each_node(r, credit_least, &least);
    return least > 0 && terminal_may_read();
}

static void input_send(struct srun_run *r, struct step_node *n, void *arg)
{
    const struct msg_stream_data *m = arg;
    if (!n->peer || n->done || !node_reads(r, n))
        return;
    struct msg_stream_data own = *m;
    own.task_plus1 = r->ask->in_task < 0 ? 0 : r->ask->in_task - n->step->first + 1;
    n->credit -= (int64_t)m->data.len;
    peer_send(n->peer, MSG_STREAM_DATA, &own);
}

static size_t input_at_once(const struct srun_run *r, int64_t least)
{
    int64_t n = least < INPUT_BYTES ? least : INPUT_BYTES;
    int64_t left = r->ask->in_bytes ? *r->ask->in_bytes - r->input_bytes : n;
    return (size_t)(left < n ? left : n);
}

void run_input_read(struct srun_run *r)
{
    static char bytes[INPUT_BYTES];
    int64_t least = -1;
    run_each_node(r, credit_least, &least);
    if (least <= 0)
        return;
    ssize_t n = read(r->ask->in_fd, bytes, input_at_once(r, least));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    struct msg_stream_data m = {
        .stream = STREAM_IN, .data = {bytes, n > 0 ? (size_t)n : 0}, .end = n <= 0};
    r->input_over = n <= 0;
    r->input_bytes += n > 0 ? n : 0;
    run_each_node(r, input_send, &m);
}
