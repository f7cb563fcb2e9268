/* Everything that is to end or stop the step comes here: the daemon sends commands (a signal with
 * data), srun sends signals and goes away. */
#include "node/shepherd/signals.h"

#include "node/shepherd/processes.h"
#include "node/shepherd/say.h"
#include "node/shepherd/watch/usage.h"
#include "node/step/proc_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With a value only where it says something: signals with one are counted against a limit of the
 * user's, those without always arrive. */
static void signal_one(const struct shepherd *s, size_t i, int signo, enum signal_word word)
{
    uint64_t packed = signal_word_pack(word, (uint64_t)s->plan->job_id);
    union sigval value;
    memcpy(&value, &packed, sizeof value);
    if (word == SIGNAL_PLAIN ||
        (!proc_signal(s->pids[i], s->starts[i], signo, &value) && errno == EAGAIN))
        proc_signal(s->pids[i], s->starts[i], signo, NULL);
}

void shepherd_signal_all(struct shepherd *s, int signo, enum signal_word word)
{
    if (signo == SIGKILL) {
        shepherd_kill_all(s);
        return;
    }
    for (size_t i = 0, n = shepherd_tree(s); i < n; i++)
        signal_one(s, i, signo, word);
}

static void terminate(struct shepherd *s, const struct step_command *c)
{
    int64_t kill_at = shepherd_now_us() + c->kill_wait_ms * 1000;
    shepherd_hurry(s);
    if (s->tasks)
        s->tasks->ends = true;
    if (!s->terminating && !s->main_ended) {
        s->why = c->why;
        s->ended_from_outside = true;
        shepherd_cancel_say(s, c->why);
    }
    if (!s->terminating || kill_at < s->kill_at_us)
        s->kill_at_us = kill_at;
    if (!s->terminating && c->kill_wait_ms > 0) {
        /* In Slurm's order: of two at once bash may forget the first while it waits. */
        enum signal_word word = c->of_job ? SIGNAL_ENDS : SIGNAL_PLAIN;
        shepherd_signal_all(s, SIGCONT, word);
        shepherd_signal_all(s, SIGTERM, word);
    }
    shepherd_thaw(s);
    shepherd_suspension_count(s);
    s->stopped_us = 0;
    s->terminating = true;
    if (s->tasks && !s->tasks->launched)
        s->tasks->owner_gone = true; /* none will ever start */
}

/* With a task epilog main_pid waits for the script (shepherd/tasks/programs.h). */
static void script_signal(const struct shepherd *s, int signo)
{
    pid_t below;
    uint64_t start;
    if (s->plan->task_epilog &&
        proc_tree(s->main_pid, &(struct proc_list){&below, NULL, &start, 1}) > 0)
        proc_signal(below, start, signo, NULL);
    else
        kill(s->main_pid, signo); /* its number is its own until we wait for it */
}

static void signal_step(struct shepherd *s, const struct step_command *c)
{
    if (c->batch) {
        if (!s->main_ended && !s->tasks)
            script_signal(s, c->signal);
        return;
    }
    enum signal_word word = c->of_job ? SIGNAL_TOLD : SIGNAL_PLAIN;
    shepherd_signal_all(s, c->signal, word);
    if (c->signal == SIGSTOP && !s->stopped_us) {
        shepherd_suspend(s); /* whoever was born meanwhile, too */
        s->stopped_us = shepherd_now_us();
    } else if (c->signal == SIGCONT) {
        shepherd_thaw(s);
        shepherd_suspension_count(s);
        s->stopped_us = 0;
    }
}

/* The daemon left "ADDRESS KEY" in the step's directory, and another one when this is gone. */
static void follow(struct shepherd *s)
{
    struct str text = STR_INIT;
    char path[320];
    snprintf(path, sizeof path, "%s/follow", s->plan->dir_name);
    bool any = small_file_read(s->herd->steps_fd, path, 4096, &text);
    unlinkat(s->herd->steps_fd, path, 0);
    if (any && s->tasks) {
        char *key = text.len ? strrchr(text.data, '\n') : NULL;
        if (key) {
            *key++ = '\0';
            task_set_follow(s->tasks, text.data, key);
        }
    }
    str_done(&text);
}

void shepherd_command(struct shepherd *s, const struct signalfd_siginfo *info)
{
    union sigval value = {.sival_ptr = (void *)(uintptr_t)info->ssi_ptr};
    struct step_command c = command_of_value(value);
    if (info->ssi_code != SI_QUEUE)
        return;
    /* 0: of a daemon of an earlier release, or of a kernel without pidfds. */
    if (info->ssi_errno != 0 && info->ssi_errno != step_dir_tag(s->plan->dir_name))
        return;
    s->commanded = true;
    switch (c.op) {
    case COMMAND_TERMINATE: terminate(s, &c); break;
    case COMMAND_KILL: signal_step(s, &c); break;
    case COMMAND_FOLLOW: s->follow_due = true; break;
    case COMMAND_TELL: s->tell_due = true; break;
    }
}

void shepherd_commands_later(struct shepherd *s)
{
    if (s->follow_due && !s->terminating)
        follow(s);
    s->follow_due = false;
    if (s->tell_due && !s->terminating && !shepherd_may_write(s))
        return;
    if (s->tell_due && !s->terminating)
        shepherd_message_say(s);
    s->tell_due = false;
}

void shepherd_owner_signals(void *ctx, int signo)
{
    shepherd_signal_all(ctx, signo, SIGNAL_PLAIN);
}

void shepherd_owner_gone(void *ctx)
{
    struct shepherd *s = ctx;
    struct step_command c = {.op = COMMAND_TERMINATE, .kill_wait_ms = s->plan->kill_wait_us / 1000};
    if (!s->main_ended)
        terminate(s, &c);
}
