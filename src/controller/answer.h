/* The answer to a query: rows frames and the closing DONE, in memory while small, else in a file
 * without a name in the state directory, so that a hundred thousand rows for a slow reader cost the
 * controller no memory. May be made on any thread, one at a time. */
#ifndef REMUDA_CONTROLLER_ANSWER_H
#define REMUDA_CONTROLLER_ANSWER_H

#include "base/err.h"
#include "base/str.h"
#include "core/core.h"
#include "model/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_MEMORY_BYTES (2u << 20)  /* more goes to a file */
#define ANSWER_BYTES_MAX    (64u << 20) /* when it cannot go to a file */

/* What all answers to one user may have together that are not read yet: beyond, each has to go to
 * its file sooner; one that would be made while the others have so much on the disk is refused. */
#define ANSWERS_MEMORY_BYTES (32u << 20)
#define ANSWERS_DISK_BYTES   (1u << 30)

struct answer;       /* opaque */
struct answer_rooms; /* opaque: what users have of it */

/* disk_most: ANSWERS_DISK_BYTES */
struct answer_rooms *answer_rooms_new(size_t disk_most);
void answer_rooms_free(struct answer_rooms *all); /* all answers are gone */

/* dir: where a long answer is put meanwhile; t and wanted as rows_writer_new has them. */
struct answer *answer_new(const char *dir, uint64_t seq, const struct fields *t,
                          const char *wanted);
void answer_free(struct answer *a); /* closes its file, gives its room back; NULL is allowed */
/* It is that user's, before its first row; this and answer_free are called on one thread. */
void answer_of(struct answer *a, struct answer_rooms *all, const struct peer *peer);
/* One row. */
void answer_row(struct answer *a, const void *record);
/* For callbacks: answer is the ctx. */
void answer_row_callback(void *answer, const void *record);
/* Ends the rows and adds DONE; no rows after it. */
void answer_end(struct answer *a, enum refusal refusal, const char *detail);
/* Bytes that its rows became so far, wherever they are; lives as long as the answer. */
const size_t *answer_taken(const struct answer *a);
uint64_t answer_rows(const struct answer *a); /* that it holds */

/* Whole frames from where the last call ended, at most about `max` bytes but at least one frame;
 * false when all was given. The data is valid until the next call. */
bool answer_next(struct answer *a, size_t max, const char **ret_data, size_t *ret_len,
                 struct err *ret_err);

#endif
