/* Arguments of a job script as job_spec.script_args carries them in one text: each ended by a
 * newline, with \\ and \n for a backslash and a newline inside, so that empty arguments and any
 * others arrive as they were typed. */
#ifndef REMUDA_MODEL_SCRIPT_ARGS_H
#define REMUDA_MODEL_SCRIPT_ARGS_H

#include "base/str.h"

/* Appends one argument. */
void script_args_add(struct str *out, const char *arg);
/* Appends the arguments of `text` (NULL = none), each ended by NUL, as plans of steps hold them.
 * Returns how many. */
size_t script_args_unpack(const char *text, struct str *out);

#endif
