/* One loop: the controller's connection, the shepherds' streams, signals, standard input and output, time.
 *
 * A step is over for srun when the shepherds of all its nodes said so (or are gone) and the controller did: its resources are free then, so the next srun of a script does not
 * find them busy. The controller may vanish and come back meanwhile: the streams do not need it; the call is made again with attach_step. */
#include "cli/step_run.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "cli/command_signals.h"
#include "cli/program.h"
#include "cli/step_output.h"
#include "cli/step_tasks.h"
#include "cli/step_terminal.h"
#include "cli/stream_hub.h"
#include "cli/submit_command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_BYTES   (64u << 10)
#define INTERRUPT_MS  1000 /* a second Ctrl-C within this ends the step */
#define NEVER_CAME_MS 5000 /* a step that the controller calls over, and whose shepherds never connected */

enum phase { STEP_ASKED, STEP_MADE, STEP_OVER };

struct one_step;

/* A node of a step. */
struct step_node {
    struct one_step *step;
    const char *name;
    const char *task_ids;
    struct stream_peer *peer;
    int64_t credit;
    bool came, done;
};

struct one_step {
    const struct step_ask *ask;
    struct msg_create_step create;
    uint64_t call;
    enum phase phase;
    struct step step;
    struct alloc layout;
    struct step_node *node;
    size_t nnodes;
    int32_t first; /* number of its first task over all steps */
    struct step_tasks *tasks;
    struct step_output *output; /* the run's, or its own */
    int32_t ended_status;
    enum job_state ended_state;
    int64_t ended_at_ms;
};

struct run {
    const struct step_run_ask *ask;
    struct allocation *al;
    struct arena *a;
    struct stream_hub *hub;
    struct step_output **
        output; /* the one that steps share, then those of steps with files of their own; none before all steps exist */
    size_t noutput;
    struct one_step *step;
    size_t nsteps;
    bool follows; /* sattach */
    bool refused, input_over, killed, pending_said, noticed;
    int32_t ntasks;
    int64_t interrupted_ms, first_end_ms;
    int status;
    int refused_signal;
    struct pollfd *fd; /* what the loop waits for */
};

static void say(const struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct run *r, const char *format, ...)
{
    va_list args;
    if (r->ask->quiet)
        return;
    fprintf(stderr, "%s: ", r->al->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs(r->ask->pty ? "\r\n" : "\n", stderr);
}

static const char *step_name(const struct run *r, const struct one_step *s)
{
    return arena_printf(r->a, "%llu.%lld", (unsigned long long)s->step.job_id, (long long)s->step.step_id);
}

/* ---- asking the controller ---- */

static bool ask_send(struct run *r, struct one_step *s)
{
    struct err e = {0};
    if (s->phase == STEP_ASKED && !r->follows)
        return client_send(r->al->client, MSG_CREATE_STEP, &s->create, &s->call, &e);
    struct msg_attach_step m = {.job_id = s->step.job_id, .step_id = s->step.step_id, .hold = !r->follows};
    if (r->follows && s->phase == STEP_ASKED) {
        m.address = s->create.address;
        m.key = s->create.key;
    }
    return client_send(r->al->client, MSG_ATTACH_STEP, &m, &s->call, &e);
}

static void ask_all(struct run *r)
{
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase != STEP_OVER && !ask_send(r, &r->step[i])) {
            allocation_lost(r->al);
            return;
        }
}

static void step_kill(struct run *r, const char *why)
{
    for (size_t i = 0; i < r->nsteps; i++) {
        struct one_step *s = &r->step[i];
        if (s->phase != STEP_MADE)
            continue;
        if (why)
            say(r, "%s StepId=%s", why, step_name(r, s));
        struct msg_cancel m = {.ids = step_name(r, s)};
        if (r->al->client)
            client_send(r->al->client, MSG_CANCEL, &m, NULL, NULL);
    }
    r->killed = true;
}

