/* The directory of a step on its node: NODE_DIR/steps/JOB.ATTEMPT.STEP, with
 *
 *   state         the shepherd's notes (agent/note.h), one a line, then zeros; the shepherd holds a
 *                 lock (fcntl) on it as long as it lives
 *   slurm_script  the batch script
 *   job           what the epilog needs, if there is one
 *   why           reason of a termination, when it is none of the usual ones (step/command.h)
 *   follow, tell  another command that wants its streams; a message for the job's user
 *   hosts         its hosts, a line a task, for programs of LSF and PBS (PBS_NODEFILE)
 *   memory        what it uses, for the job's other steps (memory_watch.c)
 *   *.new         one of why, follow and tell until it is whole
 *
 * It comes into being whole, by a rename that fails if the name is taken: that is what keeps a step
 * from being started twice. What is renamed is a new directory or one of an earlier step
 * (spare_dirs.h): making and removing three files is a good part of what a short step costs. */
#ifndef REMUDA_NODE_STEP_DIR_H
#define REMUDA_NODE_STEP_DIR_H

#include "agent/note.h"
#include "base/str.h"
#include "node/step/plan.h"

#include <signal.h>

#include <stdbool.h>
#include <stdint.h>

#define STEP_DIR_MAKING ".new"

/* "42.1.batch", appended. */
void step_dir_name(uint64_t job_id, uint32_t attempt, int64_t step_id, struct str *out);
/* "42.1.0": job, attempt, step; false for names that are not ours. */
bool step_dir_name_parse(const char *name, uint64_t *ret_job_id, uint32_t *ret_attempt,
                         int64_t *ret_step_id);

/* Where the directory that `steps_fd` has open was removed, a new one by its name ("steps") is made
 * in its place, and steps_fd leads there; what steps had in the old one is gone. True if that was
 * done. */
bool steps_dir_keep(int steps_fd);

enum step_dir_result { STEP_DIR_MADE, STEP_DIR_TAKEN, STEP_DIR_FAILED };
/* Makes it below the directory `steps_fd`, with its script and the note `first` in its state file,
 * and locks that. *ret_state is the state file (for step_dir_note, close-on-exec). FAILED: errno
 * says why. */
enum step_dir_result step_dir_make(int steps_fd, const struct step_plan *p,
                                   const struct note *first, int *ret_state);
/* Adds a note to the state file. How the step ended has had its room there since the step began: it
 * is kept though the disk has filled since and no daemon hears of it. What outlives SIGKILL is
 * written while there is room for more than that. */
void step_dir_note(int state_fd, const struct note *n);

/* The shepherd of that step, which holds the lock, as the kernel knows it; 0 = it is not alive; -1
 * with errno = there is no room to look (step/shortage.h). */
pid_t step_dir_shepherd(int steps_fd, const char *name);
/* Is it, or is that not known? */
bool step_dir_alive(int steps_fd, const char *name);
/* Marks the commands of a step: never 0. */
int32_t step_dir_tag(const char *name);
/* Sends it COMMAND_SIGNAL with that value, and surely to no other process; with the step's mark as
 * si_errno, for the process may have another step by then. Who is stopped goes on. False with
 * errno: it is not alive (ESRCH), may not be signalled, or there is no room to look. */
bool step_dir_signal(int steps_fd, const char *name, union sigval value);
/* Calls fn for each note of the state file, in order. False with errno if there is none. Not for
 * the shepherd itself: closing the file would take its lock away. */
bool step_dir_notes(int steps_fd, const char *name, void (*fn)(void *ctx, const struct note *n),
                    void *ctx);
/* Removes it with everything in it. */
void step_dir_remove(int steps_fd, const char *name);
/* Instead: makes of it the directory `spare`, which a plan may name. False if that does not go;
 * then it is as it was. */
bool step_dir_retire(int steps_fd, const char *name, const char *spare);
/* Whole of a small file; false if it cannot be read. */
bool small_file_read(int dir_fd, const char *path, size_t max, struct str *out);
/* Written anew, links not followed; false, with errno, where it is not whole. */
bool small_file_write(int dir_fd, const char *path, const void *data, size_t len, int mode);

#endif
