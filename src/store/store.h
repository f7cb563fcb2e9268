/* The store: rows in, rows out. One SQL schema made from the field tables (model/message.h
 * STORE_TABLES), SQLite behind it, a memory twin with the same operations for simulators and tests.
 * Nothing but store/ knows which database it is.
 *
 * A commit is a batch: plain rows, a sequence number, the writer's epoch, stored in the same
 * transaction. Applying a batch is deterministic. */
#ifndef REMUDA_STORE_STORE_H
#define REMUDA_STORE_STORE_H

#include "base/arena.h"
#include "base/err.h"
#include "model/message.h"
#include "model/past.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ADD: put unless there is a row of that key. A job's row that is deleted leaves what it used in
 * the sums; added again, it adds nothing to them. */
enum row_op { ROW_PUT, ROW_DELETE, ROW_ADD };

struct row {
    enum row_op op;
    enum store_table table;
    const void *record; /* whole record; for ROW_DELETE only the key fields matter */
};

/* Rows of one transaction; owns copies of its records. May be handed to another thread as a
 * whole. */
struct batch {
    struct arena *arena;
    uint64_t seq;   /* set by store_commit's caller: one more than the last, and … */
    uint64_t gap;   /* … so many more, which no batch is to have here */
    uint64_t epoch; /* of the writer */
    struct row *row;
    size_t n, cap;
};
struct batch *batch_new(void);    /* of no rows */
void batch_free(struct batch *b); /* with its rows; NULL is allowed */
/* Copies. */
void batch_add(struct batch *b, enum row_op op, enum store_table table, const void *record);

struct store; /* opaque; use from one thread at a time */

/* Each returns NULL/false with ret_err (ERR_UNAVAILABLE: disk full, locked, I/O error: trying again
 * later may work; the store stays usable). */
/* Makes the file (its owner's alone: environments hold secrets) and the schema, and adds columns
 * that this release has and the file lacks. Read-only handles need an existing file; any number of
 * them may be used beside the writer, each by one thread. */
struct store *store_open_sqlite(const char *path, bool read_only, struct err *ret_err);
/* For reading a store that nobody writes to nor will while it is open, where nothing can be
 * written: on a disk that is full or read-only. */
struct store *store_open_still(const char *path, struct err *ret_err);
/* As the file alone is, without its log, for reading. */
struct store *store_open_file(const char *path, struct err *ret_err);
/* Reads through all of it, or of the file alone without its log: may take seconds, changes nothing.
 * False with ret_err if it is damaged, lacks a table or cannot be read. */
bool store_whole(const char *path, bool without_log, struct err *ret_err);
/* Nothing is on a disk; gone with store_close. For tests and the simulator. */
struct store *store_open_memory(void);
void store_close(struct store *s); /* after the last call; NULL is allowed */

/* All or nothing, durable when it returns true (SQLite: WAL, synchronous=FULL). Fails with
 * ERR_DENIED if the stored epoch is newer than the batch's, with ERR_INVALID if the batch's number
 * is not the last one's plus 1 and its gap. A batch that failed with ERR_UNAVAILABLE may be
 * committed again as it is. */
bool store_commit(struct store *s, const struct batch *b, struct err *ret_err);
/* Takes over as the writer: stores and returns a new epoch, higher than any before; *ret_seq is the
 * last committed sequence number. */
bool store_take_epoch(struct store *s, uint64_t *ret_epoch, uint64_t *ret_seq, struct err *ret_err);
/* What was committed stands in a log beside the file, of which this is the length in pages of 4 KiB
 * as the writer knows it, until it is copied into the file and no reader needs it. */
size_t store_log_pages(const struct store *s);
/* Copies it and cuts it off, as far as it can without waiting for anybody. By the writer alone. */
void store_log_shorten(struct store *s);
/* The same of a store that cannot be opened for writing, if `seq` is its last commit. */
void store_log_free(const char *path, uint64_t seq);
/* The number of the last commit. */
bool store_last(struct store *s, uint64_t *ret_seq, struct err *ret_err);

/* Record and texts are valid during the call. */
typedef void (*store_row_fn)(void *ctx, const void *record);
/* All rows of a table in key order (texts by bytes). For TABLE_JOB, live_only leaves out jobs that
 * are over and ended before `ended_after_us`, unless others of their array are not over, another
 * component is given, they are of scrontab and to be given their next time, or one that is given
 * waits for them (these come last, each array and company whole); for
 * TABLE_STEP, the steps of jobs that are over and ended before; for TABLE_NODE_SPELL, those that
 * are over. TABLE_META also holds the store's own facts: epoch, seq, schema_version. `fn` may read
 * from the store, not write. */
