/* Signals of the commands that stay (srun, salloc, sattach): read from a descriptor, never handled in the middle of something. */
#ifndef REMUDA_CLI_COMMAND_SIGNALS_H
#define REMUDA_CLI_COMMAND_SIGNALS_H

/* Blocks the signals such a command deals with (and SIGCHLD) and returns a descriptor that tells of them (signalfd); once a process. */
int command_signals_open(void);
/* The next signal that came; 0 = none. *ret_status of SIGCHLD is not given: wait for the child. */
int command_signal_next(int fd);
/* In a child, before exec: signals as they were when the command began. */
void command_signals_restore(void);

#endif
