/* The node's GPUs, as far as it matters who may be given them: a device that a step had is unproven
 * until a look at it has shown that nobody holds it and its memory is back. Private to agent/. */
#ifndef REMUDA_AGENT_DEVICES_H
#define REMUDA_AGENT_DEVICES_H

#include "agent/agent.h"
#include "agent/held.h"

#define DEVICES_KIND      "gpu"             /* as lists of devices name them */
#define LOOK_PAUSE_US     INT64_C(100000)   /* before the second look */
#define LOOK_PAUSE_MAX_US INT64_C(10000000) /* between looks, at most */

struct watched {
    int32_t index; /* as the node numbers its devices */
    /* Clean: proven, and not given to anybody since; `why` and since_us are the evidence if it is
     * not. */
    struct health health;
    /* Nothing is left on it of a step that is over; with steps that go on, this is all that can be
     * proven. */
    bool settled;
    /* Grows whenever it is given: what was seen of an earlier use proves nothing. */
    uint64_t use;
    uint64_t job_id;          /* had it last; 0 = not known */
    uint32_t attempt;         /* of the run that had it last */
    uint32_t uid;             /* whose run it was */
    int64_t from_us;          /* since when it had it */
    int64_t since_us;         /* unproven or failed since */
    enum device_health dated; /* the state that `state_us` is about */
    int64_t state_us;         /* it is in this state since */
    char *why;                /* owned */
    char *uuid;               /* owned, "" = none: another device may get its number */
};

struct devices {
    struct watched *v; /* owned; in the order of the node's devices */
    size_t n;
    uint64_t seq;       /* of `text` and `health` */
    uint64_t first_seq; /* frames count on from it: a later daemon's are higher */
    char *text;         /* what is out, as node.devices_out; owned, never NULL */
    char *health;       /* how each is, as node.device_health; owned, never NULL */
    uint64_t told_seq;  /* went to the controller on this connection */
    bool urgent;        /* `text` has not; that one is in use or clean can wait for the next word */
    bool looked;        /* once at all, so that `text` says what is true */
    bool looking;       /* a look was asked for and is not answered */
    int64_t due_us;     /* of the next look; INT64_MAX = none */
    int64_t pause_us, pause_max_us; /* to the next look; doubled until pause_max_us */
};

struct turn;

/* ---- one device ---- */

extern const char devices_not_looked[]; /* why of what no look has been answered for */
struct watched *watched_find(const struct devices *d, int32_t index); /* NULL: there is none */
bool watched_is_clean(const struct watched *w); /* proven so, not merely not known to be ill */
/* By what is done with it, not by a sign: healthy, so far. */
void watched_set(struct watched *w, enum device_health state);
void watched_why_set(struct watched *w, const char *why); /* copied; NULL: none */
/* A step that is not over has it. */
bool watched_in_use(const struct agent *a, const struct watched *w);
/* Its job has not been told to be gone from here, so the controller gives it to nobody else. */
bool watched_is_kept(const struct agent *a, const struct watched *w);
/* Should it be looked at whether it is clean? Not where it is known to be, or has failed; nor, once
 * it is settled, while steps use it. */
bool watched_wants_look(const struct agent *a, const struct watched *w);

/* ---- all of them ---- */

/* From the node's description; what is known of devices that are still there stays. */
void devices_set(struct devices *d, const struct node *self);
/* No devices yet, nothing due; first_seq: the age of what is said first, above that of the life
 * before (0 = 1). */
void devices_init(struct devices *d, uint64_t first_seq);
void devices_done(struct devices *d); /* all lists and texts; not `d` */

/* A step is to begin: what it has of them is not clean any more. LATER: one of them has to be
 * looked at first, since a step of the same job had it; REFUSED: one may not be given. Both change
 * nothing, and `why` gets a sentence. */
enum devices_answer { DEVICES_GIVEN, DEVICES_LATER, DEVICES_REFUSED };
/* May the step have the devices of this launch? Given, they are its until it is over. Else nothing
 * is, and `why` gets the sentence for the report. */
enum devices_answer devices_give(struct turn *t, struct held_step *s, const struct msg_launch *l,
                                 struct str *why);
/* What a step that was found has, since when and whose it is, as its shepherd noted it. */
void devices_found(struct turn *t, struct held_step *s, const struct note *n);
/* Nothing of the step is left: a look is due at what it had, also where others of its job go on
 * with it. */
void devices_give_back(struct turn *t, const struct held_step *s);
/* All that the step had is clean, or ill: then it is told to be out. */
bool devices_proven(const struct turn *t, const struct held_step *s);

void devices_look(struct turn *t); /* now, if there is something to look at */
/* What the shell saw of devices: the answer to a look that was asked for, or an event between
 * looks. May send hello, prove steps' ends and announce what changed. */
void devices_seen(struct turn *t, const struct agent_event *ev);
void devices_learn_failed(struct turn *t, const char *failed); /* from the controller */
/* Numbers of those that are said to be gone, "2,3", in the turn's arena; NULL: none is. */
const char *devices_gone(const struct turn *t);
/* The same: broken ones may be well again. */
void devices_retry(struct turn *t);
/* Is there anything that `text` can say? A node without GPUs has something to say once a process of
 * a job cannot be killed. */
bool devices_speak(const struct devices *d);
/* Notes since when each is as it is. */
void devices_date(struct turn *t);
/* All has gone to the controller. */
void devices_told(struct devices *d);
/* `text`, `health` and `seq` as they are now. */
void devices_refresh(struct turn *t);
/* Tells the controller at once if it has not heard. */
void devices_announce(struct turn *t);

#endif
