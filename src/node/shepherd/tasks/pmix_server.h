/* The process that is PMIx's server for the tasks here (src/pmix/server.h), as the shepherd sees
 * it: started as the step's owner in its control groups, spoken with in frames. Used by meet.c
 * alone. */
#ifndef REMUDA_NODE_SHEPHERD_TASKS_PMIX_SERVER_H
#define REMUDA_NODE_SHEPHERD_TASKS_PMIX_SERVER_H

#include "node/shepherd/setup.h"
#include "node/shepherd/tasks/set.h"

#define PMIX_VARIABLES_MAX 48 /* of one task */

struct pmix_server; /* opaque */

struct pmix_world {
    const char *name, *map; /* as meet.c has them */
    int32_t size, node;     /* tasks in all; which line of the map this node is */
};

/* NULL: why. */
struct pmix_server *pmix_server_start(struct task_set *t, const struct pmix_world *w, char *why,
                                      size_t why_size);
/* Hands on what the command says. */
void pmix_server_tell(struct pmix_server *s, const struct msg_stream_mpi *m);
/* Has it more to read than it need have? */
bool pmix_server_is_behind(const struct pmix_server *s);
/* What poll(2) is to wait for; fd -1 (nothing) once it is gone. While paused it is not heard: who
 * is told what it says does not read. Nor is it, where what it says is said to itself (echoes),
 * while it is behind; where others answer, it must be heard, or its library would wait for that. */
void pmix_server_wait_for(const struct pmix_server *s, bool paused, bool echoes, struct pollfd *v);
/* Calls take for each message; false when it is gone. */
bool pmix_server_serve(struct pmix_server *s, short revents,
                       void (*take)(struct task_set *t, const struct msg_stream_mpi *m));
/* It has nothing more to do, and ends. */
void pmix_server_close(struct pmix_server *s);
/* When it and the tasks are gone: what was in files of theirs. */
void pmix_server_clear(struct pmix_server *s);

#endif
