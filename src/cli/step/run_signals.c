#include "base/alloc.h"
#include "cli/program/program.h"
#include "cli/step/run_parts.h"
#include "cli/step/terminal.h"

#include <signal.h>

#define INTERRUPT_MS 1000  /* a second Ctrl-C within this ends the step */
#define KILL_WAIT_S  32    /* KillWait's default, and what the messages take */
#define LATE_MS      10000 /* at least, as long again: machines are slow */

static void signal_send(struct srun_run *r, struct step_node *n, void *arg)
{
    struct msg_stream_signal m = {.signal = *(const int *)arg};
    (void)r;
    if (n->peer && !n->done)
        peer_send(n->peer, MSG_STREAM_SIGNAL, &m);
}

void run_signal_nodes(struct srun_run *r, int signo)
{
    run_each_node(r, signal_send, &signo);
}

static void window_send(struct srun_run *r, struct step_node *n, void *arg)
{
    (void)r;
    if (n->peer && !n->done)
        peer_send(n->peer, MSG_STREAM_WINDOW, arg);
}

/* One line for each way in which tasks are. */
void run_status_say(struct srun_run *r)
{
    static const enum task_at order[] = {TASK_RUNS, TASK_WAITS, TASK_ENDED};
    for (size_t i = 0; i < r->nsteps; i++)
        for (size_t k = 0; r->step[i].tasks && k < ARRAY_LEN(order); k++) {
            struct str text = STR_INIT;
            if (tasks_describe(r->step[i].tasks, order[k], &text))
                run_say(r, "StepId=%s %s", run_step_name(r, &r->step[i]), str_text(&text));
            str_done(&text);
        }
}

void run_aborted_say(struct srun_run *r)
{
    if (r->aborted_said || r->reader_gone)
        return;
    r->aborted_said = true;
    run_say(r, "Job step aborted: Waiting up to %d seconds for job step to finish.",
            r->ask->kill_wait_s ? r->ask->kill_wait_s : KILL_WAIT_S);
}

/* Nothing runs yet, or it is not ours to end. */
static bool leaves(struct srun_run *r, int signo)
{
    if (r->output && !r->follows)
        return false;
    r->refused = true;
    r->refused_signal = signo;
    if (!r->follows && r->nsteps) {
        run_say(r, "Cancelled pending job step with signal %d", signo);
        program_error(r->al->name, "Unable to create step for job %llu: %s",
                      (unsigned long long)r->step[0].create.job_id,
                      refusal_text(REFUSE_ALREADY_DONE));
    }
    return true;
}

void run_abort_check(struct srun_run *r)
{
    if (r->abort_at_ms && !r->killed && allocation_now_ms() >= r->abort_at_ms)
        run_kill(r, NULL, false);
}

static void end_without_controller(struct srun_run *r)
{
    if (!r->told_to_end_ms)
        r->told_to_end_ms = allocation_now_ms();
    if (!r->al->client && !r->follows)
        run_signal_nodes(r, SIGKILL);
}

static bool tasks_over(const struct srun_run *r)
{
    for (size_t i = 0; i < r->nsteps; i++)
        if (!r->step[i].tasks || tasks_count(r->step[i].tasks, TASK_WAITS) ||
            tasks_count(r->step[i].tasks, TASK_RUNS))
            return false;
    return true;
}

static int64_t kill_wait_ms(const struct srun_run *r)
{
    return (r->ask->kill_wait_s ? r->ask->kill_wait_s : KILL_WAIT_S) * INT64_C(1000);
}

static void undone_find(struct srun_run *r, struct step_node *n, void *arg)
{
    struct step_node **found = arg;
    (void)r;
    if (!*found && !n->done)
        *found = n;
}

/* A node that was told to end the step, and does not say in twice the time that it has: its
 * shepherd was stopped, or stands still. NULL: there is none. */
static const struct step_node *node_that_hangs(struct srun_run *r)
{
    int64_t wait_ms = kill_wait_ms(r), now = allocation_now_ms();
    struct step_node *found = NULL;
    if (!r->end_asked || !r->al->client) /* it may not have heard of it */
        r->ending_ms = 0;
    else if (!r->ending_ms)
        r->ending_ms = now;
    if (r->ending_ms && now - r->ending_ms >= wait_ms + (wait_ms > LATE_MS ? wait_ms : LATE_MS))
        run_each_node(r, undone_find, &found);
    return found;
}

