/* What a shepherd tells: notes to the daemon, and lines to the people who wait for the step's
 * output. */
#ifndef REMUDA_NODE_SHEPHERD_SAY_H
#define REMUDA_NODE_SHEPHERD_SAY_H

#include "node/shepherd/setup.h"
#include "node/shepherd/step.h"

/* Sends s->note as of now to the daemon, waiting up to wait_ms. */
bool shepherd_tell(struct shepherd *s, enum note_kind kind, int wait_ms);

/* What the step's processes said before they executed its program, of several the first: cut to
 * fit, without its word. False: none said that. */
bool shepherd_setup_word(struct shepherd *s, enum setup_word word, char detail[NOTE_DETAIL_BYTES]);
/* Whether what is written to the step's files stays there: a batch script's process truncates them
 * as it opens them. */
bool shepherd_may_write(struct shepherd *s);
/* Writes the lines that came before it might. */
void shepherd_early_say(struct shepherd *s);

/* "*** JOB 42 ON n1 CANCELLED AT ... ***" */
void shepherd_cancel_say(struct shepherd *s, enum command_why why);
/* The line that the node daemon left in the step's file "tell": to the job's error file, or to the
 * command of the step. */
void shepherd_message_say(struct shepherd *s);
/* Tells the daemon which processes outlive SIGKILL, and what they wait for; a later daemon too. */
void shepherd_stuck_tell(struct shepherd *s);
/* The samples found more memory in use than allowed. */
void shepherd_over_memory_say(struct shepherd *s, int64_t used_bytes, int64_t limit_bytes,
                              bool of_job);
/* The kernel killed some for their memory. */
void shepherd_oom_say(struct shepherd *s, int64_t kills);

#endif
