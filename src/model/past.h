/* The past, as it is written to files and removed by age: its kinds, ages, and keys of its rows. */
#ifndef REMUDA_MODEL_PAST_H
#define REMUDA_MODEL_PAST_H

#include "base/arena.h"
#include "base/err.h"
#include "model/settings/settings.h"
#include "model/stored.h"

#include <stdbool.h>
#include <stdint.h>

/* X(KIND, word, member of the age, member of "is it archived") */
#define PASTS(X)                                                                                   \
    X(JOBS, "jobs", purge_job_after, archive_jobs)                                                 \
    X(STEPS, "steps", purge_step_after, archive_steps)                                             \
    X(EVENTS, "events", purge_event_after, archive_events)                                         \
    X(RESVS, "resvs", purge_resv_after, archive_resvs)                                             \
    X(TXN, "txn", purge_txn_after, archive_txn)                                                    \
    X(USAGE, "usage", purge_usage_after, archive_usage)
enum past_kind {
#define X(kind, word, age, archive) PAST_##kind,
    PASTS(X)
#undef X
        PAST_COUNT
};
extern const struct enum_names past_names;

/* What becomes of one kind. */
struct past_rule {
    struct age age; /* older rows go */
    bool archive;   /* to a file before */
};
/* From settings that were checked when they were read: they hold as they stand. */
void past_rules(const struct settings *s, struct past_rule ret[PAST_COUNT]);
/* The same as a request changes it: ERR_INVALID names the word. */
bool past_rules_change(struct past_rule rule[PAST_COUNT], const char *purge, const char *archive,
                       struct err *ret_err);

/* A row that goes: its table and key, and of a job whose company it needs. */
struct past_key {
    enum store_table table;
    uint32_t attempt;
    uint64_t id;                       /* of the job, the transaction */
    int64_t second;                    /* start_us, step_id */
    uint64_t array_job_id, het_job_id; /* 0 = of none */
    const char *name;                  /* of a node, a reservation */
};
/* The key of a row that goes, and when it was over, 0 = it belongs to one that says it. Names are
 * copied into the arena. Of a job's company its own row alone knows. */
struct past_key past_key_of(enum store_table table, const void *record, struct arena *texts,
                            int64_t *ret_at_us);
struct past_rows {
    const struct past_key *v;
    size_t n;               /* in the order they are to be removed */
    int64_t used_before_us; /* sums of hours, days and months that ended by then go; 0 = none */
};

/* A row of TABLE_META of this key, put, removes sums of what ended before the time it says (µs): so
 * many of each kind of slot; put again, the next. */
#define META_USED_SINCE    "used_since"
#define PAST_SLOTS_AT_ONCE 100

#endif