/* ---- what the controller says ---- */

static struct step_output *output_open(struct run *r, const struct output_ways *to)
{
    struct step_output *o = output_new(&(struct output_ask){
        .ntasks = r->ntasks,
        .label = r->ask->label,
        .unbuffered = r->ask->unbuffered || r->ask->pty,
        .to = *to,
    });
    r->output[r->noutput++] = o;
    return o;
}

static size_t unsent_most(const struct run *r)
{
    size_t most = 0;
    for (size_t i = 0; i < r->noutput; i++) {
        size_t unsent = output_unsent(r->output[i]);
        most = unsent > most ? unsent : most;
    }
    return most;
}

/* When the number of all tasks is known, output can be laid out. */
static void all_made(struct run *r)
{
    int32_t first = 0;
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase == STEP_ASKED)
            return;
    for (size_t i = 0; i < r->nsteps; i++) {
        struct one_step *s = &r->step[i];
        s->first = first;
        first += s->step.ntasks;
        s->tasks = tasks_new(&s->layout, s->step.ntasks, s->first);
    }
    r->ntasks = first;
    for (size_t i = 0; r->ask->created && i < r->nsteps; i++)
        r->ask->created(r->ask->ctx, i, &r->step[i].step);
    r->output = arena_alloc(r->a, (r->nsteps + 1) * sizeof *r->output);
    struct step_output *shared = output_open(r, &r->ask->output);
    for (size_t i = 0; i < r->nsteps; i++) {
        const struct step_ask *own = r->step[i].ask;
        r->step[i].output = own && own->output ? output_open(r, own->output) : shared;
    }
}

static void created(struct run *r, struct one_step *s, const struct msg_step_created *m)
{
    struct err e = {0};
    if (s->phase != STEP_ASKED || m->step.n != 1)
        return;
    record_copy(&step_fields, &s->step, m->step.v, r->a);
    if (!alloc_parse(s->step.layout ? s->step.layout : "", r->a, &s->layout, &e)) {
        program_error(r->al->name, "the controller's answer cannot be read: %s", e.text);
        r->refused = true;
        return;
    }
    if (!text_empty(m->warning))
        say(r, "%s", m->warning);
    s->phase = STEP_MADE;
    s->node = arena_alloc(r->a, (s->layout.n + 1) * sizeof *s->node);
    for (size_t i = 0; i < s->layout.n; i++)
        s->node[s->nnodes++] = (struct step_node){
            .step = s, .name = s->layout.node[i].node, .task_ids = s->layout.node[i].task_ids};
    all_made(r);
}

static void ended(struct run *r, struct one_step *s, const struct msg_step_ended *m)
{
    const struct step *end = m->step.n ? m->step.v : NULL;
    if (s->phase == STEP_OVER)
        return;
    if (s->phase == STEP_ASKED) {
        program_error(r->al->name, "Unable to create step for job %llu: %s",
                      (unsigned long long)s->create.job_id,
                      m->detail ? m->detail : "Job/step already completing or completed");
        r->refused = true;
    }
    s->phase = STEP_OVER;
    s->ended_status = end ? end->exit_status : 0;
    s->ended_state = end ? (enum job_state)end->state : JOB_FAILED;
    s->ended_at_ms = allocation_now_ms();
    /* Where tasks ran, their shepherds have said why. */
    if (!text_empty(m->detail) && !r->refused && !r->killed && !r->noticed)
        program_error(r->al->name, "StepId=%s: %s", step_name(r, s), m->detail);
}

static void refused(struct run *r, struct one_step *s, const struct msg_done *m)
{
    if (m->refusal == REFUSE_NONE || s->phase != STEP_ASKED)
        return;
    const char *text = refusal_text((enum refusal)m->refusal);
    if (r->follows)
        program_error(r->al->name, "%s", text);
    else
        program_error(r->al->name, "Unable to create step for job %llu: %s",
                      (unsigned long long)s->create.job_id, text);
    if (!text_empty(m->detail))
        program_error(r->al->name, "%s", m->detail);
    r->refused = true;
}

