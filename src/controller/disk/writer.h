/* The store as its one writer has it. Where it cannot be written as the controller starts (a full
 * disk), it is opened when it can be. */
#ifndef REMUDA_CONTROLLER_WRITER_H
#define REMUDA_CONTROLLER_WRITER_H

#include "store/store.h"

struct writer; /* opaque; used by one thread at a time, what is said to be, by any */

/* Not open yet; the path is copied. */
struct writer *writer_new(const char *path);
/* Of a store that is open and taken over (tests); becomes the writer's own. */
struct writer *writer_of(struct store *s, uint64_t epoch);
void writer_free(struct writer *w); /* NULL is fine */

/* Opens the store and takes it over, unless that is done. *ret_seq: its last commit.
 * ERR_UNAVAILABLE: may be tried again. */
bool writer_open(struct writer *w, uint64_t *ret_seq, struct err *ret_err);
bool writer_is_open(const struct writer *w); /* the store was opened */
/* By a reading, on any thread: true while the store is not open for writing, nor will be until
 * writer_still_end: it may be read as it stands. */
bool writer_still_begin(struct writer *w);
void writer_still_end(struct writer *w); /* by that thread or another, once */
/* Commits the batch, whose number is the caller's and must follow the store's; its epoch is set
 * here. Opens the store first if that could not be done before: ERR_DENIED if it is not any more as
 * it was read. A batch of nothing does that alone, and its number is free still. */
bool writer_commit(struct writer *w, struct batch *b, struct err *ret_err);
/* The log has grown far, or fills the disk or will before it could be copied, as readings overlap
 * without a gap: until writer_shorten no other is to begin, but of scripts that are to be launched.
 * By any thread. */
bool writer_holds(const struct writer *w);
/* After that, while as few read as can be: the log is copied and cut off, unless somebody needs it
 * still (a backup, or a person's sqlite3, who must not keep everybody from reading). It is asked
 * for again in some time (a minute, and ten times as long as readers were held; the shorter of both
 * while the store is not open), or when the log has grown much, or fills the disk. */
void writer_shorten(struct writer *w);
/* At the end: what makes the next start fast (store_pack). */
bool writer_pack(struct writer *w, struct err *ret_err);
/* The store, for reading what is in it; NULL while it is not open. */
struct store *writer_store(struct writer *w);

#endif
