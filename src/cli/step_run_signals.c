#include "cli/step_run_parts.h"
#include "cli/step_terminal.h"

#include <signal.h>

#define INTERRUPT_MS 1000 /* a second Ctrl-C within this ends the step */

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

void run_status_say(struct run *r)
{
    for (size_t i = 0; i < r->nsteps; i++) {
        struct str text = STR_INIT;
        if (r->step[i].tasks)
            tasks_describe(r->step[i].tasks, &text);
        run_say(r, "StepId=%s %s", run_step_name(r, &r->step[i]), str_text(&text));
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
            run_say(r, "forcing job termination");
            signo = SIGKILL;
        } else {
            run_say(r, "sending Ctrl-C to StepId=%s", run_step_name(r, &r->step[0]));
        }
        run_each_node(r, signal_send, &signo);
        run_say(r, "Job step aborted: Waiting up to 32 seconds for job step to finish.");
        run_kill(r, NULL);
        return;
    }
    r->interrupted_ms = now;
    run_say(r, "interrupt (one more within 1 sec to abort)");
    run_status_say(r);
}

void run_signal_take(struct run *r, int signo)
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
            run_say(r, "forcing job termination");
            run_kill(r, NULL);
        }
        break;
    case SIGWINCH:
        terminal_size(&w.rows, &w.columns);
        if (r->ask->pty)
            run_each_node(r, window_send, &w);
        break;
    case SIGTSTP: raise(SIGSTOP); break;
    case SIGCHLD: break;
    default: run_each_node(r, signal_send, &signo);
    }
}
