/* Bytes on a connection: frames of 4 bytes length of the JSON part, 4 bytes length of the raw part
 * (both big-endian), the JSON object, the raw bytes. Blobs (scripts, environments, streams) travel
 * in the raw part: the JSON holds {"bytes":n} for each, and they follow one another in the order in
 * which the JSON names them. Readable with socat, independent of byte order and word size.
 *
 * Texts may hold any byte but NUL, as paths on Linux do: one that is no UTF-8 travels as \udcNN and
 * arrives as it was. */
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

/* Looks at the start of `data`. Returns the bytes the first frame takes (ret points into data), 0
 * if more bytes are needed, -1 if it can never become a frame (lengths above the limits of
 * model/limits.h, no JSON at all; ret_err says which). */
ssize_t frame_take(const void *data, size_t len, struct frame *ret, struct err *ret_err);
/* What the frame that begins so says that its two parts have, in bytes; 0 as long as its header is
 * not whole. */
uint64_t frame_says(const void *data, size_t len);

/* Appends a whole frame. The JSON is {"type":name,"call":n, fields that are not zero …}; call is
 * m->seq, and "request" is m->request (both left out when 0). */
void wire_encode(const struct message *m, struct str *out);
/* Decodes a frame of any message but rows. Everything in *ret lives in the arena (blobs point into
 * the frame's raw part: copy what must outlive it). Unknown fields are skipped; a wrong type, a
 * field given twice, an unknown message or enum name is ERR_INVALID and names the field, as is, in
 * messages that users may send, a text longer than LIMIT_TEXT_BYTES (array_pending, alloc, ids
 * excepted), or a submit_line longer than LIMIT_SUBMIT_LINE_BYTES. */
bool wire_decode(const struct frame *f, struct arena *a, struct message *ret, struct err *ret_err);
/* The same where who speaks is known to be neither a daemon nor somebody who loads accounts: the
 * bounds of requests hold whatever it says that it is. */
bool wire_decode_of_user(const struct frame *f, struct arena *a, struct message *ret,
                         struct err *ret_err);

/* ---- answers to queries:
 * {"type":"rows","call":n,"record":"job","fields":["id",…],"rows":[[42,…],…]} */

struct rows_writer; /* opaque */
/* `wanted` names fields of t, comma-separated (NULL or "" = all); unknown names, repeated ones,
 * blobs and lists are left out. Frames of about 256 KiB are appended to `out` as they fill; the
 * caller may take them out of it between calls. */
struct rows_writer *rows_writer_new(const struct fields *t, const char *wanted, uint64_t seq,
                                    struct str *out);
/* The record is of the struct whose fields the writer was begun with. */
void rows_writer_add(struct rows_writer *w, const void *record);
/* Flushes the last frame and frees w; the caller sends DONE after it. */
void rows_writer_end(struct rows_writer *w);

/* Does it carry rows, and no message? False as well for what cannot be read. */
bool wire_is_rows(const struct frame *f);
/* Calls row(ctx, record) for each row; `t` is the table the caller expects (its "record" name must
 * match); the record (t->size bytes, missing fields zero) and its texts are valid only during the
 * call unless `a` is the caller's own arena (texts are allocated there). */
bool rows_decode(const struct frame *f, const struct fields *t, struct arena *a,
                 void (*row)(void *ctx, const void *record), void *ctx, struct err *ret_err);

#endif