static bool controller_is_away_too_long(const struct srun_run *r)
{
    return r->told_to_end_ms && !r->al->client &&
           (tasks_over(r) || allocation_now_ms() - r->told_to_end_ms >= kill_wait_ms(r));
}

bool run_give_up_check(struct srun_run *r)
{
    const struct step_node *hangs = r->gave_up ? NULL : node_that_hangs(r);
    if (hangs) {
        program_error(r->al->name, "Timed out waiting for job step to complete");
        program_error(r->al->name, "node %s does not say that its tasks have ended", hangs->name);
        r->gave_up = true;
        r->status = r->status ? r->status : 1;
    } else if (!r->gave_up && controller_is_away_too_long(r)) {
        program_error(r->al->name, "the controller is away: it ends the job when it is back");
        r->gave_up = true;
        r->status = r->status ? r->status : 128 + SIGTERM;
    }
    return r->gave_up;
}

/* Ctrl-C: the first tells how the tasks are (-X: goes to them), a second within a second goes to
 * the tasks, which have a second to clean up before the step is ended; one more ends them at
 * once. */
static void interrupted(struct srun_run *r)
{
    int64_t now = allocation_now_ms();
    bool again = r->interrupted_ms && now - r->interrupted_ms <= INTERRUPT_MS;
    if (leaves(r, SIGINT))
        return;
    if (r->abort_at_ms || r->killed) {
        run_say(r, "forcing job termination");
        run_kill(r, NULL, false);
        run_signal_nodes(r, SIGKILL);
        end_without_controller(r);
        return;
    }
    r->interrupted_ms = now;
    if (!again && !r->ask->disable_status && !r->ask->quit_on_interrupt) {
        run_say(r, "interrupt (one more within 1 sec to abort)");
        run_status_say(r);
        return;
    }
    run_say(r, "sending Ctrl-C to StepId=%s", run_step_name(r, &r->step[0]));
    run_signal_nodes(r, SIGINT);
    if (!again && !r->ask->quit_on_interrupt)
        return;
    run_say(r, "forcing job termination");
    run_aborted_say(r);
    r->abort_at_ms = now + INTERRUPT_MS;
}

static void window_changed(struct srun_run *r)
{
    struct msg_stream_window w;
    terminal_size(&w.rows, &w.columns);
    if (r->ask->pty)
        run_each_node(r, window_send, &w);
}

/* Somebody told all processes of the job the step is in: its tasks have it from their shepherds. */
static bool tasks_told(const struct srun_run *r, const struct command_signal *got)
{
    bool of_job = false;
    for (size_t i = 0; i < r->al->njobs; i++)
        of_job |= got->job_id &&
                  (r->al->job[i].id == got->job_id || r->al->job[i].het_job_id == got->job_id);
    return of_job && !r->al->ours && !r->follows && got->word != SIGNAL_PLAIN;
}

/* With the job its steps end: there is nothing to do but wait for them. */
static void job_ends(struct srun_run *r, int signo)
{
    if (signo != SIGTERM || r->killed || leaves(r, signo))
        return;
    run_aborted_say(r);
    r->killed = true;
}

void run_signal_take(struct srun_run *r, const struct command_signal *got)
{
    if (tasks_told(r, got)) {
        if (got->word == SIGNAL_ENDS)
            job_ends(r, got->signo);
        return;
    }
    switch (got->signo) {
    case SIGINT: interrupted(r); break;
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        if (leaves(r, got->signo))
            break;
        run_say(r, "forcing job termination");
        run_kill(r, NULL, false);
        run_aborted_say(r);
        end_without_controller(r);
        break;
    case SIGWINCH: window_changed(r); break;
    case SIGTSTP: raise(SIGSTOP); break;
    case SIGCONT: /* a suspended job stays so */
    case SIGCHLD: break;
    default: run_signal_nodes(r, got->signo);
    }
}
