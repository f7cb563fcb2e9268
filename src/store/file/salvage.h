/* What can still be read of a store that is damaged, written to a new one. */
#ifndef REMUDA_STORE_FILE_SALVAGE_H
#define REMUDA_STORE_FILE_SALVAGE_H

#include "base/idset.h"
#include "store/store.h"

struct salvage {
    /* The caller's: may such a row be? It says why not. */
    bool (*sound)(enum store_table table, const void *record, struct err *ret_err);
    /* What was found. */
    uint32_t pages, unreadable; /* of the file; those that the disk did not give */
    uint32_t in_log;            /* pages taken from the log */
    bool log_left_out;          /* there is one, and it is of another store */
    uint64_t kept[STORE_TABLE_COUNT],
        lost[STORE_TABLE_COUNT]; /* rows; those seen that did not parse or cannot be */
    uint64_t seq, next_job_id;   /* the last commit; what is given next, by all that was found */
    uint64_t jobs_lost;          /* known by an index, a step or a script alone */
    struct idset jobs_lost_ids;  /* the caller's: idset_done; of ids that 32 bits hold */
};

/* Reads `from` and its log, which stay as they are, and writes `to`, which must not be there, for
 * its owner alone; durable when it returns true. False with ret_err, and `to` is not there: nothing
 * of a store is left in it (ERR_NOT_FOUND), or it could not be read or written. */
bool store_salvage(const char *from, const char *to, struct salvage *s, struct err *ret_err);

#endif
