/* Bytes on a connection: frames of 4 bytes length of the JSON part, 4 bytes length of the raw part (both big-endian), the JSON
 * object, the raw bytes. Blobs (scripts, environments, streams) travel in the raw part, in the order of their fields; the JSON
 * holds their lengths. Readable with socat, independent of byte order and word size. */
#ifndef REMUDA_WIRE_FRAME_H
#define REMUDA_WIRE_FRAME_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/message.h"

#include <stddef.h>
#include <sys/types.h>

#define FRAME_HEADER_BYTES 8u

struct frame {
    const char *json;
    size_t json_len;
    const void *raw;
    size_t raw_len;
};

/* Looks at the start of `data`. Returns the bytes the first frame takes (ret points into data), 0 if more bytes are needed, -1 if it
 * can never become a frame (lengths above the limits of model/limits.h; ret_err says which). */
ssize_t frame_take(const void *data, size_t len, struct frame *ret, struct err *ret_err);

/* Appends a whole frame. The JSON is {"type":name,"seq":n, fields that are not zero …}. */
void wire_encode(const struct message *m, struct str *out);
/* Decodes a frame of any message but rows. Everything in *ret lives in the arena (blobs point into the frame's raw part: copy what must
 * outlive it). Unknown fields are skipped; a wrong type, an unknown message or enum name, a text longer than LIMIT_TEXT_BYTES (submit_line,
 * array_pending, alloc excepted) is ERR_INVALID and names the field. */
bool wire_decode(const struct frame *f, struct arena *a, struct message *ret, struct err *ret_err);

/* ---- answers to queries: {"type":"rows","seq":n,"record":"job","fields":["id",…],"rows":[[42,…],…]} -------------------- */

struct rows_writer; /* opaque */
/* `wanted` names fields of t, comma-separated (NULL = all; unknown names are skipped and reported in *ret_unknown if not NULL, in the arena `a`).
 * Frames of at most about 256 KiB are appended to `out` as they fill. */
struct rows_writer *rows_writer_new(const struct fields *t, const char *wanted, uint64_t seq, struct str *out);
void rows_writer_add(struct rows_writer *w, const void *record);
void rows_writer_end(struct rows_writer *w); /* flushes the last frame and frees w; the caller sends DONE after it */

bool wire_is_rows(const struct frame *f);
/* Calls row(ctx, record) for each row; `t` is the table the caller expects (its "record" name must match); the record (t->size bytes, missing
 * fields zero) and its texts are valid only during the call unless `a` is the caller's own arena (texts are allocated there). */
bool rows_decode(const struct frame *f, const struct fields *t, struct arena *a, void (*row)(void *ctx, const void *record), void *ctx,
                 struct err *ret_err);

#endif