static struct one_step *step_of_call(struct run *r, uint64_t call)
{
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].call == call)
            return &r->step[i];
    return NULL;
}

static void controller_message(struct run *r, const struct message *m)
{
    struct one_step *s = step_of_call(r, m->seq);
    if (m->kind == MSG_JOB_ENDED && !s) {
        allocation_take(r->al, m);
        return;
    }
    if (!s)
        return;
    if (m->kind == MSG_STEP_CREATED)
        created(r, s, m->body);
    else if (m->kind == MSG_STEP_ENDED)
        ended(r, s, m->body);
    else if (m->kind == MSG_DONE)
        refused(r, s, m->body);
    else if (m->kind == MSG_STEP_PENDING && !r->pending_said) {
        const struct msg_step_pending *p = m->body;
        r->pending_said = true;
        say(r, "Job %llu step creation temporarily disabled, retrying (%s)",
            (unsigned long long)s->create.job_id, p->reason ? p->reason : "Requested nodes are busy");
    }
}

static void controller_read(struct run *r)
{
    struct message m;
    struct err e = {0};
    enum client_got got = CLIENT_NOTHING;
    struct arena *a = arena_new();
    while (r->al->client && (got = client_take(r->al->client, a, &m, &e)) == CLIENT_MESSAGE) {
        controller_message(r, &m);
        arena_reset(a);
    }
    arena_free(a);
    if (got == CLIENT_LOST)
        allocation_lost(r->al);
}

/* ---- what the shepherds say ---- */

static bool key_shown(const char *key, const char *half)
{
    return half && strlen(half) == HUB_KEY_CHARS / 2 && memcmp(key, half, HUB_KEY_CHARS / 2) == 0;
}

static void *shepherd_hello(void *ctx, struct stream_peer *p, const struct msg_stream_hello *m)
{
    struct run *r = ctx;
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
            tasks.proof = s->create.key + HUB_KEY_CHARS / 2;
            peer_send(p, MSG_STREAM_TASKS, &tasks);
            return n;
        }
    }
    return NULL;
}

static void task_line(struct run *r, const struct str *line)
{
    if (line->len)
        program_error(r->al->name, "%s%s", str_text(line), r->ask->pty ? "\r" : "");
}

static void bad_end(struct run *r)
{
    if (!r->killed && r->ask->kill_on_bad_exit && !r->follows)
        step_kill(r, "Terminating");
}

static void exit_take(struct run *r, struct step_node *n, const struct msg_stream_exit *m)
{
    struct str line = STR_INIT;
    tasks_ended(n->step->tasks, n->name, m->tasks ? m->tasks : "", m->exit_status, &line);
    if (!text_empty(m->detail))
        program_error(r->al->name, "%s: %s", n->name, m->detail);
    task_line(r, &line);
    str_done(&line);
    if (!r->first_end_ms)
        r->first_end_ms = allocation_now_ms();
    if (m->exit_status)
        bad_end(r);
}

static void data_take(struct step_node *n, const struct msg_stream_data *m)
{
    int32_t task = n->step->first + (m->task_plus1 > 0 ? m->task_plus1 - 1 : 0);
    output_put(n->step->output, (enum stream_name)m->stream, task, m->data.data, m->data.len, m->end);
}

