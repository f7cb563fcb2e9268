/* The user's terminal while a task of a step has one (srun --pty): raw, so that every key reaches
 * the task; given back as it was on every way out. */
#ifndef REMUDA_CLI_STEP_TERMINAL_H
#define REMUDA_CLI_STEP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the terminal of standard input raw. False if it is none (then --pty goes on without). */
bool terminal_raw(void);
/* As it was; may be called at any time, also from atexit. */
void terminal_restore(void);
/* Size of the terminal of standard input or output; 24 × 80 if there is none. */
void terminal_size(int32_t *ret_rows, int32_t *ret_columns);
/* May standard input be read without the shell stopping us (is it no terminal, or are we in its
 * foreground)? */
bool terminal_may_read(void);

#endif
