/* Records as JSON objects by their field tables: what frames, rows and --json have in common.
 *
 *   BOOL true; numbers, times, spans and MiB as whole numbers; TEXT a string; ENUM its name (its
 *     number when
 * no name, or the name of a value before it, is its own); LIST an array of objects; BLOB
 * {"bytes":n}, and the bytes travel elsewhere. */
#ifndef REMUDA_WIRE_RECORD_H
#define REMUDA_WIRE_RECORD_H

#include "base/str.h"
#include "model/fields.h"
#include "wire/json_in.h"

#include <stdbool.h>
#include <stddef.h>

/* Not given: 0, false, NULL, an empty list or blob; such fields do not travel. */
bool field_is_zero(const struct field *f, const void *record);
/* One value of any type but LIST, as records hold it on the wire. */
void field_write(struct str *out, const struct field *f, const void *record);
/* The non-zero fields as members: "a":1,"b":"x". A comma is put before the first too unless *first,
 * which is false afterwards when any was written. Adds the bytes of blobs to *raw_bytes. */
void record_write(struct str *out, const struct fields *t, const void *record, bool *first,
                  size_t *raw_bytes);
/* Appends the bytes of the blobs in the order in which record_write names them. */
void record_write_raw(struct str *out, const struct fields *t, const void *record);

struct record_reader {
    struct json_in in;
    const char *raw; /* what is left of the raw part */
    size_t raw_len;
    size_t text_max;      /* bytes of a text, with the exceptions that limits.h and frame.h name */
    bool blobs_are_texts; /* a BLOB is a JSON string (site programs), not a length */
    bool any_number;      /* rows: shown as they are, be they out of their range */
    /* Of requests, 0 = no such bound: records in a list; bytes of members that are not known, and
     * so many were passed over. */
    size_t records_max, unknown_max, unknown;
};

/* Reads one value into its field of a record. JSON null leaves the field zero. */
bool field_read(struct record_reader *r, const struct field *f, void *record);
/* Reads the members of an object into a zeroed record; unknown ones are skipped, a repeated one is
 * an error. The opening bracket is taken already (first = false if a member was, too). `unknown`
 * (or NULL) sees unknown keys first: true = it has taken the value. */
bool record_read(struct record_reader *r, const struct fields *t, void *record, bool first,
                 bool (*unknown)(void *ctx, struct span key), void *ctx);

#endif
