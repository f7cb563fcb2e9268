/* Signals to the processes of a step, and the commands of the daemon and of srun that ask for
 * them. */
#ifndef REMUDA_NODE_SHEPHERD_SIGNALS_H
#define REMUDA_NODE_SHEPHERD_SIGNALS_H

#include "model/grammar/signals.h"
#include "node/shepherd/step.h"

#include <sys/signalfd.h>

/* To every process of the step; SIGKILL reaches those too that fork meanwhile. */
void shepherd_signal_all(struct shepherd *s, int signo, enum signal_word word);
/* Carries out a command of the daemon (step/command.h); what its owner can make last (a sattach
 * that does not answer, an output file that hangs) is left for later. */
void shepherd_command(struct shepherd *s, const struct signalfd_siginfo *info);
/* Does that, when all commands that came are carried out: however many of them came, once. A step
 * that is being ended has no time for it. */
void shepherd_commands_later(struct shepherd *s);

/* For task_set_ops, with the shepherd as ctx: the command of a step with tasks wants a signal sent;
 * it is gone. */
void shepherd_owner_signals(void *ctx, int signo);
/* Who owns the step is gone for good (ctx: struct shepherd): it is ended as if it were told to,
 * unless it ended. */
void shepherd_owner_gone(void *ctx);

#endif
