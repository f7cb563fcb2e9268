/* What a kind of store must be able to do. Everything else (what matches a query, in what order) is
 * written once, in store.c and job_filter.c. */
#ifndef REMUDA_STORE_STORE_OPS_H
#define REMUDA_STORE_STORE_OPS_H

#include "store/job_filter.h"
#include "store/store.h"

#define KEY_FIELDS_MAX 3u

/* Which rows to visit. A kind of store may visit more than these: the caller checks each row with
 * scan_wants. */
struct scan {
    enum store_table table;
    const struct job_filter *filter; /* JOB, JOB_RUN: those that match; NULL = all */
    /* JOB: those not over, or ended at ended_after_us or later; STEP: of such jobs (exact) */
    bool live_only;
    int64_t ended_after_us;
    bool started_only; /* JOB, live_only: of those not over that have begun */
    /* JOB, live_only: and, whenever they ended (exact), the elements of arrays of which another is
     * given, for what is counted of such an array must be the same after a restart; components
     * likewise, for a job must be found whole; and jobs of scrontab, which were to be given their
     * next time */
    bool whole_jobs;
    bool of_job; /* STEP, PAYLOAD: of this one */
    uint64_t job_id;
};

struct cursor {
    struct store *store;
    const struct scan *scan;
};

struct used_tally;
struct used_query;

struct str;
typedef void (*packed_bytes_fn)(void *ctx, const void *bytes, size_t len);

struct store_ops {
    /* Calls `fn` with the packed rows, if there are any. NULL = it never has. */
    bool (*packed_get)(struct store *s, packed_bytes_fn fn, void *ctx, struct err *ret_err);
    bool (*packed_put)(struct store *s, const struct str *bytes, struct err *ret_err);
    void (*close)(struct store *s);
    /* Adds what jobs used that are over, and cuts the query's time to the hours that it keeps.
     * *ret_kept = false, and nothing is added: it keeps no sums, or not all yet. NULL = it never
     * does. */
    bool (*used)(struct store *s, struct used_query *q, struct used_tally **ret_tally,
                 bool *ret_kept, struct err *ret_err);
    bool (*past)(struct store *s, struct past_query *q, store_past_fn fn, void *ctx,
                 struct err *ret_err);
    bool (*space)(struct store *s, int64_t *ret_bytes, int64_t *ret_free, struct err *ret_err);
    /* Reads in between see one state of the store. NULL = they do anyway. */
    bool (*hold)(struct store *s, bool on, struct err *ret_err);
    bool (*commit)(struct store *s, const struct batch *b, struct err *ret_err);
    /* NULL = it has no log. */
    size_t (*log_pages)(const struct store *s);
    void (*log_shorten)(struct store *s);
    bool (*take_epoch)(struct store *s, uint64_t *ret_epoch, uint64_t *ret_seq,
                       struct err *ret_err);
    /* Rows in key order. `scan` stays the caller's and must outlive the cursor. NULL with
     * ret_err. */
    struct cursor *(*open)(struct store *s, const struct scan *scan, struct err *ret_err);
    /* The next row, valid until the next call. NULL at the end, or with *ret_failed = true and
     * ret_err. */
    const void *(*next)(struct cursor *c, bool *ret_failed, struct err *ret_err);
    void (*done)(struct cursor *c);
};

struct store {
    const struct store_ops *ops;
    char *description; /* owned by the kind */
};

/* The fields that make the key of a table, in order; returns how many. */
size_t table_key(enum store_table table, const struct field *ret[KEY_FIELDS_MAX]);
/* Appends the names of all tables, with commas. */
void table_names(struct str *out);
/* Does the reading mean this record of its table? SQL may have asked less closely. */
bool scan_wants(const struct scan *scan, const void *record);
/* Is the job of interest to a controller that starts: not over, or over for a short time only? */
bool job_is_recent(const struct job *j, int64_t ended_after_us);

/* The small facts the store itself keeps in TABLE_META. */
#define META_EPOCH     "epoch"
#define META_SEQ       "seq"
#define META_SCHEMA    "schema_version"
#define META_TABLES    "tables" /* those that it has, with commas */
#define SCHEMA_VERSION "1"

/* May a batch of this epoch and number follow what is stored? ERR_DENIED if the epoch is newer
 * here; ERR_INVALID if the number does not follow. */
bool batch_may_follow(const struct batch *b, uint64_t epoch, uint64_t seq, struct err *ret_err);

#endif
