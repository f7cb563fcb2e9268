/* The node's machine: what a node does about the steps it holds. Pure: the shell (src/node, or the
 * simulator) feeds events and carries effects out, in the order they were made. Nothing of it is
 * written anywhere: after a restart the shell tells what it found (AGENT_VISITED of each visit that
 * it kept, AGENT_FOUND, then the notes of the step's state file) and the machine stands where it
 * stood.
 *
 * Promises: a step is started at most once for each (job, attempt); each end is reported until the
 * controller acknowledged it; what was acknowledged is forgotten; a GPU that a job had is in every
 * word to the controller named as not to be given (node.devices_out) until a look at it has shown
 * that it is clean; no step begins with a GPU before a look has shown that nothing is left on it of
 * a step that is over, of its own job or another. */
#ifndef REMUDA_AGENT_AGENT_H
#define REMUDA_AGENT_AGENT_H

#include "agent/health.h"
#include "agent/note.h"
#include "base/arena.h"
#include "base/str.h"
#include "model/message.h"
#include "model/record/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent; /* opaque */

enum agent_event_kind {
    AGENT_UP,   /* the connection to the controller is there */
    AGENT_DOWN, /* it is gone */
    /* From the controller: NODE_WELCOME, LAUNCH, TERMINATE, SIGNAL, STREAM_TO, REPORT_ACK, DONE
     * (hello refused); others are ignored. */
    AGENT_MESSAGE,
    AGENT_FOUND, /* at start: a step of an earlier daemon (note: job_id, attempt, step_id) */
    /* At start: a job that an earlier daemon's AGENT_VISIT_KEEP was about (note: job_id, attempt),
     * without an AGENT_VISIT_END; ok: it is prepared. */
    AGENT_VISITED,
    AGENT_NOTE,        /* a shepherd said something */
    AGENT_PROLOG_DONE, /* note: the step; ok, text */
    AGENT_EPILOG_DONE, /* note: the step; ok, text */
    AGENT_WAKE,        /* agent_wake_due() has come; load_centi and free_mem_mib are filled */
    AGENT_LOOKED,      /* the answer to AGENT_LOOK: seen */
    AGENT_DEVICE_SIGN, /* a device showed by itself how it is: seen */
    AGENT_CHANGED,     /* after agent_set_node */
    /* What steps use of the GPUs at this moment: used; others use nothing; and what the GPUs do:
     * gpus. ok: how busy they are can be told. */
    AGENT_GPU_USED,
};

/* A device to look at, and what to look for. */
#define LOOK_STEPS_MAX 32u
#define LOOK_ALL_STEPS INT64_MIN /* each step of that run: where one by one they are too many */
#define LOOK_USERS_MAX 256u
struct look_step {
    uint64_t job_id; /* a step that had the device */
    uint32_t attempt;
    int64_t step_id;   /* STEP_BATCH = the script; or LOOK_ALL_STEPS */
    int64_t uid_plus1; /* whose; 0 = not known */
};
struct device_look {
    int32_t index;   /* as the node numbers its devices */
    uint64_t use;    /* to be repeated in the answer */
    uint64_t job_id; /* had it last; 0 = not known */
    uint32_t uid;    /* of that job */
    int64_t from_us; /* since when it had it: processes that are older are not its; 0 = not known */
    struct look_step step[LOOK_STEPS_MAX]; /* that go on and may hold it */
    uint32_t nsteps;                       /* of `steps` */
    bool apart; /* the kernel keeps its files from each step here that does not have it */
};

/* What was seen of it. */
struct device_seen {
    int32_t index;
    uint64_t use;
    enum device_sign sign; /* ill, well, or nothing to say */
    const char *why;       /* the evidence, if it is not clean */
};

/* What processes of a user's that say they are of a step use of the node's GPUs, together. */
struct gpu_used {
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id;
    int32_t util;      /* percent, summed over GPUs */
    int64_t mem_bytes; /* its processes' own */
    int64_t energy_mj; /* since the last time */
    int64_t uid;       /* -1 = not told */
};

/* What one of them does; -1 = not told. */
struct gpu_now {
    int32_t index;
    int32_t util;                /* percent */
    int64_t mem_bytes, power_mw; /* of the whole device; both -1 = not told */
    int64_t energy_mj;           /* since the last time; 0 = not told */
    int64_t own_bytes;           /* beyond what is in use of one that nobody has; 0 = not known */
    bool idle;                   /* it can be found out, and it does nothing */
    bool explained;              /* the steps' parts of all that are in `used` */
};

struct agent_event {
    enum agent_event_kind kind;
    int64_t now_us; /* wall clock; it may be set */
    /* a clock that is never set; 0 = not told, and the wall clock was not set. */
    int64_t mono_us;
    const struct message *msg; /* AGENT_MESSAGE */
    const struct note *note;   /* as said above */
    bool ok;                   /* did it work? `text`: why not */
    const char *text;
    int32_t load_centi; /* load average, hundredths */
    int64_t free_mem_mib;
    const struct device_seen *seen;
    size_t nseen; /* of a look, or of what came by itself */
    const struct gpu_used *used;
    size_t nused; /* of the steps that use GPUs */
    const struct gpu_now *gpus;
    size_t ngpus; /* of the node's, whoever uses them */
};

