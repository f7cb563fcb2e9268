/* `remuda container`: a task of srun --container-image, on its node. line.c reads what was asked
 * for, container.c says in which order things are done, place.c and leftovers.c keep the directory
 * that the tasks of a step (or, with a name, of a job) have together, run.c starts programs; each
 * runtime is a file. All of it runs as the user, in the task's own process. */
#ifndef REMUDA_CLI_CONTAINER_H
#define REMUDA_CLI_CONTAINER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "model/grammar/container.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTAINER_COMMAND "remuda container"

typedef VEC(char *) words_of_program;

struct container;

/* What a program that runs containers is called, and how it is asked. */
struct container_runtime {
    const char *name;
    unsigned images; /* bits of enum container_image_kind */
    bool names;      /* can a container outlive a step? */
    /* In the empty place, once, while others wait: gets the image, makes what the tasks share. */
    bool (*make)(struct container *c, struct err *ret_err);
    /* Runs the task's program in it. True: *ret_status as wait(2) has it. */
    bool (*run)(struct container *c, int *ret_status, struct err *ret_err);
    /* Takes away what is kept outside of the place of that name, which is about to go. May fail
     * silently. NULL = there is nothing. */
    void (*forget)(struct container *c, const char *place);
};
extern const struct container_runtime container_enroot, container_apptainer, container_singularity,
    container_podman;

struct container {
    struct arena *a;
    struct container_ask ask;   /* as typed */
    struct container_wish wish; /* as read */
    char *const *program;       /* the user's program and its arguments; NULL behind the last */
    /* Finds the runtime of that name, "" = the first that will do, for the two fields below. Given
     * along, as the table of runtimes is known to container.c alone. */
    bool (*runtime_find)(struct container *c, const char *name, struct err *ret_err);
    const struct container_runtime *runtime;
    const char *path;  /* of the runtime's program */
    const char *job;   /* "12-1764444000.1": the job, when this run of it began, and how many were
                        * before: two may begin in one second */
    const char *step;  /* its number as SLURM_STEP_ID has it */
    const char *task;  /* SLURM_PROCID */
    const char *host;  /* of this machine */
    const char *top;   /* directory of the user's containers on this machine */
    const char *place; /* name of the one in use there */
    const char *dir;   /* its path */
    int use_fd;        /* locked, shared, while the task runs; -1 */
};

/* ---- line.c ---- */

/* Reads the command line and what the environment says of the task. False with *ret_status: it is
 * over, which was said. */
bool container_line_read(struct container *c, int argc, char *const argv[], int *ret_status);

/* ---- place.c ---- */

/* Finds the directory of the user's containers, in $REMUDA_CONTAINER_DIR or /var/tmp, which nobody
 * else may look into. */
bool container_top_open(struct container *c, struct err *ret_err);
/* Comes into the place of the step, or of the name: makes what is not there, or waits until another
 * task has made it. From then on it is in use. */
bool container_place_enter(struct container *c, struct err *ret_err);
/* Goes out of it; the last one takes an unnamed container away. */
void container_place_leave(struct container *c);
/* The first line of a file in a place; "" if there is none. In the arena. */
const char *container_line(const struct container *c, const char *place, const char *name);
/* A whole number in the file of the place; -1 = there is none. */
long container_number(const struct container *c, const char *name);
/* What stands in a file of the place, so far as 64 KiB; "" if there is none. In the arena. */
const char *container_text(const struct container *c, const char *name);
/* Takes away what is kept of a place and the place, whose locks the caller has. It stays where the
 * program that made it is not there, and keeps something elsewhere: the next container tries. */
void container_place_remove(const struct container *c, const char *place);
/* Locks the file in a place, if nobody has it, for ourselves alone; -1 = somebody has it. */
int container_lock_try(const struct container *c, const char *place, const char *file);
/* The path of a file in the place, in the arena. */
const char *container_file(const struct container *c, const char *name);
/* Writes a file in the place, 0600, in place of what was there. */
bool container_file_write(const struct container *c, const char *name, const char *text,
                          struct err *ret_err);

/* ---- leftovers.c ---- */

/* Takes away what steps that were killed, and jobs that are over, have left on this machine. */
void container_leftovers_remove(struct container *c);

/* ---- run.c ---- */

/* The path of a program in PATH or where systems have it; NULL = it is nowhere. In the arena. */
const char *tool_find(const char *name, struct arena *a);
/* Adds words up to NULL. */
void words_add(words_of_program *w, ...) __attribute__((sentinel));
/* Adds one word, as printf(3); it lives in the arena. */
void word_addf(words_of_program *w, struct arena *a, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds the user's program with its arguments, and ends the list. */
void words_program(words_of_program *w, const struct container *c);

/* Runs a program that prepares something, its output into the file of the place (NULL: the log,
 * whose end is shown where it fails). False with a sentence that names it. Ends the list. */
bool tool_run(const struct container *c, words_of_program *w, const char *output,
              struct err *ret_err);
/* Runs the program that is the task, and waits: signals for the task reach it, and we outlive them.
 * fd >= 0: it has that one as 3. False: it could not be started. */
bool task_program_run(words_of_program *w, int fd, int *ret_status, struct err *ret_err);
/* Ends this process as that one ended. */
_Noreturn void task_end_as(int status);

/* ---- inside.c ---- */

/* Where a mount's source is on the node: a "./" is taken from the work directory. */
const char *mount_source(const struct container *c, const struct container_mount *m);
/* Is there a device of that path? */
bool has_device(const char *path);
/* The directory in which PMIx's server waits for the task; NULL = none. */
const char *pmix_directory(void);

#endif
