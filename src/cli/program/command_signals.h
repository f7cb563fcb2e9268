/* Signals of the commands that stay (srun, salloc, sattach): read from a descriptor, never handled
 * in the middle of something. */
#ifndef REMUDA_CLI_PROGRAM_COMMAND_SIGNALS_H
#define REMUDA_CLI_PROGRAM_COMMAND_SIGNALS_H

#include "model/grammar/signals.h"

/* Blocks the signals such a command deals with (and SIGCHLD) and returns a descriptor that tells of
 * them (signalfd); once a process. Where it cannot be had the command ends with a sentence. */
int command_signals_open(void);
struct command_signal {
    int signo; /* 0 = none */
    enum signal_word word;
    uint64_t job_id; /* whom the word is about */
};
/* The next signal that came. Of SIGCHLD no status is given: wait for the child. */
struct command_signal command_signal_next(int fd);
/* In a child, before exec: signals as they were when the command began. */
void command_signals_restore(void);

#endif