enum agent_effect_kind {
    AGENT_SEND,   /* msg, to the controller */
    AGENT_PROLOG, /* run the prolog for launch->job, then AGENT_PROLOG_DONE */
    AGENT_START,  /* have a shepherd start launch; it answers with notes */
    /* Tell the shepherd (note: ids, pid): everything ends; kill_wait_us, why, of_job. */
    AGENT_TERMINATE,
    AGENT_SIGNAL, /* tell the shepherd (note: ids, pid): signal, batch, of_job */
    /* Tell the shepherd (note: ids, pid) to connect to another command: text is its address, why
     * the key. */
    AGENT_FOLLOW,
    /* The shepherd is gone: kill what is left of its step (note: ids, pid), before the next
     * effect. */
    AGENT_CLEAR,
    /* The shepherd (note: ids, pid) of a step that is to end says nothing. If it is gone, that is
     * told. If it stands still it is made to go on, and NOTE_STUCK names it as the process;
     * gives_up: that was done before, and the step is ended without it. */
    AGENT_ROUSE,
    /* Run the epilog (note: ids; job, or NULL if it was found), then AGENT_EPILOG_DONE. */
    AGENT_EPILOG,
    /* Keep what the epilog will need of that job (note: job_id, attempt; job), and whether it is
     * prepared, so that a later daemon can tell. */
    AGENT_VISIT_KEEP,
    AGENT_VISIT_READY, /* the same job is prepared now */
    AGENT_VISIT_END,   /* nothing of that is needed any more */
    AGENT_FORGET,      /* everything is acknowledged: remove the step's state (note: ids) */
    AGENT_LOG,         /* text; is_error */
    /* Look at the devices `look`; always answered by AGENT_LOOKED, even if with DEVICE_BLIND
     * because it cannot be found out. */
    AGENT_LOOK,
    /* Tell the people of a step (note: ids, pid): text goes to `streams`, bits of enum
     * notify_streams. */
    AGENT_TELL,
    /* Find out anew what devices the machine has; agent_set_node follows if they are others. */
    AGENT_FIND,
};

struct agent_effect {
    enum agent_effect_kind kind;
    struct message msg;              /* body lives in the effects' arena */
    const struct msg_launch *launch; /* valid until the next agent_step */
    const struct job *job;           /* likewise */
    struct note note;                /* which step it is about */
    int64_t uid_plus1;               /* whose that is; 0 = not known */
    int64_t kill_wait_us;            /* between TERM and KILL */
    const char *why;                 /* for people and records; NULL = no reason */
    int32_t signal;                  /* AGENT_SIGNAL: its number here */
    uint32_t streams;
    bool prepared; /* AGENT_VISIT_KEEP: the prolog has run, or there is none */
    bool batch;    /* to the batch shell alone */
    bool of_job;   /* all of the job are told */
    bool gives_up;
    bool is_error;
    /* AGENT_FIND: an operator wants the node as it is: what he was told to be missing, or gone
     * (`text`: its numbers, "2,3", or NULL), is not missed any more. */
    bool accepts;
    const char *text;
    const struct device_look *look;
    size_t nlook;          /* devices to look at */
    const uint32_t *users; /* AGENT_LOOK: who has steps here, as far as known, each once */
    size_t nusers;         /* of `users`; LOOK_USERS_MAX at most */
};

struct agent_effects {
    struct arena *arena; /* texts of all of them; freed with them */
    struct agent_effect *v;
    size_t n, cap; /* room in `v` */
};
/* Empty; reset by the caller before each step, freed by agent_effects_done. */
void agent_effects_init(struct agent_effects *fx);
void agent_effects_reset(struct agent_effects *fx); /* empties, keeps memory */
void agent_effects_done(struct agent_effects *fx);  /* the arena that all of them lie in, too */

/* `self` is the node as it describes itself in NODE_HELLO (copied); pid is the daemon's; first_seq
 * numbers the first report and must be above any number an earlier daemon of the node used (the
 * time in µs does). */
struct agent *agent_new(const struct node *self, int64_t pid, uint64_t first_seq);
/* The longest time between two looks at devices that are not clean, if it is not to be 10 s. */
void agent_look_every(struct agent *a, int64_t us);
void agent_free(struct agent *a); /* NULL is allowed */
/* The node has changed (a device came or went, something is missing). The controller is told by the
 * AGENT_CHANGED that is to follow. */
void agent_set_node(struct agent *a, const struct node *self);
/* Does a step that is not over have this GPU? */
bool agent_gpu_is_held(const struct agent *a, int32_t index);

/* One event, and all that follows from it on this node; effects as core_step has them. */
void agent_step(struct agent *a, const struct agent_event *ev, struct agent_effects *fx);
/* When it wants AGENT_WAKE; INT64_MAX = not at all. */
int64_t agent_wake_due(const struct agent *a);

/* The settings the controller gave last; NULL before the first NODE_WELCOME. */
const struct msg_node_welcome *agent_welcome(const struct agent *a);
/* Calls fn for each step whose shepherd should be alive; note has ids and pid (0 if it has not said
 * so yet). */
void agent_each_running(const struct agent *a, void (*fn)(void *ctx, const struct note *n),
                        void *ctx);
/* Steps, batch scripts among them, of which something is here, or which the controller has not let
 * go of. */
size_t agent_held_count(const struct agent *a);
/* Reports kept until the controller says that they are stored. */
size_t agent_unacknowledged_count(const struct agent *a);

void agent_check(const struct agent *a);    /* asserts every invariant */
uint64_t agent_hash(const struct agent *a); /* of the whole state */

#endif
