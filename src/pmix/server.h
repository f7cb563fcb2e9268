/* remuda-pmix: PMIx's server for the tasks of one step on one node. The shepherd starts it as the
 * step's owner, in the step's control groups, and speaks with it over descriptor 3 in frames
 * (stream_tasks once, then stream_mpi both ways): a fault in the library is not the shepherd's. It
 * ends when the shepherd closes.
 *
 *   shepherd: stream_tasks    name, map, which node of it this is, where files may be made
 *   it:       ANSWER          for each task here: its variables; then
 *             MET "start"     tasks may start
 *   both:     MEET, MET, ASK, ANSWER, ABORT as between nodes (model/message.h) */
#ifndef REMUDA_PMIX_SERVER_H
#define REMUDA_PMIX_SERVER_H

#include "base/arena.h"
#include "model/message.h"

#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stdint.h>

#define PMIX_FD 3

struct pmix_job {
    const char *name, *dir;    /* of the step, and where its files may be */
    int32_t size, nodes, node; /* tasks; nodes; which this is */
    const int32_t *node_of;    /* each rank */
    const char *const *host;   /* each node, no two the same */
};

/* To the shepherd; from any thread. */
void say(const struct msg_stream_mpi *m);
/* Why tasks cannot start; does not return. */
_Noreturn void give_up(const char *what, pmix_status_t why);

/* world.c: what the library is told of the tasks; then the variables of each here are said. */
void world_register(const struct pmix_job *w, struct arena *a);

/* meetings.c: what tasks ask the library, and it the other nodes. */
extern pmix_server_module_t meetings_module;
void meetings_begin(const struct pmix_job *w); /* before any other; `w` is borrowed for good */
/* From here on a task that ends in the middle ends all. After the library has started. */
void meetings_watch(void);
/* The shepherd says something. */
void meetings_take(const struct msg_stream_mpi *m);

#endif