static void shepherd_message(void *ctx, void *peer_ctx, struct stream_peer *p, const struct message *m)
{
    struct run *r = ctx;
    struct step_node *n = peer_ctx;
    switch ((int)m->kind) {
    case MSG_STREAM_STARTED:
        tasks_started(n->step->tasks, ((const struct msg_stream_started *)m->body)->tasks);
        break;
    case MSG_STREAM_DATA: data_take(n, m->body); break;
    case MSG_STREAM_CREDIT: n->credit += ((const struct msg_stream_credit *)m->body)->bytes; break;
    case MSG_STREAM_EXIT: exit_take(r, n, m->body); break;
    case MSG_STREAM_NOTICE:
        r->noticed = true;
        fprintf(stderr, "%s%s", ((const struct msg_stream_notice *)m->body)->text,
                r->ask->pty ? "\r\n" : "\n");
        break;
    case MSG_STREAM_DONE:
        n->done = true;
        peer_close(p);
        break;
    }
}

static void shepherd_gone(void *ctx, void *peer_ctx, struct stream_peer *p)
{
    struct run *r = ctx;
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
        program_error(r->al->name, "Node failure on %s: the connection to its tasks broke", n->name);
    if (!r->ask->no_kill)
        bad_end(r);
}

/* ---- input ---- */

static bool node_reads(const struct run *r, const struct step_node *n)
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

typedef void (*node_fn)(struct run *r, struct step_node *n, void *arg);

static void each_node(struct run *r, node_fn fn, void *arg)
{
    for (size_t i = 0; i < r->nsteps; i++)
        for (size_t k = 0; k < r->step[i].nnodes; k++)
            fn(r, &r->step[i].node[k], arg);
}

static void credit_least(struct run *r, struct step_node *n, void *arg)
{
    int64_t *least = arg;
    if (n->done || !node_reads(r, n))
        return;
    int64_t credit = n->peer ? n->credit : 0;
    if (*least < 0 || credit < *least)
        *least = credit;
}

static bool input_wanted(struct run *r)
{
    int64_t least = -1;
    if (r->input_over || r->ask->in_fd < 0 || !r->output)
        return false;
    each_node(r, credit_least, &least);
    return least > 0 && terminal_may_read();
}

static void input_send(struct run *r, struct step_node *n, void *arg)
{
    const struct msg_stream_data *m = arg;
    if (!n->peer || n->done || !node_reads(r, n))
        return;
    struct msg_stream_data own = *m;
    own.task_plus1 = r->ask->in_task < 0 ? 0 : r->ask->in_task - n->step->first + 1;
    n->credit -= (int64_t)m->data.len;
    peer_send(n->peer, MSG_STREAM_DATA, &own);
}

