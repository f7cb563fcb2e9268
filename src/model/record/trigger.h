/* Triggers (strigger): a program that the controller runs when something has happened. */
#ifndef REMUDA_MODEL_TRIGGER_H
#define REMUDA_MODEL_TRIGGER_H

#include "base/duration.h"
#include "base/str.h"
#include "model/fields.h"

/* What an event is about: strigger's RES_TYPE. */
enum trigger_about {
    TRIGGER_NODE, /* nodes, or those of a job */
    TRIGGER_JOB,
    TRIGGER_CONTROLLER, /* the daemon */
    TRIGGER_ACCOUNTING, /* who keeps accounts: the same daemon here */
    TRIGGER_DATABASE,   /* the store */
};

/* X(EVENT, Slurm's word, about, doc) */
// clang-format off
#define TRIGGER_EVENTS(X)                                                                                   \
    X(DOWN, "down", NODE, "a node is down")                                                                 \
    X(UP, "up", NODE, "a node that was down is back")                                                       \
    X(DRAINING, "draining", NODE, "a node is drained: it takes no more jobs")                               \
    X(DRAINED, "drained", NODE, "a node is drained, and no job is left on it")                              \
    X(RESUME, "resume", NODE, "a node that was drained takes jobs again")                                   \
    X(FAIL, "fail", NODE, "a node is said to be about to fail")                                             \
    X(IDLE, "idle", NODE, "a node has been idle for as long as the offset says")                            \
    X(RECONFIG, "reconfig", NODE, "the configuration was read again")                                       \
    X(FINI, "fini", JOB, "a job is over")                                                                   \
    X(TIME, "time", JOB, "a run of a job reaches its time limit")                                           \
    X(CONTROLLER_FAILURE, "primary_slurmctld_failure", CONTROLLER, "the controller was killed, and is back")  \
    X(CONTROLLER_OPERATION, "primary_slurmctld_resumed_operation", CONTROLLER, "the controller has started")  \
    X(CONTROLLER_CONTROL, "primary_slurmctld_resumed_control", CONTROLLER, "the controller has started")    \
    X(ACCOUNTING_FAILURE, "primary_slurmdbd_failure", ACCOUNTING, "the store cannot be written")            \
    X(ACCOUNTING_OPERATION, "primary_slurmdbd_resumed_operation", ACCOUNTING, "the store can be written again")  \
    X(DATABASE_FAILURE, "primary_database_failure", DATABASE, "the store cannot be written")                \
    X(DATABASE_OPERATION, "primary_database_resumed_operation", DATABASE, "the store can be written again")
// clang-format on
enum trigger_event {
#define X(event, word, about, doc) TRIGGER_EVENT_##event,
    TRIGGER_EVENTS(X)
#undef X
        TRIGGER_EVENT_COUNT
};
#define TRIGGER_BIT(event) (1u << TRIGGER_EVENT_##event)

struct trigger_event_row {
    const char *word, *doc;
    enum trigger_about about;
};
extern const struct trigger_event_row trigger_events[TRIGGER_EVENT_COUNT];
/* Events that happen to nodes, and those that happen to jobs, as bits. */
#define TRIGGER_NODE_BITS                                                                          \
    (TRIGGER_BIT(DOWN) | TRIGGER_BIT(UP) | TRIGGER_BIT(DRAINING) | TRIGGER_BIT(DRAINED) |          \
     TRIGGER_BIT(RESUME) | TRIGGER_BIT(FAIL) | TRIGGER_BIT(IDLE))
#define TRIGGER_JOB_BITS (TRIGGER_BIT(FINI) | TRIGGER_BIT(TIME))
/* "down,up", appended. */
void trigger_events_add(uint32_t events, struct str *out);

#define TRIGGER_OFFSET_MAX 32000 /* seconds, either way */
extern const struct int_range range_trigger_offset, range_trigger_events;

// clang-format off
#define TRIGGER_FIELDS(X)                                                                                   \
    X(U32, id, 0, "number")                                                                                 \
    X(U32, user_id, 0, "who set it, and as whom the program runs")                                          \
    X(U32, group_id, 0, "his group then")                                                                   \
    X(TEXT, user_name, 0, "his name then")                                                                  \
    X(U32, events, &range_trigger_events, "bits of enum trigger_event: any of these")                       \
    X(U64, job_id, 0, "of this job, with all elements or components; 0 = of no job in particular")          \
    X(U32, task_plus1, 0, "of this element of the array alone, plus 1")                                     \
    X(TEXT, nodes, 0, "of these nodes; NULL = of any")                                                      \
    X(I32, offset, &range_trigger_offset, "seconds from the event until the program runs; negative: before it") \
    X(BOOL, permanent, 0, "stays when it has run")                                                          \
    X(TEXT, program, 0, "what is run: a path, and arguments")                                               \
    X(TIME, due_us, 0, "its event came: the program runs then; 0 = it waits for one")                       \
    X(TEXT, what, 0, "what happened to: the program's last argument; NULL = it waits")                      \
    X(TIME, told_us, 0, "time: begin of the run it ran for; idle: it ran for those idle so long then")
// clang-format on
struct trigger {
    TRIGGER_FIELDS(FIELD_MEMBER)
};
extern const struct fields trigger_fields;

#endif
