/* The node's GPUs, as far as it matters who may be given them: a device that a step had is unproven until a look at it has shown that nobody holds it and its memory is back.
 * Private to agent/. */
#ifndef REMUDA_AGENT_DEVICES_H
#define REMUDA_AGENT_DEVICES_H

#include "agent/agent.h"
#include "agent/held.h"

struct watched {
    int32_t index;
    bool clean;      /* proven, and not given to anybody since */
    bool failed;     /* broken; `why` and since_us are the evidence */
    uint64_t use;    /* grows whenever it is given: what was seen of an earlier use proves nothing */
    uint64_t job_id; /* had it last; 0 = not known */
    uint32_t attempt;
    uint32_t uid;
    int64_t from_us;  /* since when it had it */
    int64_t since_us; /* unproven or failed since */
    char *why;        /* owned */
};

struct devices {
    struct watched *v;
    size_t n;
    uint64_t seq;      /* of `text` */
    char *text;        /* what is out, as node.devices_out; owned, never NULL */
    uint64_t told_seq; /* went to the controller on this connection */
    bool looked;       /* once at all, so that `text` says what is true */
    bool looking;      /* a look was asked for and is not answered */
    int64_t due_us;    /* of the next look; INT64_MAX = none */
    int64_t pause_us;
};

struct turn;

/* From the node's description; what is known of devices that are still there stays. */
void devices_take(struct devices *d, const struct node *self);
void devices_init(struct devices *d, uint64_t first_seq);
void devices_done(struct devices *d);

/* A step is to begin: what it has of them is not clean any more. False if one of them may not be given: `why` gets a sentence. */
bool devices_give(struct turn *t, struct held_step *s, const struct msg_launch *l, struct str *why);
/* Nothing of the step is left: a look is due at what nobody else of its job uses. */
void devices_give_back(struct turn *t, const struct held_step *s);
/* All that the step had is clean, or broken. */
bool devices_proven(const struct turn *t, const struct held_step *s);

void devices_look(struct turn *t); /* now, if there is something to look at */
void devices_seen(struct turn *t, const struct agent_event *ev);
void devices_learn_failed(struct turn *t, const char *failed); /* from the controller */
void devices_retry(struct turn *t);                            /* the same: broken ones may be well again */
/* `text` and `seq` as they are now. */
void devices_refresh(struct turn *t);
/* Tells the controller at once if it has not heard. */
void devices_announce(struct turn *t);

#endif
