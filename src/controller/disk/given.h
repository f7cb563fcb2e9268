/* What the controller has given out, beside the store: the number of the last commit and the next
 * job id, in the file DIR/given. It is written after each commit and not synchronised, so it may be
 * behind the store after a power loss, and never before one. A store that is behind the file is an
 * older one; one that is before it is its own later self if it is still the same file. */
#ifndef REMUDA_CONTROLLER_GIVEN_H
#define REMUDA_CONTROLLER_GIVEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct given {
    uint64_t seq, next_job_id;
    uint64_t inode; /* of remuda.db; 0 = not known (an older release wrote it) */
};

/* All zero: there is none, or it cannot be understood. False with ret_err where it may be there and
 * cannot be read now: whoever went on would take an older store for the last one. */
bool given_read(const char *path, struct given *ret, struct err *ret_err);
/* Was there one that could be understood? */
bool given_is_known(const struct given *g);
/* Is the store `db`, whose last commit is `seq`, the one that the file told of, or the same file
 * some commits later, as after a power loss? What was put in its place may have been put together
 * from what does not belong together. */
bool given_is_of(const struct given *g, const char *db, uint64_t seq);
/* The inode of `db`; 0 if it cannot be looked at. */
uint64_t given_inode(const char *db);
/* A descriptor for given_write; -1 with ret_err. */
int given_open(const char *path, struct err *ret_err);
/* One write of a fixed length, so that a file is never half. */
bool given_write(int fd, const struct given *g);
/* For when a store takes the place of another: writes to `to`, which may be `path`, what the file
 * says, and more than commit `seq`, so that the controller finds the store older, and that ids go
 * on at `next` or beyond what it said; where it said nothing, some way beyond `next`. */
bool given_raise(const char *path, const char *to, uint64_t seq, uint64_t next,
                 struct err *ret_err);

#endif