static void input_read(struct run *r)
{
    static char bytes[INPUT_BYTES];
    int64_t least = -1;
    each_node(r, credit_least, &least);
    if (least <= 0)
        return;
    ssize_t n = read(r->ask->in_fd, bytes, least < (int64_t)sizeof bytes ? (size_t)least : sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    struct msg_stream_data m = {.stream = STREAM_IN, .data = {bytes, n > 0 ? (size_t)n : 0}, .end = n <= 0};
    r->input_over = n <= 0;
    each_node(r, input_send, &m);
}

/* ---- signals ---- */

static void signal_send(struct run *r, struct step_node *n, void *arg)
{
    struct msg_stream_signal m = {.signal = *(const int *)arg};
    (void)r;
    if (n->peer && !n->done)
        peer_send(n->peer, MSG_STREAM_SIGNAL, &m);
}

static void window_send(struct run *r, struct step_node *n, void *arg)
{
    (void)r;
    if (n->peer && !n->done)
        peer_send(n->peer, MSG_STREAM_WINDOW, arg);
}

static void status_say(struct run *r)
{
    for (size_t i = 0; i < r->nsteps; i++) {
        struct str text = STR_INIT;
        if (r->step[i].tasks)
            tasks_describe(r->step[i].tasks, &text);
        say(r, "StepId=%s %s", step_name(r, &r->step[i]), str_text(&text));
        str_done(&text);
    }
}

/* Ctrl-C: the first tells how the tasks are, a second within a second goes to the tasks and ends the step. */
static void interrupted(struct run *r)
{
    int64_t now = allocation_now_ms();
    if (!r->output || r->follows) { /* nothing runs yet; or it is not ours to end */
        r->refused = true;
        r->refused_signal = SIGINT;
        return;
    }
    if (r->ask->disable_status || r->ask->quit_on_interrupt ||
        (r->interrupted_ms && now - r->interrupted_ms <= INTERRUPT_MS)) {
        int signo = SIGINT;
        if (r->killed) {
            say(r, "forcing job termination");
            signo = SIGKILL;
        } else {
            say(r, "sending Ctrl-C to StepId=%s", step_name(r, &r->step[0]));
        }
        each_node(r, signal_send, &signo);
        say(r, "Job step aborted: Waiting up to 32 seconds for job step to finish.");
        step_kill(r, NULL);
        return;
    }
    r->interrupted_ms = now;
    say(r, "interrupt (one more within 1 sec to abort)");
    status_say(r);
}

static void signal_take(struct run *r, int signo)
{
    struct msg_stream_window w;
    switch (signo) {
    case SIGINT: interrupted(r); break;
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        if (!r->output || r->follows) {
            r->refused = true;
            r->refused_signal = signo;
        } else {
            say(r, "forcing job termination");
            step_kill(r, NULL);
        }
        break;
    case SIGWINCH:
        terminal_size(&w.rows, &w.columns);
        if (r->ask->pty)
            each_node(r, window_send, &w);
        break;
    case SIGTSTP: raise(SIGSTOP); break;
    case SIGCHLD: break;
    default: each_node(r, signal_send, &signo);
    }
}

/* ---- the loop ---- */

static void node_waits(struct run *r, struct step_node *n, void *arg)
{
    bool *any = arg;
    const struct one_step *s = n->step;
    /* A shepherd that never connected will not do so long after the step is over. */
    bool never =
        !n->came && s->phase == STEP_OVER &&
        allocation_now_ms() - s->ended_at_ms > (s->ended_state == JOB_COMPLETED ? NEVER_CAME_MS : 500);
    (void)r;
    if (!n->done && !never)
        *any = true;
}

static bool finished(struct run *r)
{
    bool waits = false;
    if (r->refused)
        return true;
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase != STEP_OVER && !(r->follows && r->step[i].phase == STEP_MADE))
            return false;
    each_node(r, node_waits, &waits);
    return !waits && unsent_most(r) == 0;
}

static int timeout_ms(const struct run *r)
{
    if (!r->al->client)
        return 200;
    if (r->first_end_ms && r->ask->wait_us && !r->killed)
        return 100;
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase == STEP_OVER)
            return 100;
    return -1;
}

static void wait_check(struct run *r)
{
    if (r->killed || !r->ask->wait_us || !r->first_end_ms || r->follows)
        return;
    if ((allocation_now_ms() - r->first_end_ms) * 1000 < r->ask->wait_us)
        return;
    say(r, "First task exited %llds ago", (long long)(r->ask->wait_us / 1000000));
    status_say(r);
    step_kill(r, "Terminating");
}

static void round_of(struct run *r)
{
    size_t max = hub_count(r->hub) + 3 + 2 * r->noutput, n;
    r->fd = xrealloc(r->fd, max * sizeof *r->fd);
    struct pollfd *v = r->fd;
    bool full = unsent_most(r) > OUTPUT_HIGH_BYTES;
    size_t hub = hub_wait_for(r->hub, v, full || !r->output);
    n = hub;
    v[n++] = (struct pollfd){.fd = r->al->signal_fd, .events = POLLIN};
    v[n++] = (struct pollfd){.fd = r->al->client ? client_fd(r->al->client) : -1, .events = POLLIN};
    v[n++] = (struct pollfd){.fd = input_wanted(r) ? r->ask->in_fd : -1, .events = POLLIN};
    for (size_t i = 0; i < r->noutput; i++)
        n += output_wait_for(r->output[i], v + n);
    poll(v, n, timeout_ms(r));
    for (size_t i = 0; i < r->noutput; i++)
        output_serve(r->output[i]);
    hub_serve(r->hub, v, hub);
    for (int signo; (signo = command_signal_next(r->al->signal_fd)) != 0;)
        signal_take(r, signo);
    if (v[hub + 1].revents)
        controller_read(r);
    if (v[hub + 2].revents)
        input_read(r);
}

