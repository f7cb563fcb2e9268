/* STOPPED, as Slurm's listings call a running job that somebody sent SIGSTOP: it holds what it has
 * and its time goes by. It is no state of its own: job.stopped_us says it, and SIGCONT ends it. */
#pragma once

#include "model/job/job.h"

#include <stdbool.h>

#define STATE_STOPPED "STOPPED"

/* It runs, and its processes were stopped by a signal: Slurm shows that as a state. */
bool job_is_stopped(const struct job *j);
/* The state that listings show; live as long as the program. */
const char *job_state_shown(const struct job *j);
const char *job_state_shown_short(const struct job *j); /* likewise */
/* "STOPPED" or "ST", any case. */
bool state_word_is_stopped(const char *word);
