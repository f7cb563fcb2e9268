/* The node's machine: what a node does about the steps it holds. Pure: the shell (src/node, or the simulator)
 * feeds events and carries effects out, in the order they were made. Nothing of it is written anywhere: after
 * a restart the shell tells what it found (AGENT_FOUND, then the notes of the step's state file) and the
 * machine stands where it stood.
 *
 * Promises: a step is started at most once for each (job, attempt); each end is reported until the controller
 * acknowledged it; what was acknowledged is forgotten. */
#ifndef REMUDA_AGENT_AGENT_H
#define REMUDA_AGENT_AGENT_H

#include "agent/note.h"
#include "base/arena.h"
#include "base/str.h"
#include "model/message.h"
#include "model/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent; /* opaque */

enum agent_event_kind {
    AGENT_UP,   /* the connection to the controller is there */
    AGENT_DOWN, /* it is gone */
    AGENT_MESSAGE, /* from the controller: NODE_WELCOME, LAUNCH, TERMINATE, SIGNAL, STREAM_TO, REPORT_ACK, DONE (hello refused); others are
                          ignored */
    AGENT_FOUND,       /* at start: a step of an earlier daemon (note: job_id, attempt, step_id) */
    AGENT_NOTE,        /* a shepherd said something */
    AGENT_PROLOG_DONE, /* note: the step; ok, text */
    AGENT_EPILOG_DONE, /* note: the step; ok, text */
    AGENT_WAKE,        /* agent_wake_due() has come; load_centi and free_mem_mib are filled */
};

struct agent_event {
    enum agent_event_kind kind;
    int64_t now_us;
    const struct message *msg; /* AGENT_MESSAGE */
    const struct note *note;   /* as said above */
    bool ok;
    const char *text;
    int32_t load_centi;
    int64_t free_mem_mib;
};

enum agent_effect_kind {
    AGENT_SEND,      /* msg, to the controller */
    AGENT_PROLOG,    /* run the prolog for launch->job, then AGENT_PROLOG_DONE */
    AGENT_START,     /* have a shepherd start launch; it answers with notes */
    AGENT_TERMINATE, /* tell the shepherd (note: ids, pid): everything ends; kill_wait_us, why */
    AGENT_SIGNAL,    /* tell the shepherd (note: ids, pid): signal, batch, full */
    AGENT_FOLLOW,    /* tell the shepherd (note: ids, pid) to connect to another command: text is its address, why the key */
    AGENT_CLEAR,     /* the shepherd is gone: kill what is left of its step (note: ids, pid), before the next
                        effect */
    AGENT_EPILOG,    /* run the epilog (note: ids; job, or NULL if it was found), then AGENT_EPILOG_DONE */
    AGENT_FORGET,    /* everything is acknowledged: remove the step's state (note: ids) */
    AGENT_LOG,       /* text; is_error */
};

struct agent_effect {
    enum agent_effect_kind kind;
    struct message msg;              /* body lives in the effects' arena */
    const struct msg_launch *launch; /* valid until the next agent_step */
    const struct job *job;           /* likewise */
    struct note note;
    int64_t kill_wait_us;
    const char *why;
    int32_t signal;
    bool batch, full;
    bool is_error;
    const char *text;
};

struct agent_effects {
    struct arena *arena;
    struct agent_effect *v;
    size_t n, cap;
};
void agent_effects_init(struct agent_effects *fx);
void agent_effects_reset(struct agent_effects *fx); /* empties, keeps memory */
void agent_effects_done(struct agent_effects *fx);

/* `self` is the node as it describes itself in NODE_HELLO (copied); pid is the daemon's; first_seq numbers
 * the first report and must be above any number an earlier daemon of the node used (the time in µs does). */
struct agent *agent_new(const struct node *self, int64_t pid, uint64_t first_seq);
void agent_free(struct agent *a);
/* What the node has changed (a device came or went, something is missing): told with the next hello. */
void agent_set_node(struct agent *a, const struct node *self);

void agent_step(struct agent *a, const struct agent_event *ev, struct agent_effects *fx);
/* When it wants AGENT_WAKE; INT64_MAX = not at all. */
int64_t agent_wake_due(const struct agent *a);

/* The settings the controller gave last; NULL before the first NODE_WELCOME. */
const struct msg_node_welcome *agent_welcome(const struct agent *a);
/* Calls fn for each step whose shepherd should be alive; note has ids and pid (0 if it has not said so yet).
 */
void agent_each_running(const struct agent *a, void (*fn)(void *ctx, const struct note *n), void *ctx);
size_t agent_held_count(const struct agent *a);
size_t agent_unacknowledged_count(const struct agent *a);

void agent_check(const struct agent *a);    /* asserts every invariant */
uint64_t agent_hash(const struct agent *a); /* of the whole state */

#endif