static bool any_broken(const struct run *r)
{
    bool any = false;
    for (size_t i = 0; i < r->noutput; i++)
        any |= output_broken(r->output[i]);
    return any;
}

static void loop(struct run *r)
{
    bool again;
    ask_all(r);
    while (!finished(r)) {
        if (allocation_connected(r->al, &again) && again)
            ask_all(r);
        round_of(r);
        wait_check(r);
        if (any_broken(r) && !r->killed && !r->follows)
            step_kill(r, NULL);
    }
}

static int status_of(const struct run *r)
{
    int worst = 0;
    if (r->refused && r->refused_signal)
        return r->follows ? 0 : 128 + r->refused_signal;
    if (r->refused)
        return submit_exit_error();
    for (size_t i = 0; i < r->nsteps; i++) {
        const struct one_step *s = &r->step[i];
        int own = tasks_worst(s->tasks);
        if (!own && s->ended_status)
            own = status_signal(s->ended_status) ? 128 + status_signal(s->ended_status)
                                                 : status_code(s->ended_status);
        if (!own && s->phase == STEP_OVER && s->ended_state != JOB_COMPLETED)
            own = 1;
        worst = own > worst ? own : worst;
    }
    return worst;
}

static void run_done(struct run *r)
{
    for (size_t i = 0; i < r->noutput; i++)
        output_free(r->output[i]);
    for (size_t i = 0; i < r->nsteps; i++)
        tasks_free(r->step[i].tasks);
    hub_free(r->hub);
    free(r->fd);
    terminal_restore();
}

static bool hub_open(struct run *r)
{
    static const struct hub_ops ops = {shepherd_hello, shepherd_message, shepherd_gone};
    struct err e = {0};
    r->hub =
        hub_new(true, r->ask->ports, r->ask->plain ? NULL : program_sibling("remudad", r->a), &ops, r, &e);
    if (!r->hub)
        program_error(r->al->name, "%s", e.text);
    return r->hub != NULL;
}

int step_run(struct allocation *al, const struct step_run_ask *ask)
{
    struct run r = {.ask = ask, .al = al, .a = al->a, .nsteps = ask->nsteps};
    if (!hub_open(&r))
        return submit_exit_error();
    r.step = arena_alloc(r.a, ask->nsteps * sizeof *r.step);
    for (size_t i = 0; i < ask->nsteps; i++) {
        struct one_step *s = &r.step[i];
        s->ask = &ask->step[i];
        s->create = ask->step[i].create;
        s->create.address = hub_address(r.hub);
        s->create.key = hub_key_new(r.a);
        hub_secret_add(r.hub, s->create.key);
        s->step.job_id = s->create.job_id;
    }
    loop(&r);
    int status = status_of(&r);
    run_done(&r);
    return status;
}

int step_follow(struct allocation *al, uint64_t job_id, int64_t step_id, const struct step_run_ask *ask)
{
    struct run r = {.ask = ask, .al = al, .a = al->a, .nsteps = 1, .follows = true};
    if (!hub_open(&r))
        return submit_exit_error();
    r.step = arena_alloc(r.a, sizeof *r.step);
    r.step[0].create =
        (struct msg_create_step){.job_id = job_id, .address = hub_address(r.hub), .key = hub_key_new(r.a)};
    hub_secret_add(r.hub, r.step[0].create.key);
    r.step[0].step = (struct step){.job_id = job_id, .step_id = step_id};
    loop(&r);
    int status = status_of(&r);
    run_done(&r);
    return status;
}
