/* Child processes of the daemons: mail program, prolog, epilog, health checks, shepherds. */
#ifndef REMUDA_IO_SPAWN_H
#define REMUDA_IO_SPAWN_H

#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct spawn; /* opaque; one running child */

struct spawn_options {
    /* NULL-terminated; argv[0] is the path of the program (searched in PATH without a '/') */
    const char *const *argv;
    const char *const *env; /* NULL-terminated NAME=VALUE; NULL = the daemon's own */
    const char *dir;        /* work directory; NULL = the daemon's */
    const void *input;      /* its standard input, copied; NULL = /dev/null */
    size_t input_len;       /* bytes */
    bool input_given;       /* it is malloc'd, and not copied but freed, whatever comes of it */
    /* So many bytes of its standard output and error together are kept (the rest is read and
     * dropped); 0 = /dev/null. */
    size_t output_max;
    size_t error_max; /* the same of its standard error apart; 0 = it is in the output */
    /* Further descriptors the child gets as 3, 4, …; all others of ours are close-on-exec. */
    const int *fds;
    size_t nfds; /* of `fds` */
    /* then SIGKILL to its process group, and if even that does not end it in 10 s it counts as
     * ended by it; 0 = none */
    int64_t timeout_us;
    bool as_user; /* run with uid and gid below and no other groups (root only) */
    uid_t uid;    /* with its groups, where we are root */
    gid_t gid;
    /* a session of its own that outlives us: no timeout, and spawn_free does not end it. */
    bool detach;
};

struct spawn_result {
    int status;         /* wait status */
    bool timed_out;     /* it was killed for that */
    const char *output; /* NUL-terminated; valid during the callback */
    size_t output_len;  /* bytes */
    const char *errors; /* its standard error alike; empty where error_max is 0 */
    size_t errors_len;  /* bytes */
    /* It could not be started for want of room: why (spawn_patient.h); NULL = it was. */
    const char *failed;
};

/* Starts it. done(ctx, result) comes once, when the process has ended and its output is read (a
 * grandchild that keeps the pipe open is not waited for longer than a second). The child starts
 * with default signal handling and an empty signal mask, and leads a process group of its own. NULL
 * with ret_err and errno if it could not be started (no such program, not executable, no such
 * directory, no process to be had): then `done` is not called. */
struct spawn *spawn_start(struct loop *l, const struct spawn_options *o,
                          void (*done)(void *ctx, const struct spawn_result *r), void *ctx,
                          struct err *ret_err);
/* Not after `done`, when the process is reaped. */
pid_t spawn_pid(const struct spawn *s);
void spawn_kill(struct spawn *s, int signo); /* to its process group */
/* Forgets it before it is done: SIGKILL to its group unless detached; `done` is not called. After
 * `done` the spawn is freed by itself. A detached child that is forgotten can be watched, and is
 * reaped, by a pid_watch. */
void spawn_free(struct spawn *s);

struct str;
/* Of waitpid(2)'s status: "exited with 3", "was ended by signal 9 (Killed)", appended. */
void spawn_status_text(int status, struct str *out);

#endif
