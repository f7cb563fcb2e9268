/* How a process of a step becomes its owner's: limits, CPUs, identity, work directory, files, environment. Shared by the batch script (shepherd_exec.c) and tasks
 * (shepherd_task.c); every function runs in the new process, before exec. */
#ifndef REMUDA_NODE_SHEPHERD_SETUP_H
#define REMUDA_NODE_SHEPHERD_SETUP_H

#include "node/shepherd.h"

struct setup {
    const struct herd *herd;
    const struct step_plan *plan;
    const struct note *ids;
    int state_fd;
    bool has_output;    /* descriptor 2 is the job's */
    struct str remarks; /* lines for the job's error file, until it is open */
};

/* "slurmstepd: error: …" for the step's standard error; kept until there is one. */
void remark(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void remarks_write(struct setup *s);
/* Says it, notes FAILED in the state file and ends the process. */
_Noreturn void setup_fail(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

void limits_set(const char *text);   /* "NOFILE=1024,STACK=unlimited" */
void affinity_set(const char *cpus); /* "0-3,8" */
bool identity_take(const struct step_plan *p);
void owner_become(struct setup *s);
void signals_unblock(void);
/* The work directory, or /tmp with a remark. */
void work_dir_enter(struct setup *s, const char *dir);
/* Opened for appending, with parents made; -1 with errno. */
int output_open(const char *path, int flags);
void move_to(int fd, int to);

struct env {
    char **v; /* with room for what is added */
    size_t n;
};
bool env_has(char *const *env, size_t n, const char *assignment);
void env_add(struct env *e, const char *name, const char *value);
void env_drop(struct env *e, const char *assignment); /* "NAME=" */
/* PATH with the commands of this cluster before it. */
void path_add(struct env *e, const char *bin_dir, const char *path);
/* A TMPDIR that is not there is made; one that cannot be is replaced, as Slurm does. */
void tmpdir_ensure(struct setup *s, struct env *e);

#endif
