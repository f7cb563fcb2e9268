/* How a process of a step becomes its owner's: limits, CPUs, identity, work directory, files,
 * environment. Shared by the batch script (shepherd/exec.c) and tasks (shepherd/tasks/task.c);
 * every function runs in the new process, before exec.
 *
 * From owner_become on the process is the owner's, who may stop it for as long as he likes, and
 * does without wanting to: his output may be a pipe that nobody reads, his login profile may hang.
 * So nothing of the shepherd's is open in it by then but the pipe for failures, and the kernel lets
 * nobody but root trace it or look into it until it executes another program. */
#ifndef REMUDA_NODE_SHEPHERD_SETUP_H
#define REMUDA_NODE_SHEPHERD_SETUP_H

#include "node/shepherd/shepherd.h"

struct setup {
    const struct herd *herd;
    const struct step_plan *plan;
    int failure_fd;     /* a pipe to the shepherd, for lines of enum setup_word */
    char *astray;       /* why the work directory could not be entered; NULL = we are there */
    bool has_output;    /* descriptor 2 is the job's */
    struct str remarks; /* lines for the job's error file, until it is open */
};

/* "slurmstepd: error: …" for the step's standard error; kept until there is one. */
void remark(struct setup *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* To the task's stderr, once it is there (has_output); then none are left. */
void remarks_write(struct setup *s);
/* What a line of the pipe begins with; of each the first counts. */
enum setup_word {
    SETUP_FAILED = 'F', /* why the step could not be set up */
    SETUP_UNFIT = 'U',  /* the same, and any other would fail on this node */
    SETUP_FULL = 'N',   /* the same now: the jobs have as many processes as they may */
    SETUP_ODD = 'O',    /* it runs, but not as asked: for the job's records */
    SETUP_OPENED = 'P'  /* a batch script's output files are open, and truncated no more */
};
/* Descriptors 1 and 2 are the job's from now on: the shepherd hears it, too. */
void output_opened(const struct setup *s);

/* A word of SETUP_ODD: the first is kept. */
void setup_odd(int failure_fd, const char *text);

/* Says it, to the shepherd too, and ends the process. */
_Noreturn void setup_fail(struct setup *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What step_cgroup_fork gave, in the new process: if it is not in the groups it must not run, and
 * ends as by setup_fail. */
void groups_check(struct setup *s, int groups_why);

/* "NOFILE=1024,STACK=unlimited": soft limits, up to the hard ones. */
void limits_set(const char *text);
void affinity_set(const char *cpus); /* "0-3,8" */
/* Becomes the owner, with nothing open but `keep` (n of them; -1 is none) and the standard three.
 * False with errno. */
bool identity_become(const struct step_plan *p, const int *keep, size_t n);
/* The same with the pipe for failures; then the limits of the job, which the owner may not raise
 * above the node's. */
void owner_become(struct setup *s, const char *rlimits, const int *keep, size_t n);
/* execve, and again while the machine or the owner's limit has no room for it:
 * for SHORTAGE_PATIENCE_US at most. Returns with errno. */
void program_execute(const char *path, char *const argv[], char *const env[]);
/* In a child, before exec: it begins with an empty mask. */
void signals_unblock(void);
/* The work directory, or /tmp with a remark, as in Slurm. */
void work_dir_enter(struct setup *s, const char *dir);
/* A file that was meant to be in the work directory must not land in /tmp of some node, where
 * nobody looks: then the step fails. `what`: "output". */
void file_place_check(struct setup *s, const char *what, const char *path);
/* Opened for appending, with parents made; -1 with errno. */
int output_open(const char *path, int flags);
/* As dup2(2), and fd is closed unless it is `to`. */
void move_to(int fd, int to);

struct env {
    char **v; /* with room for what is added */
    size_t n;
};
/* Is the name before its '=' among the first n? */
bool env_has(char *const *env, size_t n, const char *assignment);
/* There must be room: e->v is made for all that is added. */
void env_add(struct env *e, const char *name, const char *value);
void env_drop(struct env *e, const char *assignment); /* "NAME=" */
/* PATH with the commands of this cluster before it. */
void path_add(struct env *e, const char *bin_dir, const char *path);
/* For a program that is a login shell (step/login_shell.h), unless it has a BASH_ENV of its own. */
void login_path_set(struct env *e, const char *node_dir);
/* A TMPDIR that is not there is made; one that cannot be is replaced, as Slurm does. */
void tmpdir_ensure(struct setup *s, struct env *e);

#endif