bool store_load(struct store *s, enum store_table table, bool live_only, int64_t ended_after_us,
                store_row_fn fn, void *ctx, struct err *ret_err);
/* Tables that are many rows and seldom change (accounts, users, associations, limits, workload
 * keys) are taken in at once where the store has them packed: *ret_taken, and `fn` was called,
 * once; what it is given is valid during the call. Else they are to be loaded. */
struct packed;
typedef void (*store_packed_fn)(void *ctx, const struct packed *p);
/* *ret_taken: fn took what is there, and its tables need not be read. */
bool store_load_packed(struct store *s, store_packed_fn fn, void *ctx, bool *ret_taken,
                       struct err *ret_err);
bool store_is_packed(enum store_table table); /* one of those */
/* Packs them, if they are many and that is not done since they changed last. By the writer alone;
 * takes tenths of a second for 100,000 associations. */
bool store_pack(struct store *s, struct err *ret_err);
/* History for sacct: jobs (TABLE_JOB, after its TABLE_JOB_PART, with q->duplicates also
 * TABLE_JOB_RUN) that match q (ids, uids, states, partitions, names, accounts, qos, nodes, from_us,
 * to_us as sacct(1) defines them, see job_filter.c), in order of job id. An array's id matches all
 * its elements. */
bool store_query_jobs(struct store *s, const struct msg_query *q, store_row_fn fn, void *ctx,
                      struct err *ret_err);
/* What was used in [from_us, to_us), which begins and ends with hours of local time, summed over
 * what `by` does not name (or over all, hour by hour): rows of struct used, in order. Of jobs that
 * are over sums are kept, in the transaction that stores how they ended; those that live are
 * counted until now_us. */
enum used_by {
    USED_BY_ACCOUNT = 1,
    USED_BY_USER = 2,
    USED_BY_PARTITION = 4,
    USED_BY_QOS = 8,
    USED_BY_WCKEY = 16,
    USED_BY_RESERVATION = 32,
    USED_BY_JOB_CPUS = 64
};
struct used_query {
    int64_t from_us, to_us, now_us;
    unsigned by; /* bits of enum used_by */
    bool each_hour;
    /* By jobs that match this alone (as store_query_jobs has it), which are counted one by one;
     * NULL = by all. */
    const struct msg_query *jobs;
};
/* Sums of use in a time, by what q asks for: from sums that are kept, or from jobs where these do
 * not go so deep. */
bool store_query_used(struct store *s, const struct used_query *q, store_row_fn fn, void *ctx,
                      struct err *ret_err);
/* The same, counted anew from the rows of all jobs. */
bool store_recount_used(struct store *s, const struct used_query *q, store_row_fn fn, void *ctx,
                        struct err *ret_err);
/* Steps of a job in key order; attempt 0 = of all its runs. */
bool store_query_steps(struct store *s, uint64_t job_id, uint32_t attempt, store_row_fn fn,
                       void *ctx, struct err *ret_err);
/* One payload; false with ERR_NOT_FOUND if there is none. Blobs live in the arena. */
bool store_payload(struct store *s, uint64_t job_id, struct arena *a, struct payload *ret,
                   struct err *ret_err);
/* What is over since before `before_us`, the oldest first; of jobs, and of steps by their jobs, at
 * most so many beyond `at`, which moves on. With each job its steps, scripts, parts and former
 * runs, and its own row last; then former runs of jobs that are not over, with their steps and
 * parts. Of sums the hours that ended by then, as struct used with table
 * STORE_TABLE_COUNT. Jobs that are not in the sums yet are left out. */
struct past_query {
    enum past_kind kind;
    int64_t before_us;
    size_t most;
    struct {
        int64_t end_us;
        uint64_t id;
    } at;
    /* Jobs that are over are all given: now former runs of those that are not. */
    bool of_runs;
    struct {
        int64_t end_us;
        uint64_t id;
        uint32_t attempt;
    } run_at;
    bool more; /* there is: ask again */
};
typedef void (*store_past_fn)(void *ctx, enum store_table table, const void *record);
/* A part at a time; q->more: there is another, after q's place. */
bool store_query_past(struct store *s, struct past_query *q, store_past_fn fn, void *ctx,
                      struct err *ret_err);
/* Bytes of its file, and how many of them are free for new rows. */
bool store_space(struct store *s, int64_t *ret_bytes, int64_t *ret_free, struct err *ret_err);
const char *store_describe(const struct store *s); /* "SQLite /path/remuda.db" */

/* Memory twin only: the next `count` commits fail with ERR_UNAVAILABLE (fault worlds). */
void store_memory_fail(struct store *s, unsigned count);
/* Memory twin only: another with the same content, as of a backup; the caller closes it. */
struct store *store_memory_copy(struct store *s);

#endif
