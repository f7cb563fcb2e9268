/* The machine's state, and what its files share. Private to agent/. */
#ifndef REMUDA_AGENT_INSIDE_H
#define REMUDA_AGENT_INSIDE_H

#include "agent/agent.h"
#include "agent/devices.h"
#include "agent/gpus_now.h"
#include "agent/held.h"
#include "agent/report.h"

struct agent {
    struct arena *node_arena;        /* texts of what the node has */
    struct node *node;               /* as told in NODE_HELLO */
    int64_t pid;                     /* of the daemon; NODE_HELLO tells it */
    struct holdings held;            /* what runs, or has run and is not forgotten */
    struct reports reports;          /* what is not acknowledged yet */
    bool connected, welcomed;        /* to the controller; `welcomed`: and it knows this node */
    bool has_welcome;                /* settings below are there */
    struct arena *welcome_arena;     /* texts of `welcome` */
    struct msg_node_welcome welcome; /* the settings that the controller sent */
    int64_t heartbeat_due_us; /* INT64_MAX = not connected; not welcomed: of the next hello */
    /* Shut out: what runs here is ended then, or (INT64_MAX) was; 0 = it is in. */
    int64_t end_all_us;
    bool clock_known; /* the controller has told its time */
    int64_t clock_us; /* the wall clock less the one that is never set */
    struct devices devices;
    bool hello_said;      /* on this connection */
    bool refusal_said;    /* that the controller does not know the node, to the log */
    bool node_changed;    /* since it was told of */
    int32_t load_centi;   /* load average, hundredths, as measured last */
    int64_t free_mem_mib; /* as they were at the last heartbeat */
    struct gpus_now gpus;
};

/* One step of the machine at work. */
struct turn {
    struct agent *a;          /* the machine */
    int64_t now_us;           /* as the shell's clock shows it, all through the turn */
    struct agent_effects *fx; /* appended to */
};

/* ---- effects (turn.c) ---- */

/* One more effect, empty but for its kind; it is the turn's, and valid until the next is added. */
struct agent_effect *turn_effect(struct turn *t, enum agent_effect_kind kind);
/* The same, about that step. */
struct agent_effect *turn_effect_about(struct turn *t, enum agent_effect_kind kind,
                                       const struct held_step *s);
/* The body is copied into the effects' arena. */
void turn_send(struct turn *t, enum message_kind kind, const void *body);
/* A line for the node's log. */
void turn_log(struct turn *t, bool is_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- reports (life.c) ---- */

/* Sends it, if there is a connection, with what the controller has not heard of the devices; it
 * stays kept until it is acknowledged. */
void turn_report_send(struct turn *t, struct report *p);
/* A report about that step, not sent and not kept yet; the caller gives it to turn_report_keep, or
 * frees it. */
struct report *turn_report_of(struct turn *t, enum report_kind kind, const struct held_step *s,
                              const struct note *n);
/* The step that it is about; NULL: it is held no more. */
struct held_step *step_of_report(struct turn *t, const struct report *p);
/* Repeated until acknowledged. */
void turn_report_keep(struct turn *t, struct held_step *s, struct report *p);
/* Sent once, or not at all when there is no connection. */
void turn_report_once(struct turn *t, struct report *p);
/* Nothing of the step is left here. detail: what its epilog had to say; NULL = nothing. */
void turn_report_released(struct turn *t, struct held_step *s, const char *detail);

/* ---- what becomes of a step (life.c); each may forget the step, which is then gone ---------- */

bool program_given(const char *path); /* does the site have one there? */
/* Lets a shepherd begin it; the launch must outlive the turn's effects. */
void step_start(struct turn *t, struct held_step *s, const struct msg_launch *launch);
/* so long a job's end, or a step's beginning, waits for devices */
#define PROVE_WAIT_US INT64_C(3000000)
/* Of a step in WAITING: it has its devices, and the prolog or the step itself begins; or it waits
 * for a look; or it never runs. `launch` may be the step's own copy. */
void step_launch_try(struct turn *t, struct held_step *s, const struct msg_launch *launch);
void step_not_begun(struct turn *t, struct held_step *s, const char *why); /* it never ran */
void step_had(struct turn *t, struct held_step *s); /* it did, and is asked for once more */
extern const char step_ended_early[];               /* why, of one that was told to end */
/* Its shepherd is to end it, or what is left of it, and to say so in time. */
void step_answer_await(struct turn *t, struct held_step *s);
/* What to do about those that did not. */
void answers_miss(struct turn *t);
/* The host was shut out: nothing of the cluster's is to run here when it may run elsewhere. */
void end_all_when_due(struct turn *t);
/* Asks its shepherd to end it: TERM, and KILL after its kill wait. */
void step_shepherd_terminate(struct turn *t, struct held_step *s);
/* It never ran. */
void step_failed(struct turn *t, struct held_step *s, const struct note *why);
/* Reports the end as it is known, if it is. */
void step_end_report(struct turn *t, struct held_step *s, bool clean);
/* Nothing of it is left. */
void step_ended(struct turn *t, struct held_step *s);
/* Decides what follows for a step in ENDED, once the settings are known. */
void step_settle(struct turn *t, struct held_step *s);
/* The visit of the step's job is over, if there is one: its epilog has run, or there is none. */
void visit_leave(struct turn *t, const struct held_step *s);
/* Its job's prolog has run, as far as it is to. */
void visit_prepared(struct turn *t, const struct held_step *s);
/* Of a job of which nothing is left here, in the name of no step: its epilog, where that is due and
 * none of its steps has run it. False: RELEASED may be said. shut_out: as of a step. */
bool job_epilog(struct turn *t, uint64_t job_id, uint32_t attempt, bool shut_out);
/* A further step of a job that this host has ended, or is to end, because it was shut out: the
 * controller, which has let it in again, goes on with the job. Others may be forgotten by it.
 * False: not before the controller has heard that the epilog failed. */
bool job_goes_on(struct turn *t, const struct held_step *launched);
/* Of a step that is over, whose job is to end: if it was the last here, that epilog, else RELEASED
 * at once. */
void job_gone(struct turn *t, struct held_step *s);
/* Its processes are gone: the epilog, if it is the last of its job here, then the report. */
void step_over(struct turn *t, struct held_step *s);
void over_finish(struct turn *t, struct held_step *s); /* of a step that was moved to OVER */
/* Its job is gone from here but for what its devices show: RELEASED follows when they are clean, or
 * with the news that they are not. `detail` is that of the RELEASED. */
void step_prove(struct turn *t, struct held_step *s, const char *detail);
/* Those whose proof is there, or that waited long enough; also those that wait to begin. */
void steps_proven(struct turn *t);
void epilog_begin(struct turn *t, struct held_step *s); /* of a step in ENDED */
/* Over, and the controller has every report of it: its directory goes, its end is remembered. */
void step_forget_if_acknowledged(struct turn *t, struct held_step *s);

/* ---- events ---- */

void hello_when_looked(struct turn *t);                     /* hello.c */
void heartbeat_send(struct turn *t);                        /* hello.c */
void take_message(struct turn *t, const struct message *m); /* messages.c */
/* notes.c; NULL if it is not held. */
struct held_step *step_of_note(struct turn *t, const struct note *n);
void take_note(struct turn *t, const struct note *n);                /* notes.c */
void take_prolog_done(struct turn *t, const struct agent_event *ev); /* notes.c */
void take_epilog_done(struct turn *t, const struct agent_event *ev); /* notes.c */

#endif
