/* One loop: the controller's connection, the shepherds' streams, signals, standard input and
 * output, time.
 *
 * A step is over for srun when the shepherds of all its nodes said so (or are gone) and the
 * controller did: its resources are free then, so the next srun of a script does not find them
 * busy. The controller may vanish and come back meanwhile: the streams do not need it; the call is
 * made again with attach_step. */
#include "base/alloc.h"
#include "cli/program/command_signals.h"
#include "cli/program/program.h"
#include "cli/step/run_parts.h"
#include "cli/step/terminal.h"
#include "cli/submit/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a step that the controller calls over, and whose shepherds never connected */
#define NEVER_CAME_MS 5000

static size_t unsent_most(const struct srun_run *r)
{
    size_t most = 0;
    for (size_t i = 0; i < r->noutput; i++) {
        size_t unsent = output_unsent(r->output[i]);
        most = unsent > most ? unsent : most;
    }
    return most;
}

static void node_waits(struct srun_run *r, struct step_node *n, void *arg)
{
    bool *any = arg;
    const struct one_step *s = n->step;
    /* A shepherd that never connected will not do so long after the step is over. */
    bool never = !n->came && s->phase == STEP_OVER &&
                 allocation_now_ms() - s->ended_at_ms >
                     (s->ended_state == JOB_COMPLETED ? NEVER_CAME_MS : 500);
    (void)r;
    if (!n->done && !never)
        *any = true;
}

static bool finished(struct srun_run *r)
{
    bool waits = false;
    if (r->refused || run_give_up_check(r))
        return true;
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase != STEP_OVER && !(r->follows && r->step[i].phase == STEP_MADE))
            return false;
    run_each_node(r, node_waits, &waits);
    return !waits && unsent_most(r) == 0;
}

static int timeout_ms(const struct srun_run *r)
{
    if (!r->al->client)
        return 200;
    if ((r->first_end_ms && r->ask->wait_us && !r->killed) || r->abort_at_ms)
        return 100;
    for (size_t i = 0; i < r->nsteps; i++)
        if (r->step[i].phase == STEP_OVER)
            return 100;
    return r->end_asked ? 1000 : -1;
}

static void wait_check(struct srun_run *r)
{
    if (r->killed || !r->ask->wait_us || !r->first_end_ms || r->follows)
        return;
    if ((allocation_now_ms() - r->first_end_ms) * 1000 < r->ask->wait_us)
        return;
    run_say(r, "First task exited %llds ago", (long long)(r->ask->wait_us / 1000000));
    run_status_say(r);
    run_kill(r, "Terminating", false);
    run_signal_nodes(r, SIGKILL); /* in a timely fashion: they are stuck */
    run_aborted_say(r);
}

static void round_of(struct srun_run *r)
{
    size_t max = hub_count(r->hub) + 3 + 2 * r->noutput, n;
    r->fd = xrealloc(r->fd, max * sizeof *r->fd);
    struct pollfd *v = r->fd;
    bool full = unsent_most(r) > OUTPUT_HIGH_BYTES;
    size_t hub = hub_wait_for(r->hub, v, full || !r->output);
    n = hub;
    v[n++] = (struct pollfd){.fd = r->al->signal_fd, .events = POLLIN};
    v[n++] = (struct pollfd){.fd = r->al->client ? client_fd(r->al->client) : -1, .events = POLLIN};
    v[n++] = (struct pollfd){.fd = run_input_wanted(r) ? r->ask->in_fd : -1, .events = POLLIN};
    for (size_t i = 0; i < r->noutput; i++)
        n += output_wait_for(r->output[i], v + n);
    poll(v, n, timeout_ms(r));
    for (size_t i = 0; i < r->noutput; i++)
        output_serve(r->output[i]);
    hub_serve(r->hub, v, hub);
    for (struct command_signal got; (got = command_signal_next(r->al->signal_fd)).signo != 0;)
        run_signal_take(r, &got);
    if (v[hub + 1].revents)
        run_controller_read(r);
    if (v[hub + 2].revents)
        run_input_read(r);
}

static int tasks_worst_so_far(const struct srun_run *r)
{
    int worst = 0;
    for (size_t i = 0; i < r->nsteps; i++) {
        int own = tasks_worst(r->step[i].tasks);
        worst = own > worst ? own : worst;
    }
    return worst;
}

/* A reader that went away (`srun … | head`) knows it, and the step ends without a word, with the
 * status its tasks had until then; a full disk must be said. */
