/* What a shepherd tells: notes to the daemon, and lines to the people who wait for the step's
 * output. */
#ifndef REMUDA_NODE_SHEPHERD_SAY_H
#define REMUDA_NODE_SHEPHERD_SAY_H

#include "node/shepherd/step.h"

/* Sends s->note as of now to the daemon, waiting up to wait_ms. */
bool shepherd_tell(struct shepherd *s, enum note_kind kind, int wait_ms);

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