static void broken_check(struct srun_run *r)
{
    int err = 0;
    for (size_t i = 0; i < r->noutput && !err; i++)
        err = output_broken(r->output[i]);
    if (!err || r->killed || r->follows)
        return;
    r->reader_gone = err == EPIPE;
    r->output_lost = true;
    r->status = err == EPIPE ? tasks_worst_so_far(r) : 1;
    if (err != EPIPE)
        program_error(r->al->name, "cannot write the tasks' output: %s; ending the step",
                      strerror(err));
    run_kill(r, NULL, false);
}

static void loop(struct srun_run *r)
{
    bool again;
    run_ask_all(r);
    while (!finished(r)) {
        if (allocation_connected(r->al, &again) && again)
            run_ask_all(r);
        round_of(r);
        wait_check(r);
        run_abort_check(r);
        broken_check(r);
    }
}

static int status_of(const struct srun_run *r)
{
    int worst = r->status;
    if (r->output_lost)
        return r->status;
    if (r->mpi_code)
        return r->mpi_code;
    if (r->refused && r->refused_signal && r->follows)
        return 0;
    if (r->refused)
        return r->status ? r->status : submit_exit_error();
    for (size_t i = 0; i < r->nsteps; i++) {
        const struct one_step *s = &r->step[i];
        int own = tasks_worst(s->tasks);
        if (!own && s->ended_status)
            own = status_signal(s->ended_status) ? 128 + status_signal(s->ended_status)
                                                 : status_code(s->ended_status);
        /* Tasks that saved what they had at their limit, and left well, are Slurm's success. */
        if (!own && s->phase == STEP_OVER && s->ended_state != JOB_COMPLETED &&
            s->ended_state != JOB_TIMEOUT)
            own = 1;
        worst = own > worst ? own : worst;
    }
    return worst;
}

static void run_done(struct srun_run *r)
{
    for (size_t i = 0; i < r->noutput; i++)
        output_free(r->output[i]);
    for (size_t i = 0; i < r->nsteps; i++)
        tasks_free(r->step[i].tasks);
    hub_free(r->hub);
    run_mpi_done(r);
    free(r->fd);
    terminal_restore();
}

static const char *sealer_path(struct arena *a)
{
    return program_sibling("remudad", a);
}

static bool hub_open(struct srun_run *r)
{
    struct err e = {0};
    r->hub = hub_new(true, r->ask->ports, r->ask->plain ? NULL : sealer_path, &run_hub_ops, r, &e);
    if (!r->hub)
        program_error(r->al->name, "%s", e.text);
    return r->hub != NULL;
}

/* A command that runs in a step of that job says in which start of it: the job may have been
 * requeued, and its former run not heard of it. */
static uint32_t own_attempt(uint64_t job_id)
{
    const char *dir = getenv("REMUDA_STEP_DIR"), *name = dir ? strrchr(dir, '/') : NULL;
    unsigned long long id;
    unsigned attempt;
    if (!name || sscanf(name, "/%llu.%u.", &id, &attempt) != 2 || id != job_id)
        return 0;
    return attempt;
}

int step_run(struct allocation *al, const struct step_run_ask *ask)
{
    struct srun_run r = {.ask = ask, .al = al, .a = al->a, .nsteps = ask->nsteps};
    if (!hub_open(&r))
        return submit_exit_error();
    r.step = arena_alloc(r.a, ask->nsteps * sizeof *r.step);
    for (size_t i = 0; i < ask->nsteps; i++) {
        struct one_step *s = &r.step[i];
        s->ask = &ask->step[i];
        s->create = ask->step[i].create;
        s->create.attempt = own_attempt(s->create.job_id);
        s->create.address = hub_address(r.hub);
        s->create.key = hub_key_new(r.a);
        s->create.together = ask->nsteps > 1 ? r.step[0].create.key : NULL;
        hub_secret_add(r.hub, s->create.key);
        s->step.job_id = s->create.job_id;
    }
    run_jobs_tell(&r);
    loop(&r);
    int status = status_of(&r);
    run_done(&r);
    return status;
}

int step_follow(struct allocation *al, uint64_t job_id, int64_t step_id,
                const struct step_run_ask *ask)
{
    struct srun_run r = {.ask = ask, .al = al, .a = al->a, .nsteps = 1, .follows = true};
    if (!hub_open(&r))
        return submit_exit_error();
    r.step = arena_alloc(r.a, sizeof *r.step);
    r.step[0].create = (struct msg_create_step){
        .job_id = job_id, .address = hub_address(r.hub), .key = hub_key_new(r.a)};
    hub_secret_add(r.hub, r.step[0].create.key);
    r.step[0].step = (struct step){.job_id = job_id, .step_id = step_id};
    loop(&r);
    int status = status_of(&r);
    run_done(&r);
    return status;
}
